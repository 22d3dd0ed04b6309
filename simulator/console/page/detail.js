// The selected message: as a tree, as text, as bytes, with its clauses and its schema.
import { get, once } from "./api.js";
import { copies } from "./copies.js";
import { diffView } from "./diff.js";
import { button, h, tabs } from "./dom.js";
import { keyTable } from "./keys.js";
import { bytesOf, hex, lines, visible } from "./safe.js";
import { classOf, signOf } from "./store.js";
import { t } from "./words.js";

const mostRecords = 8; // of a step, the last ones
const lookedBack = 200; // records
const mostFailures = 5; // that are shown while nothing is selected
const atOnce = 100; // members that are shown until more are asked for

// tree shows a value. Members are made when they are opened.
export function tree(value, name, open = 1) {
  const key = name === undefined ? [] : [h("span", { class: "key" }, visible(name)), ": "];
  if (value === null || typeof value !== "object") {
    const text = typeof value === "string" ? `"${visible(value)}"` : String(value);
    return h("div", { class: "leaf" }, ...key, h("span", { class: "v-" + (value === null ? "null" : typeof value) }, text));
  }
  const list = Array.isArray(value);
  const keys = Object.keys(value);
  const body = h("div", { class: "members" });
  let shown = 0;
  const fill = () => {
    body.querySelector(":scope > button")?.remove();
    for (const k of keys.slice(shown, shown + atOnce)) body.append(tree(value[k], list ? Number(k) : k, open - 1));
    shown = Math.min(keys.length, shown + atOnce);
    if (shown < keys.length) body.append(h("button", { type: "button", onclick: fill }, t("more", keys.length - shown)));
  };
  const el = h("details", { ontoggle: () => { if (el.open && shown === 0) fill(); } },
    h("summary", {}, ...key, list ? `[${keys.length}]` : `{${keys.length}}`), body);
  if (open > 0) { el.open = true; fill(); }
  return el;
}

export class Detail {
  constructor(root, app) {
    Object.assign(this, { root, app, tab: "tree" });
    document.getElementById("diagram").addEventListener("click", (e) => { this.asked = e.target.closest(".mark:not(.edit)") !== null; }, true);
  }

  clear() {
    this.item = null;
    this.failed = undefined;
    this.overview();
  }

  // overview shows, while nothing is selected, the first failure of each clause, the newest clause first; or else how to
  // select a message.
  overview() {
    if (this.item) return;
    const { store, worst } = this.app;
    const clauses = [...worst].filter(([, outcome]) => outcome === "failed").map(([clause]) => clause);
    if (clauses.join() === this.failed) return;
    this.failed = clauses.join();
    const failures = clauses.reverse().slice(0, mostFailures).flatMap((clause) => {
      for (const [n, marks] of store.marks) {
        const m = marks.find((one) => one.clause === clause && one.outcome === "failed");
        if (m) return [[m, n]];
      }
      return [];
    });
    const select = h("p", { class: "dim overview" }, t("nothingSelected"));
    if (!failures.length) {
      this.root.replaceChildren(h("h2", {}, t("rightPane")), select, keyTable("kMove", "kWhy", "kSearch", "kView", "kCompose"));
      return;
    }
    this.root.replaceChildren(h("h2", {}, t("failures")), select, ...failures.map(([m, n]) => {
      const r = store.at(n);
      return this.clause(m, r ? [r.to || this.before(r), n] : [n]);
    }));
  }

  // show shows a record or a step; at a failure, why. What was cut from a long record is fetched.
  async show(item) {
    this.item = item;
    this.why = this.asked || this.marks(item).some((m) => m.outcome === "failed");
    this.asked = false;
    this.draw();
    if (matchMedia("(max-width: 640px)").matches) this.root.scrollIntoView({ block: "nearest" }); // it is below the messages
    if (!item.part) return;
    try {
      const [whole] = await get(`/sessions/${this.app.session.id}/records?after=${item.n - 1}&limit=1`);
      if (this.item === item && whole?.n === item.n) { this.item = { ...whole, of: item }; this.draw(); }
    } catch (e) { this.app.alert(e); }
  }

