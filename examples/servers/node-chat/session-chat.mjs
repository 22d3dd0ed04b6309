#!/usr/bin/env node
/**
 * A session-chat server in one file: Node 20, standard library only.
 *
 *     node session-chat.mjs --port N --data DIR
 *
 * One WebSocket carries any number of sessions. A session is made by the first chat that names its agent id, is kept in
 * a journal in DIR, and is continued under the same session id after a restart. On the wire an agent id is a `thread`
 * and a session id a `conversation`; README.md lists every difference from the usual names.
 *
 * From the bottom up: WebSocket (RFC 6455, server side), journal, sessions, model, chat server, start and stop.
 */

import { isUtf8 } from 'node:buffer';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdir, open, readFile } from 'node:fs/promises';
import { createServer, STATUS_CODES } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const SERVER_NAME = 'session-chat-node/1';
const HOST = '127.0.0.1';
const SOCKET_PATH = '/api/v1/conversations/socket';
const PING_PATH = '/api/ping';
const SUBPROTOCOL = 'conversations.v1';

const MAX_MESSAGE = 16 * 1024 * 1024; // bytes of one message, all its fragments together
const MAX_BACKLOG = 256 * 1024 * 1024; // bytes that a client may leave unread before it is cut off
const LINGER_MS = 2000; // how long a closing connection may take to close
const KEEPALIVE_MS = 30_000; // between two pings; three without a sign of life end a connection
const STOP_MS = 700; // how long a graceful stop may take

/* ------------------------------------------------------------------------------------------------------------------
 * WebSocket
 * --------------------------------------------------------------------------------------------------------------- */

const WS_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const OP = Object.freeze({ CONTINUATION: 0, TEXT: 1, BINARY: 2, CLOSE: 8, PING: 9, PONG: 10 });
const FRAGMENT_OVER = 125; // a message of more bytes goes out in two fragments

/** A reason to close the connection: the client broke a rule of the WebSocket protocol. */
class WebSocketError extends Error {
  /**
   * @param {number} code the close code
   * @param {string} reason the close reason, at most 123 bytes
   */
  constructor(code, reason) {
    super(reason);
    this.code = code;
  }
}

/** A buffer that grows as masked payload arrives: nothing is reserved on the mere word of a frame header. */
class Payload {
  #bytes = Buffer.alloc(0);
  length = 0;

  /** Appends chunk[from, to), unmasked; `phase` is the number of bytes of the same frame that came before. */
  append(chunk, from, to, mask, phase) {
    const size = this.length + to - from;
    if (size > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(size, Math.min(2 * this.#bytes.length, MAX_MESSAGE)));
      this.#bytes.copy(grown, 0, 0, this.length);
      this.#bytes = grown;
    }
    const bytes = this.#bytes;
    for (let i = from, out = this.length, m = phase; i < to; i++) bytes[out++] = chunk[i] ^ mask[m++ & 3];
    this.length = size;
  }

  bytes() {
    return this.#bytes.subarray(0, this.length);
  }
}

/** The server's end of one WebSocket connection, after the handshake. */
class WebSocketPeer {
  #socket;
  #onText = () => {};
  #onGone = () => {};
  #header = Buffer.alloc(14);
  #headerLength = 0;
  #frame = null; // the frame whose payload is arriving
  #message = null; // the message whose frames are arriving
  #closeSent = false;
  #deaf = false; // what still arrives is thrown away
  #gone = false;
  #unheard = 0;
  #linger = null;

  /** Settles when the TCP connection is closed. */
  closed;

  /** @param {import('node:net').Socket} socket a socket on which the handshake has been answered */
  constructor(socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setTimeout(0);
    this.closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(this.#linger);
      this.#leave();
    });
    socket.on('end', () => {
      this.#leave();
      this.#finish();
    });
  }

  /**
   * Begins to read.
   * @param {Buffer} head what came after the handshake in the same packet
   * @param {{onText: (text: string) => void, onGone: () => void}} handlers `onText` gets each whole text message;
   *   `onGone` is called once, as soon as nothing can be sent any more
   */
  start(head, { onText, onGone }) {
    this.#onText = onText;
    this.#onGone = onGone;
    this.#socket.on('data', (chunk) => this.#receive(chunk));
    if (head.length) this.#receive(head);
  }

  /** Sends a text message; does nothing on a connection that is closing. */
  send(text) {
    const bytes = Buffer.from(text);
    if (bytes.length <= FRAGMENT_OVER) return this.#write(OP.TEXT, bytes);
    const cut = bytes.length >> 1; // may fall inside of a character, as RFC 6455, 5.6 allows
    this.#write(OP.TEXT, bytes.subarray(0, cut), false);
    this.#write(OP.CONTINUATION, bytes.subarray(cut));
  }

  /** Sends a ping, unless too many stayed without any answer: then the connection is cut. */
  keepAlive() {
    if (this.#unheard++ >= 3) this.#socket.destroy();
    else this.#write(OP.PING, Buffer.from(String(this.#unheard)));
  }

  /** Starts the close handshake; the client's close frame, or some patience, ends it. */
  close(code, reason = '') {
    if (this.#closeSent) return;
    const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
    payload.writeUInt16BE(code);
    payload.write(reason, 2);
    this.#sendClose(payload);
  }

  #sendClose(payload) {
    this.#write(OP.CLOSE, payload);
    this.#closeSent = true;
    this.#giveUpLater();
    this.#leave();
  }

  /** Half-closes the TCP connection; reading goes on, so that the last frames are not lost to a reset. */
  #finish() {
    this.#deaf = true;
    this.#frame = this.#message = null;
    this.#giveUpLater();
    this.#socket.end();
  }

  #giveUpLater() {
    this.#linger ??= setTimeout(() => this.#socket.destroy(), LINGER_MS).unref();
  }

