// The sequence diagram: a lane for each party, and an arrow for each message to or from the lane of their peer, which
// stays at the right edge. Lanes that do not fit are scrolled; those of closed connections can be folded into one.
import { h } from "./dom.js";
import { narrow } from "./rows.js";
import { inOrder, visible } from "./safe.js";
import { t } from "./words.js";

const edge = 24; // pixels from the first and the last lane to their neighbours
const nameWidth = 116; // pixels at most, of the name of a lane
const comfort = 88; // pixels between lanes that have their whole names
const named = 30; // pixels between lanes that have a short name; if they are closer not all have one
const least = 12; // pixels between lanes; if there is less room they are scrolled
const bare = 44; // pixels between lanes below which names have no frame
const shortest = 44; // pixels of an arrow
const foldedWidth = 40; // pixels that the lane of closed connections has beside what all have
const labelWidth = 320; // pixels that a label has, also where its arrow is shorter
const mostLanes = 200;
const mostText = 240; // characters of a message that its label has

const clip = (text) => (text.length > mostText ? text.slice(0, mostText) + "…" : text);

export class Diagram {
  constructor(rows) {
    Object.assign(this, { rows, name: "diagram", folding: undefined });
    this.head = h("div", { class: "lanes", "aria-hidden": "true" });
    this.grid = h("div", { class: "gridlines", "aria-hidden": "true" });
    this.heads = [this.head, this.grid];
  }

  rowHeight() { return 30; }

  get store() { return this.rows.store; }
  get timeWidth() { return this.rows.width < narrow ? 52 : 116; }
  // compact reports whether clauses are only counted: the lanes need the room.
  get compact() { return this.rows.width < 620 || this.store.parties.length * comfort > this.rows.width - 300; }
  get marksWidth() { return !this.store.marks.size && !this.store.edited ? 24 : this.compact ? 60 : 196; }

  // fold folds the lanes of closed connections into one, or unfolds them.
  fold(on) {
    this.folding = on;
    this.rows.root.scrollLeft = 0;
    this.rows.redraw();
  }

  // arrange decides which lanes there are: {name, parties}, in the order of their numbers.
  arrange(room) {
    const closed = new Set((this.rows.session()?.connections || []).filter((c) => c.state === "closed").map((c) => c.party));
    const all = [...this.store.parties].sort(inOrder);
    const gone = all.filter((p) => closed.has(p));
    this.foldable = gone.length > 1;
    this.folded = this.foldable && (this.folding ?? (all.length * comfort > room && gone.length < all.length));
    const own = this.folded ? all.filter((p) => !closed.has(p)) : all;
    const lanes = own.slice(0, mostLanes).map((p) => ({ name: visible(p), parties: [p] }));
    if (this.folded) lanes.unshift({ name: t("closedLanes", gone.length), parties: gone, many: true });
    if (own.length > mostLanes) lanes.push({ name: t("others"), parties: own.slice(mostLanes), many: true });
    return lanes;
  }

  // layout draws the heads of the lanes and the lines below them, and returns how wide the rows are.
  layout() {
    const { width } = this.rows;
    const room = width - this.timeWidth - this.marksWidth; // of the lanes and their peer
    const lanes = this.arrange(room - edge);
    this.peerAt = this.timeWidth + room - edge;
    const n = lanes.length;
    this.extra = this.folded ? foldedWidth : 0;
    const free = room - 2 * edge - this.extra;
    this.gap = n ? Math.max(least, free / n) : room;
    this.first = this.timeWidth + edge;
    this.where = new Map(lanes.flatMap((lane, i) => lane.parties.map((p) => [p, i])));
    this.many = new Set(lanes.flatMap((lane, i) => (lane.many ? [i] : [])));
    const whole = width + Math.max(0, n * this.gap - free);
    const s = this.rows.session();
    const left = this.rows.root.scrollLeft;
    for (const el of this.heads) { el.style.width = width + "px"; el.style.transform = `translateX(${left}px)`; }
    this.head.hidden = this.grid.hidden = !s || !this.store.items.length;
    const seen = lanes.map((lane, i) => [lane, this.x(i)]).filter(([, x]) => this.inView(x));
    const step = Math.ceil(named / this.gap);
    const hasName = (lane, x) => lane.many || step === 1 || lanes.indexOf(lane) % step === 0 && x < this.peerAt - nameWidth / 2;
    this.head.replaceChildren(...seen.filter(([lane, x]) => hasName(lane, x))
      .map(([lane, x]) => this.laneHead(lane, x, step)), this.peerHead());
    this.grid.replaceChildren(...[...seen.map(([, x]) => x), this.peerAt].map((x) => {
      const el = h("i");
      el.style.height = this.rows.room + "px";
      el.style.left = x + "px";
      return el;
    }));
    this.onlayout?.(this);
    return whole;
  }

