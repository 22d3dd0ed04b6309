#!/usr/bin/env node
/**
 * A server for session-level agent selection over SSE + HTTP, standard library only.
 *
 * Its behaviour follows the document "SSE 模式支持会话级主代理选择"; the section marks (§) below point into it. Its wire
 * (paths, envelope, correlation, answers) deliberately follows other conventions: see README.md.
 */
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { setImmediate as nextLoop, setTimeout as delay } from 'node:timers/promises';

const BODY_LIMIT = 1024 * 1024;
const STREAM_BACKLOG_LIMIT = 8 * 1024 * 1024;
const MAX_SESSIONS = 10_000;
const MAX_REMEMBERED_TURNS = 200;
const MAX_MODEL_ROUNDS = 25;
const PRESENCE_MS = 250;
const HEARTBEAT_MS = 300;
const RETRY_MS = 2000;
const CLIENT_HEADER = 'x-client-id';
const DEFAULT_AGENT = 'general';
const AGENT_ID = /^[a-z0-9_-]+$/;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const CONSENT = /^(approve(d|_once|_always)?|allow|accept|confirm|yes|ok)$/;
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * @typedef {{name: string, description: string, input_schema: object}} Tool
 * @typedef {{id: string, name: string, description: string, prompt: string, tools: Tool[]}} Agent
 * @typedef {{requestId: string, kind: string, resolve: (answer: unknown) => void}} Interaction
 * @typedef {{controller: AbortController, interaction: Interaction | null}} Turn
 */

const log = (/** @type {string} */ text) => process.stderr.write(`agent-select: ${text}\n`);

// ---- Agents ---------------------------------------------------------------------------------------------------------

/** @returns {Tool} */
function tool(name, description, properties = {}) {
  const required = Object.keys(properties);
  return { name, description, input_schema: { type: 'object', properties, required } };
}

/** Tools of every agent; both wait for the user. */
const SHELL = tool('shell', 'Run a shell command, once the user has confirmed it.', { command: { type: 'string' } });
const QUESTION = tool('question', 'Ask the user a question and wait for the answer.', {
  question: { type: 'string' },
  options: { type: 'array', items: { type: 'string' } },
});

/** @returns {Agent} */
function builtIn(id, name, description, prompt, /** @type {Tool} */ own) {
  return { id, name, description, prompt, tools: [SHELL, QUESTION, own] };
}

/** The built-in agents, in the order in which they are listed (§1.1, §3.1). */
const BUILT_IN = [
  builtIn(DEFAULT_AGENT, 'General', 'General purpose agent', 'You are a general assistant. Be brief and correct.',
    tool('read_file', 'Read a text file.', { path: { type: 'string' } })),
  builtIn('requirement_analyzer', 'Requirement Analyzer', 'Requirement analysis agent',
    'You analyse requirements. Name gaps and contradictions; write no code.',
    tool('list_requirements', 'List the known requirements.')),
  builtIn('debugger', 'Debugger', 'Debugging agent', 'You debug programs. State a hypothesis, then test it.',
    tool('read_stack', 'Read the latest stack trace.')),
];

/** The built-in agents and those of the agents file, which is re-read whenever its content has changed. */
class Catalogue {
  #file;
  #text = '';
  #agents = BUILT_IN;

  constructor(/** @type {string | undefined} */ file) {
    this.#file = file;
    this.refresh();
  }

