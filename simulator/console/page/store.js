// The records of a session with their judgements, in the order in which they came, and which of them a filter shows.
// The store is bounded: of more records than it holds the oldest leave it, and older() brings some of them back.
import { matcher, narrows } from "./filter.js";

const kept = 4000; // characters of a text that are kept; the rest is fetched when it is looked at
const most = 100_000; // records and steps
const mostText = 64 << 20; // characters of their texts
const mostNames = 10_000; // parties, and types

const atOnce = 500; // items that are matched again one by one; if more have new marks, all are
const introduced = 20; // messages of a party in which the ids of its connection are looked for

// short measures a record, and cuts a long one.
export function short(r) {
  r.size ??= sizeOfBody(r);
  for (const k of ["text", "base64"]) if (r[k]?.length > kept) { r[k] = r[k].slice(0, kept); r.part = true; }
  return r;
}

// sizeOfBody returns the number of bytes of a record's content.
function sizeOfBody(r) {
  let bytes = r.cut || 0;
  if (r.base64) bytes += Math.floor(r.base64.replace(/=+$/, "").length * 3 / 4);
  else if (r.text) bytes += /^[\0-\x7f]*$/.test(r.text) ? r.text.length : new TextEncoder().encode(r.text).length;
  return r.text === undefined && r.base64 === undefined ? null : bytes;
}

// requestOf finds the id of the request that a message makes or answers.
const requestOf = (text) => /"request_?id"\s*:\s*"?([^",}\s]+)/i.exec(text)?.[1];

// ids finds the ids of connections in a message.
const ids = (text) => [...text.matchAll(/"(?:connection|client)_?id"\s*:\s*"([^"]{4,})"/gi)].map((m) => m[1]);

const sizeOf = (item) => 200 + (item.text || item.base64 || item.step?.step || "").length;

export class Store {
  constructor() { this.session = null; this.terms = []; this.clear(); }

  // clear forgets all but the filter.
  clear() {
    this.items = []; // records, and steps: {step: Judged}
    this.shown = []; // indices into items
    this.marks = new Map(); // number of a record -> [{clause, outcome, expected, observed, diff, reason}]
    this.edited = false; // some record was sent in the place of another
    this.clauses = new Map(); // clause -> how often it was judged
    this.seq = 0; // of the latest finding or judged
    this.size = 0; // characters
    this.gone = 0; // number of the last record before the first of items
    this.past = 0; // number of the last record that is shown while older ones are; 0 when the newest are
    this.parties = [];
    this.known = new Map(); // party -> how many of its messages have been read for ids
    this.owners = new Map(); // id of a connection -> its party
    this.requests = new Map(); // lane and id of a request -> {dir, at} of its first message
    this.types = new Map(); // type -> how often
    this.last = 0;
    this.turned = undefined; // of a recording: the first connection was accepted, not opened, by who recorded
    this.version = 0; // grows when marks of earlier records change
    this.doubtful = new Set(); // numbers of records whose marks have changed since they were matched
    this.match = matcher(this.terms, this);
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
    if (!r.to && (r.kind === "open" || r.kind === "request")) this.turned ??= r.dir === "received";
    this.last = r.n;
    if (this.past) return true;
    this.push(this.trimmed(r));
    return true;
  }

  // trimmed takes note of a record, and returns what is kept of it.
  trimmed(r) {
    if (r.party && this.known.has(r.party) || this.known.size < mostNames) this.introduce(r);
    r.lane = r.party || this.ownerOf(r);
    this.time(r);
    short(r);
    if (r.type && (this.types.has(r.type) || this.types.size < mostNames)) {
      this.types.set(r.type, (this.types.get(r.type) || 0) + 1);
    }
    for (const clause of r.clauses || []) this.mark(r.n, { clause, outcome: "failed" });
    this.edited ||= r.was !== undefined;
    return r;
  }

  // introduce learns the party of a record, and the ids by which its connection is called.
  introduce(r) {
    if (!r.party) return;
    if (!this.known.has(r.party)) { this.known.set(r.party, 0); this.parties.push(r.party); }
    const count = this.known.get(r.party);
    if (count < introduced && r.text) {
      this.known.set(r.party, count + 1);
      for (const id of ids(r.text)) if (count === 0 || !this.owners.has(id)) this.owners.set(id, r.party);
    }
    if (!r.to) return;
    const asked = this.at(r.to);
    if (asked && !asked.lane) { asked.lane = r.party; this.doubtful.add(asked.n); this.version++; }
  }

