// The dialog that starts a session of any kind.
import { once } from "./api.js";
import { button, field, h, select, tabs } from "./dom.js";
import { visible } from "./safe.js";
import { t } from "./words.js";

// startForm makes the content of the dialog. go(body) starts; given fills in what is known, such as the protocol.
export async function startForm(go, given = {}) {
  const protocols = await once("/protocols");
  const { list, panel } = tabs("start", t("newSession"), ["test", "play", "replay"], given.kind || "test", (kind) =>
    ({ test: testForm, play: playForm, replay: replayForm })[kind](protocols, go, given));
  return [list, panel];
}

function form(controls, read, go) {
  const main = h("button", { class: "main" }, t("start"));
  const note = h("p", { class: "error", role: "alert" });
  const el = h("form", { class: "start", onsubmit: async (e) => {
    e.preventDefault();
    main.disabled = true;
    main.textContent = t("starting");
    note.textContent = "";
    try { await go(await read()); } catch (err) { note.textContent = visible(err.message); }
    main.disabled = false;
    main.textContent = t("start");
  } }, ...controls, note, h("p", { class: "row-of-buttons" }, main, button("cancel", () => el.closest("dialog").close())));
  return el;
}

const ids = (protocols) => protocols.map((p) => [p.id, visible(p.id)]);

// refill replaces the options of a choice.
function refill(el, options) {
  const fresh = select(options, options[0]?.[0] ?? options[0]);
  el.replaceChildren(...fresh.children);
}

function testForm(protocols, go, given) {
  const protocol = select(ids(protocols), given.protocol, { id: "new-protocol", onchange: () => follow() });
  const role = select([], "");
  const driver = select([], "");
  const target = h("input", { type: "text", autocomplete: "off", spellcheck: "false", id: "new-target", value: given.target || "" });
  const strict = h("input", { type: "checkbox" });
  const follow = () => {
    const p = protocols.find((x) => x.id === protocol.value);
    refill(role, [["", t("first")], ...(p?.roles || [])]);
    refill(driver, [["", t("first")], ...(p?.drivers || [])]);
  };
  follow();
  return form([field(t("protocol"), protocol), field(t("target"), target, h("small", { class: "note" }, t("targetHint"))),
    h("div", { class: "two" }, field(t("role"), role), field(t("driver"), driver)),
    h("label", { class: "check" }, strict, " ", t("strict"))],
  () => ({ kind: "test", protocol: protocol.value, target: target.value.trim(), role: role.value, driver: driver.value,
    strict: strict.checked }), go);
}

function playForm(protocols, go, given) {
  const able = protocols.filter((p) => p.as.length);
  const protocol = select(ids(able), given.protocol, { onchange: () => follow() });
  const as = select([], "");
  const mind = select([["auto", t("auto")], ["ask", t("ask")], ["script", t("scriptMind")], ["mutant", t("mutantMind")]], "auto",
    { onchange: () => more() });
  const names = h("datalist", { id: "new-mutants" });
  const mutant = h("input", { type: "text", list: "new-mutants", autocomplete: "off" });
  const script = select([], "", { onchange: () => more() });
  const text = h("textarea", { rows: 5, spellcheck: "false" });
  const [listen, connect, to] = [h("input", { type: "text", placeholder: "127.0.0.1:0" }), h("input", { type: "text" }),
    h("input", { type: "text" })];
  const parts = { mutant: h("div", {}, field(t("mutant"), mutant), names), script: field(t("script"), script),
    text: field(t("scriptText"), text) };
  const more = () => {
    parts.mutant.hidden = mind.value !== "mutant";
    parts.script.hidden = mind.value !== "script";
    parts.text.hidden = mind.value !== "script" || script.value !== "";
  };
  const follow = () => {
    const p = able.find((x) => x.id === protocol.value);
    refill(as, p?.as || []);
    const q = encodeURIComponent(protocol.value);
    refill(script, [["", t("ownScript")]]);
    once("/scripts?protocol=" + q).then((all) => {
      refill(script, [...all.map((s) => [s.name, visible(`${s.name}: ${s.title}`)]), ["", t("ownScript")]]);
      more();
    }).catch(() => {});
    once("/mutants?protocol=" + q).then((all) => names.replaceChildren(...all.map((m) =>
      h("option", { value: m.id }, visible(m.why))))).catch(() => {});
    more();
  };
  follow();
  return form([field(t("protocol"), protocol), field(t("as"), as), field(t("mind"), mind), parts.mutant, parts.script, parts.text,
    h("div", { class: "two" }, field(t("listen"), listen, h("small", { class: "note" }, t("listenHint"))),
      field(t("connect"), connect, h("small", { class: "note" }, t("connectHint")))),
    field(t("to"), to, h("small", { class: "note" }, t("toHint")))],
  () => ({ kind: "play", protocol: protocol.value, as: as.value, mind: mind.value, listen: listen.value.trim(),
    connect: connect.value.trim(), to: to.value.trim(), mutant: mind.value === "mutant" ? mutant.value.trim() : "",
    script: mind.value !== "script" ? "" : script.value || text.value }), go);
}

function replayForm(protocols, go) {
  const file = h("input", { type: "file", id: "new-file", multiple: true, accept: ".jsonl,.json,.txt", required: true });
  return form([field(t("recordingFile"), file)], async () => {
    const body = { kind: "replay" };
    for (const f of file.files) {
      const text = await f.text();
      if (f.name.endsWith(".jsonl")) body.recording = text;
      else if (f.name.endsWith(".json")) body.results = JSON.parse(text);
      else body.transcript = text;
    }
    return body;
  }, go);
}
