"""HTTP/1.1 and WebSocket (RFC 6455) by hand on asyncio streams, for both ends of a connection.

Used by relay.py and host.py; no program of its own. Everything listens on loopback only.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import codecs
import contextlib
import dataclasses
import hashlib
import ipaddress
import json
import logging
import os
import re
import resource
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1"

MAX_HEAD = 16 * 1024  # bytes of a request or response head
HIGH_WATER = 8 * 1024 * 1024  # unsent bytes above which no further message is read
MAX_BACKLOG = 32 * 1024 * 1024  # unsent bytes above which the peer is dropped

HEAD_TIMEOUT = 10.0  # for a complete request
CLOSE_TIMEOUT = 1.0  # for the peer to finish a close handshake

JsonObject = dict[str, Any]

log = logging.getLogger("wire")


# ---------------------------------------------------------------------------------------------------------------------
# JSON


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("number out of range")
    return number


def parse_json(text: str | bytes, *, finite: bool = True) -> Any:
    """Parse strict JSON; any defect is a ValueError. Without ``finite``, numbers of any size are let through."""
    try:
        if finite:
            return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
        return json.loads(text, parse_constant=_refuse_constant, parse_int=float)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def write_json(value: Any) -> bytes:
    """Compact JSON in UTF-8. Lone surrogates, which UTF-8 can't hold, are written as escapes."""
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


# ---------------------------------------------------------------------------------------------------------------------
# WebSocket


OP_CONTINUATION, OP_TEXT, OP_BINARY, OP_CLOSE, OP_PING, OP_PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
OPCODES = frozenset((OP_CONTINUATION, OP_TEXT, OP_BINARY, OP_CLOSE, OP_PING, OP_PONG))

CLOSE_GOING_AWAY, CLOSE_PROTOCOL, CLOSE_BAD_DATA, CLOSE_TOO_BIG, CLOSE_INTERNAL = 1001, 1002, 1007, 1009, 1011