  laneHead(lane, x, step) {
    const tight = this.gap < comfort && !lane.many;
    const name = tight ? lane.name.split(" ").at(-1) : lane.name;
    const title = lane.many ? lane.parties.slice(0, 60).map(visible).join(", ") : lane.name;
    const kinds = ["lane", tight && "tight", this.gap < bare && "bare", lane.many && "many"].filter(Boolean);
    const el = h("span", { class: kinds.join(" "), title }, h("span", {}, name));
    if (lane.many) el.addEventListener("click", () => this.fold(!this.folded));
    this.place(el, x, Math.min(lane.many ? nameWidth : this.gap * step, nameWidth));
    return el;
  }

  peerHead() {
    const name = visible(this.store.peer === "target" ? t("target") : this.store.peer);
    const el = h("span", { class: "lane peer", title: name }, h("span", {}, name));
    this.place(el, this.peerAt, nameWidth);
    return el;
  }

  place(el, x, wide) {
    el.style.left = Math.max(0, Math.min(x - wide / 2, this.rows.width - wide)) + "px";
    el.style.width = wide + "px";
  }

  // x returns where a lane is in the visible part.
  x(i) { return this.first + this.gap * i + (i > 0 ? this.extra : 0) - this.rows.root.scrollLeft; }

  inView(x) { return x >= this.timeWidth && x <= this.peerAt - edge; }

  fill(el, r) {
    const when = h("span", { class: "when" }, h("i", {}, String(r.n)), (r.at / 1000).toFixed(3));
    const marks = this.rows.marks(r, this.compact);
    el.append(when, h("span", { class: "hidden" }, `${visible(r.lane)} ${t(r.dir)} `));
    const word = this.label(r);
    if (r.dir === "noted") {
      word.classList.add("note");
      word.style.left = this.timeWidth + "px";
      word.style.right = this.marksWidth + "px";
      el.append(word, marks);
      return;
    }
    const i = this.where.get(r.lane) ?? -1;
    const x = i < 0 ? this.timeWidth : this.x(i);
    const a = Math.max(this.timeWidth, Math.min(x, this.peerAt - shortest));
    const b = this.peerAt;
    const toPeer = this.store.ends(r)[1] === this.store.peer;
    const arrow = h("span", { class: `arrow ${r.dir} kind-${visible(r.kind).replace(/[^\w-]/g, "")} ${toPeer ? "right" : "left"}` });
    Object.assign(arrow.style, { left: a + "px", width: b - a + "px" });
    const from = Math.min(a + 12, Math.max(this.timeWidth + 4, b - 12 - labelWidth));
    Object.assign(word.style, { left: from + "px", width: b - 12 - from + "px" });
    word.classList.toggle("end", b - a < labelWidth);
    if (r.lane && (i < 0 || this.many.has(i) || this.gap < comfort || !this.inView(x))) {
      word.prepend(h("i", { class: "who" }, visible(r.lane)));
    }
    el.append(arrow, word, marks);
  }

  label(r) {
    const name = r.type || r.label || r.kind;
    return h("span", { class: "label" }, h("b", {}, visible(name)),
      h("span", {}, " " + visible([r.status || "", r.type ? "" : r.kind === name ? "" : r.kind,
        clip(r.text || "")].filter(Boolean).join(" "))));
  }
}
