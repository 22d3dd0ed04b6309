// The main agents: what the server said of them, what the user chose, and the selector that shows it.
import { make, printed } from "./dom.js";
import { onLanguage, t } from "./i18n.js";

// clean keeps the entries of a server's list that are agents.
function clean(list) {
  if (!Array.isArray(list)) return [];
  return list.filter((agent) => typeof agent?.id === "string");
}

// makeAgents shows its state in the select and the hint. bound() is the id of the bound session, or null.
export function makeAgents({ select, hint, bound }) {
  let connected = false;
  let listed = false; // an agent_list has arrived on this connection
  let agents = [];
  let currentAgentId = null;
  let defaultAgentId = null; // current on a connection without a session: what new sessions begin with
  let preferredAgentIdForNewSession = null;
  let switching = null; // {agentId, sessionId} of a switch that is not answered yet
  let focused = false; // the selector had the focus when a switch disabled it
  let said = ""; // the hints
  let statements = 0; // how often the server has named the current agent

  const find = (id) => agents.find((agent) => agent.id === id);
  const nameOf = (id) => find(id)?.name || printed(id ?? "-");

  // preselected is the choice for the next session, as long as it is available.
  const preselected = () => find(preferredAgentIdForNewSession)?.id ?? null;

  // shown is the id that the selector shows.
  function shown() {
    if (switching && switching.sessionId === bound()) return switching.agentId;
    if (!bound() && preselected()) return preselected();
    return currentAgentId;
  }

  function isStale() {
    return currentAgentId !== null && !find(currentAgentId);
  }

  // ---- the selector

  function note(text) {
    const option = make("option", text, { value: "" });
    option.disabled = true;
    option.selected = true;
    return [option];
  }

  function staleOption() {
    const option = make("option", t("agent.stale", { id: currentAgentId }), { value: currentAgentId });
    option.disabled = true;
    return option;
  }

  function agentOption({ id, name, description }) {
    const option = make("option", name || id, { value: id });
    if (description) option.title = printed(description);
    return option;
  }

  function options() {
    if (!listed) return note(t("agent.notConnected"));
    if (agents.length === 0) return note(t("agent.none"));
    const choices = agents.map(agentOption);
    if (isStale()) choices.unshift(staleOption());
    return choices;
  }

  // hints are the sentences below the selector: [text, level].
  function hints() {
    if (!connected) return [[t("agent.connectFirst"), "info"]];
    if (!listed) return [[t("agent.waiting"), "info"]];
    if (agents.length === 0) return [[t("agent.noneHint"), "warn"]];
    const all = [];
    if (isStale()) all.push([t("agent.staleHint"), "warn"]);
    if (preselected()) all.push([t("agent.preselected", { name: nameOf(preselected()) }), "note"]);
    if (all.length > 0) return all;
    if (currentAgentId === null) return [[t("agent.unconfirmed"), "info"]];
    return [[printed(find(shown())?.description), "info"]];
  }

  // renderHints leaves alone what stays the same: a screen reader says what changes.
  function renderHints(now) {
    if (JSON.stringify(now) === said) return;
    said = JSON.stringify(now);
    hint.replaceChildren(...now.map(([text, level]) => make("p", text, { "data-level": level })));
  }

  function render() {
    select.replaceChildren(...options());
    if (agents.length > 0) select.value = shown() ?? ""; // without a current agent nothing is selected
    select.disabled = !listed || agents.length === 0 || switching !== null;
    select.setAttribute("aria-busy", String(switching !== null));
    select.classList.toggle("loading", switching !== null);
    renderHints(hints().filter(([text]) => text));
  }

  // ---- what the server says

  function list(data) {
    listed = true;
    statements++;
    agents = clean(data.agents);
    currentAgentId = data.currentAgentId ?? null;
    if (!bound()) defaultAgentId = currentAgentId;
    render();
  }

  // refresh takes over the list that came with an error.
  function refresh(available) {
    if (!Array.isArray(available)) return;
    agents = clean(available);
    render();
  }

  // switched returns the names before and after.
  function switched(data) {
    const from = nameOf(data.previousAgentId ?? currentAgentId);
    const to = data.agentName || nameOf(data.currentAgentId);
    statements++;
    currentAgentId = data.currentAgentId ?? currentAgentId;
    render();
    return { from: printed(from), to: printed(to) };
  }

  // assume sets the current agent by other signs than the server's events, unless one came since the mark.
  function assume(id, mark) {
    if (mark !== statements || id === undefined || id === currentAgentId) return;
    currentAgentId = id;
    render();
  }

  // ---- what the user does

  function prefer(id) {
    preferredAgentIdForNewSession = id;
    render();
  }

  // used forgets the preselection that a new session was made with.
  function used(id) {
    if (id === preferredAgentIdForNewSession) preferredAgentIdForNewSession = null;
    render();
  }

  // begin starts a switch and returns it; until it is settled the selector is disabled.
  function begin(agentId, sessionId) {
    switching = { agentId, sessionId };
    focused = document.activeElement === select;
    render();
    return switching;
  }

  // settle ends a switch: the selector is usable again and shows the current agent, which after an error is the old one.
  function settle() {
    switching = null;
    render();
    if (focused && document.activeElement === document.body) select.focus();
    focused = false;
  }

  // connect tells whether there is a connection. Without one nothing is known but the preselection.
  function connect(now) {
    connected = now;
    if (!connected) {
      listed = false;
      agents = [];
      currentAgentId = null;
      defaultAgentId = null;
      switching = null;
    }
    render();
  }

  onLanguage(render);
  return {
    list, refresh, switched, assume, prefer, used, begin, settle, connect, render, preselected, nameOf,
    all: () => agents,
    current: () => currentAgentId,
    byDefault: () => defaultAgentId,
    switching: () => switching,
    mark: () => statements,
  };
}
