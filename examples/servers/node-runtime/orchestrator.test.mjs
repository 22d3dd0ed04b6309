import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { Bus, listen } from './bus.mjs';
import { parse, stringify } from './json.mjs';

/** A bus with one session, a clock that only `pass` moves, and the parties' voices. `take` empties what was published. */
function bus({ agents = ['a1', 'a2'], active = 'a1', sid = 's1' } = {}) {
  const out = [], due = new Map();
  let clock = 0, id = 0;
  const timers = { set: (f, ms) => (due.set(++id, { f, at: clock + ms }), id), clear: (handle) => due.delete(handle) };
  const wire = new Bus((text) => out.push(JSON.parse(text)), { timers });
  const setUp = (session) => wire.receive(JSON.stringify({ parley: 'setup', session_id: session, agents, active_agent_id: active, limits: { input_ack_ms: 50, cancel_ack_ms: 80 } }));
  const deliver = (frame) => wire.receive(JSON.stringify({ id: `m${++id}`, sid, to: 'SYSTEM', ...frame }));
  const pass = (ms) => {
    clock += ms;
    for (const [handle, { f, at }] of [...due]) if (at <= clock && due.delete(handle)) f();
  };
  setUp(sid);
  const take = () => out.splice(0).filter((frame) => frame.to !== 'LOGGER');
  take();
  const party = (from) => (kind, sub, body, meta, more) => deliver({ from, kind, sub, body, meta, ...more });
  return { deliver, pass, take, setUp, out, due, user: party('user'), manager: party('session_manager'), a1: party('a1'), a2: party('a2'), a3: party('a3') };
}

const names = (frames) => frames.map(({ kind, sub, to, to_id: id }) => [kind, sub, to, id].filter(Boolean).join(':'));
const chunk = (turnId, seq = 0) => ({ turnId, stream: { isChunk: true, seq, final: false } });
const final = (turnId) => ({ turnId, stream: { isChunk: false, seq: 9, final: true } });

/** A session in which a1 streams turn t1. */
function speaking(options) {
  const b = bus(options);
  b.user('USER_INPUT', undefined, 'hi', { turnId: 't1', traceId: 'r1' });
  b.a1('CONTROL', 'INPUT_ACK', {}, { turnId: 't1' });
  b.a1('AGENT_OUTPUT', undefined, { text: 'one ' }, chunk('t1'));
  b.take();
  return b;
}

test('A: an input goes to the active agent with payload and metadata, is accepted, and starts by its ack', () => {
  const b = bus();
  b.user('USER_INPUT', undefined, { choice: [1, { x: null }] }, { mine: { k: 1 }, turnId: 't1', traceId: 'r1' });
  const [input, accepted] = b.take();
  assert.deepEqual(names([input, accepted]), ['USER_INPUT:AGENT:a1', 'CONTROL:TURN_ACCEPTED:FRONTEND']);
  assert.deepEqual(input.body, { choice: [1, { x: null }] });
  assert.deepEqual(input.meta, { mine: { k: 1 }, turnId: 't1', traceId: 'r1' });
  assert.equal(accepted.body.target_agent_id, 'a1');
  b.a2('CONTROL', 'INPUT_ACK', {}, { turnId: 't1' });
  assert.deepEqual(b.take(), [], 'an ack of another agent');
  b.a1('CONTROL', 'INPUT_ACK', {}, { turnId: 't1' });
  assert.deepEqual(names(b.take()), ['EVENT:TURN_STARTED:FRONTEND']);
  b.pass(1000);
  assert.deepEqual(b.take(), []);
});

test('A: without an ack the turn fails, and what comes later is not forwarded', () => {
  const b = bus();
  b.user('USER_INPUT', undefined, 'hi');
  const { turnId, traceId } = b.take()[0].meta;
  assert.ok(turnId && traceId);
  b.pass(49);
  assert.deepEqual(b.take(), []);
  b.pass(1);
  const [error] = b.take();
  assert.deepEqual(names([error]), ['ERROR:ROUTE_TIMEOUT:FRONTEND']);
  assert.equal(error.meta.turnId, turnId);
  b.a1('CONTROL', 'INPUT_ACK', {}, { turnId });
  b.a1('AGENT_OUTPUT', undefined, 'late', final(turnId));
  assert.deepEqual(b.take(), []);
});

