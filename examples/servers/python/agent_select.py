#!/usr/bin/env python3
"""A server for session-level selection of the main agent, over SSE + HTTP and over WebSocket.

Python 3.11, standard library only. Section numbers (§) in the docstrings refer to the document
"SSE 模式支持会话级主代理选择" (agent-select); "wire" means the default binding of that document.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import binascii
import hashlib
import ipaddress
import json
import math
import os
import re
import signal
import ssl
import struct
import sys
import tomllib
import traceback
import uuid
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

MAX_HEAD = 32 * 1024  # bytes of a request line with its headers
MAX_BODY = 1024 * 1024  # bytes of a request body, or of a WebSocket message
MAX_OUTBOX = 16 * 1024 * 1024  # bytes that wait for a slow client before it is cut off
MAX_MODEL_ANSWER = 16 * 1024 * 1024  # bytes of one streamed answer of the model
MAX_SESSIONS = 10_000
MAX_HISTORY = 100  # turns that a session remembers
MAX_TOOL_ROUNDS = 25  # requests to the model within one turn
IDLE_TIMEOUT, BODY_TIMEOUT, MODEL_TIMEOUT, HEARTBEAT = 75.0, 30.0, 600.0, 15.0  # seconds

Json = dict[str, Any]


class Refusal(Exception):
    """A request that is refused: an HTTP status, or an `error` event with an optional errorCode."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code = status, code

    def event_data(self) -> Json:
        return ({"errorCode": self.code} if self.code else {}) | {"message": str(self)}


class ModelError(Exception):
    """The model could not be reached, refused, or answered nonsense."""


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def new_id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex}"


def dump_json(value: Any) -> bytes:
    """JSON in pure ASCII: lone surrogates survive as escapes, and no line break gets into an event."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError("number out of range")
    return value


def parse_json(raw: bytes | str) -> Any:
    """Strict JSON: UTF-8, no NaN or Infinity; every fault is a ValueError."""
    text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_message(raw: bytes | str) -> Json:
    """What a client sends is always one JSON object."""
    try:
        value = parse_json(raw)
    except ValueError:
        raise Refusal(400, "The body is not valid JSON") from None
    if not isinstance(value, dict):
        raise Refusal(400, "The body must be a JSON object")
    return value


# --- agents -------------------------------------------------------------------------------------


def _parameters(name: str, description: str) -> Json:
    prop = {"type": "string", "description": description}
    return {"type": "object", "properties": {name: prop}, "required": [name]}


TOOLS: dict[str, tuple[str, Json]] = {
    "run_command": ("Run a shell command, once the user has confirmed it.", _parameters("command", "The command line")),
    "ask_user": ("Ask the user a question.", _parameters("question", "The question")),
    "read_notes": ("Read the notes of the project.", _parameters("topic", "What the notes are about")),
    "record_requirement": ("Write a requirement down.", _parameters("requirement", "One sentence")),
    "inspect_variable": ("Look at a variable of the program.", _parameters("name", "Its name")),
}
COMMON_TOOLS = ("run_command", "ask_user")


def function_tool(name: str) -> Json:
    """A tool as the chat-completions API wants it; unknown names take any object."""
    description, parameters = TOOLS.get(name, (f"The tool {name}.", {"type": "object"}))
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


@dataclass(frozen=True)
class Agent:
    id: str
    name: str
    description: str
    prompt: str
    tools: tuple[str, ...] = COMMON_TOOLS

    def info(self) -> Json:
        """AgentInfo (§4.4)."""
        return {"id": self.id, "name": self.name, "description": self.description}


BUILT_IN = (
    Agent("general", "General", "通用主代理",
          "You are a helpful general assistant.", (*COMMON_TOOLS, "read_notes")),
    Agent("requirement_analyzer", "Requirement Analyzer", "需求分析代理",
          "You analyse requirements: find gaps, contradictions and edge cases.", (*COMMON_TOOLS, "record_requirement")),
    Agent("debugger", "Debugger", "调试代理",
          "You debug programs: reproduce, narrow down, explain the cause.", (*COMMON_TOOLS, "inspect_variable")),
)  # fmt: skip


def check_agent_id(agent_id: Any) -> str:
    """The form of an agentId (§3.6, §4.1): empty comes before malformed; the id is never trimmed or folded."""
    if agent_id is None or agent_id == "":
        raise Refusal(400, "agentId cannot be empty", "invalid_agent_id")
    if not isinstance(agent_id, str) or not re.fullmatch(r"[a-z0-9_-]+", agent_id):
        raise Refusal(400, "agentId contains invalid characters. Allowed: [a-z0-9_-]", "invalid_agent_id_format")
    return agent_id


class Catalogue:
    """The built-in agents (§1.1), then the custom ones of a TOML file that may change while we run (§2.2)."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.signature: tuple[int, ...] | None = None
        self.custom: tuple[Agent, ...] = ()
        self.refresh()  # so that faults of the file are logged at the start

    def refresh(self) -> None:
        """Re-read a changed file. A broken one keeps the last good list; a file that is gone holds no agents."""
        if self.path is None:
            return
        previous, self.signature = self.signature, self._signature(self.path)
        if self.signature == previous:
            return
        try:
            self.custom = self._parse(tomllib.loads(self.path.read_text("utf-8")))
        except FileNotFoundError:
            log(f"{self.path}: not there, so there are no custom agents")
            self.custom = ()
        except (OSError, ValueError, RecursionError) as error:
            log(f"{self.path}: {error}; keeping the last good list")

    @staticmethod
    def _signature(path: Path) -> tuple[int, ...]:
        try:
            stat = path.stat()
        except OSError:
            return ()
        return stat.st_mtime_ns, stat.st_size

    def _parse(self, document: Json) -> tuple[Agent, ...]:
        tables = document.get("agents", [])
        if not isinstance(tables, list):
            raise ValueError("'agents' must be an array of tables")
        agents: dict[str, Agent] = {}
        taken = {agent.id for agent in BUILT_IN}
        for table in tables:
            try:
                agent = self._agent(table)
                if agent.id in taken:
                    raise ValueError(f"the id {agent.id!r} is already taken")
            except (Refusal, ValueError) as error:
                log(f"{self.path}: agent skipped: {error}")
                continue
            taken.add(agent.id)
            agents[agent.id] = agent
        return tuple(agents.values())

    @staticmethod
    def _agent(table: Any) -> Agent:
        if not isinstance(table, dict):
            raise ValueError("not a table")
        agent_id = check_agent_id(table.get("id"))
        texts = [table.get("name", agent_id), table.get("description", ""), table.get("prompt", f"You are {agent_id}.")]
        tools = table.get("tools", list(COMMON_TOOLS))
        if not isinstance(tools, list) or not all(isinstance(text, str) for text in texts + tools):
            raise ValueError(f"{agent_id}: name, description, prompt must be strings and tools an array of strings")
        return Agent(agent_id, *texts, tools=tuple(dict.fromkeys(tools)))

    def all(self) -> tuple[Agent, ...]:
        self.refresh()
        return BUILT_IN + self.custom

    def infos(self) -> list[Json]:
        return [agent.info() for agent in self.all()]

    def find(self, agent_id: str) -> Agent | None:
        return next((agent for agent in self.all() if agent.id == agent_id), None)

    def get(self, agent_id: str) -> Agent:
        """Case-sensitive look-up (§4.1); an unknown id is agent_not_found (§3.3)."""
        if (agent := self.find(agent_id)) is None:
            raise Refusal(400, f"Invalid agent ID: {agent_id}", "agent_not_found")
        return agent