  // ownerOf finds whose record without a party is: by the request that it answers, or the id of a connection in it.
  ownerOf(r) {
    const asked = r.to && this.at(r.to);
    if (asked) return asked.lane;
    for (const id of this.owners.size ? ids(r.text || "") : []) if (this.owners.has(id)) return this.owners.get(id);
    const inPath = /[?&](?:connection|client)_?id=([^&\s]+)/i.exec(r.label || "");
    return inPath && this.owners.get(inPath[1]) || "";
  }

  // position returns the place of the first item with a number, or of what comes after it.
  position(n) {
    let [low, high] = [0, this.items.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.items[middle].n < n) low = middle + 1; else high = middle;
    }
    return low;
  }

  // at returns the record with a number, if it is here.
  at(n) {
    for (let i = this.position(n); this.items[i]?.n === n; i++) if (!this.items[i].step) return this.items[i];
    return null;
  }

  // atPeer reports whether the peer of the parties has recorded: what was sent came from it.
  get atPeer() {
    const kind = this.session?.kind;
    return kind === "replay" ? Boolean(this.turned) : kind === "play";
  }

  // peer is the name of the party on the other side of all connections.
  get peer() {
    const s = this.session;
    if (s?.kind === "replay" && (this.turned || !s.role && this.turned === false)) return "server"; // somebody connects to it
    return (s?.kind === "play" ? s.as : s?.role) || "target";
  }

  // ends returns the sender and the receiver of a record.
  ends(r) {
    if (r.dir === "noted") return [r.lane, ""];
    return (r.dir === "sent") !== this.atPeer ? [r.lane, this.peer] : [this.peer, r.lane];
  }

  // time sets how many milliseconds a record came after what it answers; null if it answers nothing.
  time(r) {
    r.latency = null;
    const asked = r.to && this.at(r.to);
    const id = !asked && r.text && r.dir !== "noted" && requestOf(r.text);
    if (asked) r.latency = r.at - asked.at;
    if (!id) return;
    const key = `${r.lane} ${id}`;
    const first = this.requests.get(key);
    if (first && first.dir !== r.dir) r.latency = r.at - first.at;
    if (first) return;
    if (this.requests.size >= mostNames) this.requests.delete(this.requests.keys().next().value);
    this.requests.set(key, { dir: r.dir, at: r.at });
  }

  judged(j) {
    const failed = new Set((j.failures || []).map((f) => f.clause));
    for (const f of j.failures || []) this.mark(f.at || j.to, f);
    for (const o of j.outcomes || []) if (!failed.has(o.clause)) this.mark(j.to, o);
    if (!this.past) this.push({ step: j, n: Math.max(j.to, this.last) }); // numbers grow
  }

  push(item) {
    this.items.push(item);
    this.size += sizeOf(item);
    if (this.matches(item)) this.shown.push(this.items.length - 1);
  }

  // newest forgets all, and goes on with the newest records. It returns the number before the first.
  newest() {
    const { last } = this;
    this.clear();
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
    this.clauses.set(m.clause, (this.clauses.get(m.clause) || 0) + 1);
    this.version++;
    this.doubtful.add(n);
  }

  matches(item) { return !this.match || this.match(item); }

  // setFilter shows what matches the terms of a filter.
  setFilter(terms) {
    const among = narrows(terms, this.terms) && !this.doubtful.size ? this.shown : null;
    this.terms = terms;
    this.match = matcher(terms, this);
    this.refilter(among);
  }

  // refilter matches all items, or those of a list of indices.
  refilter(among) {
    this.doubtful.clear();
    const { items } = this;
    if (among) this.shown = among.filter((i) => this.matches(items[i]));
    else {
      this.shown = [];
      for (let i = 0; i < items.length; i++) if (this.matches(items[i])) this.shown.push(i);
    }
    this.version++;
  }

  // settle matches the items again whose marks or parties have become known.
  settle() {
    const numbers = this.match ? [...this.doubtful] : [];
    this.doubtful.clear();
    if (numbers.length > atOnce) { this.refilter(); return; }
    for (const n of numbers) {
      for (let i = this.position(n); this.items[i]?.n === n; i++) this.rematch(i);
    }
  }

  rematch(i) {
    let [low, high] = [0, this.shown.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.shown[middle] < i) low = middle + 1; else high = middle;
    }
    const was = this.shown[low] === i;
    if (was !== this.matches(this.items[i])) this.shown.splice(low, was ? 1 : 0, ...(was ? [] : [i]));
  }
}

export const sign = { passed: "✓", failed: "✗", warning: "~", warned: "~", inconclusive: "~", skipped: "~" };
export const signOf = (outcome) => sign[outcome] || "~";
export const classOf = (outcome) => ({ passed: "good", failed: "bad" }[outcome] || "warn");
