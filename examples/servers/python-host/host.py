#!/usr/bin/env python3
"""A movie-booking host for the external agent protocol, mvp-0.2: a client of a relay.

    python3 host.py --relay ws://127.0.0.1:8780/agent/ws --say-port 8781 --logs logs/study

Python 3.11, standard library only. The parts, from the inside outwards:

* ``Catalogue``   what can be booked, from a JSON file
* ``Booking``     the stages, the tools and what the screen shows
* ``StudyLog``    the JSONL file of a study session
* ``Room``        one relay session: its link to the relay, its study session, the messages of the protocol
* ``Host``        all rooms, the control connection to the relay, and the endpoint where the participant speaks
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import json
import logging
import math
import os
import re
import secrets
import signal
import sys
from collections import deque
from collections.abc import Callable, Coroutine
from datetime import datetime, timezone
from io import FileIO
from typing import Any
from urllib.parse import urlsplit

import wire
from page import PAGE
from wire import HttpError, JsonObject, Request, Response, Socket

VERSION = "mvp-0.2"
CONTROL_PATH = "/relay/control"
SAY_PATH = "/say"
DEFAULT_SESSION = "default"
TOKEN_VARIABLE = "RELAY_CONTROL_TOKEN"
DEFAULT_CATALOGUE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "catalogue.json")
REPLACED = 4001  # the relay's close code for a host whose place another one has taken

MAX_MESSAGE = 2 * 1024 * 1024  # bytes of one message from the relay
MAX_DEPTH = 64  # levels of nested arrays and objects in a message
MAX_SAID = 64 * 1024  # bytes of a request to /say
MAX_HISTORY = 500  # entries of a message history; the oldest leave it
MAX_HISTORY_SIZE = 64 * 1024  # characters of them; the latest entry stays in any case
MAX_ROOMS = 256  # relay sessions at a time

CONNECT_TIMEOUT = 5.0  # for a connection to the relay, with its join
RETRY_FIRST, RETRY_MOST = 0.05, 1.0  # seconds between attempts to reach the relay
KEEP_IDLE = 30.0  # seconds that a room without agents and without a study session is kept

log = logging.getLogger("host")


def utc_now() -> datetime:
    """The current time."""
    return datetime.now(timezone.utc)


def timestamp() -> str:
    """The current time as ISO 8601, UTC, with milliseconds."""
    return utc_now().isoformat(timespec="milliseconds").replace("+00:00", "Z")


# ---------------------------------------------------------------------------------------------------------------------
# Catalogue


@dataclasses.dataclass(frozen=True)
class Showing:
    """A movie in a theater at a time."""

    id: str
    movie: str
    theater: str
    date: str
    start: str
    sold: frozenset[str]
    sold_out: bool


class Catalogue:
    """Everything that can be booked. Sold seats are the same for every study session."""

    def __init__(self, path: str) -> None:
        try:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
            self.currency: str = data["currency"]
            self.seat_limit: int = data["seatLimit"]
            self.movies = self._by_id(data["movies"], title=str, genre=str, minutes=int, rating=float)
            self.theaters = self._by_id(data["theaters"], name=str, kilometres=float, rows=list, seatsInRow=int)
            self.dates = self._by_id(data["dates"], label=str)
            self.tickets = self._by_id(data["tickets"], label=str, cents=int)
            self.showings = {showing.id: showing for entry in data["programme"] for showing in self._expand(entry)}
            if not (self.movies and self.tickets and self.showings and self.seat_limit > 0):
                raise ValueError("nothing can be booked")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"catalogue {path}: {type(error).__name__}: {error}") from None

    @staticmethod
    def _by_id(entries: list[JsonObject], **fields: type) -> dict[str, JsonObject]:
        for entry in entries:
            for name, kind in {"id": str, **fields}.items():
                if not isinstance(entry[name], (int, float) if kind is float else kind):
                    raise TypeError(f"{name} of {entry} is no {kind.__name__}")
        return {entry["id"]: entry for entry in entries}

    def _expand(self, entry: JsonObject) -> list[Showing]:
        """One entry of the programme stands for every combination of its movies, theaters and dates."""
        start, sold = entry["start"], frozenset(entry.get("sold", []))
        return [
            Showing(
                f"{self.movies[movie]['id']}.{self.theaters[theater]['id']}.{self.dates[date]['id']}.{start}",
                movie, theater, date, start, sold, bool(entry.get("soldOut", False)),
            )
            for movie in entry["movies"] for theater in entry["theaters"] for date in entry["dates"]
        ]


# ---------------------------------------------------------------------------------------------------------------------
# Tools and their parameters


class InvalidParams(Exception):
    """A call that the announced schema of its tool does not allow."""


class ToolFailed(Exception):
    """A call that the schema allows and that can't be carried out now."""


TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: (
        isinstance(value, int) and not isinstance(value, bool) or isinstance(value, float) and value.is_integer()
    ),
}


