// Shortcuts: everything can be done with the keyboard alone.
import { $, h } from "./dom.js";
import { t } from "./words.js";

const table = [["n", "kNew"], ["c", "kCompose"], ["1 … 6", "kTabs"], ["Ctrl+Enter", "kSend"], ["→ Tab", "kTab"], [">", "nextStep"],
  ["x", "kCancel"], ["/", "kSearch"], ["m", "kList"], ["↑ ↓  k j", "kMove"], ["PgUp PgDn", "kPage"], ["Home End", "kEnds"],
  ["f", "follow"], ["v", "kView"], ["h", "kHeartbeats"], ["d", "kDetail"], ["w", "kWhy"], ["o", "kOwed"], ["a", "sendAll"], ["p", "kParties"],
  ["y", "kCopy"], ["s", "saveScenario"], ["S", "saveScript"], ["r", "saveRecording"], ["R", "saveHAR"], ["t", "runSuite"], ["u", "undo"],
  ["z", "reset"], ["e", "kEnd"], ["l", "language"], ["[ ]", "kSession"], ["Esc", "kEsc"], ["?", "kHelp"]];

// clicks are the keys of buttons, which are known by their data-id, wherever they are.
const clicks = { f: "follow", y: "copy", s: "saveScenario", S: "saveScript", r: "saveRecording", R: "saveHAR",
  t: "runSuite", u: "undo", z: "reset", ">": "nextStep" };

// keyTable lists the shortcuts, or those with some words.
export const keyTable = (...words) => h("dl", { class: "keys" }, table.filter(([, word]) => !words.length || words.includes(word)).map(([keys, word]) => h("div", {},
  h("dt", {}, keys.split(" ").filter(Boolean).map((k) => (k === "…" ? k : h("kbd", {}, k)))), h("dd", {}, t(word)))));

const writes = (el) => el.matches?.("input:not([type=checkbox]):not([type=file]), textarea, select, [contenteditable]");

// shortcuts handles a key.
export function shortcuts(e, app) {
  const el = e.target;
  if ((e.ctrlKey || e.metaKey) && e.key === "Enter") {
    const held = el.closest?.(".heldbox");
    if (held) held.querySelector(".main").click(); else el.closest?.("form")?.requestSubmit();
    return;
  }
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
  if (e.key === "Escape" && writes(el)) {
    $("messages").focus();
    return;
  }
  if (writes(el)) return;
  const step = (by) => {
    const all = app.sessions;
    const next = all[(all.indexOf(app.session) + by + all.length) % all.length];
    if (next) app.show(next.id);
  };
  const find = (id) => document.querySelector(`[data-id="${id}"]`);
  const acts = {
    n: () => app.newSession(), c: () => app.composer.focus(), "/": () => $("f-text").focus(), m: () => $("messages").focus(),
    d: () => $("right").querySelector("[role=tab][tabindex='0']")?.focus(), "?": () => app.help(),
    w: () => app.nextFailure(), x: () => app.waiting.cancel(), a: () => app.composer.play.decideAll("send"), l: () => $("language").focus(),
    v: () => app.view(app.rows.view === app.list ? "diagram" : "list"), h: () => app.bar.heartbeats(), e: () => find("end")?.focus(),
    o: () => $("left").querySelector(".owed button, .owed summary")?.focus(),
    p: () => $("left").querySelector(".parties button")?.focus(), "[": () => step(-1), "]": () => step(1),
  };
  const clicked = clicks[e.key] && find(clicks[e.key]);
  const act = acts[e.key] || (clicked ? () => clicked.click() :
    /^[1-6]$/.test(e.key) ? () => app.composer.nth(Number(e.key) - 1) : null);
  if (!act) return;
  e.preventDefault();
  act();
}
