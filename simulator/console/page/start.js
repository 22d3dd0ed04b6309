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

// form makes a form that starts a session. named are the controls by the names of the API's members, with which an
// error begins that is about one of them.
function form(controls, read, go, named = {}) {
  const main = h("button", { class: "main" }, t("start"));
  const note = h("p", { class: "error", role: "alert" });
  const fail = (text) => {
    const [, member, rest] = /^(\w+): ([^]*)$/.exec(text) || [];
    const control = Object.hasOwn(named, member) ? named[member] : null;
    const label = control?.closest("label")?.firstChild.textContent;
    note.textContent = visible(label ? `${label}: ${rest}` : text);
    control?.setAttribute("aria-invalid", "true");
    if (control && !control.closest("[hidden]")) control.focus();
  };
  const el = h("form", { class: "start", onsubmit: async (e) => {
    e.preventDefault();
    main.disabled = true;
    main.textContent = t("starting");
    note.textContent = "";
    for (const control of Object.values(named)) control.removeAttribute("aria-invalid");
    try { await go(await read()); } catch (err) { fail(err.message); }
    main.disabled = false;
    main.textContent = t("start");
  } }, ...controls, note, h("p", { class: "row-of-buttons" }, main, button("cancel", () => el.closest("dialog").close())));
  return el;
}

const ids = (protocols) => protocols.map((p) => [p.id, visible(p.id)]);

// refill replaces the options of a choice, and chooses the first, unless they are the same as before.
function refill(el, options) {
  const fresh = [...select(options, "").options];
  if (fresh.map((o) => o.value).join() === [...el.options].map((o) => o.value).join()) return;
  el.replaceChildren(...fresh);
  el.selectedIndex = 0; // while they moved, each of them was the chosen one
}

function testForm(protocols, go, given) {
  const protocol = select(ids(protocols), given.protocol, { id: "new-protocol", onchange: () => follow() });
  const role = select([], "");
  const driver = select([], "");
  const target = h("input", { type: "text", autocomplete: "off", spellcheck: "false", id: "new-target", value: given.target || "" });
  const strict = h("input", { type: "checkbox" });
  const follow = () => {
    const p = protocols.find((x) => x.id === protocol.value);
    refill(role, [["", t("first", visible(p?.roles[0] || "–"))], ...(p?.roles || [])]);
    refill(driver, [["", t("firstOf")], ...(p?.drivers || [])]);
  };
  follow();
  return form([field(t("protocol"), protocol), field(t("target"), target, h("small", { class: "note" }, t("targetHint"))),
    h("div", { class: "two" }, field(t("role"), role), field(t("driver"), driver)),
    h("label", { class: "check" }, strict, " ", t("strict"))],
  () => ({ kind: "test", protocol: protocol.value, target: target.value.trim(), role: role.value, driver: driver.value,
    strict: strict.checked }), go, { protocol, target, role, driver });
}

function playForm(protocols, go, given) {
  const able = protocols.filter((p) => p.as.length);
  const protocol = select(ids(able), given.protocol, { id: "play-protocol", onchange: () => follow() });
  const as = select([], "", { id: "play-as", onchange: () => more() });
  const mind = select([], "", { id: "play-mind", onchange: () => more() });
  const names = h("datalist", { id: "new-mutants" });
  const mutant = h("input", { type: "text", list: "new-mutants", autocomplete: "off" });
  const script = select([], "", { onchange: () => more() });
  const text = h("textarea", { rows: 5, spellcheck: "false" });
  const [listen, connect, to] = [h("input", { type: "text", placeholder: "127.0.0.1:0" }),
    ...[1, 2].map(() => h("input", { type: "text", placeholder: "http://localhost:3000" }))];
  const parts = { mutant: h("div", {}, field(t("mutant"), mutant), names), script: field(t("script"), script),
    text: field(t("scriptText"), text), listen: field(t("listen"), listen, h("small", { class: "note" }, t("listenHint"))),
    connect: field(t("connect"), connect, h("small", { class: "note" }, t("connectHint"))),
    to: field(t("to"), to, h("small", { class: "note" }, t("toHint"))) };
  let scripts = [];
  const minds = [["auto", t("auto")], ["ask", t("ask")], ["script", t("scriptMind")], ["mutant", t("mutantMind")]];
  const more = () => {
    const p = able.find((x) => x.id === protocol.value);
    const [client, scripted] = [p?.clients?.includes(as.value), p?.scripts?.includes(as.value)];
    refill(mind, scripted ? minds.filter(([v]) => v === "script") : minds);
    refill(script, [...scripts.filter((s) => s.as === as.value).map((s) => [s.name, visible(`${s.name}: ${s.title}`)]),
      ["", t("ownScript")]]);
    parts.mutant.hidden = mind.value !== "mutant";
    parts.script.hidden = mind.value !== "script";
    parts.text.hidden = mind.value !== "script" || script.value !== "";
    parts.connect.hidden = !client;
    parts.listen.hidden = parts.to.hidden = Boolean(client);
    connect.required = Boolean(client);
  };
  const follow = () => {
    const p = able.find((x) => x.id === protocol.value);
    refill(as, p?.as || []);
    scripts = [];
    const q = encodeURIComponent(protocol.value);
    once("/scripts?protocol=" + q).then((all) => { scripts = all; more(); }).catch(() => {});
    once("/mutants?protocol=" + q).then((all) => names.replaceChildren(...all.map((m) =>
      h("option", { value: m.id }, visible(m.why))))).catch(() => {});
    more();
  };
  follow();
  const shown = (part, el) => (parts[part].hidden ? "" : el.value.trim());
  return form([field(t("protocol"), protocol), h("div", { class: "two" }, field(t("as"), as), field(t("mind"), mind)),
    parts.mutant, parts.script, parts.text, parts.connect, parts.listen, parts.to],
  () => ({ kind: "play", protocol: protocol.value, as: as.value, mind: mind.value, listen: shown("listen", listen),
    connect: shown("connect", connect), to: shown("to", to), mutant: shown("mutant", mutant),
    script: parts.script.hidden ? "" : script.value || text.value }), go,
  { protocol, as, mind, mutant, script, listen, connect, to });
}

function replayForm(protocols, go, given) {
  const origin = h("input", { type: "text", id: "new-origin", autocomplete: "off", spellcheck: "false", placeholder: "http://localhost:3000" });
  const server = field(t("origin"), origin, h("small", { class: "note" }, t("originHint")));
  server.hidden = true;
  const file = h("input", { type: "file", id: "new-file", multiple: true, accept: ".jsonl,.har,.json,.txt", required: true,
    onchange: () => { server.hidden = ![...file.files].some((f) => f.name.endsWith(".har")); } });
  if (given.files) {
    file.files = given.files;
    file.dispatchEvent(new Event("change"));
  }
  return form([field(t("recordingFile"), file, h("small", { class: "note" }, t("dropHint"))), server], async () => {
    const body = { kind: "replay", origin: server.hidden ? "" : origin.value.trim() };
    for (const f of file.files) {
      const text = await f.text();
      if (f.name.endsWith(".jsonl")) body.recording = text;
      else if (f.name.endsWith(".har")) body.har = text;
      else if (f.name.endsWith(".json")) body.results = JSON.parse(text);
      else body.transcript = text;
    }
    return body;
  }, go);
}
