"use strict";
// A page in another language than English has its terms.
const terms = JSON.parse(document.documentElement.dataset.terms || "{}");
function say(text, ...args) {
  return (terms[text] || text).replace(/%s/g, () => String(args.shift()));
}

// Filters the tables and opens what a link points into. Without it the page shows everything.
for (const form of document.querySelectorAll("form.filter")) {
  const items = [...document.getElementById(form.dataset.for).querySelectorAll(".item")];
  const words = new Map(items.map((item) => [item, item.textContent.toLowerCase()]));
  const apply = () => {
    const outcome = form.elements.outcome.value;
    const level = form.elements.level ? form.elements.level.value : "";
    const text = form.elements.text.value.trim().toLowerCase();
    let shown = 0;
    for (const item of items) {
      item.hidden = (outcome && item.dataset.outcome !== outcome) || (level && item.dataset.level !== level) ||
        (text && !words.get(item).includes(text));
      if (!item.hidden) shown++;
    }
    for (const feature of document.querySelectorAll("#" + form.dataset.for + " .feature")) {
      feature.hidden = !feature.querySelector(".item:not([hidden])");
    }
    form.querySelector("output").textContent = shown === items.length ? "" : say("%s of %s shown", shown, items.length);
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  apply(); // a browser may have kept the fields from an earlier visit
}

function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let e = target; e; e = e.parentElement) {
    e.hidden = false;
    if (e.tagName === "DETAILS") e.open = true;
  }
  target.scrollIntoView({ block: "center" });
}
addEventListener("hashchange", reveal);
reveal();

// Paper cannot be unfolded: everything is open while it prints.
const folded = [];
addEventListener("beforeprint", () => {
  for (const d of document.querySelectorAll("details:not([open])")) { folded.push(d); d.open = true; }
});
addEventListener("afterprint", () => { for (const d of folded.splice(0)) d.open = false; });

// Recordings are in the page, compressed, and drawn when their scenario is opened.
const packs = new Map();
async function recordingOf(pack, index) {
  if (!packs.has(pack)) {
    const raw = atob(document.getElementById("pack-" + pack).textContent);
    const bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
    const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    packs.set(pack, new Response(text).text());
  }
  const recording = (await packs.get(pack)).split("\n\n")[index];
  if (!recording) throw new Error(say("it is not in the page"));
  return recording.trim().split("\n").map((line) => JSON.parse(line)).filter((record) => record.n);
}

function part(name, className, text) {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

// visible shows characters without a glyph as escapes, except tabs and line feeds.
function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

// pretty indents a message if it is JSON.
function pretty(text) {
  try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* it is no JSON */ }
  return visible(text);
}

// draw shows records as a sequence: a lane for each party, the target last, and gaps for what never came.
function draw(scenario, records) {
  const parties = [...new Set(records.map((r) => r.party || "").filter(Boolean))];
  if (!parties.length) parties.push("Parley");
  const lanes = parties.length + 1;
  const box = scenario.querySelector(".sequence");
  const list = part("ol", "lanes");
  const place = (row, from, to) => {
    row.style.gridTemplateColumns = "repeat(" + (2 * lanes) + ", minmax(0, 1fr))";
    const [low, high] = from < to ? [from, to] : [to, from];
    return (2 * low + 2) + " / " + (2 * high + 2);
  };
  const head = part("li", "heads");
  head.style.gridTemplateColumns = "repeat(" + lanes + ", minmax(0, 1fr))";
  for (const name of [...parties, say("target")]) head.append(part("span", "", name));
  list.append(head);
  const broke = new Map(JSON.parse(scenario.dataset.broke || "[]").map((b) => [b.at, b.clause]));
  const gaps = JSON.parse(scenario.dataset.missed || "[]");
  const gap = (text, lane) => {
    const item = part("li", "gap");
    const row = part("div", "row");
    const arrow = part("span", "arrow left", say("awaited, and never came: %s", text));
    arrow.style.gridColumn = place(row, lane, lanes - 1);
    row.append(arrow);
    item.append(row);
    list.append(item);
  };
  for (const r of records) {
    const lane = Math.max(0, parties.indexOf(r.party || parties[0]));
    const item = part("li", broke.has(r.n) ? "broke" : "");
    const message = part("details", "message");
    const row = part("summary", "row");
    const label = [r.kind === "event" || r.kind === "frame" ? "" : r.kind, r.label || ""].filter(Boolean).join(" ");
    const arrow = part("span", "arrow " + (r.dir === "sent" ? "right" : r.dir === "received" ? "left" : "note"),
      visible(label));
    arrow.style.gridColumn = r.dir === "noted" ? "1 / -1" : place(row, lane, lanes - 1);
    if (r.dir === "noted") place(row, 0, 1);
    const clause = broke.get(r.n);
    if (clause) arrow.append(part("b", "", " ✗ " + clause));
    row.append(arrow);
    const how = { sent: say("sent"), received: say("received"), noted: say("noted") }[r.dir] || r.dir;
    const about = say("record %s · +%s ms · ", r.n, r.at_ms) + (r.party || "") + " " + how + " " + r.kind +
      (r.status ? " " + r.status : "") + (r.to ? say(" · answers record %s", r.to) : "");
    message.append(row, part("p", "soft", about));
    if (r.text) message.append(part("pre", "", pretty(r.text)));
    else if (r.base64) message.append(part("pre", "", r.base64));
    item.append(message);
    list.append(item);
    for (const g of gaps.filter((g) => g.at === r.n)) gap(g.text, lane);
  }
  for (const g of gaps.filter((g) => !records.some((r) => r.n === g.at))) gap(g.text, 0);
  box.replaceChildren(list);
}

document.addEventListener("toggle", async (event) => {
  const scenario = event.target;
  if (!scenario.open || !scenario.matches("details[data-pack]") || scenario.dataset.drawn) return;
  scenario.dataset.drawn = "yes";
  try {
    draw(scenario, await recordingOf(scenario.dataset.pack, Number(scenario.dataset.index)));
  } catch (error) {
    scenario.querySelector(".sequence").textContent = say("The recording cannot be shown: %s", error.message);
  }
}, true);
