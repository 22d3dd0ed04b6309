// Scenarios D and E: who is in the session, and who of them is active. The SessionManager makes and keeps agents; here they are
// only bound and unbound.
import { agentId as idOfAgent, object } from '../context.mjs';
import { whenSilent } from './cancel.mjs';

/** Section 3: a switch takes effect here at once, and is published for everyone to see. */
export function switchTo(rt, to, reason, trigger, about) {
  const from = rt.context.activeAgentId;
  const { turnId, traceId, txId } = about;
  rt.context.activeAgentId = to;
  const meta = { turnId, traceId, txId, visibility: 'both' };
  rt.publish({ kind: 'CONTROL', sub: 'SWITCH_AGENT', to: 'BROADCAST', body: { from, to, reason, trigger }, meta });
  if (from !== to) rt.event('ACTIVE_AGENT_CHANGED', { active_agent_id: to, previous_agent_id: from, trigger }, about);
}

export function onSwitch(rt, message) {
  const { to, agent_id: long, target_agent_id: target, reason } = object(message.body);
  const agent = [to, target, long].find((id) => rt.context.agents.has(id));
  const about = rt.context.begin('SWITCH', message, {});
  rt.endTransaction(about);
  if (agent === undefined) return rt.error('AGENT_NOT_IN_SESSION', 'the agent to switch to is not in the session', about, { agent_id: to ?? target ?? long });
  switchTo(rt, agent, reason ?? 'the user chose the agent', 'user', about);
}

export function onInvite(rt, message) {
  const body = object(message.body);
  const spec = body.agent_spec ?? (idOfAgent(message.body) === undefined ? undefined : message.body);
  const tx = rt.context.begin('ADD', message, { agentId: idOfAgent(spec), waiters: [] });
  if (spec !== undefined) return requestAdd(rt, tx, spec, body.reason ?? 'invited by the user');
  rt.endTransaction(tx);
  rt.error('ADD_AGENT_FAILED', 'the invitation has no agent_spec', tx);
}

/** Calls `joined` with the agent of a turn in the session: at once, or when the SessionManager has added it; else `failed`. */
export function ensureMember(rt, turn, reason, { joined, failed }) {
  const { context } = rt;
  if (context.agents.has(turn.agentId)) return joined();
  turn.waiting = 'ADD_AGENT_DONE';
  const waiter = {
    failed,
    joined: (agent) => {
      turn.agentId = agent;
      joined();
    },
  };
  const pending = context.ofType('ADD').find((tx) => tx.agentId === turn.agentId);
  if (pending) return pending.waiters.push(waiter);
  const { turnId, traceId, agentId } = turn;
  const tx = context.begin('ADD', {}, { turnId, traceId, agentId, waiters: [waiter] });
  requestAdd(rt, tx, { agent_id: agentId }, reason);
}

function requestAdd(rt, tx, spec, reason) {
  rt.toManager('REQUEST_ADD_AGENT', { agent_spec: spec, agent_id: tx.agentId, reason }, tx);
  rt.event('ADDING_AGENT', { agent_id: tx.agentId, agent_spec: spec }, tx);
}

export function onAddReply(rt, message) {
  const body = object(message.body);
  const named = idOfAgent(body.agent_id) ?? idOfAgent(body.agent);
  const tx = rt.context.transactionOf(message, ['ADD'], named);
  if (!tx) return rt.ignore(message, 'no agent is being added');
  rt.endTransaction(tx);
  const agent = named ?? tx.agentId;
  if (message.sub === 'ADD_AGENT_FAILED' || agent === undefined) {
    rt.error('ADD_AGENT_FAILED', reasonOf(body) ?? 'the agent could not be added', tx, { agent_id: agent, detail: message.body });
    for (const waiter of tx.waiters) waiter.failed('ADD_AGENT_FAILED');
    return;
  }
  rt.context.agents.add(agent);
  rt.event('AGENT_ADDED', { agent_id: agent, agents: [...rt.context.agents] }, tx);
  for (const waiter of tx.waiters) waiter.joined(agent);
}

export function onRemove(rt, message) {
  const { context } = rt;
  const { agent_id: agentId, reason = 'removed by the user' } = object(message.body);
  if (context.ofType('REMOVE').some((tx) => tx.agentId === agentId)) return rt.ignore(message, 'the agent is being removed already');
  const tx = context.begin('REMOVE', message, { agentId });
  const fail = (code, text) => rt.error('REMOVE_AGENT_FAILED', text, tx, { agent_id: agentId, cause: code });
  if (!context.agents.has(agentId)) {
    rt.endTransaction(tx);
    return fail('AGENT_NOT_IN_SESSION', 'the agent is not in the session');
  }
  whenSilent(rt, tx, {
    within: (turn) => turn.agentId === agentId,
    silent: () => {
      rt.toManager('REQUEST_REMOVE_AGENT', { agent_id: agentId, reason }, tx);
      rt.event('AGENT_REMOVING', { agent_id: agentId }, tx);
      unbind(rt, agentId, tx);
    },
    notSilent: () => fail('CANCEL_TIMEOUT', 'the agent does not stop speaking'),
  });
}

/** Takes the agent out, with what it was still to answer; the next in the session takes its place if it was active. */
function unbind(rt, agentId, tx) {
  const { context } = rt;
  context.agents.delete(agentId);
  const orphans = [...context.inflight.values()].filter((turn) => turn.agentId === agentId && context.isLive(turn));
  for (const turn of orphans) rt.failTurn(turn, 'AGENT_REMOVED');
  if (context.activeAgentId !== agentId) return;
  switchTo(rt, context.agents.values().next().value ?? null, 'the active agent was removed', 'remove_agent', tx);
}

/** After a failure the agent stays unbound: it has been told nothing, and may be invited again. */
export function onRemoveReply(rt, message) {
  const body = object(message.body);
  const tx = rt.context.transactionOf(message, ['REMOVE'], idOfAgent(body.agent_id));
  if (!tx) return rt.ignore(message, 'no agent is being removed');
  rt.endTransaction(tx);
  const { agentId } = tx;
  if (message.sub === 'REMOVE_AGENT_DONE') return rt.event('AGENT_REMOVED', { agent_id: agentId, agents: [...rt.context.agents] }, tx);
  rt.error('REMOVE_AGENT_FAILED', reasonOf(body) ?? 'the agent could not be removed', tx, { agent_id: agentId, detail: message.body });
}

export const reasonOf = (body) => [body.message, body.reason, body.error].find((value) => typeof value === 'string');
