// The language of the filter: terms such as type:ping, all of which an item must match. A term may be negated by "-"
// and have several values, one of which must match; quotes group. Nothing here knows the document.

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const pattern = (value) => escaped(value).replaceAll("\\*", "[^\"]*");

// heartbeats are types that only keep connections open.
const heartbeats = /^(ping|pong|heart[-_]?beat|keep[-_]?alive)$/i;

// whole compares a whole name with a value, which may contain *.
function whole(value) {
  const re = new RegExp(`^${escaped(value).replaceAll("\\*", ".*")}$`, "i");
  return (name) => re.test(name);
}

// party compares the name of a party: "client B" and B are the same.
function party(value) {
  const is = whole(value);
  const [, bare] = /^\S+ (\S+)$/.exec(value) || [];
  const short = bare === undefined ? () => false : whole(bare);
  return (name) => is(name) || short(name);
}

const units = { k: 1024, m: 1024 * 1024, ms: 1, s: 1000, "": 1 };

// number compares by >, >=, <, <=, from..to or equality. It returns null for what is no number.
function number(value) {
  const one = (text) => {
    const [, digits, unit] = /^(\d+(?:\.\d+)?)(ms|s|k|m)?$/i.exec(text) || [];
    return digits === undefined ? NaN : Number(digits) * units[(unit || "").toLowerCase()];
  };
  const [, sign, rest] = /^(>=|<=|>|<)?(.*)$/.exec(value);
  const [low, high = low] = sign ? [rest] : rest.split("..");
  const [a, b] = [one(low), one(high)];
  if (Number.isNaN(a) || Number.isNaN(b)) return null;
  return { ">": (n) => n > a, ">=": (n) => n >= a, "<": (n) => n < a, "<=": (n) => n <= a }[sign] ||
    ((n) => n >= a && n <= b);
}

const isHeartbeat = (r) => r.kind === "comment" || heartbeats.test(r.type || r.label || "");

const states = {
  heartbeat: (r) => !r.step && isHeartbeat(r),
  step: (r) => Boolean(r.step),
  message: (r) => !r.step && r.dir !== "noted" && !["open", "closed", "comment", "failure"].includes(r.kind),
  late: (r) => Boolean(r.late),
  edited: (r) => r.was !== undefined,
};

const outcomes = { failed: "failed", passed: "passed", warned: "warned", warning: "warned", inconclusive: "warned",
  none: "none" };

const verdictsOf = (r, store) => {
  const all = r.step ? [...r.step.outcomes, ...r.step.failures] : store.marks.get(r.n) || [];
  return all.length ? all.map((m) => outcomes[m.outcome] || m.outcome) : r.step?.status === "failed" ? ["failed"] : ["none"];
};

const clausesOf = (r, store) => (r.step ? [...r.step.outcomes, ...r.step.failures] : store.marks.get(r.n) || []);

const known = (of, test) => (value) => (of[value.toLowerCase()] ? test(value.toLowerCase()) : null);
const named = (of) => (value) => { const is = whole(value); return (r, store) => is(of(r, store) || ""); };
const counted = (of) => (value) => {
  const is = number(value);
  return is && ((r) => { const n = of(r); return n !== null && n !== undefined && is(n); });
};

// session looks for the id of a session: in a member of its own, in an object of that name, or in a path.
function session(value) {
  const id = pattern(value);
  const re = new RegExp(`"session_?id"\\s*:\\s*"[^"]*${id}|"session"\\s*:\\s*(?:"|\\{[^{}]*"id"\\s*:\\s*")[^"]*${id}`, "i");
  const path = new RegExp(`sessions?[/=][^/?&\\s]*${id}`, "i");
  return (r) => re.test(r.text || "") || path.test(r.label || "");
}

function text(value) {
  const re = new RegExp(escaped(value), "i");
  return (r) => re.test(r.step ? r.step.step : r.text || "") || !r.step && (re.test(r.type) || re.test(r.label) || re.test(r.kind) ||
    re.test(r.lane) || re.test(r.status || ""));
}