# --- connections, sessions, turns ---------------------------------------------------------------


class Connection:
    """One event stream to one client, whatever carries it. Events queue up here until a pump writes them."""

    def __init__(self, cut: Callable[[], None]) -> None:
        self.id = new_id("conn")
        self.default: Session | None = None
        self.outbox: asyncio.Queue[bytes | None] = asyncio.Queue()  # None ends the stream
        self.waiting = 0
        self._cut = cut

    def send(self, kind: str, data: Json, request_id: Any = None) -> None:
        event: Json = {"type": kind, "data": data, "timestamp": datetime.now(timezone.utc).isoformat()}
        if request_id is not None:
            event["requestId"] = request_id
        item = dump_json(event)
        self.waiting += len(item)
        if self.waiting > MAX_OUTBOX:
            self._cut()
        else:
            self.outbox.put_nowait(item)

    async def pump(self, writer: asyncio.StreamWriter, frame: Callable[[bytes], bytes], heartbeat: bytes) -> None:
        """Write the events, and a heartbeat when there are none, until the stream ends."""
        while True:
            try:
                async with asyncio.timeout(HEARTBEAT):
                    item = await self.outbox.get()
            except TimeoutError:
                writer.write(heartbeat)
            else:
                if item is None:
                    return
                self.waiting -= len(item)
                writer.write(frame(item))
            await writer.drain()


@dataclass
class Pending:
    """A request to the user that waits for its answer."""

    event: str
    data: Json
    answer: asyncio.Future[Any]


@dataclass(eq=False)
class Session:
    """A conversation with its own agent (§4.3)."""

    agent: Agent
    id: str = field(default_factory=lambda: new_id("sess"))
    connection: Connection | None = None
    turn: Turn | None = None
    pending: dict[str, Pending] = field(default_factory=dict)
    history: deque[list[Json]] = field(default_factory=lambda: deque(maxlen=MAX_HISTORY))

    @property
    def busy(self) -> bool:
        """agent_busy (§4.3): a task is running, or an interaction is pending."""
        return self.turn is not None or bool(self.pending)

    def info(self) -> Json:
        return {"id": self.id, "agentId": self.agent.id, "busy": self.busy, "bound": self.connection is not None}