  /** Takes a changed file over; with a broken one, the last good list stays. */
  refresh() {
    if (this.#file === undefined) return;
    try {
      const text = readFileSync(this.#file, 'utf8');
      if (text === this.#text) return;
      this.#text = text;
      this.#agents = [...BUILT_IN, ...parseAgents(text)];
    } catch (error) {
      log(`agents file not usable, keeping the last good list: ${error.message}`);
    }
  }

  /** @returns {Agent | undefined} */
  find(/** @type {unknown} */ id) {
    return this.#agents.find((agent) => agent.id === id);
  }

  /** AgentInfo[] (§4.4): built-in agents first, then custom ones. */
  infos() {
    return this.#agents.map(({ id, name, description }) => ({ id, name, description }));
  }
}

/** Parses an agents file. An entry without a legal, new id is skipped. @returns {Agent[]} */
function parseAgents(/** @type {string} */ text) {
  const entries = JSON.parse(text);
  if (!Array.isArray(entries)) throw new Error('the file must hold a JSON array');
  const taken = new Set(BUILT_IN.map((agent) => agent.id));
  return entries.flatMap((entry) => {
    const id = entry?.id;
    if (typeof id !== 'string' || !AGENT_ID.test(id) || taken.has(id)) {
      log(`agents file: entry skipped, its id is missing, illegal or taken: ${JSON.stringify(id)}`);
      return [];
    }
    taken.add(id);
    return [toAgent(id, entry)];
  });
}

/** @returns {Agent} */
function toAgent(id, { name, description, prompt, tools }) {
  const text = (value, fallback) => (typeof value === 'string' ? value : fallback);
  const own = (Array.isArray(tools) ? tools : []).map(toTool).filter((each) => TOOL_NAME.test(each.name));
  const byName = new Map([...own, SHELL, QUESTION].map((each) => [each.name, each]));
  const shown = { name: text(name, id), description: text(description, '') };
  return { id, ...shown, prompt: text(prompt, ''), tools: [...byName.values()] };
}

/** A tool of the agents file is a name, or an object with a name. @returns {Tool} */
function toTool(entry) {
  return typeof entry === 'string' ? tool(entry, `The tool ${entry}.`) : { ...tool('', ''), ...entry };
}

// ---- Connections and sessions ---------------------------------------------------------------------------------------

/** One SSE stream. Writes are queued, so that events keep their order although each is sent in two parts. */
class Connection {
  id = `cl_${randomUUID()}`;
  open = true;
  /** @type {Set<Session>} The sessions bound to this connection (§4.3). */
  sessions = new Set();
  /** @type {Session | null} The session meant by messages without sessionId: the one bound last (§4.3). */
  defaultSession = null;
  /** Resolves once agent_list has been written: messages wait for that (§4.3). */
  ready = Promise.resolve();

  #tail = Promise.resolve();
  #events = 0;
  #writes = 0;

  constructor(/** @type {import('node:http').ServerResponse} */ res) {
    this.res = res;
  }

  /** Sends one event: the type in `event:`, the bare data as indented JSON over several `data:` lines. */
  send(/** @type {string} */ type, /** @type {object} */ data) {
    this.#events += 1;
    const traced = { ...data, x_schema: 2, x_trace: { seq: this.#events, at: new Date().toISOString() } };
    const json = JSON.stringify(traced, null, 2).split('\n');
    this.#write([`id: ${this.#events}`, `event: ${type}`, ...json.map((line) => `data: ${line}`)]);
  }

  /** Sends a comment, perhaps with fields that belong to no event. */
  comment(/** @type {string} */ text, /** @type {string[]} */ ...fields) {
    this.#write([`: ${text}`, ...fields]);
  }

  /** Resolves once everything sent so far has been written. */
  flushed = () => this.#tail;

  /** Cuts a write in two: amid a line (perhaps amid a character), and every third time between CR and LF. */
  #write(/** @type {string[]} */ lines) {
    const bytes = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
    this.#writes += 1;
    const middle = Math.floor(bytes.length * (this.#writes % 3 ? 0.3 : 0.6));
    const cut = this.#writes % 3 === 2 ? bytes.lastIndexOf('\r') - 1 : middle;
    this.#tail = this.#tail.then(() => this.#writeInTwo(bytes, cut));
  }

  async #writeInTwo(/** @type {Buffer} */ bytes, /** @type {number} */ cut) {
    if (this.res.writableLength > STREAM_BACKLOG_LIMIT) this.res.destroy(); // a client that has stopped reading
    if (!this.open || this.res.writableEnded || this.res.destroyed) return;
    this.res.write(bytes.subarray(0, cut));
    await nextLoop();
    if (!this.open || this.res.writableEnded) return;
    this.res.write(bytes.subarray(cut));
    await nextLoop(); // until Node has handed it to the socket: HTTP answers come after it
  }
}

/** One session: its agent, its memory and its running turn (§4.3). */
class Session {
  id = `s_${randomUUID()}`;
  /** @type {Connection | null} The one connection that owns this session. */
  connection = null;
  /** @type {object[][]} The messages of each completed turn. */
  history = [];
  /** @type {Turn | null} The running turn, also while it waits for the user: then the session is busy (§4.3). */
  turn = null;

  constructor(/** @type {Agent} */ agent) {
    this.agent = agent;
  }

  bind(/** @type {Connection} */ connection) {
    this.connection = connection;
    connection.sessions.add(this);
    connection.defaultSession = this;
  }

  send(/** @type {string} */ type, /** @type {object} */ data) {
    this.connection?.send(type, data);
  }

  /** Ends the running turn and whatever it waits for. @returns {boolean} whether there was one */
  cancel() {
    const { turn } = this;
    if (!turn) return false;
    this.turn = null;
    turn.controller.abort();
    this.send('complete', { sessionId: this.id, cancelled: true });
    return true;
  }
}

/** @type {Map<string, Connection>} */
const connections = new Map();
/** @type {Map<string, Session>} */
const sessions = new Map();
/** @type {Catalogue} */
let catalogue;

/** Makes room by forgetting the oldest session that no connection owns. @returns {boolean} whether there is room */
function makeRoom() {
  if (sessions.size < MAX_SESSIONS) return true;
  for (const session of sessions.values()) {
    if (!session.connection) return sessions.delete(session.id);
  }
  return false;
}

/** A closed stream unbinds its sessions; their turns end, since nobody could answer them any more. */
function disconnect(/** @type {Connection} */ connection) {
  connection.open = false;
  connections.delete(connection.id);
  for (const session of connection.sessions) {
    session.cancel();
    session.connection = null;
  }
}

// ---- The model: Anthropic messages API, streaming -------------------------------------------------------------------

/** Asks the model for one reply. @returns {Promise<object[]>} the content blocks of the reply */
async function askModel(/** @type {Agent} */ agent, messages, /** @type {AbortSignal} */ signal, onText) {
  const base = process.env.ANTHROPIC_BASE_URL;
  if (!base) throw new Error('No model configured: ANTHROPIC_BASE_URL is not set');
  const { prompt: system, tools } = agent;
  const model = process.env.ANTHROPIC_MODEL || 'example-model';
  const response = await fetch(`${base.replace(/\/+$/, '')}/v1/messages`, {
    method: 'POST',
    signal,
    headers: {
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      'x-api-key': process.env.ANTHROPIC_API_KEY || 'none',
    },
    body: JSON.stringify({ model, max_tokens: 4096, stream: true, system, tools, messages }),
  });
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    throw new Error(`The model answered with HTTP ${response.status}`);
  }
  return readReply(response.body, onText);
}

/** Assembles the content blocks of a streamed reply. */
async function readReply(body, /** @type {(text: string) => void} */ onText) {
  const blocks = new Map();
  for await (const event of modelEvents(body)) {
    if (event.type === 'message_stop') return finishedBlocks(blocks);
    if (event.type === 'error') throw new Error(`The model failed: ${event.error?.message ?? 'unknown error'}`);
    if (event.type === 'content_block_start') {
      blocks.set(event.index, { ...event.content_block, json: '' });
      if (event.content_block.text) onText(event.content_block.text);
    }
    if (event.type === 'content_block_delta') applyDelta(blocks.get(event.index), event.delta, onText);
  }
  throw new Error('The model broke its answer off');
}

function applyDelta(block, delta, onText) {
  if (!block) throw new Error('The model sent a delta without a block');
  if (delta.type === 'input_json_delta') block.json += delta.partial_json;
  if (delta.type !== 'text_delta') return;
  block.text = (block.text ?? '') + delta.text;
  onText(delta.text);
}

/** Text and tool_use blocks, as they go back to the model with the next request. */
function finishedBlocks(/** @type {Map<number, any>} */ blocks) {
  return [...blocks.values()].flatMap(({ type, text, id, name, input, json }) => {
    if (type === 'text') return text ? [{ type, text }] : [];
    if (type === 'tool_use') return [{ type, id, name, input: json ? JSON.parse(json) : (input ?? {}) }];
    return [];
  });
}

/** The data of each event in the model's answer. */
async function* modelEvents(body) {
  const decoder = new TextDecoder();
  let rest = '';
  let data = [];
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n/);
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(5));
      if (line !== '' || data.length === 0) continue;
      yield JSON.parse(data.join('\n'));
      data = [];
    }
  }
}

