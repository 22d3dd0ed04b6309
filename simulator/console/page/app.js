// The console's page: puts its parts together, and brings what comes to them once a frame.
import { call, follow, get, post } from "./api.js";
import { Composer } from "./composer.js";
import { Detail } from "./detail.js";
import { Diagram } from "./diagram.js";
import { $, button, h } from "./dom.js";
import { FilterBar, fromHash } from "./filterbar.js";
import { shortcuts, keyTable } from "./keys.js";
import { Left, nameOf } from "./left.js";
import { List } from "./list.js";
import { Owed } from "./owed.js";
import { Rows } from "./rows.js";
import { visible } from "./safe.js";
import { startForm } from "./start.js";
import { Store, short } from "./store.js";
import { Waiting } from "./waiting.js";
import { lang, setLanguage, t, translate } from "./words.js";

const remember = (k, v) => { try { localStorage.setItem("parley-" + k, v); } catch { /* not kept */ } };
const recall = (k) => { try { return localStorage.getItem("parley-" + k); } catch { return null; } };
const perFrame = 4000; // events
const olderAtOnce = 5000; // records

class App {
  constructor() {
    Object.assign(this, { sessions: [], session: null, worst: new Map(), pending: [], told: 0, toldFails: 0 });
    this.store = new Store();
    this.rows = new Rows($("diagram"), this.store, () => this.session, (item) => this.detail.show(item));
    this.rows.onstart = (kind) => this.newSession({ kind });
    this.rows.onclear = () => { this.bar.put(""); this.bar.input.focus(); };
    this.rows.onfollow = (on) => this.bar.follow.setAttribute("aria-pressed", on);
    this.diagram = new Diagram(this.rows);
    this.diagram.onlayout = () => this.bar.lanes();
    this.list = new List(this.rows);
    this.bar = new FilterBar($("filters"), this);
    this.detail = new Detail($("right"), this);
    this.composer = new Composer($("composer"), this);
    this.owed = new Owed(this);
    this.left = new Left($("left"), this);
    this.waiting = new Waiting($("waiting"), this);
    $("language").onchange = () => { remember("language", $("language").value); this.speak($("language").value); };
    $("theme").onchange = () => { remember("theme", $("theme").value); this.theme($("theme").value); };
    $("help").onclick = () => this.help();
    document.addEventListener("dragover", (e) => e.preventDefault());
    document.addEventListener("drop", (e) => this.dropped(e));
    document.addEventListener("keydown", (e) => shortcuts(e, this));
    this.theme(recall("theme") || "auto");
    this.rows.show(this[recall("view") || (matchMedia("(max-width: 640px)").matches ? "list" : "diagram")] || this.diagram);
    this.speak(recall("language") || navigator.language);
    setInterval(() => { this.announce(); this.composer.play.tick(); this.waiting.tick(); this.owed.tick(); }, 1000);
    window.addEventListener("hashchange", () => this.went());
  }

  theme(name) {
    $("theme").value = name;
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
  }

  speak(tag) {
    setLanguage(tag);
    $("language").value = lang;
    translate(document);
    this.bar.draw();
    this.drawAll();
    if (this.detail.item) this.detail.draw(); else this.detail.clear();
  }

  drawAll() {
    const s = this.session;
    document.body.classList.toggle("idle", !s);
    $("title").textContent = s ? `${nameOf(s)} · ${t(s.kind)}` : "";
    document.title = s ? `${visible(s.protocol)} · Parley` : `Parley ${t("console")}`;
    this.left.draw();
    this.composer.draw();
    this.waiting.draw();
    this.rows.redraw();
    this.foot();
  }

  async load() {
    this.sessions = await get("/sessions");
    const { id, filter } = fromHash();
    const wanted = this.sessions.find((s) => s.id === id);
    if (wanted) this.show(id, filter);
    else if (this.sessions.length) this.show(this.sessions.at(-1).id); else this.drawAll();
  }

  // went goes where the address says.
  went() {
    const { id, filter } = fromHash();
    if (id !== this.session?.id) this.show(id, filter);
    else if (filter !== this.bar.text) this.bar.put(filter);
  }

  // view shows the messages as a diagram or as a list.
  view(name) {
    remember("view", name);
    this.rows.show(this[name]);
    this.bar.tell();
  }

  // show shows a session, and follows it.
  show(id, filter = "") {
    const s = this.sessions.find((x) => x.id === id);
    if (!s || s === this.session) return;
    this.stop?.();
    this.store.clear();
    this.worst.clear();
    this.owed.clear();
    this.pending = [];
    this.composer.play.clear();
    this.composer.clear();
    Object.assign(this, { session: s, told: 0, toldFails: 0 });
    this.store.session = s;
    Object.assign(this.left, { progress: null });
    Object.assign(this.rows, { at: -1, follow: true });
    this.diagram.folding = undefined;
    this.bar.load(filter);
    this.detail.clear();
    this.drawAll();
    this.bar.toHash();
    this.stop = follow(id, (name, v) => this.came(name, v));
  }

