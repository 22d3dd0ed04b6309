// One connection is one bus: it carries any number of sessions, and the frames of set-up and fence.
import { createServer } from 'node:http';
import { parse, stringify } from './json.mjs';
import { SessionRuntime } from './runtime.mjs';
import { accept } from './websocket.mjs';

export const PATH = '/v1/bus';

/** The sessions of one connection. `send` takes the text of a frame. */
export class Bus {
  #sessions = new Map();
  #send;
  #options;

  constructor(send, options = {}) {
    this.#send = send;
    this.#options = options;
  }

  /** Handles one text frame to its end before it returns; what is not JSON, or concerns no session, is ignored. */
  receive(text) {
    let frame;
    try {
      frame = parse(text);
    } catch {
      return;
    }
    if (frame === null || typeof frame !== 'object') return;
    if (frame.parley === 'setup') this.#setUp(JSON.parse(text));
    else if (frame.parley === 'fence') this.#send(stringify({ parley: 'fenced', id: frame.id }));
    else this.#session(frame)?.onMessage(frame);
  }

  close() {
    for (const session of this.#sessions.values()) session.close();
    this.#sessions.clear();
  }

  #setUp({ session_id: sessionId, agents, active_agent_id: activeAgentId, limits }) {
    if (typeof sessionId !== 'string') return;
    this.#sessions.get(sessionId)?.close();
    const publish = (frame) => this.#send(stringify(frame));
    const session = new SessionRuntime({ sessionId, agents, activeAgentId, limits, publish, ...this.#options });
    this.#sessions.set(sessionId, session);
    this.#send('{"parley":"ready"}');
  }

  #session(frame) {
    if (frame.sid !== undefined) return this.#sessions.get(frame.sid);
    return this.#sessions.size === 1 ? this.#sessions.values().next().value : undefined;
  }
}

/**
 * Serves on 127.0.0.1 and resolves to `{port, close}` once it listens; rejects if it cannot.
 * `close` says goodbye to every connection (1001) and resolves when the last has gone.
 */
export function listen(port, { heartbeatMs = 1000 } = {}) {
  const connections = new Set();
  const server = createServer((request, response) => {
    const healthy = request.method === 'GET' && request.url.split('?')[0] === '/healthz';
    response.writeHead(healthy ? 200 : 404, { 'content-type': 'text/plain' }).end(healthy ? 'ok\n' : 'not found\n');
  });
  server.on('upgrade', (request, socket, head) => {
    const connection = accept(request, socket, PATH);
    if (connection) serve(connection, head, heartbeatMs, connections);
  });
  const close = () => new Promise((resolve) => {
    for (const connection of connections) connection.close(1001, 'going away');
    server.close(resolve);
    server.closeIdleConnections();
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve({ port: server.address().port, close }));
  });
}

function serve(connection, head, heartbeatMs, connections) {
  connections.add(connection);
  const bus = new Bus((text) => connection.send(text));
  let beats = 0;
  const heartbeat = heartbeatMs > 0
    ? setInterval(() => connection.send(stringify({ heartbeat: ++beats, ts: new Date().toISOString() })), heartbeatMs)
    : undefined;
  connection.send('{"hello":"bus"}');
  connection.start(head, {
    onText: (text) => bus.receive(text),
    onClose: () => {
      clearInterval(heartbeat);
      bus.close();
      connections.delete(connection);
    },
  });
}
