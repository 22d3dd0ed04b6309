// The messages of a session as rows, of which only the visible ones are in the document. A view draws them: the
// sequence diagram or the list.
import { button, h } from "./dom.js";
import { addresses } from "./left.js";
import { visible } from "./safe.js";
import { classOf, signOf } from "./store.js";
import { t } from "./words.js";

const tallest = 16_000_000; // pixels; browsers lose precision above
export const narrow = 560; // pixels; below it a view leaves out what the detail shows

// edited marks a message in whose place another was held.
const edited = (r) => (r.was === undefined ? null : h("span", { class: "mark edit", title: t("editedText") }, "✎",
  h("span", { class: "hidden" }, t("edited"))));

export class Rows {
  // views are objects with head (an element above the rows), rowHeight(width), layout(), and fill(row, record).
  // session() returns the session that is shown; select(item, index) is called when a message is chosen.
  constructor(root, store, session, select) {
    Object.assign(this, { root, store, session, onselect: select, follow: true, at: -1, rows: new Map(), dirty: true });
    this.list = h("div", { class: "rows", role: "listbox", tabindex: "0", id: "messages" });
    this.empty = h("div", { class: "empty" });
    root.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.list.addEventListener("keydown", (e) => this.key(e));
    this.list.addEventListener("click", (e) => {
      const row = e.target.closest("[data-i]");
      if (row) this.choose(Number(row.dataset.i));
    });
    new ResizeObserver(() => this.redraw()).observe(root);
  }

  // show draws by another view; the first visible row, or the chosen one, stays.
  show(view) {
    const middle = this.at >= 0 ? this.at : this.view ? Math.floor(this.offset / this.rowHeight) : 0;
    this.view = view;
    this.root.dataset.view = view.name;
    this.root.replaceChildren(...view.heads, this.list, this.empty);
    this.root.scrollLeft = 0;
    this.redraw();
    if (!this.follow) this.root.scrollTop = Math.max(0, middle * this.rowHeight - (this.at >= 0 ? this.room / 2 : 0)) / this.scale;
    this.draw();
  }

  get width() { return this.root.clientWidth; }
  get rowHeight() { return this.view.rowHeight(this.width); }
  get offset() { return this.root.scrollTop * this.scale; }

  redraw() { this.dirty = true; this.draw(); }

  get room() { return Math.max(this.rowHeight, this.root.clientHeight - this.view.heads[0].offsetHeight); }
  get full() { return this.store.shown.length * this.rowHeight; }
  get height() { return Math.min(this.full, tallest); }
  // scale stretches the scroll bar when there are more rows than a page can be tall.
  get scale() { return this.full > tallest ? (this.full - this.room) / (tallest - this.room) : 1; }

  scrolled() {
    const bottom = this.root.scrollTop + this.root.clientHeight >= this.root.scrollHeight - this.rowHeight;
    if (bottom !== this.follow) { this.follow = bottom; this.onfollow?.(bottom); }
    if (this.root.scrollLeft !== this.left) this.dirty = true;
    this.draw();
  }

  toEnd() {
    this.follow = true;
    this.onfollow?.(true);
    this.draw();
  }

  // shift moves the view with its rows when some have come before them (by > 0) or have left (by < 0).
  shift(by) {
    if (this.at >= 0) this.at = Math.max(-1, this.at + by);
    if (by > 0) this.follow = false;
    this.onfollow?.(this.follow);
    const top = this.offset;
    this.list.style.height = this.height + "px";
    if (!this.follow) this.root.scrollTop = Math.max(0, top + by * this.rowHeight) / this.scale;
    this.redraw();
  }

  // draw shows the rows that are in view. It is called at most once a frame.
  draw() {
    if (!this.view) return;
    const { store, rowHeight } = this;
    if (this.dirty || store.version !== this.version || store.parties.length !== this.count) {
      this.root.classList.toggle("narrow", this.width < narrow);
      this.list.setAttribute("aria-label", t("messages"));
      this.list.style.width = this.view.layout() + "px";
      for (const el of this.rows.values()) el.remove();
      this.rows.clear();
    }
    this.left = this.root.scrollLeft;
    Object.assign(this, { dirty: false, version: store.version, count: store.parties.length });
    this.list.style.height = this.height + "px";
    if (this.follow) this.root.scrollTop = this.root.scrollHeight;
    const { offset } = this;
    const first = Math.max(0, Math.floor(offset / rowHeight) - 4);
    const last = Math.min(store.shown.length, Math.ceil((offset + this.room) / rowHeight) + 4);
    for (const [i, el] of this.rows) if (i < first || i >= last) { el.remove(); this.rows.delete(i); }
    const fresh = [];
    for (let i = first; i < last; i++) {
      let el = this.rows.get(i);
      if (!el) {
        el = this.row(i);
        this.rows.set(i, el);
        fresh.push(el);
      }
      el.style.top = i * rowHeight - offset + this.root.scrollTop + "px";
      el.setAttribute("aria-setsize", store.shown.length);
    }
    this.list.append(...fresh);
    this.pointAt();
    this.blank();
  }