  // came keeps an event for the next frame.
  came(name, v) {
    if (name === "link") {
      $("state").textContent = v || this.session?.state === "ended" ? "" : t("linkLost");
      return;
    }
    this.pending.push([name, v]);
    this.frame ||= requestAnimationFrame(() => this.flush());
  }

  flush() {
    this.frame = 0;
    let state = null;
    const some = this.pending.length > perFrame ? this.pending.splice(0, perFrame) : this.pending;
    if (some === this.pending) this.pending = [];
    for (const [name, v] of some) {
      if (name === "state") state = v;
      else if (name === "held") { this.composer.play.update(v); this.composer.badge(); }
      else if (name === "owed") { this.owed.update(v); this.redrawLeft = this.redrawWaiting = true; }
      else if (name === "outcomes") { for (const o of v) if (this.worse(o)) this.redrawLeft = true; }
      else if (name === "run") { this.left.progress = v; this.redrawLeft = true; }
      else if (this.store.add(name, v) && name !== "record") this.judged(v);
    }
    const left = this.store.trim();
    if (left) this.rows.shift(-left);
    this.store.settle();
    if (state) this.changed(state);
    if (this.redrawLeft) { this.redrawLeft = false; this.left.draw(); this.detail.overview(); }
    if (this.redrawWaiting) { this.redrawWaiting = false; this.waiting.draw(); }
    this.rows.draw();
    this.foot();
    if (this.pending.length) this.frame ||= requestAnimationFrame(() => this.flush());
  }

  judged(v) {
    for (const o of v.outcomes || []) this.worse(o);
    for (const o of v.failures || [v]) this.worse(o);
    if (v.step) this.composer.suggestNext();
    this.redrawLeft = true;
  }

  worse({ clause, outcome }) {
    const rank = (o) => ["passed", "warned", "failed"].indexOf(o);
    if (!clause || rank(outcome) <= rank(this.worst.get(clause))) return false;
    this.worst.set(clause, outcome);
    return true;
  }

  // changed takes a new state of the session.
  changed(s) {
    const old = this.session;
    if (!s || s.id !== old?.id) return;
    Object.assign(old, s);
    const pending = JSON.stringify(s.pending);
    if (pending !== this.pendingSteps) { this.pendingSteps = pending; this.waiting.draw(); }
    const shape = (x) => JSON.stringify([x.state, x.parties, x.connections.map((c) => [c.party, c.state]), x.mind, x.minds,
      x.mutant, x.script, x.steps.length]);
    const now = shape(s);
    if (now === this.shape) return;
    const kinds = [s.state, s.parties.join()].join();
    this.shape = now;
    this.left.draw();
    this.rows.redraw();
    this.composer.play.refresh(s);
    if (kinds !== this.kinds) {
      this.kinds = kinds;
      const typing = $("composer").contains(document.activeElement);
      if (!typing || s.state === "ended") this.composer.draw();
    }
  }

  foot() {
    const s = this.session;
    const records = this.store.items.length;
    $("counts").textContent = this.store.behind(s) ? t("loading") : s ? t("counts", this.store.shown.length, records) +
      (s.overflow ? " · " + t("overflow", s.overflow) : "") : "";
    this.outside();
  }

  // outside says which records are not in the page, and offers them.
  outside() {
    const { gone, past } = this.store;
    const key = `${this.session?.id} ${gone} ${past} ${lang}`;
    if (this.outsideKey === key) return;
    this.outsideKey = key;
    const el = $("outside");
    el.hidden = !this.session || !gone && !past;
    const had = el.contains(document.activeElement);
    el.replaceChildren(h("span", {}, [gone && t("gone", gone), past && t("pastOnly", past)].filter(Boolean).join(" · ")),
      ...(gone ? [button("loadOlder", () => this.do(() => this.older()))] : []),
      ...(past ? [button("newest", () => this.newest())] : []));
    if (had) (el.querySelector("button") || $("messages")).focus();
  }

  // older brings the records before the first from the server.
  async older() {
    const s = this.session;
    const { gone } = this.store;
    const list = [];
    for (let after = Math.max(0, gone - olderAtOnce); after < gone; after = list.at(-1).n) {
      const some = await get(`/sessions/${s.id}/records?after=${after}&limit=${gone - after}`);
      if (!some.length) break;
      for (const r of some) list.push(short(r));
    }
    if (s !== this.session || gone !== this.store.gone) return;
    this.store.older(list);
    this.rows.shift(this.store.shown.findLastIndex((i) => i < list.length) + 1);
    this.foot();
  }

  // newest goes on with the newest records.
  newest() {
    const s = this.session;
    this.stop?.();
    this.pending = [];
    this.rows.at = -1;
    this.stop = follow(s.id, (name, v) => this.came(name, v), this.store.newest());
    this.rows.toEnd();
    this.rows.redraw();
    this.foot();
  }

