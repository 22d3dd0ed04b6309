// The steps that have not ended: what the one that runs waits for, since when, and which clauses it can decide; and
// those behind it. Each can be cancelled.
import { call } from "./api.js";
import { h } from "./dom.js";
import { visible } from "./safe.js";
import { t } from "./words.js";

const soon = 250; // milliseconds; a step that is faster is not shown
const mostShown = 20;
const fewClauses = 3;

const seconds = (from) => Math.max(0, Math.round((Date.now() - from) / 1000));

export class Waiting {
  constructor(root, app) { Object.assign(this, { root, app, lines: [], clocks: [] }); }

  // run executes a step after those that were given before it, one request at a time: a browser opens few to one host.
  // It returns false if the step could not be executed.
  run(id, text, send) {
    return new Promise((done) => {
      this.lines.push({ id, text, send, done, since: Date.now() });
      this.pump(id);
      this.draw();
    });
  }

  async pump(id) {
    const line = this.lines.find((x) => x.id === id);
    if (!line || line.sent) return;
    line.sent = true;
    let ok = true;
    try { await line.send(); } catch (e) {
      ok = false;
      if (!line.cancelled) this.app.alert(e);
    }
    this.lines = this.lines.filter((x) => x !== line);
    line.done(ok || line.cancelled);
    this.draw();
    this.pump(id);
  }

  // all lists the steps of the session that is shown: those that the server has, and those that wait in the page.
  all() {
    const s = this.app.session;
    if (!s) return [];
    const mine = this.lines.filter((x) => x.id === s.id);
    const sent = (s.pending || []).map((p) => ({ ...p, since: Date.parse(p.since) }));
    return [...sent, ...mine.filter((x) => !x.sent).map((x) => ({ step: x.text, since: x.since, clauses: [], line: x }))];
  }

  draw() {
    clearTimeout(this.later);
    const all = this.all();
    const young = all.length === 1 && Date.now() - all[0].since < soon;
    if (young) this.later = setTimeout(() => this.draw(), soon);
    const had = this.root.contains(document.activeElement);
    this.clocks = [];
    this.root.hidden = !all.length || young;
    this.root.replaceChildren(...(this.root.hidden ? [] : all.slice(0, mostShown).map((p) => this.row(p))),
      ...(all.length > mostShown ? [h("p", { class: "dim" }, t("more", all.length - mostShown))] : []));
    if (had) (this.root.querySelector("button") || document.getElementById("step"))?.focus();
    const first = this.root.hidden ? "" : all[0].step;
    if (first && first !== this.told) this.app.say(t("waitsIn", first));
    this.told = first;
  }

  row(p) {
    const clock = h("span", { class: "clock" });
    const tick = () => { clock.textContent = this.time(p); };
    this.clocks.push(tick);
    tick();
    const a = p.awaits;
    const what = !p.running ? t("queued") : !a ? t("running") : a.what && a.what !== p.step ?
      t("awaits", visible(a.what), visible(a.party)) : t("awaitsAny", visible(a.party));
    const owed = p.running && a ? this.app.owed.because(a.after) : [];
    const can = p.running && p.clauses.length ? t("canDecide", p.clauses.slice(0, fewClauses).join(" ") +
      (p.clauses.length > fewClauses ? ` +${p.clauses.length - fewClauses}` : "")) : "";
    return h("div", { class: "waitrow" + (p.running ? " running" : "") }, h("span", { class: "steptext" }, visible(p.step)),
      h("button", { type: "button", class: "small", onclick: () => this.cancel(p), "aria-label": `${t("cancel")}: ${visible(p.step)}` },
        t("cancel")),
      h("span", { class: "awaits", title: p.clauses.join(" ") }, clock, clock.textContent ? " · " : "",
        [what, a?.after && t("answersTo", a.after), ...owed.map((o) => this.debt(o)), can].filter(Boolean).join(" · ")));
  }

  // debt says what is owed because of the record for whose consequence the step waits.
  debt(o) { return t("owedBy", visible(o.by), visible(o.what), o.clauses.slice(0, fewClauses).join(" ")); }

  time(p) {
    if (!p.running) return "";
    const of = p.awaits ? Math.round((Date.parse(p.awaits.until) - Date.parse(p.awaits.since)) / 1000) : 0;
    return of ? t("waitedOf", seconds(Date.parse(p.awaits.since)), of) : t("waited", seconds(p.since));
  }

  tick() { for (const tick of this.clocks) tick(); }

  // cancel cancels a step; without one, the one that runs.
  cancel(p = this.all()[0]) {
    if (!p) return;
    if (p.line) {
      this.lines = this.lines.filter((x) => x !== p.line);
      p.line.done(true);
      this.draw();
      return;
    }
    const line = this.lines.find((x) => x.sent && x.id === this.app.session.id);
    if (line) line.cancelled = true;
    this.app.do(() => call("DELETE", `/sessions/${this.app.session.id}/steps/${p.n}`)); // the stream says what follows
  }
}