test('A: without an active agent the first takes the input; without any, or with a turn id in use, the answer says so', () => {
  const b = bus({ active: null });
  b.user('USER_INPUT', undefined, 'hi', { turnId: 't1' });
  b.user('USER_INPUT', undefined, 'hi', { turnId: 't1' });
  const [first, , second] = b.take();
  assert.equal(first.to_id, 'a1');
  assert.notEqual(second.meta.turnId, 't1');
  const empty = bus({ agents: [], active: null });
  empty.user('USER_INPUT', undefined, 'hi');
  assert.deepEqual(names(empty.take()), ['ERROR:NO_AGENT:FRONTEND']);
});

test('B: a mention switches on the bus and routes', () => {
  for (const [body, meta] of [[{ mentioned_agent_id: 'a2' }, {}], ['@a2 hello', { subtype: 'MENTION' }], ['x', { subtype: 'MENTION', mentionedAgentId: 'a2' }]]) {
    const b = bus();
    b.user('USER_INPUT', undefined, body, meta);
    const frames = b.take();
    assert.deepEqual(names(frames), ['CONTROL:SWITCH_AGENT:BROADCAST', 'EVENT:ACTIVE_AGENT_CHANGED:FRONTEND', 'USER_INPUT:AGENT:a2', 'CONTROL:TURN_ACCEPTED:FRONTEND']);
    const { reason, ...rest } = frames[0].body;
    assert.deepEqual(rest, { from: 'a1', to: 'a2', trigger: 'mention' });
    assert.ok(reason);
    b.user('USER_INPUT', undefined, 'plain');
    assert.equal(b.take()[0].to_id, 'a2');
  }
});

test('B: an absent agent is requested once, and the inputs wait for it', () => {
  const b = bus();
  b.user('USER_INPUT', undefined, { mentioned_agent_id: 'a3' }, { turnId: 't1' });
  b.user('USER_INPUT', undefined, { mentioned_agent_id: 'a3' }, { turnId: 't2' });
  const [request, ...rest] = b.take();
  assert.deepEqual(names([request, ...rest]), ['CONTROL:REQUEST_ADD_AGENT:SYSTEM', 'EVENT:ADDING_AGENT:FRONTEND']);
  b.manager('CONTROL', 'ADD_AGENT_DONE', { agent_id: 'a3' }, { txId: request.meta.txId });
  assert.deepEqual(b.take().filter((f) => f.kind === 'USER_INPUT').map((f) => [f.to_id, f.meta.turnId]), [['a3', 't1'], ['a3', 't2']]);
  const failing = bus();
  failing.user('USER_INPUT', undefined, { mentioned_agent_id: 'a3' });
  failing.take();
  failing.manager('CONTROL', 'ADD_AGENT_FAILED', { agent_id: 'a3', reason: 'no' });
  assert.deepEqual(names(failing.take()), ['ERROR:ADD_AGENT_FAILED:FRONTEND', 'EVENT:TURN_FAILED:FRONTEND']);
});

test('C: CANCEL without a speaker is answered, with one it waits for the ack', () => {
  const b = bus();
  b.user('CONTROL', 'CANCEL');
  assert.deepEqual(names(b.take()), ['EVENT:NOBODY_SPEAKING:FRONTEND']);
  const s = speaking();
  s.user('CONTROL', 'INTERRUPT');
  const [cancel, sent] = s.take();
  assert.deepEqual(names([cancel, sent]), ['CONTROL:CANCEL:AGENT:a1', 'EVENT:CANCEL_SENT:FRONTEND']);
  assert.deepEqual([cancel.meta.turnId, cancel.meta.traceId], ['t1', 'r1']);
  s.user('CONTROL', 'CANCEL');
  assert.deepEqual(names(s.take()), ['EVENT:CANCEL_SENT:FRONTEND']);
  s.a1('AGENT_OUTPUT', undefined, 'still', chunk('t1', 1));
  assert.deepEqual(names(s.take()), ['AGENT_OUTPUT:FRONTEND']);
  s.a2('CONTROL', 'CANCEL_ACK', {}, { turnId: 't1' });
  assert.deepEqual(s.take(), []);
  s.a1('CONTROL', 'CANCEL_ACK', {}, { turnId: 't1' });
  assert.deepEqual(names(s.take()), ['EVENT:TURN_CANCELED:FRONTEND']);
  s.a1('CONTROL', 'CANCEL_ACK', {}, { turnId: 't1' });
  s.a1('AGENT_OUTPUT', undefined, 'late', final('t1'));
  s.pass(1000);
  assert.deepEqual(s.take(), []);
  s.user('CONTROL', 'CANCEL');
  assert.deepEqual(names(s.take()), ['EVENT:NOBODY_SPEAKING:FRONTEND']);
});