  draw() {
    const r = this.item;
    if (!r) { this.clear(); return; }
    if (r.step) { this.root.replaceChildren(...this.stepView(r.step)); return; }
    const facts = [[t("party"), (r.of || r).lane || r.party], [t("time"), (r.at / 1000).toFixed(3) + " s"]];
    if (r.status) facts.push(["Status", r.status]);
    const small = [t(r.dir), r.kind, r.type && r.label !== r.type && r.label, r.to && t("answersTo", r.to), r.late && t("late"),
      r.cut && t("leftOut", r.cut)].filter(Boolean);
    let list = null; // until it is there, the tab is not the user's choice
    const { list: row, panel, choose } = tabs("detail", t("rightPane"), this.tabsOf(r),
      this.why ? "clauses" : r.was !== undefined && this.tab === "tree" ? "edited" : this.tab,
      (key) => { if (list) this.tab = key; return this[key + "View"](r); });
    list = row;
    this.choose = choose;
    const count = this.marks(r).length;
    if (count) list.querySelector("#detail-clauses").append(h("span", { class: "badge" }, String(count)));
    this.root.replaceChildren(h("h2", {}, `#${r.n} `, visible(r.type || r.label || r.kind)),
      h("dl", { class: "facts" }, facts.filter(([, v]) => v).map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, visible(v))))),
      h("p", { class: "dim" }, visible(small.join(" · "))), list, panel);
    this.root.append(copies(this.app, r));
    if (typeof r.text === "string" && r.text) {
      this.root.append(h("p", { class: "row-of-buttons" }, button("use", () => this.app.composer.use(r))));
    }
  }

  tabsOf(r) { return [...(r.was === undefined ? [] : ["edited"]), "tree", "text", "bytes", "clauses", "schema"]; }

  editedView(r) { return [h("p", { class: "dim" }, t("editedText")), diffView(r.was, r.text || "")]; }

  marks(r) { return this.app.store.marks.get(r.n) || []; }

  treeView(r) {
    if (!r.text) return this.textView(r);
    try {
      const v = JSON.parse(r.text);
      return h("div", { class: "tree" }, tree(v, undefined, 3));
    } catch (e) { return [h("p", { class: "dim" }, t("notJSON", visible(e.message))), this.textView(r)]; }
  }

  textView(r) {
    if (typeof r.text !== "string" || r.text === "") {
      return r.base64 ? this.bytesView(r) : h("p", { class: "dim" }, t("noBody"));
    }
    let text = r.text;
    try { text = JSON.stringify(JSON.parse(text), null, 2).length < 1e6 ? text : text.slice(0, 1e6); } catch { /* as it is */ }
    return h("pre", { class: "wrap", dir: "ltr", tabindex: "0", role: "group", "aria-label": t("text") }, lines(text));
  }

  bytesView(r) {
    const bytes = bytesOf(r);
    const most = 4096;
    const text = bytes.length > most ? t("firstBytes", most, bytes.length) : t("byteCount", bytes.length);
    return [h("p", { class: "dim" }, text), h("pre", { dir: "ltr", tabindex: "0", role: "group", "aria-label": t("bytes") }, hex(bytes, most))];
  }

  clausesView(r) {
    const rank = (m) => ["failed", "passed"].indexOf(m.outcome) + (m.outcome === "failed" ? 0 : 2);
    const marks = [...this.marks(r)].sort((a, b) => rank(a) - rank(b));
    if (!marks.length) return h("p", { class: "dim" }, t("noClauses"));
    return marks.map((m) => this.clause(m, [r.to || this.before(r), r.n]));
  }

  // before returns the number of the latest message that the same party had got, or sent, before a record; 0 if none.
  before(r) {
    const { store } = this.app;
    for (let i = store.position(r.n) - 1, n = 0; i >= 0 && n < lookedBack; i--, n++) {
      const other = store.items[i];
      if (!other.step && other.lane === r.lane && other.dir !== r.dir && ["request", "frame", "event"].includes(other.kind)) return other.n;
    }
    return 0;
  }

  // clause says what a clause demands, what was observed instead, in which records, and what may be behind it.
  clause(m, records) {
    const words = h("div");
    const el = h("article", { class: "clause " + classOf(m.outcome) },
      h("h3", {}, h("span", { class: "mark " + classOf(m.outcome) }, `${signOf(m.outcome)} ${visible(m.clause)}`), " ", t(m.outcome)), words);
    for (const k of ["expected", "observed"]) {
      if (m[k]) el.append(h("p", {}, h("b", {}, t(k)), " ", h("span", {}, visible(m[k]))));
    }
    if (m.reason) el.append(h("p", {}, visible(m.reason)));
    if (m.diff) {
      el.append(h("pre", { class: "wrap diff", tabindex: "0", role: "group", "aria-label": t("observed") },
        lines(m.diff.trimEnd()).split("\n").map((line) => h("span", { class: { "-": "del", "+": "ins" }[line[0]] || "" }, line + "\n"))));
    }
    once("/clauses?protocol=" + encodeURIComponent(this.app.session?.protocol || "")).then((all) => {
      const c = all.find((x) => x.id === m.clause);
      if (!c) return;
      words.append(h("p", { class: "dim" }, visible(`${c.level} · ${c.section}`)), h("blockquote", { lang: "en" }, visible(c.text)));
      if (c.source) words.append(h("blockquote", { class: "dim" }, visible(c.source)));
    }).catch(() => {});
    if (m.outcome === "failed") el.append(this.behind(m, records));
    return el;
  }

  // behind lists the records of a failure, the known faults that it looks like, and the command that judges it again.
  behind(m, records) {
    const el = h("div", {});
    const all = [...new Set([...records, m.at])].filter((n) => n > 0 && this.app.store.at(n)).sort((a, b) => a - b);
    if (all.length) {
      el.append(h("h4", {}, t("records")), h("ul", { class: "recordlist" }, all.map((n) => {
        const r = this.app.store.at(n);
        return h("li", {}, h("button", { type: "button", class: "link", onclick: () => this.app.goTo(n) }, `#${n} `, t(r.dir), " ",
          visible(r.type || r.label || r.kind)), " ", h("code", {}, visible((r.text || "").slice(0, 200))));
      })));
    }
    const s = this.app.session;
    get(`/sessions/${s.id}/why?clause=${encodeURIComponent(m.clause)}`).then((why) => {
      if (why.looks_like.length) {
        el.append(h("h4", {}, t("looksLike")), h("ul", { class: "looks" }, why.looks_like.map((l) =>
          h("li", {}, h("code", {}, visible(l.fault)), " ", visible(l.why)))));
      }
      if (why.again) {
        el.append(h("h4", {}, t("again")), h("p", { class: "again" }, h("code", {}, visible(why.again)), " ",
          button("copy", () => this.app.copy(why.again), { class: "small", "aria-label": `${t("copy")}: ${t("again")}` })));
      }
    }).catch(() => {});
    return el;
  }

  schemaView(r) {
    const el = h("div", { class: "tree" });
    once("/schemas?protocol=" + encodeURIComponent(this.app.session?.protocol || "")).then((all) => {
      const s = all.find((x) => x.type === r.type && (!x.from || x.from === r.party)) || all.find((x) => x.type === r.type);
      el.append(s ? tree(s.schema, undefined, 3) : h("p", { class: "dim" }, t("noSchema")));
    }).catch(() => el.append(h("p", { class: "dim" }, t("noSchema"))));
    return el;
  }

  stepView(s) {
    const failed = new Set(s.failures.map((f) => f.clause));
    const marks = [...s.failures, ...s.outcomes.filter((o) => !failed.has(o.clause))];
    const records = Array.from({ length: Math.min(s.to - s.from, mostRecords) }, (_, i) => s.to - i);
    return [h("h2", {}, t("step")), h("p", { class: "stepname" }, visible(s.step)),
      h("p", {}, h("span", { class: "mark " + classOf(s.status) }, `${signOf(s.status)} ${t(s.status)}`), ` ${s.duration} ms`),
      s.error && h("p", { class: "error" }, visible(s.error)), ...marks.map((m) => this.clause(m, records))].filter(Boolean);
  }
}
