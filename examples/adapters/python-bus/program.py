"""A program with a message bus of its own. It stands in for yours.

The orchestrator is that of ../python. What is added is what many programs have around it: messages that are objects, a
bus that delivers each to its subscribers later, and a SessionRuntime that subscribes to it and publishes on it.
"""

from __future__ import annotations

import asyncio
import logging
import pathlib
import sys
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

import orchestrator  # noqa: E402

log = logging.getLogger(__name__)


@dataclass
class MessageItem:
    """A message as the program knows it."""

    event: str
    session_id: str
    target: str | None = None
    target_id: str | None = None
    subtype: str | None = None
    sender: str | None = None
    payload: Any = None
    id: str | None = None
    timestamp: str | None = None
    metadata: dict[str, Any] | None = field(default_factory=dict)


Handler = Callable[[MessageItem], Awaitable[None]]


class MessageBus:
    """Delivers each message to every subscriber of its address, in a task of the subscriber's own.

    An address is a target, such as SYSTEM, or AGENT:agent-a. A subscriber gets its messages one by one, in the order in
    which they were published, and each once, however many of its addresses match.
    """

    def __init__(self) -> None:
        self._subscribers: dict[str, tuple[set[str], asyncio.Queue[MessageItem], asyncio.Task[None]]] = {}

    def subscribe(self, subscriber_id: str, addresses: Iterable[str], handler: Handler) -> None:
        """Add a subscriber, or replace one."""
        self.unsubscribe(subscriber_id)
        queue: asyncio.Queue[MessageItem] = asyncio.Queue()
        task = asyncio.get_running_loop().create_task(self._deliver(queue, handler))
        self._subscribers[subscriber_id] = set(addresses), queue, task

    def widen(self, subscriber_id: str, address: str) -> None:
        """Give a subscriber another address."""
        self._subscribers[subscriber_id][0].add(address)

    def unsubscribe(self, subscriber_id: str) -> None:
        """Remove a subscriber, and what was not delivered to it yet."""
        if subscriber_id in self._subscribers:
            self._subscribers.pop(subscriber_id)[2].cancel()

    async def publish(self, item: MessageItem) -> None:
        """Queue a message for its subscribers; without any it is lost."""
        address = f"AGENT:{item.target_id}" if item.target == "AGENT" else item.target
        for addresses, queue, _ in self._subscribers.values():
            if address in addresses:
                queue.put_nowait(item)

    @staticmethod
    async def _deliver(queue: asyncio.Queue[MessageItem], handler: Handler) -> None:
        while True:
            item = await queue.get()
            try:
                await handler(item)
            except Exception:
                log.exception("a subscriber failed on %r", item)


class SessionRuntime:
    """The orchestrator of one session, on a bus."""

    def __init__(
        self,
        session_id: str,
        bus: MessageBus,
        agents: list[Any],
        active_agent_id: str | None,
        limits: dict[str, Any] | None,
    ) -> None:
        self._subscriber_id = f"session:{session_id}"
        self._bus = bus
        self._subscribed = False
        self._core = orchestrator.SessionRuntime(session_id, agents, active_agent_id, limits, self._publish)

    def start(self) -> None:
        """Subscribe to what an orchestrator must receive."""
        self._bus.subscribe(self._subscriber_id, ["SYSTEM", "BROADCAST"], self.on_message)
        self._subscribed = True

    async def on_message(self, item: MessageItem) -> None:
        """Handle a message of the bus."""
        await self._core.on_message(asdict(item))

    def close(self) -> None:
        """Stop all timers, and unsubscribe."""
        self._core.close()
        if self._subscribed:
            self._bus.unsubscribe(self._subscriber_id)

    async def _publish(self, message: dict[str, Any]) -> None:
        await self._bus.publish(MessageItem(**message))