test('C: a missing ack is an error, and cancels nothing; a late one, or STREAM_STOPPED, does', () => {
  const b = speaking();
  b.user('CONTROL', 'CANCEL');
  b.pass(80);
  assert.deepEqual(names(b.take()).slice(2), ['ERROR:CANCEL_TIMEOUT:FRONTEND']);
  b.a1('EVENT', 'STREAM_STOPPED', {}, { turnId: 't1' });
  assert.deepEqual(names(b.take()), ['EVENT:TURN_CANCELED:FRONTEND']);
});

test('C: the final output of a canceled turn is forwarded; its ack, or the end of the wait, ends the turn', () => {
  for (const acked of [true, false]) {
    const b = speaking();
    b.user('CONTROL', 'CANCEL');
    b.take();
    b.a1('AGENT_OUTPUT', undefined, 'end', final('t1'));
    b.a1('AGENT_OUTPUT', undefined, 'more', chunk('t1', 3));
    assert.deepEqual(names(b.take()), ['AGENT_OUTPUT:FRONTEND']);
    if (acked) b.a1('CONTROL', 'CANCEL_ACK', {}, {});
    else b.pass(80);
    assert.deepEqual(names(b.take()), [acked ? 'EVENT:TURN_CANCELED:FRONTEND' : 'EVENT:TURN_COMPLETED:FRONTEND']);
  }
});

test('D: a speaker is stopped first, then removed, and the next takes its place', () => {
  const b = speaking();
  b.user('CONTROL', 'REMOVE_AGENT', { agent_id: 'a1' }, { txId: 'x1' });
  assert.deepEqual(names(b.take()), ['CONTROL:CANCEL:AGENT:a1', 'EVENT:CANCEL_SENT:FRONTEND']);
  b.manager('CONTROL', 'REMOVE_AGENT_DONE', { agent_id: 'a1' });
  assert.deepEqual(b.take(), [], 'a reply before the request');
  b.a1('CONTROL', 'CANCEL_ACK', {}, { turnId: 't1' });
  const frames = b.take();
  assert.deepEqual(names(frames), ['EVENT:TURN_CANCELED:FRONTEND', 'CONTROL:REQUEST_REMOVE_AGENT:SYSTEM', 'EVENT:AGENT_REMOVING:FRONTEND', 'CONTROL:SWITCH_AGENT:BROADCAST', 'EVENT:ACTIVE_AGENT_CHANGED:FRONTEND']);
  assert.equal(frames[1].body.session_id, 's1');
  assert.equal(frames[1].meta.txId, 'x1');
  assert.equal(frames[3].body.to, 'a2');
  b.manager('CONTROL', 'REMOVE_AGENT_DONE', {}, { txId: 'x1' });
  assert.deepEqual(names(b.take()), ['EVENT:AGENT_REMOVED:FRONTEND']);
});

test('D: an agent that does not stop stays; a failure is an error; turns that wait for it fail', () => {
  const b = speaking();
  b.user('CONTROL', 'REMOVE_AGENT', { agent_id: 'a1' });
  b.pass(80);
  assert.deepEqual(names(b.take()).slice(2), ['ERROR:CANCEL_TIMEOUT:FRONTEND', 'ERROR:REMOVE_AGENT_FAILED:FRONTEND']);
  const c = bus();
  c.user('USER_INPUT', undefined, 'hi');
  c.user('CONTROL', 'REMOVE_AGENT', { agent_id: 'a1' });
  assert.ok(names(c.take()).includes('EVENT:TURN_FAILED:FRONTEND'));
  c.manager('CONTROL', 'REMOVE_AGENT_FAILED', { agent_id: 'a1' });
  c.pass(1000);
  assert.deepEqual(names(c.take()), ['ERROR:REMOVE_AGENT_FAILED:FRONTEND']);
  c.user('CONTROL', 'REMOVE_AGENT', { agent_id: 'a2' });
  assert.equal(c.take().find((f) => f.sub === 'SWITCH_AGENT').body.to, null);
});

test('the user switches to an agent in the session, and to no other', () => {
  const b = bus();
  b.user('CONTROL', 'SWITCH_AGENT', { from: 'a1', to: 'a2' });
  const [{ body, to }] = b.take();
  assert.deepEqual([body.from, body.to, body.trigger, to], ['a1', 'a2', 'user', 'BROADCAST']);
  b.user('CONTROL', 'SWITCH_AGENT', { agent_id: 'a9' });
  assert.deepEqual(names(b.take()), ['ERROR:AGENT_NOT_IN_SESSION:FRONTEND']);
});

