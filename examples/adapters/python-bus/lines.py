"""What both adapters share: frames as lines on stdin and stdout, and the fence."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, fields

from program import MessageItem

KNOWN = {f.name for f in fields(MessageItem)}


def write(frame: dict) -> None:
    """Write a frame. Nothing else may go to stdout."""
    print(json.dumps(frame), flush=True)


def item_of(frame: dict) -> MessageItem:
    """The program's message for a frame."""
    return MessageItem(**{name: value for name, value in frame.items() if name in KNOWN})


def frame_of(item: MessageItem) -> dict:
    """The frame for a message of the program."""
    return asdict(item)


async def settle() -> None:
    """Yield to pending tasks, until they have done whatever follows from the lines so far.

    A task that waits for time, a thread or another process is not waited for.
    """
    for _ in range(100):
        await asyncio.sleep(0)


async def serve(set_up: Callable[[dict], None], deliver: Callable[[MessageItem], Awaitable[None]]) -> None:
    """Handle each line before the next, until stdin ends."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.buffer.readline):  # in a thread: timers run meanwhile
        try:
            frame = json.loads(line)
            if frame.get("parley") == "setup":
                set_up(frame)
                write({"parley": "ready", "session_id": frame["session_id"]})
            elif frame.get("parley") == "fence":
                await settle()
                write({"parley": "fenced", "id": frame.get("id")})
            else:
                await deliver(item_of(frame))
        except Exception as err:  # one bad line must not end the others' sessions
            print(f"adapter: line {line!r}: {err!r}", file=sys.stderr, flush=True)
