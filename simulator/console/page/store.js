// The records of a session with their judgements, in the order in which they came, and which of them a filter shows.
// The store is bounded: of more records than it holds the oldest leave it, and older() brings some of them back.
const kept = 4000; // characters of a text that are kept; the rest is fetched when it is looked at
const most = 100_000; // records and steps
const mostText = 64 << 20; // characters of their texts
const mostNames = 10_000; // parties, and types

// short cuts a long record.
export function short(r) {
  for (const k of ["text", "base64"]) if (r[k]?.length > kept) { r[k] = r[k].slice(0, kept); r.part = true; }
  return r;
}

const sizeOf = (item) => 200 + (item.text || item.base64 || item.step?.step || "").length;

export class Store {
  constructor() { this.clear(); }

  clear() {
    this.items = []; // records, and steps: {step: Judged}
    this.shown = []; // indices into items
    this.marks = new Map(); // number of a record -> [{clause, outcome, expected, observed, diff, reason}]
    this.seq = 0; // of the latest finding or judged
    this.size = 0; // characters
    this.gone = 0; // number of the last record before the first of items
    this.past = 0; // number of the last record that is shown while older ones are; 0 when the newest are
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
    if (v.seq && v.seq <= this.seq) return false;
    if (v.seq) this.seq = v.seq;
    if (name === "finding") this.mark(v.at || this.last, v);
    if (name === "judged") this.judged(v);
    return true;
  }

  record(r) {
    if (r.n <= this.last) return false;
    this.last = r.n;
    if (this.past) return true;
    this.push(this.trimmed(r));
    return true;
  }

  // trimmed takes note of a record, and returns what is kept of it.
  trimmed(r) {
    short(r);
    if (r.party && !this.known.has(r.party) && this.known.size < mostNames) { this.known.add(r.party); this.parties.push(r.party); }
    if (r.type && (this.types.has(r.type) || this.types.size < mostNames)) {
      this.types.set(r.type, (this.types.get(r.type) || 0) + 1);
    }
    for (const clause of r.clauses || []) this.mark(r.n, { clause, outcome: "failed" });
    return r;
  }

  judged(j) {
    const failed = new Set((j.failures || []).map((f) => f.clause));
    for (const f of j.failures || []) this.mark(f.at || j.to, f);
    for (const o of j.outcomes || []) if (!failed.has(o.clause)) this.mark(j.to, o);
    if (!this.past) this.push({ step: j, n: j.to });
  }

  push(item) {
    this.items.push(item);
    this.size += sizeOf(item);
    if (this.matches(item)) this.shown.push(this.items.length - 1);
  }

  // newest forgets all but the filter, and goes on with the newest records. It returns the number before the first.
  newest() {
    const { filter, last } = this;
    this.clear();
    this.filter = filter;
    this.gone = this.last = Math.max(0, last - most);
    return this.gone;
  }

  // behind reports whether records of a session have yet to come, and none is here.
  behind(s) { return Boolean(s) && !this.items.length && !this.past && this.last < s.records; }

  get full() { return this.items.length > most || this.size > mostText; }

  // trim lets the oldest tenth go, and more until the bounds are kept, and returns how many of these were shown.
  trim() {
    if (!this.full) return 0;
    let n = 0;
    while (n < this.items.length && (n < most / 10 || this.items.length - n > most || this.size > mostText * 0.9)) {
      const item = this.items[n++];
      this.size -= sizeOf(item);
      this.marks.delete(item.n);
      this.gone = Math.max(this.gone, item.n);
    }
    this.items = this.items.slice(n);
    const before = this.shown.length;
    this.shown = this.shown.filter((i) => i >= n).map((i) => i - n);
    this.version++;
    return before - this.shown.length;
  }

  // older puts records before the first. If that is too much the newest leave, and new ones are only counted.
  older(records) {
    const list = records.filter((r) => r.n <= this.gone);
    if (!list.length) return;
    this.gone = list[0].n - 1;
    for (const r of list) this.trimmed(r);
    for (const r of list) this.size += sizeOf(r);
    this.items = list.concat(this.items);
    while (this.full && this.items.length > list.length) {
      const item = this.items.pop();
      this.size -= sizeOf(item);
      this.marks.delete(item.n);
      this.past = item.n - 1;
    }
    this.refilter();
  }

  mark(n, m) {
    if (!n || n <= this.gone || this.past && n > this.past) return;
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
