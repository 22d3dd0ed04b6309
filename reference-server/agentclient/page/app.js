// Wires the page: which event and which action of the user is whose business.
import { makeAgents } from "./agents.js";
import { makeChat } from "./chat.js";
import { aborted, addressOf, makeConnection, Refused } from "./connection.js";
import { $, printed } from "./dom.js";
import { knows, onLanguage, startLanguage, t } from "./i18n.js";
import { makeLog } from "./log.js";
import { makePrompts } from "./prompts.js";
import { makeRequests } from "./requests.js";
import { makeSessions } from "./sessions.js";
import { startTheme } from "./theme.js";

const fallback = "http://127.0.0.1:8124"; // the server of a page that was opened from a file

const select = $("mainAgentSelect");
const input = $("messageInput");

startLanguage();
startTheme();

const log = makeLog($("eventLog"), $("logFilter"), $("clearLogBtn"));
const prompts = makePrompts($("prompts"));
const chat = makeChat($("chatBox"));
const connection = makeConnection({ changed: showConnection, received: receive, unreadable, unauthorized });
const agents = makeAgents({ select, hint: $("agentHint"), bound: () => sessions.bound() });
const sessions = makeSessions({
  list: $("sessionList"), empty: $("noSessions"), connection, agents, changed: sessionChanged, settled: replay, failed,
});
const requests = makeRequests({ add: chat.add, send, failed: (error) => failed("request.failed", error) });

let running = false; // a turn is in progress, as far as is known
let toldOfLoss = false;
let lastAddress = "";
let unanswered = null; // the latest message of the user while nothing has come of it: {bubble, content, sessionId, during: a turn}
let held = []; // events of sessions that may be bound in a moment

// ---- what goes wrong here

function reasonOf(error) {
  if (connection.state() !== "connected") return t("agent.connectFirst");
  if (error instanceof Refused && error.status === 401) return t("connection.unauthorized");
  if (error instanceof Refused) return error.message || t("connection.refused", { status: error.status });
  return error instanceof TypeError ? t("connection.unreachable") : error.message;
}

// failed tells of an action that did not succeed, unless that is because the connection ended.
function failed(key, error, topic = "") {
  if (aborted(error)) return;
  const text = t(key, { reason: reasonOf(error) });
  prompts.show(text, { topic });
  log.add("error", "client", text);
}

function unreadable(text, error) {
  log.add("error", "data", t("log.unreadable", { reason: error.message }), text, new Date());
}

// unauthorized says why a connection is refused, where the page can know it.
function unauthorized() {
  prompts.clear("connection");
  prompts.show(t("connection.unauthorized"), { topic: "connection" });
  log.add("error", "client", t("connection.unauthorized"));
}

// ---- the connection

function connect() {
  let address;
  try {
    address = addressOf($("serverUrl").value);
  } catch {
    return prompts.show(t("connection.badAddress", { address: $("serverUrl").value }), { topic: "connection" });
  }
  if (address.href !== lastAddress) sessions.forget();
  lastAddress = address.href;
  prompts.clear("connection");
  connection.open(address);
}

function disconnect() {
  connection.close();
}

function showState(state) {
  $("status").dataset.state = state;
  $("status").textContent = t(`status.${state}`);
  $("connectBtn").disabled = state === "connected" || state === "connecting";
  $("disconnectBtn").disabled = state === "idle";
  $("chatBox").dataset.empty = t(state === "connected" ? "chatEmpty" : "chatWelcome");
  for (const id of ["newSessionBtn", "sendBtn", "refreshBtn"]) $(id).disabled = state !== "connected";
}

function showConnection(state) {
  showState(state);
  agents.connect(state === "connected");
  if (state === "connected" || state === "idle") prompts.clear("connection");
  if (state === "connected") toldOfLoss = false;
  if (state === "idle" || state === "lost") leave(state);
}

// leave ends what ends with a connection.
function leave(state) {
  const lost = state === "lost";
  sessions.unbind(lost);
  held = [];
  setRunning(false);
  chat.done();
  prompts.passed("turn");
  unanswered = null;
  requests.end();
  log.add(lost ? "warn" : "info", "connection", t(`status.${state}`));
  if (lost && !toldOfLoss) prompts.show(t("connection.failed", { address: $("serverUrl").value }), { level: "warn", topic: "connection" });
  toldOfLoss = lost;
}