// ---- Turns ----------------------------------------------------------------------------------------------------------

/** Runs one chat turn; it keeps the agent it started with (§3.5). @returns {Promise<string>} how it ended */
async function runTurn(/** @type {Session} */ session, /** @type {string} */ text) {
  /** @type {Turn} */
  const turn = { controller: new AbortController(), interaction: null };
  const { signal } = turn.controller;
  session.turn = turn;
  const messages = [{ role: 'user', content: text }];
  let ended = 'complete';
  try {
    await converse(session, turn, messages);
    signal.throwIfAborted();
    session.history = [...session.history, messages].slice(-MAX_REMEMBERED_TURNS);
  } catch (error) {
    if (signal.aborted) return 'cancelled'; // cancel() has told the client; the turn is not remembered
    session.send('error', { message: error.cause?.message || error.message });
    ended = 'failed';
  }
  session.turn = null;
  session.send('complete', { sessionId: session.id });
  return ended;
}

/** Model requests and tool results in turn, until a reply asks for no tool. Adds to `messages`. */
async function converse(/** @type {Session} */ session, /** @type {Turn} */ turn, /** @type {object[]} */ messages) {
  const agent = catalogue.find(session.agent.id) ?? session.agent;
  const { signal } = turn.controller;
  const onText = (content) => {
    if (!signal.aborted) session.send('message', { role: 'assistant', content, streaming: true });
  };
  for (let round = 0; round < MAX_MODEL_ROUNDS; round += 1) {
    const reply = await askModel(agent, [...session.history.flat(), ...messages], signal, onText);
    signal.throwIfAborted();
    if (reply.length > 0) messages.push({ role: 'assistant', content: reply });
    const calls = reply.filter((block) => block.type === 'tool_use');
    if (calls.length === 0) {
      const content = reply.map((block) => block.text).join('');
      session.send('message', { role: 'assistant', content, streaming: false });
      return;
    }
    const results = [];
    for (const call of calls) results.push(await useTool(session, turn, agent, call));
    messages.push({ role: 'user', content: results });
  }
  throw new Error('The model asked for too many tools in one turn');
}

