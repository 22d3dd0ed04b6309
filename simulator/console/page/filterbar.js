// The bar above the messages: the filter, and how they are shown.
import { button, h } from "./dom.js";
import { having, hidesHeartbeats, parse, suggest, switchHeartbeats } from "./filter.js";
import { suggests } from "./suggest.js";
import { t } from "./words.js";

const rest = 300; // milliseconds without a change after which the filter is written to the address

// fromHash reads what the address says: the session and its filter.
export function fromHash() {
  const [id, query = ""] = location.hash.slice(1).split("?");
  return { id: new URLSearchParams("id=" + id).get("id"), filter: new URLSearchParams(query).get("filter") || "" };
}

export class FilterBar {
  constructor(root, app) {
    Object.assign(this, { root, app, text: "" });
    root.onsubmit = (e) => e.preventDefault();
  }

  draw() {
    const { app } = this;
    const had = this.root.contains(document.activeElement) ? document.activeElement.dataset.id : "";
    this.input = h("input", { id: "f-text", type: "search", "data-id": "text", "aria-label": t("filters"), placeholder: t("filterHint"),
      value: this.text, "aria-describedby": "f-mistake", oninput: () => this.apply(this.input.value) });
    const list = suggests(this.input, "f-suggest", t("suggestions"), () => this.suggestions(), (one) => {
      this.take(one);
      list.ask();
    });
    this.mistake = h("p", { id: "f-mistake", class: "mistake", role: "status" });
    this.clear = h("button", { type: "button", class: "clear", "data-id": "clear", "aria-label": t("clear"), title: t("clear"),
      onclick: () => { this.put(""); this.input.focus(); } }, "✕");
    const toggle = (key, on, act, more = {}) => button(key, act, { "aria-pressed": on, "data-id": key, ...more });
    this.beats = toggle("hideHeartbeats", false, () => this.heartbeats());
    this.views = ["diagram", "list"].map((name) => toggle(name === "list" ? "listView" : "diagramView", false, () => app.view(name)));
    this.fold = toggle("foldClosed", false, () => app.diagram.fold(!app.diagram.folded), { hidden: true });
    this.follow = toggle("follow", app.rows.follow, () => app.rows.toEnd(), { class: "follow" });
    this.root.replaceChildren(h("div", { class: "filterfield" }, this.input, this.clear, list), this.beats,
      h("span", { class: "switch", role: "group", "aria-label": t("view") }, this.views), this.fold, this.follow, this.mistake);
    this.tell();
    if (had) this.root.querySelector(`[data-id="${had}"]`)?.focus();
    this.input.addEventListener("focus", () => list.ask());
  }

  // tell shows what is switched on, and the mistake in the filter.
  tell() {
    const { mistake } = parse(this.text);
    this.mistake.textContent = mistake ? t(mistake.word, ...mistake.values) : "";
    this.input.setAttribute("aria-invalid", Boolean(mistake));
    this.clear.hidden = !this.text;
    this.beats.setAttribute("aria-pressed", hidesHeartbeats(this.text));
    const { app } = this;
    this.views.forEach((el, i) => el.setAttribute("aria-pressed", app.rows.view?.name === ["diagram", "list"][i]));
    this.lanes();
  }

  lanes() {
    const { diagram, rows } = this.app;
    if (!this.fold) return;
    this.fold.hidden = rows.view !== diagram || !diagram.foldable;
    this.fold.setAttribute("aria-pressed", Boolean(diagram.folded));
  }

  suggestions() { return suggest(this.input.value, this.input.selectionStart, this.app.store).map((one) => ({ ...one,
    note: one.note && t("key-" + one.note) })); }

  take({ text, from, to }) {
    const { value } = this.input;
    this.input.value = value.slice(0, from) + text + value.slice(to).trimStart();
    this.input.setSelectionRange(from + text.length, from + text.length);
    this.apply(this.input.value);
  }

  // heartbeats hides heartbeats, or shows them.
  heartbeats() { this.put(switchHeartbeats(this.text)); }

  // set replaces the terms of a key by one with a value.
  set(key, value) { this.put(having(this.text, key, value)); }

  put(text) {
    this.input.value = text;
    this.apply(text);
  }

  // apply filters by a text. One with a mistake changes nothing that is shown.
  apply(text) {
    this.text = text;
    const { terms, mistake } = parse(text);
    this.tell();
    if (!mistake) this.app.filtered(terms);
    clearTimeout(this.later);
    this.later = setTimeout(() => this.toHash(), rest);
  }

  // load takes a filter that was in the address, before there are messages.
  load(text) {
    clearTimeout(this.later);
    this.text = text;
    const { terms, mistake } = parse(text);
    this.app.store.setFilter(mistake ? [] : terms);
    this.draw();
  }

  // toHash writes session and filter to the address.
  toHash() {
    const { session } = this.app;
    if (!session) return;
    const query = this.text ? "?filter=" + encodeURIComponent(this.text) : "";
    const now = `#${encodeURIComponent(session.id)}${query}`;
    if (location.hash !== now) history.replaceState(null, "", now);
  }
}
