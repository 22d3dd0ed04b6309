// SessionRuntime: takes a message, advances the session's state, publishes. One instance is one session.
import { randomUUID } from 'node:crypto';
import { SessionContext, object } from './context.mjs';
import { onCancel, onCancelAck } from './scenarios/cancel.mjs';
import { onHandoverAccepted, onHandoverAnswer, onHandoverRequest } from './scenarios/handover.mjs';
import { onInputAck, onUserInput } from './scenarios/input.mjs';
import { onAddReply, onInvite, onRemove, onRemoveReply, onSwitch } from './scenarios/members.mjs';
import { onAgentOutput, onError } from './scenarios/output.mjs';
import { onSessionReply, onSessionRequest } from './scenarios/session.mjs';

/** The time that a receipt may take, in milliseconds, where the set-up says nothing. */
export const DEFAULT_LIMITS = { input_ack_ms: 5000, cancel_ack_ms: 5000 };

const SEEN = 10000; // message ids that are remembered, to handle one that two subscriptions deliver once
const OWN = ['SYSTEM', 'SESSION'];

// Section 1: what is consumed, by kind and subtype. Broadcasts are for observation; only what agents send may come that way.
const user = (handle) => ({ handle, targets: OWN, fromAgents: false });
const manager = user;
const agent = (handle) => ({ handle, targets: [...OWN, 'BROADCAST'], fromAgents: true });
const handlers = new Map(Object.entries({
  USER_INPUT: user(onUserInput),
  'CONTROL:CANCEL': user(onCancel),
  'CONTROL:INTERRUPT': user(onCancel),
  'CONTROL:SWITCH_AGENT': user(onSwitch),
  'CONTROL:INVITE_AGENT': user(onInvite),
  'CONTROL:REMOVE_AGENT': user(onRemove),
  'CONTROL:HANDOVER_CONFIRM': user(onHandoverAnswer),
  'CONTROL:HANDOVER_REJECT': user(onHandoverAnswer),
  'CONTROL:SESSION_OPEN': user(onSessionRequest),
  'CONTROL:SESSION_CLOSE': user(onSessionRequest),
  AGENT_OUTPUT: agent(onAgentOutput),
  ERROR: agent(onError),
  'CONTROL:INPUT_ACK': agent(onInputAck),
  'CONTROL:CANCEL_ACK': agent(onCancelAck),
  'EVENT:STREAM_STOPPED': agent(onCancelAck),
  'CONTROL:HANDOVER_REQUEST': agent(onHandoverRequest),
  'CONTROL:HANDOVER_ACCEPTED': agent(onHandoverAccepted),
  'CONTROL:ADD_AGENT_DONE': manager(onAddReply),
  'CONTROL:ADD_AGENT_FAILED': manager(onAddReply),
  'CONTROL:REMOVE_AGENT_DONE': manager(onRemoveReply),
  'CONTROL:REMOVE_AGENT_FAILED': manager(onRemoveReply),
  'CONTROL:SESSION_OPENED': manager(onSessionReply),
  'CONTROL:SESSION_CLOSED': manager(onSessionReply),
  'CONTROL:SESSION_FAILED': manager(onSessionReply),
  'CONTROL:SESSION_OPEN_FAILED': manager(onSessionReply),
  'CONTROL:SESSION_CLOSE_FAILED': manager(onSessionReply),
}));

// Node counts from the start of the event loop's turn, which may be a little early.
const realTimers = { set: (f, ms) => setTimeout(f, ms + 2), clear: clearTimeout };

export class SessionRuntime {
  #publish;
  #timers;
  #armed = new Set();
  #seen = new Set();
  #count = 0;

  /** `publish` gets each frame as an object. `timers` is `{set(f, ms), clear(handle)}`. `limits` as in {@link DEFAULT_LIMITS}. */
  constructor({ sessionId, agents, activeAgentId, limits, publish, timers = realTimers, now = Date.now }) {
    this.sessionId = sessionId;
    this.limits = { ...DEFAULT_LIMITS };
    for (const name of Object.keys(DEFAULT_LIMITS)) if (Number.isFinite(object(limits)[name])) this.limits[name] = limits[name];
    this.context = new SessionContext(agents, activeAgentId);
    this.now = now;
    this.#publish = publish;
    this.#timers = timers;
  }

