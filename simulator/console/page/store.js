// The records of a session with their judgements, in the order in which they came, and which of them a filter shows.
const kept = 4000; // characters of a text that are kept; the rest is fetched when it is looked at

export class Store {
  constructor() { this.clear(); }

  clear() {
    this.items = []; // records, and steps: {step: Judged}
    this.shown = []; // indices into items
    this.marks = new Map(); // number of a record -> [{clause, outcome, expected, observed, diff, reason}]
    this.seen = new Set(); // seq of findings and judged
    this.parties = [];
    this.known = new Set();
    this.types = new Map(); // type -> how often
    this.last = 0;
    this.version = 0; // grows when marks of earlier records change
    this.filter = { party: "", type: "", clause: "", text: "" };
  }

  // add takes an event, and returns whether it was new.
  add(name, v) {
    if (name === "record") return this.record(v);
    if (v.seq && this.seen.has(v.seq)) return false;
    if (v.seq) this.seen.add(v.seq);
    if (name === "finding") this.mark(v.at || this.last, v);
    if (name === "judged") this.judged(v);
    return true;
  }

  record(r) {
    if (r.n <= this.last) return false;
    this.last = r.n;
    if (r.text && r.text.length > kept) { r.text = r.text.slice(0, kept); r.part = true; }
    if (r.base64 && r.base64.length > kept) { r.base64 = r.base64.slice(0, kept); r.part = true; }
    if (r.party && !this.known.has(r.party)) { this.known.add(r.party); this.parties.push(r.party); }
    if (r.type) this.types.set(r.type, (this.types.get(r.type) || 0) + 1);
    for (const clause of r.clauses || []) this.mark(r.n, { clause, outcome: "failed" });
    this.push(r);
    return true;
  }

  judged(j) {
    const failed = new Set((j.failures || []).map((f) => f.clause));
    for (const f of j.failures || []) this.mark(f.at || j.to, f);
    for (const o of j.outcomes || []) if (!failed.has(o.clause)) this.mark(j.to, o);
    this.push({ step: j, n: j.to });
  }

  push(item) {
    this.items.push(item);
    if (this.matches(item)) this.shown.push(this.items.length - 1);
  }

  mark(n, m) {
    if (!n) return;
    const list = this.marks.get(n) || [];
    const same = list.find((x) => x.clause === m.clause && x.outcome === m.outcome);
    if (same) { for (const k of ["expected", "observed", "diff", "reason"]) same[k] ||= m[k]; } else list.push({ ...m });
    this.marks.set(n, list);
    this.version++;
    if (this.filter.clause) this.stale = true;
  }

  matches(item) {
    const f = this.filter;
    const s = item.step;
    if (f.party && item.party !== f.party) return false;
    if (f.type && item.type !== f.type) return false;
    if (f.clause) {
      const q = f.clause.toLowerCase();
      const all = s ? [...s.outcomes, ...s.failures] : this.marks.get(item.n) || [];
      if (!all.some((m) => m.clause.toLowerCase().includes(q))) return false;
    }
    if (!f.text) return true;
    const hay = s ? s.step : `${item.party} ${item.kind} ${item.label} ${item.type} ${item.status || ""} ${item.text || ""}`;
    return hay.toLowerCase().includes(f.text.toLowerCase());
  }

  setFilter(f) {
    Object.assign(this.filter, f);
    this.refilter();
  }

  refilter() {
    this.stale = false;
    this.shown = [];
    for (let i = 0; i < this.items.length; i++) if (this.matches(this.items[i])) this.shown.push(i);
    this.version++;
  }
}

export const sign = { passed: "✓", failed: "✗", warning: "~", warned: "~", inconclusive: "~", skipped: "~" };
export const signOf = (outcome) => sign[outcome] || "~";
export const classOf = (outcome) => ({ passed: "good", failed: "bad" }[outcome] || "warn");
