// The composer: steps, raw text, forms, broken messages; and of plays the held messages and the mind.
import { get, once, post } from "./api.js";
import { bodyOf, ways } from "./broken.js";
import { $, button, field, h, select, tabs } from "./dom.js";
import { formOf } from "./form.js";
import { hex, lines, visible } from "./safe.js";
import { fill, literal, offersIn } from "./variables.js";
import { t } from "./words.js";
import { Play } from "./play.js";
import { suggests } from "./suggest.js";

const mostSteps = 50; // that are suggested

export class Composer {
  constructor(root, app) {
    Object.assign(this, { root, app, rawText: "", baseText: "", party: "", stepText: "", queue: [] });
    this.play = new Play(app);
  }

  // clear forgets what belongs to a session: what one party sends may be nothing that another can send.
  clear() { Object.assign(this, { tab: undefined, schemaAt: undefined, baseText: "" }); }

  get keys() {
    const kind = this.app.session?.kind;
    if (kind === "test") return ["step", "raw", "form", "broken"];
    return kind === "play" ? ["held", "minds", "raw", "form", "broken"] : [];
  }

  draw() {
    const s = this.app.session;
    this.root.hidden = !s || (s.kind === "replay" ? !s.steps.length : s.state === "ended");
    if (this.root.hidden) return;
    if (s.kind === "replay") { this.root.replaceChildren(this.replayView(s)); return; }
    const { list, panel, choose } = tabs("compose", t("composer"), this.keys, this.tab, (key) => {
      this.tab = key;
      return key === "held" || key === "minds" ? this.play[key]() : this[key + "View"]();
    });
    this.choose = choose;
    this.root.replaceChildren(list, panel);
    this.badge();
  }

  badge() {
    const tab = $("compose-held");
    if (!tab) return;
    const n = this.play.list.length;
    tab.replaceChildren(t("held"), n ? h("span", { class: "badge" }, String(n)) : "");
  }

  nth(i) {
    if (!this.keys[i]) return;
    this.choose(this.keys[i], true);
    this.focus();
  }

  focus() {
    const first = (...kinds) => this.root.querySelector(kinds.map((k) => ".panel " + k).join());
    (first("input", "textarea", "select") || first("button"))?.focus();
  }

  // use takes the content of a message into the raw text.
  use(r) {
    this.rawText = literal(r.text);
    this.baseText = r.text;
    if (this.keys.includes("raw")) this.choose("raw");
    this.focus();
  }

  replayView(s) {
    return h("div", { class: "panel" }, h("h2", {}, t("queue")), h("ol", { class: "steps" }, s.steps.map((x) => h("li", {}, visible(x)))),
      h("p", { class: "row-of-buttons" }, button("goOn", () => this.app.goOn(s), { class: "main" })));
  }

  stepView() {
    const input = h("input", { id: "step", type: "text", placeholder: t("stepHint"), "aria-label": t("step"), value: this.stepText });
    const doc = h("textarea", { rows: 3, "aria-label": t("doc"), placeholder: t("docHint"), spellcheck: "false" });
    this.stepInput = input;
    this.suggestNext();
    const form = h("form", { class: "stepform", onsubmit: (e) => {
      e.preventDefault();
      this.execute(input, doc.value);
    } }, h("div", { class: "stepline" }, input, h("button", { class: "main" }, t("execute"))), this.completes(input),
    h("details", {}, h("summary", {}, t("doc")), doc));
    return [this.queueView(), form].filter(Boolean);
  }

  queueView() {
    if (!this.queue.length) return null;
    return h("p", { class: "next" }, h("b", {}, `${t("queue")} (${this.queue.length})`), " ", visible(this.queue[0]), " ",
      button("nextStep", () => {
        const [text] = this.queue.splice(0, 1);
        this.choose("step");
        this.run(text);
      }, { "data-id": "nextStep" }));
  }

  async execute(input, doc) {
    const text = input.value.trim();
    if (!text) return;
    const put = (line) => { this.stepText = input.value = line; input.dispatchEvent(new Event("input")); };
    put(""); // at once: the next step may be typed while this one runs
    if (!await this.run(text, doc) && !input.value) put(text);
  }