test('E: an invited agent joins when it was added', () => {
  const b = bus();
  b.user('CONTROL', 'INVITE_AGENT', { agent_spec: { agent_id: 'a3', model: 'm' } });
  const [request, adding] = b.take();
  assert.deepEqual(names([request, adding]), ['CONTROL:REQUEST_ADD_AGENT:SYSTEM', 'EVENT:ADDING_AGENT:FRONTEND']);
  assert.deepEqual(request.body.agent_spec, { agent_id: 'a3', model: 'm' });
  b.manager('CONTROL', 'ADD_AGENT_DONE', { agent_id: 'a3' });
  assert.deepEqual(b.take().map((f) => f.body.agents), [['a1', 'a2', 'a3']]);
  b.user('CONTROL', 'INVITE_AGENT', { agent_spec: { model: 'm' } });
  b.manager('CONTROL', 'ADD_AGENT_FAILED', {});
  assert.equal(names(b.take()).at(-1), 'ERROR:ADD_AGENT_FAILED:FRONTEND');
});

test('F: a confirmed handover switches, and hands on what was said, in a turn of its own', () => {
  const b = speaking();
  b.a1('AGENT_OUTPUT', undefined, { text: 'two' }, final('t1'));
  b.take();
  b.a1('CONTROL', 'HANDOVER_REQUEST', { target_agent_id: 'a2', reason: 'law', summary: 'sum' }, { turnId: 't1' });
  const [prompt, ...none] = b.take();
  assert.deepEqual(none, []);
  assert.deepEqual(names([prompt]), ['CONTROL:HANDOVER_UI_PROMPT:FRONTEND']);
  assert.equal(prompt.body.recent_output, 'one two');
  b.user('CONTROL', 'HANDOVER_CONFIRM', {}, { txId: prompt.meta.txId });
  const frames = b.take();
  assert.deepEqual(names(frames), ['CONTROL:SWITCH_AGENT:BROADCAST', 'EVENT:ACTIVE_AGENT_CHANGED:FRONTEND', 'USER_INPUT:HANDOVER:AGENT:a2', 'CONTROL:TURN_ACCEPTED:FRONTEND']);
  assert.deepEqual(frames[2].body.previous_outputs, [{ text: 'one ' }, { text: 'two' }]);
  const { turnId } = frames[2].meta;
  b.a2('CONTROL', 'HANDOVER_ACCEPTED', {}, { turnId });
  b.a2('AGENT_OUTPUT', undefined, 'hello', final(turnId));
  assert.deepEqual(names(b.take()), ['EVENT:TURN_STARTED:FRONTEND', 'AGENT_OUTPUT:FRONTEND', 'EVENT:TURN_COMPLETED:FRONTEND']);
  b.user('CONTROL', 'HANDOVER_CONFIRM', {}, { txId: prompt.meta.txId });
  assert.deepEqual(names(b.take()), ['ERROR:NO_SUCH_HANDOVER:FRONTEND']);
});

test('F: a rejected handover switches nothing, nor does one that an agent confirms', () => {
  const b = bus();
  b.a1('CONTROL', 'HANDOVER_REQUEST', { target_agent_id: 'a2' });
  b.take();
  b.a1('CONTROL', 'HANDOVER_CONFIRM');
  assert.deepEqual(b.take(), []);
  b.user('CONTROL', 'HANDOVER_REJECT');
  assert.deepEqual(names(b.take()), ['CONTROL:HANDOVER_REJECT:AGENT:a1']);
});

test('G: output is forwarded unchanged, and only for a running turn of its agent', () => {
  const b = speaking();
  const body = { text: 'x', parts: [null, { a: 1 }] };
  b.a1('AGENT_OUTPUT', 'RICH', body, { ...chunk('t1', 1), model: 'm', visibility: 'private' }, { to: 'BROADCAST' });
  const [output] = b.take();
  assert.deepEqual(names([output]), ['AGENT_OUTPUT:RICH:FRONTEND']);
  assert.deepEqual(output.body, body);
  for (const [key, value] of Object.entries({ ...chunk('t1', 1), model: 'm', visibility: 'private' })) assert.deepEqual(output.meta[key], value);
  b.a2('AGENT_OUTPUT', undefined, 'not mine', chunk('t1'));
  b.a1('AGENT_OUTPUT', undefined, 'unknown', chunk('t9'));
  b.a1('AGENT_OUTPUT', undefined, 'no turn', {});
  assert.deepEqual(b.take(), []);
  b.a1('AGENT_OUTPUT', undefined, 'end', final('t1'));
  b.a1('AGENT_OUTPUT', undefined, 'after', chunk('t1'));
  assert.deepEqual(names(b.take()), ['AGENT_OUTPUT:FRONTEND', 'EVENT:TURN_COMPLETED:FRONTEND']);
});