  #leave() {
    if (this.#gone) return;
    this.#gone = true;
    this.#onGone();
  }

  #write(opcode, payload, fin = true) {
    const socket = this.#socket;
    if (this.#closeSent || !socket.writable) return;
    const size = payload.length;
    const header = Buffer.alloc(size < 126 ? 2 : size < 65536 ? 4 : 10);
    header[0] = (fin ? 0x80 : 0) | opcode;
    if (size < 126) {
      header[1] = size;
    } else if (size < 65536) {
      header[1] = 126;
      header.writeUInt16BE(size, 2);
    } else {
      header[1] = 127;
      header.writeBigUInt64BE(BigInt(size), 2);
    }
    socket.cork();
    socket.write(header);
    socket.write(payload);
    socket.uncork();
    if (socket.writableLength > MAX_BACKLOG) socket.destroy();
  }

  #receive(chunk) {
    this.#unheard = 0;
    if (this.#deaf) return;
    try {
      this.#parse(chunk);
    } catch (error) {
      const known = error instanceof WebSocketError;
      if (!known) console.error(error);
      this.close(known ? error.code : 1011, known ? error.message : 'internal error');
      this.#finish();
    }
  }

  #parse(chunk) {
    let at = 0;
    while (at < chunk.length && !this.#deaf) {
      if (!this.#frame) {
        this.#header[this.#headerLength++] = chunk[at++];
        this.#frame = this.#parseHeader();
      } else {
        const frame = this.#frame;
        const to = Math.min(chunk.length, at + frame.size - frame.arrived);
        frame.payload.append(chunk, at, to, frame.mask, frame.arrived);
        frame.arrived += to - at;
        at = to;
      }
      if (this.#frame && this.#frame.arrived === this.#frame.size) {
        const frame = this.#frame;
        this.#frame = null;
        if (frame.opcode >= 8) this.#control(frame);
        else if (frame.fin) this.#complete();
      }
    }
  }

  /** Returns the frame once its header is complete, else null; what is wrong is refused as early as it shows. */
  #parseHeader() {
    const header = this.#header;
    if (this.#headerLength < 2) return null;
    const fin = header[0] >= 0x80;
    const opcode = header[0] & 15;
    const short = header[1] & 0x7f;
    if (this.#headerLength === 2) this.#checkStart(fin, opcode, short);
    const extra = short < 126 ? 0 : short === 126 ? 2 : 8;
    if (this.#headerLength < 2 + extra + 4) return null;

    let size = short;
    if (extra === 2) size = header.readUInt16BE(2);
    if (extra === 8) {
      const long = header.readBigUInt64BE(2);
      if (long >> 63n) throw new WebSocketError(1002, 'bad payload length');
      size = Number(long);
    }
    if ((extra === 2 && size < 126) || (extra === 8 && size < 65536)) {
      throw new WebSocketError(1002, 'payload length not in its shortest form');
    }
    if (opcode < 8) {
      this.#message ??= new Payload();
      if (this.#message.length + size > MAX_MESSAGE) throw new WebSocketError(1009, 'message too big');
    }
    const mask = Buffer.from(header.subarray(2 + extra, 6 + extra));
    this.#headerLength = 0;
    return { fin, opcode, size, mask, arrived: 0, payload: opcode < 8 ? this.#message : new Payload() };
  }

  #checkStart(fin, opcode, short) {
    if (this.#header[0] & 0x70) throw new WebSocketError(1002, 'reserved bits set');
    if (!(this.#header[1] & 0x80)) throw new WebSocketError(1002, 'frame not masked');
    if (!Object.values(OP).includes(opcode)) throw new WebSocketError(1002, 'unknown opcode');
    if (opcode >= 8 && !fin) throw new WebSocketError(1002, 'fragmented control frame');
    if (opcode >= 8 && short > 125) throw new WebSocketError(1002, 'control frame too long');
    if (opcode === OP.CONTINUATION && !this.#message) throw new WebSocketError(1002, 'nothing to continue');
    if ((opcode === OP.TEXT || opcode === OP.BINARY) && this.#message) {
      throw new WebSocketError(1002, 'message inside of a fragmented message');
    }
    if (opcode === OP.BINARY) throw new WebSocketError(1003, 'text messages only');
  }

  #complete() {
    const bytes = this.#message.bytes();
    this.#message = null;
    if (!isUtf8(bytes)) throw new WebSocketError(1007, 'text is not UTF-8');
    if (!this.#closeSent) this.#onText(bytes.toString());
  }

  #control({ opcode, payload }) {
    const bytes = payload.bytes();
    if (opcode === OP.PING) this.#write(OP.PONG, bytes);
    if (opcode !== OP.CLOSE) return;
    if (bytes.length === 1) throw new WebSocketError(1002, 'bad close frame');
    if (bytes.length) {
      const code = bytes.readUInt16BE();
      const standard = code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code);
      if (!standard && !(code >= 3000 && code <= 4999)) throw new WebSocketError(1002, 'bad close code');
      if (!isUtf8(bytes.subarray(2))) throw new WebSocketError(1007, 'close reason is not UTF-8');
    }
    if (!this.#closeSent) this.#sendClose(bytes.subarray(0, 2));
    this.#finish();
  }
}

/** The path that a request asks for; a query does not matter. */
const pathOf = (request) => request.url.split('?', 1)[0];

/** Whether the comma-separated list of a header holds the token, in any case. */
const hasToken = (header, token) => (header ?? '').toLowerCase().split(',').some((part) => part.trim() === token);

/**
 * Answers a WebSocket handshake.
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:net').Socket} socket
 * @returns {WebSocketPeer | null} null if it was refused; the refusal has been sent
 */
function handshake(request, socket) {
  const { headers } = request;
  const refuse = (status, text, extra = {}) => {
    socket.on('error', () => socket.destroy());
    socket.end(plainResponse(status, text, extra), () => socket.destroy());
    return null;
  };
  if (pathOf(request) !== SOCKET_PATH) return refuse(404, 'no such path');
  if (!hasToken(headers.upgrade, 'websocket') || !hasToken(headers.connection, 'upgrade')) {
    return refuse(426, 'a WebSocket is served here', { Upgrade: 'websocket' });
  }
  if (request.method !== 'GET' || request.httpVersion !== '1.1') return refuse(400, 'not a WebSocket handshake');
  if (headers['sec-websocket-version'] !== '13') {
    return refuse(426, 'WebSocket version 13 only', { Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' });
  }
  const key = headers['sec-websocket-key'] ?? '';
  if (!/^[A-Za-z0-9+/]{22}==$/.test(key)) return refuse(400, 'bad Sec-WebSocket-Key');
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((part) => part.trim());
  if (!offered.includes(SUBPROTOCOL)) return refuse(400, `the subprotocol ${SUBPROTOCOL} is required`);

  const accept = createHash('sha1').update(key + WS_GUID).digest('base64');
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      `Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${SUBPROTOCOL}\r\n\r\n`,
  );
  return new WebSocketPeer(socket);
}

/** A whole HTTP response as text, for a socket that the HTTP server has handed over. */
function plainResponse(status, text, extra = {}) {
  const fields = { ...extra, 'Content-Type': 'text/plain', 'Content-Length': text.length + 1, Connection: 'close' };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}\n`;
}

/* ------------------------------------------------------------------------------------------------------------------
 * Journal
 * --------------------------------------------------------------------------------------------------------------- */

/** The file that remembers everything: one JSON object per line, only ever appended to. */
class Journal {
  #handle;
  #size;
  #waiting = [];
  #writing = false;
  #broken = null;

  /** Use Journal.open. */
  constructor(handle, size) {
    this.#handle = handle;
    this.#size = size;
  }

  /**
   * Opens the journal of a directory, which is made if need be. A last line that a crash left unfinished was never
   * acknowledged to anybody, and is cut off. Damage anywhere else is an error: nothing is dropped in silence.
   * @param {string} dir
   * @returns {Promise<{journal: Journal, records: object[]}>}
   */
  static async open(dir) {
    await mkdir(dir, { recursive: true });
    const path = join(dir, 'conversations.jsonl');
    const handle = await open(path, 'a+', 0o600);
    const bytes = await readFile(path);
    const records = [];
    let size = 0;
    while (size < bytes.length) {
      const end = bytes.indexOf(10, size);
      const record = end < 0 ? null : Journal.#parse(bytes.toString('utf8', size, end));
      if (record) {
        records.push(record);
        size = end + 1;
        continue;
      }
      if (end >= 0 && end + 1 < bytes.length) throw new Error(`${path}: line ${records.length + 1} is damaged`);
      console.error(`${path}: cut off an unfinished last line of ${bytes.length - size} bytes`);
      await handle.truncate(size);
      break;
    }
    await handle.sync();
    const directory = await open(dir, 'r');
    await directory.sync().finally(() => directory.close());
    return { journal: new Journal(handle, size), records };
  }

  static #parse(line) {
    try {
      const record = JSON.parse(line);
      return isObject(record) ? record : null;
    } catch {
      return null;
    }
  }

  /**
   * Appends records, in the order of the calls. What is asked for while a write is under way shares the next one.
   * @param {...object} records
   * @returns {Promise<void>} resolves when they are on the disk; rejects if none of them is
   */
  append(...records) {
    const bytes = Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ bytes, resolve, reject });
      if (!this.#writing) this.#drain();
    });
  }

  async #drain() {
    this.#writing = true;
    while (this.#waiting.length) {
      const batch = this.#waiting.splice(0);
      try {
        if (this.#broken) throw this.#broken;
        const bytes = Buffer.concat(batch.map((entry) => entry.bytes));
        await this.#handle.appendFile(bytes);
        await this.#handle.sync();
        this.#size += bytes.length;
        batch.forEach((entry) => entry.resolve());
      } catch (error) {
        // Half a line must not stay in front of the next one.
        if (!this.#broken) await this.#handle.truncate(this.#size).catch(() => (this.#broken = error));
        batch.forEach((entry) => entry.reject(error));
      }
    }
    this.#writing = false;
  }
}

/* ------------------------------------------------------------------------------------------------------------------
 * Sessions
 * --------------------------------------------------------------------------------------------------------------- */

/**
 * @typedef {{role: 'user' | 'assistant', text: string, withdrawn?: boolean}} Message
 */

/** One conversation: what was said under one agent id. */
class Session {
  #journal;
  #stored;

  /** @type {Message[]} */
  messages = [];

  /** The latest turn, until it has ended. @type {Turn | null} */
  turn = null;

  /** Where the next turn finds the session: 'created' by it, in the 'journal', or in 'memory'. */
  origin;

  /**
   * @param {Journal} journal
   * @param {string} thread the agent id, the client's choice
   * @param {string} [conversation] the session id, if the journal has given it out before
   */
  constructor(journal, thread, conversation) {
    this.#journal = journal;
    this.#stored = conversation !== undefined;
    this.thread = thread;
    this.conversation = conversation ?? `conv-${randomUUID()}`;
    this.origin = this.#stored ? 'journal' : 'created';
  }

  /** The session id as it may be told: null until it is on the disk. */
  get known() {
    return this.#stored ? this.conversation : null;
  }

  /** Remembers a message, on the disk first; with the first one goes the session itself. */
  async say(role, text) {
    const { thread, conversation } = this;
    const at = new Date().toISOString();
    const records = this.#stored ? [] : [{ record: 'open', thread, conversation, at }];
    await this.#journal.append(...records, { record: 'say', conversation, role, text, at });
    this.#stored = true;
    this.messages.push({ role, text });
  }

  /**
   * Leaves the latest message out of all later requests: the model has refused it as such, and would refuse every
   * request that holds it.
   */
  async withdraw() {
    await this.#journal.append({ record: 'withdraw', conversation: this.conversation });
    this.messages.at(-1).withdrawn = true;
  }
}

/** All sessions, by agent id. Agent ids are keys of a map and values in the journal, never parts of a path. */
class Sessions {
  #journal;
  /** @type {Map<string, Session>} */
  #byThread = new Map();

  /**
   * @param {Journal} journal
   * @param {object[]} records what it held when it was opened
   */
  constructor(journal, records) {
    this.#journal = journal;
    const byConversation = new Map();
    for (const { record, thread, conversation, role, text } of records) {
      if (record === 'open') {
        const session = new Session(journal, thread, conversation);
        this.#byThread.set(thread, session);
        byConversation.set(conversation, session);
      } else if (record === 'say') {
        byConversation.get(conversation)?.messages.push({ role, text });
      } else if (record === 'withdraw') {
        const last = byConversation.get(conversation)?.messages.at(-1);
        if (last) last.withdrawn = true;
      }
    }
  }

  /** @returns {Session | undefined} */
  find(thread) {
    return this.#byThread.get(thread);
  }

  /** Finds the session of an agent id, or makes it. @returns {Session} */
  get(thread) {
    let session = this.#byThread.get(thread);
    if (!session) this.#byThread.set(thread, (session = new Session(this.#journal, thread)));
    return session;
  }

  /** The turns that have not ended. @returns {Turn[]} */
  turns() {
    return [...this.#byThread.values()].flatMap((session) => session.turn ?? []);
  }
}

/* ------------------------------------------------------------------------------------------------------------------
 * Model
 * --------------------------------------------------------------------------------------------------------------- */

/** The model did not give a whole answer. */
class ModelError extends Error {
  /**
   * @param {string} message
   * @param {boolean} [refused] true if the request itself was found bad, so that to repeat it is of no use
   */
  constructor(message, refused = false) {
    super(message);
    this.refused = refused;
  }
}

/** A model behind the streaming messages API. */
class MessagesApi {
  #url;
  #key;
  #defaultModel;

  /** @param {{baseUrl: string, key?: string, model?: string}} options an empty one counts as not given */
  constructor({ baseUrl, key, model }) {
    this.#url = `${baseUrl.replace(/\/+$/, '')}/v1/messages`;
    this.#key = key || 'none';
    this.#defaultModel = model || 'default-model';
  }

  /**
   * Asks for the next message and yields its text as it arrives.
   * @param {Message[]} history ends with the user's message
   * @param {string | undefined} model
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<string, void>}
   */
  async *ask(history, model, signal) {
    const messages = history.filter((message) => !message.withdrawn);
    const response = await fetch(this.#url, {
      method: 'POST',
      signal,
      redirect: 'error',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        'x-api-key': this.#key,
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify({
        model: model || this.#defaultModel,
        max_tokens: 4096,
        stream: true,
        messages: messages.map(({ role, text }) => ({ role, content: text })),
      }),
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new ModelError(`the model answered with status ${response.status}`, [400, 413].includes(response.status));
    }
    if (!response.body) throw new ModelError('the model answered with nothing');
    for await (const data of readEvents(response.body)) {
      signal.throwIfAborted();
      const event = parseEvent(data);
      if (event.type === 'content_block_delta' && event.delta?.type === 'text_delta') yield textOf(event.delta);
      else if (event.type === 'error') throw new ModelError(`the model failed: ${event.error?.type ?? 'error'}`);
      else if (event.type === 'message_stop') return;
      // message_start, content_block_start, content_block_stop, message_delta and ping carry nothing that is needed.
    }
    throw new ModelError('the model broke off');
  }
}

/** Stands in for a model where none is configured: gives the user's message back, in pieces. */
class EchoModel {
  /** @see MessagesApi#ask */
  async *ask(history, model, signal) {
    const text = Array.from(history.at(-1).text); // whole characters
    const step = Math.max(6, Math.ceil(text.length / 64));
    for (let at = 0; at < text.length; at += step) {
      await sleep(2, undefined, { signal });
      yield text.slice(at, at + step).join('');
    }
  }
}

function textOf({ text }) {
  if (typeof text === 'string') return text;
  throw new ModelError('the model sent a delta without a text');
}

function parseEvent(data) {
  try {
    const event = JSON.parse(data);
    if (isObject(event)) return event;
  } catch {
    // told below
  }
  throw new ModelError('the model sent an event that is not a JSON object');
}

/**
 * Yields the data of each server-sent event. Lines may end in LF, CR or CRLF, and chunks anywhere.
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<string, void>}
 */
async function* readEvents(body) {
  const decoder = new TextDecoder();
  let rest = '';
  let afterCR = false; // the last line ended in CR: a LF that follows belongs to it
  let data = [];
  for await (const chunk of body) {
    let text = decoder.decode(chunk, { stream: true });
    if (!text) continue;
    if (afterCR && text[0] === '\n') text = text.slice(1);
    afterCR = text ? text.endsWith('\r') : false;
    const lines = text.split(/\r\n|\n|\r/);
    lines[0] = rest + lines[0];
    rest = lines.pop();
    for (const line of lines) {
      if (line === '' && data.length) {
        const whole = data.join('\n');
        data = [];
        yield whole;
      } else if (line === 'data') {
        data.push('');
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line[5] === ' ' ? 6 : 5));
      }
    }
  }
}

/* ------------------------------------------------------------------------------------------------------------------
 * Chat server
 * --------------------------------------------------------------------------------------------------------------- */

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isId = (value) => typeof value === 'string' && value !== '';
const isAbsent = (value) => value === undefined || value === null;

/** One client. */
class Connection {
  #peer;
  #sequence = 0;

  /** The turns that this client has asked for and that have not ended. @type {Set<Turn>} */
  turns = new Set();

  /** @param {WebSocketPeer} peer */
  constructor(peer) {
    this.#peer = peer;
  }

  /** Sends a message; every one is numbered and traced. */
  send(message) {
    const extra = { seq: ++this.#sequence, x_trace: randomBytes(6).toString('hex') };
    this.#peer.send(JSON.stringify({ ...message, at: new Date().toISOString(), ...extra }));
  }

  /**
   * Tells that something was refused.
   * @param {string} code
   * @param {string} detail
   * @param {unknown} [thread] the agent id that the refused message names, if it does
   * @param {Session} [session] the session of that agent id, if there is one
   */
  problem(code, detail, thread, session) {
    const meta = isId(thread) ? { meta: { thread, conversation: session?.known ?? null } } : {};
    this.send({ event: 'problem', ...meta, problem: { code, detail } });
  }

  /** Closes the connection; its turns end when the peer reports that it is gone, which is at once. */
  close(code, reason) {
    this.#peer.close(code, reason);
  }

  keepAlive() {
    this.#peer.keepAlive();
  }

  get closed() {
    return this.#peer.closed;
  }
}

/** One chat and its answer. Its messages go to the connection that asked. */
class Turn {
  #session;
  #connection;
  #abort = new AbortController();

  /** Settles when the turn has ended and all of it is stored. @type {Promise<void>} */
  done;

  /**
   * Takes the session and begins.
   * @param {Session} session
   * @param {Connection} connection the asker
   * @param {{text: string, llm?: string}} chat
   * @param {MessagesApi | EchoModel} model
   */
  constructor(session, connection, chat, model) {
    this.#session = session;
    this.#connection = connection;
    const previous = session.turn; // being stopped, if there is one
    session.turn = this;
    connection.turns.add(this);
    this.done = this.#run(previous, chat, model).finally(() => {
      connection.turns.delete(this);
      if (session.turn === this) session.turn = null;
    });
  }

  /** Whether it has been told to stop: the next chat then waits for its end, and is not refused. */
  get stopping() {
    return this.#abort.signal.aborted;
  }

  /** Ends the turn early; what was said so far stays in the history. */
  stop() {
    this.#abort.abort();
  }

  #tell(kind, body) {
    const { thread, known } = this.#session;
    this.#connection.send({ kind, meta: { thread, conversation: known }, body });
  }

  async #run(previous, { text, llm }, model) {
    const session = this.#session;
    const started = Date.now();
    await previous?.done.catch(() => {});
    const { origin } = session;
    try {
      await session.say('user', text);
    } catch (error) {
      console.error(error);
      this.#connection.problem('storage', 'the message could not be stored', session.thread, session);
      return;
    }
    session.origin = 'memory';
    this.#tell('init', { origin, messages: session.messages.length });

    let { state, said, error } = await this.#converse(model, llm);
    if (state === 'completed') this.#tell('answer', { content: said, length: said.length });
    try {
      if (said) await session.say('assistant', said);
      else if (error?.refused) await session.withdraw();
    } catch (failure) {
      console.error(failure);
      state = 'failed';
      error = new Error('the answer could not be stored');
    }
    if (session.turn === this) session.turn = null; // free before the client hears of it
    const detail = error ? { detail: error.message } : {};
    this.#tell('finished', { state, ...detail, took_ms: Date.now() - started });
  }

  /** Lets the model speak. @returns {Promise<{state: string, said: string, error?: Error}>} */
  async #converse(model, llm) {
    const { signal } = this.#abort;
    let said = '';
    let index = 0;
    try {
      signal.throwIfAborted();
      for await (const chunk of model.ask(this.#session.messages, llm, signal)) {
        said += chunk;
        this.#tell('delta', { chunk, index: index++ });
      }
      return { state: 'completed', said };
    } catch (error) {
      if (signal.aborted) return { state: 'stopped', said };
      if (error instanceof ModelError) return { state: 'failed', said, error };
      const cause = error.cause?.code ?? error.message;
      return { state: 'failed', said, error: new Error(`the model cannot be reached: ${cause}`) };
    }
  }
}

/** The server: connections on one side, sessions and the model on the other. */
class ChatServer {
  #sessions;
  #model;
  #http = createServer((request, response) => this.#answer(request, response));
  /** @type {Set<Connection>} */
  #connections = new Set();
  #stopping = false;

  /**
   * @param {Sessions} sessions
   * @param {MessagesApi | EchoModel} model
   */
  constructor(sessions, model) {
    this.#sessions = sessions;
    this.#model = model;
    this.#http.on('upgrade', (request, socket, head) => this.#connect(request, socket, head));
    this.#http.on('clientError', (_, socket) => socket.writable && socket.end(plainResponse(400, 'bad request')));
  }

  /**
   * Listens on loopback.
   * @param {number} port 0 takes a free one
   * @returns {Promise<number>} the port
   */
  async listen(port) {
    await new Promise((resolve, reject) => {
      this.#http.once('error', reject);
      this.#http.listen(port, HOST, resolve);
    });
    setInterval(() => this.#connections.forEach((connection) => connection.keepAlive()), KEEPALIVE_MS).unref();
    return this.#http.address().port;
  }

  /** Closes every connection and waits, not for long, until they are closed and the last turns are stored. */
  async stop() {
    this.#stopping = true;
    this.#http.close();
    const open = [...this.#connections];
    const turns = this.#sessions.turns();
    for (const connection of open) connection.close(1001, 'going away');
    const ended = Promise.allSettled([...open.map(({ closed }) => closed), ...turns.map(({ done }) => done)]);
    await Promise.race([ended, sleep(STOP_MS)]);
  }

  #answer(request, response) {
    const path = pathOf(request);
    const reply = (status, body, headers = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers });
      response.end(request.method === 'HEAD' ? undefined : `${JSON.stringify(body)}\n`);
    };
    if (path === SOCKET_PATH) return reply(426, { error: 'a WebSocket is served here' }, { upgrade: 'websocket' });
    if (path !== PING_PATH) return reply(404, { error: 'no such path' });
    if (!['GET', 'HEAD'].includes(request.method)) return reply(405, { error: 'GET only' }, { allow: 'GET, HEAD' });
    reply(200, { up: true, server: SERVER_NAME, online: this.#connections.size });
  }

  #connect(request, socket, head) {
    if (this.#stopping) return socket.destroy();
    const peer = handshake(request, socket);
    if (!peer) return;
    const connection = new Connection(peer);
    this.#connections.add(connection);
    connection.send({ event: 'welcome', server: SERVER_NAME });
    connection.keepAlive();
    this.#announce();
    peer.start(head, {
      onText: (text) => this.#receive(connection, text),
      onGone: () => {
        this.#connections.delete(connection);
        connection.turns.forEach((turn) => turn.stop());
        this.#announce();
      },
    });
  }

  #announce() {
    if (this.#stopping) return;
    for (const connection of this.#connections) connection.send({ event: 'presence', online: this.#connections.size });
  }

  #receive(connection, text) {
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      return connection.close(1007, 'not JSON');
    }
    if (!isObject(message)) return connection.close(1007, 'not a JSON object');
    const { action, thread } = message;
    if (action === 'send') return this.#send(connection, message);
    if (action === 'stop') return this.#stop(connection, message);
    if (action === 'heartbeat') return connection.send({ event: 'heartbeat_ack' });
    const detail = typeof action === 'string' ? 'this action is not known' : 'a message needs an action';
    connection.problem('unknown_action', detail, thread, this.#sessions.find(thread));
  }

  #send(connection, { thread, text, settings }) {
    const wrong = isId(thread) ? wrongInSend(text, settings) : 'thread must be a string, and not empty';
    if (wrong) {
      connection.problem('bad_send', wrong, thread, this.#sessions.find(thread));
      return connection.close(1008, wrong);
    }
    const session = this.#sessions.get(thread);
    if (session.turn && !session.turn.stopping) {
      return connection.problem('busy', 'this thread is still being answered', thread, session);
    }
    const turn = new Turn(session, connection, { text, llm: settings?.llm ?? undefined }, this.#model);
    turn.done.catch((error) => console.error(error)).then(() => this.#announce());
  }

  #stop(connection, { thread }) {
    if (!isId(thread)) return connection.problem('bad_stop', 'thread must be a string, and not empty');
    this.#sessions.find(thread)?.turn?.stop();
  }
}

/** Says what is wrong with a chat, if anything is. @returns {string | null} */
function wrongInSend(text, settings) {
  if (typeof text !== 'string') return 'text must be a string';
  if (isAbsent(settings)) return null;
  if (!isObject(settings)) return 'settings must be an object';
  if (!isAbsent(settings.llm) && typeof settings.llm !== 'string') return 'settings.llm must be a string';
  return null;
}

/* ------------------------------------------------------------------------------------------------------------------
 * Start and stop
 * --------------------------------------------------------------------------------------------------------------- */

async function main() {
  const { values } = parseArgs({ options: { port: { type: 'string' }, data: { type: 'string' } } });
  const port = Number(values.port ?? NaN);
  if (!values.data || !Number.isInteger(port) || port < 0 || port > 65535) {
    throw new Error('usage: node session-chat.mjs --port N --data DIR');
  }
  const { ANTHROPIC_BASE_URL: baseUrl, ANTHROPIC_API_KEY: key, ANTHROPIC_MODEL: name } = process.env;
  const model = baseUrl ? new MessagesApi({ baseUrl, key, model: name }) : new EchoModel();
  const { journal, records } = await Journal.open(values.data);
  const server = new ChatServer(new Sessions(journal, records), model);
  const stop = () => server.stop().finally(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  console.log(`Listening on http://${HOST}:${await server.listen(port)}`);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