class WebSocketFailure(Exception):
    """The peer broke the rules: the connection is failed with this close code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def accept_key(key: str) -> str:
    """The answer to a Sec-WebSocket-Key."""
    digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode("ascii")).digest()
    return base64.b64encode(digest).decode("ascii")


def apply_mask(payload: bytes, mask: bytes) -> bytes:
    """Put a mask on or take it off, in one operation on a long integer."""
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")


def encode_frame(opcode: int, payload: bytes, *, masked: bool) -> bytes:
    """One unfragmented frame."""
    size, bit = len(payload), 0x80 if masked else 0
    if size < 126:
        head = bytes((0x80 | opcode, bit | size))
    elif size < 65536:
        head = bytes((0x80 | opcode, bit | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((0x80 | opcode, bit | 127)) + size.to_bytes(8, "big")
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + apply_mask(payload, mask)


def read_close_code(payload: bytes) -> int | None:
    """Validate the payload of a close frame; return its code."""
    if not payload:
        return None
    code = int.from_bytes(payload[:2], "big")
    if len(payload) == 1 or not (1000 <= code <= 1003 or 1007 <= code <= 1014 or 3000 <= code <= 4999):
        raise WebSocketFailure(CLOSE_PROTOCOL, "invalid close frame")
    try:
        payload[2:].decode("utf-8")
    except UnicodeDecodeError:
        raise WebSocketFailure(CLOSE_BAD_DATA, "close reason is not UTF-8") from None
    return code


class Socket:
    """One WebSocket after its handshake, on the side of the server or of the client."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, client: bool, max_message: int
    ) -> None:
        self.max_message = max_message
        self.close_code: int | None = None  # the peer's, when it sent one
        self._reader = reader
        self._writer = writer
        self._client = client
        self._closing = False
        writer.transport.set_write_buffer_limits(high=HIGH_WATER)

    @property
    def closing(self) -> bool:
        """Whether nothing can be sent any more."""
        return self._closing or self._writer.transport.is_closing()

    def send(self, text: str | bytes) -> bool:
        """Send a text message without blocking; False when the connection closes or is gone."""
        return self._write(OP_TEXT, text.encode("utf-8") if isinstance(text, str) else text)

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Start the close handshake."""
        self._close(code.to_bytes(2, "big") + reason.encode("utf-8")[:123])

    def abort(self) -> None:
        """Drop the connection without a word."""
        self._closing = True
        self._writer.transport.abort()

    async def drained(self) -> None:
        """Wait while the peer is far behind in reading. A lost connection counts as drained."""
        with contextlib.suppress(OSError):
            await self._writer.drain()

    async def serve(self, on_message: Callable[[str | None], Awaitable[None]]) -> None:
        """Hand over every message until the connection ends, however it ends; None stands for a binary message."""
        try:
            await self._read_messages(on_message)
        except WebSocketFailure as failure:
            self.close(failure.code, str(failure))
            await linger(self._reader, self._writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        except Exception:
            log.exception("connection failed")
            self.close(CLOSE_INTERNAL)
        finally:
            self._closing = True
            self._writer.close()
            asyncio.get_running_loop().call_later(CLOSE_TIMEOUT, self._writer.transport.abort)

    def _write(self, opcode: int, payload: bytes) -> bool:
        if self.closing:
            return False
        if self._writer.transport.get_write_buffer_size() > MAX_BACKLOG:
            log.warning("a peer does not read its messages: dropped")
            self.abort()
            return False
        self._writer.write(encode_frame(opcode, payload, masked=self._client))
        return True

    def _close(self, payload: bytes) -> None:
        if not self._closing:
            self._write(OP_CLOSE, payload)
            self._closing = True
            asyncio.get_running_loop().call_later(CLOSE_TIMEOUT, self._writer.transport.abort)

    async def _read_messages(self, on_message: Callable[[str | None], Awaitable[None]]) -> None:
        """Read until the close handshake is done. Control frames are dealt with here."""
        started: int | None = None  # the opcode of a message of which more fragments follow
        parts = bytearray()
        decoder = codecs.getincrementaldecoder("utf-8")()
        while True:
            final, opcode, length = await self._read_frame_head()
            if opcode < OP_CLOSE:
                if (opcode == OP_CONTINUATION) != (started is not None):
                    raise WebSocketFailure(CLOSE_PROTOCOL, "fragments out of order")
                if len(parts) + length > self.max_message:
                    raise WebSocketFailure(CLOSE_TOO_BIG, "message too big")
            if self._client:
                payload = await self._reader.readexactly(length)
            else:
                mask = await self._reader.readexactly(4)
                payload = apply_mask(await self._reader.readexactly(length), mask)

            if opcode == OP_CLOSE:
                self.close_code = read_close_code(payload)
                self._close(payload[:2])
                return
            if opcode == OP_PING:
                self._write(OP_PONG, payload)
                await self.drained()
            if opcode >= OP_CLOSE:
                continue
            kind = opcode if started is None else started
            started = None if final else kind
            parts += payload
            if kind == OP_TEXT:
                try:
                    decoder.decode(payload, final)  # a defect is found with its fragment
                except UnicodeDecodeError:
                    raise WebSocketFailure(CLOSE_BAD_DATA, "text is not UTF-8") from None
            if final:
                message = parts.decode("utf-8") if kind == OP_TEXT else None
                parts = bytearray()
                decoder.reset()
                if not self.closing:
                    await on_message(message)
                    await self.drained()
                    await asyncio.sleep(0)  # others get their turn, however much has arrived here

    async def _read_frame_head(self) -> tuple[bool, int, int]:
        """Read and check the head of a frame, up to its mask: (final, opcode, length)."""
        first, second = await self._reader.readexactly(2)
        final, opcode, length = bool(first & 0x80), first & 0x0F, second & 0x7F
        if first & 0x70:
            raise WebSocketFailure(CLOSE_PROTOCOL, "reserved bits are set")
        if opcode not in OPCODES:
            raise WebSocketFailure(CLOSE_PROTOCOL, "unknown opcode")
        if bool(second & 0x80) == self._client:
            raise WebSocketFailure(CLOSE_PROTOCOL, "wrong masking")
        if opcode >= OP_CLOSE and (not final or length > 125):
            raise WebSocketFailure(CLOSE_PROTOCOL, "invalid control frame")
        if length >= 126:
            width, least = (2, 126) if length == 126 else (8, 65536)
            length = int.from_bytes(await self._reader.readexactly(width), "big")
            if length < least or length >> 63:
                raise WebSocketFailure(CLOSE_PROTOCOL, "invalid frame length")
        return final, opcode, length


async def linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """End our side and throw away what still arrives, so that no reset overtakes our last words."""
    with contextlib.suppress(OSError, RuntimeError, TimeoutError):
        async with asyncio.timeout(CLOSE_TIMEOUT):
            await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
            while await reader.read(65536):
                pass


async def connect(url: str, *, max_message: int, headers: dict[str, str] | None = None) -> Socket:
    """Open a WebSocket as a client. Every failure is an OSError."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80, limit=MAX_HEAD)
    key = base64.b64encode(os.urandom(16)).decode("ascii")
    lines = [
        f"GET {parts.path} HTTP/1.1",
        f"Host: {parts.netloc}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        *(f"{name}: {value}" for name, value in (headers or {}).items()),
    ]
    try:
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        head = await reader.readuntil(b"\r\n\r\n")
        first, fields = parse_head(head)
        if not re.match(r"HTTP/1\.1 101( |$)", first) or fields.get("sec-websocket-accept") != [accept_key(key)]:
            raise ConnectionError(f"no WebSocket at {url}: {first[:80]}")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
        writer.transport.abort()
        raise ConnectionError(f"no WebSocket at {url}: {error}") from None
    except BaseException:
        writer.transport.abort()
        raise
    return Socket(reader, writer, client=True, max_message=max_message)


