// Scenario F: an agent asks that another one take over; the user decides; what the first has said goes along.
import { agentId as idOfAgent, idOf, object } from '../context.mjs';
import { route, start } from './input.mjs';
import { ensureMember, switchTo } from './members.mjs';

export function onHandoverRequest(rt, message) {
  const body = object(message.body);
  if (!rt.context.agents.has(message.from)) return rt.ignore(message, 'the sender is not in the session');
  const turn = turnOfRequest(rt.context, message);
  const tx = rt.context.begin('HANDOVER', message, {
    fromAgentId: message.from,
    toAgentId: successor(body),
    turn,
    turnId: turn?.turnId ?? idOf(message, 'turnId'),
    traceId: turn?.traceId ?? idOf(message, 'traceId'),
    request: message.body,
  });
  if (tx.toAgentId === undefined || tx.toAgentId === message.from) {
    rt.endTransaction(tx);
    return rt.toAgent(message.from, 'HANDOVER_REJECT', { reason: 'the request names no other agent' }, tx);
  }
  const prompt = {
    from_agent_id: tx.fromAgentId,
    to_agent_id: tx.toAgentId,
    target_agent_id: tx.toAgentId,
    reason: body.reason,
    summary: body.summary,
    request: message.body,
    turn_id: tx.turnId,
    recent_output: textOf(turn),
    actions: ['HANDOVER_CONFIRM', 'HANDOVER_REJECT'],
  };
  const { turnId, traceId, txId } = tx;
  rt.publish({ kind: 'CONTROL', sub: 'HANDOVER_UI_PROMPT', to: 'FRONTEND', body: prompt, meta: { turnId, traceId, txId, visibility: 'user' } });
}

export function onHandoverAnswer(rt, message) {
  const tx = rt.context.transactionOf(message, ['HANDOVER']);
  if (!tx) return rt.error('NO_SUCH_HANDOVER', 'no handover waits for this answer', { txId: idOf(message, 'txId') });
  rt.endTransaction(tx);
  if (message.sub === 'HANDOVER_CONFIRM') return handOver(rt, tx, message);
  rt.toAgent(tx.fromAgentId, 'HANDOVER_REJECT', { to_agent_id: tx.toAgentId, reason: object(message.body).reason ?? 'rejected by the user' }, tx);
}

/** The successor gets the context as an input, in a turn of its own that it has to acknowledge like any other. */
function handOver(rt, tx, message) {
  const { fromAgentId, toAgentId, turn: earlier, request, txId, traceId } = tx;
  const turn = rt.context.openTurn({ kind: 'CONTROL', from: message.from, meta: { traceId } }, toAgentId, rt.now());
  ensureMember(rt, turn, 'handover', {
    joined: () => {
      const { reason, summary } = object(request);
      switchTo(rt, turn.agentId, reason ?? 'handover confirmed by the user', 'handover', tx);
      const body = {
        type: 'handover_context',
        from_agent_id: fromAgentId,
        to_agent_id: turn.agentId,
        reason,
        summary,
        context: request,
        previous_turn_id: tx.turnId,
        previous_input: earlier?.input.body,
        previous_output: textOf(earlier),
        previous_outputs: earlier?.collected ?? [],
      };
      route(rt, turn, { sub: 'HANDOVER', body, meta: { txId, handover: true, visibility: 'internal' }, origin: { id: message.id, from: message.from } });
    },
    failed: (code) => rt.failTurn(turn, code),
  });
}

/** The successor may say so in these words instead of INPUT_ACK. */
export function onHandoverAccepted(rt, message) {
  const turn = rt.context.turnOf(message, (t) => t.waiting === 'INPUT_ACK');
  if (!turn) return rt.ignore(message, 'no turn of the sender waits for it');
  start(rt, turn);
}

/** The turn that the agent hands over: the one it names if that is its own, or its last that has output, or its last. */
function turnOfRequest({ inflight }, message) {
  const own = [...inflight.values()].filter((turn) => turn.agentId === message.from);
  const named = idOf(message, 'turnId');
  return own.find((turn) => turn.turnId === named) ?? own.findLast((turn) => turn.collected.length > 0) ?? own.at(-1);
}

function successor(body) {
  const names = ['target_agent_id', 'target_agent', 'to_agent_id', 'to_agent', 'target_id', 'target', 'to', 'agent_id'];
  return names.map((name) => idOfAgent(body[name])).find((id) => id !== undefined);
}

/** What can be read of the outputs, in one piece. The outputs themselves are handed on beside it. */
function textOf(turn) {
  const text = (output) => [output, object(output).text, object(output).content, object(output).delta].find((value) => typeof value === 'string');
  return (turn?.collected ?? []).map((output) => text(output) ?? '').join('');
}