class Turn:
    """One answer to one chat message, with the agent that the session had when it began (§3.5)."""

    def __init__(self, model: Model, session: Session, agent: Agent, text: str) -> None:
        self.model, self.session, self.agent = model, session, agent
        self.messages: list[Json] = [{"role": "user", "content": text}]
        self.said = ""  # all the text so far
        self.task = asyncio.create_task(self.run())

    def emit(self, kind: str, data: Json, request_id: str | None = None) -> None:
        """Tell the session's connection of this moment: a load may have moved it."""
        if self.session.turn is self and self.session.connection:
            self.session.connection.send(kind, data | {"sessionId": self.session.id}, request_id)

    async def run(self) -> None:
        failure = None
        try:
            await self.converse()
        except ModelError as error:
            failure = str(error)
        except Exception:
            log(traceback.format_exc())
            failure = "Internal error"
        if self.session.turn is not self:
            return
        if failure is None:
            self.session.history.append(self.messages)
        else:
            self.emit("error", {"message": failure})
        connection, self.session.turn = self.session.connection, None  # idle before the client hears of it
        if connection:
            connection.send("complete", {"sessionId": self.session.id})

    async def converse(self) -> None:
        """Ask the model until it answers without calling a tool."""
        system = {"role": "system", "content": self.agent.prompt}
        earlier = [message for turn in self.session.history for message in turn]
        for _ in range(MAX_TOOL_ROUNDS):
            text, calls = await self.ask_model([system, *earlier, *self.messages])
            if text or not calls:
                self.emit("message", {"role": "assistant", "content": text})
            self.messages.append({"role": "assistant", "content": text or None if calls else text})
            if not calls:
                return
            self.messages[-1]["tool_calls"] = calls
            for call in calls:
                result = await self.run_tool(call["id"], **call["function"])
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        raise ModelError("The model keeps calling tools")

    async def ask_model(self, messages: list[Json]) -> tuple[str, list[Json]]:
        """One streamed answer: its text, and the tool calls put together from their pieces."""
        text, calls = "", ToolCalls()
        async with aclosing(self.model.stream(messages, [function_tool(name) for name in self.agent.tools])) as deltas:
            async for delta in deltas:
                calls.add(delta.get("tool_calls"))
                if (piece := delta.get("content")) and isinstance(piece, str):
                    text += piece
                    self.said += piece
                    self.emit("message", {"role": "assistant", "content": piece, "streaming": True})
        return text, calls.finish()

    async def run_tool(self, call_id: str, name: str, arguments: str) -> str:
        """The result of a tool. Nothing is ever executed: every result is a fixed text or the user's own."""
        if name not in self.agent.tools:
            return f"The tool {name} is not available."
        try:
            values = parse_json(arguments or "{}")
        except ValueError:
            values = None
        if not isinstance(values, dict):
            return "The arguments must be a JSON object."
        request = {"toolName": name, "toolCallId": call_id, "arguments": values}
        if name == "run_command":
            approved = is_approval(await self.ask_user("tool_confirmation_request", request))
            return "The command was confirmed; it succeeded without output." if approved else "The user said no."
        if name == "ask_user":
            request["question"] = values.get("question", "")
            answer = await self.ask_user("user_question_request", request)
            return answer if isinstance(answer, str) else dump_json(answer).decode()
        return f"{name}: done, nothing to report."

    async def ask_user(self, event: str, data: Json) -> Any:
        request_id = new_id("req")
        pending = Pending(event, data, asyncio.get_running_loop().create_future())
        self.session.pending[request_id] = pending
        self.emit(event, data, request_id)
        return await pending.answer

    def interrupted(self) -> list[Json]:
        """What an aborted turn leaves in the history: the question, and the answer as far as it got."""
        return self.messages[:1] + ([{"role": "assistant", "content": self.said}] if self.said else [])


def is_approval(response: Any) -> bool:
    """Clients say yes in several ways; anything else is a no."""
    if isinstance(response, dict):
        return any(is_approval(response.get(key)) for key in ("approved", "confirmed", "response", "result"))
    if isinstance(response, str):
        return response.lower() in {"approve", "approved", "approve_always", "yes", "y", "ok", "allow", "accept",
                                    "confirm", "confirmed", "true"}  # fmt: skip
    return response is True


