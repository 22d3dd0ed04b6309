// A bus object: the orchestrator alone, with an object in the place of its bus. What it publishes is a line; a line is its
// onMessage. The program's bus, and what the orchestrator subscribes to, are not tested.
import { serve, write } from './lines.mjs';
import { SessionRuntime } from './program.mjs';

const runtimes = new Map();

/** All of the bus that an orchestrator uses. */
const bus = { publish: async (message) => write(message) };

function setUp({ session_id: sessionId, agents, active_agent_id: activeAgentId, limits }) {
  runtimes.get(sessionId)?.close(); // or its timers would speak into the new run
  runtimes.set(sessionId, new SessionRuntime({ sessionId, bus, agents, activeAgentId, limits }));
}

await serve(setUp, async (message) => runtimes.get(message.sid)?.onMessage(message));
