// Scenarios A and B: what the user says goes to one agent, which has to acknowledge it in time.
import { object } from '../context.mjs';
import { ensureMember, switchTo } from './members.mjs';

export function onUserInput(rt, message) {
  const { context } = rt;
  const mention = mentionIn(message);
  const turn = context.openTurn(message, mention?.agentId ?? context.defaultAgent(), rt.now());
  const input = { sub: message.sub, body: message.body, meta: object(message.meta), origin: { id: message.id, from: message.from } };
  const refuse = (code, text) => {
    rt.finishTurn(turn, 'FAILED');
    rt.error(code, text, turn);
  };
  if (!context.open) return refuse('SESSION_CLOSED', 'the session is closed');
  if (mention && mention.agentId === undefined) return refuse('INVALID_MENTION', 'the input mentions no agent that can be made out');
  if (turn.agentId === null) return refuse('NO_AGENT', 'there is no agent in the session');
  if (!mention) return route(rt, turn, input);
  ensureMember(rt, turn, 'mention', {
    joined: () => {
      switchTo(rt, turn.agentId, 'the user mentioned the agent', 'mention', turn);
      route(rt, turn, input);
    },
    failed: (code) => rt.failTurn(turn, code),
  });
}

/** Sends the input of a turn to its agent, tells the frontend, and waits for INPUT_ACK. */
export function route(rt, turn, { sub, body, meta, origin }) {
  const { turnId, traceId, agentId } = turn;
  turn.waiting = 'INPUT_ACK';
  rt.publish({ kind: 'USER_INPUT', sub, to: 'AGENT', to_id: agentId, body, meta: { ...meta, turnId, traceId }, origin });
  const accepted = { target_agent_id: agentId, status: turn.status, loading: true };
  rt.publish({ kind: 'CONTROL', sub: 'TURN_ACCEPTED', to: 'FRONTEND', body: accepted, meta: { turnId, traceId, visibility: 'user' } });
  turn.disarm = rt.after(rt.limits.input_ack_ms, () => {
    rt.finishTurn(turn, 'FAILED');
    rt.error('ROUTE_TIMEOUT', `no INPUT_ACK within ${rt.limits.input_ack_ms} ms`, turn, { agent_id: agentId });
  });
}

export function onInputAck(rt, message) {
  const turn = rt.context.turnOf(message, (t) => t.waiting === 'INPUT_ACK');
  if (!turn) return rt.ignore(message, 'no turn of the sender waits for it');
  start(rt, turn);
}

/** ROUTING → RUNNING, by INPUT_ACK or by the first output. */
export function start(rt, turn) {
  if (turn.status !== 'ROUTING') return;
  turn.disarm?.();
  turn.waiting = null;
  turn.status = 'RUNNING';
  rt.event('TURN_STARTED', { agent_id: turn.agentId, status: 'RUNNING' }, turn);
}

/** Undefined for an input without a mention; `{agentId: undefined}` for one that says MENTION and names nobody. */
function mentionIn(message) {
  const body = object(message.body), meta = object(message.meta);
  if (isName(body.mentioned_agent_id)) return { agentId: body.mentioned_agent_id };
  if (meta.subtype !== 'MENTION' && message.sub !== 'MENTION') return undefined;
  const text = [message.body, body.text, body.content].find((value) => typeof value === 'string') ?? '';
  const written = /@([^\s,，:：]*[\p{L}\p{N}_])/u.exec(text)?.[1];
  const places = [meta.mentioned_agent_id, meta.mentionedAgentId, meta.target_agent_id, meta.targetAgentId, written];
  return { agentId: places.find(isName) };
}

const isName = (value) => typeof value === 'string' && value !== '';