test('G: an error is forwarded and fails its turn', () => {
  const b = speaking();
  b.a1('ERROR', 'TOOL_ERROR', { why: [1] }, { turnId: 't1', k: 'v' });
  const [error] = b.take();
  assert.deepEqual([error.kind, error.sub, error.to, error.body, error.meta.k], ['ERROR', 'TOOL_ERROR', 'FRONTEND', { why: [1] }, 'v']);
  b.user('CONTROL', 'CANCEL');
  assert.deepEqual(names(b.take()), ['EVENT:NOBODY_SPEAKING:FRONTEND']);
});

test('H: a session closes when all speakers have stopped, and opens again', () => {
  const b = speaking();
  b.user('USER_INPUT', undefined, { mentioned_agent_id: 'a2' }, { turnId: 't2' });
  b.a2('AGENT_OUTPUT', undefined, 'x', chunk('t2'));
  b.take();
  b.user('CONTROL', 'SESSION_CLOSE');
  assert.deepEqual(names(b.take()).filter((n) => n.includes('AGENT')), ['CONTROL:CANCEL:AGENT:a1', 'CONTROL:CANCEL:AGENT:a2']);
  b.a1('CONTROL', 'CANCEL_ACK', {}, { turnId: 't1' });
  assert.deepEqual(names(b.take()), ['EVENT:TURN_CANCELED:FRONTEND']);
  b.a2('CONTROL', 'CANCEL_ACK', {}, { turnId: 't2' });
  assert.deepEqual(names(b.take()), ['EVENT:TURN_CANCELED:FRONTEND', 'CONTROL:REQUEST_SESSION_CLOSE:SYSTEM']);
  b.manager('CONTROL', 'SESSION_CLOSED');
  b.user('USER_INPUT', undefined, 'hi');
  b.user('CONTROL', 'SESSION_OPEN', { resume: true });
  b.manager('CONTROL', 'SESSION_OPENED');
  b.user('CONTROL', 'SESSION_CLOSE');
  b.manager('CONTROL', 'SESSION_FAILED', { reason: 'disk' });
  assert.deepEqual(names(b.take()), ['EVENT:SESSION_CLOSED:FRONTEND', 'ERROR:SESSION_CLOSED:FRONTEND', 'CONTROL:REQUEST_SESSION_OPEN:SYSTEM', 'EVENT:SESSION_OPENED:FRONTEND', 'CONTROL:REQUEST_SESSION_CLOSE:SYSTEM', 'ERROR:SESSION_FAILED:FRONTEND']);
});

test('a message that is delivered twice is handled once, as is what comes back of the own', () => {
  const b = bus();
  const frame = { id: 'same', from: 'user', kind: 'USER_INPUT', body: { mentioned_agent_id: 'a2' } };
  for (const to of ['BROADCAST', 'SYSTEM', 'BROADCAST', 'SYSTEM']) b.deliver({ ...frame, to });
  const frames = b.take();
  assert.equal(frames.filter((f) => f.kind === 'USER_INPUT').length, 1);
  for (const own of frames) b.deliver({ ...own, to: 'SYSTEM' });
  assert.deepEqual(b.take(), []);
});

test('sessions are apart; set-up again resets one; a fence answers at its place', () => {
  const b = bus();
  b.setUp('s2');
  b.user('USER_INPUT', undefined, 'hi', { turnId: 't1' });
  b.user('USER_INPUT', undefined, 'hi', { turnId: 't1' }, { sid: 's2' });
  b.user('USER_INPUT', undefined, 'hi', {}, { sid: 's3' });
  b.deliver({ parley: 'fence', id: 'f1' });
  const frames = b.take();
  assert.deepEqual(frames.at(-1), { parley: 'fenced', id: 'f1' });
  assert.deepEqual(frames.filter((f) => f.kind === 'USER_INPUT').map((f) => f.sid), ['s1', 's2']);
  b.setUp('s1');
  assert.deepEqual(b.take(), [{ parley: 'ready' }]);
  b.pass(50);
  assert.deepEqual(b.take().map((f) => [f.sid, f.sub]), [['s2', 'ROUTE_TIMEOUT']]);
  assert.equal(b.due.size, 0);
});

