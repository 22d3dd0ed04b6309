// The left pane: sessions, parties, what was judged, and what can be done with the session.
import { call, get, post } from "./api.js";
import { button, h, save } from "./dom.js";
import { inOrder, visible } from "./safe.js";
import { classOf, signOf } from "./store.js";
import { t } from "./words.js";

const mostParties = 200;
const fewParties = 4; // that are shown without scrolling

// nameOf describes a session in a line.
export const nameOf = (s) => visible(`${s.id} · ${s.protocol || s.kind}`);

export class Left {
  constructor(root, app) { Object.assign(this, { root, app, running: null, progress: null }); }

  draw() {
    const s = this.app.session;
    const focus = this.root.contains(document.activeElement) ? document.activeElement.dataset.id : "";
    this.root.replaceChildren(...[this.sessions(s), s && this.parties(s), s && this.app.owed.section(), s && this.judged(s), s && this.actions(s)].filter(Boolean));
    if (focus) this.root.querySelector(`[data-id="${CSS.escape(focus)}"]`)?.focus();
  }

  sessions(current) {
    return h("section", {}, h("h2", {}, t("sessions")), h("ul", { class: "sessions" }, this.app.sessions.map((s) =>
      h("li", {}, h("button", { type: "button", "data-id": "s" + s.id, "aria-current": s.id === current?.id ? "true" : null,
        onclick: () => this.app.show(s.id) }, h("b", {}, nameOf(s)),
      h("small", {}, [t(s.kind), visible(s.kind === "play" ? s.as : s.role), s.state !== "open" && t(s.state)].filter(Boolean).join(" · ")))))),
    button("newSession", () => this.app.newSession(), { class: "main wide", "data-id": "new" }));
  }

  parties(s) {
    const known = new Map(s.connections.map((c) => [c.party, c.state]));
    for (const p of s.parties) if (!known.has(p)) known.set(p, "open");
    if (s.state !== "open") for (const p of known.keys()) known.set(p, "closed");
    const rows = [...known].sort(([a, x], [b, y]) => (x === "closed") - (y === "closed") || inOrder(a, b)).slice(0, mostParties).map(([p, state]) => h("li", { class: state },
      h("span", { class: "dot", "aria-hidden": "true" }), h("span", { class: "name" }, visible(p)), h("small", {}, t(state)),
      ...(state === "open" && s.kind !== "replay" && s.state === "open" ? [this.hang(s, p, "close"), this.hang(s, p, "cut")] : [])));
    return h("section", {}, h("h2", {}, t("parties")), ...addresses(s).map((url, i) =>
      h("p", { class: "url" }, h("code", {}, visible(url)),
      button("copy", () => this.app.copy(url), { "data-id": i ? `copy ${i}` : "copy" }))),
    rows.length ? h("ul", { class: "parties", tabindex: rows.length > fewParties ? "0" : null }, rows) : h("p", { class: "dim" }, t("noParties")));
  }

  hang(s, party, how) {
    const [word, label] = how === "close" ? ["hang", "hangOf"] : ["cut", "cutOf"];
    return button(word, () => this.app.do(() => post(`/sessions/${s.id}/hang`, { party, how })), { class: "small",
      "aria-label": `${t(word)}: ${t(label, visible(party))}`, "data-id": `${how} ${party}` });
  }

  judged(s) {
    if (s.kind === "play" && !s.judges) {
      return h("section", {}, h("h2", {}, t("judgements")), h("p", { class: "dim" }, t("notJudged", visible(s.unjudged))));
    }
    const worst = this.app.worst;
    const counts = { failed: 0, warned: 0 }; // first
    for (const o of worst.values()) counts[o] = (counts[o] || 0) + 1;
    const rows = Object.entries(counts).filter(([, n]) => n).map(([o, n]) => h("li", { class: classOf(o) }, `${signOf(o)} ${n} ${t(o)}`));
    const bad = [...worst].filter(([, o]) => o === "failed").slice(0, 20).map(([clause]) => button("", () =>
      this.app.whyOf(clause), { class: "mark bad", "data-id": "c" + clause }));
    bad.forEach((b) => { b.textContent = "✗ " + visible(b.dataset.id.slice(1)); });
    return h("section", {}, h("h2", {}, t("judgements")), rows.length ? h("ul", { class: "outcomes" }, rows) :
      h("p", { class: "dim" }, s.kind === "play" ? t("judgesProgram", visible(s.role), s.judges) : t("noJudgements")), bad.length ? h("p", { class: "chips" }, bad) : null,
      s.doubt ? h("p", { class: "dim" }, t("doubted", visible(s.doubt))) : null);
  }

