"""SessionRuntime: the orchestrator inside one session.

It consumes messages of the bus, keeps the state of the session, routes input to
agents and output to the frontend, and runs the transactions that take several
steps. It calls no model, stores nothing and creates no agent: for those it
publishes requests to the SessionManager.

Numbers and letters in comments (2.1, A to H) are sections of the SessionRuntime
responsibility document. Choices where that document is open are in README.md.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from collections import OrderedDict, deque
from dataclasses import dataclass, field, fields
from datetime import datetime, timezone
from typing import Any, Awaitable, Callable, Iterable, Mapping

Message = dict[str, Any]
Publish = Callable[[Message], Awaitable[None]]

log = logging.getLogger(__name__)

SENDER = "session"  # the subscriber id the document proposes (1)

ROUTING, RUNNING, COMPLETED, FAILED, CANCELED = "ROUTING", "RUNNING", "COMPLETED", "FAILED", "CANCELED"

# Kinds of transaction.
CANCEL, REMOVE, ADD, HANDOVER, OPEN, CLOSE = "CANCEL", "REMOVE", "ADD", "HANDOVER", "SESSION_OPEN", "SESSION_CLOSE"

# Ids and finished turns kept; without a bound a long session would grow for ever.
MAX_SEEN_IDS = 10_000
MAX_TURNS = 1_000


@dataclass(frozen=True)
class Limits:
    """All time limits, in milliseconds."""

    input_ack_ms: float = 5_000  # USER_INPUT to an agent -> its INPUT_ACK
    cancel_ack_ms: float = 5_000  # CANCEL to an agent -> its CANCEL_ACK

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> Limits:
        known = {f.name for f in fields(cls)}
        return cls(**{k: v for k, v in (given or {}).items() if k in known and v is not None})


@dataclass(eq=False)
class Turn:
    """One round of input and answer (2.2)."""

    turn_id: str
    trace_id: str
    requested_by: Any
    target_agent_id: str
    status: str = ROUTING
    waiting: str | None = "INPUT_ACK"
    created_at: float = field(default_factory=time.time)
    last_output_at: float | None = None
    collected_output: list[Any] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None

    @property
    def inflight(self) -> bool:
        return self.status in (ROUTING, RUNNING)


@dataclass(eq=False)
class Transaction:
    """One chain of steps that waits for a receipt (2.3)."""

    tx_id: str
    kind: str
    trace_id: str
    agent_id: str | None = None
    turn: Turn | None = None
    payload: dict[str, Any] = field(default_factory=dict)
    requested: bool = False  # a receipt can only answer what has been asked
    dependents: list[Transaction] = field(default_factory=list)  # those that wait for this cancel
    timer: asyncio.TimerHandle | None = None


@dataclass
class SessionContext:
    """The state of the session (2). Agents are in the order in which they joined."""

    session_id: str
    agents: list[str]
    active_agent_id: str | None
    inflight: dict[str, Turn] = field(default_factory=dict)
    transactions: dict[str, Transaction] = field(default_factory=dict)
    # Turns with output under way, oldest first: two agents can speak side by side,
    # so a single agent id would lose the first when the second begins.
    speaking: list[Turn] = field(default_factory=list)

    @property
    def speaking_turn(self) -> Turn | None:
        return self.speaking[-1] if self.speaking else None

    @property
    def speaking_agent_id(self) -> str | None:
        return self.speaking[-1].target_agent_id if self.speaking else None

    @property
    def user_interruptible(self) -> bool:
        return bool(self.speaking) and self.speaking[-1].waiting is None


class SessionRuntime:
    """Orchestrates one session; all state lives in `context`.

    `publish` is awaited for one message at a time, in order. `on_message` may be
    called again while an earlier call is still publishing, also from within
    `publish`: handlers change state without awaiting, so they cannot interleave.
    Call `close` before dropping a runtime, or its timers go on publishing.
    """

    def __init__(
        self,
        session_id: str,
        agents: Iterable[Any],
        active_agent_id: str | None,
        limits: Mapping[str, Any] | None,
        publish: Publish,
    ) -> None:
        known = [a for a in map(agent_id_of, agents or ()) if a is not None]
        active = active_agent_id if active_agent_id in known else None
        self.context = SessionContext(session_id, list(dict.fromkeys(known)), active)
        self.limits = Limits.of(limits)
        self._publish = publish
        self._outbox: deque[Message] = deque()
        self._flushing = False
        self._closed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._seen: OrderedDict[Any, None] = OrderedDict()
        agent_side = {
            ("AGENT_OUTPUT", None): self._on_output,
            ("ERROR", None): self._on_error,
            ("CONTROL", "INPUT_ACK"): self._on_input_ack,
            ("CONTROL", "CANCEL_ACK"): self._on_cancel_ack,
            ("EVENT", "STREAM_STOPPED"): self._on_cancel_ack,
            ("CONTROL", "HANDOVER_REQUEST"): self._on_handover_request,
        }
        self._handlers: dict[tuple[Any, Any], Callable[[Message], None]] = {
            **agent_side,
            ("USER_INPUT", None): self._on_user_input,
            ("CONTROL", "CANCEL"): self._on_cancel,
            ("CONTROL", "INTERRUPT"): self._on_cancel,
            ("CONTROL", "SWITCH_AGENT"): self._on_switch_agent,
            ("CONTROL", "REMOVE_AGENT"): self._on_remove_agent,
            ("CONTROL", "REMOVE_AGENT_DONE"): self._on_remove_done,
            ("CONTROL", "REMOVE_AGENT_FAILED"): self._on_remove_failed,
            ("CONTROL", "INVITE_AGENT"): self._on_invite_agent,
            ("CONTROL", "ADD_AGENT_DONE"): self._on_add_done,
            ("CONTROL", "ADD_AGENT_FAILED"): self._on_add_failed,
            ("CONTROL", "HANDOVER_CONFIRM"): self._on_handover_confirm,
            ("CONTROL", "HANDOVER_REJECT"): self._on_handover_reject,
            ("CONTROL", "SESSION_OPEN"): self._on_session_request,
            ("CONTROL", "SESSION_CLOSE"): self._on_session_request,
            ("CONTROL", "SESSION_OPENED"): self._on_session_done,
            ("CONTROL", "SESSION_CLOSED"): self._on_session_done,
            ("CONTROL", "SESSION_FAILED"): self._on_session_failed,
        }
        self._from_broadcast = set(agent_side)

    # -- the one door (5)

    async def on_message(self, msg: Message) -> None:
        """Handle one message of the bus and publish what follows from it."""
        handler = self._handler_for(msg)
        if handler is None:
            return
        try:
            handler(msg)
        finally:
            await self._flush()

    def close(self) -> None:
        """Stop all timers and publish nothing more."""
        self._closed = True
        self._outbox.clear()
        for waiting in (*self.context.inflight.values(), *self.context.transactions.values()):
            disarm(waiting)

    def _handler_for(self, msg: Message) -> Callable[[Message], None] | None:
        if self._closed or msg.get("session_id") != self.context.session_id:
            return None
        event = msg.get("event")
        key = (event, msg.get("subtype") if event in ("CONTROL", "EVENT") else None)
        handler = self._handlers.get(key)
        if handler is None:
            return None
        # Broadcast is for observation (1), except that agents may answer on it (1.2).
        target = msg.get("target")
        if target not in ("SYSTEM", "SESSION") and not (target == "BROADCAST" and key in self._from_broadcast):
            return None
        # Last, so that a copy that was not for us does not use up the id.
        if msg.get("id") is not None and not self._first_time(msg["id"]):
            return None
        return handler

    def _first_time(self, message_id: Any) -> bool:
        if message_id in self._seen:
            return False
        self._seen[message_id] = None
        if len(self._seen) > MAX_SEEN_IDS:
            self._seen.popitem(last=False)
        return True

    # -- A, B: input

    def _on_user_input(self, msg: Message) -> None:
        meta = metadata_of(msg)
        trace_id = meta.get("trace_id") or new_id()
        turn_id = meta.get("turn_id") or new_id()
        ids = {"trace_id": trace_id, "turn_id": turn_id}
        known = self.context.inflight.get(turn_id)
        if known is not None and (known.inflight or known.waiting):
            return self._error("TURN_IN_FLIGHT", "this turn_id names a turn that is not finished", ids)
        if is_mention(msg):
            agent_id = mentioned_agent(msg)
            if agent_id not in self.context.agents:
                return self._agent_absent(agent_id, ids)
            self._switch(agent_id, "mentioned by the user", "MENTION", ids)
        else:
            # With no active agent the one longest in the session stands in.
            agent_id = self.context.active_agent_id or self._default_agent()
            if agent_id is None:
                return self._error("NO_AGENT", "no agent in the session", ids)
        self._route(msg, Turn(turn_id, trace_id, msg.get("sender"), agent_id))

    def _route(self, msg: Message, turn: Turn) -> None:
        self._forget_old_turns()
        self.context.inflight[turn.turn_id] = turn
        turn.timer = self._arm(self.limits.input_ack_ms, self._route_timed_out, turn)
        ids = ids_of(turn)
        self._forward(msg, "AGENT", turn.target_agent_id, {**metadata_of(msg), **ids})
        self._tell("EVENT", "TURN_ACCEPTED", {**ids, "target_agent": turn.target_agent_id}, ids)

    def _on_input_ack(self, msg: Message) -> None:
        turn = self._turn_of_sender(msg)
        if turn is not None:
            self._start(turn)

    def _start(self, turn: Turn) -> None:
        if turn.status != ROUTING:
            return
        disarm(turn)
        turn.status, turn.waiting = RUNNING, None
        self._tell("EVENT", "AGENT_STARTED", {"agent_id": turn.target_agent_id}, ids_of(turn))

    def _route_timed_out(self, turn: Turn) -> None:
        self._finish(turn, FAILED)
        self._error("ROUTE_TIMEOUT", "no INPUT_ACK in time", ids_of(turn), agent_id=turn.target_agent_id)

    # -- G: output and errors of agents

    def _on_output(self, msg: Message) -> None:
        turn = self._turn_of_sender(msg)
        if turn is None or not turn.inflight:
            log.info("output of %r dropped: not of an inflight turn of this agent", msg.get("sender"))
            return
        self._start(turn)  # output before INPUT_ACK is an implicit start
        if turn not in self.context.speaking:
            self.context.speaking.append(turn)
        turn.last_output_at = time.time()
        turn.collected_output.append(msg.get("payload"))
        if is_final(msg):
            # A cancel under way keeps waiting for its ACK, which then has the last word.
            self._finish(turn, COMPLETED)
        self._forward(msg, "FRONTEND", None, msg.get("metadata"))

    def _on_error(self, msg: Message) -> None:
        turn = self._turn_of_sender(msg)
        if turn is not None and turn.inflight:
            self._finish(turn, FAILED)
        self._forward(msg, "FRONTEND", None, msg.get("metadata"))

    # -- C: cancel

    def _on_cancel(self, msg: Message) -> None:
        # A cancel that names a turn must not hit the next one when it comes late.
        named = self.context.inflight.get(metadata_of(msg).get("turn_id"))
        turn = named or self.context.speaking_turn
        if turn is None or turn not in self.context.speaking:
            self._tell("EVENT", "NO_ACTIVE_SPEAKING", {}, metadata_ids(msg))
        elif turn.waiting is None:
            self._cancel(turn, metadata_of(msg).get("tx_id"))

    def _cancel(self, turn: Turn, tx_id: str | None = None) -> None:
        tx = self._begin(CANCEL, tx_id, turn.trace_id, agent_id=turn.target_agent_id, turn=turn, requested=True)
        turn.waiting = "CANCEL_ACK"
        tx.timer = self._arm(self.limits.cancel_ack_ms, self._cancel_timed_out, tx)
        self._emit("CONTROL", "CANCEL", "AGENT", {}, ids_of(tx), target_id=tx.agent_id)
        self._tell("EVENT", "CANCEL_SENT", {"agent_id": tx.agent_id}, ids_of(tx))

    def _on_cancel_ack(self, msg: Message) -> None:
        meta = metadata_of(msg)
        for tx in self._open(CANCEL):
            same = tx.turn.turn_id == meta["turn_id"] if meta.get("turn_id") else tx.tx_id == meta.get("tx_id")
            if same and tx.agent_id == msg.get("sender"):
                return self._canceled(tx)

    def _canceled(self, tx: Transaction) -> None:
        self._end(tx)
        tx.turn.waiting = None
        self._finish(tx.turn, CANCELED)
        self._tell("EVENT", "CANCELED", {"agent_id": tx.agent_id}, ids_of(tx))
        for dependent in self._dependents(tx):
            self._advance(dependent)

    def _cancel_timed_out(self, tx: Transaction) -> None:
        # The agent may be lost. Ending its turn keeps it from blocking a later
        # cancel, removal or close for ever.
        self._end(tx)
        tx.turn.waiting = None
        if tx.turn.inflight:
            self._finish(tx.turn, FAILED)
        self._error("CANCEL_TIMEOUT", "no CANCEL_ACK in time", ids_of(tx), agent_id=tx.agent_id)
        for dependent in self._dependents(tx):
            self._abort(dependent, "CANCEL_TIMEOUT")

    # -- D, H: transactions that need silence first

    def _advance(self, tx: Transaction) -> None:
        """Cancel who still speaks; go on once no cancel is left to wait for."""
        whom = tx.agent_id if tx.kind == REMOVE else None
        for turn in [t for t in self.context.speaking if t.waiting is None]:
            if whom in (None, turn.target_agent_id):
                self._cancel(turn)
        cancels = [c for c in self._open(CANCEL) if whom in (None, c.agent_id)]
        for cancel in cancels:
            if tx not in cancel.dependents:
                cancel.dependents.append(tx)
        if cancels:
            return
        tx.requested = True
        self._emit("CONTROL", "REQUEST_REMOVE_AGENT" if tx.kind == REMOVE else f"REQUEST_{tx.kind}",
                   "SYSTEM", tx.payload, ids_of(tx))
        if tx.kind == REMOVE:
            self._unbind(tx)

    def _abort(self, tx: Transaction, reason: str) -> None:
        self._end(tx)
        if tx.kind == REMOVE:
            self._error("REMOVE_AGENT_FAILED", reason, ids_of(tx), agent_id=tx.agent_id)
        else:
            self._error("SESSION_FAILED", reason, ids_of(tx), operation=tx.kind)

    def _dependents(self, tx: Transaction) -> list[Transaction]:
        # An aborted one is gone, and its tx_id may be in use again.
        return [d for d in tx.dependents if self.context.transactions.get(d.tx_id) is d]

    # -- D: remove

    def _on_remove_agent(self, msg: Message) -> None:
        payload, meta = payload_of(msg), metadata_of(msg)
        agent_id = payload.get("agent_id")
        if any(tx.agent_id == agent_id for tx in self._open(REMOVE)):
            return  # under way: the answer to the first request serves both
        if agent_id not in self.context.agents:
            return self._error("REMOVE_AGENT_FAILED", "AGENT_NOT_IN_SESSION", metadata_ids(msg), agent_id=agent_id)
        request = {"session_id": self.context.session_id, "agent_id": agent_id,
                   "reason": payload.get("reason") or "USER_REQUEST"}
        tx = self._begin(REMOVE, meta.get("tx_id"), meta.get("trace_id"), agent_id=agent_id, payload=request)
        self._tell("EVENT", "AGENT_REMOVING", {"agent_id": agent_id}, ids_of(tx))
        self._advance(tx)

    def _unbind(self, tx: Transaction) -> None:
        self.context.agents.remove(tx.agent_id)
        self._tell("EVENT", "AGENT_REMOVED_LOCAL", self._roster(tx.agent_id), ids_of(tx))
        for turn in list(self.context.inflight.values()):
            # Accepted but silent turns would leave the frontend loading for ever.
            if turn.inflight and turn.target_agent_id == tx.agent_id:
                self._finish(turn, FAILED)
                self._error("TURN_FAILED", "AGENT_REMOVED", ids_of(turn), agent_id=tx.agent_id)
        if self.context.active_agent_id == tx.agent_id:
            self._switch(self._default_agent(), "active agent removed", "REMOVE_AGENT", ids_of(tx))

    def _on_remove_done(self, msg: Message) -> None:
        tx = self._answered(msg, REMOVE)
        if tx is not None:
            self._tell("EVENT", "AGENT_REMOVED", self._roster(tx.agent_id), ids_of(tx))

    def _on_remove_failed(self, msg: Message) -> None:
        tx = self._answered(msg, REMOVE)
        if tx is not None:
            # No roll-back of the unbinding: the agent was stopped on purpose.
            self._error("REMOVE_AGENT_FAILED", reason_of(msg), ids_of(tx), **self._roster(tx.agent_id))

    # -- E: invite

    def _on_invite_agent(self, msg: Message) -> None:
        payload, meta = payload_of(msg), metadata_of(msg)
        spec = payload.get("agent_spec", msg.get("payload"))
        agent_id = agent_id_of(spec)
        request = {"session_id": self.context.session_id, "agent_spec": spec}
        tx = self._begin(ADD, meta.get("tx_id"), meta.get("trace_id"), agent_id=agent_id, payload=request,
                         requested=True)
        self._emit("CONTROL", "REQUEST_ADD_AGENT", "SYSTEM", request, ids_of(tx))
        self._tell("EVENT", "ADDING_AGENT", {"agent_id": agent_id, "agent_spec": spec}, ids_of(tx))

    def _on_add_done(self, msg: Message) -> None:
        tx = self._answered(msg, ADD)
        if tx is None:
            return
        # The SessionManager has the last word on the id, it created the agent.
        agent_id = agent_id_of(msg.get("payload")) or tx.agent_id
        if agent_id is None:
            return self._error("ADD_AGENT_FAILED", "ADD_AGENT_DONE names no agent", ids_of(tx))
        if agent_id not in self.context.agents:
            self.context.agents.append(agent_id)
        self._tell("EVENT", "AGENT_ADDED", self._roster(agent_id), ids_of(tx))

    def _on_add_failed(self, msg: Message) -> None:
        tx = self._answered(msg, ADD)
        if tx is not None:
            self._error("ADD_AGENT_FAILED", reason_of(msg), ids_of(tx), agent_id=tx.agent_id)

    # -- F: handover

    def _on_handover_request(self, msg: Message) -> None:
        sender, payload, meta = msg.get("sender"), payload_of(msg), metadata_of(msg)
        if sender not in self.context.agents:
            return
        to = first(payload, "target_agent_id", "target_agent", "to_agent_id", "to_agent", "to", "target", "agent_id")
        if to not in self.context.agents:
            return self._agent_absent(to, metadata_ids(msg))
        turn = self._turn_of_sender(msg) or self._last_turn_with_output(sender)
        tx = self._begin(HANDOVER, meta.get("tx_id"), meta.get("trace_id") or (turn and turn.trace_id),
                         agent_id=sender, turn=turn, requested=True,
                         payload={**payload, "from_agent_id": sender, "target_agent_id": to})
        self._emit("CONTROL", "HANDOVER_UI_PROMPT", "FRONTEND", self._handover_payload(tx), ids_of(tx))

    def _on_handover_confirm(self, msg: Message) -> None:
        tx = self._answered(msg, HANDOVER)
        if tx is None:
            return
        to = tx.payload["target_agent_id"]
        if to not in self.context.agents:  # removed while the prompt was open
            return self._agent_absent(to, ids_of(tx))
        self._switch(to, tx.payload.get("reason") or "handover confirmed", "HANDOVER", ids_of(tx))
        self._emit("CONTROL", "HANDOVER_CONTEXT", "AGENT", self._handover_payload(tx), ids_of(tx), target_id=to)

    def _on_handover_reject(self, msg: Message) -> None:
        self._answered(msg, HANDOVER)

    def _handover_payload(self, tx: Transaction) -> dict[str, Any]:
        turn_id = tx.turn.turn_id if tx.turn else None
        return {**tx.payload, "turn_id": turn_id, "last_output": collected_text(tx.turn)}

    def _last_turn_with_output(self, agent_id: str) -> Turn | None:
        turns = [t for t in self.context.inflight.values() if t.target_agent_id == agent_id and t.last_output_at]
        return max(turns, key=lambda t: t.last_output_at, default=None)

    # -- H: session open and close

    def _on_session_request(self, msg: Message) -> None:
        kind, meta = msg["subtype"], metadata_of(msg)
        if self._open(kind):
            return  # under way: the answer to the first request serves both
        request = {**payload_of(msg), "session_id": self.context.session_id}
        tx = self._begin(kind, meta.get("tx_id"), meta.get("trace_id"), payload=request)
        if kind == CLOSE:
            return self._advance(tx)
        tx.requested = True
        self._emit("CONTROL", "REQUEST_SESSION_OPEN", "SYSTEM", request, ids_of(tx))

    def _on_session_done(self, msg: Message) -> None:
        done = msg["subtype"]
        tx = self._answered(msg, OPEN if done == "SESSION_OPENED" else CLOSE)
        if tx is None:
            return
        if tx.kind == CLOSE:
            # No time-out may be reported into a session that is closed.
            for turn in self.context.inflight.values():
                if turn.inflight:
                    self._finish(turn, CANCELED)
        self._tell("EVENT", done, {**payload_of(msg), "session_id": self.context.session_id}, ids_of(tx))

    def _on_session_failed(self, msg: Message) -> None:
        tx = self._answered(msg, OPEN, CLOSE)
        if tx is not None:
            self._error("SESSION_FAILED", reason_of(msg), ids_of(tx), operation=tx.kind)

    # -- active agent (3): at once in the context, and always on the bus

    def _on_switch_agent(self, msg: Message) -> None:
        payload = payload_of(msg)
        to = first(payload, "to", "agent_id", "target_agent_id", "target_agent")
        if to not in self.context.agents:
            return self._agent_absent(to, metadata_ids(msg))
        self._switch(to, payload.get("reason") or "requested by the user", "SWITCH_AGENT", metadata_ids(msg))

    def _switch(self, to: str | None, reason: str, trigger: str, ids: dict[str, Any]) -> None:
        was = self.context.active_agent_id
        if was == to:
            return
        self.context.active_agent_id = to
        payload = {"from": was, "to": to, "reason": reason, "trigger": trigger}
        self._emit("CONTROL", "SWITCH_AGENT", "BROADCAST", payload, {**ids, "visibility": "both"})

    def _default_agent(self) -> str | None:
        return self.context.agents[0] if self.context.agents else None

    def _roster(self, agent_id: str | None) -> dict[str, Any]:
        return {"agent_id": agent_id, "agents": list(self.context.agents)}

    # -- turns

    def _turn_of_sender(self, msg: Message) -> Turn | None:
        """The turn the message belongs to, if its sender is the agent of that turn."""
        turn = self.context.inflight.get(metadata_of(msg).get("turn_id"))
        return turn if turn is not None and turn.target_agent_id == msg.get("sender") else None

    def _finish(self, turn: Turn, status: str) -> None:
        disarm(turn)
        turn.status = status
        if turn.waiting == "INPUT_ACK":
            turn.waiting = None
        if turn in self.context.speaking:
            self.context.speaking.remove(turn)

    def _forget_old_turns(self) -> None:
        excess = len(self.context.inflight) - MAX_TURNS
        if excess >= 0:
            done = [t.turn_id for t in self.context.inflight.values() if not t.inflight and not t.waiting]
            for turn_id in done[: excess + 1]:
                del self.context.inflight[turn_id]

    # -- transactions

    def _begin(self, kind: str, tx_id: str | None, trace_id: str | None, **rest: Any) -> Transaction:
        if not tx_id or tx_id in self.context.transactions:
            tx_id = new_id()
        tx = Transaction(tx_id, kind, trace_id or new_id(), **rest)
        self.context.transactions[tx_id] = tx
        return tx

    def _open(self, *kinds: str) -> list[Transaction]:
        return [tx for tx in self.context.transactions.values() if tx.kind in kinds]

    def _end(self, tx: Transaction) -> None:
        disarm(tx)
        del self.context.transactions[tx.tx_id]

    def _answered(self, msg: Message, *kinds: str) -> Transaction | None:
        """End and return the transaction a receipt answers.

        By tx_id, else by turn_id, else by agent, else the only one there is. With
        several to choose from none is taken: a guess could confirm the wrong one.
        """
        meta, payload = metadata_of(msg), payload_of(msg)
        found = [tx for tx in self._open(*kinds) if tx.requested]
        tx_id = meta.get("tx_id") or payload.get("tx_id")
        turn_id = meta.get("turn_id") or payload.get("turn_id")
        agent_id = agent_id_of(payload)
        if tx_id:
            found = [tx for tx in found if tx.tx_id == tx_id]
        elif kinds == (HANDOVER,) and turn_id:
            found = [tx for tx in found if tx.turn and tx.turn.turn_id == turn_id]
        elif kinds in ((ADD,), (REMOVE,)) and agent_id:
            # Requests for one agent are alike, so the oldest serves; an invitation
            # may have left the id to the SessionManager.
            found = [tx for tx in found if tx.agent_id == agent_id][:1] or [tx for tx in found if not tx.agent_id]
        if len(found) != 1:
            log.info("%s ignored: it answers %d open transactions", msg.get("subtype"), len(found))
            return None
        self._end(found[0])
        return found[0]

    # -- publishing

    def _tell(self, event: str, subtype: str, payload: dict[str, Any], ids: dict[str, Any]) -> None:
        self._emit(event, subtype, "FRONTEND", payload, ids)

    def _error(self, code: str, message: str, ids: dict[str, Any], **more: Any) -> None:
        self._tell("ERROR", code, {"code": code, "message": message, **more}, ids)

    def _agent_absent(self, agent_id: Any, ids: dict[str, Any]) -> None:
        self._error("AGENT_NOT_IN_SESSION", "no such agent in the session", ids, agent_id=agent_id)

    def _forward(self, msg: Message, target: str, target_id: str | None, metadata: Any) -> None:
        # The sender stays: it is the only field that tells the frontend who speaks.
        self._emit(msg["event"], msg.get("subtype"), target, msg.get("payload"), metadata,
                   target_id=target_id, sender=msg.get("sender"))

    def _emit(self, event: str, subtype: Any, target: str, payload: Any, metadata: Any, *,
              target_id: str | None = None, sender: Any = SENDER) -> None:
        message_id = new_id()
        self._first_time(message_id)  # the bus may deliver our own SYSTEM and BROADCAST messages to us
        self._outbox.append({
            "id": message_id, "session_id": self.context.session_id, "event": event, "subtype": subtype,
            "sender": sender, "target": target, "target_id": target_id, "payload": payload,
            "timestamp": datetime.now(timezone.utc).isoformat(), "metadata": metadata,
        })

    async def _flush(self) -> None:
        if self._flushing:
            return  # whoever is publishing takes our messages along, in order
        self._flushing = True
        try:
            while self._outbox:
                await self._publish(self._outbox.popleft())
        finally:
            self._flushing = False

    def _arm(self, ms: float, expired: Callable[..., None], *args: Any) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(ms / 1000, self._expire, expired, *args)

    def _expire(self, expired: Callable[..., None], *args: Any) -> None:
        expired(*args)
        task = asyncio.get_running_loop().create_task(self._flush())
        self._tasks.add(task)  # the loop itself holds tasks only weakly
        task.add_done_callback(self._tasks.discard)


# -- reading messages: peers may leave fields out or send null


def new_id() -> str:
    return uuid.uuid4().hex


def metadata_of(msg: Message) -> dict[str, Any]:
    meta = msg.get("metadata")
    return meta if isinstance(meta, dict) else {}


def payload_of(msg: Message) -> dict[str, Any]:
    payload = msg.get("payload")
    return payload if isinstance(payload, dict) else {}


def metadata_ids(msg: Message) -> dict[str, Any]:
    return {k: v for k, v in metadata_of(msg).items() if k in ("trace_id", "turn_id", "tx_id")}


def ids_of(what: Turn | Transaction) -> dict[str, Any]:
    """The ids by which a peer relates a message to a turn or transaction."""
    if isinstance(what, Turn):
        return {"trace_id": what.trace_id, "turn_id": what.turn_id}
    turn = {"turn_id": what.turn.turn_id} if what.turn else {}
    return {"trace_id": what.trace_id, "tx_id": what.tx_id, **turn}


def disarm(what: Turn | Transaction) -> None:
    if what.timer is not None:
        what.timer.cancel()
        what.timer = None


def first(payload: Mapping[str, Any], *names: str) -> Any:
    return next((payload[n] for n in names if payload.get(n)), None)


def agent_id_of(spec: Any) -> str | None:
    """The id in an agent's description: a bare string, or an object with an id."""
    if isinstance(spec, str):
        return spec or None
    if not isinstance(spec, dict):
        return None
    return first(spec, "agent_id", "id") or agent_id_of(spec.get("agent") or spec.get("agent_spec"))