test('numbers come out as they went in', () => {
  for (const text of ['{"a":12345678901234567890,"b":[1.0,-0,1e2,0.5],"c":"1.0 \\"2.0"}', '[]', '"1.0"']) assert.equal(stringify(parse(text)), text);
  for (const text of ['01', '1.', '{"a":}', '']) assert.throws(() => parse(text), SyntaxError);
});

// The socket, by bytes: frames to the server are masked with `mask`.
const mask = Buffer.from([1, 2, 3, 4]);
function frame(first, data, form = data.length < 126 ? 0 : data.length < 65536 ? 126 : 127) {
  const head = Buffer.alloc(form === 0 ? 2 : form === 126 ? 4 : 10);
  head[0] = first;
  head[1] = 0x80 | (form || data.length);
  if (form === 126) head.writeUInt16BE(data.length, 2);
  if (form === 127) head.writeBigUInt64BE(BigInt(data.length), 2);
  return Buffer.concat([head, mask, Buffer.from(data).map((byte, i) => byte ^ mask[i & 3])]);
}

/** Sends the bytes after a handshake and resolves to all that the server answered until it hung up. */
function talk(port, ...parts) {
  return new Promise((resolve, reject) => {
    const chunks = [];
    const socket = connect(port, '127.0.0.1').on('error', reject).on('data', (chunk) => chunks.push(chunk));
    socket.on('end', () => socket.end()).on('close', () => resolve(Buffer.concat(chunks)));
    socket.write('GET /v1/bus HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n');
    for (const part of parts) socket.write(part);
  });
}

test('the socket: handshake, lengths, fragments, ping, close, refusals', async (t) => {
  const server = await listen(0, { heartbeatMs: 1 });
  t.after(() => server.close());
  const health = await fetch(`http://127.0.0.1:${server.port}/healthz`);
  assert.equal(health.status, 200);
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/v1/bus`)).status, 404);

  const bye = frame(0x88, Buffer.from([0x03, 0xe8]));
  const fence = (id) => Buffer.from(JSON.stringify({ parley: 'fence', id }));
  const long = 'ä'.repeat(40000);
  const whole = fence('split');
  const bytes = Buffer.concat([
    frame(0x81, fence('wide'), 127),
    frame(0x81, fence(long)),
    frame(0x01, whole.subarray(0, 7)), frame(0x89, Buffer.from('p')), frame(0x80, whole.subarray(7)),
    frame(0x81, Buffer.from('no json')),
    bye,
  ]);
  for (const parts of [[bytes], [...bytes.subarray(0, 60)].map((byte) => Buffer.from([byte])).concat(bytes.subarray(60))]) {
    const answer = await talk(server.port, ...parts);
    const text = answer.toString();
    assert.match(text, /^HTTP\/1\.1 101 [^]*Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/);
    assert.match(text, /\{"hello":"bus"\}/);
    for (const id of ['wide', long, 'split']) assert.ok(text.includes(`{"parley":"fenced","id":"${id}"}`));
    assert.ok(answer.includes(Buffer.from([0x8a, 1, 0x70])), 'pong');
    assert.deepEqual([...answer.subarray(-4)], [0x88, 2, 0x03, 0xe8]);
  }

  const refused = {
    'an unmasked frame': [Buffer.from([0x81, 1, 0x7b]), 1002],
    'a reserved bit': [frame(0xc1, Buffer.from('x')), 1002],
    'a stray continuation': [frame(0x80, Buffer.from('x')), 1002],
    'a fragmented ping': [frame(0x09, Buffer.from('x')), 1002],
    'bad UTF-8': [frame(0x81, Buffer.from([0xff])), 1007],
    'a binary message': [frame(0x82, Buffer.from('x')), 1003],
    'too long a message': [Buffer.concat([Buffer.from([0x81, 0xff]), Buffer.from('00000000ffffffff', 'hex'), mask]), 1009],
  };
  for (const [reason, [sent, code]] of Object.entries(refused)) {
    const answer = await talk(server.port, sent, bye);
    const at = answer.lastIndexOf(0x88);
    assert.equal(answer.readUInt16BE(at + 2), code, reason);
  }
});