/** The tool_result for one tool call. Nothing is ever executed: results are fixed texts. */
async function useTool(session, turn, /** @type {Agent} */ agent, { id, name, input }) {
  const result = (content, more = {}) => ({ type: 'tool_result', tool_use_id: id, content, ...more });
  if (!agent.tools.some((each) => each.name === name)) return result(`Unknown tool: ${name}`, { is_error: true });
  if (name === SHELL.name) {
    const request = { sessionId: session.id, toolName: name, toolInput: input };
    const response = await askUser(session, turn, 'tool_confirmation_request', request);
    if (!isConsent(response)) return result('The user declined this call.', { is_error: true });
    return result('Command finished with exit code 0 (simulated, nothing was run).');
  }
  if (name === QUESTION.name) {
    const request = { sessionId: session.id, question: input.question ?? '', options: input.options ?? [] };
    const response = await askUser(session, turn, 'user_question_request', request);
    return result(typeof response === 'string' ? response : JSON.stringify(response));
  }
  return result(`Result of ${name} (simulated).`);
}

/** Sends a request to the user and waits for the answer, or for the end of the turn. @returns {Promise<unknown>} */
async function askUser(/** @type {Session} */ session, /** @type {Turn} */ turn, /** @type {string} */ kind, data) {
  const requestId = `rq_${randomUUID()}`;
  const { signal } = turn.controller;
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    turn.interaction = { requestId, kind, resolve };
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    session.send(kind, { requestId, ...data });
  });
}

/** Whether the answer to a confirmation request allows the call; whatever is not a clear yes is a no. */
function isConsent(/** @type {any} */ response) {
  const answer = response?.approved ?? response;
  return answer === true || (typeof answer === 'string' && CONSENT.test(answer));
}

