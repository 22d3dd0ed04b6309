// The console's page: puts its parts together, and brings what comes to them once a frame.
import { call, follow, get, post } from "./api.js";
import { Composer } from "./composer.js";
import { Detail } from "./detail.js";
import { Diagram } from "./diagram.js";
import { $, button, field, h, select } from "./dom.js";
import { shortcuts, keyTable } from "./keys.js";
import { Left, nameOf } from "./left.js";
import { visible } from "./safe.js";
import { startForm } from "./start.js";
import { Store, short } from "./store.js";
import { lang, setLanguage, t, translate } from "./words.js";

const remember = (k, v) => { try { localStorage.setItem("parley-" + k, v); } catch { /* not kept */ } };
const recall = (k) => { try { return localStorage.getItem("parley-" + k); } catch { return null; } };
const perFrame = 4000; // events
const olderAtOnce = 5000; // records

class App {
  constructor() {
    Object.assign(this, { sessions: [], session: null, worst: new Map(), pending: [], told: 0, toldFails: 0 });
    this.store = new Store();
    this.diagram = new Diagram($("diagram"), this.store, () => this.session, (item) => this.detail.show(item));
    this.diagram.onstart = (kind) => this.newSession({ kind });
    this.diagram.onfollow = (on) => this.followButton?.setAttribute("aria-pressed", on);
    this.detail = new Detail($("right"), this);
    this.composer = new Composer($("composer"), this);
    this.left = new Left($("left"), this);
    $("language").onchange = () => { remember("language", $("language").value); this.speak($("language").value); };
    $("theme").onchange = () => { remember("theme", $("theme").value); this.theme($("theme").value); };
    $("help").onclick = () => this.help();
    document.addEventListener("keydown", (e) => shortcuts(e, this));
    this.theme(recall("theme") || "auto");
    this.speak(recall("language") || navigator.language);
    setInterval(() => { this.announce(); this.composer.play.tick(); }, 1000);
    window.addEventListener("hashchange", () => this.show(location.hash.slice(1)));
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
    this.filters();
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
    this.options();
    this.diagram.redraw();
    this.foot();
  }

  async load() {
    this.sessions = await get("/sessions");
    const wanted = this.sessions.find((s) => s.id === location.hash.slice(1)) || this.sessions.at(-1);
    if (wanted) this.show(wanted.id); else this.drawAll();
  }

  // show shows a session, and follows it.
  show(id) {
    const s = this.sessions.find((x) => x.id === id);
    if (!s || s === this.session) return;
    this.stop?.();
    this.store.clear();
    this.worst.clear();
    this.pending = [];
    this.composer.play.clear();
    this.composer.clear();
    Object.assign(this, { session: s, told: 0, toldFails: 0 });
    Object.assign(this.left, { progress: null });
    this.diagram.at = -1;
    this.diagram.follow = true;
    this.filters();
    this.detail.clear();
    this.drawAll();
    if (location.hash.slice(1) !== id) history.replaceState(null, "", "#" + id);
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
    const before = this.store.parties.length + this.store.types.size;
    const some = this.pending.length > perFrame ? this.pending.splice(0, perFrame) : this.pending;
    if (some === this.pending) this.pending = [];
    for (const [name, v] of some) {
      if (name === "state") state = v;
      else if (name === "held") { this.composer.play.update(v); this.composer.badge(); }
      else if (name === "outcomes") { for (const o of v) if (this.worse(o)) this.redrawLeft = true; }
      else if (name === "run") { this.left.progress = v; this.redrawLeft = true; }
      else if (this.store.add(name, v) && name !== "record") this.judged(v);
    }
    const left = this.store.trim();
    if (left) this.diagram.shift(-left);
    if (this.store.stale) this.store.refilter();
    if (this.store.parties.length + this.store.types.size !== before) this.options();
    if (state) this.changed(state);
    if (this.redrawLeft) { this.redrawLeft = false; this.left.draw(); }
    this.diagram.draw();
    this.foot();
    if (this.pending.length) this.frame ||= requestAnimationFrame(() => this.flush());
  }

  judged(v) {
    for (const o of v.outcomes || []) this.worse(o);
    for (const o of v.failures || [v]) this.worse(o);
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
    const shape = (x) => JSON.stringify([x.state, x.parties, x.connections.map((c) => [c.party, c.state]), x.mind, x.minds,
      x.mutant, x.script, x.steps.length]);
    const now = shape(s);
    if (now === this.shape) return;
    const kinds = [s.state, s.parties.join()].join();
    this.shape = now;
    this.left.draw();
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
    this.diagram.shift(this.store.shown.findLastIndex((i) => i < list.length) + 1);
    this.options();
    this.foot();
  }

  // newest goes on with the newest records.
  newest() {
    const s = this.session;
    this.stop?.();
    this.pending = [];
    this.diagram.at = -1;
    this.stop = follow(s.id, (name, v) => this.came(name, v), this.store.newest());
    this.diagram.toEnd();
    this.diagram.redraw();
    this.foot();
  }

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
    $("alert").replaceChildren(text, button("closeIt", () => $("alert").replaceChildren()));
    clearTimeout(this.fade);
    this.fade = setTimeout(() => $("alert").replaceChildren(), 15_000);
  }

  async do(fn) { try { return await fn(); } catch (e) { this.alert(e); return undefined; } }

  filters() {
    const f = this.store.filter;
    const set = (key) => (e) => this.filter({ [key]: e.target.value });
    this.followButton = button("follow", () => this.diagram.toEnd(), { "aria-pressed": this.diagram.follow, class: "follow" });
    $("filters").replaceChildren(
      h("select", { id: "f-party", "aria-label": t("party"), onchange: set("party") }),
      h("select", { id: "f-type", "aria-label": t("type"), onchange: set("type") }),
      h("input", { id: "f-clause", type: "text", "aria-label": t("clause"), placeholder: t("clause"), value: f.clause, oninput: set("clause") }),
      h("input", { id: "f-text", type: "search", "aria-label": t("search"), placeholder: t("search"), value: f.text, oninput: set("text") }),
      button("clear", () => { this.filter({ party: "", type: "", clause: "", text: "" }); this.filters(); }), this.followButton);
    $("filters").onsubmit = (e) => e.preventDefault();
    this.options();
  }

  // options fills the choices of the filters with what has come.
  options() {
    const fill = (id, all, values, now) => {
      const el = $(id);
      if (!el || el.options.length === values.length + 1 && el.options[0].text === all) return;
      el.replaceChildren(...select([["", all], ...values.map((v) => [v, visible(v)])], "").children);
      el.value = now;
    };
    fill("f-party", t("allParties"), this.store.parties.slice(0, 500), this.store.filter.party);
    fill("f-type", t("allTypes"), [...this.store.types.keys()].sort().slice(0, 500), this.store.filter.type);
  }

  filter(f) {
    const item = this.detail.item?.of || this.detail.item;
    this.store.setFilter(f);
    for (const [k, v] of Object.entries(f)) if ($("f-" + k) && $("f-" + k).value !== v) $("f-" + k).value = v;
    this.diagram.keep(item);
    this.foot();
    this.say(t("counts", this.store.shown.length, this.store.items.length));
  }

  dialog(title, content) {
    document.querySelector("dialog")?.remove();
    const el = h("dialog", { "aria-labelledby": "dialog-title", onclose: () => el.remove() },
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
    this.session = null;
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
