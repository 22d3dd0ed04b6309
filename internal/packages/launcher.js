#!/usr/bin/env node
// Runs the program of this platform, which an optional dependency carries, as if it stood in the place of this script.
"use strict";
const { spawn } = require("node:child_process");
const { isatty } = require("node:tty");

function fail(message) {
  console.error(`parley: ${message}`);
  process.exit(2);
}

const platform = `${process.platform}-${process.arch}`;
const carriers = Object.keys(require("./package.json").optionalDependencies);
const carrier = carriers.find((name) => name.endsWith(`-${platform}`));
if (!carrier) fail(`there is no program for ${platform} (only ${carriers.join(", ")}; build it from a checkout)`);

let program;
try {
  program = require.resolve(`${carrier}/bin/parley${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  fail(`the package ${carrier} is not installed (install again, with optional dependencies)`);
}

// A terminal sends Ctrl-C to the program as well, which takes a second one for "exit at once".
const fromTerminal = [0, 1, 2].some((fd) => isatty(fd));
// Listened for before the program starts: a signal between both would end this script and leave the program behind.
const forwarded = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of forwarded) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !fromTerminal) child.kill(signal);
  });
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (err) => fail(`${program} does not start: ${err.message}`));
child.on("exit", (code, signal) => {
  process.exitCode = code ?? 1;
  if (signal) {
    forwarded.forEach((name) => process.removeAllListeners(name));
    process.kill(process.pid, signal);
  }
});