  blank() {
    const none = this.store.shown.length === 0;
    this.empty.hidden = !none;
    this.list.classList.toggle("none", none);
    const s = this.session();
    const behind = this.store.behind(s);
    const key = `${none} ${behind} ${this.store.items.length > 0} ${s?.id} ${s?.url} ${t("empty")}`;
    if (key === this.blankKey) return;
    this.blankKey = key;
    this.dirty = true; // the heads come with the first message
    if (behind) { this.empty.replaceChildren(h("strong", {}, t("loading"))); return; }
    const some = this.store.items.length > 0;
    const waits = s?.kind === "play" && s.url;
    this.empty.replaceChildren(h("strong", {}, t(!s ? "noSession" : some ? "noMatch" : "empty")), h("span", {}, !s ? t("noSessionText") : some ? "" :
      waits ? t(s.connects ? "emptyClient" : "emptyPlay") : t("emptyText")));
    if (!s) {
      this.empty.append(h("div", { class: "kinds" }, ["test", "play", "replay"].map((kind) => h("button", { type: "button",
        onclick: () => this.onstart?.(kind) }, h("b", {}, t(kind)), h("small", {}, t(kind + "Text"))))));
    } else if (some) {
      this.empty.append(button("clear", () => this.onclear?.()));
    } else if (waits) {
      this.empty.append(...addresses(s).map((url) => h("code", {}, visible(url))));
    }
  }

  row(i) {
    const item = this.store.items[this.store.shown[i]];
    const el = h("div", { class: "row", role: "option", id: "row-" + i, "data-i": i, "aria-posinset": i + 1,
      "aria-selected": i === this.at });
    Object.assign(el.style, { left: this.root.scrollLeft + "px", width: this.width + "px", height: this.rowHeight + "px" });
    if (item.step) this.fillStep(el, item.step); else this.view.fill(el, item);
    return el;
  }

  fillStep(el, s) {
    el.classList.add("steprow");
    const kind = s.status === "skipped" ? "warn" : classOf(s.status);
    const count = (o) => s.outcomes.filter((x) => x.outcome === o).length;
    el.append(h("span", { class: "stepmark " + kind }, signOf(s.status)), h("span", { class: "steptext" },
      h("span", { class: "hidden" }, t("step") + " "), visible(s.step)),
    h("span", { class: "steperr" }, s.error ? visible(s.error) : [count("passed") && `✓ ${count("passed")} `,
      s.failures.length && h("b", { class: "bad" }, `✗ ${s.failures.length}`)].filter(Boolean)));
  }

  // marks shows what was judged at a record: the worst first, or those that the filter is about; short: a sign and a
  // number.
  marks(r, short) {
    const asked = this.store.terms.filter((term) => term.key === "clause" && !term.not).flatMap((term) => term.values);
    const rank = (m) => (asked.some((q) => m.clause.toLowerCase().includes(q.toLowerCase())) ? 0 : m.outcome !== "passed" ? 1 : 2);
    const all = (this.store.marks.get(r.n) || []).toReversed().sort((a, b) => rank(a) - rank(b));
    const mark = (m, text) => h("span", { class: "mark " + classOf(m.outcome), title: `${t(m.outcome)}: ${visible(m.clause)}` },
      `${signOf(m.outcome)} ${text}`);
    if (short && all.length) {
      const worst = ["failed", "passed"].map((o) => all.filter((m) => (o === "failed") === (m.outcome === "failed")))
        .find((some) => some.length);
      const same = worst.filter((m) => m.outcome === worst[0].outcome);
      return h("span", { class: "marks" }, edited(r), mark(same[0], String(same.length)),
        h("span", { class: "hidden" }, " " + same.slice(0, 3).map((m) => visible(m.clause)).join(" ")));
    }
    return h("span", { class: "marks" }, edited(r), all.slice(0, 2).map((m) => mark(m, visible(m.clause))),
      all.length > 2 ? h("span", { class: "mark rest" }, `+${all.length - 2}`) : null);
  }

  pointAt() {
    for (const [i, el] of this.rows) el.setAttribute("aria-selected", i === this.at);
    if (this.rows.has(this.at)) this.list.setAttribute("aria-activedescendant", "row-" + this.at);
    else this.list.removeAttribute("aria-activedescendant");
  }

  // choose selects a row and brings it into view.
  choose(i) {
    const n = this.store.shown.length;
    if (n === 0) return;
    this.at = Math.max(0, Math.min(n - 1, i));
    this.follow = this.at === n - 1 && this.follow;
    this.onfollow?.(this.follow);
    const top = this.offset;
    const y = this.at * this.rowHeight;
    if (y < top) this.root.scrollTop = y / this.scale;
    else if (y + this.rowHeight > top + this.room) this.root.scrollTop = (y + this.rowHeight - this.room) / this.scale;
    this.draw();
    this.onselect(this.store.items[this.store.shown[this.at]], this.at);
  }

  // keep keeps the selected item selected when the filter has changed.
  keep(item) {
    this.at = item ? this.store.shown.indexOf(this.store.items.indexOf(item)) : -1;
    this.follow = this.at < 0;
    this.redraw();
    if (this.at >= 0) this.root.scrollTop = Math.max(0, this.at * this.rowHeight - this.room / 2) / this.scale;
  }

  key(e) {
    const page = Math.max(1, Math.floor(this.room / this.rowHeight) - 1);
    const n = this.store.shown.length;
    const before = this.at < 0 ? n - 1 : this.at - 1;
    const to = { ArrowDown: this.at + 1, ArrowUp: before, PageDown: this.at + page, PageUp: this.at - page, Home: 0, End: n - 1,
      j: this.at + 1, k: before }[e.key];
    if (to === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    if (e.key === "End") this.follow = true;
    this.choose(to);
  }
}
