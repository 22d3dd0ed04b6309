"""Puts an in-process SessionRuntime on stdin and stdout, one JSON message per line.

To drive another orchestrator, copy this file and change the import.
"""

import asyncio
import json
import sys

from orchestrator import SessionRuntime

runtimes: dict[str, SessionRuntime] = {}


async def publish(msg: dict) -> None:
    print(json.dumps(msg), flush=True)


async def settle() -> None:
    """Let the tasks run that on_message has begun, as far as they get without waiting for time, or for another line."""
    for _ in range(100):
        await asyncio.sleep(0)


async def handle(frame: dict) -> None:
    kind = frame.get("parley")
    if kind == "setup":
        session_id = frame["session_id"]
        if session_id in runtimes:
            runtimes.pop(session_id).close()  # or its timers would speak into the new run
        runtimes[session_id] = SessionRuntime(
            session_id, frame["agents"], frame.get("active_agent_id"), frame.get("limits"), publish)
        await publish({"parley": "ready", "session_id": session_id})
    elif kind == "fence":  # lines are handled one by one, so all before it are done, once their tasks are
        await settle()
        await publish({"parley": "fenced", "id": frame.get("id")})
    else:
        await runtimes[frame["session_id"]].on_message(frame)


async def main() -> None:
    loop = asyncio.get_running_loop()
    # In a thread, so that timers run while no line comes.
    while line := await loop.run_in_executor(None, sys.stdin.buffer.readline):
        try:
            await handle(json.loads(line))
        except Exception as err:  # one bad line must not end the others' sessions
            print(f"adapter: line {line!r}: {err!r}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