def tool(name: str, description: str, **parameters: JsonObject) -> JsonObject:
    """A tool as it is announced, with the flat form of parameters."""
    return {"name": name, "description": description, "parameters": parameters}


def check_params(announced: JsonObject, params: JsonObject) -> None:
    """Check a call against the announcement of its tool."""
    name, parameters = announced["name"], announced["parameters"]
    for key in params:
        if key not in parameters:
            raise InvalidParams(f"{name} has no parameter {key[:80]!r}")
    for key, rule in parameters.items():
        if key not in params:
            if not rule.get("optional", False):
                raise InvalidParams(f"{name} requires {key}")
            continue
        if not TYPES[rule["type"]](params[key]):
            raise InvalidParams(f"{name} requires {key} to be of type {rule['type']}")
        if "enum" in rule and params[key] not in rule["enum"]:
            raise InvalidParams(f"{name} does not know this {key}: {str(params[key])[:80]!r}")


# ---------------------------------------------------------------------------------------------------------------------
# Booking


STAGES = ("movie", "theater", "date", "time", "seat", "ticket", "confirm")
SINGLE_STAGES = STAGES[:4]  # exactly one choice each
COMPLETE = "complete"  # behind the last stage: no screen, no tools

CAPTIONS = {
    "movie": "Which movie?",
    "theater": "In which theater?",
    "date": "On which day?",
    "time": "At what time?",
    "seat": "Which seats?",
    "ticket": "Which tickets?",
    "confirm": "Is this right?",
}
SORTINGS: dict[str, tuple[str, ...]] = {"movie": ("title", "rating", "minutes"), "theater": ("name", "kilometres")}
ANY_GENRE = "any"

# These confirm with nothing but ok; what they did is shown by the next state.updated.
OK_ONLY = frozenset(("next", "prev", "postMessage"))


