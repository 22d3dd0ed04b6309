#!/usr/bin/env node
// An external agent for external-agent mvp-0.2: it books a movie ticket with the tools that a host announces.
// Node 20 or later, standard library only. See README.md.

import http from 'node:http';
import https from 'node:https';
import { createHash, randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { parseArgs } from 'node:util';

const V = 'mvp-0.2';
const MAX_CALLS = 200;
const MAX_MESSAGE = 16 * 1024 * 1024;

// ---------------------------------------------------------------------------------------------------------------------
// Options

const USAGE = `usage: node agent.mjs --url ws://HOST:PORT/agent/ws [options]
  --url URL            or AGENT_URL
  --session NAME       relay session, or AGENT_SESSION (default)
  --study ID           studyId (also --studyId), or AGENT_STUDY (pilot-01)
  --participant ID     participantId (also --participantId), or AGENT_PARTICIPANT (P07)
  --prefer TEXT        a preference from the start, e.g. "evening"
  --give-up SECONDS    without a working connection, before it exits (30)
  --stale MS           after an ok, without its state, before it takes a snapshot (1000)
  --settle MS          of quiet after a new state, before it acts on it (60)
  --reply-timeout MS   for session.start, snapshot.get, tool.call, session.end (5000)
  --join-timeout MS    for relay.join and the HTTP handshake (5000)
  --max-calls N        at most 200 (200)
  --quiet              no notes on standard error`;

function usage(problem) {
  process.stderr.write(`${problem}\n${USAGE}\n`);
  process.exit(64);
}

function readOptions() {
  const text = { type: 'string' };
  let values;
  try {
    ({ values } = parseArgs({
      options: {
        url: text, session: text, study: text, studyId: text, participant: text, participantId: text, prefer: text,
        'give-up': text, stale: text, settle: text, 'reply-timeout': text, 'join-timeout': text, 'max-calls': text,
        quiet: { type: 'boolean' }, help: { type: 'boolean', short: 'h' },
      },
    }));
  } catch (e) {
    usage(e.message);
  }
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    process.exit(0);
  }
  const env = process.env;
  const number = (name, fallback) => {
    if (values[name] === undefined) return fallback;
    const n = Number(values[name]);
    if (values[name].trim() === '' || !Number.isFinite(n) || n < 0) usage(`--${name} needs a number >= 0`);
    return n;
  };
  const address = values.url || env.AGENT_URL;
  if (!address) usage('no address: give --url or AGENT_URL');
  let url;
  try {
    url = new URL(address);
  } catch {
    usage(`not a URL: ${address}`);
  }
  if (!['ws:', 'wss:', 'http:', 'https:'].includes(url.protocol)) usage(`not a WebSocket URL: ${address}`);
  return {
    url,
    relaySession: values.session || env.AGENT_SESSION || 'default',
    studyId: values.study || values.studyId || env.AGENT_STUDY || 'pilot-01',
    participantId: values.participant || values.participantId || env.AGENT_PARTICIPANT || 'P07',
    prefer: values.prefer || '',
    giveUp: number('give-up', 30) * 1000,
    stale: number('stale', 1000),
    settle: number('settle', 60),
    replyTimeout: number('reply-timeout', 5000),
    joinTimeout: number('join-timeout', 5000),
    maxCalls: Math.min(MAX_CALLS, Math.floor(number('max-calls', MAX_CALLS))),
    quiet: values.quiet === true,
  };
}

// ---------------------------------------------------------------------------------------------------------------------
// WebSocket client (RFC 6455): no extensions, no subprotocols

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Events: `text` (string), `binary`, `closed` (code, reason), the last exactly once. */
class WebSocketClient extends EventEmitter {
  #socket;
  #chunks = [];
  #buffered = 0;
  #parts = null; // payloads of the fragmented message that is being received
  #partsOpcode = 0;
  #partsSize = 0;
  #closeSent = false;
  #code = 1006;
  #reason = '';
  #dead = false;
  open = true;

  get dead() {
    return this.#dead;
  }

