// The sequence diagram: one lane per party, and only the visible rows in the document.
import { h } from "./dom.js";
import { visible } from "./safe.js";
import { classOf, signOf } from "./store.js";
import { t } from "./words.js";

export const rowHeight = 30;
const narrow = 520; // pixels; below it the times are left out
const edge = 24; // pixels from the first and the last lane to their neighbours
const nameWidth = 116; // pixels at most, of the name of a lane
const mostLanes = 16;
const tallest = 16_000_000; // pixels; browsers lose precision above

export class Diagram {
  // session() returns the session that is shown; select(item, index) is called when a message is chosen.
  constructor(root, store, session, select) {
    Object.assign(this, { root, store, session, onselect: select, follow: true, at: -1, rows: new Map(), dirty: true });
    this.head = h("div", { class: "lanes", "aria-hidden": "true" });
    this.grid = h("div", { class: "gridlines", "aria-hidden": "true" });
    this.list = h("div", { class: "rows", role: "listbox", tabindex: "0", id: "messages" });
    this.empty = h("div", { class: "empty" });
    root.replaceChildren(this.head, this.grid, this.list, this.empty);
    root.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.list.addEventListener("keydown", (e) => this.key(e));
    this.list.addEventListener("click", (e) => {
      const row = e.target.closest("[data-i]");
      if (row) this.choose(Number(row.dataset.i));
    });
    new ResizeObserver(() => this.redraw()).observe(root);
  }

  get timeWidth() { return this.root.clientWidth < narrow ? 52 : 136; }
  get marksWidth() { return this.store.marks.size ? 196 : 24; }

  redraw() { this.dirty = true; this.draw(); }

  get room() { return Math.max(rowHeight, this.root.clientHeight - this.head.offsetHeight); }
  get full() { return this.store.shown.length * rowHeight; }
  get height() { return Math.min(this.full, tallest); }
  // scale stretches the scroll bar when there are more rows than a page can be tall.
  get scale() { return this.full > tallest ? (this.full - this.room) / (tallest - this.room) : 1; }

  scrolled() {
    const bottom = this.root.scrollTop + this.root.clientHeight >= this.root.scrollHeight - rowHeight;
    if (bottom !== this.follow) { this.follow = bottom; this.onfollow?.(bottom); }
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
    const top = this.root.scrollTop * this.scale;
    this.list.style.height = this.height + "px";
    if (!this.follow) this.root.scrollTop = Math.max(0, top + by * rowHeight) / this.scale;
    this.redraw();
  }

  // draw shows the rows that are in view. It is called at most once a frame.
  draw() {
    const { store } = this;
    if (this.dirty || store.version !== this.version || store.parties.length !== this.count) {
      this.lanes();
      for (const el of this.rows.values()) el.remove();
      this.rows.clear();
    }
    Object.assign(this, { dirty: false, version: store.version, count: store.parties.length });
    this.list.style.height = this.height + "px";
    if (this.follow) this.root.scrollTop = this.root.scrollHeight;
    const offset = this.root.scrollTop * this.scale;
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
    this.dirty = true; // the heads of the lanes come with the first message
    if (behind) { this.empty.replaceChildren(h("strong", {}, t("loading"))); return; }
    const some = this.store.items.length > 0;
    const waits = s?.kind === "play" && s.url;
    this.empty.replaceChildren(h("strong", {}, t(!s ? "noSession" : some ? "noMatch" : "empty")), h("span", {}, !s || some ? "" :
      waits ? t(s.connects ? "emptyClient" : "emptyPlay", visible(s.url)) : t("emptyText")));
    if (!s) {
      this.empty.append(h("div", { class: "kinds" }, ["test", "play", "replay"].map((kind) => h("button", { type: "button",
        onclick: () => this.onstart?.(kind) }, h("b", {}, t(kind)), h("small", {}, t(kind + "Text"))))));
    } else if (waits && !some) {
      this.empty.append(h("code", {}, visible(s.url)));
    }
  }

  // lanes draws the heads of the lanes and the lines below them.
  lanes() {
    const s = this.session();
    const parties = this.store.parties.slice(0, mostLanes);
    if (this.store.parties.length > mostLanes) parties.push(null);
    this.names = parties.map((p) => (p === null ? t("others") : visible(p)));
    this.peer = s?.kind === "play" ? visible(s.as || t("we")) : visible(s?.role || t("target"));
    const all = [...this.names, this.peer];
    const least = 112;
    const width = Math.max(this.root.clientWidth - this.timeWidth - this.marksWidth, all.length * least);
    this.first = all.length > 1 ? edge : width / 2;
    this.lane = all.length > 1 ? (width - 2 * edge) / (all.length - 1) : width;
    this.where = new Map(this.store.parties.map((p, i) => [p, Math.min(i, mostLanes)]));
    this.wide = this.timeWidth + width + this.marksWidth;
    const px = this.wide + "px";
    this.root.classList.toggle("narrow", this.root.clientWidth < narrow);
    for (const el of [this.head, this.list]) el.style.width = px;
    this.list.setAttribute("aria-label", t("messages"));
    this.head.replaceChildren(...all.map((name, i) => {
      const el = h("span", { class: i === all.length - 1 ? "lane peer" : "lane", title: name }, h("span", {}, name));
      const wide = Math.min(this.lane, nameWidth);
      el.style.left = Math.min(this.x(i) - wide / 2, this.wide - wide) + "px";
      el.style.width = wide + "px";
      return el;
    }));
    this.head.hidden = this.grid.hidden = !s || !this.store.items.length;
    this.grid.replaceChildren(...all.map((_, i) => {
      const el = h("i");
      el.style.height = this.room + "px";
      el.style.left = this.x(i) + "px";
      return el;
    }));
  }

