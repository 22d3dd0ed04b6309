// Shows what goes between the agents and the host: tool calls with their reasons, and each message on demand.
import { $, make, setText } from "./dom.js";
import { word } from "./words.js";

const most = { calls: 100, wire: 200 }; // rows

let last = 0; // number of the latest message that is shown
let asking = false;
let pending = new Map(); // id of a tool call without an answer → its row

// own tells of the messages by which this page follows the session.
const own = (message) => /^page-\d+$/.test(message?.id ?? message?.replyTo ?? "");

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function add(list, row, limit) {
  list.append(row);
  while (list.children.length > limit) list.firstElementChild.remove();
}

const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value) ?? "");

function addCall({ id, payload }) {
  const row = make("li", "", { "data-outcome": "open" });
  const params = Object.entries(payload?.params ?? {}).map(([name, value]) => `${name}: ${textOf(value)}`).join(", ");
  row.append(make("code", `${textOf(payload?.toolName)}(${params})`), make("span", word("open"), { class: "outcome" }));
  row.append(make("p", payload?.reason ? word("why", textOf(payload.reason)) : word("noReason"), { class: "reason" }));
  add($("calls"), row, most.calls);
  $("no-calls").hidden = true;
  if (id !== undefined) pending.set(id, row);
  if (pending.size > most.calls) pending.delete(pending.keys().next().value);
}

function settle({ replyTo, payload }) {
  const row = pending.get(replyTo);
  if (!row) return;
  pending.delete(replyTo);
  const ok = payload?.ok === true;
  row.dataset.outcome = ok ? "ok" : "failed";
  const why = payload?.error?.message ?? payload?.message ?? payload?.error ?? payload?.code ?? "";
  setText(row.querySelector(".outcome"), ok ? word("ok") : word("failed", textOf(why)));
}

function addMessage(entry, message) {
  const row = make("li", "", { "data-direction": entry.in ? "in" : "out" });
  const details = make("details", "");
  const head = make("summary", "");
  head.append(
    make("time", new Date(entry.at).toTimeString().slice(0, 8), { datetime: entry.at }), " ",
    make("b", `${entry.in ? "→" : "←"} ${word(entry.in ? "in" : "out")}`), " ",
    make("code", message ? textOf(message.type) : entry.text.slice(0, 60)),
  );
  details.append(head);
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("pre")) return;
    if (entry.cut) details.append(make("p", word("cut")));
    const text = message ? JSON.stringify(message, null, 2) : entry.text;
    details.append(make("pre", text, { tabindex: "0", role: "group", "aria-label": message ? textOf(message.type) : "…" }));
  });
  row.append(details);
  add($("wire"), row, most.wire);
}

function show(entry) {
  const message = entry.cut ? null : read(entry.text);
  if (own(message)) return;
  addMessage(entry, message);
  if (message?.type === "tool.call" && entry.in) addCall(message);
  if (!entry.in && message?.replyTo !== undefined) settle(message);
}

function clear() {
  last = 0;
  pending = new Map();
  for (const id of ["calls", "wire"]) $(id).replaceChildren();
  $("no-calls").hidden = false;
}

// showTraffic adds what is new. A host that was replaced begins to count anew.
export async function showTraffic(session) {
  if (asking) return;
  asking = true;
  try {
    let answer = await ask(session);
    if (answer.last < last) {
      clear();
      answer = await ask(session);
    }
    for (const entry of answer.messages) show(entry);
    last = answer.last;
    setText($("wire-count"), `(${$("wire").children.length})`);
  } catch {
    // the connection tells that the server is gone
  } finally {
    asking = false;
  }
}

async function ask(session) {
  const answer = await fetch(`wire?${new URLSearchParams({ session, after: last })}`);
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.json();
}

// ---- the empty state

// quoted makes one word for a shell.
const quoted = (text) => (/^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// showCommand shows the command that sends an agent to this session.
export function showCommand(session) {
  const url = new URL("agent/ws", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.search = new URLSearchParams(location.search).has("token") ? "?token=TOKEN" : "";
  url.hash = "";
  const command = `parley serve external-agent --role agent --url ${quoted(url.href)} --session ${quoted(session)}`;
  setText($("command"), command);
  if (url.search) $("command").after(make("p", word("token")));
  $("copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command);
      setText($("copied"), word("copied"));
    } catch {
      getSelection().selectAllChildren($("command"));
      setText($("copied"), word("notCopied"));
    }
  });
}