  constructor(socket, head) {
    super();
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', () => this.#finish());
    socket.on('end', () => this.#finish());
    socket.on('close', () => this.#finish());
    if (head.length > 0) setImmediate(() => this.#take(head));
  }

  static connect(url, timeout) {
    return new Promise((resolve, reject) => {
      const key = randomBytes(16).toString('base64');
      const secure = url.protocol === 'wss:' || url.protocol === 'https:';
      const target = new URL(url);
      target.protocol = secure ? 'https:' : 'http:';
      target.hash = '';
      const request = (secure ? https : http).request(target, {
        agent: false,
        headers: {
          Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Key': key, 'Sec-WebSocket-Version': '13',
        },
      });
      const fail = (why) => {
        clearTimeout(timer);
        request.destroy();
        reject(new Error(why));
      };
      const timer = setTimeout(() => fail('handshake timed out'), timeout);
      request.on('error', (e) => fail(e.code || e.message));
      request.on('response', (response) => fail(`handshake refused with HTTP ${response.statusCode}`));
      request.on('upgrade', (response, socket, head) => {
        const wanted = createHash('sha1').update(key + GUID).digest('base64');
        const header = response.headers;
        const problem = (String(header.upgrade).toLowerCase() !== 'websocket' && 'no Upgrade: websocket')
          || (!/(^|,)\s*upgrade\s*(,|$)/i.test(header.connection || '') && 'no Connection: Upgrade')
          || (header['sec-websocket-accept'] !== wanted && 'wrong Sec-WebSocket-Accept')
          || (header['sec-websocket-extensions'] && 'an extension that was not asked for')
          || (header['sec-websocket-protocol'] && 'a subprotocol that was not asked for');
        if (problem) {
          socket.on('error', () => {});
          socket.destroy();
          fail(`bad handshake: ${problem}`);
          return;
        }
        clearTimeout(timer);
        resolve(new WebSocketClient(socket, head));
      });
      request.end();
    });
  }

  send(text) {
    if (!this.open) return false;
    this.#write(0x1, Buffer.from(text, 'utf8'));
    return true;
  }

  /** Starts the closing handshake; the socket is dropped if the other side does not answer it in time. */
  close(code, reason = '') {
    if (this.#closeSent || this.#dead) return;
    this.open = false;
    this.#closeSent = true;
    const body = Buffer.alloc(2);
    body.writeUInt16BE(code);
    this.#write(0x8, Buffer.concat([body, Buffer.from(reason, 'utf8')]));
    setTimeout(() => this.#finish(), 1000).unref();
  }

  drop() {
    this.#finish();
  }

  #write(opcode, payload) {
    if (this.#dead || this.#socket.destroyed || !this.#socket.writable) return;
    const n = payload.length;
    const header = Buffer.alloc(n < 126 ? 2 : n < 65536 ? 4 : 10);
    header[0] = 0x80 | opcode;
    if (n < 126) {
      header[1] = 0x80 | n;
    } else if (n < 65536) {
      header[1] = 0x80 | 126;
      header.writeUInt16BE(n, 2);
    } else {
      header[1] = 0x80 | 127;
      header.writeBigUInt64BE(BigInt(n), 2);
    }
    const mask = randomBytes(4);
    const masked = Buffer.allocUnsafe(n);
    for (let i = 0; i < n; i++) masked[i] = payload[i] ^ mask[i & 3];
    this.#socket.write(Buffer.concat([header, mask, masked]));
  }

  #finish() {
    if (this.#dead) return;
    this.#dead = true;
    this.open = false;
    this.#socket.destroy();
    this.emit('closed', this.#code, this.#reason);
  }

  #fail(code, reason) {
    this.#code = code;
    this.#reason = reason;
    this.close(code, reason);
    this.#chunks = [];
    this.#buffered = 0;
    // The connection is of no more use, whatever the other side does about the close frame.
    setTimeout(() => this.#finish(), 20).unref();
  }

  #peek(n) {
    if (this.#chunks[0].length < n) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0];
  }

  #consume(n) {
    const first = this.#peek(n);
    const out = first.subarray(0, n);
    if (first.length === n) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(n);
    this.#buffered -= n;
    return out;
  }

  #take(chunk) {
    if (this.#dead || this.#code !== 1006) return;
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    while (!this.#dead && this.#buffered >= 2) {
      const head = this.#peek(2);
      const length7 = head[1] & 0x7f;
      const headSize = length7 === 126 ? 4 : length7 === 127 ? 10 : 2;
      const fin = (head[0] & 0x80) !== 0;
      const opcode = head[0] & 0x0f;
      if (head[0] & 0x70) return this.#fail(1002, 'reserved bits set');
      if (head[1] & 0x80) return this.#fail(1002, 'masked frame');
      if (![0x0, 0x1, 0x2, 0x8, 0x9, 0xa].includes(opcode)) return this.#fail(1002, 'reserved opcode');
      if (opcode >= 0x8 && (!fin || length7 > 125)) return this.#fail(1002, 'bad control frame');
      if (opcode === 0x0 && !this.#parts) return this.#fail(1002, 'continuation of nothing');
      if ((opcode === 0x1 || opcode === 0x2) && this.#parts) return this.#fail(1002, 'message inside a message');
      if (this.#buffered < headSize) return;
      const full = this.#peek(headSize);
      let size = length7;
      if (length7 === 126) size = full.readUInt16BE(2);
      if (length7 === 127) {
        const big = full.readBigUInt64BE(2);
        if (big >> 63n) return this.#fail(1002, 'bad length');
        size = big > BigInt(MAX_MESSAGE) ? MAX_MESSAGE + 1 : Number(big);
      }
      if (opcode < 0x8 && this.#partsSize + size > MAX_MESSAGE) return this.#fail(1009, 'message too big');
      if (this.#buffered < headSize + size) return;
      this.#consume(headSize);
      const payload = size > 0 ? this.#consume(size) : Buffer.alloc(0);
      if (opcode >= 0x8) {
        if (this.#control(opcode, payload)) return;
        continue;
      }
      if (opcode !== 0x0) {
        this.#parts = [];
        this.#partsOpcode = opcode;
      }
      this.#parts.push(payload);
      this.#partsSize += size;
      if (!fin) continue;
      const whole = Buffer.concat(this.#parts);
      this.#parts = null;
      this.#partsSize = 0;
      if (this.#partsOpcode === 0x2) {
        this.emit('binary');
        continue;
      }
      let text;
      try {
        text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(whole);
      } catch {
        return this.#fail(1007, 'text is not UTF-8');
      }
      this.emit('text', text);
    }
  }

  /** True if nothing after this frame counts. */
  #control(opcode, payload) {
    if (opcode === 0x9) {
      if (this.open) this.#write(0xa, payload);
      return false;
    }
    if (opcode === 0xa) return false;
    let code = 1005;
    let reason = '';
    if (payload.length === 1) {
      this.#fail(1002, 'bad close frame');
      return true;
    }
    if (payload.length >= 2) {
      code = payload.readUInt16BE(0);
      const known = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
      if (!known) {
        this.#fail(1002, 'bad close code');
        return true;
      }
      try {
        reason = new TextDecoder('utf-8', { fatal: true }).decode(payload.subarray(2));
      } catch {
        this.#fail(1007, 'close reason is not UTF-8');
        return true;
      }
    }
    this.#code = code;
    this.#reason = reason;
    if (!this.#closeSent) {
      this.#closeSent = true;
      this.#write(0x8, payload.subarray(0, 2));
    }
    this.open = false;
    this.#socket.end();
    setTimeout(() => this.#finish(), 100).unref();
    this.emit('closing');
    return true;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// JSON helpers

const isObject = (x) => typeof x === 'object' && x !== null && !Array.isArray(x);
const has = (o, key) => Object.prototype.hasOwnProperty.call(o, key);

/** JSON text with sorted keys: equal for equal values. */
function canonical(x) {
  if (Array.isArray(x)) return `[${x.map(canonical).join(',')}]`;
  if (isObject(x)) return `{${Object.keys(x).sort().map((k) => `${JSON.stringify(k)}:${canonical(x[k])}`).join(',')}}`;
  return JSON.stringify(x);
}

const digest = (text) => createHash('sha1').update(text).digest('base64');

/** Words of a name in camel case, snake case or with hyphens. */
const words = (name) => String(name).replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);

const short = (text, n = 60) => {
  const points = [...String(text)];
  return points.length > n ? `${points.slice(0, n - 1).join('')}…` : points.join('');
};

// ---------------------------------------------------------------------------------------------------------------------
// Tool parameters: both forms become one JSON Schema

const TYPE_ALIASES = {
  int: 'integer', long: 'integer', float: 'number', double: 'number', str: 'string', text: 'string', id: 'string',
  bool: 'boolean', list: 'array', map: 'object', dict: 'object',
};
const TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'];

function isJsonSchema(p) {
  if (typeof p.type === 'string' || Array.isArray(p.type)) return true;
  if (isObject(p.properties) && typeof p.properties.type !== 'string' && !has(p.properties, 'enum')) return true;
  return typeof p.$ref === 'string' || typeof p.$schema === 'string'
    || ['anyOf', 'oneOf', 'allOf', 'required'].some((k) => Array.isArray(p[k]));
}

function flatParameter(definition) {
  let d = definition;
  let optional = false;
  if (typeof d === 'string') {
    optional = d.endsWith('?');
    d = { type: d.replace(/\?$/, '') };
  } else if (Array.isArray(d)) {
    d = { enum: d };
  } else if (!isObject(d)) {
    d = {};
  }
  optional = optional || d.optional === true || d.required === false;
  const { optional: _o, required, type, min, max, ...rest } = d;
  const schema = rest;
  if (Array.isArray(required)) schema.required = required;
  const fix = (t) => TYPE_ALIASES[t] || t;
  const types = (Array.isArray(type) ? type : [type]).map(fix).filter((t) => TYPES.includes(t));
  if (types.length > 0) schema.type = types.length === 1 ? types[0] : types;
  if (typeof min === 'number' && schema.minimum === undefined) schema.minimum = min;
  if (typeof max === 'number' && schema.maximum === undefined) schema.maximum = max;
  return { schema, optional };
}

/** The JSON Schema of a tool's params, or null if it cannot be understood. */
function paramsSchema(parameters) {
  if (parameters === undefined || parameters === null) return { type: 'object', properties: {}, additionalProperties: false };
  if (!isObject(parameters)) return null;
  if (isJsonSchema(parameters)) return parameters;
  const properties = [];
  const required = [];
  for (const [name, definition] of Object.entries(parameters)) {
    const { schema, optional } = flatParameter(definition);
    properties.push([name, schema]);
    if (!optional) required.push(name);
  }
  return { type: 'object', properties: Object.fromEntries(properties), required, additionalProperties: false };
}

/** A schema with a local $ref followed and allOf merged into it. */
function flatten(schema, root, depth = 0) {
  if (!isObject(schema) || depth > 20) return schema;
  let s = schema;
  if (typeof s.$ref === 'string' && s.$ref.startsWith('#')) {
    let target = root;
    for (const part of s.$ref.slice(1).split('/').slice(1)) {
      const key = part.replace(/~1/g, '/').replace(/~0/g, '~');
      target = (isObject(target) || Array.isArray(target)) && has(target, key) ? target[key] : undefined;
    }
    const { $ref, ...rest } = s;
    const followed = flatten(target, root, depth + 1);
    s = isObject(followed) ? { ...followed, ...rest } : rest;
  }
  if (Array.isArray(s.allOf)) {
    const { allOf, ...rest } = s;
    s = allOf.reduce((all, part) => {
      const p = flatten(part, root, depth + 1);
      if (!isObject(p)) return all;
      return {
        ...all, ...p,
        ...(all.properties || p.properties ? { properties: { ...all.properties, ...p.properties } } : {}),
        ...(all.required || p.required ? { required: [all.required, p.required].filter(Array.isArray).flat() } : {}),
      };
    }, rest);
  }
  return s;
}

function requiredNames(s) {
  const out = new Set(Array.isArray(s.required) ? s.required.filter((n) => typeof n === 'string') : []);
  for (const [name, p] of Object.entries(isObject(s.properties) ? s.properties : {})) {
    if (isObject(p) && p.required === true) out.add(name);
  }
  return out;
}

function typeOf(x) {
  if (x === null) return 'null';
  if (Array.isArray(x)) return 'array';
  return typeof x;
}

function isValid(schema, x, root = schema, depth = 0) {
  if (schema === true || schema === undefined) return true;
  if (schema === false) return false;
  if (!isObject(schema) || depth > 30) return true;
  const original = schema;
  const s = flatten(schema, root);
  const sub = (part, value) => isValid(part, value, root, depth + 1);
  if (Array.isArray(original.allOf) && !original.allOf.every((part) => sub(part, x))) return false;
  if (Array.isArray(s.anyOf) && !s.anyOf.some((part) => sub(part, x))) return false;
  if (Array.isArray(s.oneOf) && s.oneOf.filter((part) => sub(part, x)).length !== 1) return false;
  if (isObject(s.not) && sub(s.not, x)) return false;
  if (has(s, 'const') && canonical(s.const) !== canonical(x)) return false;
  if (Array.isArray(s.enum) && !s.enum.some((e) => canonical(e) === canonical(x))) return false;
  const kind = typeOf(x);
  const types = (Array.isArray(s.type) ? s.type : [s.type]).filter((t) => TYPES.includes(t));
  if (types.length > 0 && !types.includes(kind) && !(types.includes('integer') && Number.isInteger(x))) return false;
  if (kind === 'number') {
    if (typeof s.minimum === 'number' && x < s.minimum) return false;
    if (typeof s.maximum === 'number' && x > s.maximum) return false;
    if (typeof s.exclusiveMinimum === 'number' && x <= s.exclusiveMinimum) return false;
    if (typeof s.exclusiveMaximum === 'number' && x >= s.exclusiveMaximum) return false;
    if (s.exclusiveMinimum === true && x <= s.minimum) return false;
    if (s.exclusiveMaximum === true && x >= s.maximum) return false;
    if (typeof s.multipleOf === 'number' && s.multipleOf > 0 && !Number.isInteger(x / s.multipleOf)) return false;
  } else if (kind === 'string') {
    const n = [...x].length;
    if (typeof s.minLength === 'number' && n < s.minLength) return false;
    if (typeof s.maxLength === 'number' && n > s.maxLength) return false;
    if (typeof s.pattern === 'string') {
      try {
        if (!new RegExp(s.pattern, 'u').test(x)) return false;
      } catch {
        // A pattern that this engine cannot read decides nothing.
      }
    }
    const formats = {
      date: /^\d{4}-\d\d-\d\d$/, 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d/, time: /^\d\d:\d\d/, email: /^\S+@\S+$/,
    };
    if (typeof s.format === 'string' && has(formats, s.format) && !formats[s.format].test(x)) return false;
  } else if (kind === 'array') {
    if (typeof s.minItems === 'number' && x.length < s.minItems) return false;
    if (typeof s.maxItems === 'number' && x.length > s.maxItems) return false;
    if (s.uniqueItems === true && new Set(x.map(canonical)).size !== x.length) return false;
    if (isObject(s.items) && !x.every((item) => sub(s.items, item))) return false;
  } else if (kind === 'object') {
    for (const name of requiredNames(s)) if (!has(x, name)) return false;
    const known = isObject(s.properties) ? s.properties : {};
    for (const [name, value] of Object.entries(x)) {
      if (has(known, name)) {
        if (!sub(known[name], value)) return false;
      } else if (s.additionalProperties === false || (isObject(s.additionalProperties) && !sub(s.additionalProperties, value))) {
        return false;
      }
    }
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------------------------
// What the user prefers

const DAYPARTS = [
  [/\b(evenings?|tonight)\b|晚/, 'evening', 17, 24], [/\b(nights?|late|later)\b|夜/, 'night', 20, 24],
  [/\bafternoons?\b|下午/, 'afternoon', 12, 17], [/\bmatin[eé]es?\b/, 'matinee', 10, 15],
  [/\b(mornings?|early|earlier)\b|上午|早/, 'morning', 5, 12],
];
const NUMBER_WORDS = { one: 1, two: 2, three: 3, four: 4, five: 5, six: 6 };
const STOPWORDS = new Set(`the and for with that this you your please would like want prefer rather have take some any from are can
could show showtime showtimes movie movies ticket tickets seat seats one not but just get let choose pick select something more than
instead really very make our will book booking time times option options all don avoid without never`.split(/\s+/));

class Preferences {
  version = 0;
  daypart = null; // {name, from, to, wanted}
  cheap = false;
  quantity = null;
  liked = [];
  disliked = [];

  /** Returns the names of what was understood. */
  learn(text) {
    const lower = text.toLowerCase();
    const understood = [];
    const negated = (index) => /(\bnot|\bno|n't|n’t|\bavoid|\bwithout|\bnever|不要|不想|不)\s*([^\s,.;:!?]+\s+){0,2}$/.test(lower.slice(0, index));
    for (const [pattern, name, from, to] of DAYPARTS) {
      const hit = pattern.exec(lower);
      if (!hit) continue;
      const wanted = !negated(hit.index);
      this.daypart = { name, from, to, wanted };
      understood.push(wanted ? name : `not ${name}`);
      if (wanted) break;
    }
    if (/\b(cheap|cheaper|cheapest|budget|inexpensive|affordable)\b|便宜/.test(lower)) {
      this.cheap = true;
      understood.push('a low price');
    }
    const many = /\b(\d{1,2}|one|two|three|four|five|six)\s+(?:\w+\s+)?(tickets?|seats?|people|persons?|adults?)\b/.exec(lower);
    if (many) {
      this.quantity = NUMBER_WORDS[many[1]] || Number(many[1]);
      understood.push(`a quantity of ${this.quantity}`);
    }
    for (const hit of lower.matchAll(/[\p{L}\p{N}]{3,}/gu)) {
      const word = hit[0];
      if (STOPWORDS.has(word) || has(NUMBER_WORDS, word) || DAYPARTS.some(([p]) => p.test(word))) continue;
      const [to, from] = negated(hit.index) ? [this.disliked, this.liked] : [this.liked, this.disliked];
      if (from.includes(word)) from.splice(from.indexOf(word), 1);
      if (!to.includes(word)) to.push(word);
      if (to.length > 30) to.shift();
    }
    this.version++;
    return understood;
  }

  /** How well an option fits: 0 if nothing is known about it. */
  score(text, price) {
    let score = 0;
    const lower = text.toLowerCase();
    if (this.daypart) {
      const hours = [];
      for (const m of lower.matchAll(/(?:^|[^\d:])([01]?\d|2[0-3]):([0-5]\d)(?::\d\d)?\s*([ap])?\.?m?/g)) {
        let hour = Number(m[1]);
        if (m[3] === 'p' && hour < 12) hour += 12;
        if (m[3] === 'a' && hour === 12) hour = 0;
        hours.push(hour);
      }
      for (const m of lower.matchAll(/\b(1[0-2]|[1-9])\s?([ap])m\b/g)) hours.push((Number(m[1]) % 12) + (m[2] === 'p' ? 12 : 0));
      const { name, from, to, wanted } = this.daypart;
      const fits = hours.some((h) => h >= from && h < to) || new RegExp(`\\b${name}\\b`).test(lower);
      if (fits) score += wanted ? 4 : -4;
      else if (hours.length > 0 && !wanted) score += 1;
    }
    const tokens = new Set(lower.match(/[\p{L}\p{N}]{3,}/gu) || []);
    for (const word of this.liked) if (tokens.has(word)) score += 2;
    for (const word of this.disliked) if (tokens.has(word)) score -= 2;
    if (this.cheap && typeof price === 'number') score += 1 / (1 + Math.max(0, price));
    return score;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// What a uiSpec shows. Its inner shape is not prescribed: look for things with an id.

const LABELS = ['label', 'title', 'name', 'text', 'time', 'date', 'caption', 'description', 'displayName', 'showtime', 'startTime'];
const LAYOUT = new Set(`container page section list grid row column header footer text heading title paragraph divider spacer image
icon layout stack box panel form group view screen carousel root app button link nav navbar toolbar progress stepper message`.split(/\s+/));
const GONE = /^(sold|sold[-_ ]?out|occupied|unavailable|taken|booked|reserved|disabled|full|blocked|closed|inactive|expired|locked|not[-_ ]?available)$/i;
const STAGE_KEYS = ['stage', 'currentStage', 'stageId', 'step', 'currentStep', 'stepId', 'phase', 'screen', 'page', 'view', 'route'];

function isGone(o) {
  for (const key of Object.keys(o)) {
    const value = o[key];
    const k = key.toLowerCase().replace(/[-_]/g, '').replace(/^is/, '');
    if (['disabled', 'sold', 'soldout', 'unavailable', 'occupied', 'taken', 'reserved', 'blocked', 'hidden', 'locked'].includes(k) && value === true) return true;
    if (['available', 'selectable', 'enabled', 'visible', 'clickable', 'bookable'].includes(k) && value === false) return true;
    if (['status', 'state', 'availability'].includes(k) && typeof value === 'string' && GONE.test(value.trim())) return true;
    if (['remaining', 'seatsleft', 'availableseats', 'seatsavailable', 'stock', 'left'].includes(k) && value === 0) return true;
  }
  return false;
}

function isOffered(o) {
  return Object.entries(o).some(([key, value]) => {
    const k = key.toLowerCase().replace(/^is/, '');
    return (['available', 'selectable', 'enabled', 'bookable', 'clickable'].includes(k) && value === true)
      || (['status', 'state', 'availability'].includes(k) && typeof value === 'string' && /^(available|free|open|selectable|enabled)$/i.test(value));
  });
}

function describe(o, depth = 0) {
  let out = '';
  for (const value of Array.isArray(o) ? o : Object.values(o)) {
    if (typeof value === 'string' || typeof value === 'number') out += ` ${value}`;
    else if (typeof value === 'object' && value !== null && depth < 2) out += describe(value, depth + 1);
    if (out.length > 600) break;
  }
  return out;
}

const singular = (name) => name.toLowerCase().replace(/ies$/, 'y').replace(/s$/, '');
const isScalar = (x) => (typeof x === 'string' && x !== '') || typeof x === 'number';

/** Every thing with an id in a uiSpec, in document order, and the ids that it shows as selected. */
function survey(uiSpec) {
  const things = [];
  const selected = new Set();
  let budget = 50000;

  const noteSelection = (value, depth = 0) => {
    if (isScalar(value)) selected.add(String(value));
    else if (Array.isArray(value) && depth < 3) value.slice(0, 500).forEach((v) => noteSelection(v, depth + 1));
    else if (isObject(value) && depth < 3) {
      if (isScalar(value.id)) selected.add(String(value.id));
      else Object.values(value).forEach((v) => noteSelection(v, depth + 1));
    }
  };

  // Returns whether there is a thing with an id at or below the node.
  const walk = (node, context, depth) => {
    if (depth > 60 || --budget < 0) return false;
    if (Array.isArray(node)) {
      let found = false;
      for (const item of node) {
        if (isObject(item) || Array.isArray(item)) {
          found = walk(item, { ...context, inArray: true }, depth + 1) || found;
        } else if (isScalar(item) && context.key && !/message|history|select|chosen|class|tag|genre|style/i.test(context.key)) {
          things.push({ id: item, own: {}, listKey: context.key, gone: context.gone, bare: true, inArray: true, selected: false, text: String(item) });
        }
      }
      return found;
    }
    if (!isObject(node)) return false;
    const gone = context.gone || isGone(node);
    const idKey = has(node, 'id') && isScalar(node.id) ? 'id'
      : Object.keys(node).find((k) => isScalar(node[k]) && (/^(itemId|key|code)$/.test(k) || /[a-z]Id$|_id$/.test(k)))
      || (isScalar(node.value) && LABELS.some((l) => typeof node[l] === 'string') ? 'value' : undefined);
    let thing = null;
    if (idKey !== undefined || (context.inArray && Object.values(node).some(isScalar))) {
      thing = {
        id: idKey === undefined ? undefined : node[idKey], idKey, own: node, listKey: context.key || '', gone, inArray: context.inArray,
        selected: ['selected', 'isSelected', 'chosen', 'picked', 'checked'].some((k) => node[k] === true)
          || (typeof node.status === 'string' && /^(selected|chosen|picked)$/i.test(node.status)),
        offered: isOffered(node), text: describe(node), container: false,
      };
      things.push(thing);
    } else if (context.mapKey !== undefined) {
      thing = {
        id: context.mapKey, own: node, listKey: context.key || '', gone, inArray: false, inMap: true, selected: node.selected === true,
        offered: isOffered(node), text: `${context.mapKey} ${describe(node)}`, container: false,
      };
      things.push(thing);
    }
    const values = Object.values(node);
    const isMap = values.length >= 2 && values.every((v) => isObject(v) && !has(v, 'id')) && values.every((v) => Object.values(v).some((x) => !isObject(x)));
    let below = false;
    for (const [key, value] of Object.entries(node)) {
      if (/^(is)?(selected|chosen|picked)|^selections?$/i.test(key) && typeof value !== 'boolean') {
        noteSelection(value);
        continue;
      }
      if (typeof value === 'object' && value !== null) {
        below = walk(value, { key: isMap ? context.key : key, mapKey: isMap ? key : undefined, inArray: false, gone }, depth + 1) || below;
      }
    }
    if (thing) {
      thing.container = below;
      if (thing.selected && thing.id !== undefined) selected.add(String(thing.id));
      return thing.id !== undefined && !thing.inMap;
    }
    return below;
  };
  walk(uiSpec, { key: '', inArray: false, gone: false }, 0);
  return { things, selected };
}

/** The stage that a uiSpec names, or ''. Breadth first, not inside arrays. */
function stageOf(uiSpec) {
  let level = [uiSpec];
  for (let depth = 0; depth < 3; depth++) {
    const below = [];
    for (const o of level) {
      for (const key of STAGE_KEYS) if (has(o, key) && isScalar(o[key])) return String(o[key]);
      for (const key of STAGE_KEYS) if (isObject(o[key]) && isScalar(o[key].id ?? o[key].name)) return String(o[key].id ?? o[key].name);
      below.push(...Object.values(o).filter(isObject));
    }
    level = below.slice(0, 200);
  }
  return '';
}

/** True if the uiSpec itself says that the booking is complete. */
function saysDone(uiSpec) {
  const finished = /^(done|complete|completed|booked|confirmed|finished|success|thank[-_ ]?you|receipt|booking[-_ ]?(complete|confirmed|done))$/i;
  if (finished.test(stageOf(uiSpec))) return true;
  if (uiSpec.completed === true || uiSpec.confirmed === true) return true;
  for (const o of [uiSpec, ...Object.values(uiSpec).filter(isObject)]) {
    if (['booked', 'bookingComplete', 'bookingConfirmed'].some((k) => o[k] === true)) return true;
    if (['confirmationNumber', 'confirmationCode'].some((k) => isScalar(o[k]))) return true;
    if (typeof o.status === 'string' && /^(booked|booking[-_ ]?(complete|confirmed))$/i.test(o.status)) return true;
  }
  return false;
}

// ---------------------------------------------------------------------------------------------------------------------
// Candidates: calls that the announced schema allows

const BACK = new Set('prev previous back undo cancel reset clear restart remove deselect unselect delete abort exit quit logout end leave close'.split(' '));
const DECOR = new Set('post message say comment note highlight sort filter search scroll zoom explain show hide focus hover announce speak help preview annotate log notify chat'.split(' '));
const ADVANCE = new Set('next confirm submit continue proceed book pay purchase buy checkout finish complete advance forward done finalize place reserve accept'.split(' '));
const NAVIGATE = new Set('go goto navigate jump open'.split(' '));
const FREE_TEXT = new Set('text message content body note comment query prompt reason'.split(' '));
const MAX_CANDIDATES = 60;

function idLike(name) {
  return words(name).some((w) => /^(ids?|items?|seats?|movies?|films?|theaters?|theatres?|cinemas?|dates?|times?|showtimes?|options?|choices?|targets?|keys?|values?|codes?|tickets?|types?|elements?|stages?|fields?|columns?)$/.test(w));
}

class Chooser {
  constructor(state, preferences, hints) {
    this.state = state;
    this.preferences = preferences;
    this.hints = hints; // {bad: Set of values that led to a dead end}
    const found = isObject(state.uiSpec) ? survey(state.uiSpec) : { things: [], selected: new Set() };
    this.things = found.things;
    this.selected = found.selected;
    this.byId = new Map();
    for (const t of this.things) {
      if (t.id === undefined) continue;
      const key = String(t.id);
      const other = this.byId.get(key);
      if (!other || (other.bare && !t.bare)) this.byId.set(key, t);
    }
  }

  #option(value, thing, extra = {}) {
    const own = thing ? thing.own : {};
    const label = LABELS.map((k) => own[k]).find((x) => typeof x === 'string' && x !== '' && x !== value);
    const price = [own.price, own.cost, own.amount].map((x) => (typeof x === 'string' ? Number(x.replace(/[^\d.]/g, '') || NaN) : x))
      .find((x) => typeof x === 'number' && !Number.isNaN(x));
    return {
      value, label: label || '', fit: this.preferences.score(`${value} ${thing ? thing.text : ''}`, price), gone: thing ? thing.gone : false, ...extra,
    };
  }

  /** Sorted by fit; values that led to a dead end and values that are selected already come last. */
  #ranked(options) {
    const rank = (o) => (this.hints.bad.has(String(o.value)) ? 2 : 0) + (this.selected.has(String(o.value)) ? 1 : 0);
    return options.map((o, i) => [o, i]).sort(([a, i], [b, j]) => rank(a) - rank(b) || b.fit - a.fit || i - j).map(([o]) => o);
  }

  #fromUi(name) {
    const stem = words(name).filter((w) => !['id', 'ids', 'item', 'items', 'option', 'options', 'key', 'value', 'target'].includes(w)).map(singular);
    const scored = [];
    this.things.forEach((t, index) => {
      let value = t.id;
      let score = 0;
      if (isScalar(t.own[name])) {
        value = t.own[name];
        score += 6;
      } else if (Array.isArray(t.own[name])) {
        return;
      }
      if (value === undefined) return;
      if (t.bare && !(stem.length > 0 && stem.includes(singular(t.listKey))) && !/^(options|choices|items|values)$/i.test(t.listKey)) return;
      const kind = String(t.own.type || t.own.kind || t.own.component || '').toLowerCase();
      if (stem.length > 0 && (stem.includes(singular(kind)) || words(t.listKey).some((w) => stem.includes(singular(w))))) score += 4;
      if (t.inArray) score += 3;
      if (t.inMap) score -= 1;
      if (t.offered || t.own.selectable === true) score += 2;
      if (LABELS.some((k) => isScalar(t.own[k]))) score += 1;
      if (t.container) score -= 4;
      if (LAYOUT.has(kind)) score -= 4;
      if (/^(messages?|history|tools?|actions?|buttons?|stages?|steps?|breadcrumbs?|log|selected|summary)$/i.test(t.listKey)) score -= 5;
      scored.push({ t, value, score, index });
    });
    const good = scored.filter((s) => s.score > 0);
    const pool = good.length > 0 ? good : scored.filter((s) => s.score > -4);
    pool.sort((a, b) => b.score - a.score || a.index - b.index);
    const best = pool.length > 0 ? pool[0].score : 0;
    const seen = new Set();
    const top = [];
    const rest = [];
    for (const { t, value, score } of pool) {
      const key = `${typeof value} ${value}`;
      if (seen.has(key)) continue;
      seen.add(key);
      if (t.gone) continue;
      (best - score <= 3 ? top : rest).push(this.#option(value, t));
    }
    return [...this.#ranked(top), ...this.#ranked(rest)];
  }

  /** Values for a schema, best first. */
  values(schema, name, root, depth = 0) {
    if (depth > 8) return [];
    const s = flatten(isObject(schema) ? schema : {}, root);
    if (has(s, 'const')) return [this.#option(s.const, this.byId.get(String(s.const)))];
    if (Array.isArray(s.enum)) {
      return this.#ranked(s.enum.map((v) => this.#option(v, isScalar(v) ? this.byId.get(String(v)) : undefined)).filter((o) => !o.gone));
    }
    for (const key of ['anyOf', 'oneOf']) {
      if (!Array.isArray(s[key])) continue;
      const { [key]: parts, ...rest } = s;
      return parts.filter(isObject).flatMap((part) => this.values({ ...rest, ...flatten(part, root) }, name, root, depth + 1));
    }
    const types = (Array.isArray(s.type) ? s.type : [s.type]).filter((t) => TYPES.includes(t));
    const type = types.find((t) => t !== 'null') || types[0]
      || (isObject(s.properties) ? 'object' : s.items ? 'array' : typeof s.minimum === 'number' ? 'number' : 'any');
    const given = [...(has(s, 'default') ? [s.default] : []), ...(Array.isArray(s.examples) ? s.examples : [])];
    switch (type) {
      case 'null': return [{ value: null, label: '', fit: 0 }];
      case 'boolean': return [true, false].map((value) => ({ value, label: '', fit: 0 }));
      case 'integer':
      case 'number': return this.#numbers(s, name, type, given);
      case 'array': return this.#arrays(s, name, root, depth);
      case 'object': return this.#objects(s, root, depth).map((c) => ({ ...c, value: c.params }));
      default: return this.#strings(s, name, type, given);
    }
  }

  #strings(s, name, type, given) {
    if (words(name).some((w) => FREE_TEXT.has(w)) && !idLike(name)) {
      const text = words(name).includes('query') ? (this.preferences.liked.at(-1) || 'movie') : 'I am booking a ticket step by step.';
      return [{ value: text, label: '', fit: 0, free: true }];
    }
    const seen = this.#fromUi(name).map((o) => (type === 'string' ? { ...o, value: String(o.value) } : o));
    const out = seen.concat(given.filter((g) => typeof g === 'string').map((g) => this.#option(g, this.byId.get(g))).filter((o) => !o.gone));
    if (out.length > 0 || idLike(name)) return out;
    const n = name.toLowerCase();
    const text = n.includes('mail') ? 'guest@example.com' : n.includes('phone') ? '555-0100' : n.includes('name') ? 'Guest' : 'one ticket';
    return [{ value: text, label: '', fit: 0, free: true }];
  }

  #numbers(s, name, type, given) {
    const quantity = words(name).some((w) => ['quantity', 'qty', 'count', 'amount', 'number', 'tickets', 'seats', 'people'].includes(w));
    let list = given.filter((g) => typeof g === 'number');
    if (!quantity) {
      const ui = this.#fromUi(name).filter((o) => typeof o.value === 'number');
      if (ui.length > 0) return ui;
      if (idLike(name) && list.length === 0) return [];
    }
    const wanted = this.preferences.quantity ? [this.preferences.quantity] : [];
    list = [...(quantity ? wanted : list), 1, 2, 3, 4, ...(quantity ? list : [])];
    for (const bound of [s.minimum, s.exclusiveMinimum, s.maximum, s.exclusiveMaximum]) {
      if (typeof bound === 'number') list.push(bound, bound + 1, bound - 1);
    }
    if (typeof s.multipleOf === 'number' && s.multipleOf > 0) list.push(s.multipleOf, Math.ceil((s.minimum || 0) / s.multipleOf) * s.multipleOf);
    list.push(0);
    if (typeof s.minimum === 'number' && typeof s.maximum === 'number') list.push((s.minimum + s.maximum) / 2);
    return [...new Set(list)].filter((n) => (type !== 'integer' || Number.isInteger(n)) && isValid(s, n)).slice(0, 6)
      .map((value) => ({ value, label: '', fit: 0 }));
  }

  #arrays(s, name, root, depth) {
    const options = this.values(s.items || {}, name, root, depth + 1);
    const least = Math.max(typeof s.minItems === 'number' ? s.minItems : 1, 1);
    const size = Math.min(Math.max(least, this.preferences.quantity || 1), typeof s.maxItems === 'number' ? s.maxItems : Infinity);
    const out = [];
    for (const n of new Set([size, least])) {
      for (let i = 0; i + n <= options.length && out.length < MAX_CANDIDATES; i++) {
        const part = options.slice(i, i + n);
        out.push({ value: part.map((o) => o.value), label: part.map((o) => o.label).filter(Boolean).join(', '), fit: part[0].fit, free: part[0].free });
      }
    }
    if (out.length === 0 && !(s.minItems > 0)) out.push({ value: [], label: '', fit: 0, free: true });
    return out;
  }

  /** Objects with all required properties; if nothing is required, also with one optional property each. */
  #objects(s, root, depth) {
    const properties = isObject(s.properties) ? s.properties : {};
    const required = [...requiredNames(s)];
    const build = (names) => {
      let rows = [{ entries: [], labels: [], fit: 0, free: false }];
      for (const name of names) {
        const options = this.values(has(properties, name) ? properties[name] : {}, name, root, depth + 1);
        const next = [];
        for (const row of rows) {
          for (const o of options) {
            if (next.length >= MAX_CANDIDATES) break;
            next.push({
              entries: [...row.entries, [name, o.value]], labels: o.label ? [...row.labels, o.label] : row.labels,
              fit: row.fit + (o.fit || 0), free: row.free || o.free === true,
            });
          }
        }
        rows = next;
      }
      return rows.map((r) => ({ params: Object.fromEntries(r.entries), label: r.labels.join(', '), fit: r.fit, free: r.free }));
    };
    const out = build(required);
    if (required.length === 0) for (const name of Object.keys(properties)) out.push(...build([name]));
    return out;
  }

  /** The calls of one tool that its schema allows, best first, each once. */
  calls(tool) {
    try {
      return this.#calls(tool);
    } catch {
      return []; // a schema that makes no sense
    }
  }

  #calls(tool) {
    const seen = new Set();
    const out = [];
    for (const c of this.#objects(flatten(tool.schema, tool.schema), tool.schema, 0)) {
      if (!isObject(c.params) || !isValid(tool.schema, c.params)) continue;
      const key = `${tool.name} ${canonical(c.params)}`;
      if (seen.has(key)) continue;
      seen.add(key);
      out.push({ ...c, tool: tool.name, kind: tool.kind, key });
      if (out.length >= MAX_CANDIDATES) break;
    }
    // A choice that leaves all of its optional params out chooses nothing: last.
    if (tool.kind === 'choose' || tool.kind === 'navigate') out.sort((a, b) => (Object.keys(a.params).length === 0) - (Object.keys(b.params).length === 0));
    return out;
  }
}

function kindOf(name, description, schema) {
  const w = words(name);
  const s = flatten(schema, schema);
  const required = [...requiredNames(s)];
  const properties = isObject(s.properties) ? Object.keys(s.properties) : [];
  if (w.some((x) => BACK.has(x))) return 'back';
  if (w.some((x) => DECOR.has(x))) return 'decor';
  if (w.some((x) => ADVANCE.has(x))) return required.some(idLike) ? 'choose' : 'advance';
  if (w.some((x) => NAVIGATE.has(x)) && properties.length > 0) return 'navigate';
  if (properties.length === 0) {
    const d = String(description || '');
    if (/\b(back|previous|cancel|undo|reset|clear)\b|上一|返回|取消|重置/i.test(d)) return 'back';
    return 'advance';
  }
  return 'choose';
}

function readTools(toolSchema) {
  const tools = [];
  const names = new Set();
  for (const item of toolSchema) {
    if (!isObject(item) || typeof item.name !== 'string' || item.name === '' || names.has(item.name)) continue;
    try {
      const schema = paramsSchema(item.parameters);
      if (!schema) continue;
      const top = flatten(schema, schema);
      const types = Array.isArray(top.type) ? top.type : [top.type];
      if (top.type !== undefined && !types.includes('object')) continue;
      tools.push({ name: item.name, schema, kind: kindOf(item.name, item.description, schema) });
      names.add(item.name);
    } catch {
      // A schema that makes no sense: the tool is not used.
    }
  }
  return tools;
}

// ---------------------------------------------------------------------------------------------------------------------
// The agent

class Lost extends Error {}
class Terminated extends Error {}
class Finished extends Error {
  constructor(code) {
    super('finished');
    this.code = code;
  }
}

const ANSWERS = {
  'relay.joined': 'relay.join', 'session.started': 'session.start', 'snapshot.state': 'snapshot.get',
  'tool.result': 'tool.call', 'session.ended': 'session.end',
};

class Agent {
  #options;
  #runId = randomBytes(3).toString('hex');
  #counter = 0;
  #ws = null;
  #joined = false;
  #connections = 0;
  #sent = new Map(); // id -> {type, answer, ...}; removed once answered
  #waiters = new Set();
  #terminated = false;

  #session = null; // study session id, once session.started has named it
  #comparesIds = true;
  #mismatches = 0;
  #synced = false; // a snapshot has been read on this connection and in this session
  #needSession = true;
  #doubtful = false;
  #restarts = 0;
  #starts = 0;
  #ending = null; // {reason, code, until, sent}

  #state = null; // {uiSpec, toolSchema, history, tools, sig}
  #stateCount = 0; // state.updated seen
  #stateAt = 0;

  #preferences = new Preferences();
  #questions = [];
  #calls = 0;
  #failed = new Map(); // sig -> Set of call keys and of 'tool NAME'
  #trouble = new Map(); // sig + key -> number of lost answers or NO_ACTIVE_SPEC
  #inFlight = null;
  #failuresInARow = 0;
  #lostAt = 0; // since when there is no working connection; 0 if there is
  #fruitless = 0; // connections since the last successful call

  // Of the present study session:
  #oks = 0;
  #made = new Map(); // sig + key -> times it was ok
  #useless = new Set(); // sig + key that was ok and changed nothing
  #visit = null;
  #path = new Map(); // stage -> values chosen there
  #bad = new Map(); // stage -> Set of values that led to a dead end
  #backs = 0;
  #afterBack = false;
  #decorUsed = new Set();
  #firstSig = null;
  #stagesSeen = 0;
  #lastOk = null; // the last answered call was ok: its kind
  #checkedSig = null;
  #lastSig = null;
  #idleSince = 0;

  constructor(options) {
    this.#options = options;
    if (options.prefer) this.#preferences.learn(options.prefer);
  }

  #note(text) {
    if (!this.#options.quiet) process.stderr.write(`${new Date().toISOString().slice(11, 23)} ${text}\n`);
  }

  terminate() {
    this.#terminated = true;
    this.#wake();
  }

  // --- connection ---

  async run() {
    let backoff = 20;
    this.#lostAt = Date.now();
    for (;;) {
      if (this.#terminated) return 0;
      try {
        const attempt = WebSocketClient.connect(this.#options.url, this.#options.joinTimeout);
        this.#ws = await Promise.race([attempt, this.#pause(this.#options.joinTimeout + 1000)]) || null;
        if (!this.#ws) attempt.then((ws) => ws.drop(), () => {});
      } catch (e) {
        this.#note(`no connection: ${e.message}`);
      }
      if (this.#ws) {
        const ws = this.#ws;
        this.#connections++;
        this.#fruitless++;
        this.#joined = false;
        this.#synced = false;
        ws.on('text', (text) => this.#receive(text));
        ws.on('binary', () => this.#note('ignored: a binary message'));
        ws.on('closing', () => this.#wake());
        ws.on('closed', (code, reason) => {
          this.#note(`connection closed: ${code}${reason ? ` ${short(reason)}` : ''}`);
          this.#wake();
        });
        try {
          await this.#work();
        } catch (e) {
          if (e instanceof Finished) {
            await this.#shut(1000);
            return e.code;
          }
          if (e instanceof Terminated) {
            await this.#endOnSignal();
            return 0;
          }
          if (!(e instanceof Lost)) throw e;
          this.#note(`connection lost: ${e.message}`);
        }
        ws.removeAllListeners('text');
        if (ws.open) ws.close(1000);
        setTimeout(() => ws.drop(), 200).unref();
        this.#ws = null;
        if (this.#lostAt === 0) {
          this.#lostAt = Date.now();
          backoff = 20;
        }
      }
      const now = Date.now();
      if (this.#ending && now >= this.#ending.until) {
        this.#note('session.end was not confirmed');
        return this.#ending.code;
      }
      if (now - this.#lostAt >= this.#options.giveUp || this.#fruitless > 100) {
        this.#note('gave up: no working connection');
        return this.#ending ? this.#ending.code : 2;
      }
      await this.#pause(Math.min(backoff, Math.max(1, this.#lostAt + this.#options.giveUp - now)));
      backoff = Math.min(backoff * 2, 1000);
    }
  }

  #pause(ms) {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#waiters.delete(check);
        resolve();
      };
      const check = () => this.#terminated && done();
      const timer = setTimeout(done, ms);
      this.#waiters.add(check);
      check();
    });
  }

  async #shut(code) {
    const ws = this.#ws;
    if (!ws || ws.dead) return;
    const closed = new Promise((resolve) => ws.once('closed', resolve));
    if (ws.open) ws.close(code);
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 1000))]);
    ws.drop();
  }

  async #endOnSignal() {
    this.#note('terminated');
    const open = this.#session !== null || [...this.#sent.values()].some((r) => r.type === 'session.start');
    if (this.#ws && this.#ws.open && this.#joined && open) {
      this.#ending = { reason: 'agent-terminated', code: 0, until: Date.now() + 1000 };
      try {
        const record = this.#send('session.end', { reason: this.#ending.reason });
        await this.#until(() => record.answer, 1000);
      } catch {
        // There is nothing left to do but to close.
      }
    }
    await this.#shut(1000);
  }

  #wake() {
    for (const check of [...this.#waiters]) check();
  }

  /** Waits for a condition: true when it holds, false after the time. Throws when the connection is gone. */
  #until(condition, ms) {
    const ws = this.#ws;
    return new Promise((resolve, reject) => {
      let timer = null;
      const stop = (settle, value) => {
        clearTimeout(timer);
        this.#waiters.delete(check);
        settle(value);
        return true;
      };
      const check = () => {
        if (condition()) return stop(resolve, true);
        if (this.#terminated && !this.#ending) return stop(reject, new Terminated());
        if (!ws.open) return stop(reject, new Lost('closed'));
        return false;
      };
      if (check()) return;
      this.#waiters.add(check);
      timer = setTimeout(() => stop(resolve, false), ms);
    });
  }

  #send(type, payload, more = {}) {
    if (this.#terminated && !this.#ending) throw new Terminated();
    if (!this.#ws.open) throw new Lost('closed');
    if (!this.#joined && type !== 'relay.join') throw new Error(`${type} before relay.joined`);
    const id = `a-${this.#runId}-${++this.#counter}`;
    const record = { id, type, answer: null, ws: this.#ws, ...more };
    this.#sent.set(id, record);
    if (this.#sent.size > 5000) this.#sent.delete(this.#sent.keys().next().value);
    this.#ws.send(JSON.stringify({ v: V, type, id, payload }));
    return record;
  }

  /** A working connection: something beyond relay.joined was answered on it. */
  #works() {
    this.#lostAt = 0;
  }

  // --- receiving ---

  #receive(text) {
    try {
      let message;
      try {
        message = JSON.parse(text);
      } catch {
        this.#note('ignored: not JSON');
        return;
      }
      if (!isObject(message) || message.v !== V || typeof message.type !== 'string' || !isObject(message.payload)) {
        this.#note('ignored: not an envelope of this protocol');
        return;
      }
      this.#dispatch(message.type, message.payload, typeof message.replyTo === 'string' ? message.replyTo : undefined, has(message, 'replyTo'));
    } catch (e) {
      // Whatever a message may hold, e.g. nesting without end, it does not end the agent.
      this.#note(`ignored: a message that cannot be processed (${e.message})`);
      this.#doubtful = true;
    }
    this.#wake();
  }

  #dispatch(type, payload, replyTo, isReply) {
    if (type === 'error' || has(ANSWERS, type)) {
      const record = replyTo === undefined ? undefined : this.#sent.get(replyTo);
      if (!record || (type !== 'error' && record.type !== ANSWERS[type])) {
        this.#stray(type, payload, isReply);
        return;
      }
      if (record.type === 'relay.join' && record.ws !== this.#ws) return;
      if (type === 'snapshot.state' && !this.#readState(payload)) {
        this.#note('ignored: a broken snapshot.state');
        return;
      }
      this.#sent.delete(replyTo);
      record.answer = { type, payload };
      record.stateCount = this.#stateCount;
      record.answeredAt = Date.now();
      if (type === 'error') this.#onError(record, payload);
      if (type === 'session.started') this.#onStarted(payload);
      if (type === 'tool.result') this.#onResult(record, payload);
      return;
    }
    if (type === 'state.updated') {
      if (!this.#joined) return;
      const state = payload.source === undefined || payload.source === 'host' ? this.#readState(payload) : null;
      if (!state) {
        this.#note('ignored: a broken state.updated');
        this.#doubtful = true;
        return;
      }
      this.#state = state;
      this.#stateCount++;
      this.#stateAt = Date.now();
      return;
    }
    if (type === 'user.message') {
      if (typeof payload.text !== 'string') return;
      const understood = this.#preferences.learn(payload.text);
      if (this.#questions.length < 1000) this.#questions.push({ text: payload.text, understood });
      this.#answerUser();
      return;
    }
    this.#note(`ignored: type ${short(type)}`);
  }

  /** An answer that belongs to no request. With a foreign replyTo it is nothing to us. */
  #stray(type, payload, isReply) {
    if (isReply) return;
    if (type === 'session.ended' || type === 'session.started' || (type === 'error' && payload.code === 'SESSION_NOT_ACTIVE')) {
      this.#note(`${type} without replyTo: the state is doubtful`);
      this.#doubtful = true;
    }
  }

  #readState(payload) {
    const { uiSpec, toolSchema } = payload;
    if (!Array.isArray(toolSchema) || !has(payload, 'uiSpec') || !(uiSpec === null || isObject(uiSpec))) return null;
    const sig = digest(`${canonical(uiSpec)}\n${canonical(toolSchema)}`);
    return {
      uiSpec, toolSchema, sig, tools: readTools(toolSchema),
      history: Array.isArray(payload.messageHistory) ? payload.messageHistory.length : 0,
    };
  }

  #onStarted(payload) {
    const id = typeof payload.sessionId === 'string' ? payload.sessionId : '';
    const fresh = this.#session !== id;
    this.#note(`study session ${short(id)} ${fresh ? 'started' : 'goes on'}`);
    this.#session = id;
    this.#needSession = false;
    this.#synced = false;
    this.#works();
    this.#forgetSession();
  }

  #forgetSession() {
    this.#oks = 0;
    this.#made.clear();
    this.#useless.clear();
    this.#visit = null;
    this.#path.clear();
    this.#bad.clear();
    this.#backs = 0;
    this.#afterBack = false;
    this.#decorUsed.clear();
    this.#firstSig = null;
    this.#stagesSeen = 0;
    this.#lastOk = null;
    this.#checkedSig = null;
    this.#lastSig = null;
    this.#idleSince = 0;
  }

  #onError(record, payload) {
    const code = typeof payload.code === 'string' ? payload.code : '';
    this.#note(`error for ${record.type}: ${short(code || 'no code')} ${short(payload.message ?? '')}`);
    if (record.type !== 'relay.join') this.#works();
    if (code === 'SESSION_NOT_ACTIVE' && record.session === this.#session && ['tool.call', 'agent.message', 'snapshot.get'].includes(record.type)) {
      this.#needSession = true;
    }
    if (record.type === 'tool.call') this.#onFailure(record, code);
  }

  #onResult(record, payload) {
    this.#works();
    if (payload.ok === true) return;
    if (payload.ok === false) {
      const code = [payload.code, isObject(payload.error) ? payload.error.code : payload.error].find((c) => typeof c === 'string') || '';
      this.#note(`${record.tool} is not ok: ${short(code || 'no code')}`);
      if (code === 'SESSION_NOT_ACTIVE' && record.session === this.#session) this.#needSession = true;
      this.#onFailure(record, code);
    } else {
      record.unclear = true;
    }
  }

  #onFailure(record, code) {
    record.failure = code || 'UNKNOWN';
    if (code === 'SESSION_NOT_ACTIVE') return;
    if (code === 'NO_ACTIVE_SPEC') {
      if (this.#addTrouble(record) >= 3) this.#ban(record.sig, record.key);
      return;
    }
    this.#ban(record.sig, record.key);
    // Once may be an accident while the tool is still announced; twice is not.
    if (code === 'UNKNOWN_TOOL' && this.#addTrouble({ sig: record.sig, key: `tool ${record.tool}` }) >= 2) {
      this.#ban(record.sig, `tool ${record.tool}`);
    }
  }

  #ban(sig, key) {
    if (!this.#failed.has(sig)) this.#failed.set(sig, new Set());
    this.#failed.get(sig).add(key);
  }

  #addTrouble(record) {
    const key = `${record.sig} ${record.key}`;
    const n = (this.#trouble.get(key) || 0) + 1;
    this.#trouble.set(key, n);
    return n;
  }

  // --- talking ---

  #maySpeak() {
    return this.#ws && this.#ws.open && this.#joined && this.#synced && !this.#needSession && !this.#ending && !this.#terminated;
  }

  #say(text) {
    if (!this.#maySpeak()) return;
    this.#note(`says: ${text}`);
    this.#send('agent.message', { text }, { session: this.#session });
  }

  #answerUser() {
    while (this.#questions.length > 0 && this.#maySpeak()) {
      const { understood } = this.#questions.shift();
      this.#say(understood.length > 0
        ? `Understood: I will prefer ${understood.join(' and ')} wherever I still have a choice.`
        : 'Thank you, I will keep that in mind for the choices that are still open.');
    }
  }

  // --- one connection ---

  async #work() {
    await this.#join();
    if (this.#connections > 1) {
      await this.#resume();
    } else {
      await this.#startSession();
    }
    if (this.#ending) await this.#endSession();
    for (;;) await this.#step();
  }

  async #join() {
    const { relaySession, joinTimeout } = this.#options;
    const join = this.#send('relay.join', { role: 'agent', sessionId: relaySession });
    if (!(await this.#until(() => join.answer, joinTimeout))) throw new Lost('relay.join was not answered');
    if (join.answer.type === 'error') throw new Lost('relay.join was refused');
    const { role, sessionId } = join.answer.payload;
    if ((role !== undefined && role !== 'agent') || (sessionId !== undefined && sessionId !== relaySession)) {
      this.#note('relay.joined names another role or session; going on');
    }
    this.#joined = true;
    this.#note(`joined relay session ${relaySession}`);
  }

  /** snapshot.get. Returns 'state', 'none' (no session), 'error', 'other' (another session) or 'silent'. */
  async #snapshot() {
    const before = this.#stateCount;
    const session = this.#session;
    const request = this.#send('snapshot.get', {}, { session });
    this.#doubtful = false;
    if (!(await this.#until(() => request.answer, this.#options.replyTimeout))) return 'silent';
    const { type, payload } = request.answer;
    if (type === 'error') {
      if (payload.code === 'SESSION_NOT_ACTIVE') return 'none';
      return payload.code === 'NO_ACTIVE_SPEC' ? 'nospec' : 'error';
    }
    this.#works();
    const state = this.#readState(payload);
    if (this.#comparesIds && session !== null && typeof payload.sessionId === 'string' && payload.sessionId !== this.#session) {
      return 'other';
    }
    if (request.stateCount !== before && this.#state && this.#state.sig !== state.sig) {
      // A state.updated came in between and says something else: it is the authority, unless the next snapshot insists.
      this.#doubtful = true;
      return 'state';
    }
    this.#state = state;
    return 'state';
  }

  /** After a reconnect: snapshot.get before anything else. */
  async #resume() {
    this.#synced = false;
    for (let tries = 0; ; tries++) {
      const outcome = await this.#snapshot();
      if (this.#ending && outcome !== 'silent' && outcome !== 'state' && outcome !== 'nospec') throw new Finished(this.#ending.code);
      if (outcome === 'state' || outcome === 'nospec') {
        if (this.#session === null) return this.#startSession();
        if (outcome === 'nospec') this.#state = { uiSpec: null, toolSchema: [], tools: [], history: 0, sig: digest('none') };
        this.#needSession = false;
        this.#synced = true;
        this.#note(`study session ${short(this.#session)} goes on`);
        this.#afterLoss();
        this.#answerUser();
        return undefined;
      }
      if (outcome === 'silent') {
        if (this.#session === null) return this.#startSession();
        if (tries < 2) continue;
        throw new Lost('snapshot.get was not answered');
      }
      return this.#startSession();
    }
  }

  /** What became of a call whose answer was lost with the connection. */
  #afterLoss() {
    const call = this.#inFlight;
    this.#inFlight = null;
    if (!call || call.failure) return;
    if (this.#state.sig !== call.sig) {
      this.#recordOk(call, true);
    } else if (call.answer && !call.unclear) {
      this.#recordOk(call, false);
    } else if (this.#addTrouble(call) >= 4) {
      this.#ban(call.sig, call.key);
    }
  }

  async #startSession() {
    const { studyId, participantId, replyTimeout, giveUp } = this.#options;
    this.#needSession = true;
    this.#synced = false;
    this.#inFlight = null;
    const began = Date.now();
    let backoff = 100;
    for (;;) {
      if (++this.#starts > 50) return this.#finish('no study session could be kept', 1);
      const request = this.#send('session.start', { studyId, participantId });
      const answered = await this.#until(() => request.answer || !this.#needSession, replyTimeout);
      if (!this.#needSession) break;
      if (Date.now() - began > giveUp) {
        this.#note('gave up: session.start is refused or not answered');
        throw new Finished(1);
      }
      if (answered && request.answer.payload.code !== 'SESSION_NOT_ACTIVE') {
        // Refused: perhaps because a session is active that is not ours, or whose session.started was lost. End it first.
        const outcome = await this.#snapshot();
        if (!this.#needSession) break;
        if (outcome === 'state' || outcome === 'other' || outcome === 'nospec') {
          this.#note('a study session is active already: ending it');
          const end = this.#send('session.end', { reason: 'restart' });
          await this.#until(() => end.answer || !this.#needSession, replyTimeout);
          if (!this.#needSession) break;
        }
      }
      await this.#until(() => !this.#needSession, backoff);
      if (!this.#needSession) break;
      backoff = Math.min(backoff * 2, 1000);
    }
    await this.#readSnapshot();
    return undefined;
  }

  /** The snapshot that an active session begins with, and every later one. */
  async #readSnapshot() {
    for (let tries = 0; tries < 4; tries++) {
      const fresh = !this.#synced;
      const outcome = await this.#snapshot();
      if (this.#needSession) return;
      if (outcome === 'other') {
        if (fresh && ++this.#mismatches >= 2) {
          this.#note('the snapshots of this host name another session than session.started; no longer compared');
          this.#comparesIds = false;
          continue;
        }
        this.#note('another study session is active');
        this.#needSession = true;
        return;
      }
      if (outcome === 'silent') {
        if (tries >= 2) throw new Lost('snapshot.get was not answered');
        continue;
      }
      if (outcome === 'nospec' || (outcome === 'error' && (fresh || !this.#state))) {
        this.#state = { uiSpec: null, toolSchema: [], tools: [], history: 0, sig: digest('none') };
      }
      this.#synced = true;
      this.#answerUser();
      if (!this.#doubtful) return;
    }
    this.#doubtful = false;
  }

  // --- acting ---

  async #step() {
    const { stale, settle, maxCalls } = this.#options;
    if (this.#needSession) {
      if (++this.#restarts > 5) return this.#finish('no-active-session: the study session does not stay active', 1);
      if (this.#restarts > 1) await this.#until(() => false, 100 * this.#restarts);
      return this.#startSession();
    }
    if (this.#doubtful || !this.#synced) return this.#readSnapshot();
    this.#answerUser();

    const state = this.#state;
    const before = this.#lastSig;
    this.#lastSig = state.sig;
    if (before !== null && before !== state.sig && state.sig === this.#firstSig && this.#lastOk !== 'back') {
      // Back at the beginning without having gone back: is this still the same study session?
      return this.#readSnapshot();
    }
    const decision = this.#decide(state);
    if (decision.call) {
      if (this.#calls >= maxCalls) return this.#finish(`call-limit: ${maxCalls} calls were made`, 1);
      if (this.#failuresInARow >= 100) return this.#finish('all-calls-failed: too many failures in a row', 1);
      return this.#makeCall(decision.call, state);
    }
    // Nothing to do in this state. Before that counts, it is checked that the state is not stale.
    this.#idleSince ||= Date.now();
    const restless = Date.now() - this.#idleSince > Math.min(this.#options.giveUp, 10000);
    if (this.#checkedSig !== state.sig && !restless) {
      await this.#until(() => this.#needSession || this.#state.sig !== state.sig, decision.sure ? settle : stale);
      if (this.#needSession) return undefined;
      await this.#readSnapshot();
      if (this.#state.sig === state.sig) this.#checkedSig = state.sig;
      return undefined;
    }
    if (decision.wait && !restless) {
      const began = Date.now();
      const limit = Math.min(this.#options.giveUp, 10000);
      while (Date.now() - began < limit) {
        await this.#until(() => this.#needSession || this.#state.sig !== state.sig, Math.max(stale, 50));
        if (this.#needSession || this.#state.sig !== state.sig) return undefined;
        await this.#readSnapshot();
        if (this.#needSession || this.#state.sig !== state.sig) return undefined;
      }
    }
    return this.#finish(decision.reason, decision.code);
  }

  async #makeCall(choice, state) {
    const { stale, settle, replyTimeout } = this.#options;
    if (this.#calls === 0) this.#say('I will book a ticket step by step and say why I choose what I choose.');
    else if (this.#calls % 4 === 3) this.#say(`Next: ${choice.reason}`);
    if (!this.#ws.open) throw new Lost('closed');
    const countBefore = this.#stateCount;
    const history = state.history;
    this.#calls++;
    this.#checkedSig = null;
    this.#idleSince = 0;
    this.#note(`call ${this.#calls}: ${choice.key}`);
    const call = this.#send('tool.call', { toolName: choice.tool, params: choice.params, reason: choice.reason }, {
      key: choice.key, tool: choice.tool, kind: choice.kind, params: choice.params, sig: state.sig, session: this.#session, choice,
    });
    this.#inFlight = call;
    if (!(await this.#until(() => call.answer, replyTimeout))) {
      this.#note('the call was not answered');
      this.#lastOk = null;
      await this.#readSnapshot();
      if (!call.answer) {
        this.#inFlight = null;
        if (this.#needSession) return;
        if (this.#state.sig !== call.sig) this.#recordOk(call, true);
        else if (this.#addTrouble(call) >= 4) this.#ban(call.sig, call.key);
        return;
      }
    }
    if (call.failure) {
      this.#inFlight = null;
      this.#lastOk = null;
      this.#failuresInARow++;
      if (this.#needSession) return;
      if (call.failure === 'NO_ACTIVE_SPEC') {
        const count = this.#stateCount;
        if (!(await this.#until(() => this.#stateCount !== count || this.#needSession, stale))) await this.#readSnapshot();
        return;
      }
      if (call.failure === 'UNKNOWN_TOOL') {
        // Our view of the tools was out of date, or the host's is: look again.
        await this.#readSnapshot();
        return;
      }
      await this.#until(() => this.#needSession || this.#stateCount !== countBefore, settle);
      return;
    }
    // ok: now the state that it leads to. A uiSpec in tool.result is not looked at.
    const arrived = () => this.#stateCount !== countBefore
      && (this.#state.sig !== call.sig || (call.kind === 'decor' && this.#state.history !== history));
    const gone = () => this.#needSession || this.#doubtful;
    await this.#until(() => arrived() || gone(), stale);
    if (!arrived() && !this.#needSession) {
      const heard = this.#stateCount !== call.stateCount;
      await this.#readSnapshot();
      if (!this.#needSession && this.#state.sig === call.sig && !heard) {
        // The host is slow, or the call changed nothing.
        await this.#until(() => this.#state.sig !== call.sig || gone(), stale);
        if (this.#state.sig === call.sig && !this.#needSession) await this.#readSnapshot();
      }
    }
    this.#inFlight = null;
    if (this.#needSession || this.#session !== call.session) return;
    const changed = this.#state.sig !== call.sig;
    if (call.unclear && !changed) {
      this.#ban(call.sig, call.key);
      return;
    }
    this.#recordOk(call, changed);
    // A host may send several states in a row: act on the last one.
    const began = Date.now();
    for (;;) {
      const quiet = Date.now() - Math.max(this.#stateAt, call.answeredAt);
      if (quiet >= settle || Date.now() - began >= 5 * settle || gone()) return;
      const count = this.#stateCount;
      await this.#until(() => this.#stateCount !== count || gone(), Math.max(1, settle - quiet));
    }
  }

  #recordOk(call, changed) {
    const key = `${call.sig} ${call.key}`;
    this.#oks++;
    this.#restarts = 0;
    this.#starts = 0;
    this.#fruitless = 0;
    this.#failuresInARow = 0;
    this.#lastOk = call.kind;
    this.#made.set(key, (this.#made.get(key) || 0) + 1);
    if (!changed) this.#useless.add(key);
    const visit = this.#visit;
    if (visit) {
      visit.oks++;
      if (call.kind === 'choose') {
        visit.chosen.set(call.tool, { key: call.key, fit: call.choice.fit, version: call.choice.version });
        visit.used.add(call.key);
        visit.choices++;
        const values = this.#path.get(visit.stage) || new Set();
        for (const v of Object.values(call.params).flat()) if (isScalar(v)) values.add(String(v));
        this.#path.set(visit.stage, values);
      }
      if (call.kind === 'advance' && !changed) visit.blocked = true;
    }
    if (call.kind === 'decor') this.#decorUsed.add(`${visit ? visit.stage : ''} ${call.tool}`);
    if (call.kind === 'back') {
      this.#backs++;
      this.#afterBack = true;
    }
  }

  // --- deciding ---

  /** Returns {call} or {reason, code, sure?, wait?}. */
  #decide(state) {
    const { uiSpec, tools } = state;
    if (this.#firstSig === null) this.#firstSig = state.sig;
    if (uiSpec === null || tools.length === 0) {
      const what = uiSpec === null ? 'no UI is active any more' : 'no tools are announced any more';
      if (this.#oks > 0) return { reason: `booking-complete: ${what}`, code: 0, wait: this.#lastOk === null, sure: uiSpec !== null && saysDone(uiSpec) };
      return { reason: 'nothing-to-do: the host shows no UI or announces no tool', code: 1, wait: true };
    }
    if (this.#oks > 0 && saysDone(uiSpec)) return { reason: 'booking-complete', code: 0, sure: true };
    if (this.#lastOk === 'advance' && this.#stagesSeen >= 3 && state.sig === this.#firstSig) {
      return { reason: 'booking-complete: the flow is back at its beginning', code: 0 };
    }

    const visit = this.#enter(state);
    const banned = this.#failed.get(state.sig) || new Set();
    const used = (c) => `${state.sig} ${c.key}`;
    const open = (c) => !banned.has(c.key) && !banned.has(`tool ${c.tool}`) && !this.#useless.has(used(c)) && (this.#made.get(used(c)) || 0) < 2;
    const { chooser } = visit;
    const all = new Map(tools.map((t) => [t.name, chooser.calls(t)]));
    const of = (kind) => tools.filter((t) => t.kind === kind);
    const first = (tool, test = () => true) => all.get(tool.name).find((c) => open(c) && test(c));
    const at = visit.name ? ` at stage "${short(visit.name, 30)}"` : '';
    const give = (c, why) => ({ call: { ...c, version: this.#preferences.version, reason: this.#reason(c, why, at) } });
    if (this.#oks > 0 && of('choose').every((t) => all.get(t.name).length === 0) && /\bthank you\b|\bbooking (is )?(complete|confirmed)|\benjoy (the|your) (movie|film|show)|(订票|预订|购票)成功/i.test(describe(uiSpec))) {
      return { reason: 'booking-complete', code: 0, sure: true };
    }
    const bad = this.#bad.get(visit.stage) || new Set();
    const isBad = (c) => Object.values(c.params).flat().some((v) => bad.has(String(v)));

    // 1. The user has changed their mind about a choice of this stage.
    for (const tool of of('choose')) {
      const chosen = visit.chosen.get(tool.name);
      if (!chosen || chosen.version === this.#preferences.version) continue;
      const same = all.get(tool.name).find((c) => c.key === chosen.key);
      const better = all.get(tool.name).find((c) => open(c) && !visit.used.has(c.key) && c.fit > (same || chosen).fit && c.fit > 0);
      if (better) return give(better, 'it fits what the user prefers better than the earlier choice');
      chosen.version = this.#preferences.version;
    }

    // 2. Each tool that chooses, once per stage, unless the UI shows that its choice is made.
    for (const tool of of('choose')) {
      if (visit.chosen.has(tool.name) || visit.choices >= 12) continue;
      const already = all.get(tool.name).some((c) => {
        const values = Object.values(c.params);
        return values.length === 1 && isScalar(values[0]) && chooser.selected.has(String(values[0])) && !isBad(c) && !banned.has(c.key);
      });
      if (already) continue;
      const c = first(tool, (x) => !isBad(x)) || first(tool);
      if (c) {
        const retry = all.get(tool.name).some((x) => banned.has(x.key));
        return give(c, c.fit > 0 ? 'it fits what the user prefers'
          : retry ? 'the call tried before it failed, and it is the next option that is open' : 'it is the first option that is open');
      }
    }

    // 3. Forward.
    for (const tool of of('advance')) {
      const c = first(tool);
      if (c) return give(c, 'the choices of this step are made, so the flow can continue');
    }

    // 4. No way forward: choose differently or more.
    const forward = of('advance').length > 0;
    const stuck = of('advance').some((t) => all.get(t.name).some((c) => banned.has(c.key)) || banned.has(`tool ${t.name}`)) || visit.blocked;
    if (visit.choices < (stuck ? 12 : forward ? 4 : 3)) {
      for (const tool of of('choose')) {
        const c = first(tool, (x) => !visit.used.has(x.key));
        if (c) return give(c, stuck ? 'the flow did not continue with the earlier choice' : 'the step does not seem to be complete');
      }
    }

    // 5. Another way.
    for (const tool of of('navigate')) {
      const calls = all.get(tool.name).filter(open);
      const place = all.get(tool.name).findIndex((c) => Object.values(c.params).includes(visit.name));
      const later = calls.find((c) => all.get(tool.name).indexOf(c) > place);
      if (later) return give(later, 'there is no other way forward');
    }
    const failedChoice = of('choose').some((t) => !visit.chosen.has(t.name) && (all.get(t.name).some((c) => banned.has(c.key)) || all.get(t.name).length === 0));
    if ((stuck || failedChoice) && this.#backs < 8) {
      for (const tool of of('back')) {
        const c = first(tool);
        if (c) return give(c, 'nothing here leads forward, so an earlier choice has to change');
      }
    }

    // 6. Tools that only show something, if there is nothing else.
    const onlyDecor = of('choose').length + of('advance').length + of('navigate').length === 0;
    if (onlyDecor || visit.oks === 0) {
      const decor = of('decor').sort((a, b) => /message|say|chat/i.test(b.name) - /message|say|chat/i.test(a.name));
      for (const tool of decor) {
        if (this.#decorUsed.has(`${visit.stage} ${tool.name}`)) continue;
        const c = first(tool);
        if (c) return give(c, 'no other tool is of use here');
      }
    }

    if (banned.size > 0 && (visit.oks === 0 || stuck || failedChoice)) {
      return { reason: `all-calls-failed: every call that was possible${at} has failed`, code: 1 };
    }
    if (stuck || failedChoice) return { reason: `no-way-forward: nothing${at} leads on`, code: 1 };
    if (this.#oks === 0) return { reason: `nothing-to-do: no valid call could be made${at}`, code: 1 };
    return { reason: 'booking-complete: there is nothing new to do', code: 0 };
  }

  /** The visit of a stage that a state belongs to; a new one when the stage or its options have changed. */
  #enter(state) {
    const name = stageOf(state.uiSpec);
    const last = this.#visit;
    const hints = { bad: new Set() };
    const chooser = new Chooser(state, this.#preferences, hints);
    const choosers = state.tools.filter((t) => t.kind === 'choose');
    const options = new Set(choosers.flatMap((t) => chooser.calls(t).flatMap((c) => Object.values(c.params).flat())
      .filter((v) => typeof v === 'string' || chooser.byId.has(String(v))).map(String)));
    if (options.size === 0) for (const t of chooser.things) if (t.inArray && t.id !== undefined && !t.container) options.add(String(t.id));
    let same = last !== null && last.name === name;
    if (same && last.options.size > 0 && options.size > 0) {
      const shared = [...options].filter((o) => last.options.has(o)).length;
      same = shared * 2 >= Math.min(options.size, last.options.size);
    } else if (same && !name && last.options.size !== options.size) {
      same = false;
    }
    if (!same) {
      const stage = name || `options ${digest([...options].sort().join('\n')).slice(0, 12)}`;
      this.#stagesSeen++;
      this.#visit = { name, stage, options, chosen: new Map(), used: new Set(), oks: 0, choices: 0, blocked: false };
      if (this.#afterBack) {
        const values = this.#bad.get(stage) || new Set();
        for (const v of this.#path.get(stage) || []) values.add(v);
        this.#bad.set(stage, values);
        this.#path.delete(stage);
      }
    }
    this.#afterBack = false;
    if (same && options.size > 0) this.#visit.options = options;
    for (const v of this.#bad.get(this.#visit.stage) || []) hints.bad.add(v);
    this.#visit.chooser = chooser;
    return this.#visit;
  }

  #reason(c, why, at) {
    const values = Object.entries(c.params).map(([k, v]) => `${k} ${typeof v === 'string' ? v : JSON.stringify(v)}`).join(', ');
    const what = values ? `Use ${c.tool} with ${short(values, 80)}${c.label ? ` (${short(c.label, 40)})` : ''}` : `Use ${c.tool}`;
    return `${what}${at}: ${why}.`;
  }

  // --- ending ---

  async #finish(reason, code) {
    this.#note(`ending: ${reason}`);
    this.#ending = { reason, code, until: Date.now() + Math.min(5000, Math.max(this.#options.replyTimeout, 1000)) };
    return this.#endSession();
  }

  async #endSession() {
    const { reason, code, until } = this.#ending;
    for (let tries = 0; tries < 2; tries++) {
      const request = this.#send('session.end', { reason });
      if (!(await this.#until(() => request.answer, Math.max(100, until - Date.now())))) break;
      const { type, payload } = request.answer;
      if (type === 'session.ended') {
        this.#note(`session ended${typeof payload.logFile === 'string' ? `, log ${short(payload.logFile, 100)}` : ''}`);
        throw new Finished(code);
      }
      if (payload.code === 'SESSION_NOT_ACTIVE') throw new Finished(code);
    }
    this.#note('session.end was not confirmed');
    throw new Finished(code);
  }
}

const agent = new Agent(readOptions());
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => agent.terminate());
agent.run().then(
  (code) => process.exit(code),
  (e) => {
    process.stderr.write(`${e.stack}\n`);
    process.exit(70);
  },
);