class Hub:
    """All connections and sessions, and what the messages of a client do to them (§4)."""

    def __init__(self, catalogue: Catalogue, model: Model) -> None:
        self.catalogue, self.model = catalogue, model
        self.connections: dict[str, Connection] = {}
        self.sessions: OrderedDict[str, Session] = OrderedDict()  # the least recently used first
        self.handlers: dict[str, Callable[[Json, Session, Connection], None]] = {
            "chat": self.chat,
            "switch_agent": self.switch_agent,
            "abort": self.abort,
            "tool_confirmation_response": self.respond,
            "user_question_response": self.respond,
        }

    # connections and their sessions

    def connect(self, cut: Callable[[], None]) -> Connection:
        """§3.1, §4.3: `connected`, at once followed by `agent_list`; only then is the connection known to anyone."""
        connection = Connection(cut)
        connection.send("connected", {"connectionId": connection.id})
        connection.send("agent_list", {"agents": self.catalogue.infos(), "currentAgentId": BUILT_IN[0].id})
        self.connections[connection.id] = connection
        return connection

    def disconnect(self, connection: Connection) -> None:
        """Clean up what only this client could have ended; its sessions stay, to be loaded again."""
        self.connections.pop(connection.id, None)
        for session in self.sessions_of(connection):
            self.cancel(session)
            session.connection = None

    def sessions_of(self, connection: Connection) -> list[Session]:
        return [session for session in self.sessions.values() if session.connection is connection]

    def connection_of(self, message: Json) -> Connection | None:
        connection_id = message.get("connectionId")
        return self.connections.get(connection_id) if isinstance(connection_id, str) else None

    def bind(self, session: Session, connection: Connection) -> None:
        """A session has one connection (§4.3). Binding moves it, and its open questions with it."""
        previous, session.connection = session.connection, connection
        if previous and previous is not connection and previous.default is session:
            previous.default = None
        connection.default = session
        if previous is not connection:
            for request_id, pending in session.pending.items():
                connection.send(pending.event, pending.data | {"sessionId": session.id}, request_id)

    def create_session(self, connection: Connection, initial: Any = None) -> Session:
        agent = BUILT_IN[0]
        if initial is not None:
            agent = self.catalogue.get(check_agent_id(initial))
        if len(self.sessions) >= MAX_SESSIONS:
            self.drop(self.most_dispensable())
        session = Session(agent)
        self.sessions[session.id] = session
        self.bind(session, connection)
        return session

    def most_dispensable(self) -> Session:
        idle = [session for session in self.sessions.values() if not session.busy]
        if not idle:
            raise Refusal(503, "Too many sessions")
        return next((session for session in idle if session.connection is None), idle[0])

    def find_session(self, session_id: Any) -> Session | None:
        if not isinstance(session_id, str) or session_id not in self.sessions:
            return None
        self.sessions.move_to_end(session_id)
        return self.sessions[session_id]

    def load_session(self, connection: Connection, session_id: Any) -> Session:
        if (session := self.find_session(session_id)) is None:
            raise Refusal(404, "Session not found", "session_not_found")
        self.bind(session, connection)
        return session

    def drop(self, session: Session) -> None:
        self.abort_session(session, session.connection)
        if session.connection and session.connection.default is session:
            session.connection.default = None
        session.connection = None
        del self.sessions[session.id]

    def cancel(self, session: Session) -> bool:
        """End a turn and its open questions, at once: the session is idle when this returns."""
        session.pending.clear()
        if session.turn is None:
            return False
        turn, session.turn = session.turn, None
        session.history.append(turn.interrupted())
        turn.task.cancel()  # this closes the request to the model, too
        return True

    def abort_session(self, session: Session, client: Connection | None) -> None:
        if self.cancel(session) and client:
            client.send("complete", {"sessionId": session.id, "cancelled": True})

    # messages of the client

    def handle(self, message: Json, sender: Connection | None) -> None:
        """Carry a message out. Its outcome is an event; a Refusal means that there is nobody to send one to."""
        kind = message.get("type")
        if not isinstance(kind, str) or kind not in self.handlers:
            raise Refusal(400, "Unknown message type")
        session, client = self.route(message, sender)
        try:
            if session is None:
                named = message.get("sessionId") is not None
                text = "Session not found" if named else "No session is bound to this connection"
                raise Refusal(404, text, "session_not_found")
            self.handlers[kind](message, session, client)
        except Refusal as refusal:
            agents = {"availableAgents": self.catalogue.infos()} if kind == "switch_agent" else {}
            client.send("error", refusal.event_data() | agents)

    def route(self, message: Json, sender: Connection | None) -> tuple[Session | None, Connection]:
        """The session that a message is about (§4.1), and the connection that hears of it (§4.3): the session's."""
        if (session_id := message.get("sessionId")) is not None:
            session = self.find_session(session_id)
        elif sender is not None:
            session = sender.default
        else:
            raise Refusal(400, "The message needs a sessionId or the connectionId of an open connection")
        client = (session and session.connection) or sender
        if client is None:
            raise Refusal(400 if session else 404, "The session is not open" if session else "Session not found")
        return session, client

    def switch_agent(self, message: Json, session: Session, client: Connection) -> None:
        """§3.2 to §3.6. A failure leaves the session's agent as it was."""
        agent_id = check_agent_id(message.get("agentId"))
        if session.busy:
            raise Refusal(409, "The session is busy; abort the running task first", "agent_busy")
        previous, session.agent = session.agent, self.catalogue.get(agent_id)
        data = {"previousAgentId": previous.id, "currentAgentId": session.agent.id, "agentName": session.agent.name}
        client.send("agent_switched", data)

    def chat(self, message: Json, session: Session, _: Connection) -> None:
        """Start a turn in the background, with the agent's configuration of this moment (§3.2, §3.5)."""
        text = message.get("content")
        if not isinstance(text, str):
            raise Refusal(400, "content must be a string")
        if session.busy:
            raise Refusal(409, "The session is busy with an earlier message")
        if session.connection is None:
            raise Refusal(409, "The session must be loaded on a connection first")
        agent = self.catalogue.find(session.agent.id) or session.agent
        session.turn = Turn(self.model, session, agent, text)

    def abort(self, _: Json, session: Session, client: Connection) -> None:
        """§3.5: ends a running turn and a pending interaction alike; on an idle session it does nothing."""
        self.abort_session(session, client)

    def respond(self, message: Json, session: Session, client: Connection) -> None:
        """The user's answer to a confirmation or a question; it reaches only the client's own sessions."""
        candidates = self.sessions_of(client) if message.get("sessionId") is None else [session]
        request_id = message.get("requestId")
        event = str(message["type"]).replace("_response", "_request")
        for candidate in candidates:
            pending = candidate.pending.get(request_id) if isinstance(request_id, str) else None
            if pending and pending.event == event:
                del candidate.pending[request_id]
                pending.answer.set_result(message.get("response"))
                return
        raise Refusal(404, "No such request is pending")


# --- HTTP framing, shared by the server and the client of the model -------------------------------

HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*?)[ \t]*")


def parse_head(raw: bytes) -> tuple[str, dict[str, str]]:
    """The first line, and the headers by lower-case name; repeated ones are joined by commas."""
    first, *lines = raw.decode("latin-1").strip("\r\n").split("\r\n")
    headers: dict[str, str] = {}
    for line in lines:
        if (match := HEADER.fullmatch(line)) is None:
            raise Refusal(400, "Malformed header")
        name, value = match[1].lower(), match[2]
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return first, headers


async def read_line(reader: asyncio.StreamReader) -> bytes:
    try:
        return (await reader.readuntil(b"\r\n"))[:-2]
    except asyncio.LimitOverrunError:
        raise Refusal(400, "Line too long") from None