// ---- Client messages ------------------------------------------------------------------------------------------------

/** A refusal over HTTP. */
class HttpError extends Error {
  constructor(/** @type {number} */ status, /** @type {string} */ message) {
    super(message);
    this.status = status;
  }
}

/**
 * What each message type does. The value is the `result` of the HTTP answer.
 * @type {Map<string, (message: any, sender: Connection | null) => object | Promise<object>>}
 */
const HANDLERS = new Map([
  ['chat', handleChat],
  ['switch_agent', handleSwitch],
  ['abort', handleAbort],
  ['tool_confirmation_response', (message, sender) => handleAnswer(message, sender, 'tool_confirmation_request')],
  ['user_question_response', (message, sender) => handleAnswer(message, sender, 'user_question_request')],
]);

/**
 * The session a message is about: the named one, else the default session of the sending connection. Without any, the
 * sender is told session_not_found (§4.1, §4.3). A session that no connection owns has to be resumed first.
 * @returns {Session | null}
 */
function locate(message, /** @type {Connection | null} */ sender) {
  const named = Object.hasOwn(message, 'sessionId');
  const session = named ? sessions.get(message.sessionId) : sender?.defaultSession;
  if (session?.connection) return session;
  if (!sender) throw named ? new HttpError(404, 'Session not found') : new HttpError(400, 'Unknown client');
  const text = named ? 'Session not found' : 'No session is bound to this connection';
  sender.send('error', { errorCode: 'session_not_found', message: text });
  return null;
}

/** The HTTP answer is held until the turn has ended. */
async function handleChat(message, sender) {
  if (typeof message.content !== 'string' || message.content === '') {
    throw new HttpError(400, 'content must be a string that is not empty');
  }
  const session = locate(message, sender);
  if (!session) throw new HttpError(404, 'Session not found');
  if (session.turn) throw new HttpError(409, 'The session is busy');
  return { sid: session.id, ended: await runTurn(session, message.content) };
}

/** §3.2: the switch is announced on the connection that owns the session. */
function handleSwitch(message, sender) {
  const session = locate(message, sender);
  if (!session) return {};
  catalogue.refresh();
  const refusal = switchRefusal(session, message.agentId);
  if (refusal) {
    session.send('error', refusal);
    return {};
  }
  const previousAgentId = session.agent.id;
  session.agent = catalogue.find(message.agentId);
  const { id: currentAgentId, name: agentName } = session.agent;
  session.send('agent_switched', { previousAgentId, currentAgentId, agentName });
  return {};
}

/** The data of the error event, if the switch can't be made (§3.3, §3.5, §3.6); the fields are those of §4.2. */
function switchRefusal(/** @type {Session} */ session, /** @type {unknown} */ agentId) {
  if (agentId === undefined || agentId === null || agentId === '') {
    return { errorCode: 'invalid_agent_id', message: 'agentId cannot be empty' };
  }
  if (typeof agentId !== 'string' || !AGENT_ID.test(agentId)) {
    return {
      errorCode: 'invalid_agent_id_format',
      message: 'agentId contains invalid characters. Allowed: [a-z0-9_-]',
    };
  }
  if (!catalogue.find(agentId)) {
    const availableAgents = catalogue.infos();
    return { errorCode: 'agent_not_found', message: `Invalid agent ID: ${agentId}`, availableAgents };
  }
  if (session.turn) {
    return { errorCode: 'agent_busy', message: 'The session is busy: abort its task or wait for its end' };
  }
  return null;
}

/** §3.5: ends the running turn or the pending interaction; on an idle session there is nothing to tell. */
function handleAbort(message, sender) {
  const session = locate(message, sender);
  if (!session) return {};
  return { cancelled: session.cancel() };
}

