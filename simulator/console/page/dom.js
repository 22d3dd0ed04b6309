// Small helpers for elements. Texts become text nodes, never HTML.
import { t } from "./words.js";

// h makes an element. Attributes beginning with "on" are listeners; true sets an empty attribute, false and null none.
export function h(tag, attrs = {}, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs || {})) {
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (name === "value") el.value = value;
    else if (name.startsWith("aria-") && typeof value === "boolean") el.setAttribute(name, String(value));
    else if (value === true) el.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) el.setAttribute(name, value);
  }
  el.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

export const $ = (id) => document.getElementById(id);

// button makes a button with a word of words.js as its text.
export const button = (key, onclick, attrs = {}) => h("button", { type: "button", onclick, ...attrs }, t(key));

// field labels a control.
export const field = (text, control, ...more) => h("label", { class: "field" }, h("span", {}, text), control, ...more);

// select makes a choice. An option is a value, or a pair of value and text.
export function select(options, value, attrs = {}) {
  const el = h("select", attrs, options.map((o) => {
    const [v, text] = Array.isArray(o) ? o : [o, o];
    return h("option", { value: v }, text);
  }));
  if (options.some((o) => (Array.isArray(o) ? o[0] : o) === value)) el.value = value;
  return el;
}

// tabs makes a row of tabs above one panel. draw(key) returns the panel's content.
export function tabs(id, label, keys, current, draw) {
  const panel = h("div", { class: "panel", id: id + "-panel", role: "tabpanel", tabindex: "0" });
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": label });
  const choose = (key, focus) => {
    for (const tab of list.children) {
      const on = tab.dataset.key === key;
      tab.setAttribute("aria-selected", on);
      tab.tabIndex = on ? 0 : -1;
      if (on) panel.setAttribute("aria-labelledby", tab.id);
      if (on && focus) tab.focus();
    }
    panel.replaceChildren(...[draw(key)].flat().filter(Boolean));
  };
  keys.forEach((key, i) => list.append(h("button", {
    type: "button", role: "tab", id: `${id}-${key}`, "data-key": key, "aria-controls": panel.id,
    onclick: () => choose(key),
    onkeydown: (e) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (!step) return;
      e.preventDefault();
      choose(keys[(i + step + keys.length) % keys.length], true);
    },
  }, t(key))));
  choose(keys.includes(current) ? current : keys[0]);
  return { list, panel, choose };
}

// save offers a text as a file.
export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const a = h("a", { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