class Booking:
    """One way through the stages. Knows nothing of messages; ``say`` puts a text into the conversation."""

    def __init__(self, catalogue: Catalogue, say: Callable[[str, str, str], None]) -> None:
        self._catalogue = catalogue
        self._say = say
        self.stage = STAGES[0]
        self._chosen: dict[str, str] = {}
        self._seats: list[str] = []
        self._quantities: dict[str, int] = {}
        self._genre = ANY_GENRE
        self._sorting: dict[str, tuple[str, bool]] = {}

    # What is shown

    def ui_spec(self) -> JsonObject | None:
        """The screen; None when the booking is complete."""
        if self.stage == COMPLETE:
            return None
        ordinal = STAGES.index(self.stage) + 1
        return {
            "canvas": {
                "step": {"called": self.stage, "ordinal": ordinal, "outOf": len(STAGES)},
                "caption": CAPTIONS[self.stage],
                "lanes": [{"legend": legend, "tiles": tiles} for legend, tiles in self._lanes()],
                "gate": {"open": self._obstacle() is None, "hint": self._obstacle()},
            },
            "receipt": {
                "lines": self._receipt(),
                "seatCount": len(self._seats),
                "sum": {"cents": self._cents(), "currency": self._catalogue.currency},
            },
        }

    def tools(self) -> list[JsonObject]:
        """What may be called now, and with what."""
        if self.stage == COMPLETE:
            return []
        stage, tools = self.stage, []
        ids = [tile["handle"] for _, tiles in self._lanes() for tile in tiles]
        item = {"type": "string", "enum": ids}
        if stage in SINGLE_STAGES:
            text = f"Choose the {stage} with this handle, in place of an earlier choice."
            tools.append(tool("select", text, itemId=item))
        if stage == "movie":
            genres = [ANY_GENRE, *dict.fromkeys(movie["genre"] for movie in self._catalogue.movies.values())]
            text = f"Show the movies of one genre only; {ANY_GENRE!r} shows all."
            tools.append(tool("filter", text, genre={"type": "string", "enum": genres}))
        if stage in SORTINGS:
            by = {"type": "string", "enum": list(SORTINGS[stage])}
            descending = {"type": "boolean", "optional": True}
            tools.append(tool("sort", "Order what is shown; ascending by default.", by=by, descending=descending))
        if stage == "seat":
            limit = self._catalogue.seat_limit
            text = f"Add the seat with this handle, up to {limit} seats. Sold seats can't be added."
            tools.append(tool("select", text, itemId=item))
            tools.append(tool("deselect", "Give a chosen seat back.", itemId=item))
        if stage == "ticket":
            text = (
                "Set how many tickets of the kind with this handle are bought; quantity is 0 or more. "
                "In the end there must be as many tickets as seats."
            )
            tools.append(tool("setQuantity", text, itemId=item, quantity={"type": "integer"}))
        onward = "Book what is shown." if stage == "confirm" else "Go to the next stage; needs a complete choice."
        tools.append(tool("next", onward))
        if stage != STAGES[0]:
            tools.append(tool("prev", "Go back to the stage before; choices are kept."))
        tools.append(tool("postMessage", "Say something to the participant in the chat.", text={"type": "string"}))
        return tools

    # What can be done

    def execute(self, name: str, params: JsonObject) -> None:
        """Carry out a call that the announcement allows."""
        match name:
            case "select" if self.stage == "seat":
                self._add_seat(params["itemId"])
            case "select":
                self._choose(params["itemId"])
            case "deselect":
                self._remove_seat(params["itemId"])
            case "setQuantity":
                self._set_quantity(params["itemId"], int(params["quantity"]))
            case "filter":
                self._genre = params["genre"]
            case "sort":
                self._sorting[self.stage] = (params["by"], params.get("descending", False))
            case "next":
                self._next()
            case "prev":
                self.stage = STAGES[STAGES.index(self.stage) - 1]
            case "postMessage":
                self._say("agent", "postMessage", params["text"])

    def _choose(self, item: str) -> None:
        if self.stage == "time" and self._catalogue.showings[item].sold_out:
            raise ToolFailed("this showing is sold out")
        if self._chosen.get(self.stage) == item:
            return
        # Later choices depend on this one.
        for later in SINGLE_STAGES[SINGLE_STAGES.index(self.stage):]:
            self._chosen.pop(later, None)
        self._seats.clear()
        self._quantities.clear()
        self._chosen[self.stage] = item

    def _add_seat(self, seat: str) -> None:
        if seat in self._seats:
            return
        if seat in self._showing().sold:
            raise ToolFailed(f"seat {seat} is sold")
        if len(self._seats) >= self._catalogue.seat_limit:
            raise ToolFailed(f"no more than {self._catalogue.seat_limit} seats can be booked")
        self._seats.append(seat)
        self._quantities.clear()

    def _remove_seat(self, seat: str) -> None:
        if seat not in self._seats:
            raise ToolFailed(f"seat {seat} is not chosen")
        self._seats.remove(seat)
        self._quantities.clear()

    def _set_quantity(self, ticket: str, quantity: int) -> None:
        if quantity < 0:
            raise InvalidParams("setQuantity requires quantity >= 0")
        others = sum(count for kind, count in self._quantities.items() if kind != ticket)
        if others + quantity > len(self._seats):
            raise ToolFailed(f"there are {len(self._seats)} seats for more tickets than that")
        self._quantities[ticket] = quantity

    def _next(self) -> None:
        obstacle = self._obstacle()
        if obstacle is not None:
            raise ToolFailed(obstacle)
        if self.stage != STAGES[-1]:
            self.stage = STAGES[STAGES.index(self.stage) + 1]
            return
        self.stage = COMPLETE
        showing = self._showing()
        title = self._catalogue.movies[showing.movie]["title"]
        theater = self._catalogue.theaters[showing.theater]["name"]
        day = self._catalogue.dates[showing.date]["label"]
        self._say(
            "host", "booking",
            f"Booked: {title}, {theater}, {day} {showing.start}, seats {', '.join(self._seats)}. "
            f"Your code is {secrets.token_hex(4)}.",
        )

    def _obstacle(self) -> str | None:
        """Why the stage can't be left forwards."""
        if self.stage in SINGLE_STAGES and self.stage not in self._chosen:
            return f"no {self.stage} is chosen"
        if self.stage == "seat" and not self._seats:
            return "no seat is chosen"
        if self.stage == "ticket" and sum(self._quantities.values()) != len(self._seats):
            return f"there must be {len(self._seats)} tickets, one for each seat"
        return None

    # Parts of the screen

    def _showing(self) -> Showing:
        return self._catalogue.showings[self._chosen["time"]]

    def _offered(self) -> list[Showing]:
        """The showings that fit the choices of the stages before this one."""
        before = SINGLE_STAGES[: SINGLE_STAGES.index(self.stage)]
        return [
            showing for showing in self._catalogue.showings.values()
            if all(getattr(showing, stage) == self._chosen[stage] for stage in before)
        ]

    def _sorted(self, entries: list[JsonObject]) -> list[JsonObject]:
        if self.stage in self._sorting:
            by, descending = self._sorting[self.stage]
            entries = sorted(entries, key=lambda entry: entry[by], reverse=descending)
        return entries

    def _lanes(self) -> list[tuple[str, list[JsonObject]]]:
        """The items of the stage in groups. A tile's condition is open, picked or sold."""
        catalogue, picked = self._catalogue, self._chosen.get(self.stage)

        def tile(
            handle: str, headline: str, *details: str, sold: bool = False, chosen: bool | None = None
        ) -> JsonObject:
            is_picked = handle == picked if chosen is None else chosen
            condition = "picked" if is_picked else "sold" if sold else "open"
            return {"handle": handle, "face": {"headline": headline, "details": list(details)}, "condition": condition}

        match self.stage:
            case "movie":
                shown = {showing.movie for showing in self._offered()}
                movies = self._sorted([
                    movie for movie in catalogue.movies.values()
                    if movie["id"] in shown and self._genre in (ANY_GENRE, movie["genre"])
                ])
                return [(f"Genre: {self._genre}", [
                    tile(
                        entry["id"], entry["title"],
                        entry["genre"], f"{entry['minutes']} min", f"rated {entry['rating']}",
                    )
                    for entry in movies
                ])]
            case "theater":
                shown = {showing.theater for showing in self._offered()}
                theaters = self._sorted([entry for entry in catalogue.theaters.values() if entry["id"] in shown])
                return [("Theaters", [
                    tile(entry["id"], entry["name"], f"{entry['kilometres']} km") for entry in theaters
                ])]
            case "date":
                shown = {showing.date for showing in self._offered()}
                days = [entry for entry in catalogue.dates.values() if entry["id"] in shown]
                return [("Days", [tile(entry["id"], entry["label"]) for entry in days])]
            case "time":
                showings = sorted(self._offered(), key=lambda showing: showing.start)
                return [("Showings", [tile(entry.id, entry.start, sold=entry.sold_out) for entry in showings])]
            case "seat":
                theater, sold = catalogue.theaters[self._chosen["theater"]], self._showing().sold
                return [(f"Row {row}", [
                    tile(seat, f"Seat {seat}", sold=seat in sold, chosen=seat in self._seats)
                    for seat in (f"{row}{number}" for number in range(1, theater["seatsInRow"] + 1))
                ]) for row in theater["rows"]]
            case "ticket":
                return [("Kinds", [
                    tile(entry["id"], entry["label"], f"{entry['cents'] / 100:.2f} {catalogue.currency}",
                         chosen=self._quantities.get(entry["id"], 0) > 0)
                    | {"amount": self._quantities.get(entry["id"], 0)}
                    for entry in catalogue.tickets.values()
                ])]
        return []

    def _receipt(self) -> list[JsonObject]:
        """What has been chosen so far, in the order of the stages."""
        catalogue, lines = self._catalogue, []
        names = {
            "movie": lambda key: catalogue.movies[key]["title"],
            "theater": lambda key: catalogue.theaters[key]["name"],
            "date": lambda key: catalogue.dates[key]["label"],
            "time": lambda key: catalogue.showings[key].start,
        }
        for stage, name in names.items():
            if stage in self._chosen:
                lines.append({"about": stage, "reads": name(self._chosen[stage])})
        if self._seats:
            lines.append({"about": "seat", "reads": ", ".join(self._seats)})
        bought = [
            f"{count} x {catalogue.tickets[kind]['label']}" for kind, count in self._quantities.items() if count
        ]
        if bought:
            lines.append({"about": "ticket", "reads": ", ".join(bought)})
        return lines

    def _cents(self) -> int:
        return sum(self._catalogue.tickets[kind]["cents"] * count for kind, count in self._quantities.items())