  /** Handles one message. What is not addressed to the runtime, was handled before, or has no handler, changes nothing. */
  onMessage(message) {
    const handler = handlers.get(message.kind) ?? handlers.get(`${message.kind}:${message.sub}`);
    if (!handler?.targets.includes(message.to)) return;
    if (message.id !== undefined && !this.#firstSight(message.id)) return;
    if (!handler.fromAgents && this.context.agents.has(message.from)) return this.ignore(message, 'not for an agent to say');
    handler.handle(this, message);
  }

  /** Stops all timers; the runtime is silent from then on. */
  close() {
    for (const handle of this.#armed) this.#timers.clear(handle);
    this.#armed.clear();
    this.#publish = () => {};
  }

  /** Calls `f` after `ms`, unless the function that it returns is called before. */
  after(ms, f) {
    const handle = this.#timers.set(() => {
      this.#armed.delete(handle);
      f();
    }, ms);
    this.#armed.add(handle);
    return () => {
      this.#timers.clear(handle);
      this.#armed.delete(handle);
    };
  }

  publish(fields) {
    const id = randomUUID();
    this.#firstSight(id); // a bus may bring back what was published on SYSTEM or BROADCAST
    const ts = new Date(this.now()).toISOString();
    this.#publish({ id, sid: this.sessionId, from: 'session', ts, node: 'node-runtime', n: ++this.#count, ...fields });
  }

  toAgent(agentId, sub, body, about) {
    this.publish({ kind: 'CONTROL', sub, to: 'AGENT', to_id: agentId, body, meta: ids(about, 'internal') });
  }

  toManager(sub, body, about) {
    this.publish({ kind: 'CONTROL', sub, to: 'SYSTEM', body: { session_id: this.sessionId, ...body }, meta: ids(about, 'internal') });
  }

  /** Tells the frontend; `about` is a turn or a transaction, whose ids go along. */
  event(sub, body, about) {
    this.publish({ kind: 'EVENT', sub, to: 'FRONTEND', body, meta: ids(about, 'user') });
  }

  error(sub, message, about, body = {}) {
    this.publish({ kind: 'ERROR', sub, to: 'FRONTEND', body: { code: sub, message, ...body }, meta: ids(about, 'user') });
  }

  /** Passes an agent's message on to the frontend: the payload as it is, and every key of the metadata (4 G). */
  forward(message, about) {
    const marks = { ...ids(about, 'user'), agentId: message.from };
    const meta = { ...marks, ...object(message.meta) };
    const origin = { id: message.id, from: message.from };
    this.publish({ kind: message.kind, sub: message.sub, to: 'FRONTEND', body: message.body, meta, origin });
  }

  /** Leaves a trace of a message that was not acted on, for the logs only. */
  ignore(message, reason) {
    const body = { reason, kind: message.kind, sub: message.sub, from: message.from, message_id: message.id };
    this.publish({ kind: 'EVENT', sub: 'MESSAGE_IGNORED', to: 'LOGGER', body, meta: { visibility: 'internal' } });
  }

  finishTurn(turn, status) {
    turn.disarm?.();
    this.context.finish(turn, status);
  }

  failTurn(turn, code) {
    this.finishTurn(turn, 'FAILED');
    this.event('TURN_FAILED', { code, agent_id: turn.agentId }, turn);
  }

  endTransaction(tx) {
    tx.disarm?.();
    this.context.transactions.delete(tx.txId);
  }

  #firstSight(id) {
    if (this.#seen.has(id)) return false;
    this.#seen.add(id);
    if (this.#seen.size > SEEN) this.#seen.delete(this.#seen.values().next().value);
    return true;
  }
}

function ids(about, visibility) {
  return { turnId: about?.turnId, traceId: about?.traceId, txId: about?.txId, visibility };
}
