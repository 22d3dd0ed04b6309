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
    this.fill();
    return this.root;
  }

  fill() {
    if (!this.root) return;
    const now = new Set(this.list.map((m) => m.n));
    for (const n of [...this.boxes.keys()]) if (!now.has(n)) this.boxes.delete(n);
    for (const m of this.list.slice(0, 50)) if (!this.boxes.has(m.n)) this.boxes.set(m.n, this.box(m));
    const boxes = [...this.boxes.values()];
    const had = this.root.contains(document.activeElement);
    for (const el of [...this.root.children]) if (!boxes.includes(el)) el.remove();
    for (const el of boxes) if (!el.isConnected || el.parentNode !== this.root) this.root.append(el);
    if (!boxes.length) {
      this.root.append(h("p", { class: "dim" }, t("nothingHeld")));
      if (had) $("compose-held")?.focus();
    } else if (had && !this.root.contains(document.activeElement)) boxes[0].querySelector("button").focus();
  }

  box(m) {
    const coded = m.base64 !== undefined;
    const head = h("h3", {}, visible(m.type || "?"), " ", h("small", { class: "until" }));
    const text = h("textarea", { rows: 3, spellcheck: "false", "aria-label": `${t("message")} ${m.n}`, readonly: coded,
      value: coded ? hex(bytesOf(m)) : m.text });
    const after = h("input", { type: "number", min: "0", max: "3600000", step: "100", value: "0" });
    const decide = (how) => async () => {
      const body = { do: how === "drop" ? how : "send" };
      if (how === "twice") body.instead = [text.value, text.value];
      if (how === "send" && !coded && text.value !== m.text) body.body = text.value;
      if (how !== "drop" && Number(after.value) > 0) body.after = Math.round(Number(after.value)) + "ms";
      try {
        await post(`${this.path}/held/${m.n}`, body);
        this.update(this.list.filter((one) => one.n !== m.n)); // others may have come since it was answered
      } catch (e) { this.app.alert(e); }
    };
    const el = h("article", { class: "heldbox", "data-n": m.n }, head, text, h("p", { class: "row-of-buttons" },
      button("send", decide("send"), { class: "main" }), button("twice", decide("twice"), { disabled: coded }),
      button("drop", decide("drop")), field(t("delay"), after)));
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
    const { all, input, name } = this.shown || {};
    if (!all?.isConnected) return;
    if (all !== document.activeElement) all.value = s.mind;
    if (input !== document.activeElement) input.value = s.mutant || "";
    name(s.script);
  }

  minds() {
    const s = this.app.session;
    const all = select(minds(), s.mind, { onchange: () => this.put("mind", { mind: all.value }) });
    const box = h("div", { class: "minds" }, field(t("mindAll"), all), this.mutants(s), this.scripts(s));
    this.shown = { ...this.shown, all };
    const types = h("div", { class: "typeminds" });
    box.append(types);
    once("/schemas?protocol=" + encodeURIComponent(s.protocol)).catch(() => []).then((known) => {
      const names = new Set([...known.map((k) => k.type), ...this.app.store.types.keys(), ...Object.keys(s.minds)]);
      for (const name of [...names].filter(Boolean).sort().slice(0, 200)) {
        const el = select([["", t("byDefault")], ...minds().map(([v]) => v)], s.minds[name] || "",
          { "aria-label": t("mindType", visible(name)),
            onchange: () => this.put("mind", { mind: el.value || this.app.session.mind, types: [name] }) });
        types.append(field(visible(name), el));
      }
    });
    return box;
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

  scripts(s) {
    const text = h("textarea", { rows: 4, spellcheck: "false" });
    const names = select([["", t("ownScript")]], "", { onchange: () => { text.value = ready.get(names.value) || ""; } });
    const ready = new Map();
    once("/scripts?protocol=" + encodeURIComponent(s.protocol)).then((all) => {
      for (const x of all) {
        ready.set(x.name, x.source);
        names.append(h("option", { value: x.name }, visible(`${x.name}: ${x.title}`)));
      }
      if (ready.has(s.script)) { names.value = s.script; text.value = ready.get(s.script); }
    }).catch(() => {});
    const title = h("summary", {});
    const name = (script) => { title.textContent = t("script") + (script ? ": " + visible(script) : ""); };
    name(s.script);
    this.shown = { ...this.shown, name };
    return h("details", {}, title, field(t("script"), names),
      field(t("scriptText"), text), button("apply", () => {
        const same = names.value && ready.get(names.value) === text.value;
        return this.put("script", { script: same ? names.value : text.value });
      }));
  }
}