# ---------------------------------------------------------------------------------------------------------------------
# Study sessions


class LogFolder:
    """Names study sessions and opens their log files. Nothing that came in a message is part of a name."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._day = ""
        self._number = 0

    def create(self) -> tuple[str, str, FileIO]:
        """A new study session: (id, path of its log, the open file). The file did not exist before."""
        os.makedirs(self._path, exist_ok=True)
        day = utc_now().strftime("%Y%m%d")
        if day != self._day:
            pattern = re.compile(rf"s-{day}-([0-9]{{3,9}})\.jsonl")
            found = (pattern.fullmatch(name) for name in os.listdir(self._path))
            self._day, self._number = day, max((int(match[1]) for match in found if match), default=0)
        while True:
            self._number += 1
            session_id = f"s-{day}-{self._number:03}"
            path = os.path.join(self._path, session_id + ".jsonl")
            with contextlib.suppress(FileExistsError):
                return session_id, path, FileIO(path, "x")


class StudyLog:
    """The JSONL file of a study session. Nothing is buffered, so every event is in the file when ``write`` returns."""

    def __init__(self, folder: LogFolder) -> None:
        self.session_id, self.path, self._file = folder.create()
        self._index = 0
        self._torn = False  # the last line may be incomplete

    def write(self, direction: str, kind: str, payload: JsonObject) -> None:
        """Add an event. A disk that fails is reported and does not stop the session."""
        self._index += 1
        event = {
            "sessionId": self.session_id, "eventIndex": self._index, "timestamp": timestamp(),
            "direction": direction, "type": kind, "payload": payload,
        }
        line = json.dumps(event, separators=(",", ":")).encode("ascii") + b"\n"
        if self._torn:
            line = b"\n" + line
        try:
            while line:
                line = line[self._file.write(line):]
            self._torn = False
        except OSError as error:
            if not self._torn:
                log.error("%s: %s", self.path, error)
            self._torn = True

    def close(self) -> None:
        """Close the file."""
        try:
            self._file.close()
        except OSError as error:
            log.error("%s: %s", self.path, error)


class Study:
    """A study session: a booking, a conversation, and a log."""

    def __init__(self, catalogue: Catalogue, folder: LogFolder) -> None:
        self.log = StudyLog(folder)
        self.id = self.log.session_id
        self.booking = Booking(catalogue, self.say)
        self.history: deque[JsonObject] = deque()
        self._sizes: deque[int] = deque()
        self._said = 0

    def say(self, author: str, channel: str, text: str) -> None:
        """Add to the conversation."""
        self._said += 1
        self.history.append({
            "no": self._said, "author": author, "channel": channel, "text": text,
            "stage": self.booking.stage, "at": timestamp(),
        })
        self._sizes.append(len(text) + 160)
        while len(self.history) > 1 and (len(self.history) > MAX_HISTORY or sum(self._sizes) > MAX_HISTORY_SIZE):
            self.history.popleft()
            self._sizes.popleft()

    def state(self) -> JsonObject:
        """What an agent may read."""
        return {
            "uiSpec": self.booking.ui_spec(),
            "messageHistory": list(self.history),
            "toolSchema": self.booking.tools(),
        }


# ---------------------------------------------------------------------------------------------------------------------
# Rooms


class Refusal(Exception):
    """A request that is answered with an error envelope."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def too_deep(value: object) -> bool:
    """Whether arrays and objects are nested deeper than can be written back safely."""
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child for item in level if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def check_envelope(message: object) -> JsonObject:
    """Refuse what is no envelope, as the relay should have done."""
    if not isinstance(message, dict) or message.get("v") != VERSION:
        raise Refusal("INVALID_MESSAGE", f"the message must be an object with v {VERSION}")
    if not isinstance(message.get("type"), str):
        raise Refusal("INVALID_MESSAGE", "type must be a string")
    if not isinstance(message.get("id", ""), str) or not isinstance(message.get("replyTo", ""), str):
        raise Refusal("INVALID_MESSAGE", "id and replyTo must be strings")
    if not isinstance(message.get("payload"), dict):
        raise Refusal("INVALID_MESSAGE", "payload must be an object")
    if too_deep(message):
        raise Refusal("INVALID_MESSAGE", "the message is nested too deeply")
    return message