  x(i) { return this.timeWidth + this.first + this.lane * i; }

  row(i) {
    const item = this.store.items[this.store.shown[i]];
    const el = h("div", { class: "row", role: "option", id: "row-" + i, "data-i": i, "aria-posinset": i + 1,
      "aria-selected": i === this.at });
    el.append(...(item.step ? this.stepRow(el, item.step) : this.messageRow(el, item)));
    return el;
  }

  stepRow(el, s) {
    el.classList.add("steprow");
    const kind = s.status === "skipped" ? "warn" : classOf(s.status);
    const count = (o) => s.outcomes.filter((x) => x.outcome === o).length;
    return [h("span", { class: "stepmark " + kind }, signOf(s.status)), h("span", { class: "steptext" },
      h("span", { class: "hidden" }, t("step") + " "), visible(s.step)),
    h("span", { class: "steperr" }, s.error ? visible(s.error) : [count("passed") && `✓ ${count("passed")}`,
      s.failures.length && `✗ ${s.failures.length}`].filter(Boolean).join("  "))];
  }

  messageRow(el, r) {
    const lane = this.where.get(r.party) ?? (r.party ? mostLanes : 0);
    const peer = this.names.length;
    const toPeer = (r.dir === "sent") !== (this.session()?.kind === "play");
    const name = r.type || r.label || r.kind;
    const word = h("span", { class: "label" }, h("b", {}, visible(name)),
      h("span", {}, " " + visible([r.status || "", r.type ? "" : r.kind === name ? "" : r.kind,
        (r.text || "").slice(0, 120)].filter(Boolean).join(" "))));
    const arrow = h("span", { class: `arrow ${r.dir} kind-${visible(r.kind).replace(/[^\w-]/g, "")}` });
    if (r.dir === "noted") {
      word.classList.add("note");
      word.style.left = this.timeWidth + "px";
      word.style.width = this.wide - this.timeWidth + "px";
    } else {
      const [a, b] = [this.x(lane), this.x(peer)];
      arrow.style.left = a + "px";
      arrow.style.width = b - a + "px";
      arrow.classList.add(toPeer ? "right" : "left");
      word.style.left = a + 12 + "px";
      word.style.width = b - a - 24 + "px";
    }
    const all = (this.store.marks.get(r.n) || []).toReversed();
    const q = this.store.filter.clause.toLowerCase();
    const rank = (m) => (q && m.clause.toLowerCase().includes(q) ? 0 : m.outcome !== "passed" ? 1 : 2);
    const bad = all.sort((a, b) => rank(a) - rank(b));
    const marks = h("span", { class: "marks" }, bad.slice(0, 2).map((m) =>
      h("span", { class: "mark " + classOf(m.outcome), title: t(m.outcome) }, `${signOf(m.outcome)} ${visible(m.clause)}`)),
    bad.length > 2 ? h("span", { class: "mark rest" }, `+${bad.length - 2}`) : null);
    const dir = h("span", { class: "hidden" }, `${visible(r.party)} ${t(r.dir)} `);
    return [h("span", { class: "when" }, h("i", {}, String(r.n)), (r.at / 1000).toFixed(3)), dir,
      r.dir === "noted" ? null : arrow, word, marks].filter(Boolean);
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
    const top = this.root.scrollTop * this.scale;
    const y = this.at * rowHeight;
    if (y < top) this.root.scrollTop = y / this.scale;
    else if (y + rowHeight > top + this.room) this.root.scrollTop = (y + rowHeight - this.room) / this.scale;
    this.draw();
    this.onselect(this.store.items[this.store.shown[this.at]], this.at);
  }

  // keep keeps the selected item selected when the filter has changed.
  keep(item) {
    this.at = item ? this.store.shown.indexOf(this.store.items.indexOf(item)) : -1;
    this.follow = this.at < 0;
    this.redraw();
    if (this.at >= 0) this.root.scrollTop = Math.max(0, this.at * rowHeight - this.room / 2) / this.scale;
  }

  key(e) {
    const page = Math.max(1, Math.floor(this.room / rowHeight) - 1);
    const n = this.store.shown.length;
    const to = { ArrowDown: this.at + 1, ArrowUp: this.at < 0 ? n - 1 : this.at - 1, PageDown: this.at + page,
      PageUp: this.at - page, Home: 0, End: n - 1, j: this.at + 1, k: this.at - 1 }[e.key];
    if (to === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    if (e.key === "End") this.follow = true;
    this.choose(to);
  }
}
