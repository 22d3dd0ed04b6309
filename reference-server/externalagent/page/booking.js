// Shows the booking of one relay session. It joins as another agent, takes a snapshot, and follows state.updated from then on.
import { $, make, setText } from "./dom.js";
import { showCommand, showTraffic } from "./traffic.js";
import { language, word } from "./words.js";

const session = new URLSearchParams(location.search).get("session") ?? "default";
const version = "mvp-0.2";

// ---- the state

function showState({ uiSpec, messageHistory }) {
  setText($("form-title"), uiSpec?.title ?? word("nothing"));
  showStages(uiSpec);
  showItems(uiSpec);
  const view = [];
  if (uiSpec?.filter) view.push(word("filter", `${uiSpec.filter.attribute} = ${uiSpec.filter.value}`));
  if (uiSpec?.sort) view.push(word("sort", `${uiSpec.sort.attribute}, ${word(uiSpec.sort.order)}`));
  setText($("view"), view.join(" · "));
  $("summary").replaceChildren(...(uiSpec?.summary ?? []).flatMap((line) => [make("dt", line.label), make("dd", line.value)]));
  setText($("total"), typeof uiSpec?.total === "number" ? `${word("total")}: ${uiSpec.total.toFixed(2)}` : "");
  showChat(messageHistory ?? []);
}

function showStages(uiSpec) {
  $("stages").replaceChildren(...(uiSpec?.stages ?? []).map((stage) =>
    make("li", word(stage), stage === uiSpec.stage ? { "aria-current": "step" } : {})));
}

function showItems(uiSpec) {
  $("items").replaceChildren(...(uiSpec?.items ?? []).map((item) => {
    const selected = (uiSpec.selected ?? []).includes(item.id);
    const highlighted = (uiSpec.highlighted ?? []).includes(item.id);
    const marks = [word(item.available ? "available" : "sold")];
    if (selected) marks.push(word("selected"));
    if (highlighted) marks.push(word("highlighted"));
    if (uiSpec.quantities && Object.hasOwn(uiSpec.quantities, item.id)) marks.push(word("tickets", uiSpec.quantities[item.id]));
    const row = make("li", "", {
      "data-available": item.available, "data-selected": selected, "data-highlighted": highlighted, "data-id": item.id,
    });
    const details = Object.entries(item.attributes ?? {}).map(([name, value]) => `${name}: ${value}`).join(", ");
    row.append(make("strong", item.label), make("span", marks.join(", "), { class: "marks" }));
    if (details) row.append(make("small", details));
    return row;
  }));
}

// showChat adds what is new, so that only that is read out; a history of another session begins anew.
function showChat(history) {
  const list = $("chat");
  const ids = history.map((entry) => `${entry.id} ${entry.timestamp}`);
  const same = [...list.children].every((row, i) => row.dataset.id === ids[i]);
  if (!same) list.replaceChildren();
  for (let i = list.children.length; i < history.length; i++) {
    const { role, text, stage } = history[i];
    const row = make("div", "", { "data-id": ids[i], "data-role": role });
    row.append(make("b", `${word(role)} (${word(stage)})`), make("p", text));
    list.append(row);
    list.scrollTop = list.scrollHeight;
  }
}

function showNothing() {
  showState({ uiSpec: null, messageHistory: [] });
  setText($("form-title"), word("none"));
}

// setActive shows the form and lets the participant speak while there is a session, and else how to begin one.
function setActive(now) {
  active = now;
  for (const id of ["text", "send"]) $(id).disabled = now !== true;
  if (now === undefined) return; // what was shown stays until more is known
  $("empty").hidden = now;
  $("form").hidden = !now;
}

// ---- the connection

let retry = 0;
let socket; // of the latest connection
let requests = 0;
let active; // whether the relay session has a study session; undefined before that is known

function connect() {
  setText($("status"), word(retry === 0 ? "connecting" : "lost"));
  const url = new URL("agent/ws", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.search = "";
  const ws = socket = new WebSocket(url);
  ws.onopen = () => send(ws, "relay.join", { role: "agent", sessionId: session });
  ws.onmessage = (event) => receive(ws, event.data);
  ws.onclose = () => {
    setActive(undefined);
    setText($("status"), word("lost"));
    setTimeout(connect, Math.min(10_000, 250 * 2 ** retry++));
  };
}

function send(ws, type, payload) {
  const id = `page-${++requests}`;
  ws.send(JSON.stringify({ v: version, type, id, payload }));
}

function receive(ws, data) {
  const { type, payload } = JSON.parse(data);
  switch (type) {
    case "relay.joined":
      retry = 0;
      setText($("status"), word("connected", session));
      send(ws, "snapshot.get", {});
      break;
    case "snapshot.state":
    case "state.updated":
      setActive(true);
      showState(payload);
      showTraffic(session);
      break;
    case "error":
      if (payload.code === "SESSION_NOT_ACTIVE") {
        setActive(false);
        showNothing();
      } else {
        setText($("status"), word("refused", payload.message));
      }
  }
}

// Only the agent that ends a study session is told so by the host.
async function watch() {
  try {
    const answer = await fetch(`session?session=${encodeURIComponent(session)}`);
    const now = (await answer.json()).active;
    if (active === true && now === false) {
      setActive(false);
      showNothing();
    } else if (active === false && now === true && socket.readyState === WebSocket.OPEN) {
      send(socket, "snapshot.get", {});
    }
  } catch {
    // the connection tells that the server is gone
  }
  await showTraffic(session);
  setTimeout(watch, 2000);
}

// ---- the participant

$("say").addEventListener("submit", async (event) => {
  event.preventDefault();
  const input = $("text");
  try {
    const answer = await fetch("say", {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ sessionId: session, text: input.value }),
    });
    if (!answer.ok) throw new Error(answer.status === 409 ? word("none") : (await answer.json()).error);
    input.value = "";
    setText($("problem"), "");
  } catch (error) {
    setText($("problem"), word("notSaid", error.message));
  }
  input.focus();
});

document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
document.title = word("heading");
for (const element of document.querySelectorAll("[data-word]")) setText(element, word(element.dataset.word));
for (const element of document.querySelectorAll("[data-label]")) element.setAttribute("aria-label", word(element.dataset.label));
const other = language === "zh" ? "en" : "zh";
$("language").href = `?${new URLSearchParams({ session, lang: other })}`;
$("language").lang = other;
setText($("language"), word("other"));
showCommand(session);
connect();
watch();