  actions(s) {
    const path = `/sessions/${s.id}`;
    const act = (key, fn, attrs = {}) => button(key, () => this.app.do(fn), { "data-id": key, ...attrs });
    const file = (name, type, p) => async () => save(name, type, await get(path + p));
    const test = s.kind === "test" && s.state === "open";
    const run = this.progress;
    const saves = h("details", { open: this.saving, ontoggle: () => { this.saving = saves.open; } },
      h("summary", { "data-id": "save" }, t("save")),
      s.kind === "test" && act("saveScenario", file(`session-${s.id}.feature`, "text/plain", "/scenario")),
      s.kind !== "replay" && act("saveScript", file(`session-${s.id}.yaml`, "application/yaml", "/script")),
      act("saveRecording", file(`session-${s.id}.jsonl`, "application/jsonl", "/recording")),
      act("saveHAR", async () => save(`session-${s.id}.har`, "application/json",
        JSON.stringify(await get(path + "/recording?format=har"), null, 1))));
    return h("section", {}, h("h2", {}, t("actions")), h("div", { class: "actions" },
      test && (this.running ? button("stopSuite", () => this.running.abort(), { "data-id": "runSuite" }) :
        act("runSuite", () => this.run(s))),
      test && act("undo", async () => this.app.say(visible((await post(path + "/undo")).text))),
      s.kind === "play" && s.state === "open" && act("reset", () => post(path + "/reset")),
      act("end", () => this.app.end(s), { class: "danger" }), saves),
    run?.running && h("p", { class: "dim" }, t("progress", run.done, run.planned, run.failed)),
    run?.running && h("progress", { max: run.planned || 1, value: run.done, "aria-label": t("runSuite") }));
  }

  async run(s) {
    this.running = new AbortController();
    this.draw();
    try {
      const out = await call("POST", `/sessions/${s.id}/run`, {}, this.running.signal);
      this.result(out, s);
    } catch (e) {
      if (e.name !== "AbortError") throw e;
    } finally {
      this.running = null;
      this.draw();
    }
  }

  result(out, s) {
    const outcome = out.exit === 0 ? "passed" : out.failed.length || out.exit === 1 ? "failed" : "warned";
    this.app.dialog(t("verdict"), [
      h("p", { class: "verdict " + classOf(outcome) }, `${signOf(outcome)} ${visible(out.verdict)}`),
      outcome === "warned" && h("p", { class: "dim" }, t("incomplete")),
      out.environment && h("p", { class: "error" }, visible(out.environment)),
      h("ul", { class: "outcomes" }, Object.entries(out.clauses).map(([o, n]) => h("li", { class: classOf(o) },
        `${signOf(o)} ${n} ${t(o)}`))),
      out.failed.length ? h("h3", {}, t("failedClauses")) : null,
      ...out.failed.map((c) => h("article", { class: "clause bad" }, h("h4", {}, `✗ ${visible(c.clause)} · ${visible(c.level)}`),
        h("p", {}, visible(c.text)), h("p", { class: "dim" }, visible(c.reason)))),
      out.broken.length ? h("h3", {}, t("failedScenarios")) : null,
      ...out.broken.map((b) => h("p", { class: "broken" }, visible(b.name), " ", b.transcript ? button("openScenario",
        () => this.app.start({ kind: "replay", protocol: s.protocol, transcript: b.transcript, steps: b.steps })) : null)),
    ].filter(Boolean));
  }
}

// addresses are where the program of a play connects, or else the URL of the session.
export const addresses = (s) => s.endpoints?.length ? s.endpoints : s.url ? [s.url] : [];
