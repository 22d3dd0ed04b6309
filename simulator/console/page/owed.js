// What each side owes now: what, since when, by which clauses, because of which message, and what else would settle it.
import { once } from "./api.js";
import { h } from "./dom.js";
import { visible } from "./safe.js";
import { t } from "./words.js";

const seconds = (o) => t("waited", Math.max(0, Math.floor((Date.now() - Date.parse(o.since)) / 1000)));

const keyOf = (o) => `${o.party} ${o.session} ${o.record} ${o.what}`;

export class Owed {
  constructor(app) { Object.assign(this, { app, open: new Set() }); this.clear(); }

  clear() { Object.assign(this, { list: [], count: 0, clocks: [] }); this.open.clear(); }

  // update takes a new list.
  update({ count, owed }) {
    Object.assign(this, { list: owed, count });
    const keys = new Set(owed.map(keyOf));
    for (const key of this.open) if (!keys.has(key)) this.open.delete(key);
  }

  // because lists what is owed because of a record.
  because(n) { return n > 0 ? this.list.filter((o) => o.record === n) : []; }

  // section is the list, or null if nothing is owed.
  section() {
    this.clocks = [];
    if (!this.count || this.app.session.state !== "open") return null;
    const more = this.count - this.list.length;
    return h("section", {}, h("h2", {}, t("owed")), h("ul", { class: "owed", tabindex: "0", "aria-label": t("owed") },
      this.list.map((o, i) => this.item(o, i)), more > 0 ? h("li", { class: "dim" }, t("more", more)) : null));
  }

  item(o, i) {
    const clock = h("span", { class: "clock" });
    const tick = () => { clock.textContent = seconds(o); };
    this.clocks.push(tick);
    tick();
    const what = visible(o.what);
    const name = o.record ? h("button", { type: "button", class: "link", "data-id": `owed${i}`, onclick: () => this.app.goTo(o.record),
      title: t("owedCause", o.record, visible(o.cause)) }, what) : h("span", {}, what);
    const who = [t("owes", visible(o.by)), visible(o.party), visible(o.session)].filter(Boolean).join(" · ");
    return h("li", {}, name, h("small", {}, who, " · ", clock), this.why(o, i));
  }

  // why has the clauses, and when it is opened their sentences, and what else would settle it.
  why(o, i) {
    const key = keyOf(o);
    const words = h("div");
    const fill = () => {
      words.replaceChildren(h("p", { class: "dim" }, o.record ? t("owedCause", o.record, visible(o.cause)) : visible(o.cause)),
        ...(o.or.length ? [h("p", {}, t("owedOr", visible(o.or.join(" / "))))] : []));
      once("/clauses?protocol=" + encodeURIComponent(this.app.session?.protocol || "")).then((all) => {
        for (const c of all.filter((x) => o.clauses.includes(x.id))) {
          words.append(h("p", { class: "dim" }, visible(`${c.id} · ${c.level} · ${c.section}`)),
            h("blockquote", { lang: "en" }, visible(c.text)));
          if (c.source) words.append(h("blockquote", { class: "dim" }, visible(c.source)));
        }
      }).catch(() => {});
    };
    const el = h("details", { open: this.open.has(key), ontoggle: () => {
      if (!el.open) this.open.delete(key);
      else if (!words.firstChild) { this.open.add(key); fill(); }
    } }, h("summary", { "data-id": `owedWhy${i}` }, visible(o.clauses.join(" "))), words);
    return el;
  }

  tick() { for (const tick of this.clocks) tick(); }
}