async def body_parts(reader: asyncio.StreamReader, headers: dict[str, str], to_eof: bool) -> AsyncIterator[bytes]:
    """The pieces of a body as they arrive. Without any length it ends at once, or (`to_eof`) with the stream."""
    coding, length = headers.get("transfer-encoding"), headers.get("content-length")
    if coding is not None:
        if length is not None:
            raise Refusal(400, "Content-Length together with Transfer-Encoding")
        if coding.lower() != "chunked":
            raise Refusal(501, "Unsupported Transfer-Encoding")
        while size := parse_size((await read_line(reader)).split(b";")[0].strip(), 16):
            async for part in exactly(reader, size):
                yield part
            if await read_line(reader):
                raise Refusal(400, "Malformed chunk")
        trailer = 0
        while line := await read_line(reader):
            if (trailer := trailer + len(line)) > MAX_HEAD:
                raise Refusal(431, "Trailer too large")
    elif length is not None:
        async for part in exactly(reader, parse_size(length.encode("latin-1"), 10)):
            yield part
    elif to_eof:
        while part := await reader.read(65536):
            yield part


def parse_size(text: bytes, base: int) -> int:
    if not re.fullmatch(rb"[0-9a-fA-F]+" if base == 16 else rb"[0-9]+", text):
        raise Refusal(400, "Malformed length")
    if len(text.lstrip(b"0")) > 15:
        raise Refusal(413, "Body too large")
    return int(text.lstrip(b"0") or b"0", base)


async def exactly(reader: asyncio.StreamReader, size: int) -> AsyncIterator[bytes]:
    if size > MAX_MODEL_ANSWER:
        raise Refusal(413, "Body too large")
    while size:
        if not (part := await reader.read(min(size, 65536))):
            raise asyncio.IncompleteReadError(b"", size)
        size -= len(part)
        yield part


# --- the model ------------------------------------------------------------------------------------


class ToolCalls:
    """Puts tool calls together: they are streamed in pieces, told apart by their index."""

    def __init__(self) -> None:
        self.by_index: dict[int, Json] = {}

    def add(self, pieces: Any) -> None:
        for piece in pieces if isinstance(pieces, list) else ():
            function = as_dict(as_dict(piece).get("function"))
            index = as_dict(piece).get("index", 0)
            if not isinstance(index, int) or not 0 <= index < 64:
                raise ModelError("The model sent a malformed tool call")
            call = self.by_index.setdefault(index, {"id": "", "name": "", "arguments": ""})
            call["id"] = call["id"] or str(as_dict(piece).get("id") or "")
            for key in ("name", "arguments"):
                call[key] += str(function.get(key) or "")

    def finish(self) -> list[Json]:
        return [
            {"id": call["id"] or new_id("call"), "type": "function",
             "function": {"name": call["name"], "arguments": call["arguments"]}}
            for _, call in sorted(self.by_index.items())
        ]  # fmt: skip


def as_dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


class Model:
    """A client of a chat-completions API that streams. Each request has a connection of its own."""

    def __init__(self, base_url: str) -> None:
        url = urlsplit(base_url.rstrip("/"))
        if base_url and (url.scheme not in ("http", "https") or not url.hostname):
            raise ValueError(f"not an http(s) URL: {base_url}")
        self.host, self.port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
        self.authority, self.path = url.netloc.rpartition("@")[2], f"{url.path}/chat/completions"
        self.tls = ssl.create_default_context() if url.scheme == "https" else None

    async def stream(self, messages: list[Json], tools: list[Json]) -> AsyncIterator[Json]:
        """The deltas of one answer. Leaving or cancelling this generator closes the connection."""
        if not self.host:
            raise ModelError("No model is configured")
        body: Json = {"model": "default", "stream": True, "messages": messages}
        if tools:
            body["tools"] = tools
        writer = None
        try:
            async with asyncio.timeout(MODEL_TIMEOUT):
                reader, writer = await asyncio.open_connection(self.host, self.port, ssl=self.tls)
                writer.write(self._request(dump_json(body)))
                await writer.drain()
                headers = await self._response_head(reader)
            async for delta in self._deltas(reader, headers):
                yield delta
        except TimeoutError:
            raise ModelError("The model did not answer in time") from None
        except (OSError, EOFError, ValueError, Refusal, asyncio.LimitOverrunError) as error:
            raise ModelError(f"The model failed: {error}") from None
        finally:
            if writer:
                writer.transport.abort()

    def _request(self, body: bytes) -> bytes:
        lines = (f"POST {self.path} HTTP/1.1", f"Host: {self.authority}", "Content-Type: application/json",
                 "Accept: text/event-stream", f"Content-Length: {len(body)}", "Connection: close", "", "")  # fmt: skip
        return "\r\n".join(lines).encode("latin-1") + body

    @staticmethod
    async def _response_head(reader: asyncio.StreamReader) -> dict[str, str]:
        status = 100
        while 100 <= status < 200:
            first, headers = parse_head(await reader.readuntil(b"\r\n\r\n"))
            match = re.match(r"HTTP/1\.[01] (\d{3})", first)
            status = int(match[1]) if match else 0
        if status != 200:
            raise ModelError(f"The model answered with HTTP status {status}")
        return headers

    async def _deltas(self, reader: asyncio.StreamReader, headers: dict[str, str]) -> AsyncIterator[Json]:
        """The `data:` lines of the answer, up to `[DONE]`."""
        finished = False
        async with aclosing(self._lines(reader, headers)) as lines:
            async for line in lines:
                if not line.startswith(b"data:"):
                    continue
                if (data := line[5:].strip()) == b"[DONE]":
                    return
                chunk = as_dict(parse_json(data))
                if error := chunk.get("error"):
                    raise ModelError(f"The model failed: {as_dict(error).get('message') or 'no reason given'}")
                for choice in chunk.get("choices") or ():
                    finished = finished or bool(as_dict(choice).get("finish_reason"))
                    yield as_dict(as_dict(choice).get("delta"))
        if not finished:
            raise ModelError("The model's answer broke off")

    @staticmethod
    async def _lines(reader: asyncio.StreamReader, headers: dict[str, str]) -> AsyncIterator[bytes]:
        rest, total = b"", 0
        async with aclosing(body_parts(reader, headers, to_eof=True)) as parts:
            while True:
                async with asyncio.timeout(MODEL_TIMEOUT):
                    part = await anext(parts, b"")
                if (total := total + len(part)) > MAX_MODEL_ANSWER:
                    raise ModelError("The model's answer is too long")
                *lines, rest = (rest + part).split(b"\n")
                for line in lines if part else [rest]:
                    yield line
                if not part:
                    return