def is_mention(msg: Message) -> bool:
    marks = (msg.get("subtype"), metadata_of(msg).get("subtype"))
    return "MENTION" in marks or bool(payload_of(msg).get("mentioned_agent_id"))


def mentioned_agent(msg: Message) -> Any:
    """The document names a field for structured payloads only; text says "@agent …"."""
    named = payload_of(msg).get("mentioned_agent_id") or metadata_of(msg).get("mentioned_agent_id")
    text = msg.get("payload") if isinstance(msg.get("payload"), str) else payload_of(msg).get("text")
    at = re.match(r"\s*@([^\s,:]+)", text) if isinstance(text, str) else None
    return named or (at and at.group(1))


def is_final(msg: Message) -> bool:
    """Whether an output ends its turn; one outside any stream is whole, so it does."""
    stream = metadata_of(msg).get("stream")
    if not isinstance(stream, dict) or not stream:
        return str(msg.get("subtype") or "").upper() != "CHUNK"
    if "final" in stream:
        return bool(stream["final"])
    return stream.get("is_chunk") is False


def reason_of(msg: Message) -> str:
    reason = first(payload_of(msg), "reason", "message", "error")
    return str(reason or msg.get("payload") or "no reason given")


def collected_text(turn: Turn | None) -> Any:
    """What a turn has said so far: joined when it is all text, else piece by piece."""
    if turn is None:
        return None
    texts = [p if isinstance(p, str) else first(p, "text", "content") if isinstance(p, dict) else None
             for p in turn.collected_output]
    return "".join(texts) if all(isinstance(t, str) for t in texts) else list(turn.collected_output)
