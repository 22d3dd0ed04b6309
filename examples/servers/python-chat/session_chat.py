#!/usr/bin/env python3
"""A server for session-chat: many chat sessions, created on demand, over one WebSocket connection.

Python 3.11, standard library only; HTTP and WebSocket are written by hand on asyncio streams.

    python3 session_chat.py --port 8770 --db chat.db [--idle SECONDS]

The parts, from the wire upwards:

* ``Connection``      the server side of one WebSocket (RFC 6455), with a single writer
* ``Store``           sessions and their history in SQLite
* ``Model``           a streaming chat-completions API, or an echo
* ``SessionManager``  the sessions in memory, one worker for each that is busy
* ``ChatServer``      HTTP requests, the handshake, and the messages of the protocol
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import binascii
import codecs
import contextlib
import dataclasses
import hashlib
import io
import ipaddress
import json
import logging
import math
import os
import re
import signal
import sqlite3
import sys
import threading
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any, NoReturn, TypeVar
from urllib.parse import SplitResult, urlsplit

HOST = "127.0.0.1"
CHAT_PATH = "/chat/ws"
HEALTH_PATH = "/health"

MAX_HEAD = 64 * 1024  # bytes of a request or response head
MAX_MESSAGE = 16 * 1024 * 1024  # bytes of one message from a client
MAX_BACKLOG = 64 * 1024 * 1024  # bytes that wait for a slow client before it is dropped
MAX_ANSWER = 16 * 1024 * 1024  # characters of one answer of the model
MAX_EVENT = 16 * 1024 * 1024  # bytes of one event in the model's stream
MAX_QUEUED = 64  # chats that wait behind a running turn of the same session

HEAD_TIMEOUT = 10.0  # for a complete request head
CLOSE_TIMEOUT = 1.0  # for the other side to finish a close handshake
CONNECT_TIMEOUT = 10.0  # for a connection to the model
SILENCE_TIMEOUT = 600.0  # between two reads from the model

SYSTEM_PROMPT = "You are a helpful assistant."
DEFAULT_MODEL = "default-model"

log = logging.getLogger("session-chat")
T = TypeVar("T")
JsonObject = dict[str, Any]


def utc_now() -> str:
    """The current time as ISO 8601, UTC, with milliseconds."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python reads and JSON does not know."""
    raise ValueError(f"{name} is not JSON")


def parse_json(text: str | bytes) -> Any:
    """Parse strict JSON; any defect is a ValueError. Numbers become floats, none of them is used."""
    try:
        return json.loads(text, parse_constant=refuse_constant, parse_int=float)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_head(head: bytes) -> tuple[str, dict[str, list[str]]]:
    """Split an HTTP head into its first line and its headers (names in lower case)."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    headers: dict[str, list[str]] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            raise ValueError("malformed header line")
        headers.setdefault(name.lower(), []).append(value.strip(" \t"))
    return first, headers


def has_token(values: list[str], token: str) -> bool:
    """Whether a comma-separated header holds a token, whatever its case."""
    return any(part.strip().lower() == token for value in values for part in value.split(","))


def is_loopback_origin(origin: str) -> bool:
    """Whether an Origin header names a page of this machine."""
    try:
        parts = urlsplit(origin)
        host = parts.hostname or ""
        if parts.scheme not in ("http", "https"):
            return False
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """End our side and throw away what still arrives, so that no reset overtakes our last words."""
    with contextlib.suppress(OSError, RuntimeError, TimeoutError):
        async with asyncio.timeout(CLOSE_TIMEOUT):
            await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
            while await reader.read(65536):
                pass


# ---------------------------------------------------------------------------------------------------------------------
# WebSocket


OP_CONTINUATION, OP_TEXT, OP_BINARY, OP_CLOSE, OP_PING, OP_PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
OPCODES = frozenset((OP_CONTINUATION, OP_TEXT, OP_BINARY, OP_CLOSE, OP_PING, OP_PONG))

CLOSE_GOING_AWAY, CLOSE_PROTOCOL, CLOSE_UNSUPPORTED, CLOSE_BAD_DATA, CLOSE_TOO_BIG = 1001, 1002, 1003, 1007, 1009
CLOSE_INTERNAL = 1011


class WebSocketFailure(Exception):
    """The client broke the rules: the connection is failed with this close code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def accept_key(key: str) -> str:
    """The answer to a client's Sec-WebSocket-Key."""
    digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode("ascii")).digest()
    return base64.b64encode(digest).decode("ascii")


