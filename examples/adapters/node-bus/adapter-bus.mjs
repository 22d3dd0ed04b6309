// The real bus: the program as it is, with the adapter in the place of everybody else on its bus. A line is published on
// the bus, as its sender would. What the bus delivers to the other parties is a line. So the bus, and what the
// orchestrator subscribes to, are tested too.
import { serve, write } from './lines.mjs';
import { MessageBus, SessionRuntime } from './program.mjs';

const PARTIES = 'parties'; // the adapter's own subscriber id

const runtimes = new Map();
const sent = new Set(); // what came as lines: the bus brings back what is on SYSTEM and BROADCAST
const key = (message) => JSON.stringify([message.id, message.to]);

const bus = new MessageBus();

// One subscription for all parties keeps the order of publishing.
bus.subscribe(PARTIES, ['FRONTEND', 'SYSTEM', 'BROADCAST', 'LOGGER'], (message) => {
  if (!sent.has(key(message))) write(message);
});

/** Lets an agent receive its messages. It stays when it is removed, so that nothing sent to it later is overlooked. */
const join = (agentId) => bus.widen(PARTIES, `AGENT:${agentId}`);

function setUp({ session_id: sessionId, agents, active_agent_id: activeAgentId, limits }) {
  runtimes.get(sessionId)?.close();
  agents.forEach(join);
  const runtime = new SessionRuntime({ sessionId, bus, agents, activeAgentId, limits });
  runtimes.set(sessionId, runtime);
  runtime.start();
}

async function deliver(message) {
  sent.add(key(message));
  // ADD_AGENT_DONE: SessionManager has created an agent, which listens from now on.
  if (message.from === 'session_manager' && message.body?.agent_id) join(message.body.agent_id);
  await bus.publish(message);
}

await serve(setUp, deliver);
