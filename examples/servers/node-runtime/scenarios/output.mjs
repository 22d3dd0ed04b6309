// Scenario G: the frontend gets an agent's output from here only, and only if it belongs to a turn of that agent.
import { idOf, object } from '../context.mjs';
import { start } from './input.mjs';

export function onAgentOutput(rt, message) {
  const { context } = rt;
  const turn = context.inflight.get(idOf(message, 'turnId'));
  const accepted = turn && turn.agentId === message.from && context.agents.has(message.from) && context.isLive(turn) && !turn.ended;
  if (!accepted) return rt.ignore(message, 'no running turn of the sender');
  start(rt, turn);
  turn.lastOutputAt = rt.now();
  turn.collected.push(message.body);
  if (!context.speaking.includes(turn)) context.speaking.push(turn);
  rt.forward(message, turn);
  if (!isFinal(message)) return;
  context.speaking = context.speaking.filter((other) => other !== turn);
  turn.ended = true;
  if (!context.cancelOf(turn)) complete(rt, turn); // else the ack of the cancel, or its absence, decides
}

export function complete(rt, turn) {
  if (!rt.context.isLive(turn)) return;
  rt.finishTurn(turn, 'COMPLETED');
  rt.event('TURN_COMPLETED', { agent_id: turn.agentId, outputs: turn.collected.length }, turn);
}

/** Errors are shown whoever reports them. An agent's own turn fails by it, unless the error says that it can be recovered. */
export function onError(rt, message) {
  const turn = rt.context.inflight.get(idOf(message, 'turnId'));
  rt.forward(message, turn);
  const { recoverable, fatal } = object(message.body);
  if (turn?.agentId !== message.from || recoverable === true || fatal === false) return;
  if (rt.context.isLive(turn)) rt.finishTurn(turn, 'FAILED');
}

/** Without marks of a stream, an output is whole. */
function isFinal({ meta, sub }) {
  const stream = object(object(meta).stream);
  if (typeof stream.final === 'boolean') return stream.final;
  if (typeof stream.isChunk === 'boolean') return !stream.isChunk;
  return sub !== 'CHUNK';
}
