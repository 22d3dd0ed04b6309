// The sessions: those that the server lists and those that were made here, and the one that is bound.
import { aborted } from "./connection.js";
import { $, button, make } from "./dom.js";
import { onLanguage, t } from "./i18n.js";

const idOf = (answer) => answer?.session?.id ?? answer?.sessionId ?? answer?.id;

// makeSessions makes, loads and deletes sessions. agents are asked for the preselection and told what is known of a
// session's agent. changed(how, id, answer) is called when a session has been bound ("created", "loaded") or is gone
// ("deleted"), settled() when no binding is on its way any more or one has ended, failed(key, error) with what went wrong.
export function makeSessions({ list, empty, connection, agents, changed, settled, failed }) {
  const known = new Map(); // id → {id, agentId, title}
  let listable = false; // the server has a list
  let bound = null;
  let resume = null; // session to load again after the loss of the connection
  let resuming = null;
  let creating = null;
  let binding = 0; // requests in flight that may bind a session

  function entry({ id, agentId, title }) {
    const item = make("li", "", { "data-session-id": id });
    const main = make("button", "", { type: "button", class: "load" });
    main.append(make("span", title || id, { class: "name" }));
    const more = [title && id, agentId && agents.nameOf(agentId)].filter(Boolean).join(" · ");
    if (more) main.append(make("small", more));
    if (id === bound) main.setAttribute("aria-current", "true");
    item.append(main);
    item.addEventListener("click", () => load(id));
    if (listable) item.append(eraser(id));
    return item;
  }

  // eraser deletes a session at the second click.
  function eraser(id) {
    const label = t("session.delete", { id });
    const element = button("×", (event) => {
      event.stopPropagation();
      if (element.dataset.sure) return remove(id);
      element.dataset.sure = "true";
      element.setAttribute("aria-label", `${t("session.sure")}: ${label}`);
      element.textContent = t("session.sure");
    }, { class: "quiet", title: label, "aria-label": label });
    element.addEventListener("blur", () => {
      delete element.dataset.sure;
      element.setAttribute("aria-label", label);
      element.textContent = "×";
    });
    return element;
  }

  function render() {
    const focused = list.contains(document.activeElement) ? document.activeElement.closest("li").dataset.sessionId : null;
    list.replaceChildren(...[...known.values()].reverse().map(entry));
    if (focused) list.querySelector(`[data-session-id="${CSS.escape(focused)}"] button`)?.focus();
    empty.hidden = known.size > 0;
    $("sessionName").textContent = bound ?? "";
    $("sessionName").title = bound ?? "";
  }

  const update = (id, more) => known.set(id, { ...known.get(id), id, ...more });

  // agentIs notes the agent of a session in the list.
  function agentIs(id, agentId) {
    if (!known.has(id)) return;
    update(id, { agentId });
    render();
  }

  // entitle names a session by the first thing said in it.
  function entitle(id, said) {
    if (known.get(id)?.title) return;
    update(id, { title: said.trim().split("\n")[0].slice(0, 80) });
    render();
  }

  function bind(id, how, answer) {
    bound = id;
    resume = null;
    update(id, {});
    render();
    changed(how, id, answer);
    refresh();
  }

  // whileBinding runs f, whose requests may bind a session.
  async function whileBinding(f) {
    binding++;
    try {
      return await f();
    } finally {
      binding--;
      settled();
    }
  }

  async function createNow() {
    const initialAgentId = agents.preselected() ?? undefined;
    const mark = agents.mark();
    const answer = await connection.post("/session/create", { initialAgentId });
    const id = idOf(answer);
    if (typeof id !== "string") throw new Error("no session id");
    agents.used(initialAgentId);
    bind(id, "created", answer);
    agents.assume(initialAgentId ?? agents.byDefault(), mark);
    agentIs(id, agents.current());
    return id;
  }

  // create makes a session with the preselected agent, if one is. Who asks while one is being made gets that one.
  function create() {
    creating ??= whileBinding(createNow).finally(() => { creating = null; });
    return creating;
  }

  async function loadNow(id) {
    const mark = agents.mark();
    const answer = await connection.post("/session/load", { sessionId: id });
    bind(id, "loaded", answer);
    agents.assume(known.get(id).agentId ?? undefined, mark);
  }

  function load(id) {
    return whileBinding(() => loadNow(id)).catch((error) => {
      if (!aborted(error)) resume = null;
      failed("session.loadFailed", error);
    });
  }

  async function remove(id) {
    try {
      await connection.request("DELETE", `/session/${encodeURIComponent(id)}`);
      known.delete(id);
      if (id === bound) {
        bound = null;
        agents.assume(agents.byDefault(), agents.mark());
      }
      render();
      changed("deleted", id);
    } catch (error) {
      failed("session.deleteFailed", error);
    }
  }

  // refresh asks the server for its list. A server without one leaves those that were made here.
  async function refresh() {
    const mark = agents.mark();
    try {
      const answer = await connection.request("GET", "/session/list");
      if (!Array.isArray(answer?.sessions)) return;
      listable = true;
      for (const { id, agentId } of answer.sessions) {
        if (typeof id === "string") update(id, typeof agentId === "string" ? { agentId } : {});
      }
      agents.assume(known.get(bound)?.agentId, mark);
      render();
    } catch {
      // no list
    }
  }

  // unbind forgets the binding, which ends with its connection. After a loss the session is to be loaded again.
  function unbind(lost) {
    resume = lost ? (bound ?? resume) : null;
    bound = null;
    render();
  }

  // listArrived: the server is ready for requests.
  function listArrived() {
    if (!resume) refresh();
    else if (binding === 0) resuming = load(resume);
  }

  // ensure returns the bound session; without one it makes one.
  async function ensure() {
    await resuming;
    return bound ?? create();
  }

  // forget drops all sessions: they are another server's.
  function forget() {
    known.clear();
    resume = null;
    listable = false;
    render();
  }

  onLanguage(render);
  return {
    create, ensure, load, refresh, unbind, forget, agentIs, entitle,
    bound: () => bound,
    binding: () => binding > 0,
    listArrived,
  };
}
