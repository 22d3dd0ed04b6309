// A program with a message bus of its own. It stands in for yours.
//
// The orchestrator is that of ../../servers/node-runtime, whose messages have names of their own. What is added is what
// many programs have around it: a bus that delivers each message to its subscribers later, and a runtime that
// subscribes to it and publishes on it.
import { SessionRuntime as Core } from '../../servers/node-runtime/runtime.mjs';

/**
 * Delivers each message to every subscriber of its address, in a later turn of the event loop. An address is a target,
 * such as SYSTEM, or AGENT:agent-a. A subscriber gets its messages one by one, in the order in which they were
 * published, and each once, however many of its addresses match.
 */
export class MessageBus {
  #subscribers = new Map();

  subscribe(subscriberId, addresses, handler) {
    this.#subscribers.set(subscriberId, { addresses: new Set(addresses), handler, last: Promise.resolve() });
  }

  /** Gives a subscriber another address. */
  widen(subscriberId, address) {
    this.#subscribers.get(subscriberId).addresses.add(address);
  }

  unsubscribe(subscriberId) {
    this.#subscribers.delete(subscriberId);
  }

  /** Queues a message for its subscribers; without any it is lost. */
  async publish(message) {
    const address = message.to === 'AGENT' ? `AGENT:${message.to_id}` : message.to;
    for (const [id, subscriber] of this.#subscribers) {
      if (subscriber.addresses.has(address)) subscriber.last = subscriber.last.then(() => this.#deliver(id, subscriber, message));
    }
  }

  async #deliver(id, subscriber, message) {
    await new Promise(setImmediate);
    if (this.#subscribers.get(id) !== subscriber) return;
    try {
      await subscriber.handler(message);
    } catch (error) {
      console.error(`subscriber ${id} failed:`, error);
    }
  }
}

/** The orchestrator of one session, on a bus. */
export class SessionRuntime {
  #bus;
  #core;
  #subscriberId;
  #subscribed = false;

  constructor({ sessionId, bus, agents, activeAgentId, limits }) {
    this.#bus = bus;
    this.#subscriberId = `session:${sessionId}`;
    this.#core = new Core({ sessionId, agents, activeAgentId, limits, publish: (message) => bus.publish(message) });
    this.sessionId = sessionId;
  }

  /** Subscribes to what an orchestrator must receive. */
  start() {
    this.#bus.subscribe(this.#subscriberId, ['SYSTEM', 'BROADCAST'], (message) => this.onMessage(message));
    this.#subscribed = true;
  }

  async onMessage(message) {
    if (message.sid === this.sessionId) this.#core.onMessage(message);
  }

  /** Stops all timers, and unsubscribes. */
  close() {
    this.#core.close();
    if (this.#subscribed) this.#bus.unsubscribe(this.#subscriberId);
  }
}
