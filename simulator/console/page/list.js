// The list: a line for each message, with what people ask first: when, from whom to whom, of which type, its key
// members, how long it took, how big it is, and what was judged. On a narrow screen a message has two lines.
import { h } from "./dom.js";
import { narrow } from "./rows.js";
import { visible } from "./safe.js";
import { t } from "./words.js";

const mostMembers = 6;
const mostValue = 40; // characters of a member's value

const columns = ["cNumber", "time", "cRoute", "type", "cMembers", "cLatency", "cSize", "cVerdict"];

// keyMembers lists the members that tell a message from others of its type: ids first, then other short values.
export function keyMembers(r) {
  let value;
  try { value = JSON.parse(r.text); } catch { return []; }
  const found = [];
  const walk = (v, depth) => {
    for (const [k, x] of Object.entries(v)) {
      if (x !== null && typeof x === "object") { if (depth > 0 && !Array.isArray(x)) walk(x, depth - 1); continue; }
      if (x === r.type || k === "timestamp") continue;
      found.push([k, typeof x === "string" ? x : String(x)]);
    }
  };
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [];
  walk(value, 1);
  const rank = ([k]) => (/(^id|Id|_id)$/.test(k) ? 0 : /^(code|error|message|content|name|status|success)$/i.test(k) ? 1 : 2);
  return found.sort((a, b) => rank(a) - rank(b)).slice(0, mostMembers)
    .map(([k, x]) => [k, x.length > mostValue ? x.slice(0, mostValue) + "…" : x]);
}

const milliseconds = (ms) => (ms === null || ms === undefined ? "" : ms < 10 ? `${ms.toFixed(1)} ms` : ms < 10_000 ? `${Math.round(ms)} ms` :
  `${(ms / 1000).toFixed(1)} s`);

const bytes = (n) => (n === null || n === undefined ? "" : n < 1024 ? `${n} B` : n < 1 << 20 ? `${(n / 1024).toFixed(1)} KiB` :
  `${(n / (1 << 20)).toFixed(1)} MiB`);

export class List {
  constructor(rows) {
    Object.assign(this, { rows, name: "list" });
    this.head = h("div", { class: "columns", "aria-hidden": "true" });
    this.heads = [this.head];
  }

  rowHeight(width) { return width < narrow ? 48 : 30; }

  layout() {
    const { width, store } = this.rows;
    const s = this.rows.session();
    this.head.hidden = !s || !store.items.length || width < narrow;
    this.head.style.width = width + "px";
    this.head.replaceChildren(...columns.map((c) => h("span", { class: c }, t(c))));
    return width;
  }

  fill(el, r) {
    const { store } = this.rows;
    const name = (p) => visible(p === "target" ? t("target") : p);
    const [from, to] = store.ends(r);
    const members = keyMembers(r);
    const rest = r.text && !members.length && r.text !== r.type ? visible(r.text.slice(0, 160)) : "";
    el.classList.add("line", "dir-" + r.dir);
    el.append(h("span", { class: "cNumber when" }, h("i", {}, String(r.n))), h("span", { class: "time" }, (r.at / 1000).toFixed(3)),
      h("span", { class: "cRoute" }, name(from), to ? h("i", {}, " → ") : null, name(to)),
      h("span", { class: "type" }, h("b", {}, visible(r.type || r.label || r.kind)), r.status ? ` ${r.status}` : "",
        r.late ? ` · ${t("late")}` : ""),
      h("span", { class: "cMembers" }, members.flatMap(([k, v]) => [h("i", {}, visible(k) + "="), visible(v) + " "]), rest),
      h("span", { class: "cLatency" }, milliseconds(r.latency)), h("span", { class: "cSize" }, bytes(r.size)),
      h("span", { class: "cVerdict" }, this.rows.marks(r, this.rows.width < 900)));
  }
}