  run(text, doc) {
    const { id } = this.app.session;
    return this.app.waiting.run(id, text, async () => {
      const out = await post(`/sessions/${id}/steps`, doc ? { text, doc } : { text });
      if (out.error) this.app.say(out.error);
    });
  }

  // suggestNext shows in the empty field a step that works now.
  suggestNext() {
    if (!this.stepInput) return;
    clearTimeout(this.asking);
    const input = this.stepInput;
    this.asking = setTimeout(async () => {
      const s = this.app.session;
      if (s?.kind !== "test" || s.state === "ended") return;
      const next = (await get(`/sessions/${s.id}/next`).catch(() => null))?.step || "";
      if (s !== this.app.session) return;
      this.next = next;
      input.placeholder = next ? visible(next) : t("stepHint");
    }, 50);
  }

  // completes offers the steps that the line can become.
  completes(input) {
    const take = ({ text }) => { this.stepText = input.value = text; input.focus(); };
    const list = suggests(input, "suggest", t("suggestions"), (longer) => this.stepsFor(input, longer), take);
    input.addEventListener("keydown", (e) => {
      if ((e.key === "ArrowRight" || e.key === "ArrowDown") && !input.value && this.next && list.hidden) {
        e.preventDefault();
        take({ text: this.next });
      } else if (e.key === "Tab" && !e.shiftKey && input.value && !input.hasAttribute("aria-activedescendant") &&
        this.stepText !== this.tabbed) {
        e.preventDefault();
        list.ask(true).then(() => { this.tabbed = input.value; });
      }
    });
    return list;
  }

  // stepsFor finds the steps that a line can become; longer makes it as long as all of them begin.
  async stepsFor(input, longer) {
    const line = input.value;
    this.stepText = line;
    if (!line.trim() && !longer) return [];
    const { id } = this.app.session;
    const q = encodeURIComponent(line);
    try {
      const got = await get(`/sessions/${id}/complete?line=${q}`);
      if (longer && input.value === line && got.longer.length > line.length) this.stepText = input.value = got.longer;
      const all = got.all.length ? got.all : (await get(`/sessions/${id}/search?n=20&q=${q}`)).steps;
      return all.slice(0, mostSteps).map((text) => ({ text }));
    } catch { return []; }
  }

  // to makes the choice of the party that sends.
  to() {
    const parties = this.app.session.parties;
    if (!parties.includes(this.party)) this.party = parties[0] || "";
    if (!parties.length) return h("p", { class: "dim" }, t("noParty"));
    const el = select(parties.map((p) => [p, visible(p)]), this.party, { onchange: () => { this.party = el.value; } });
    return field(t("party"), el);
  }

  async send(message) {
    if (!this.party) { this.app.alert(new Error(t("noParty"))); return; }
    try { await post(`/sessions/${this.app.session.id}/raw`, { party: this.party, ...bodyOf(message) }); } catch (e) { this.app.alert(e); }
  }

  rawView() {
    const { store } = this.app;
    const text = h("textarea", { id: "raw", rows: 5, "aria-label": t("message"), placeholder: t("rawHint"), spellcheck: "false",
      value: this.rawText, oninput: () => { this.rawText = text.value; show(); } });
    const list = offersIn(text, store);
    const preview = h("pre", { class: "wrap filled", tabindex: "0", role: "group", "aria-label": t("preview"), hidden: true });
    const show = () => {
      preview.hidden = !text.value.includes("${");
      if (preview.hidden) return;
      const { text: filled, missing } = fill(text.value, store, this.party);
      preview.classList.toggle("warn", missing.length > 0);
      preview.textContent = missing.length ? t("noVariable", visible(missing[0])) : lines(filled);
    };
    show();
    return h("form", { class: "sender", onsubmit: (e) => {
      e.preventDefault();
      const { text: filled, missing } = fill(text.value, store, this.party);
      if (missing.length) this.app.alert(new Error(t("noVariable", missing[0]))); else this.send(filled);
    } },
      h("div", { class: "side" }, this.to(), h("button", { class: "main" }, t("send")), button("pretty", () => {
        try { this.rawText = text.value = JSON.stringify(JSON.parse(text.value), null, 2); } catch (e) { this.app.alert(e); }
      }), button("insert", () => {
        text.focus();
        text.setRangeText("${", text.selectionStart, text.selectionEnd, "end");
        text.dispatchEvent(new Event("input", { bubbles: true }));
      })), h("div", { class: "grow" }, text, list, preview));
  }