// keys has for each key what makes a test of a value, or null for a value that it cannot have; and an example.
export const keys = {
  type: { make: named((r) => (r.step ? "" : r.type)), example: "agent_*" },
  from: { make: (v) => { const is = party(v); return (r, store) => !r.step && is(store.ends(r)[0]); }, example: '"client B"' },
  to: { make: (v) => { const is = party(v); return (r, store) => !r.step && is(store.ends(r)[1]); }, example: "server" },
  party: { make: (v) => { const is = party(v); return (r) => !r.step && is(r.lane); }, example: "A" },
  session: { make: session, example: "abc" },
  clause: { make: (v) => { const re = new RegExp(pattern(v), "i"); return (r, store) =>
    clausesOf(r, store).some((m) => re.test(m.clause)); }, example: "AS-042" },
  verdict: { make: known(outcomes, (v) => (r, store) => verdictsOf(r, store).includes(outcomes[v])), example: "failed",
    values: ["failed", "passed", "warned", "none"] },
  is: { make: known(states, (v) => states[v]), example: "heartbeat", values: Object.keys(states) },
  kind: { make: named((r) => (r.step ? "step" : r.kind)), example: "request" },
  dir: { make: known({ sent: 1, received: 1, noted: 1 }, (v) => (r) => r.dir === v), example: "sent",
    values: ["sent", "received", "noted"] },
  label: { make: (v) => { const re = new RegExp(pattern(v), "i"); return (r) => re.test(r.label || ""); }, example: "/message" },
  status: { make: counted((r) => r.status || null), example: ">=400" },
  n: { make: counted((r) => r.n), example: "100..200" },
  at: { make: counted((r) => r.at), example: ">2s" },
  latency: { make: counted((r) => r.latency), example: ">100ms" },
  size: { make: counted((r) => (r.step ? null : r.size)), example: ">1k" },
  text: { make: text, example: '"two words"' },
};

// member looks for a member of the message, at any depth, with a value.
function member(name) {
  return (value) => {
    const re = new RegExp(`"${escaped(name)}"\\s*:\\s*(?:"${pattern(value)}"|${pattern(value)}(?=[\\s,}\\]]))`, "i");
    return (r) => re.test(r.text || "");
  };
}

const keyOf = (name) => (name.startsWith(".") ? { make: member(name.slice(1)), example: "debugger" } :
  Object.hasOwn(keys, name) ? keys[name] : undefined);

// near finds the key that somebody has meant.
function near(name) {
  const distance = (a, b) => {
    let row = [...Array(b.length + 1).keys()];
    for (let i = 1; i <= a.length; i++) {
      row = row.reduce((next, up, j) => [...next, j === 0 ? i :
        Math.min(next[j - 1] + 1, up + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1))], []);
    }
    return row.at(-1);
  };
  const [best] = Object.keys(keys).map((k) => [distance(name, k), k]).sort(([a], [b]) => a - b);
  return best[0] <= 2 ? best[1] : "";
}

class Mistake extends Error {
  constructor(word, ...values) { super(word); Object.assign(this, { word, values }); }
}

// reader reads the terms of a text.
class Reader {
  constructor(source) { Object.assign(this, { source, i: 0 }); }

  match(re) {
    re.lastIndex = this.i;
    const m = re.exec(this.source);
    if (m) this.i += m[0].length;
    return m;
  }

  // term reads a term; null at the end.
  term() {
    this.match(/\s*/y);
    const start = this.i;
    if (start === this.source.length) return null;
    const not = Boolean(this.match(/-(?=\S)/y));
    const name = this.match(/(\.?[A-Za-z_][\w-]*)[:：]/y)?.[1]; // also as Chinese is typed
    const term = { not, key: "text", values: [], start };
    if (name === undefined) term.values.push(this.source[this.i] === '"' ? this.quoted() : this.match(/\S+/y)[0]);
    else this.values(term, name);
    if (!this.match(/(?=\s|$)/y)) throw new Mistake("fltQuoteEnd");
    return { ...term, end: this.i };
  }

  values(term, name) {
    term.key = name.startsWith(".") ? name : name.toLowerCase();
    const key = keyOf(term.key);
    if (!key) throw near(term.key) ? new Mistake("fltKeyNear", name, near(term.key)) : new Mistake("fltKey", name);
    do {
      const value = this.source[this.i] === '"' ? this.quoted() : this.match(/[^\s,，|]*/y)[0];
      if (!value) throw new Mistake("fltValue", name, key.example);
      if (!key.make(value)) {
        throw key.values ? new Mistake("fltOneOf", name, value, key.values.join(", ")) : new Mistake("fltNumber", name, value, key.example);
      }
      term.values.push(value);
    } while (this.match(/[,，|]/y));
  }

  quoted() {
    const m = this.match(/"((?:[^"\\]|\\.)*)"/y);
    if (!m) throw new Mistake("fltQuote");
    return m[1].replace(/\\(.)/g, "$1");
  }
}

// parse returns the terms of a text, up to its first mistake.
export function parse(source) {
  const reader = new Reader(source);
  const terms = [];
  try {
    for (let term = reader.term(); term; term = reader.term()) terms.push(term);
  } catch (e) {
    if (!(e instanceof Mistake)) throw e;
    return { terms, mistake: e };
  }
  return { terms, mistake: null };
}

// matcher returns what reports whether an item matches all terms; null if there are none.
export function matcher(terms, store) {
  if (!terms.length) return null;
  const all = terms.map(({ key, values, not }) => {
    const tests = values.map((v) => keyOf(key).make(v));
    return (item) => tests.some((test) => test(item, store)) !== not;
  });
  return (item) => all.every((test) => test(item));
}