/** The user's answer to a pending request of the session, or of any session of the sending connection. */
function handleAnswer(message, sender, /** @type {string} */ kind) {
  if (typeof message.requestId !== 'string') throw new HttpError(400, 'requestId must be a string');
  if (!Object.hasOwn(message, 'response')) throw new HttpError(400, 'response is missing');
  const located = locate(message, sender);
  if (!located) return {};
  const candidates = Object.hasOwn(message, 'sessionId') ? [located] : [...sender.sessions];
  const isMeant = ({ turn }) => turn?.interaction?.requestId === message.requestId && turn.interaction.kind === kind;
  const session = candidates.find(isMeant);
  if (!session) throw new HttpError(404, 'No such request is pending');
  const { interaction } = session.turn;
  session.turn.interaction = null;
  interaction.resolve(message.response);
  return { sid: session.id };
}

// ---- HTTP -----------------------------------------------------------------------------------------------------------

/**
 * What `run` returns is the `result` of the HTTP answer; the stream answers by itself.
 * @type {Map<string, {method: string, run: (req: any, res: any) => any}>}
 */
const ROUTES = new Map([
  ['/api/v2/stream', { method: 'GET', run: openStream }],
  ['/api/v2/say', { method: 'POST', run: say }],
  ['/api/v2/sessions/open', { method: 'POST', run: openSession }],
  ['/api/v2/sessions/resume', { method: 'POST', run: resumeSession }],
  ['/api/v2/ping', { method: 'GET', run: () => ({ connections: connections.size, sessions: sessions.size }) }],
]);

/** connected, at once agent_list (§3.1, §4.3), then the events and comments of this server's own. */
function openStream(req, res) {
  catalogue.refresh();
  res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' });
  const connection = new Connection(res);
  connections.set(connection.id, connection);
  connection.comment('agent stream, v2', `retry: ${RETRY_MS}`);
  connection.send('connected', { connectionId: connection.id });
  connection.send('agent_list', { agents: catalogue.infos(), currentAgentId: null });
  connection.ready = connection.flushed();
  connection.send('welcome', { text: 'Open or resume a session, then say something.' });
  let beat = 0;
  const presence = setInterval(() => connection.send('presence', { beat: (beat += 1) }), PRESENCE_MS);
  const heartbeat = setInterval(() => connection.comment('still here'), HEARTBEAT_MS);
  res.on('close', () => {
    clearInterval(presence);
    clearInterval(heartbeat);
    disconnect(connection);
  });
}

/** Client messages. Whatever one led to is written to the stream before the HTTP answer is given. */
async function say(req) {
  const message = await readObject(req);
  const handle = HANDLERS.get(message.type);
  if (!handle) throw new HttpError(400, 'Unknown message type');
  await clientOf(req)?.ready;
  const sender = clientOf(req);
  try {
    return await handle(message, sender);
  } finally {
    await sender?.flushed();
    await sessions.get(message.sessionId)?.connection?.flushed();
  }
}

/** A new session is bound to the connection that asked for it (§4.3). */
async function openSession(req) {
  const body = await readObject(req);
  const connection = requiredClientOf(req);
  const agent = catalogue.find(Object.hasOwn(body, 'initialAgentId') ? body.initialAgentId : DEFAULT_AGENT);
  if (!agent) throw new HttpError(400, 'initialAgentId names no agent');
  if (!makeRoom()) throw new HttpError(503, 'Too many sessions');
  const session = new Session(agent);
  sessions.set(session.id, session);
  session.bind(connection);
  return { sid: session.id };
}

/** One session, one connection (§4.3): a session that another live connection owns is not handed over. */
async function resumeSession(req) {
  const body = await readObject(req);
  const connection = requiredClientOf(req);
  if (!Object.hasOwn(body, 'sessionId')) throw new HttpError(400, 'sessionId is missing');
  const session = sessions.get(body.sessionId);
  if (!session) throw new HttpError(404, 'session_not_found');
  if (session.connection && session.connection !== connection) {
    throw new HttpError(409, 'The session belongs to another connection');
  }
  session.bind(connection);
  return { sid: session.id };
}

/** The live connection that the request names in its header. @returns {Connection | null} */
function clientOf(/** @type {import('node:http').IncomingMessage} */ req) {
  return connections.get(String(req.headers[CLIENT_HEADER])) ?? null;
}

