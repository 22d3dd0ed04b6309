// Scenario H: the SessionManager opens and closes sessions; here nobody may be cut off, and the frontend learns the result.
import { object } from '../context.mjs';
import { whenSilent } from './cancel.mjs';
import { reasonOf } from './members.mjs';

export function onSessionRequest(rt, message) {
  const type = message.sub === 'SESSION_OPEN' ? 'OPEN' : 'CLOSE';
  if (rt.context.ofType(type).length > 0) return rt.ignore(message, 'the same was requested already');
  const tx = rt.context.begin(type, message, {});
  const request = () => rt.toManager(`REQUEST_${message.sub}`, { ...object(message.body), session_id: rt.sessionId }, tx);
  if (type === 'OPEN') return request();
  whenSilent(rt, tx, {
    within: () => true,
    silent: request,
    notSilent: () => rt.error('SESSION_FAILED', 'an agent does not stop speaking', tx, { operation: type, cause: 'CANCEL_TIMEOUT' }),
  });
}

const answers = { SESSION_OPENED: ['OPEN'], SESSION_CLOSED: ['CLOSE'], SESSION_OPEN_FAILED: ['OPEN'], SESSION_CLOSE_FAILED: ['CLOSE'] };

export function onSessionReply(rt, message) {
  const { context, sessionId } = rt;
  const tx = context.transactionOf(message, answers[message.sub] ?? ['OPEN', 'CLOSE']);
  if (!tx) return rt.ignore(message, 'nothing of the kind was requested');
  rt.endTransaction(tx);
  const body = object(message.body);
  if (message.sub.endsWith('FAILED')) {
    const text = reasonOf(body) ?? 'the session could not be opened or closed';
    return rt.error('SESSION_FAILED', text, tx, { operation: tx.type, detail: message.body });
  }
  context.open = tx.type === 'OPEN';
  if (!context.open) drop(rt);
  rt.event(message.sub, { ...body, session_id: sessionId, agents: [...context.agents] }, tx);
}

/** Nothing goes on in a closed session. */
function drop(rt) {
  for (const tx of [...rt.context.transactions.values()]) rt.endTransaction(tx);
  const live = [...rt.context.inflight.values()].filter((turn) => rt.context.isLive(turn));
  for (const turn of live) rt.failTurn(turn, 'SESSION_CLOSED');
}
