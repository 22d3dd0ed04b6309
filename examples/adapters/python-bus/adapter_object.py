"""A bus object: the orchestrator alone, with an object in the place of its bus.

What it publishes is a line; a line is its on_message. The program's bus, and what the orchestrator subscribes to, are not
tested.
"""

import asyncio

from lines import frame_of, serve, write
from program import MessageItem, SessionRuntime

runtimes: dict[str, SessionRuntime] = {}


class Bus:
    """All of the bus that an orchestrator uses."""

    async def publish(self, item: MessageItem) -> None:
        write(frame_of(item))


def set_up(frame: dict) -> None:
    session_id = frame["session_id"]
    if session_id in runtimes:
        runtimes.pop(session_id).close()  # or its timers would speak into the new run
    runtimes[session_id] = SessionRuntime(
        session_id, Bus(), frame["agents"], frame.get("active_agent_id"), frame.get("limits"))


async def deliver(item: MessageItem) -> None:
    await runtimes[item.session_id].on_message(item)


if __name__ == "__main__":
    asyncio.run(serve(set_up, deliver))
