"""The real bus: the program as it is, with the adapter in the place of everybody else on its bus.

A line is published on the bus, as its sender would. What the bus delivers to the other parties is a line. So the bus, and
what the orchestrator subscribes to, are tested too.
"""

import asyncio

from lines import frame_of, serve, write
from program import MessageBus, MessageItem, SessionRuntime

PARTIES = "parties"  # the adapter's own subscriber id

runtimes: dict[str, SessionRuntime] = {}
sent: set[tuple] = set()  # what came as lines: the bus brings back what is on SYSTEM and BROADCAST


async def received(item: MessageItem) -> None:
    """A party has received a message. One subscription for all parties keeps the order of publishing."""
    if (item.id, item.target) not in sent:
        write(frame_of(item))


def join(agent_id: str) -> None:
    """Let an agent receive its messages. It stays when it is removed, so that nothing sent to it later is overlooked."""
    bus.widen(PARTIES, f"AGENT:{agent_id}")


def set_up(frame: dict) -> None:
    session_id = frame["session_id"]
    if session_id in runtimes:
        runtimes.pop(session_id).close()
    for agent_id in frame["agents"]:
        join(agent_id)
    runtimes[session_id] = SessionRuntime(
        session_id, bus, frame["agents"], frame.get("active_agent_id"), frame.get("limits"))
    runtimes[session_id].start()


async def deliver(item: MessageItem) -> None:
    sent.add((item.id, item.target))
    if item.sender == "session_manager" and isinstance(item.payload, dict) and item.payload.get("agent_id"):
        join(item.payload["agent_id"])  # ADD_AGENT_DONE: SessionManager has created an agent, which listens from now on
    await bus.publish(item)


async def main() -> None:
    global bus
    bus = MessageBus()
    bus.subscribe(PARTIES, ["FRONTEND", "SYSTEM", "BROADCAST", "LOGGER"], received)
    await serve(set_up, deliver)


if __name__ == "__main__":
    asyncio.run(main())
