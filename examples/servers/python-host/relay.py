#!/usr/bin/env python3
"""A relay for the external agent protocol, mvp-0.2: host and agents of a relay session exchange envelopes.

    python3 relay.py --port 8780 [--log relay.log]

Python 3.11, standard library only. The relay knows nothing of tools, bookings or study sessions. It checks envelopes,
passes them on as they came, and remembers which agent waits for which answer.

With RELAY_CONTROL_TOKEN in the environment, a host that presents the same token on /relay/control is told which relay
sessions have agents, so that it can join them; see ``Relay._report``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import datetime
import hashlib
import hmac
import json
import logging
import os
import signal
import sys
from collections import deque

import wire
from wire import HttpError, JsonObject, Request, Response, Socket

VERSION = "mvp-0.2"
AGENT_PATH = "/agent/ws"
CONTROL_PATH = "/relay/control"
HEALTH_PATH = "/health"
DEFAULT_SESSION = "default"
TOKEN_VARIABLE = "RELAY_CONTROL_TOKEN"

HOST_ROLES = ("host", "frontend")
REPLACED = 4001  # close code for a host whose place another host has taken

MAX_FROM_AGENT = 1024 * 1024  # bytes of one message
MAX_FROM_HOST = 8 * 1024 * 1024
MAX_SESSION_ID = 256  # characters
MAX_WAITING = 1000  # requests of a relay session that wait for an answer; the oldest are forgotten
MAX_REMEMBERED = 256  # other messages whose sender is remembered
MAX_CONNECTIONS = 1000  # of parties without the control token

HOST_WAIT = 10.0  # seconds that a host on the control connection has for joining a session

ANSWERS = {
    "session.started": "session.start",
    "snapshot.state": "snapshot.get",
    "tool.result": "tool.call",
    "session.ended": "session.end",
}
REQUESTS = frozenset(ANSWERS.values())


class Refusal(Exception):
    """A message that is answered with an error envelope."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def envelope(kind: str, payload: JsonObject, reply_to: str | None) -> bytes:
    """An envelope of the relay itself."""
    message: JsonObject = {"v": VERSION, "type": kind}
    if reply_to is not None:
        message["replyTo"] = reply_to
    message["payload"] = payload
    return wire.write_json(message)


def error_envelope(code: str, text: str, reply_to: str | None) -> bytes:
    """An error in the name of the relay."""
    return envelope("error", {"code": code, "message": text}, reply_to)


def check_envelope(message: object) -> JsonObject:
    """Refuse what is no envelope of this protocol. Types are not checked, apart from being strings."""
    if not isinstance(message, dict):
        raise Refusal("INVALID_MESSAGE", "the message is no object")
    if message.get("v") != VERSION:
        raise Refusal("INVALID_MESSAGE", f"v must be {VERSION}")
    if not isinstance(message.get("type"), str) or not message["type"]:
        raise Refusal("INVALID_MESSAGE", "type must be a string that is not empty")
    for name in ("id", "replyTo"):
        if name in message and not isinstance(message[name], str):
            raise Refusal("INVALID_MESSAGE", f"{name} must be a string")
    if not isinstance(message.get("payload"), dict):
        raise Refusal("INVALID_MESSAGE", "payload must be an object")
    return message


def id_of(message: object) -> str | None:
    """The id to answer to, also of a message that is refused."""
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, str) else None


# ---------------------------------------------------------------------------------------------------------------------
# Relay sessions


class Party:
    """A connection on the agent path, before and after it joined."""

    def __init__(self, socket: Socket) -> None:
        self.socket = socket
        self.role = ""
        self.session: RelaySession | None = None


@dataclasses.dataclass(frozen=True)
class Asked:
    """A message of an agent to the host that may be answered."""

    key: str | bytes | None
    kind: str
    id: str | None
    agent: Party