def text_of(payload: JsonObject, name: str, *, optional: bool = False) -> str:
    """A string in a payload."""
    value = payload.get(name, "" if optional else None)
    if not isinstance(value, str):
        raise Refusal("INVALID_MESSAGE", f"payload.{name} must be a string")
    return value


class Room:
    """One relay session, and at most one study session in it. Outlives connections to the relay."""

    def __init__(self, name: str, relay: str, catalogue: Catalogue, folder: LogFolder, token: str | None) -> None:
        self.name = name
        self.study: Study | None = None
        self.joined = asyncio.Event()
        self.expiry: asyncio.TimerHandle | None = None
        self.idle_since = math.inf  # the loop's time when the last agent left
        self._relay = relay
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._catalogue = catalogue
        self._folder = folder
        self._socket: Socket | None = None
        self._leaving = False

    # The link to the relay

    async def run(self) -> None:
        """Be in the relay session until told to leave, or replaced by another host."""
        delay = RETRY_FIRST
        while not self._leaving:
            socket: Socket | None = None
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    socket = await wire.connect(self._relay, max_message=MAX_MESSAGE, headers=self._headers)
                if self._leaving:
                    socket.abort()
                    return
                self._socket = socket
                patience = asyncio.get_running_loop().call_later(CONNECT_TIMEOUT, self._give_up, socket)
                try:
                    payload = {"role": "frontend", "sessionId": self.name}
                    self._put({"type": "relay.join", "id": "join", "payload": payload})
                    await socket.serve(self._on_text)
                finally:
                    patience.cancel()
            except (OSError, TimeoutError):
                pass
            was_joined = self.joined.is_set()
            self.joined.clear()
            self._socket = None
            if self._leaving:
                return
            if socket is not None and socket.close_code == REPLACED:
                log.warning("relay session %r: another host has taken over", self.name)
                return
            delay = RETRY_FIRST if was_joined else min(2 * delay, RETRY_MOST)
            await asyncio.sleep(delay)

    def leave(self) -> None:
        """Leave the relay session; ``run`` ends soon."""
        self._leaving = True
        if self._socket is not None:
            self._socket.close(1000, "the host leaves")

    def _give_up(self, socket: Socket) -> None:
        if not self.joined.is_set():
            log.warning("relay session %r: no answer to relay.join", self.name)
            socket.abort()

    def _put(self, message: JsonObject) -> bool:
        return self._socket is not None and self._socket.send(wire.write_json({"v": VERSION, **message}))

    # Sending

    def _send(self, kind: str, payload: JsonObject, reply_to: str | None = None) -> bool:
        """Send an envelope; what was sent during a study session is in its log."""
        message: JsonObject = {"type": kind, "payload": payload}
        if reply_to is not None:
            message["replyTo"] = reply_to
        sent = self.joined.is_set() and self._put(message)
        if sent and self.study is not None:
            self.study.log.write("out", kind, payload)
        return sent

    def _tell_state(self, study: Study) -> None:
        self._send("state.updated", {"source": "host", **study.state()})

    # Receiving

    async def _on_text(self, text: str | None) -> None:
        message: object = None
        try:
            if text is None:
                raise Refusal("INVALID_MESSAGE", "a binary message; envelopes are text")
            try:
                message = wire.parse_json(text)
            except ValueError as error:
                message = self._salvage(text)
                raise Refusal("INVALID_MESSAGE", f"the message is no JSON that can be used: {error}"[:200]) from None
            self._on_envelope(check_envelope(message))
        except Refusal as refusal:
            reply_to = message.get("id") if isinstance(message, dict) else None
            payload = {"code": refusal.code, "message": str(refusal)}
            self._send("error", payload, reply_to if isinstance(reply_to, str) else None)

    @staticmethod
    def _salvage(text: str) -> object:
        """JSON whose numbers are out of range still has an id to answer to."""
        try:
            return wire.parse_json(text, finite=False)
        except ValueError:
            return None

    def _on_envelope(self, message: JsonObject) -> None:
        kind, payload, request = message["type"], message["payload"], message.get("id")
        if not self.joined.is_set():
            if kind == "relay.joined":
                self.joined.set()
                if self.study is not None:
                    self._tell_state(self.study)
            elif kind == "error":
                log.warning("relay session %r: the relay refused the host: %s", self.name, payload.get("message"))
                if self._socket is not None:
                    self._socket.close()
            return
        if kind in ("error", "relay.joined"):
            return  # an answer to nothing that was asked, and never a reason to answer
        study = self.study
        if study is not None and kind != "session.start":
            study.log.write("in", kind, payload)
        match kind:
            case "session.start":
                self._start(payload, request)
            case "snapshot.get":
                study = self._active()
                self._send("snapshot.state", {"sessionId": study.id, **study.state()}, request)
            case "tool.call":
                self._call(payload, request)
            case "agent.message":
                text = text_of(payload, "text")
                study = self._active()
                study.say("agent", "agent.message", text)
                self._tell_state(study)
            case "session.end":
                reason = text_of(payload, "reason", optional=True)
                self._end(self._active(), reason, request)
            case _:
                raise Refusal("INVALID_MESSAGE", f"a host does not deal with messages of this type: {kind[:80]!r}")

    def _active(self) -> Study:
        if self.study is None:
            raise Refusal("SESSION_NOT_ACTIVE", "no study session is active")
        return self.study

    def _start(self, payload: JsonObject, request: str | None) -> None:
        try:
            text_of(payload, "studyId")
            text_of(payload, "participantId")
        except Refusal:
            if self.study is not None:
                self.study.log.write("in", "session.start", payload)
            raise
        try:
            study = Study(self._catalogue, self._folder)
        except OSError as error:
            log.error("can't create a log: %s", error)
            raise Refusal("SESSION_NOT_ACTIVE", "the study session can't start: no log can be written") from None
        self.close_study("session.superseded", {"by": study.id})
        self.study = study
        study.log.write("in", "session.start", payload)
        self._send("session.started", {"sessionId": study.id}, request)
        self._tell_state(study)

    def _call(self, payload: JsonObject, request: str | None) -> None:
        name = text_of(payload, "toolName")
        text_of(payload, "reason", optional=True)
        study = self._active()
        booking = study.booking
        if booking.stage == COMPLETE:
            raise Refusal("NO_ACTIVE_SPEC", "the booking is complete, there is no screen to act on")
        announced = {tool["name"]: tool for tool in booking.tools()}
        if name not in announced:
            raise Refusal("UNKNOWN_TOOL", f"not announced at the stage {booking.stage}: {name[:80]!r}")
        params = payload.get("params")
        result: JsonObject = {"ok": True, "toolName": name}
        try:
            if not isinstance(params, dict):
                raise InvalidParams("params must be an object")
            check_params(announced[name], params)
            before = booking.stage
            booking.execute(name, params)
        except InvalidParams as error:
            raise Refusal("INVALID_PARAMS", str(error)) from None
        except ToolFailed as error:
            self._fail(name, str(error), request)
            return
        except Exception:
            log.exception("tool %s failed", name)
            self._fail(name, "the host failed", request)
            return
        if booking.stage != before:
            study.log.write("internal", "stage.changed", {"from": before, "to": booking.stage})
        if name not in OK_ONLY:
            result["uiSpec"] = booking.ui_spec()
        self._send("tool.result", result, request)
        self._tell_state(study)

    def _fail(self, name: str, text: str, request: str | None) -> None:
        error = {"code": "TOOL_EXECUTION_FAILED", "message": text}
        self._send("tool.result", {"ok": False, "toolName": name, "error": error}, request)

    def _end(self, study: Study, reason: str, request: str | None) -> None:
        """The log is complete before the answer is sent."""
        study.log.write("internal", "state.reset", {"reason": reason})
        study.booking = Booking(self._catalogue, study.say)
        study.history.clear()
        self._tell_state(study)
        payload = {"sessionId": study.id, "logFile": study.log.path, "stateReset": True}
        study.log.write("out", "session.ended", payload)
        study.log.close()
        self.study = None
        self._send("session.ended", payload, request)

    def close_study(self, kind: str, payload: JsonObject) -> None:
        """End the study session, if there is one, for a reason of the host."""
        if self.study is not None:
            self.study.log.write("internal", kind, payload)
            self.study.log.close()
            self.study = None

    # The participant

    def hear(self, text: str) -> JsonObject:
        """The participant speaks."""
        study = self._active()
        stage = study.booking.stage
        study.say("participant", "chat", text)
        study.log.write("internal", "participant.spoke", {"text": text, "stage": stage})
        sent = self._send("user.message", {"text": text, "stage": stage})
        self._tell_state(study)
        return {"ok": True, "stage": stage, "forwarded": sent}


