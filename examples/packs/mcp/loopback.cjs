// Has a server listen on 127.0.0.1 alone, and print its URL.
const { Server } = require("node:net");
const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => console.log(`http://127.0.0.1:${this.address().port}`));
  return listen.call(this, { port: Number(port), host: "127.0.0.1" }, ...rest.filter((a) => typeof a === "function"));
};
