// Of a play: the messages that are held, and the mind.
import { get, once, post, put } from "./api.js";
import { $, button, field, h, select } from "./dom.js";
import { bytesOf, hex, visible } from "./safe.js";
import { t } from "./words.js";

const minds = () => [["auto", t("auto")], ["ask", t("ask")], ["script", t("scriptMind")], ["mutant", t("mutantMind")]];

export class Play {
  constructor(app) { Object.assign(this, { app, list: [], boxes: new Map() }); }

  get path() { return `/sessions/${this.app.session.id}`; }

  clear() { this.list = []; this.boxes.clear(); }

  // update takes the messages that are held now. Texts that are being edited stay.
  update(list) {
    this.list = list;
    this.fill();
  }

  held() {
    this.root = h("div", { class: "held" });
    const bar = this.allBar();
    this.fill();
    return [bar, this.root];
  }

  // allBar decides on all held messages at once.
  allBar() {
    const count = h("span", { class: "dim" });
    const el = h("p", { class: "row-of-buttons allheld" }, count, button("sendAll", () => this.decideAll("send"), { "data-id": "sendAll" }),
      button("dropAll", () => this.decideAll("drop")));
    el.refresh = () => {
      el.hidden = !this.list.length;
      count.textContent = t("heldCount", this.list.length);
    };
    el.refresh();
    this.bars = [...(this.bars || []).filter((one) => one.isConnected), el];
    return el;
  }

  // decideAll decides on all messages that are held now, the oldest first, each as it is edited.
  async decideAll(how) {
    for (const m of [...this.list]) {
      const box = this.boxes.get(m.n);
      if (!await (box ? box.decide(how) : this.decide(m, { do: how }))) return;
    }
  }

  // decide makes a decision about a message, and reports whether it could be made.
  async decide(m, body) {
    try {
      await post(`${this.path}/held/${m.n}`, body);
      this.update(this.list.filter((one) => one.n !== m.n)); // others may have come since it was answered
      return true;
    } catch (e) { this.app.alert(e); return false; }
  }

  fill() {
    for (const bar of this.bars || []) bar.refresh();
    if (!this.root) return;
    const now = new Set(this.list.map((m) => m.n));
    for (const n of [...this.boxes.keys()]) if (!now.has(n)) this.boxes.delete(n);
    for (const m of this.list.slice(0, 50)) if (!this.boxes.has(m.n)) this.boxes.set(m.n, this.box(m));
    const boxes = [...this.boxes.values()];
    const had = this.root.contains(document.activeElement);
    for (const el of [...this.root.children]) if (!boxes.includes(el)) el.remove();
    for (const el of boxes) if (!el.isConnected || el.parentNode !== this.root) this.root.append(el);
    if (!boxes.length) {
      this.root.append(h("p", { class: "row-of-buttons" }, h("span", { class: "dim" }, t("nothingHeld")), this.app.session.mind !== "ask" &&
        button("holdAll", () => this.put("mind", { mind: "ask" }).then(() => this.fill()))));
      if (had) $("compose-held")?.focus();
    } else if (had && !this.root.contains(document.activeElement)) boxes[0].querySelector("button").focus();
  }

  box(m) {
    const coded = m.base64 !== undefined;
    const head = h("h3", {}, visible(m.type || "?"), " ", h("small", { class: "until" }));
    const text = h("textarea", { rows: 3, spellcheck: "false", "aria-label": `${t("message")} ${m.n}`, readonly: coded,
      value: coded ? hex(bytesOf(m)) : m.text });
    const after = h("input", { type: "number", min: "0", max: "3600000", step: "100", value: "0" });
    const decide = (how) => {
      const body = { do: how === "drop" ? how : "send" };
      if (how === "twice") body.instead = [text.value, text.value];
      if (how === "send" && !coded && text.value !== m.text) body.body = text.value;
      if (how !== "drop" && Number(after.value) > 0) body.after = Math.round(Number(after.value)) + "ms";
      return this.decide(m, body);
    };
    const el = h("article", { class: "heldbox", "data-n": m.n, "aria-label": `${t("held")}: ${visible(m.type || "?")}` }, head, text, h("p", { class: "row-of-buttons" },
      button("send", () => decide("send"), { class: "main" }),
      button("twice", () => decide("twice"), { disabled: coded }), button("drop", () => decide("drop")), field(t("delay"), after)));
    el.decide = decide;
    el.tick = () => {
      const left = Math.max(0, Math.round((Date.parse(m.until) - Date.now()) / 1000));
      head.lastChild.textContent = t("heldFor", [m.to, m.party].filter(Boolean).map(visible).join(" · "),
        left < 120 ? `${left} s` : `${Math.round(left / 60)} min`);
    };
    el.tick();
    return el;
  }

  tick() { for (const el of this.boxes.values()) el.tick(); }

  async put(what, body) {
    try {
      this.app.changed(await put(`${this.path}/${what}`, body));
      $("alert").replaceChildren();
      this.app.say(t("applied"));
    } catch (e) { this.app.alert(e); }
  }

