// A field with suggestions, which the arrow keys and Enter take.
import { h } from "./dom.js";
import { visible } from "./safe.js";

// suggests makes the list of suggestions of a text field. find() returns those for its text, or a promise of them:
// {text, note}; take(one) is called with the chosen one. The list's ask() shows what find returns, show(all) others.
export function suggests(input, id, label, find, take) {
  let all = [];
  let at = -1;
  let turn = 0;
  const list = h("ul", { class: "suggest", id, role: "listbox", "aria-label": label, hidden: true });
  for (const [k, v] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-controls": id,
    "aria-expanded": "false", autocomplete: "off", spellcheck: "false" })) input.setAttribute(k, v);
  const point = (i) => {
    at = i;
    [...list.children].forEach((el, n) => el.setAttribute("aria-selected", n === at));
    if (at < 0) input.removeAttribute("aria-activedescendant");
    else { input.setAttribute("aria-activedescendant", `${id}-${at}`); list.children[at].scrollIntoView({ block: "nearest" }); }
  };
  const choose = (i) => { const one = all[i]; list.show([]); take(one); };
  list.show = (found) => {
    turn++;
    all = found;
    list.replaceChildren(...all.map((one, i) => h("li", { role: "option", id: `${id}-${i}`, "aria-selected": "false",
      onmousedown: (e) => { e.preventDefault(); choose(i); } }, h("b", {}, visible(one.text.trim())),
    one.note ? h("small", {}, one.note) : null)));
    list.hidden = !all.length;
    input.setAttribute("aria-expanded", !list.hidden);
    point(-1);
  };
  list.ask = async (...more) => {
    const mine = ++turn;
    const found = await find(...more);
    if (mine === turn) list.show(found);
  };
  input.addEventListener("input", () => list.ask());
  input.addEventListener("blur", () => list.show([]));
  input.addEventListener("keydown", (e) => {
    const n = all.length;
    if ((e.key === "ArrowDown" || e.key === "ArrowUp") && n) {
      e.preventDefault();
      point(e.key === "ArrowDown" ? (at + 1) % n : (at + (at < 0 ? n : n - 1)) % n);
    } else if (e.key === "Enter" && at >= 0) {
      e.preventDefault();
      choose(at);
    } else if (e.key === "Enter") {
      list.show([]);
    } else if (e.key === "Escape" && n) {
      e.preventDefault();
      e.stopPropagation();
      list.show([]);
    }
  });
  return list;
}