async function send(message) {
  log.add("sent", message.type, message.agentId ?? message.requestId ?? "", message);
  await connection.post("/message", message);
}

// ---- events

const handlers = {
  connected: (event) => log.add("info", event.type, printed(event.data.connectionId), event),
  agent_list: agentList,
  agent_switched: agentSwitched,
  error: errorEvent,
  message,
  complete,
  tool_confirmation_request: (event) => request(event, requests.confirmation),
  user_question_request: (event) => request(event, requests.question),
};

function receive(event) {
  const named = event.data.sessionId ?? null;
  const foreign = named !== null && named !== sessions.bound();
  if (!foreign || isForConnection(event)) return handle(event);
  if (sessions.binding()) return held.push(event);
  foreignEvent(event, named);
}

function handle(event) {
  if (!Object.hasOwn(handlers, event.type)) return log.add("debug", event.type, t("log.unknown"), event);
  try {
    handlers[event.type](event);
  } catch (error) {
    unreadable(event, error);
  }
}

// isForConnection: a list that comes before any session is bound concerns whoever is connected.
function isForConnection(event) {
  return event.type === "connected" || (event.type === "agent_list" && sessions.bound() === null);
}

// foreignEvent notes an event of another session: this one's chat and selector stay as they are.
function foreignEvent(event, session) {
  if (session === agents.switching()?.sessionId && ["agent_switched", "error"].includes(event.type)) agents.settle();
  if (event.type === "agent_switched") sessions.agentIs(session, event.data.currentAgentId);
  log.add("debug", event.type, t("log.elsewhere", { id: printed(session) }), event);
}

// replay handles what was held back while a session was being bound.
function replay() {
  const events = held;
  held = [];
  events.forEach(receive);
}

function agentList(event) {
  agents.list(event.data);
  const current = printed(event.data.currentAgentId ?? null);
  log.add("info", event.type, t("log.list", { count: agents.all().length, current }), event);
  if (sessions.bound()) sessions.agentIs(sessions.bound(), agents.current());
  sessions.listArrived();
}

function agentSwitched(event) {
  const asked = event.data.sessionId ?? agents.switching()?.sessionId ?? sessions.bound();
  agents.settle();
  if (asked !== sessions.bound()) return foreignEvent(event, asked); // the user went to another session meanwhile
  const { from, to } = agents.switched(event.data);
  prompts.clear("agent");
  chat.system(t("agent.switched", { from, to }));
  log.add("info", event.type, `${from} → ${to}`, event);
  if (asked) sessions.agentIs(asked, agents.current());
}

// The events below are errors: of a switch, or of anything else.
function errorEvent(event) {
  const early = isBusy(event.data);
  if (early && agents.switching() === null) refusedAsBusy();
  const { errorCode, availableAgents } = event.data;
  const text = errorText(event.data);
  const options = { topic: "agent" };
  agents.settle();
  if (errorCode === "agent_not_found") {
    agents.refresh(availableAgents);
    options.details = namesOf(availableAgents);
  }
  if (errorCode === "agent_busy") {
    setRunning(true);
    options.action = { text: t("abort"), run: abort };
  }
  if (errorCode === "session_not_found") {
    setRunning(false);
    options.action = { text: t("newSession"), run: newSession };
  }
  if (early) options.until = "turn";
  prompts.show(text, options);
  log.add("error", event.type, [errorCode, text].filter(Boolean).map(printed).join(" · "), event);
}

// errorText is the page's own text where the source gives one, else the server's message.
function errorText({ errorCode, message }) {
  if (knows(`error.${errorCode}`)) return t(`error.${errorCode}`);
  return printed(message) || printed(errorCode) || t("errorUnknown");
}

function namesOf(available) {
  if (!Array.isArray(available)) return "";
  return t("agent.available", { names: agents.all().map((agent) => agents.nameOf(agent.id)).join(", ") });
}

// isBusy: servers give a switch that comes too early a code, and a message that does so a sentence.
const isBusy = ({ errorCode, message }) => errorCode === "agent_busy" || (errorCode === undefined && /busy|忙/i.test(printed(message)));

