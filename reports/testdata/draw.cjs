// Runs the script of a page, whose packs and scenarios are in the file given, with the parts of a DOM that it needs,
// opens every scenario, and prints what is drawn: a line for each row, its class, its text and its message.
const fs = require("fs");
const page = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));

class Element {
  constructor(name) { Object.assign(this, { name, className: "", children: [], style: {}, dataset: {}, own: "" }); }
  set textContent(text) { this.own = text; this.children = []; }
  get textContent() { return this.own + this.children.map((c) => c.textContent).join(""); }
  append(...more) { this.children.push(...more); }
  replaceChildren(...all) { this.children = all; }
  matches() { return "pack" in this.dataset; }
  querySelector() { return this.box; }
  all(name) { return this.children.flatMap((c) => [...(c.name === name ? [c] : []), ...c.all(name)]); }
}
const listeners = {};
const packs = page.packs.map((text) => { const e = new Element("script"); e.textContent = text; return e; });
global.document = {
  documentElement: { dataset: {} },
  querySelectorAll: () => [],
  getElementById: (id) => packs[Number(id.replace("pack-", ""))] || null,
  createElement: (name) => new Element(name),
  addEventListener: (name, f) => { listeners[name] = f; },
};
global.location = { hash: "#none" };
global.addEventListener = () => {};
(0, eval)(page.script);

(async () => {
  for (const data of page.scenarios) {
    const scenario = new Element("details");
    scenario.dataset = data;
    scenario.open = true;
    scenario.box = new Element("div");
    await listeners.toggle({ target: scenario });
    if (scenario.box.own) console.log(scenario.box.own);
    for (const item of scenario.box.all("li")) {
      const arrow = item.all("span")[0];
      const message = item.all("pre").map((e) => e.textContent.replace(/\s+/g, " ")).join();
      console.log([item.className, arrow.className, arrow.style.gridColumn || "", item.className === "heads" ?
        item.all("span").map((e) => e.textContent).join(",") : arrow.textContent, message].join("|"));
    }
  }
})();