function requiredClientOf(req) {
  const connection = clientOf(req);
  if (!connection) throw new HttpError(400, 'X-Client-Id names no live connection');
  return connection;
}

/** Reads a JSON object. Within bounds, what exceeds the limit is drained, so that the client can read the refusal. */
async function readObject(/** @type {import('node:http').IncomingMessage} */ req) {
  const chunks = [];
  let size = 0;
  for await (const chunk of req) {
    size += chunk.length;
    if (size <= BODY_LIMIT) chunks.push(chunk);
    if (size > 8 * BODY_LIMIT) req.socket.destroy();
  }
  if (size > BODY_LIMIT) throw new HttpError(413, 'The body is larger than 1 MB');
  const value = parseJson(Buffer.concat(chunks));
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new HttpError(400, 'The body must be a JSON object');
  }
  return value;
}

function parseJson(/** @type {Buffer} */ bytes) {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new HttpError(400, 'The body is not JSON in UTF-8');
  }
}

function reply(/** @type {import('node:http').ServerResponse} */ res, /** @type {number} */ status, body) {
  if (res.headersSent || res.destroyed) return;
  const text = JSON.stringify(body);
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  res.end(text);
}

/** CORS headers, for pages from this machine only. @returns {boolean} whether the origin is allowed */
function allowOrigin(req, res) {
  res.setHeader('vary', 'Origin');
  if (!URL.canParse(req.headers.origin ?? '')) return false;
  const { protocol, hostname, origin } = new URL(req.headers.origin);
  if (!/^https?:$/.test(protocol) || !LOOPBACK.test(hostname)) return false;
  res.setHeader('access-control-allow-origin', origin);
  res.setHeader('access-control-allow-methods', 'GET, POST, OPTIONS');
  res.setHeader('access-control-allow-headers', 'Content-Type, X-Client-Id');
  return true;
}

async function onRequest(req, res) {
  try {
    const allowed = allowOrigin(req, res);
    const route = ROUTES.get(req.url.split('?')[0]);
    if (!route) throw new HttpError(404, 'No such path');
    if (req.method === 'OPTIONS') return void res.writeHead(allowed ? 204 : 403).end();
    if (req.method !== route.method) {
      res.setHeader('allow', `${route.method}, OPTIONS`);
      throw new HttpError(405, `Use ${route.method}`);
    }
    const result = await route.run(req, res);
    reply(res, 200, { ok: true, result });
  } catch (error) {
    if (req.destroyed && !req.complete) return; // the client went away while it was sending
    if (!(error instanceof HttpError)) log(`internal error: ${error.stack}`);
    reply(res, error.status ?? 500, { ok: false, error: error.status ? error.message : 'Internal error' });
  }
}

// ---- Start and stop -------------------------------------------------------------------------------------------------

function readArguments() {
  const options = { port: { type: 'string', default: '4310' }, agents: { type: 'string' } };
  try {
    const { port, agents } = parseArgs({ options }).values;
    if (/^\d{1,5}$/.test(port) && Number(port) < 65536) return { port: Number(port), agents };
    throw new Error('--port takes a number from 0 to 65535');
  } catch (error) {
    log(`${error.message}\nusage: agent-select.mjs [--port N] [--agents FILE]`);
    return process.exit(2);
  }
}

/** Ends turns and streams, then the process, well within a second. */
async function stop(/** @type {import('node:http').Server} */ server) {
  server.close();
  for (const session of sessions.values()) session.cancel();
  const live = [...connections.values()];
  await Promise.race([Promise.all(live.map((connection) => connection.flushed())), delay(300)]);
  for (const connection of live) connection.res.end();
  await delay(100);
  server.closeAllConnections();
  process.exit(0);
}

function main() {
  const { port, agents } = readArguments();
  process.stderr.on('error', () => {}); // nobody reads the log any more
  catalogue = new Catalogue(agents);
  const server = createServer({ keepAliveTimeout: 60_000 }, onRequest);
  server.on('error', (error) => {
    log(error.message);
    process.exit(1);
  });
  server.listen(port, '127.0.0.1', () => {
    process.stdout.write(`Listening on http://127.0.0.1:${server.address().port}\n`);
  });
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => stop(server));
}

main();