// refusedAsBusy marks the message that the server has refused, if it is one and not a switch that was.
function refusedAsBusy() {
  if (!unanswered) return;
  const { bubble, content, sessionId } = unanswered;
  unanswered = null;
  bubble.refused(() => deliver(bubble, content, sessionId));
}

function message(event) {
  if (unanswered && !unanswered.during) unanswered = null; // what comes during a turn answers an earlier message
  if (event.data.streaming) setRunning(true);
  chat.message(event.data);
  log.add("debug", event.type, printed(event.data.content).slice(0, 80), event);
}

function request(event, show) {
  setRunning(true);
  chat.done();
  show(event.requestId ?? event.data.requestId, event.data);
  log.add("info", event.type, printed(event.data.toolName ?? event.data.question), event);
}

function complete(event) {
  prompts.passed("turn");
  unanswered = null;
  setRunning(false);
  chat.done();
  requests.end();
  if (event.data.cancelled) chat.system(t("chat.cancelled"));
  log.add("info", event.type, event.data.cancelled ? t("chat.cancelled") : "", event);
}

// ---- the main agent

function chooseAgent() {
  const agentId = select.value;
  if (agentId === "") return;
  prompts.clear("agent");
  const sessionId = sessions.bound();
  if (!sessionId) return agents.prefer(agentId);
  if (agentId === agents.current()) return;
  switchAgent(agentId, sessionId);
}

async function switchAgent(agentId, sessionId) {
  const attempt = agents.begin(agentId, sessionId);
  try {
    await send({ type: "switch_agent", agentId, sessionId });
  } catch (error) {
    if (agents.switching() !== attempt) return; // the stream has answered already
    agents.settle();
    failed("agent.switchFailed", error, "agent");
  }
}

// ---- sessions

async function newSession() {
  prompts.clear("agent");
  try {
    await sessions.create();
  } catch (error) {
    failed("session.createFailed", error);
  }
}

function sessionChanged(how, id, answer) {
  agents.render();
  log.add("info", "session", t(`session.${how}`, { id }));
  if (how === "deleted") return;
  setRunning(false);
  requests.end();
  chat.show(id, answer?.session?.messages);
}

// ---- the chat

function setRunning(now) {
  running = now;
  $("abortBtn").disabled = !running;
  $("chatBox").classList.toggle("running", running);
}

async function say() {
  const content = input.value;
  if (content.trim() === "") return;
  if (connection.state() !== "connected") return prompts.show(t("agent.connectFirst"), { level: "note", topic: "connection" });
  input.value = "";
  let sessionId;
  try {
    sessionId = await sessions.ensure();
  } catch (error) {
    input.value ||= content;
    return failed("session.createFailed", error);
  }
  sessions.entitle(sessionId, content);
  await deliver(chat.user(content), content, sessionId);
}

// deliver sends a message of the user whose bubble is shown already.
async function deliver(bubble, content, sessionId) {
  const before = running;
  setRunning(true);
  const mine = unanswered = { bubble, content, sessionId, during: before };
  try {
    await send({ type: "chat", content, sessionId });
  } catch (error) {
    if (aborted(error)) return;
    setRunning(before);
    if (unanswered === mine) unanswered = null;
    if (error.status === 409) return bubble.refused(() => deliver(bubble, content, sessionId));
    bubble.failed(reasonOf(error));
    failed("chat.notSent", error);
  }
}

async function abort() {
  try {
    await send({ type: "abort", sessionId: sessions.bound() ?? undefined });
  } catch (error) {
    failed("abort.failed", error);
  }
}

// ---- the user

function listen(id, type, action) {
  $(id).addEventListener(type, (event) => {
    if (type === "submit") event.preventDefault();
    action();
  });
}

listen("connection", "submit", connect);
listen("disconnectBtn", "click", disconnect);
listen("mainAgentSelect", "change", chooseAgent);
listen("newSessionBtn", "click", newSession);
listen("refreshBtn", "click", sessions.refresh);
listen("composer", "submit", say);
listen("abortBtn", "click", abort);

input.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  say();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing || !running || $("help").matches(":popover-open")) return;
  abort();
});

const asked = new URLSearchParams(location.search);
$("serverUrl").value = asked.get("server") ?? (location.protocol === "file:" ? fallback : location.origin);
onLanguage(() => showState(connection.state()));
document.documentElement.dataset.ready = "true";
if (asked.has("connect")) connect();
