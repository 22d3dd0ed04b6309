#!/usr/bin/env python3
"""An external agent that acts when it is told to, through a control socket.

    python3 agent.py control.sock
    echo '{"act": "connect", "url": "ws://127.0.0.1:8124/agent/ws", "session": "default"}' | python3 control.py control.sock

Python 3.11, standard library only. Each line on the socket is a command in JSON, and is answered by {"ok": true} once it
has been taken. The acts are connect, tool.call, agent.message and session.end. The agent carries one out as soon as it
may: it calls a tool when it knows the state after its previous call, and asks for a snapshot if none comes.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import pathlib
import sys
from typing import Any

import wire

STALE = 0.5  # seconds after which a state that does not come is asked for


class Agent:
    """One connection to a relay, and what is left to do there."""

    def __init__(self, url: str, session: str) -> None:
        self.url, self.session = url, session
        self.socket: wire.Socket | None = None
        self.ids = itertools.count(1)
        self.todo: list[str] = []
        self.begun = False  # the study session has started
        self.state: dict[str, Any] | None = None  # None: it is not known what is shown
        self.chosen: Any = None  # the stage at which something has been chosen
        self.stale: asyncio.TimerHandle | None = None

    async def live(self) -> None:
        """Stay until the connection ends."""
        self.socket = await wire.connect(self.url, max_message=8 << 20)
        self.send("relay.join", {"role": "agent", "sessionId": self.session})
        await self.socket.serve(self.heard)
        if self.stale:
            self.stale.cancel()

    def send(self, kind: str, payload: dict[str, Any]) -> None:
        assert self.socket is not None
        message = {"v": "mvp-0.2", "type": kind, "id": f"a-{next(self.ids)}", "payload": payload}
        self.socket.send(json.dumps(message))

    async def heard(self, text: str | None) -> None:
        """Handle one message; whatever is not understood is left alone."""
        try:
            message = json.loads(text or "")
            kind, payload = message["type"], message["payload"]
        except (ValueError, TypeError, KeyError):
            return
        if not isinstance(payload, dict):
            return
        if kind == "relay.joined":
            self.send("session.start", {"studyId": "control", "participantId": "P1"})
        elif kind == "session.started":
            self.begun = True
            self.await_state()
        elif kind in ("state.updated", "snapshot.state") and isinstance(payload.get("toolSchema"), list):
            self.state = payload
            if self.stale:
                self.stale.cancel()
        elif kind in ("tool.result", "error"):
            if payload.get("ok") is not True:
                self.chosen = None
            if payload.get("code") == "SESSION_NOT_ACTIVE" and self.begun:
                self.begun = False
                self.send("session.start", {"studyId": "control", "participantId": "P1"})
            self.await_state()
        self.act()

    def await_state(self) -> None:
        """Ask for the state, unless it comes."""
        if self.stale:
            self.stale.cancel()
        loop = asyncio.get_running_loop()
        self.stale = loop.call_later(STALE, lambda: self.send("snapshot.get", {}))

    def act(self) -> None:
        """Do what is left to do, as far as that is possible now."""
        while self.todo and self.begun:
            act = self.todo[0]
            if act == "tool.call":
                if self.state is None or not self.state["toolSchema"]:
                    return
                self.call(self.state)
            elif act == "agent.message":
                self.send("agent.message", {"text": "I have been asked to say something."})
            elif act == "session.end":
                self.send("session.end", {"reason": "I have been asked to end the session."})
            del self.todo[0]

    def call(self, state: dict[str, Any]) -> None:
        """Call the tool that leads on: choose once at each stage, then go on."""
        tools = {tool["name"]: tool.get("parameters", {}) for tool in state["toolSchema"]}
        stage = (state.get("uiSpec") or {}).get("stage")
        choice = next((name for name in ("select", "setQuantity") if name in tools), None)
        if choice is None or self.chosen == stage:
            name, params = ("next" if "next" in tools else next(iter(tools))), {}
        else:
            name, params, self.chosen = choice, {}, stage
            for param, schema in tools[choice].get("properties", {}).items():
                params[param] = schema["enum"][0] if "enum" in schema else 1
        self.state = None
        self.send("tool.call", {"toolName": name, "params": params, "reason": "I have been asked to go on."})
        self.await_state()


class Control:
    """The control socket."""

    def __init__(self) -> None:
        self.agent: Agent | None = None
        self.life: asyncio.Task[None] | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async for line in reader:
            command = json.loads(line)
            if command["act"] == "connect":
                if self.life is not None:
                    self.life.cancel()
                self.agent = Agent(command["url"], command["session"])
                self.life = asyncio.create_task(self.agent.live())
            elif self.agent is not None:
                self.agent.todo.append(command["act"])
                self.agent.act()
            writer.write(b'{"ok": true}\n')
        writer.close()


async def run(path: pathlib.Path) -> None:
    """Serve until the process is ended."""
    path.unlink(missing_ok=True)
    server = await asyncio.start_unix_server(Control().serve, path)
    print("listening on", path, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(run(pathlib.Path(sys.argv[1])))
