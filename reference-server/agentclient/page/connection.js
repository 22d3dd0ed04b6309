// The connection: the event stream, the requests, and coming back after a loss.

const firstDelay = 100; // ms before the first attempt to come back; it doubles up to the longest
const longestDelay = 10_000;
const steady = 1_000; // ms after which a connection counts as one that worked

// Types that a server may also give in the "event:" field, with bare data. "error" is besides what EventSource itself
// calls the loss of the connection.
const types = [
  "message", "error", "connected", "agent_list", "agent_switched",
  "tool_confirmation_request", "user_question_request", "complete",
];

const greetings = ["connected", "agent_list"]; // what a server says first

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// addressOf makes a base URL of what the user typed; it throws if that is none. Its query, such as a token, goes with
// every request.
export function addressOf(typed) {
  const text = typed.trim();
  const url = new URL(text.includes("://") ? text : `http:${text}`); // "http:host" is read as with slashes
  if (!["http:", "https:"].includes(url.protocol)) throw new Error("not http");
  url.pathname = url.pathname.replace(/\/+$/, "");
  url.hash = "";
  return url;
}

// parse reads an event: {type, data, timestamp, requestId}, data always being an object. It throws if it can't.
function parse(message) {
  const body = JSON.parse(message.data);
  if (!isObject(body)) throw new Error("no object");
  if (typeof body.type === "string") return { ...body, data: isObject(body.data) ? body.data : {} };
  if (message.type === "message") throw new Error("no type");
  return { type: message.type, data: body, timestamp: body.timestamp, requestId: body.requestId };
}

// aborted tells whether a request ended because its connection did.
export const aborted = (error) => error?.name === "AbortError";

// Refused is the error of a request that the server answered by a refusal.
export class Refused extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

// makeConnection keeps one connection. It calls changed(state) with idle, connecting, connected or lost, received(event),
// and unreadable(text, error) for data that is no event.
export function makeConnection({ changed, received, unreadable, unauthorized = () => {} }) {
  let state = "idle";
  let base = null; // URL
  let id = null;
  let source = null;
  let requests = null; // aborts what is in flight when the connection ends
  let timer = 0;
  let failures = 0;
  let since = 0;

  function become(next) {
    state = next;
    changed(state);
  }

  const at = (path) => `${base.origin}${base.pathname.replace(/\/$/, "")}${path}${base.search}`;

  function dial() {
    clearTimeout(timer);
    since = performance.now();
    requests = new AbortController();
    source = new EventSource(at("/events"));
    for (const type of types) source.addEventListener(type, take);
    become("connecting");
  }

  function drop() {
    clearTimeout(timer);
    source?.close();
    requests?.abort();
    source = null;
    id = null;
  }

  // refusal asks why the server has refused the stream, which an EventSource does not tell.
  async function refusal() {
    const answer = await fetch(at("/session/list")).catch(() => null);
    if (answer?.status === 401 && state !== "connected" && state !== "idle") unauthorized();
  }

  function lose() {
    const refused = source?.readyState === EventSource.CLOSED && failures === 0;
    drop();
    failures = performance.now() - since > steady ? 0 : failures + 1;
    timer = setTimeout(dial, Math.min(longestDelay, firstDelay * 2 ** failures));
    become("lost");
    if (refused) refusal();
  }

  function take(message) {
    if (message.target !== source) return;
    if (!(message instanceof MessageEvent)) return lose();
    let event;
    try {
      event = parse(message);
    } catch (error) {
      return unreadable(message.data, error);
    }
    if (event.type === "connected") id = event.data.connectionId;
    if (greetings.includes(event.type) && state !== "connected") become("connected");
    received(event);
  }

  // open connects to a base URL, and comes back to it until close is called.
  function open(address) {
    drop();
    base = address;
    failures = 0;
    dial();
  }

  function close() {
    drop();
    become("idle");
  }

  // request resolves to the server's answer. It rejects with Refused, or with another error if the answer never came.
  async function request(method, path, body) {
    if (state !== "connected") throw new Error("not connected");
    const answer = await fetch(at(path), {
      method,
      headers: body ? { "Content-Type": "application/json" } : {},
      body: body && JSON.stringify(body),
      signal: requests.signal,
    });
    const content = await answer.json().catch(() => null);
    if (!answer.ok || content?.success === false) throw new Refused(answer.status, content?.error ?? content?.message);
    return content;
  }

  // post adds the id of the connection, by which the server knows who asks.
  const post = (path, body) => request("POST", path, { ...body, connectionId: id ?? undefined });

  return { open, close, request, post, state: () => state };
}