class Ledger:
    """Remembers which agent sent which id.

    Envelopes pass unchanged, so two agents may wait for answers to the same id. An answer belongs to the oldest request
    with its id and a type that it can answer. The request of an agent that left keeps its place until then: its answer
    is nobody else's. Answered requests and other messages are remembered for a while, for late and second answers.
    """

    def __init__(self) -> None:
        self._waiting: deque[Asked] = deque(maxlen=MAX_WAITING)
        self._others: deque[Asked] = deque(maxlen=MAX_REMEMBERED)

    @staticmethod
    def _key(message_id: str | None) -> str | bytes | None:
        """A key of bounded size."""
        if message_id is None or len(message_id) <= 64:
            return message_id
        return hashlib.sha256(message_id.encode("utf-8", "surrogatepass")).digest()

    def ask(self, message: JsonObject, agent: Party) -> None:
        """Note a message that goes to the host."""
        kind = message["type"]
        message_id = message.get("id")
        short = kind if kind in REQUESTS else ""
        kept = message_id if message_id is not None and len(message_id) <= 1024 else None
        asked = Asked(self._key(message_id), short, kept, agent)
        (self._waiting if short else self._others).append(asked)

    def asker(self, reply_to: str | None, kind: str) -> Party | None:
        """The agent that an answer belongs to. Its request is done with."""
        key = self._key(reply_to)
        answers = ANSWERS.get(kind)
        for asked in self._waiting:
            if asked.key == key and (answers is None or asked.kind == answers):
                self._waiting.remove(asked)
                self._others.append(asked)
                return asked.agent
        if key is not None:
            for asked in reversed(self._others):
                if asked.key == key:
                    return asked.agent
        return None

    def forget(self) -> list[Asked]:
        """Everything that still waits, which no longer has a host to wait for."""
        waiting = list(self._waiting)
        self._waiting.clear()
        self._others.clear()
        return waiting