  // refresh shows what a session has in mind, which may be changed elsewhere, except where somebody writes.
  refresh(s) {
    const { all, input, name, types } = this.shown || {};
    if (!all?.isConnected) return;
    if (all !== document.activeElement) all.value = s.mind;
    if (input !== document.activeElement) input.value = s.mutant || "";
    name(s.script);
    types(s.minds);
  }

  minds() {
    const s = this.app.session;
    const all = select(minds(), s.mind, { onchange: () => this.put("mind", { mind: all.value }) });
    this.shown = { ...this.shown, all };
    return h("div", { class: "minds" }, field(t("mindAll"), all), this.mutants(s), this.scripts(s), this.types(s), this.allBar());
  }

  // types lists the types that have a mind of their own, and gives another one such a mind.
  types(s) {
    const names = h("datalist", { id: "mindtypes" });
    const name = h("input", { type: "text", list: "mindtypes", autocomplete: "off", spellcheck: "false" });
    const mind = select(minds().map(([v]) => v).filter((v) => v !== "mutant"), "ask", {});
    once("/schemas?protocol=" + encodeURIComponent(s.protocol)).catch(() => []).then((known) => {
      const all = new Set([...known.map((k) => k.type), ...this.app.store.types.keys()].filter(Boolean));
      names.append(...[...all].sort().slice(0, 500).map((v) => h("option", { value: v })));
    });
    const own = h("ul", { class: "ownminds", "aria-label": t("mindTypes") });
    const refresh = (minds) => own.replaceChildren(...Object.entries(minds).filter(([, m]) => m !== this.app.session.mind).sort().map(([type, m]) => h("li", {},
      visible(`${type}: ${m}`), button("remove", () => this.put("mind", { mind: this.app.session.mind, types: [type] }).then(() => name.focus()),
        { class: "small", "aria-label": `${t("remove")}: ${visible(type)}` }))));
    refresh(s.minds);
    this.shown = { ...this.shown, types: refresh };
    return h("form", { class: "typeminds", onsubmit: async (e) => {
      e.preventDefault();
      if (!name.value.trim()) return;
      await this.put("mind", { mind: mind.value, types: [name.value.trim()] });
      name.value = "";
    } }, field(t("mindType"), name), field(t("mind"), mind), h("button", {}, t("setMind")), names, own);
  }

  mutants(s) {
    const list = h("datalist", { id: "mutants" });
    const why = h("small", { class: "note" });
    let all = [];
    const input = h("input", { type: "text", list: "mutants", value: s.mutant || "", placeholder: t("noMutant"), autocomplete: "off",
      oninput: () => tell(), onchange: () => this.put("mutant", { mutant: input.value.trim() }) });
    this.shown = { ...this.shown, input };
    const tell = () => {
      const m = all.find((x) => x.id === input.value.trim());
      why.textContent = m ? visible(`${m.why} (${m.clauses.join(", ")})`) : "";
    };
    get(`/mutants?protocol=${encodeURIComponent(s.protocol)}`).then((found) => {
      all = found;
      list.append(...found.map((m) => h("option", { value: m.id }, visible(m.why))));
      tell();
    }).catch(() => {});
    return h("div", {}, field(t("mutant"), input, why), list);
  }

  // scripts shows the script, which a dialog changes.
  scripts(s) {
    const open = h("button", { type: "button", "data-id": "script", onclick: () => this.app.do(() => this.editScript()) });
    const name = (script) => { open.textContent = script ? visible(script) : t("noScript"); };
    name(s.script);
    this.shown = { ...this.shown, name };
    return h("div", { class: "field" }, h("span", { id: "script-of" }, t("script")), open);
  }

  // editScript asks for a script: a ready one, or the text of one.
  async editScript() {
    const s = this.app.session;
    const all = await once("/scripts?protocol=" + encodeURIComponent(s.protocol)).catch(() => []);
    const ready = new Map(all.filter((x) => x.as === s.as).map((x) => [x.name, x]));
    const text = h("textarea", { rows: 12, spellcheck: "false", value: ready.get(s.script)?.source || "" });
    const names = select([["", t("ownScript")], ...[...ready.values()].map((x) => [x.name, visible(`${x.name}: ${x.title}`)])], s.script || "",
      { onchange: () => { text.value = ready.get(names.value)?.source || ""; } });
    const note = h("p", { class: "error", role: "alert" });
    const el = this.app.dialog(t("script"), [h("form", { class: "start", onsubmit: async (e) => {
      e.preventDefault();
      note.textContent = "";
      const script = names.value && ready.get(names.value).source === text.value ? names.value : text.value;
      try {
        this.app.changed(await put(`${this.path}/script`, { script }));
        this.app.say(t("applied"));
        el.close();
      } catch (err) { note.textContent = visible(err.message); }
    } }, field(t("script"), names), field(t("scriptText"), text), note, h("p", { class: "row-of-buttons" },
      h("button", { class: "main" }, t("apply")), button("cancel", () => el.close())))]);
    names.focus();
  }
}