  // schemas returns the schemas of messages; of a play those that the played party sends come first.
  async schemas() {
    const s = this.app.session;
    const all = await once("/schemas?protocol=" + encodeURIComponent(s.protocol));
    if (s.kind !== "play") return all;
    const side = s.connects ? "client" : "server";
    const own = ({ from }) => !from || from === side || from.replaceAll("_", "-") === s.as;
    return [...all.filter(own), ...all.filter((x) => !own(x))];
  }

  // asSent writes a message as it is sent: as a request if the party of a test makes requests. A play sends on streams
  // and sockets alone.
  asSent(s, json) {
    const { kind, driver } = this.app.session;
    return kind === "test" && driver !== "ws" && s.method && s.path ? `${s.method} ${s.path} ${json}` : json;
  }

  formView() {
    const box = h("div");
    this.schemas().then((all) => {
      if (!all.length) { box.append(h("p", { class: "dim" }, t("noForms"))); return; }
      const options = all.map((s, i) => [String(i), visible(s.type + (s.from ? ` (${s.from})` : ""))]);
      const kind = select(options, this.schemaAt || "0", { onchange: () => { this.schemaAt = kind.value; draw(); } });
      const body = h("div", { class: "schemaform" });
      const draw = () => body.replaceChildren(...this.oneForm(all[Number(kind.value)]));
      box.append(h("div", { class: "side wide" }, this.to(), field(t("type"), kind)), body);
      draw();
    }).catch((e) => this.app.alert(e));
    return box;
  }

  oneForm(s) {
    const preview = h("pre", { class: "wrap", tabindex: "0", "aria-label": t("preview"), role: "group" });
    const state = h("p", { role: "status", class: "formstate" });
    const go = h("button", { class: "main" }, t("send"));
    let message = "";
    const read = () => {
      const got = form.read();
      message = this.asSent(s, JSON.stringify(got.value));
      this.baseText = message;
      preview.textContent = visible(message);
      state.textContent = got.errors.length ? got.errors.join(" · ") : "✓ " + t("valid");
      state.className = "formstate " + (got.errors.length ? "warn" : "good");
    };
    const form = formOf(s.schema, () => read());
    read();
    return [h("form", { class: "fields", onsubmit: (e) => { e.preventDefault(); read(); this.send(message); } },
      ...form.els, h("div", { class: "formend" }, go, state)), preview];
  }

  brokenView() {
    const base = h("textarea", { rows: 2, spellcheck: "false", title: t("baseHint"), value: this.baseText,
      oninput: () => { this.baseText = base.value; draw(); } });
    const preview = h("pre", { class: "wrap", tabindex: "0", role: "group", "aria-label": t("preview") });
    let all = [];
    const kind = select([], "", { onchange: () => show() });
    const show = () => {
      const m = all[kind.selectedIndex]?.[2] ?? "";
      preview.textContent = typeof m === "string" ? visible(m.slice(0, 600)) + (m.length > 600 ? " …" : "") : hex(m, 512);
    };
    const draw = () => {
      const at = Math.max(0, kind.selectedIndex);
      const [prefix] = /^[A-Z]+ \/\S* /.exec(base.value) || [""]; // of a request, which stays as it is
      all = ways(base.value.slice(prefix.length), prefix);
      kind.replaceChildren(...all.map(([key, name], i) => h("option", { value: i }, t(key, visible(name)))));
      kind.selectedIndex = Math.min(at, all.length - 1);
      show();
    };
    draw();
    if (!this.baseText) {
      this.schemas().catch(() => []).then(([s]) => {
        if (this.baseText) return;
        this.baseText = base.value = this.asSent(s || {}, JSON.stringify(s?.schema.examples?.[0] || { type: "ping" }));
        draw();
      });
    }
    return h("form", { class: "sender", onsubmit: (e) => { e.preventDefault(); this.send(all[kind.selectedIndex][2]); } },
      h("div", { class: "side" }, this.to(), field(t("way"), kind), h("button", { class: "main" }, t("send"))),
      h("div", { class: "grow" }, field(t("basedOn"), base), preview));
  }
}
