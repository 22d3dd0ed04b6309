// The server's half of RFC 6455, without extensions or subprotocols.
import { createHash } from 'node:crypto';

const CONTINUATION = 0, TEXT = 1, CLOSE = 8, PING = 9, PONG = 10;
const MAX_MESSAGE = 16 * 1024 * 1024; // bytes of one message, over all its fragments
const CLOSE_MS = 1000; // how long a peer may take to answer a close frame

/** A reason to end the connection with a status code (RFC 6455, 7.4.1). */
class CloseError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * Answers the opening handshake on `path` and returns a Connection; refuses anything else with 400, 404 or 426 and returns
 * undefined.
 */
export function accept(request, socket, path) {
  socket.on('error', () => socket.destroy());
  const headers = request.headers;
  const key = headers['sec-websocket-key'] ?? '';
  const upgrade = request.method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && /^[A-Za-z0-9+/]{22}==$/.test(key);
  if (request.url.split('?')[0] !== path) return refuse(socket, '404 Not Found');
  if (!upgrade) return refuse(socket, '400 Bad Request');
  if (headers['sec-websocket-version'] !== '13') return refuse(socket, '426 Upgrade Required\r\nSec-WebSocket-Version: 13');
  const digest = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${digest}\r\n\r\n`);
  socket.setNoDelay(true);
  return new Connection(socket);
}

function refuse(socket, status) {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  socket.setTimeout(CLOSE_MS, () => socket.destroy());
}

class Connection {
  #socket;
  #closing = false;

  constructor(socket) {
    this.#socket = socket;
  }

  /** Begins to read, `head` first. `onText` gets each whole text message, `onClose` is called once at the end. */
  start(head, { onText, onClose }) {
    const socket = this.#socket;
    const reader = new Reader(messages());
    const feed = (chunk) => {
      try {
        for (const message of reader.push(chunk)) this.#take(message, onText);
      } catch (error) {
        if (!(error instanceof CloseError)) console.error(error);
        this.close(error.code ?? 1011, error instanceof CloseError ? error.message : 'internal error');
        socket.off('data', feed).resume().end();
      }
    };
    socket.on('data', feed);
    socket.once('end', () => socket.end());
    socket.once('close', onClose);
    if (head.length > 0) feed(head);
  }

  send(text) {
    if (!this.#closing) this.#write(TEXT, Buffer.from(text));
  }

  /** Sends a close frame and waits a second at most for the answer. */
  close(code, reason = '') {
    if (this.#closing) return;
    const body = Buffer.alloc(2);
    body.writeUInt16BE(code);
    this.#write(CLOSE, Buffer.concat([body, Buffer.from(reason)]));
    this.#linger();
  }

  #take({ opcode, data }, onText) {
    if (opcode === CLOSE) return this.#answerClose(data);
    if (this.#closing) return;
    if (opcode === PING) this.#write(PONG, data);
    else if (opcode === TEXT) onText(utf8(data));
    else if (opcode !== PONG) throw new CloseError(1003, 'text only');
  }

  #answerClose(data) {
    if (data.length === 1) throw new CloseError(1002, 'truncated close code');
    const code = data.length > 0 ? data.readUInt16BE() : undefined;
    const known = code === undefined || (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);
    if (!known) throw new CloseError(1002, 'close code not allowed');
    utf8(data.subarray(2));
    if (!this.#closing) this.#write(CLOSE, data.subarray(0, 2));
    this.#linger();
    this.#socket.end();
  }

  #linger() {
    this.#closing = true;
    setTimeout(() => this.#socket.destroy(), CLOSE_MS).unref();
  }

  #write(opcode, data) {
    if (this.#socket.writable) this.#socket.write(Buffer.concat([header(opcode, data.length), data]));
  }
}

function header(opcode, length) {
  if (length < 126) return Buffer.from([0x80 | opcode, length]);
  const head = Buffer.alloc(length < 65536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  head[1] = length < 65536 ? 126 : 127;
  if (length < 65536) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

function utf8(data) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw new CloseError(1007, 'not UTF-8');
  }
}

/** Feeds a generator that yields the number of bytes it wants next, or a message that it has put together. */
class Reader {
  #chunks = [];
  #size = 0;
  #generator;
  #want;

  constructor(generator) {
    this.#generator = generator;
    this.#want = generator.next().value;
  }

  *push(chunk) {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    while (typeof this.#want !== 'number' || this.#size >= this.#want) {
      const message = typeof this.#want !== 'number' ? this.#want : undefined;
      this.#want = this.#generator.next(message ? undefined : this.#cut(this.#want)).value;
      if (message) yield message;
    }
  }

  #cut(length) {
    const whole = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#chunks = [whole.subarray(length)];
    this.#size -= length;
    return whole.subarray(0, length);
  }
}

/** Reads frames and yields messages: control frames as they come, also between the fragments of a message. */
function* messages() {
  let parts = [], size = 0, type;
  for (;;) {
    const { final, opcode, data } = yield* frame(size);
    if (opcode >= CLOSE) {
      yield { opcode, data };
      continue;
    }
    if ((opcode === CONTINUATION) !== (type !== undefined)) throw new CloseError(1002, 'fragment out of place');
    type ??= opcode;
    parts.push(data);
    size += data.length;
    if (!final) continue;
    yield { opcode: type, data: Buffer.concat(parts) };
    parts = [];
    size = 0;
    type = undefined;
  }
}

function* frame(before) {
  const [first, second] = yield 2;
  const final = (first & 0x80) !== 0, opcode = first & 0x0f;
  if (first & 0x70) throw new CloseError(1002, 'reserved bit set');
  if ((opcode > 2 && opcode < CLOSE) || opcode > PONG) throw new CloseError(1002, 'unknown opcode');
  if (!(second & 0x80)) throw new CloseError(1002, 'client frames are masked');
  let length = second & 0x7f;
  if (opcode >= CLOSE && (!final || length > 125)) throw new CloseError(1002, 'control frame too long or fragmented');
  if (length === 126) length = (yield 2).readUInt16BE();
  else if (length === 127) length = Number((yield 8).readBigUInt64BE());
  if (opcode < CLOSE && before + length > MAX_MESSAGE) throw new CloseError(1009, 'message too big');
  const mask = Buffer.from(yield 4);
  const data = Buffer.from(yield length);
  for (let i = 0; i < length; i++) data[i] ^= mask[i & 3];
  return { final, opcode, data };
}