def encode_frame(opcode: int, payload: bytes) -> bytes:
    """One unfragmented frame from server to client."""
    size = len(payload)
    if size < 126:
        head = bytes((0x80 | opcode, size))
    elif size < 65536:
        head = bytes((0x80 | opcode, 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((0x80 | opcode, 127)) + size.to_bytes(8, "big")
    return head + payload


def unmask(payload: bytes, mask: bytes) -> bytes:
    """Remove a client's mask, in one operation on a long integer."""
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")


def check_close_payload(payload: bytes) -> bytes:
    """Validate the payload of a client's close frame; return the payload to answer with."""
    if not payload:
        return b""
    if len(payload) == 1:
        raise WebSocketFailure(CLOSE_PROTOCOL, "close frame of one byte")
    code = int.from_bytes(payload[:2], "big")
    if not (1000 <= code <= 1003 or 1007 <= code <= 1014 or 3000 <= code <= 4999):
        raise WebSocketFailure(CLOSE_PROTOCOL, "invalid close code")
    try:
        payload[2:].decode("utf-8")
    except UnicodeDecodeError:
        raise WebSocketFailure(CLOSE_BAD_DATA, "close reason is not UTF-8") from None
    return payload[:2]


class Connection:
    """One WebSocket after its handshake. Everything goes out through one queue and one writing task."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._outbox: deque[bytes] = deque()
        self._backlog = 0
        self._wakeup = asyncio.Event()
        self._closing = False
        self._pump = asyncio.create_task(self._write_outbox())

    def send(self, message: JsonObject) -> None:
        """Queue a message. Never blocks; on a connection that closes or is gone it does nothing."""
        # ASCII only: lone surrogates survive as escapes, the frame is UTF-8 in any case.
        self._enqueue(encode_frame(OP_TEXT, json.dumps(message, separators=(",", ":")).encode("ascii")))

    def close(self, code: int, reason: str = "") -> None:
        """Start the close handshake behind everything that is queued."""
        self._close(code.to_bytes(2, "big") + reason.encode("utf-8")[:123])

    async def serve(self, on_text: Callable[[str], Any]) -> None:
        """Hand every text message to a coroutine function until the connection ends, however it ends."""
        try:
            async for text in self._messages():
                await on_text(text)
            await asyncio.wait({self._pump}, timeout=CLOSE_TIMEOUT)
        except WebSocketFailure as failure:
            self.close(failure.code, failure.reason)
            await asyncio.wait({self._pump}, timeout=CLOSE_TIMEOUT)
            await linger(self._reader, self._writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        except Exception:
            log.exception("connection failed")
            self.close(CLOSE_INTERNAL)
            await asyncio.wait({self._pump}, timeout=CLOSE_TIMEOUT)
        finally:
            self._closing = True
            self._pump.cancel()
            self._outbox.clear()
            # Flushes what the kernel has not taken yet, but not for ever.
            self._writer.close()
            asyncio.get_running_loop().call_later(CLOSE_TIMEOUT, self._writer.transport.abort)

    def abort(self) -> None:
        """Drop the connection without a word."""
        self._closing = True
        self._outbox.clear()
        self._writer.transport.abort()

    def _enqueue(self, frame: bytes) -> None:
        if self._closing:
            return
        self._outbox.append(frame)
        self._backlog += len(frame)
        self._wakeup.set()
        if self._backlog > MAX_BACKLOG:
            log.warning("client does not read its messages: dropped")
            self.abort()

    def _close(self, payload: bytes) -> None:
        if self._closing:
            return
        self._enqueue(encode_frame(OP_CLOSE, payload))
        self._closing = True
        asyncio.get_running_loop().call_later(CLOSE_TIMEOUT, self._writer.transport.abort)

    async def _write_outbox(self) -> None:
        """The only place that writes. Ends behind the close frame."""
        try:
            while not (self._closing and not self._outbox):
                if not self._outbox:
                    self._wakeup.clear()
                    await self._wakeup.wait()
                    continue
                frame = self._outbox.popleft()
                self._writer.write(frame)
                await self._writer.drain()
                self._backlog -= len(frame)
        except OSError:
            self.abort()

    async def _messages(self) -> AsyncIterator[str]:
        """The client's text messages, until the close handshake is done. Control frames are dealt with here."""
        decoder: codecs.IncrementalDecoder | None = None
        text = io.StringIO(newline="")  # not a list: a message of tiny fragments must not cost many times its size
        size = 0
        while True:
            final, opcode, length = await self._read_frame_head()
            if opcode < OP_CLOSE:
                if (opcode == OP_CONTINUATION) != (decoder is not None):
                    raise WebSocketFailure(CLOSE_PROTOCOL, "fragments out of order")
                if opcode == OP_BINARY:
                    raise WebSocketFailure(CLOSE_UNSUPPORTED, "text messages only")
                size += length
                if size > MAX_MESSAGE:
                    raise WebSocketFailure(CLOSE_TOO_BIG, "message too big")
            mask = await self._reader.readexactly(4)
            payload = unmask(await self._reader.readexactly(length), mask)

            if opcode == OP_CLOSE:
                self._close(check_close_payload(payload))
                return
            if opcode == OP_PING:
                self._enqueue(encode_frame(OP_PONG, payload))
            elif opcode != OP_PONG:
                decoder = decoder or codecs.getincrementaldecoder("utf-8")()
                try:
                    text.write(decoder.decode(payload, final))
                except UnicodeDecodeError:
                    raise WebSocketFailure(CLOSE_BAD_DATA, "text is not UTF-8") from None
                if final:
                    complete = text.getvalue()
                    decoder, text, size = None, io.StringIO(newline=""), 0
                    if not self._closing:
                        yield complete

    async def _read_frame_head(self) -> tuple[bool, int, int]:
        """Read and check the head of a frame, up to its mask: (final, opcode, length)."""
        first, second = await self._reader.readexactly(2)
        final, opcode, length = bool(first & 0x80), first & 0x0F, second & 0x7F
        if first & 0x70:
            raise WebSocketFailure(CLOSE_PROTOCOL, "reserved bits are set")
        if opcode not in OPCODES:
            raise WebSocketFailure(CLOSE_PROTOCOL, "unknown opcode")
        if not second & 0x80:
            raise WebSocketFailure(CLOSE_PROTOCOL, "frame is not masked")
        if opcode >= OP_CLOSE and (not final or length > 125):
            raise WebSocketFailure(CLOSE_PROTOCOL, "invalid control frame")
        if length >= 126:
            width, least = (2, 126) if length == 126 else (8, 65536)
            length = int.from_bytes(await self._reader.readexactly(width), "big")
            if length < least or length >> 63:
                raise WebSocketFailure(CLOSE_PROTOCOL, "invalid frame length")
        return final, opcode, length


# ---------------------------------------------------------------------------------------------------------------------
# Persistence


class StoreError(Exception):
    """The database refused to read or to write."""


@dataclasses.dataclass(frozen=True)
class StoredSession:
    """A session as the database knows it."""

    session_id: str
    created: bool
    history: list[JsonObject]


def pack(text: str) -> bytes:
    """Text as stored: any string of JSON, with NUL and lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def unpack(data: bytes) -> str:
    """The opposite of pack."""
    return data.decode("utf-8", "surrogatepass")


class Store:
    """Sessions and messages in SQLite. One thread does all the work, so the event loop never waits for a disk."""

    SCHEMA = """
        CREATE TABLE IF NOT EXISTS sessions (
            agent_id BLOB PRIMARY KEY, session_id TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL);
        CREATE TABLE IF NOT EXISTS messages (
            id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions (session_id),
            role TEXT NOT NULL, content BLOB NOT NULL, created_at TEXT NOT NULL);
        CREATE INDEX IF NOT EXISTS messages_of_session ON messages (session_id, id);
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._database: sqlite3.Connection | None = None

    async def open(self) -> None:
        """Open the file, create it when it is missing."""

        def work() -> None:
            self._database = sqlite3.connect(self._path, isolation_level=None, timeout=5.0)
            # The start does not wait for the disk.
            self._database.execute("PRAGMA synchronous = OFF")
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.executescript(self.SCHEMA)
            # NORMAL: a commit outlives the process, and no chat waits for the disk.
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.execute("PRAGMA foreign_keys = ON")

        await self._run(work)

    async def close(self) -> None:
        """Close the file behind all writes that were asked for."""

        def work() -> None:
            if self._database is not None:
                self._database.close()

        await self._run(work)
        self._thread.shutdown()

    async def find_session_id(self, agent_id: str) -> str | None:
        """The session id of an agent, or None; creates nothing."""

        def work() -> str | None:
            row = self._db.execute("SELECT session_id FROM sessions WHERE agent_id = ?", (pack(agent_id),)).fetchone()
            return row[0] if row else None

        return await self._run(work)

    async def load_or_create(self, agent_id: str) -> StoredSession:
        """The session of an agent with its history; a new one is on the disk when this returns."""

        def work() -> StoredSession:
            key = pack(agent_id)
            with self._transaction() as database:
                created = database.execute(
                    "INSERT OR IGNORE INTO sessions (agent_id, session_id, created_at) VALUES (?, ?, ?)",
                    (key, str(uuid.uuid4()), utc_now()),
                ).rowcount > 0
                (session_id,) = database.execute(
                    "SELECT session_id FROM sessions WHERE agent_id = ?", (key,)
                ).fetchone()
                rows = database.execute(
                    "SELECT role, content FROM messages WHERE session_id = ? ORDER BY id", (session_id,)
                ).fetchall()
            history = [{"role": role, "content": unpack(content)} for role, content in rows]
            return StoredSession(session_id, created, history)

        return await self._run(work)

    async def append(self, session_id: str, role: str, content: str) -> int:
        """Add a message to a history; return its number."""

        def work() -> int:
            with self._transaction() as database:
                number = database.execute(
                    "INSERT INTO messages (session_id, role, content, created_at) VALUES (?, ?, ?, ?)",
                    (session_id, role, pack(content), utc_now()),
                ).lastrowid
            return number or 0

        return await self._run(work)

    async def remove(self, number: int) -> None:
        """Take a message out of its history."""

        def work() -> None:
            with self._transaction() as database:
                database.execute("DELETE FROM messages WHERE id = ?", (number,))

        await self._run(work)

    @property
    def _db(self) -> sqlite3.Connection:
        if self._database is None:
            raise sqlite3.OperationalError("database is not open")
        return self._database

    @contextlib.contextmanager
    def _transaction(self) -> Any:
        database = self._db
        database.execute("BEGIN IMMEDIATE")
        try:
            yield database
            database.execute("COMMIT")
        except BaseException:
            if database.in_transaction:
                database.execute("ROLLBACK")
            raise

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (sqlite3.Error, RuntimeError, OverflowError) as error:
            raise StoreError(str(error)) from error


# ---------------------------------------------------------------------------------------------------------------------
# Model


class ModelError(Exception):
    """The model gave no (complete) answer. `refused`: it would refuse the same request again."""

    def __init__(self, text: str, refused: bool = False) -> None:
        super().__init__(text)
        self.refused = refused


class EventParser:
    """Server-sent events: takes bytes as they come, gives the data of each complete event."""

    LINE_END = re.compile(rb"\r\n|\n|\r")

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._line_size = 0
        self._data: list[bytes] = []
        self._data_size = 0
        self._skip_newline = False
        self._first_line = True

    def feed(self, chunk: bytes) -> list[str]:
        """Parse a chunk, which may begin and end anywhere."""
        if self._skip_newline and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._skip_newline = False
        if not chunk:
            return []
        self._skip_newline = chunk.endswith(b"\r")
        events: list[str] = []
        *ends, rest = self.LINE_END.split(chunk)
        for end in ends:
            self._line.append(end)
            self._end_line(events)
        self._line.append(rest)
        self._line_size += len(rest)
        if self._line_size + self._data_size > MAX_EVENT:
            raise ModelError("the model sent an event that is too big")
        return events

    def finish(self) -> list[str]:
        """The event that lacked its empty line when the stream ended, if any."""
        events: list[str] = []
        self._end_line(events)
        self._end_line(events)
        return events

    def _end_line(self, events: list[str]) -> None:
        line = b"".join(self._line)
        self._line.clear()
        self._line_size = 0
        if self._first_line:
            line = line.removeprefix(codecs.BOM_UTF8)
            self._first_line = False
        if line:
            field, _, value = line.partition(b":")
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
                self._data_size += len(value)
        else:
            if self._data:
                events.append(b"\n".join(self._data).decode("utf-8", "replace"))
            self._data.clear()
            self._data_size = 0


class HttpResponse:
    """The response to a request over asyncio streams: head and body of HTTP/1.1."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.status = 0
        self.headers: dict[str, list[str]] = {}

    async def read_head(self) -> None:
        """Read the head; interim responses (1xx) are skipped."""
        while self.status < 200:
            async with asyncio.timeout(SILENCE_TIMEOUT):
                head = await self._reader.readuntil(b"\r\n\r\n")
            first, self.headers = parse_head(head)
            match = re.fullmatch(r"HTTP/1\.[01] (\d{3})(?: .*)?", first)
            if match is None:
                raise ValueError("malformed status line")
            self.status = int(match[1])

    async def body(self) -> AsyncIterator[bytes]:
        """The body as it arrives, whichever way its end is marked."""
        if has_token(self.headers.get("transfer-encoding", []), "chunked"):
            while size := int((await self._line()).partition(b";")[0].strip(), 16):
                async for part in self._sized(size):
                    yield part
                await self._line()
        elif "content-length" in self.headers:
            async for part in self._sized(int(self.headers["content-length"][0])):
                yield part
        else:
            while part := await self._read(65536):
                yield part

    async def _sized(self, size: int) -> AsyncIterator[bytes]:
        if size < 0:
            raise ValueError("negative length")
        while size:
            part = await self._read(min(size, 65536))
            if not part:
                raise ValueError("response ended early")
            size -= len(part)
            yield part

    async def _line(self) -> bytes:
        async with asyncio.timeout(SILENCE_TIMEOUT):
            return await self._reader.readuntil(b"\n")

    async def _read(self, size: int) -> bytes:
        async with asyncio.timeout(SILENCE_TIMEOUT):
            return await self._reader.read(size)


class Model:
    """A streaming chat-completions API. Without an address it repeats what the user said."""

    def __init__(self, base_url: str | None, default_model: str) -> None:
        self.default_model = default_model
        self._url: SplitResult | None = None
        if base_url:
            self._url = urlsplit(base_url.rstrip("/") + "/chat/completions")
            if self._url.scheme not in ("http", "https") or not self._url.hostname:
                raise ValueError(f"no http or https address: {base_url!r}")
            _ = self._url.port  # a ValueError when it is no number

    async def answer(self, history: list[JsonObject], model: str, on_text: Callable[[str], None]) -> None:
        """Ask for the next message and report its text piece by piece. Cancelling this aborts the request."""
        if self._url is None:
            on_text(history[-1]["content"])
            return
        messages = [{"role": "system", "content": SYSTEM_PROMPT}, *history]
        body = json.dumps({"model": model, "messages": messages, "stream": True}).encode("ascii")
        try:
            await self._request(self._url, body, on_text)
        except TimeoutError:
            raise ModelError("the model did not answer in time") from None
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            raise ModelError("the model's response is incomplete") from None
        except (OSError, ValueError) as error:
            raise ModelError(f"the request to the model failed: {error}") from error

    async def _request(self, url: SplitResult, body: bytes, on_text: Callable[[str], None]) -> None:
        secure = url.scheme == "https"
        async with asyncio.timeout(CONNECT_TIMEOUT):
            reader, writer = await asyncio.open_connection(
                url.hostname, url.port or (443 if secure else 80), ssl=True if secure else None, limit=MAX_HEAD
            )
        try:
            target = url.path + (f"?{url.query}" if url.query else "")
            head = (
                f"POST {target} HTTP/1.1\r\nHost: {url.netloc.rpartition('@')[2]}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                "Accept: text/event-stream, application/json\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode("ascii") + body)
            # A server may answer before it has read everything, so nothing waits for the whole request to be sent.
            response = HttpResponse(reader)
            await response.read_head()
            if response.status != 200:
                raise await self._failure(response)
            kind = response.headers.get("content-type", [""])[0].partition(";")[0].strip().lower()
            if kind == "application/json":
                await self._read_whole(response, on_text)
            else:
                await self._read_stream(response, on_text)
        finally:
            writer.transport.abort()

    @staticmethod
    async def _collect(response: HttpResponse, limit: int) -> bytes:
        data = bytearray()
        async for part in response.body():
            data += part
            if len(data) > limit:
                raise ValueError("response too big")
        return bytes(data)

    @staticmethod
    def _error_text(value: Any) -> str:
        """The text of the `error` member of a response, in the forms that are in use."""
        if isinstance(value, dict):
            value = value.get("message")
        return value[:500] if isinstance(value, str) else ""

    async def _failure(self, response: HttpResponse) -> ModelError:
        detail = ""
        with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            data = parse_json(await self._collect(response, MAX_HEAD))
            if isinstance(data, dict):
                detail = self._error_text(data.get("error"))
        text = f"the model answered with status {response.status}" + (f": {detail}" if detail else "")
        return ModelError(text, refused=response.status in (400, 413, 422))

    async def _read_whole(self, response: HttpResponse, on_text: Callable[[str], None]) -> None:
        """An API that does not stream: one object, one piece of text."""
        self._take_choice(parse_json(await self._collect(response, MAX_EVENT)), "message", on_text)

    async def _read_stream(self, response: HttpResponse, on_text: Callable[[str], None]) -> None:
        parser = EventParser()
        finished = False
        async with contextlib.aclosing(response.body()) as body:
            async for chunk in body:
                for data in parser.feed(chunk):
                    if data.strip() == "[DONE]":
                        return
                    finished |= self._take_choice(parse_json(data), "delta", on_text)
        for data in parser.finish():
            if data.strip() == "[DONE]":
                return
            finished |= self._take_choice(parse_json(data), "delta", on_text)
        if not finished:
            raise ModelError("the model's answer ended early")

    def _take_choice(self, data: Any, member: str, on_text: Callable[[str], None]) -> bool:
        """Report the text of the first choice; return whether it is the last of its answer."""
        if not isinstance(data, dict):
            raise ValueError("the response is no object")
        if data.get("error"):
            raise ModelError("the model failed: " + (self._error_text(data["error"]) or "no reason given"))
        choices = data.get("choices")
        if not isinstance(choices, list):
            if member == "message":
                raise ValueError("the response has no choices")
            return False
        for choice in choices:
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                content = choice.get(member)
                text = content.get("content") if isinstance(content, dict) else None
                if isinstance(text, str) and text:
                    on_text(text)
                return choice.get("finish_reason") is not None
        return False


# ---------------------------------------------------------------------------------------------------------------------
# Sessions


def make_message(kind: str, agent_id: str | None, session_id: str | None, message: JsonObject) -> JsonObject:
    """A message of the server, with everything that each of them has."""
    return {
        "message_type": kind,
        "agent_id": agent_id,
        "session_id": session_id,
        "message": message,
        "timestamp": utc_now(),
    }


class Turn:
    """One chat: the user's message and the answer to it."""

    def __init__(self, connection: Connection, content: str, model: str) -> None:
        self.connection = connection
        self.content = content
        self.model = model
        self.interrupted = False
        self.watchers: list[Connection] = []  # other connections that interrupted it
        self._request: asyncio.Task[None] | None = None
        self._ending = False

    def interrupt(self, by: Connection | None = None) -> None:
        """End the turn at once. Once its answer is complete this has no effect: its result follows anyway."""
        if self._ending or (self._request is not None and self._request.done()):
            return
        if by is not None and by is not self.connection and by not in self.watchers:
            self.watchers.append(by)
        self.interrupted = True
        if self._request is not None:
            self._request.cancel()

    async def ask(self, model: Model, history: list[JsonObject], on_text: Callable[[str], None]) -> None:
        """Let the model answer. Comes back early when the turn is interrupted; raises what the model raises."""

        def pass_on(text: str) -> None:
            if not self.interrupted:
                on_text(text)

        try:
            if self.interrupted:
                return
            request = self._request = asyncio.create_task(model.answer(history, self.model, pass_on))
            try:
                await asyncio.wait({request})
            finally:
                request.cancel()
            error = None if request.cancelled() else request.exception()
            if request.cancelled() or self.interrupted:
                self.interrupted = True
            elif error is not None:
                raise error
        finally:
            self._ending = True


class Session:
    """A session in memory: its history, its running turn and the chats that wait behind it."""

    def __init__(self, agent_id: str) -> None:
        self.agent_id = agent_id
        self.session_id: str | None = None  # known once it is stored
        self.history: list[JsonObject] = []
        self.queue: deque[Turn] = deque()
        self.current: Turn | None = None
        self.worker: asyncio.Task[None] | None = None
        self.eviction: asyncio.TimerHandle | None = None

    def running(self) -> Turn | None:
        """The turn that runs, or is just about to."""
        return self.current or (self.queue[0] if self.queue else None)

    def tell(self, turn: Turn, kind: str, message: JsonObject) -> None:
        """Send a message of a turn to whoever started it; its result also to those who interrupted it."""
        complete = make_message(kind, self.agent_id, self.session_id, message)
        turn.connection.send(complete)
        if kind == "result":
            for watcher in turn.watchers:
                watcher.send(complete)

    def tell_error(self, turn: Turn, code: str, text: str) -> None:
        """Report why a turn fails."""
        self.tell(turn, "error", {"code": code, "text": text})


class SessionManager:
    """All sessions, by agent id. They belong to nobody's connection."""

    def __init__(self, store: Store, model: Model, idle: float) -> None:
        self._store = store
        self._model = model
        self._idle = idle
        self._sessions: dict[str, Session] = {}
        self._stopping = False

    def __len__(self) -> int:
        return len(self._sessions)

    async def session_id(self, agent_id: str) -> str | None:
        """The id of a session, in memory or not; None when there is none."""
        session = self._sessions.get(agent_id)
        if session is not None and session.session_id is not None:
            return session.session_id
        try:
            return await self._store.find_session_id(agent_id)
        except StoreError as error:
            log.warning("can't look up a session: %s", error)
            return None

    def submit(self, agent_id: str, connection: Connection, content: str, model: str | None) -> str | None:
        """Take a chat in; its turn starts now or behind those before it. Returns an error code when it can't."""
        if self._stopping:
            return "server_stopping"
        session = self._sessions.get(agent_id)
        if session is None:
            session = self._sessions[agent_id] = Session(agent_id)
        if len(session.queue) >= MAX_QUEUED:
            return "queue_full"
        if session.eviction is not None:
            session.eviction.cancel()
            session.eviction = None
        session.queue.append(Turn(connection, content, model or self._model.default_model))
        if session.worker is None:
            session.worker = asyncio.create_task(self._work(session))
        return None

    def interrupt(self, agent_id: str, connection: Connection) -> bool:
        """Interrupt the running turn of a session; False when nothing runs. Queued chats are left alone."""
        session = self._sessions.get(agent_id)
        turn = session.running() if session is not None else None
        if turn is None:
            return False
        turn.interrupt(connection)
        return True

    async def stop(self, timeout: float) -> None:
        """End all turns; what was said so far is stored. Chats that wait are refused."""
        self._stopping = True
        workers = []
        for session in self._sessions.values():
            running = session.running()
            for turn in session.queue:
                if turn is not running:
                    session.tell_error(turn, "server_stopping", "the server stops, this chat was not started")
            session.queue = deque(turn for turn in session.queue if turn is running)
            if running is not None:
                running.interrupt()
            if session.worker is not None:
                workers.append(session.worker)
        if workers:
            _, late = await asyncio.wait(workers, timeout=timeout)
            for worker in late:
                worker.cancel()

    async def _work(self, session: Session) -> None:
        """Run the turns of a session, one after the other, until none is left."""
        while session.queue:
            turn = session.current = session.queue.popleft()
            try:
                await self._run_turn(session, turn)
            except Exception:
                log.exception("turn failed")
                session.tell_error(turn, "internal_error", "the server failed")
                session.tell(turn, "result", {"subtype": "error"})
        session.current = None
        session.worker = None
        if session.session_id is None:
            self._forget(session)
        else:
            session.eviction = asyncio.get_running_loop().call_later(self._idle, self._forget, session)

    def _forget(self, session: Session) -> None:
        """Drop an idle session from memory; the next chat finds it in the database."""
        if session.worker is None and self._sessions.get(session.agent_id) is session:
            del self._sessions[session.agent_id]

    async def _run_turn(self, session: Session, turn: Turn) -> None:
        """One turn, from the first message to the result. Nothing is told before it is stored."""
        state = "active"
        try:
            if session.session_id is None:
                stored = await self._store.load_or_create(session.agent_id)
                session.session_id, session.history = stored.session_id, stored.history
                state = "created" if stored.created else "resumed"
            number = await self._store.append(session.session_id, "user", turn.content)
        except StoreError as error:
            log.error("can't store a chat: %s", error)
            session.tell_error(turn, "storage_failed", "the chat can't be stored")
            session.tell(turn, "result", {"subtype": "error"})
            return
        session.history.append({"role": "user", "content": turn.content})
        session.tell(turn, "system", {"subtype": "init", "session_id": session.session_id, "state": state})

        pieces: list[str] = []
        size = 0

        def on_text(text: str) -> None:
            nonlocal size
            size += len(text)
            if size > MAX_ANSWER:
                raise ModelError("the model's answer is too long")
            pieces.append(text)
            if text:
                session.tell(turn, "stream", {"text": text})

        failure: ModelError | None = None
        try:
            await turn.ask(self._model, list(session.history), on_text)
        except ModelError as error:
            failure = error
        subtype = "interrupted" if turn.interrupted else "error" if failure else "success"
        answer = "".join(pieces)

        if failure:
            session.tell_error(turn, "model_failed", str(failure))
        try:
            if subtype == "success" or answer:
                session.history.append({"role": "assistant", "content": answer})
                await self._store.append(session.session_id, "assistant", answer)
            elif failure and failure.refused:
                # It would be refused again with every later chat, and the session would be lost.
                session.history.pop()
                await self._store.remove(number)
        except StoreError as error:
            log.error("can't store an answer: %s", error)
            session.tell_error(turn, "storage_failed", "the answer can't be stored")
            subtype = "error"
        if subtype == "success":
            session.tell(turn, "assistant", {"role": "assistant", "content": answer})
        session.tell(turn, "result", {"subtype": subtype})


# ---------------------------------------------------------------------------------------------------------------------
# Server


class BadRequest(Exception):
    """An HTTP request that is answered with an error status."""

    def __init__(self, status: str, text: str, *headers: str) -> None:
        super().__init__(text)
        self.status = status
        self.headers = headers


class BadMessage(Exception):
    """A message of a client that is answered with an error message."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class ChatServer:
    """Listens, does the handshakes, and turns messages of clients into calls of the session manager."""

    def __init__(self, sessions: SessionManager) -> None:
        self._sessions = sessions
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._connections: set[Connection] = set()

    async def start(self, port: int) -> int:
        """Listen on loopback; return the port."""
        self._server = await asyncio.start_server(self._on_connect, HOST, port, limit=MAX_HEAD)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """End turns and connections, in well under a second."""
        if self._server is not None:
            self._server.close()
        await self._sessions.stop(timeout=0.3)
        for connection in self._connections:
            connection.close(CLOSE_GOING_AWAY, "server stops")
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=0.3)
            for task in late:
                task.cancel()

    # HTTP

    async def _on_connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve_http(reader, writer)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve_http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request for each connection: either the handshake of a WebSocket or a short answer."""
        method = ""
        try:
            async with asyncio.timeout(HEAD_TIMEOUT):
                try:
                    head = await reader.readuntil(b"\r\n\r\n")
                except asyncio.LimitOverrunError:
                    raise BadRequest("431 Request Header Fields Too Large", "the request head is too big") from None
            try:
                first, headers = parse_head(head)
            except ValueError as error:
                raise BadRequest("400 Bad Request", str(error)) from None
            match = re.fullmatch(r"([A-Z]+) (\S+) HTTP/1\.([01])", first)
            if match is None:
                raise BadRequest("400 Bad Request", "malformed request line")
            method = match[1]
            path = match[2].partition("?")[0]
            if match[3] == "1" and len(headers.get("host", [])) != 1:
                raise BadRequest("400 Bad Request", "exactly one Host header is needed")
            if not all(is_loopback_origin(origin) for origin in headers.get("origin", [])):
                raise BadRequest("403 Forbidden", "origin not allowed")
            if path not in (HEALTH_PATH, CHAT_PATH):
                raise BadRequest("404 Not Found", "nothing here")
            allowed = ("GET", "HEAD") if path == HEALTH_PATH else ("GET",)
            if method not in allowed:
                raise BadRequest("405 Method Not Allowed", "method not allowed", f"Allow: {', '.join(allowed)}")
            key = self._check_handshake(headers, match[3]) if path == CHAT_PATH else ""
        except BadRequest as error:
            self._respond(writer, method, error.status, {"error": str(error)}, *error.headers)
            await linger(reader, writer)
            return
        if path == HEALTH_PATH:
            state = {"status": "ok", "connections": len(self._connections), "sessions": len(self._sessions)}
            self._respond(writer, method, "200 OK", state)
            await linger(reader, writer)
            return
        writer.write(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept_key(key)}\r\n\r\n".encode("ascii")
        )
        connection = Connection(reader, writer)
        self._connections.add(connection)
        try:
            await connection.serve(lambda text: self._on_message(connection, text))
        finally:
            self._connections.discard(connection)

    @staticmethod
    def _respond(writer: asyncio.StreamWriter, method: str, status: str, body: JsonObject, *headers: str) -> None:
        data = json.dumps(body).encode("ascii")
        lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(data)}"]
        lines += ["Connection: close", *headers]
        writer.write("\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + (b"" if method == "HEAD" else data))

    @staticmethod
    def _check_handshake(headers: dict[str, list[str]], minor_version: str) -> str:
        """Check the opening handshake of a WebSocket; return the client's key."""
        if not has_token(headers.get("upgrade", []), "websocket"):
            raise BadRequest("426 Upgrade Required", "this is a WebSocket", "Upgrade: websocket")
        if minor_version != "1" or not has_token(headers.get("connection", []), "upgrade"):
            raise BadRequest("400 Bad Request", "no valid upgrade")
        if headers.get("sec-websocket-version") != ["13"]:
            raise BadRequest("426 Upgrade Required", "WebSocket version 13 only", "Sec-WebSocket-Version: 13")
        keys = headers.get("sec-websocket-key", [])
        try:
            if len(keys) != 1 or len(base64.b64decode(keys[0], validate=True)) != 16:
                raise ValueError
        except (ValueError, binascii.Error):
            raise BadRequest("400 Bad Request", "invalid Sec-WebSocket-Key") from None
        return keys[0]

    # Messages

    async def _on_message(self, connection: Connection, text: str) -> None:
        """Deal with one message. Whatever is wrong with it, the connection stays open."""
        agent_id: str | None = None
        try:
            try:
                message = parse_json(text)
            except ValueError:
                raise BadMessage("invalid_json", "the message is not JSON") from None
            if not isinstance(message, dict):
                raise BadMessage("invalid_message", "the message is no object")
            if isinstance(message.get("agent_id"), str):
                agent_id = message["agent_id"]
            match message.get("type"):
                case "chat":
                    self._on_chat(connection, message)
                case "interrupt":
                    self._on_interrupt(connection, message)
                case "ping":
                    connection.send(make_message("pong", None, None, {}))
                case _:
                    raise BadMessage("unknown_type", "type must be chat, interrupt or ping")
        except BadMessage as error:
            session_id = await self._sessions.session_id(agent_id) if agent_id else None
            details = {"code": error.code, "text": str(error)}
            connection.send(make_message("error", agent_id, session_id, details))

    @staticmethod
    def _agent_id(message: JsonObject) -> str:
        agent_id = message.get("agent_id")
        if not isinstance(agent_id, str) or not agent_id:
            raise BadMessage("invalid_agent_id", "agent_id must be a string that is not empty")
        return agent_id

    def _on_chat(self, connection: Connection, message: JsonObject) -> None:
        agent_id = self._agent_id(message)
        content = message.get("content")
        if not isinstance(content, str):
            raise BadMessage("invalid_content", "content must be a string")
        options = message.get("options", {})
        if not isinstance(options, dict):
            raise BadMessage("invalid_options", "options must be an object")
        model = options.get("model", "")
        if not isinstance(model, str):
            raise BadMessage("invalid_options", "options.model must be a string")
        refusal = self._sessions.submit(agent_id, connection, content, model)
        if refusal == "queue_full":
            raise BadMessage(refusal, "too many chats wait for this agent_id")
        if refusal is not None:
            raise BadMessage(refusal, "the server stops")

    def _on_interrupt(self, connection: Connection, message: JsonObject) -> None:
        if not self._sessions.interrupt(self._agent_id(message), connection):
            raise BadMessage("not_running", "no turn of this agent_id is running")


# ---------------------------------------------------------------------------------------------------------------------
# Command line


def port_number(text: str) -> int:
    """A TCP port; 0 takes a free one."""
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError
    return port


def seconds(text: str) -> float:
    """A duration, not negative and not infinite."""
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise ValueError
    return value


async def run(port: int, database: str, idle: float, model: Model) -> int:
    """Serve until a signal arrives; return the exit status."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    store = Store(database)
    server = ChatServer(SessionManager(store, model, idle))
    try:
        await store.open()
        bound = await server.start(port)
    except (StoreError, OSError) as error:
        print(f"can't start: {error}", file=sys.stderr)
        await store.close()
        return 1
    print(f"listening on http://{HOST}:{bound}, WebSocket on {CHAT_PATH}", flush=True)
    await stop.wait()
    # Everything that was told is stored; a disk that hangs must not keep the process.
    watchdog = threading.Timer(0.9, os._exit, (0,))
    watchdog.daemon = True
    watchdog.start()
    await server.stop()
    await store.close()
    return 0


def main() -> int:
    """Read the command line and the environment, then serve."""
    parser = argparse.ArgumentParser(description="session-chat server")
    parser.add_argument("--port", type=port_number, required=True, metavar="N", help="port on 127.0.0.1; 0: a free one")
    parser.add_argument("--db", required=True, metavar="FILE", help="SQLite file of sessions, created when missing")
    parser.add_argument(
        "--idle", type=seconds, default=600.0, metavar="SECONDS", help="idle sessions leave memory after this time"
    )
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    try:
        model = Model(os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_MODEL") or DEFAULT_MODEL)
    except ValueError as error:
        parser.error(f"OPENAI_BASE_URL: {error}")
    return asyncio.run(run(arguments.port, arguments.db, arguments.idle, model))


if __name__ == "__main__":
    sys.exit(main())
