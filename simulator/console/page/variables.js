// Places in a raw message that are filled in when it is sent, written as in scripts: ${/data/id} is a member of the latest
// received message that has it, ${agent_list/agents/0/id} of the latest one of a type; ${id} is new at each use, ${now}
// the time, ${party} the party; $${ stands for a literal ${.
import { h } from "./dom.js";
import { visible } from "./safe.js";
import { t } from "./words.js";

const lookedAt = 2000; // records, the newest ones
const mostOffered = 12;
const deepest = 6;
const longest = 200; // characters of a value that is offered

const holes = /\$\$\{|("?)\$\{([^}]*)\}("?)/g;
const open = /(?<!\$)\$\{([^{}]*)$/;

// received goes through the received messages, the newest first, until visit returns true.
function received(store, visit) {
  const last = store.items.length - 1;
  for (let i = last; i >= 0 && i > last - lookedAt; i--) {
    const r = store.items[i];
    if (r.step || r.part || r.dir !== "received" || !/^\s*[{[]/.test(r.text || "")) continue;
    let value;
    try { value = JSON.parse(r.text); } catch { continue; }
    if (visit(r, value)) return;
  }
}

const escape = (name) => String(name).replaceAll("~", "~0").replaceAll("/", "~1");
const unescape = (part) => part.replaceAll("~1", "/").replaceAll("~0", "~");

// member returns the member of a value that a JSON Pointer names, or undefined.
const member = (value, pointer) => pointer.split("/").slice(1).reduce((v, part) =>
  (v !== null && typeof v === "object" && Object.hasOwn(v, unescape(part)) ? v[unescape(part)] : undefined), value);

// valueOf returns what a name stands for; undefined if nothing has come that has it.
function valueOf(name, store, party) {
  if (name === "id") return crypto.randomUUID?.() ?? Math.random().toString(36).slice(2);
  if (name === "now") return new Date().toISOString();
  if (name === "party") return party;
  const at = name.indexOf("/");
  if (at < 0) return undefined;
  const [type, pointer] = [name.slice(0, at), name.slice(at)];
  let found;
  received(store, (r, value) => {
    if (type && r.type !== type) return false;
    found = member(value, pointer);
    return found !== undefined || Boolean(type);
  });
  return found;
}

// fill fills in the places of a text, and names those for which there is no value. A text in quotes that is one place
// alone takes the value with its type.
export function fill(text, store, party) {
  const missing = [];
  const filled = text.replace(holes, (whole, before, name, after) => {
    if (name === undefined) return "${";
    const value = valueOf(name, store, party);
    if (value === undefined) { missing.push(name); return whole; }
    if (before && after) return JSON.stringify(value);
    return before + (typeof value === "string" ? JSON.stringify(value).slice(1, -1) : JSON.stringify(value)) + after;
  });
  return { text: filled, missing };
}

export const literal = (text) => text.replaceAll("${", "$${");

// offers lists the members of received messages whose name has a text: {name, value}. Ids come first.
export function offers(store, typed) {
  const all = new Map();
  const seen = new Set();
  const types = new Set();
  const walk = (r, value, pointer, depth) => {
    if (value !== null && typeof value === "object") {
      if (depth < deepest) for (const k of Object.keys(value).slice(0, 50)) walk(r, value[k], `${pointer}/${escape(k)}`, depth + 1);
      return;
    }
    const text = String(value);
    if (pointer === "/type" || text.length > longest || /[}]/.test(pointer)) return;
    const name = seen.has(pointer) ? r.type + pointer : pointer;
    seen.add(pointer);
    if (!all.has(name) && !/[/}]/.test(r.type)) all.set(name, text);
  };
  received(store, (r, value) => {
    if (types.has(r.type)) return false;
    types.add(r.type);
    walk(r, value, "", 0);
    return types.size > 50;
  });
  for (const name of ["id", "now", "party"]) all.set(name, t("v-" + name));
  const rank = ([name]) => (/id$/i.test(name) ? 0 : 1);
  return [...all].filter(([name]) => name.toLowerCase().includes(typed.toLowerCase())).sort((a, b) => rank(a) - rank(b))
    .slice(0, mostOffered).map(([name, value]) => ({ name, value }));
}

// offersIn makes the list of what may be filled in where somebody has begun to write ${ in a text; the arrow keys and
// Enter take one.
export function offersIn(area, store) {
  let all = [];
  let at = -1;
  const list = h("ul", { class: "suggest", id: "variables", role: "listbox", "aria-label": t("variables"), hidden: true });
  area.setAttribute("aria-controls", list.id);
  const begun = () => open.exec(area.value.slice(0, area.selectionStart));
  const point = (i) => {
    at = i;
    [...list.children].forEach((el, n) => el.setAttribute("aria-selected", n === at));
    if (at < 0) area.removeAttribute("aria-activedescendant");
    else { area.setAttribute("aria-activedescendant", `variables-${at}`); list.children[at].scrollIntoView({ block: "nearest" }); }
  };
  const show = (found) => {
    all = found;
    list.replaceChildren(...all.map((one, i) => h("li", { role: "option", id: `variables-${i}`, "aria-selected": "false",
      onmousedown: (e) => { e.preventDefault(); take(i); } }, visible("${" + one.name + "}"), " ", h("small", {}, visible(one.value)))));
    list.hidden = !all.length;
    point(-1);
  };
  const take = (i) => {
    const from = area.selectionStart - begun()[1].length;
    const closed = area.value[area.selectionStart] === "}" ? 1 : 0;
    area.setRangeText(all[i].name + "}", from, area.selectionStart + closed, "end");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const offer = () => { const typed = begun(); show(typed ? offers(store, typed[1]) : []); };
  area.addEventListener("input", offer);
  area.addEventListener("blur", () => show([]));
  area.addEventListener("keydown", (e) => {
    if (!all.length || e.ctrlKey || e.metaKey) return;
    if (e.key === "ArrowDown" || e.key === "ArrowUp") point((at + (e.key === "ArrowDown" ? 1 : at < 0 ? all.length : all.length - 1)) % all.length);
    else if (e.key === "Enter" && at >= 0) take(at);
    else if (e.key === "Escape") { e.stopPropagation(); show([]); }
    else return;
    e.preventDefault();
  });
  return list;
}