// narrows reports whether all that new terms match was matched by old ones.
export function narrows(terms, old) {
  return old.every((o) => terms.some((n) => n.key === o.key && n.not === o.not && (n.values.join("\n") === o.values.join("\n") ||
    n.key === "text" && !n.not && n.values.length === 1 && o.values.length === 1 &&
    n.values[0].toLowerCase().includes(o.values[0].toLowerCase()))));
}

// quote writes a value as a term can have it.
export const quote = (value) => (value === "" || /[\s,，|"\\]/.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : value);

// without removes terms from a text; which(term) says which.
export function without(source, which) {
  let rest = "";
  let at = 0;
  for (const term of parse(source).terms.filter(which)) { rest += source.slice(at, term.start); at = term.end; }
  return (rest + source.slice(at)).replace(/ {2,}/g, " ").trim();
}

// having replaces the terms of a key by one with a value; by none for "".
export function having(source, key, value) {
  const rest = without(source, (term) => term.key === key);
  return value === "" ? rest : `${rest} ${key}:${quote(value)}`.trim();
}

// shownHeartbeats reports whether a text lets heartbeats through; switchHeartbeats changes that.
const hides = (term) => term.key === "is" && term.not && term.values.join() === "heartbeat";
export const hidesHeartbeats = (source) => parse(source).terms.some(hides);
export const switchHeartbeats = (source) => (hidesHeartbeats(source) ? without(source, hides) : `${source} -is:heartbeat`.trim());

// looked is the number of the newest items in which values are looked for that nobody counts.
const looked = 3000;

function seen(store, of) {
  const found = new Map();
  for (const r of store.items.slice(-looked)) for (const v of of(r)) if (v) found.set(String(v), (found.get(String(v)) || 0) + 1);
  return [...found.keys()];
}

const allOf = (re) => (r) => [...(r.text || "").matchAll(re)].map((m) => m[1]);

// valuesOf lists the values that a key can have, of those that occur.
export function valuesOf(key, store) {
  if (keys[key]?.values) return keys[key].values;
  if (key.startsWith(".")) return seen(store, allOf(new RegExp(`"${escaped(key.slice(1))}"\\s*:\\s*"?([^",}\\]]+)`, "g")));
  const some = {
    type: () => [...store.types.keys()], from: () => [...store.parties, store.peer], party: () => store.parties,
    to: () => [...store.parties, store.peer], clause: () => [...store.clauses.keys()],
    session: () => seen(store, allOf(/"session_?id"\s*:\s*"([^"]+)"/gi)), kind: () => seen(store, (r) => [r.kind]),
    status: () => seen(store, (r) => [r.status]), label: () => seen(store, (r) => [r.label]),
  }[key];
  return some ? some() : [keys[key]?.example.replaceAll('"', "")].filter(Boolean);
}

const most = 12; // suggestions

// suggest lists what the term at the caret can become: {text, from, to, note}.
export function suggest(source, caret, store) {
  const [typed] = /(?:"(?:[^"\\]|\\.)*"?|[^\s"])*$/.exec(source.slice(0, caret));
  const from = caret - typed.length;
  const [, sign, rest] = /^(-?)(.*)$/s.exec(typed);
  const [, key, values] = /^(\.?[A-Za-z_][\w-]*)[:：](.*)$/s.exec(rest) || [];
  const has = (text, part) => text.toLowerCase().includes(part.toLowerCase());
  const first = (part) => (a, b) => Number(!a.toLowerCase().startsWith(part.toLowerCase())) -
    Number(!b.toLowerCase().startsWith(part.toLowerCase()));
  const made = (text, note) => ({ text, note, from, to: caret });
  if (key !== undefined && keyOf(key.toLowerCase())) {
    const [before, last] = /^((?:.*[,，|])?)(.*)$/s.exec(values).slice(1);
    const part = last.replaceAll('"', "");
    return valuesOf(key.toLowerCase(), store).filter((v) => has(v, part) && v !== part).sort(first(part)).slice(0, most)
      .map((v) => made(`${sign}${key}:${before}${quote(v)} `));
  }
  if (rest.startsWith(".")) {
    return seen({ items: store.items.slice(-200) }, allOf(/"([A-Za-z_][\w-]*)"\s*:/g)).map((v) => "." + v)
      .filter((v) => has(v, rest)).slice(0, most).map((v) => made(`${sign}${v}:`));
  }
  const own = Object.keys(keys).filter((k) => k.startsWith(rest.toLowerCase()));
  const types = rest.length < 2 ? [] : [...store.types.keys()].filter((v) => has(v, rest)).sort(first(rest));
  return [...own.map((k) => made(`${sign}${k}:`, k)), ...types.map((v) => made(`${sign}type:${quote(v)} `))].slice(0, rest ? most : 20);
}
