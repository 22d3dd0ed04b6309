// The state of one session (source, section 2), without behaviour towards the bus.
import { randomUUID } from 'node:crypto';

const KEPT_TURNS = 1000; // finished turns that are remembered

export const object = (value) => (value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {});
const usable = (id) => (typeof id === 'string' && id !== '') || typeof id === 'number';

/** An id of a message ('turnId', 'traceId' or 'txId'): in `meta`, and of control messages also in `body` as snake_case. */
export function idOf(message, name) {
  const own = object(message.meta)[name];
  if (usable(own)) return own;
  if (message.kind === 'USER_INPUT' || message.kind === 'AGENT_OUTPUT') return undefined;
  const snake = object(message.body)[name.replace('Id', '_id')];
  return usable(snake) ? snake : undefined;
}

export class SessionContext {
  open = true;
  activeAgentId = null;
  agents = new Set();
  inflight = new Map(); // turnId → turn, in order of creation
  speaking = []; // the turns that stream just now; the last to begin is the current speaker's
  transactions = new Map(); // txId → transaction; finished ones are taken out

  constructor(agents, activeAgentId) {
    for (const agent of Array.isArray(agents) ? agents : []) this.agents.add(agentId(agent));
    if (usable(activeAgentId)) this.agents.add((this.activeAgentId = activeAgentId));
    this.agents.delete(undefined);
  }

  get speakingAgentId() {
    return this.speaking.at(-1)?.agentId ?? null;
  }

  get userInterruptible() {
    return this.speaking.some((turn) => !this.cancelOf(turn));
  }

  /** The agent for an input that names none: the active one, or else the one that is longest in the session. */
  defaultAgent() {
    return this.agents.has(this.activeAgentId) ? this.activeAgentId : (this.agents.values().next().value ?? null);
  }

  /** A new turn. Ids that the message brings are kept, but no turn id is given twice. */
  openTurn(message, agentId, now) {
    const wished = idOf(message, 'turnId');
    const turn = {
      turnId: wished === undefined || this.inflight.has(wished) ? randomUUID() : wished,
      traceId: idOf(message, 'traceId') ?? randomUUID(),
      requestedBy: message.from,
      agentId,
      status: 'ROUTING',
      createdAt: now,
      lastOutputAt: null,
      collected: [],
      waiting: null,
      cancelSent: false,
      input: message,
    };
    this.inflight.set(turn.turnId, turn);
    return turn;
  }

  isLive(turn) {
    return turn.status === 'ROUTING' || turn.status === 'RUNNING';
  }

  finish(turn, status) {
    turn.status = status;
    turn.waiting = null;
    this.speaking = this.speaking.filter((other) => other !== turn);
    if (this.inflight.size <= KEPT_TURNS) return;
    for (const old of this.inflight.values()) if (!this.isLive(old) && old !== turn) return this.inflight.delete(old.turnId);
  }

  /**
   * The turn that an agent's receipt is about: the one it names, if that is the sender's and passes `fits`. A receipt without a
   * turn id belongs to the sender's turn of the same trace, or to its only one that fits.
   */
  turnOf(message, fits) {
    const named = idOf(message, 'turnId');
    const own = (turn) => turn.agentId === message.from && fits(turn);
    if (named !== undefined) return [this.inflight.get(named)].find((turn) => turn && own(turn));
    const candidates = [...this.inflight.values()].filter(own);
    const trace = idOf(message, 'traceId');
    return candidates.find((turn) => turn.traceId === trace) ?? (candidates.length === 1 ? candidates[0] : undefined);
  }

  begin(type, message, fields) {
    const wished = idOf(message, 'txId');
    const txId = wished === undefined || this.transactions.has(wished) ? randomUUID() : wished;
    const tx = { txId, type, phase: 'requested', traceId: idOf(message, 'traceId'), ...fields };
    this.transactions.set(txId, tx);
    return tx;
  }

  /**
   * The transaction that a reply is about: by its tx id, else by agent, else by turn, else the only one that waits for such a
   * reply. One that has not sent its request yet has no reply.
   */
  transactionOf(message, types, agent) {
    const fits = (tx) => types.includes(tx.type) && tx.phase === 'requested';
    const named = idOf(message, 'txId');
    if (named !== undefined) return [this.transactions.get(named)].find((tx) => tx && fits(tx));
    const waiting = [...this.transactions.values()].filter((tx) => fits(tx) && (agent === undefined || (tx.agentId ?? agent) === agent));
    const turn = idOf(message, 'turnId');
    const sameTurn = turn === undefined ? undefined : waiting.find((tx) => tx.turnId === turn);
    return sameTurn ?? (agent !== undefined || waiting.length === 1 ? waiting[0] : undefined);
  }

  /** The running cancel of a turn, if there is one. */
  cancelOf(turn) {
    return this.ofType('CANCEL').find((tx) => tx.turn === turn);
  }

  ofType(type) {
    return [...this.transactions.values()].filter((tx) => tx.type === type);
  }
}

/** The id in an agent's description, which may be the id itself. */
export function agentId(spec) {
  if (usable(spec)) return spec;
  const { agent_id: long, id } = object(spec);
  return [long, id].find(usable);
}