# ---------------------------------------------------------------------------------------------------------------------
# HTTP


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
        name = parts.hostname or ""
        return parts.scheme in ("http", "https") and (name == "localhost" or ipaddress.ip_address(name).is_loopback)
    except ValueError:
        return False


class HttpError(Exception):
    """A request that is answered with an error status."""

    def __init__(self, status: str, text: str, *headers: str) -> None:
        super().__init__(text)
        self.status = status
        self.headers = headers


@dataclasses.dataclass(frozen=True)
class Response:
    """A short answer: in JSON or, as text, a page."""

    status: str
    body: JsonObject | str


class Request:
    """One request. There is one for each connection."""

    def __init__(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connections: int
    ) -> None:
        self._reader = reader
        self._writer = writer
        self.connections = connections  # of the server, this one included
        self.method = ""
        try:
            first, self.headers = parse_head(head)
        except ValueError as error:
            raise HttpError("400 Bad Request", str(error)) from None
        match = re.fullmatch(r"([A-Z]+) (\S+) HTTP/1\.([01])", first)
        if match is None:
            raise HttpError("400 Bad Request", "malformed request line")
        self.method, self.path, self._minor = match[1], match[2].partition("?")[0], match[3]
        if self._minor == "1" and len(self.headers.get("host", [])) != 1:
            raise HttpError("400 Bad Request", "exactly one Host header is needed")
        if not all(is_loopback_origin(origin) for origin in self.headers.get("origin", [])):
            raise HttpError("403 Forbidden", "origin not allowed")

    def allow(self, *methods: str) -> None:
        """Refuse other methods."""
        if self.method not in methods:
            raise HttpError("405 Method Not Allowed", "method not allowed", f"Allow: {', '.join(methods)}")

    async def body(self, limit: int) -> bytes:
        """The body, which must have a length."""
        lengths = self.headers.get("content-length", [])
        if "transfer-encoding" in self.headers or len(lengths) != 1 or not re.fullmatch(r"[0-9]{1,15}", lengths[0]):
            raise HttpError("411 Length Required", "exactly one Content-Length is needed")
        length = int(lengths[0])
        if length > limit:
            raise HttpError("413 Content Too Large", f"the body may have {limit} bytes")
        if has_token(self.headers.get("expect", []), "100-continue"):
            self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        async with asyncio.timeout(HEAD_TIMEOUT):
            return await self._reader.readexactly(length)

    def upgrade(self, *, max_message: int) -> Socket:
        """Do the opening handshake of a WebSocket."""
        self.allow("GET")
        if not has_token(self.headers.get("upgrade", []), "websocket"):
            raise HttpError("426 Upgrade Required", "this is a WebSocket", "Upgrade: websocket")
        if self._minor != "1" or not has_token(self.headers.get("connection", []), "upgrade"):
            raise HttpError("400 Bad Request", "no valid upgrade")
        if self.headers.get("sec-websocket-version") != ["13"]:
            raise HttpError("426 Upgrade Required", "WebSocket version 13 only", "Sec-WebSocket-Version: 13")
        keys = self.headers.get("sec-websocket-key", [])
        try:
            if len(keys) != 1 or len(base64.b64decode(keys[0], validate=True)) != 16:
                raise ValueError
        except (ValueError, binascii.Error):
            raise HttpError("400 Bad Request", "invalid Sec-WebSocket-Key") from None
        self._writer.write(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept_key(keys[0])}\r\n\r\n".encode("ascii")
        )
        return Socket(self._reader, self._writer, client=False, max_message=max_message)