# ---------------------------------------------------------------------------------------------------------------------
# Host


class Host:
    """All rooms. The fixed ones are joined at the start; with a control token, others when agents come."""

    def __init__(
        self, relay: str, fixed: list[str], catalogue: Catalogue, logs: str, keep: float, token: str | None = None
    ) -> None:
        self._relay = relay
        self._fixed = fixed
        self._catalogue = catalogue
        self._folder = LogFolder(logs)
        self._keep = keep
        self._token = token
        self._rooms: dict[str, Room] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._http = wire.HttpServer(self._on_request, 100)
        self._control: Socket | None = None
        self.finished = asyncio.Event()  # no room is left, and none will come

    async def start(self, say_port: int | None) -> int | None:
        """Begin to join; return the port where the participant can speak."""
        port = await self._http.start(say_port) if say_port is not None else None
        for name in self._fixed:
            self._open(name)
        if self._token:
            self._spawn(self._run_control())
        return port

    async def joined(self) -> None:
        """Wait until all fixed rooms have been joined."""
        for room in [self._rooms[name] for name in self._fixed]:
            await room.joined.wait()

    async def stop(self) -> None:
        """Close logs and connections, in well under a second."""
        self._token = None
        for room in list(self._rooms.values()):
            room.close_study("host.stopped", {})
            self._cancel_expiry(room)
            room.leave()
        if self._control is not None:
            self._control.close(wire.CLOSE_GOING_AWAY, "the host stops")
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=0.2)
            for task in late:
                task.cancel()
        await self._http.stop(patience=0.1)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Rooms

    def _open(self, name: str) -> None:
        room = Room(name, self._relay, self._catalogue, self._folder, self._token)
        self._rooms[name] = room
        self._spawn(self._run_room(room))

    async def _run_room(self, room: Room) -> None:
        try:
            await room.run()
        finally:
            room.close_study("host.left", {})
            self._cancel_expiry(room)
            if self._rooms.get(room.name) is room:
                del self._rooms[room.name]
            if not self._rooms and not self._token:
                self.finished.set()

    def _drop(self, room: Room) -> None:
        """Leave a room that nobody needs."""
        self._cancel_expiry(room)
        room.close_study("session.abandoned", {})
        if self._rooms.get(room.name) is room:
            del self._rooms[room.name]
        room.leave()

    @staticmethod
    def _cancel_expiry(room: Room) -> None:
        if room.expiry is not None:
            room.expiry.cancel()
            room.expiry = None
        room.idle_since = math.inf

    def _expect_agents(self, room: Room) -> None:
        """Without agents, a room is left after a while."""
        if room.name not in self._fixed and room.expiry is None:
            loop = asyncio.get_running_loop()
            room.idle_since = loop.time()
            delay = self._keep if room.study is not None else min(KEEP_IDLE, self._keep)
            room.expiry = loop.call_later(delay, self._drop, room)

    # The control connection

    async def _run_control(self) -> None:
        """Hear from the relay who is where. It may be a new relay every time."""
        parts = urlsplit(self._relay)
        url = f"ws://{parts.netloc}{CONTROL_PATH}"
        delay = RETRY_FIRST
        while self._token:
            heard = False

            async def on_text(text: str | None) -> None:
                nonlocal heard
                heard = True
                self._on_presence(wire.parse_json(text or ""))

            socket: Socket | None = None
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    headers = {"Authorization": f"Bearer {self._token}"}
                    socket = await wire.connect(url, max_message=MAX_MESSAGE, headers=headers)
                self._control = socket
                await socket.serve(on_text)
            except (OSError, TimeoutError):
                pass
            self._control = None
            if not self._token:
                return
            if socket is not None and socket.close_code == REPLACED:
                log.error("another host has taken over the control connection")
                self._token = None
                return
            for room in self._rooms.values():
                self._expect_agents(room)  # nobody tells when they leave
            delay = RETRY_FIRST if heard else min(2 * delay, RETRY_MOST)
            await asyncio.sleep(delay)

    def _on_presence(self, state: JsonObject) -> None:
        name, agents, has_host = state["sessionId"], state["agents"], state["host"]
        room = self._rooms.get(name)
        if room is not None:
            if agents:
                self._cancel_expiry(room)
            else:
                self._expect_agents(room)
        elif not has_host and (agents or name in self._fixed):
            if len(self._rooms) >= MAX_ROOMS:
                idle = min(self._rooms.values(), key=lambda other: other.idle_since)
                if idle.idle_since == math.inf:
                    if self._control is not None:
                        self._control.send(wire.write_json({"refused": name}))
                    return
                self._drop(idle)
            self._open(name)

    # The participant

    async def _on_request(self, request: Request) -> Response | None:
        if request.path == "/":
            request.allow("GET", "HEAD")
            return Response("200 OK", PAGE)
        if request.path != SAY_PATH:
            raise HttpError("404 Not Found", "nothing here")
        request.allow("POST")
        try:
            body = wire.parse_json(await request.body(MAX_SAID))
        except ValueError:
            raise HttpError("400 Bad Request", "the body is not JSON") from None
        text = body.get("text") if isinstance(body, dict) else None
        name = body.get("sessionId", DEFAULT_SESSION) if isinstance(body, dict) else None
        if not isinstance(text, str) or not text.strip() or not isinstance(name, str):
            raise HttpError("400 Bad Request", "text must be a string that is not empty, sessionId a string if given")
        room = self._rooms.get(name)
        if room is None:
            raise HttpError("404 Not Found", "the host has not joined this relay session")
        try:
            return Response("200 OK", room.hear(text))
        except Refusal as refusal:
            raise HttpError("409 Conflict", str(refusal)) from None