# --- WebSocket (RFC 6455, the server's side) --------------------------------------------------------

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


class WebSocketClosed(Exception):
    """The connection is to be closed with this code."""

    def __init__(self, code: int | None) -> None:
        super().__init__(code)
        self.code = code


def ws_frame(opcode: int, payload: bytes) -> bytes:
    if len(payload) < 126:
        return struct.pack("!BB", 0x80 | opcode, len(payload)) + payload
    if len(payload) < 65536:
        return struct.pack("!BBH", 0x80 | opcode, 126, len(payload)) + payload
    return struct.pack("!BBQ", 0x80 | opcode, 127, len(payload)) + payload


def ws_accept(key: str) -> str:
    try:
        if len(base64.b64decode(key, validate=True)) != 16:
            raise ValueError
    except (ValueError, binascii.Error):
        raise Refusal(400, "Malformed Sec-WebSocket-Key") from None
    return base64.b64encode(hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()).decode()


class WebSocket:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def read_frame(self, room: int) -> tuple[bool, int, bytes]:
        """One frame, unmasked: (is it final, opcode, payload)."""
        first, second = await self.reader.readexactly(2)
        opcode, size = first & 0x0F, second & 0x7F
        control = opcode >= CLOSE
        known = opcode in (CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG)
        if first & 0x70 or not known or not second & 0x80 or (control and (size > 125 or not first & 0x80)):
            raise WebSocketClosed(1002)
        if size >= 126:
            size = int.from_bytes(await self.reader.readexactly(2 if size == 126 else 8))
        if not control and size > room:
            raise WebSocketClosed(1009)
        mask = await self.reader.readexactly(4)
        payload = await self.reader.readexactly(size)
        key = int.from_bytes((mask * (size // 4 + 1))[:size])
        return bool(first & 0x80), opcode, (int.from_bytes(payload) ^ key).to_bytes(size)

    async def receive(self) -> str:
        """The next whole text message; control frames in between are dealt with."""
        message, started = bytearray(), False
        while True:
            final, opcode, payload = await self.read_frame(MAX_BODY - len(message))
            if opcode == CLOSE:
                raise WebSocketClosed(self.close_code(payload))
            if opcode == PING:
                self.writer.write(ws_frame(PONG, payload))
                await self.writer.drain()
            if opcode >= CLOSE:
                continue
            if started != (opcode == CONTINUATION):
                raise WebSocketClosed(1002)
            if opcode == BINARY:
                raise WebSocketClosed(1003)
            started = True
            message += payload
            if final:
                try:
                    return message.decode("utf-8")
                except UnicodeDecodeError:
                    raise WebSocketClosed(1007) from None

    @staticmethod
    def close_code(payload: bytes) -> int | None:
        """The code to echo: the peer's own if it is a legal one."""
        if not payload:
            return None
        code = int.from_bytes(payload[:2])
        if len(payload) == 1 or not (code in (*range(1000, 1004), *range(1007, 1015)) or 3000 <= code < 5000):
            return 1002
        try:
            payload[2:].decode("utf-8")
        except UnicodeDecodeError:
            return 1007
        return code


# --- the HTTP server --------------------------------------------------------------------------------


@dataclass
class Request:
    method: str
    path: str
    version: str
    headers: dict[str, str]
    body: bytes

    @property
    def keep_alive(self) -> bool:
        return self.version == "HTTP/1.1" and "close" not in tokens(self.headers.get("connection", ""))


def tokens(value: str) -> list[str]:
    return [token.strip().lower() for token in value.split(",")]


def is_loopback_origin(origin: str) -> bool:
    try:
        url = urlsplit(origin)
        if url.scheme not in ("http", "https") or not url.hostname:
            return False
        return url.hostname == "localhost" or ipaddress.ip_address(url.hostname).is_loopback
    except ValueError:
        return False


class HttpConnection:
    """One TCP connection of a client: requests one after the other, until one of them becomes a stream."""

    def __init__(self, hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.hub, self.reader, self.writer = hub, reader, writer
        self.cors: dict[str, str] = {}
        self.streaming = False
        self.routes: dict[str, dict[str, Callable[[Request], Json]]] = {
            "/health": {"GET": lambda _: {"status": "ok"}},
            "/message": {"POST": self.post_message},
            "/session/create": {"POST": self.create_session},
            "/session/load": {"POST": self.load_session},
            "/session/list": {"GET": self.list_sessions},
        }
        self.streams: dict[str, Callable[[Request], Coroutine[Any, Any, None]]] = {
            "/events": self.serve_events,
            "/agents/ws": self.serve_websocket,
        }

    async def serve(self) -> None:
        try:
            while await self.serve_one():
                pass
        except Refusal as refusal:  # the request could not even be read: where the next one begins is unknown
            self.answer(refusal.status, {"success": False, "error": str(refusal)}, {"Connection": "close"})
            await self.linger()
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        except Exception:
            log(traceback.format_exc())
        finally:
            self.writer.close()

    async def serve_one(self) -> bool:
        """Answer one request; False when the connection is over."""
        self.cors = {}
        if (request := await self.read_request()) is None:
            return False
        extra = {} if request.keep_alive else {"Connection": "close"}
        silent = request.method == "HEAD"
        try:
            self.check_origin(request)
            if request.method == "GET" and request.path in self.streams:
                await self.streams[request.path](request)
                return False
            handler = self.find_route(request)
            payload = {"success": True} | handler(request) if handler else None
            self.answer(200 if handler else 204, payload, extra, silent)
        except Refusal as refusal:
            self.answer(refusal.status, {"success": False, "error": str(refusal)}, extra, silent)
        except Exception:
            if self.streaming:
                raise
            log(traceback.format_exc())
            self.answer(500, {"success": False, "error": "Internal error"}, extra, silent)
        await self.writer.drain()
        return request.keep_alive

    async def read_request(self) -> Request | None:
        try:
            async with asyncio.timeout(IDLE_TIMEOUT):
                head = await self.reader.readuntil(b"\r\n\r\n")
        except (EOFError, TimeoutError):
            return None
        except asyncio.LimitOverrunError:
            raise Refusal(431, "Headers too large") from None
        first, headers = parse_head(head)
        match = re.fullmatch(r"([A-Z]+) (\S+) (HTTP/1\.[01])", first)
        if match is None or (match[3] == "HTTP/1.1" and "host" not in headers):
            raise Refusal(400, "Malformed request")
        method, target, version = match.groups()
        path = (urlsplit(target).path or "/") if target.startswith("http://") else target.partition("?")[0]
        try:
            async with asyncio.timeout(BODY_TIMEOUT):
                body = await self.read_body(headers)
        except TimeoutError:
            raise Refusal(408, "The body did not arrive in time") from None
        return Request(method, path, version, headers, body)

    async def read_body(self, headers: dict[str, str]) -> bytes:
        length = headers.get("content-length", "0")
        if "transfer-encoding" not in headers and parse_size(length.encode("latin-1"), 10) > MAX_BODY:
            raise Refusal(413, "Body too large")
        if headers.get("expect", "").lower() == "100-continue":
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = bytearray()
        async for part in body_parts(self.reader, headers, to_eof=False):
            body += part
            if len(body) > MAX_BODY:
                raise Refusal(413, "Body too large")
        return bytes(body)

    async def linger(self) -> None:
        """Let a client that is still sending read the answer before the connection breaks."""
        with suppress(OSError, TimeoutError):
            self.writer.write_eof()
            async with asyncio.timeout(1):
                while await self.reader.read(65536):
                    pass

    def answer(self, status: int, payload: Json | None, extra: dict[str, str], silent: bool = False) -> None:
        body = b"" if payload is None else dump_json(payload)
        headers = self.cors | extra
        if payload is not None:
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        self.write_head(status, headers)
        self.writer.write(b"" if silent else body)

    def write_head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))

    def check_origin(self, request: Request) -> None:
        """Only pages that come from this machine may talk to us."""
        if (origin := request.headers.get("origin")) is None:
            return
        if not is_loopback_origin(origin):
            raise Refusal(403, "Origin not allowed")
        self.cors = {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}

    def find_route(self, request: Request) -> Callable[[Request], Json] | None:
        """The handler of a request; None for a preflight (OPTIONS) of a path that exists."""
        if request.path in self.streams:
            methods: dict[str, Callable[[Request], Json] | None] = {"GET": None}
        elif request.path in self.routes:
            methods = dict(self.routes[request.path])
        elif re.fullmatch(r"/session/[^/]+", request.path):
            methods = {"DELETE": self.delete_session}
        else:
            raise Refusal(404, "Not found")
        allowed = ", ".join([*methods, "OPTIONS"])
        if request.method == "OPTIONS":
            self.cors |= {"Allow": allowed}
            self.cors |= {"Access-Control-Allow-Methods": allowed, "Access-Control-Allow-Headers": "Content-Type"}
            return None
        if request.method not in methods:
            self.cors |= {"Allow": allowed}
            raise Refusal(405, "Method not allowed")
        return methods[request.method]

    # requests with a plain answer

    def post_message(self, request: Request) -> Json:
        message = parse_message(request.body)
        self.hub.handle(message, self.hub.connection_of(message))
        return {}

    def create_session(self, request: Request) -> Json:
        message = parse_message(request.body)
        return {"session": self.hub.create_session(self.sender(message), message.get("initialAgentId")).info()}

    def load_session(self, request: Request) -> Json:
        message = parse_message(request.body)
        return {"session": self.hub.load_session(self.sender(message), message.get("sessionId")).info()}

    def sender(self, message: Json) -> Connection:
        if (connection := self.hub.connection_of(message)) is None:
            raise Refusal(400, "connectionId does not name an open connection")
        return connection

    def list_sessions(self, _: Request) -> Json:
        return {"sessions": [session.info() for session in self.hub.sessions.values()]}

    def delete_session(self, request: Request) -> Json:
        session = self.hub.find_session(unquote(request.path.removeprefix("/session/")))
        if session is None:
            raise Refusal(404, "Session not found")
        self.hub.drop(session)
        return {}

    # requests that become a stream

    async def run_stream(self, connection: Connection, pump: Coroutine[Any, Any, None],
                         read: Coroutine[Any, Any, None]) -> BaseException | None:  # fmt: skip
        """Write events and read the client, until either ends; the exception that ended the reading, if any."""
        tasks = [asyncio.create_task(pump), asyncio.create_task(read)]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.hub.disconnect(connection)
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        return results[1] if isinstance(results[1], BaseException) else None

    async def serve_events(self, request: Request) -> None:
        """GET /events: each event is one `data:` line (wire)."""
        chunked = request.version == "HTTP/1.1"
        headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "Connection": "close"}
        self.write_head(200, self.cors | headers | ({"Transfer-Encoding": "chunked"} if chunked else {}))
        self.streaming = True

        def chunk(data: bytes) -> bytes:
            return b"%x\r\n%b\r\n" % (len(data), data) if chunked else data

        async def read() -> None:
            while await self.reader.read(65536):
                pass  # nothing more is expected; this only notices the end

        connection = self.hub.connect(self.writer.transport.abort)
        pump = connection.pump(self.writer, lambda item: chunk(b"data: %b\n\n" % item), chunk(b": heartbeat\n\n"))
        await self.run_stream(connection, pump, read())
        if chunked and not self.writer.is_closing():
            self.writer.write(b"0\r\n\r\n")

    async def serve_websocket(self, request: Request) -> None:
        """GET /agents/ws: the same events and messages on a WebSocket (wire, extension)."""
        headers = request.headers
        wanted = {"upgrade": "websocket", "connection": "upgrade"}
        upgrade = all(token in tokens(headers.get(name, "")) for name, token in wanted.items())
        if not upgrade or headers.get("sec-websocket-version") != "13":
            self.cors |= {"Upgrade": "websocket", "Connection": "upgrade", "Sec-WebSocket-Version": "13"}
            raise Refusal(426, "A WebSocket handshake of version 13 is expected")
        accept = ws_accept(headers.get("sec-websocket-key", ""))
        self.write_head(101, {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept})
        self.streaming = True
        socket = WebSocket(self.reader, self.writer)

        async def read() -> None:
            while True:
                self.websocket_message(connection, await socket.receive())

        connection = self.hub.connect(self.writer.transport.abort)
        pump = connection.pump(self.writer, lambda item: ws_frame(TEXT, item), ws_frame(PING, b""))
        ended = await self.run_stream(connection, pump, read())
        code = ended.code if isinstance(ended, WebSocketClosed) else 1001
        if not self.writer.is_closing():
            self.writer.write(ws_frame(CLOSE, b"" if code is None else struct.pack("!H", code)))
            await self.linger()

    def websocket_message(self, connection: Connection, text: str) -> None:
        """Like POST /message and /session/*, but every refusal is an `error` event."""
        request_id = None
        try:
            message = parse_message(text)
            request_id = message.get("requestId")
            kind = message.get("type")
            if kind == "session_create":
                session = self.hub.create_session(connection, message.get("initialAgentId"))
                connection.send("session_created", {"sessionId": session.id}, request_id)
            elif kind == "session_load":
                session = self.hub.load_session(connection, message.get("sessionId"))
                connection.send("session_loaded", {"sessionId": session.id}, request_id)
            else:
                self.hub.handle(message, connection)
        except Refusal as refusal:
            connection.send("error", refusal.event_data(), request_id)
        except Exception:
            log(traceback.format_exc())
            connection.send("error", {"message": "Internal error"}, request_id)


# --- start and stop ---------------------------------------------------------------------------------


async def run(host: str, port: int, hub: Hub) -> None:
    """Serve until SIGTERM or SIGINT, then end all streams properly."""
    clients: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        clients.add(task)
        task.add_done_callback(clients.discard)
        await HttpConnection(hub, reader, writer).serve()

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = await asyncio.start_server(accept, host, port, limit=MAX_HEAD)
    shown = f"[{host}]" if ":" in host else host
    print(f"listening on http://{shown}:{server.sockets[0].getsockname()[1]}", flush=True)
    await stop.wait()
    server.close()
    for connection in list(hub.connections.values()):
        connection.outbox.put_nowait(None)
    if clients:
        await asyncio.wait(clients, timeout=0.3)
    for task in clients:
        task.cancel()
    await asyncio.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description="A server for session-level selection of the main agent.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0, the default, takes a free one")
    parser.add_argument("--agents", type=Path, metavar="FILE", help="TOML file with custom agents ([[agents]] tables)")
    parser.add_argument("--model", default=os.environ.get("OPENAI_BASE_URL", ""), metavar="URL",
                        help="base URL of a chat-completions API (default: $OPENAI_BASE_URL)")  # fmt: skip
    options = parser.parse_args()
    try:
        model = Model(options.model)
    except ValueError as error:
        parser.error(f"--model: {error}")
    try:
        asyncio.run(run(options.host, options.port, Hub(Catalogue(options.agents), model)))
    except (OSError, OverflowError) as error:
        sys.exit(f"cannot listen on {options.host}:{options.port}: {error}")


if __name__ == "__main__":
    main()