Handler = Callable[[Request], Awaitable[Response | None]]


class HttpServer:
    """Listens on loopback and hands requests to a handler, which returns None when it dealt with a WebSocket itself."""

    def __init__(self, handler: Handler, max_connections: int) -> None:
        self._handler = handler
        self._max_connections = max_connections
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self, port: int) -> int:
        """Listen; return the port."""
        self._server = await asyncio.start_server(self._on_connect, LOOPBACK, port, limit=MAX_HEAD)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self, patience: float = 0.3) -> None:
        """Listen no more, and end the connections that have not ended after a moment."""
        if self._server is not None:
            self._server.close()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=patience)
            for task in late:
                task.cancel()

    async def _on_connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._tasks) >= self._max_connections:
            writer.transport.abort()
            return
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request: Request | None = None
        extra: tuple[str, ...] = ()
        response: Response | None
        try:
            async with asyncio.timeout(HEAD_TIMEOUT):
                try:
                    head = await reader.readuntil(b"\r\n\r\n")
                except asyncio.LimitOverrunError:
                    raise HttpError("431 Request Header Fields Too Large", "the request head is too big") from None
            request = Request(head, reader, writer, len(self._tasks))
            response = await self._handler(request)
            if response is None:
                return
        except HttpError as error:
            response, extra = Response(error.status, {"error": str(error)}), error.headers
        body = response.body
        kind, data = ("text/html", body.encode()) if isinstance(body, str) else ("application/json", write_json(body))
        lines = [f"HTTP/1.1 {response.status}", f"Content-Type: {kind}", f"Content-Length: {len(data)}"]
        lines += ["Connection: close", *extra]
        sent = b"" if request is not None and request.method == "HEAD" else data
        writer.write("\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + sent)
        await linger(reader, writer)


# ---------------------------------------------------------------------------------------------------------------------
# Programs


def raise_file_limit(wanted: int = 8192) -> int:
    """Allow this process as many open files as it may have, at most ``wanted``; return the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < wanted:
        target = wanted if hard == unlimited else min(hard, wanted)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
            soft = target
    return wanted if soft == unlimited else soft


def port_number(text: str) -> int:
    """A TCP port for the command line; 0 takes a free one."""
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError
    return port