# ---------------------------------------------------------------------------------------------------------------------
# Command line


def relay_url(text: str) -> str:
    """The address of a relay, with the path of the protocol as default."""
    parts = urlsplit(text)
    if parts.scheme != "ws" or not parts.hostname or parts.query or parts.fragment:
        raise ValueError
    _ = parts.port
    return f"ws://{parts.netloc}{parts.path if parts.path not in ('', '/') else '/agent/ws'}"


def seconds(text: str) -> float:
    """A duration, not negative and not infinite."""
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise ValueError
    return value


def add_host_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that the host has alone and together with a relay."""
    parser.add_argument(
        "--logs", default="logs/study", metavar="DIR", help="directory of the log files, created when missing"
    )
    parser.add_argument("--catalogue", default=DEFAULT_CATALOGUE, metavar="FILE", help="what can be booked")
    parser.add_argument(
        "--keep", type=seconds, default=1800.0, metavar="SECONDS",
        help="how long a study session without agents is kept, but in sessions that are joined at the start",
    )


async def run(host: Host, say_port: int | None) -> int:
    """Be a host until a signal arrives; return the exit status."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        port = await host.start(say_port)
    except OSError as error:
        print(f"can't start: {error}", file=sys.stderr)
        return 1
    if port is not None:
        print(f"listening on http://{wire.LOOPBACK}:{port}{SAY_PATH}", flush=True)
    stopped, finished = asyncio.create_task(stop.wait()), asyncio.create_task(host.finished.wait())

    async def tell_joined() -> None:
        await host.joined()
        print("joined", flush=True)

    joined = asyncio.create_task(tell_joined())
    await asyncio.wait((stopped, finished), return_when=asyncio.FIRST_COMPLETED)
    joined.cancel()
    await host.stop()
    return 0 if stop.is_set() else 1


def main() -> int:
    """Read the command line and the environment, then join."""
    parser = argparse.ArgumentParser(description="movie-booking host for the external agent protocol")
    parser.add_argument("--relay", type=relay_url, required=True, metavar="URL", help="ws://HOST:PORT[/agent/ws]")
    parser.add_argument(
        "--session", action="append", metavar="ID", help="relay session to join, repeatable; default: default"
    )
    parser.add_argument(
        "--say-port", type=wire.port_number, metavar="N", help="port of POST /say; 0: a free one; default: none"
    )
    add_host_flags(parser)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    wire.raise_file_limit()
    try:
        catalogue = Catalogue(arguments.catalogue)
    except ValueError as error:
        parser.error(str(error))
    fixed = list(dict.fromkeys(arguments.session or [DEFAULT_SESSION]))
    token = os.environ.get(TOKEN_VARIABLE) or None
    host = Host(arguments.relay, fixed, catalogue, arguments.logs, arguments.keep, token)
    return asyncio.run(run(host, arguments.say_port))


if __name__ == "__main__":
    sys.exit(main())
