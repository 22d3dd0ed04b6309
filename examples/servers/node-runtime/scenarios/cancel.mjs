// Scenario C: the user interrupts the agent that is speaking. A turn is canceled once its agent says that it has stopped, and
// not before; D and H wait here for the same.
import { idOf, object } from '../context.mjs';
import { complete } from './output.mjs';

export function onCancel(rt, message) {
  const turn = spoken(rt.context, message);
  if (turn) return requestCancel(rt, turn, message);
  const body = { requested: message.sub, speaking_agent_id: rt.context.speakingAgentId };
  rt.event('NOBODY_SPEAKING', body, { traceId: idOf(message, 'traceId'), txId: idOf(message, 'txId') });
}

/** The turn to stop: the one that the message names, or the named agent's, or else the current speaker's. */
function spoken({ inflight, speaking }, message) {
  const named = inflight.get(idOf(message, 'turnId'));
  if (named) return speaking.find((turn) => turn === named);
  const agent = object(message.body).agent_id;
  return speaking.findLast((turn) => agent === undefined || turn.agentId === agent);
}

/** Asks the agent of a speaking turn to stop, unless it has been asked already and may still answer. */
function requestCancel(rt, turn, message) {
  const { turnId, traceId, agentId } = turn;
  const pending = rt.context.cancelOf(turn);
  if (pending) return rt.event('CANCEL_SENT', { agent_id: agentId, repeated: true }, pending);
  const tx = rt.context.begin('CANCEL', message, { turn, turnId, traceId, agentId });
  turn.cancelSent = true;
  turn.waiting = 'CANCEL_ACK';
  rt.toAgent(agentId, 'CANCEL', { reason: object(message.body).reason ?? 'canceled by the user' }, tx);
  rt.event('CANCEL_SENT', { agent_id: agentId, user_interruptible: rt.context.userInterruptible }, tx);
  tx.disarm = rt.after(rt.limits.cancel_ack_ms, () => onMissingAck(rt, turn, tx));
}

export function onCancelAck(rt, message) {
  const turn = stopped(rt.context, message);
  if (!turn) return rt.ignore(message, 'the sender was not asked to cancel this');
  const tx = rt.context.cancelOf(turn);
  if (tx) rt.endTransaction(tx);
  rt.finishTurn(turn, 'CANCELED');
  rt.event('TURN_CANCELED', { agent_id: turn.agentId }, { turnId: turn.turnId, traceId: turn.traceId, txId: tx?.txId });
  advance(rt);
}

/** An ack that comes after its time still says that a turn which went on until now has ended. */
function stopped(context, message) {
  const tx = context.transactions.get(idOf(message, 'txId'));
  if (idOf(message, 'turnId') === undefined && tx?.type === 'CANCEL' && tx.agentId === message.from) return tx.turn;
  return context.turnOf(message, (turn) => context.cancelOf(turn)) ?? context.turnOf(message, (turn) => turn.cancelSent && context.isLive(turn));
}

/** The turn goes on, and may be canceled again; what had waited for its end fails. */
function onMissingAck(rt, turn, tx) {
  const { context, limits } = rt;
  rt.endTransaction(tx);
  if (turn.ended) complete(rt, turn);
  if (!context.speaking.includes(turn)) return advance(rt);
  turn.waiting = null;
  rt.error('CANCEL_TIMEOUT', `no CANCEL_ACK within ${limits.cancel_ack_ms} ms`, tx, { agent_id: turn.agentId });
  for (const waiting of stopping(context)) {
    if (!waiting.within(turn)) continue;
    rt.endTransaction(waiting);
    waiting.notSilent();
  }
}

/**
 * Lets a transaction wait until no turn that is `within` its scope speaks: asks those that do to stop, and calls `silent` once
 * each has acknowledged it, or `notSilent`, after the transaction was ended, if one goes on speaking.
 */
export function whenSilent(rt, tx, { within, silent, notSilent }) {
  Object.assign(tx, { phase: 'stopping', within, silent, notSilent });
  advance(rt);
}

function advance(rt) {
  const { context } = rt;
  for (const tx of stopping(context)) {
    const speaking = context.speaking.filter((turn) => tx.within(turn) && !context.cancelOf(turn));
    for (const turn of speaking) requestCancel(rt, turn, { body: { reason: tx.type } });
    if (context.ofType('CANCEL').some(({ turn }) => tx.within(turn))) continue;
    tx.phase = 'requested';
    tx.silent();
  }
}

const stopping = (context) => [...context.transactions.values()].filter((tx) => tx.phase === 'stopping');