  // goTo selects a record by its number, also if the filter does not show it.
  goTo(n, step = false) {
    const { store } = this;
    let i = store.position(n);
    while (store.items[i]?.n === n && Boolean(store.items[i].step) !== step) i++;
    if (store.items[i]?.n !== n) return;
    if (!store.shown.includes(i)) this.bar.put("");
    this.rows.choose(store.shown.indexOf(i));
  }

  // whyOf shows why a clause failed.
  whyOf(clause) {
    const failed = (item) => !item.step && (this.store.marks.get(item.n) || []).some((m) => m.clause === clause && m.outcome === "failed");
    const item = this.store.items.find(failed);
    if (item) this.goTo(item.n); else this.filter({ clause });
  }

  // nextFailure selects the next message or step that failed, after the last one the first.
  nextFailure() {
    const { store, rows } = this;
    const fails = (i) => {
      const item = store.items[i];
      return item.step ? item.step.status === "failed" : (store.marks.get(item.n) || []).some((m) => m.outcome === "failed");
    };
    const next = store.shown.findIndex((i, at) => at > rows.at && fails(i));
    const at = next >= 0 ? next : store.shown.findIndex((i) => fails(i));
    if (at < 0) { this.say(t("noFailure")); return; }
    rows.choose(at);
    $("right").querySelector("[role=tab][tabindex='0']")?.focus();
  }

  copy(text) { return navigator.clipboard?.writeText(text).then(() => this.say(t("copied"))); }

  // announce tells screen readers what came, at most every few seconds.
  announce() {
    const n = this.store.items.length;
    if (n === this.told || Date.now() - (this.toldAt || 0) < 4000) return;
    const bad = [...this.worst.values()].filter((o) => o === "failed").length;
    this.say(t("came", n - this.told, n, bad));
    Object.assign(this, { told: n, toldAt: Date.now() });
  }

  say(text) { $("live").textContent = visible(text); }

  alert(e) {
    const text = visible(e.message || e) + (e.similar?.length ? ": " + visible(e.similar.slice(0, 3).join(" | ")) : "");
    this.alertIn(document.querySelector("dialog[open] > header") || document.querySelector(".bar"));
    $("alert").replaceChildren(text, button("closeIt", () => $("alert").replaceChildren()));
    clearTimeout(this.fade);
    this.fade = setTimeout(() => $("alert").replaceChildren(), 15_000);
  }

  // alertIn shows alerts below a header, where they cover nothing.
  alertIn(header) { header.after($("alert")); }

  async do(fn) { try { return await fn(); } catch (e) { this.alert(e); return undefined; } }

  // filter shows what has some values, such as {clause: "AS-042"}.
  filter(f) { for (const [key, value] of Object.entries(f)) this.bar.set(key, value); }

  // filtered shows what matches the terms of a filter.
  filtered(terms) {
    const item = this.detail.item?.of || this.detail.item;
    this.store.setFilter(terms);
    this.rows.keep(item);
    this.foot();
    this.say(t("counts", this.store.shown.length, this.store.items.length));
  }

  dialog(title, content) {
    const remove = (old) => {
      if (old?.contains($("alert"))) this.alertIn(document.querySelector(".bar"));
      old?.remove();
    };
    remove(document.querySelector("dialog"));
    const el = h("dialog", { "aria-labelledby": "dialog-title", onclose: () => remove(el) },
      h("header", {}, h("h2", { id: "dialog-title" }, title), button("closeIt", () => el.close(), { class: "quiet" })), ...content);
    document.body.append(el);
    el.showModal();
    return el;
  }

  help() { this.dialog(t("keys"), [keyTable()]); }

  async newSession(given) {
    await this.do(async () => {
      const el = this.dialog(t("newSession"), await startForm((body) => this.start(body, given), given));
      el.querySelector(".panel select, .panel input")?.focus();
    });
  }

  // dropped opens files that were dropped on the page.
  dropped(e) {
    e.preventDefault();
    const { files } = e.dataTransfer;
    if (files.length) this.newSession({ kind: "replay", files });
  }

  // start starts a session, and shows it.
  async start(body, given) {
    const s = await post("/sessions", body);
    this.sessions.push(s);
    this.composer.queue = s.kind === "test" && given?.steps ? [...given.steps] : [];
    document.querySelector("dialog")?.close();
    this.show(s.id);
    this.composer.focus();
  }

  goOn(s) { return this.newSession({ kind: "test", protocol: s.protocol, target: s.url, steps: s.steps }); }

  async end(s) {
    await call("DELETE", `/sessions/${s.id}`);
    this.stop?.();
    this.sessions = this.sessions.filter((x) => x !== s);
    this.session = this.store.session = null;
    this.store.clear();
    this.worst.clear();
    this.detail.clear();
    const next = this.sessions.at(-1);
    if (next) this.show(next.id); else this.drawAll();
    (next ? $("left") : $("diagram")).querySelector("button")?.focus();
  }
}

const app = new App();
app.do(() => app.load()).finally(() => { document.documentElement.dataset.ready = "true"; });
