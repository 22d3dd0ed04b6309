// A form made from a JSON Schema, with live validation.
import { field, h, select } from "./dom.js";
import { visible } from "./safe.js";
import { t } from "./words.js";

const deepest = 4;

function resolve(schema, root) {
  let s = schema;
  for (let i = 0; i < 8 && s && typeof s.$ref === "string" && s.$ref.startsWith("#/"); i++) {
    const path = s.$ref.slice(2).split("/").map((p) => p.replace(/~1/g, "/").replace(/~0/g, "~"));
    s = path.reduce((v, p) => (v && Object.hasOwn(v, p) ? v[p] : undefined), root);
  }
  return s && typeof s === "object" ? s : {};
}

// kindOf returns which control a schema gets.
function kindOf(s) {
  if ("const" in s) return "const";
  if (Array.isArray(s.enum)) return "enum";
  const type = Array.isArray(s.type) ? s.type.find((x) => x !== "null") : s.type;
  if (type === "object" || (!type && s.properties)) return s.properties ? "object" : "json";
  return ["string", "integer", "number", "boolean"].includes(type) ? type : "json";
}

// check returns what is wrong with a value, or "".
export function check(s, v) {
  if ((s.type === "integer" && !Number.isInteger(v)) || (s.type === "number" && typeof v !== "number")) {
    return t(s.type === "integer" ? "fInteger" : "fNumber");
  }
  if (typeof v === "number" && s.minimum !== undefined && v < s.minimum) return t("fMin", s.minimum);
  if (typeof v === "number" && s.maximum !== undefined && v > s.maximum) return t("fMax", s.maximum);
  if (typeof v === "string") {
    const length = [...v].length;
    if (s.minLength !== undefined && length < s.minLength) return t("fMinLength", s.minLength);
    if (s.maxLength !== undefined && length > s.maxLength) return t("fMaxLength", s.maxLength);
    try {
      if (s.pattern && !new RegExp(s.pattern, "u").test(v)) return t("fPattern", visible(s.pattern));
    } catch { /* a pattern of another dialect */ }
  }
  const is = Array.isArray(v) ? "array" : v === null ? "null" : typeof v;
  const want = [s.type].flat().filter(Boolean);
  if (want.length && !want.includes(is) && !(is === "number" && want.includes("integer"))) return t("fType", want.join(", "));
  return "";
}

let serial = 0;

// control makes the control of a member; its read returns {value, has, errors}.
function control(name, schema, root, required, depth, changed) {
  const s = resolve(schema, root);
  const kind = kindOf(s);
  const title = visible(name) + (required ? " *" : "");
  if (kind === "object" && depth < deepest) {
    const inner = fields(s, root, depth + 1, changed);
    const use = h("input", { type: "checkbox", onchange: changed });
    use.checked = required;
    const legend = h("legend", {}, required ? title : h("label", {}, use, " ", title));
    return { el: h("fieldset", {}, legend, ...inner.els),
      read: () => (use.checked ? { has: true, ...inner.read() } : { has: false, errors: [] }) };
  }
  if (kind === "const") {
    const input = h("input", { value: typeof s.const === "string" ? s.const : JSON.stringify(s.const), readonly: true });
    return { el: field(title, input), read: () => ({ has: true, value: s.const, errors: [] }) };
  }
  return simple(name, title, s, kind, required, changed);
}

function simple(name, title, s, kind, required, changed) {
  const id = "form-note-" + ++serial;
  const attrs = { oninput: changed, "aria-describedby": id, autocomplete: "off", spellcheck: "false" };
  let input;
  if (kind === "enum") input = select([["", `(${t("left")})`], ...s.enum.map((v) => [JSON.stringify(v), visible(v)])], "", attrs);
  else if (kind === "boolean") input = select([["", `(${t("left")})`], "true", "false"], "", attrs);
  else if (kind === "json") input = h("textarea", { rows: 2, placeholder: "JSON", ...attrs });
  else input = h("input", { type: "text", inputmode: kind === "string" ? "text" : "decimal", ...attrs });
  if (s.default !== undefined) input.value = kind === "string" ? s.default : JSON.stringify(s.default);
  let touched = false;
  input.addEventListener("input", () => { touched = true; });
  const note = h("small", { id, class: "note" }, visible(s.description || ""));
  const read = () => {
    const text = input.value;
    const has = text !== "" || (kind === "string" && required);
    let value = text;
    let wrong = "";
    if (has && kind !== "string") {
      try { value = JSON.parse(text); } catch { wrong = t({ integer: "fInteger", number: "fNumber" }[kind] || "fJSON"); }
    }
    if (!has && required) wrong = t("fRequired");
    else if (has && !wrong) wrong = check(s, value);
    input.setAttribute("aria-invalid", Boolean(wrong) && touched);
    note.textContent = wrong && touched ? `${visible(name)} ${wrong}` : visible(s.description || "");
    note.classList.toggle("error", Boolean(wrong) && touched);
    return { has, value, errors: wrong ? [`${visible(name)} ${wrong}`] : [] };
  };
  return { el: field(title, input, note), read };
}

function fields(s, root, depth, changed) {
  const must = new Set(s.required || []);
  const all = Object.entries(s.properties || {})
    .sort(([a], [b]) => (b === "type") - (a === "type") || must.has(b) - must.has(a))
    .map(([name, sub]) => ({ name, ...control(name, sub, root, must.has(name), depth, changed) }));
  return {
    els: all.map((c) => c.el),
    read: () => {
      const value = {};
      const errors = [];
      for (const c of all) {
        const got = c.read();
        errors.push(...got.errors);
        if (got.has) Object.defineProperty(value, c.name, { value: got.value, enumerable: true, configurable: true, writable: true });
      }
      return { value, errors };
    },
  };
}

// formOf makes the controls for a schema. read() returns the message and what is wrong with it.
export const formOf = (schema, changed) => fields(resolve(schema, schema), schema, 0, changed);