class RelaySession:
    """One host, any number of agents."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.host: Party | None = None
        self.agents: dict[Party, None] = {}
        self.arriving = 0  # agents whose join waits for a host
        self.ledger = Ledger()
        self.waiters: set[asyncio.Future[None]] = set()

    @property
    def empty(self) -> bool:
        """Whether nobody is here or about to be."""
        return self.host is None and not self.agents and not self.arriving

    def wake(self) -> None:
        """The host has come, or will not come."""
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)


class Log:
    """A line of JSON for everybody who joins or leaves, in one file. What came in a message is never part of its name."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "a", encoding="utf-8")

    def write(self, event: str, role: str, name: str) -> None:
        """Append an event."""
        at = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        self._file.write(json.dumps({"at": at, "event": event, "role": role, "relaySession": name}) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Nothing follows."""
        self._file.close()


class Relay:
    """Listens, and passes envelopes on."""

    def __init__(self, token: str | None = None, log: Log | None = None) -> None:
        self._token = token
        self._log = log
        self._sessions: dict[str, RelaySession] = {}
        self._parties: set[Party] = set()
        self._control: Socket | None = None
        share = max(16, (wire.raise_file_limit() - 100) // 3)
        self._max_outsiders = min(MAX_CONNECTIONS, share)
        self._http = wire.HttpServer(self._on_request, 2 * self._max_outsiders)

    async def start(self, port: int) -> int:
        """Listen on loopback; return the port."""
        return await self._http.start(port)

    async def stop(self) -> None:
        """Close all connections, in well under a second."""
        for party in self._parties:
            party.socket.close(wire.CLOSE_GOING_AWAY, "the relay stops")
        if self._control is not None:
            self._control.close(wire.CLOSE_GOING_AWAY, "the relay stops")
        await self._http.stop()

    def _note(self, event: str, party: Party, name: str) -> None:
        if self._log is not None:
            self._log.write(event, party.role, name)

    # HTTP

    async def _on_request(self, request: Request) -> Response | None:
        trusted = self._has_token(request)
        if request.path == HEALTH_PATH:
            request.allow("GET", "HEAD")
            return self._health()
        if request.path == CONTROL_PATH and trusted:
            await self._serve_control(request.upgrade(max_message=64 * 1024))
            return None
        if request.path != AGENT_PATH:
            raise HttpError("404 Not Found", "nothing here")
        if request.connections > self._max_outsiders and not trusted:
            raise HttpError("503 Service Unavailable", "too many connections")
        party = Party(request.upgrade(max_message=MAX_FROM_AGENT))
        self._parties.add(party)
        try:
            await party.socket.serve(lambda text: self._on_message(party, text))
        finally:
            self._parties.discard(party)
            self._leave(party)
        return None

    def _has_token(self, request: Request) -> bool:
        if not self._token:
            return False
        sent = request.headers.get("authorization", [""])[0]
        return hmac.compare_digest(sent.encode("utf-8"), f"Bearer {self._token}".encode("utf-8"))

    def _health(self) -> Response:
        """Without a control token no host is expected, and the relay is ready when it listens."""
        hosts = sum(session.host is not None for session in self._sessions.values())
        default = self._sessions.get(DEFAULT_SESSION)
        ready = not self._token or (
            self._control is not None and default is not None and default.host is not None
        )
        state = {"status": "ok" if ready else "waiting for the host", "sessions": len(self._sessions), "hosts": hosts}
        return Response("200 OK" if ready else "503 Service Unavailable", state)

    # The control connection

    async def _serve_control(self, socket: Socket) -> None:
        """The latest control connection counts."""
        if self._control is not None:
            self._control.close(REPLACED, "another control connection came")
        self._control = socket
        for session in list(self._sessions.values()):
            self._report(session)
        try:
            await socket.serve(self._on_control)
        finally:
            if self._control is socket:
                self._control = None
                for session in self._sessions.values():
                    session.wake()

    async def _on_control(self, text: str | None) -> None:
        """The only message is ``{"refused": SESSION}``: the host will not join."""
        with contextlib.suppress(ValueError):
            message = wire.parse_json(text or "")
            name = message.get("refused") if isinstance(message, dict) else None
            if isinstance(name, str) and name in self._sessions:
                self._sessions[name].wake()

    def _report(self, session: RelaySession) -> None:
        """Tell the control connection who is in a session: ``{"sessionId", "agents": COUNT, "host": BOOLEAN}``."""
        if self._control is not None:
            agents = len(session.agents) + session.arriving
            state = {"sessionId": session.name, "agents": agents, "host": session.host is not None}
            self._control.send(wire.write_json(state))

    async def _find_host(self, session: RelaySession) -> Party | None:
        """The host of a session. One that listens on the control connection is given the time to join."""
        if session.host is None and self._control is not None and not self._control.closing:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            session.waiters.add(waiter)
            try:
                self._report(session)
                await asyncio.wait((waiter,), timeout=HOST_WAIT)
            finally:
                session.waiters.discard(waiter)
        return session.host

    # Envelopes

    async def _on_message(self, party: Party, text: str | None) -> None:
        """Deal with one message. Whatever is wrong with it, the connection stays open."""
        message: object = None
        try:
            if text is None:
                raise Refusal("INVALID_MESSAGE", "a binary message; envelopes are text")
            try:
                message = wire.parse_json(text, finite=False)
            except ValueError:
                raise Refusal("INVALID_MESSAGE", "the message is not JSON") from None
            checked = check_envelope(message)
            if checked["type"] == "relay.join":
                await self._join(party, checked)
            elif checked["type"].startswith("relay."):
                raise Refusal("INVALID_MESSAGE", "the only relay message of a client is relay.join")
            elif party.session is None:
                raise Refusal("SESSION_NOT_ACTIVE", "join a relay session first")
            elif party.role == "agent":
                await self._from_agent(party, party.session, checked, text)
            else:
                self._from_host(party.session, checked, text)
        except Refusal as refusal:
            party.socket.send(error_envelope(refusal.code, str(refusal), id_of(message)))

    async def _from_agent(self, party: Party, session: RelaySession, message: JsonObject, text: str) -> None:
        host = await self._find_host(session)
        if host is None:
            raise Refusal("SESSION_NOT_ACTIVE", "no host has joined this relay session")
        session.ledger.ask(message, party)
        host.socket.send(text)
        await host.socket.drained()

    @staticmethod
    def _from_host(session: RelaySession, message: JsonObject, text: str) -> None:
        """An answer goes to the agent that asked, everything else to all agents."""
        reply_to, kind = message.get("replyTo"), message["type"]
        if reply_to is not None or kind in ANSWERS or kind == "error":
            asker = session.ledger.asker(reply_to, kind)
            if asker is not None:
                asker.socket.send(text)
                return
        for agent in session.agents:
            agent.socket.send(text)

    # Joining and leaving

    async def _join(self, party: Party, message: JsonObject) -> None:
        role, name = message["payload"].get("role"), message["payload"].get("sessionId")
        if role != "agent" and role not in HOST_ROLES:
            raise Refusal("INVALID_MESSAGE", "role must be agent, host or frontend")
        if not isinstance(name, str) or not 0 < len(name) <= MAX_SESSION_ID:
            raise Refusal("INVALID_MESSAGE", f"sessionId must be a string of 1 to {MAX_SESSION_ID} characters")
        if party.session is not None:
            if (party.role == "agent") != (role == "agent") or party.session.name != name:
                raise Refusal("INVALID_MESSAGE", "this connection has joined already, with another role or session")
        elif role == "agent":
            await self._join_as_agent(party, name)
        else:
            self._join_as_host(party, name)
        self._note("joined", party, name)
        party.socket.send(envelope("relay.joined", {"role": role, "sessionId": name}, message.get("id")))
        if party.session is not None and party.role == "host":
            party.session.wake()

    async def _join_as_agent(self, party: Party, name: str) -> None:
        session = self._sessions.setdefault(name, RelaySession(name))
        session.arriving += 1
        try:
            if session.host is None:
                await self._find_host(session)
            party.role, party.session = "agent", session
            session.agents[party] = None
        finally:
            session.arriving -= 1
            self._tidy(session)
        self._report(session)

    def _join_as_host(self, party: Party, name: str) -> None:
        session = self._sessions.setdefault(name, RelaySession(name))
        former = session.host
        if former is not None:
            former.session = None
            former.socket.close(REPLACED, "another host took this place")
            self._abandon(session, "the host was replaced")
        party.role, party.session = "host", session
        party.socket.max_message = MAX_FROM_HOST
        session.host = party
        self._report(session)

    def _leave(self, party: Party) -> None:
        session = party.session
        if session is None:
            return
        self._note("left", party, session.name)
        party.session = None
        session.agents.pop(party, None)
        if session.host is party:
            session.host = None
            self._abandon(session, "the host left")
        self._report(session)
        self._tidy(session)

    @staticmethod
    def _abandon(session: RelaySession, why: str) -> None:
        """Answer the requests that the host that left can't answer any more."""
        for asked in session.ledger.forget():
            asked.agent.socket.send(error_envelope("SESSION_NOT_ACTIVE", why, asked.id))

    def _tidy(self, session: RelaySession) -> None:
        if session.empty and self._sessions.get(session.name) is session:
            del self._sessions[session.name]


# ---------------------------------------------------------------------------------------------------------------------
# Command line


async def run(port: int, token: str | None, log: Log | None) -> int:
    """Serve until a signal arrives; return the exit status."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    relay = Relay(token, log)
    try:
        bound = await relay.start(port)
    except OSError as error:
        print(f"can't start: {error}", file=sys.stderr)
        return 1
    print(f"listening on http://{wire.LOOPBACK}:{bound}, WebSocket on {AGENT_PATH}", flush=True)
    await stop.wait()
    await relay.stop()
    return 0


def main() -> int:
    """Read the command line, then serve."""
    parser = argparse.ArgumentParser(description="relay for the external agent protocol")
    parser.add_argument(
        "--port", type=wire.port_number, required=True, metavar="N", help="port on 127.0.0.1; 0: a free one"
    )
    parser.add_argument("--log", metavar="FILE", help="append a line of JSON for everybody who joins or leaves")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    try:
        log = Log(arguments.log) if arguments.log else None
    except OSError as error:
        print(f"can't start: {error}", file=sys.stderr)
        return 1
    try:
        return asyncio.run(run(arguments.port, os.environ.get(TOKEN_VARIABLE) or None, log))
    finally:
        if log is not None:
            log.close()


if __name__ == "__main__":
    sys.exit(main())
