"""Tests of the orchestrator, one class per section of its document, and of the adapter.

Run with: python3 -m unittest -v test_orchestrator
"""

import asyncio
import itertools
import json
import pathlib
import subprocess
import sys
import unittest

from orchestrator import CANCELED, COMPLETED, FAILED, RUNNING, SessionRuntime

HERE = pathlib.Path(__file__).parent
LONG, SHORT = 60_000, 10  # ms: a limit that never passes in a test, and one that is waited for


class Case(unittest.IsolatedAsyncioTestCase):
    limits = {"input_ack_ms": LONG, "cancel_ack_ms": LONG}

    async def asyncSetUp(self):
        self.published, self.news = [], asyncio.Event()
        self.ids = itertools.count()
        self.runtime = self.new_runtime("s1")

    async def asyncTearDown(self):
        self.runtime.close()

    def new_runtime(self, session_id, agents=("a", "b", "c"), active="a"):
        return SessionRuntime(session_id, agents, active, self.limits, self.publish)

    async def publish(self, msg):
        self.published.append(msg)
        self.news.set()

    async def send(self, event, subtype=None, sender="user", payload=None, *, target="SYSTEM", id=None, **meta):
        """Deliver a message and return what was published because of it."""
        start = len(self.published)
        await self.runtime.on_message({
            "id": id or f"m{next(self.ids)}", "session_id": self.runtime.context.session_id, "event": event,
            "subtype": subtype, "sender": sender, "target": target, "payload": payload, "metadata": meta})
        return self.published[start:]

    async def until(self, subtype):
        """Wait for the timer that publishes `subtype`."""
        while not (found := [m for m in self.published if m["subtype"] == subtype]):
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), 1)
        return found[0]

    async def ask(self, turn, agent="a", **meta):
        return await self.send("USER_INPUT", payload={"mentioned_agent_id": agent, "text": "hi"}, turn_id=turn, **meta)

    async def ack(self, turn, agent="a", **kw):
        return await self.send("CONTROL", "INPUT_ACK", agent, turn_id=turn, **kw)

    async def say(self, turn, text="x", agent="a", final=False, **kw):
        stream = {"is_chunk": True, "seq": 1, "final": final}
        return await self.send("AGENT_OUTPUT", None, agent, text, turn_id=turn, stream=stream, **kw)

    async def speaking(self, turn, agent="a"):
        await self.ask(turn, agent)
        await self.ack(turn, agent)
        await self.say(turn, "part", agent)

    async def stopped(self, turn, agent="a"):
        return await self.send("CONTROL", "CANCEL_ACK", agent, turn_id=turn)

    def turn(self, turn_id):
        return self.runtime.context.inflight[turn_id]

    def assertNames(self, messages, *expected):
        self.assertEqual([f"{m['subtype'] or m['event']}>{m['target']}" for m in messages], list(expected))


class Input(Case):
    """A, B."""

    async def test_routes_to_the_active_agent(self):
        out = await self.send("USER_INPUT", payload="hello", extra=1)
        self.assertNames(out, "USER_INPUT>AGENT", "TURN_ACCEPTED>FRONTEND")
        routed, accepted = out
        self.assertEqual((routed["target_id"], routed["payload"], routed["metadata"]["extra"]), ("a", "hello", 1))
        self.assertEqual(accepted["payload"]["target_agent"], "a")
        for key in ("trace_id", "turn_id"):
            self.assertTrue(routed["metadata"][key])
            self.assertEqual(routed["metadata"][key], accepted["metadata"][key])

    async def test_keeps_given_ids(self):
        out = await self.send("USER_INPUT", payload="hello", turn_id="t", trace_id="tr")
        self.assertEqual([(m["metadata"]["turn_id"], m["metadata"]["trace_id"]) for m in out], [("t", "tr")] * 2)

    async def test_no_active_agent(self):
        self.runtime = self.new_runtime("s1", active=None)
        out = await self.send("USER_INPUT", payload="hello")
        self.assertEqual(out[0]["target_id"], "a")
        self.runtime = self.new_runtime("s1", agents=[], active=None)
        self.assertNames(await self.send("USER_INPUT", payload="hello"), "NO_AGENT>FRONTEND")

    async def test_mention_switches_first(self):
        out = await self.ask("t", "b")
        self.assertNames(out, "SWITCH_AGENT>BROADCAST", "USER_INPUT>AGENT", "TURN_ACCEPTED>FRONTEND")
        self.assertEqual((out[0]["payload"]["from"], out[0]["payload"]["to"], out[1]["target_id"]), ("a", "b", "b"))
        self.assertNames(await self.ask("t2", "b"), "USER_INPUT>AGENT", "TURN_ACCEPTED>FRONTEND")

    async def test_mention_by_metadata_and_text(self):
        out = await self.send("USER_INPUT", payload="@c, hello")
        self.assertEqual(out[0]["target_id"], "a", "text alone is no mention")
        msg = {"id": "x", "session_id": "s1", "event": "USER_INPUT", "target": "SYSTEM", "sender": "user",
               "payload": "@c, hello", "metadata": {"subtype": "MENTION"}}
        await self.runtime.on_message(msg)
        self.assertEqual(self.published[-2]["target_id"], "c")

    async def test_mention_of_absent_agent(self):
        self.assertNames(await self.ask("t", "nobody"), "AGENT_NOT_IN_SESSION>FRONTEND")
        self.assertEqual(self.runtime.context.active_agent_id, "a")
        self.assertEqual(self.runtime.context.inflight, {})

    async def test_ack_starts_once_and_only_from_the_target(self):
        await self.ask("t")
        self.assertEqual(await self.ack("t", "b"), [])
        self.assertEqual(await self.ack("other"), [])
        self.assertNames(await self.ack("t"), "AGENT_STARTED>FRONTEND")
        self.assertEqual(await self.ack("t"), [])
        self.assertIsNone(self.turn("t").timer)

    async def test_turns_side_by_side(self):
        await self.ask("t1")
        await self.ask("t2", "b")
        await self.ack("t2", "b")
        self.assertNames(await self.say("t2", agent="b", final=True), "AGENT_OUTPUT>FRONTEND")
        await self.ack("t1")
        self.assertNames(await self.say("t1"), "AGENT_OUTPUT>FRONTEND")
        self.assertEqual((self.turn("t1").status, self.turn("t2").status), (RUNNING, COMPLETED))

    async def test_turn_id_of_an_unfinished_turn(self):
        await self.ask("t")
        self.assertNames(await self.ask("t"), "TURN_IN_FLIGHT>FRONTEND")
        await self.say("t", final=True)
        self.assertNames(await self.ask("t"), "USER_INPUT>AGENT", "TURN_ACCEPTED>FRONTEND")


class RouteTimeout(Case):
    limits = {"input_ack_ms": SHORT, "cancel_ack_ms": LONG}

    async def test_missing_ack_fails_that_turn_only(self):
        await self.ask("acked")
        await self.ack("acked")
        await self.ask("t")
        error = await self.until("ROUTE_TIMEOUT")
        self.assertEqual((error["event"], error["target"], error["metadata"]["turn_id"]), ("ERROR", "FRONTEND", "t"))
        self.assertEqual((self.turn("t").status, self.turn("acked").status), (FAILED, RUNNING))
        self.assertEqual(await self.ack("t"), [], "a late ACK revives nothing")
        self.assertEqual(await self.say("t"), [])

    async def test_closed_runtime_is_silent(self):
        await self.ask("t")
        closed, count = self.runtime, len(self.published)
        closed.close()
        self.runtime = self.new_runtime("s2")
        await self.ask("t")
        await self.until("ROUTE_TIMEOUT")  # armed later than the closed one's
        self.assertEqual({m["session_id"] for m in self.published[count:]}, {"s2"})


class Output(Case):
    """G."""

    async def test_forwards_unchanged(self):
        await self.ask("t")
        await self.ack("t")
        meta = {"turn_id": "t", "stream": {"is_chunk": True, "seq": 7, "final": False}, "other": [1]}
        out = await self.send("AGENT_OUTPUT", None, "a", {"text": "é"}, **meta)
        self.assertNames(out, "AGENT_OUTPUT>FRONTEND")
        self.assertEqual((out[0]["payload"], out[0]["metadata"], out[0]["sender"]), ({"text": "é"}, meta, "a"))
        self.assertEqual(self.runtime.context.speaking_agent_id, "a")
        self.assertTrue(self.runtime.context.user_interruptible)

    async def test_final_ends_the_turn(self):
        await self.speaking("t")
        self.assertNames(await self.say("t", final=True), "AGENT_OUTPUT>FRONTEND")
        self.assertIsNone(self.runtime.context.speaking_agent_id)
        self.assertEqual(await self.say("t"), [])

    async def test_output_without_stream_is_whole(self):
        await self.ask("t")
        await self.ack("t")
        await self.send("AGENT_OUTPUT", None, "a", "all", turn_id="t")
        self.assertEqual(self.turn("t").status, COMPLETED)

    async def test_fails_the_check(self):
        await self.ask("t")
        await self.ack("t")
        self.assertEqual(await self.say("t", agent="b"), [])
        self.assertEqual(await self.say("unknown"), [])
        self.assertEqual(await self.send("AGENT_OUTPUT", None, "a", "x"), [])
        self.assertIsNone(self.runtime.context.speaking_agent_id)

    async def test_before_ack_is_an_implicit_start(self):
        await self.ask("t")
        self.assertNames(await self.say("t"), "AGENT_STARTED>FRONTEND", "AGENT_OUTPUT>FRONTEND")
        self.assertEqual(await self.ack("t"), [])

    async def test_error_is_forwarded_and_ends_the_turn(self):
        await self.speaking("t")
        out = await self.send("ERROR", "MODEL", "a", {"why": "x"}, turn_id="t")
        self.assertNames(out, "MODEL>FRONTEND")
        self.assertEqual((out[0]["event"], out[0]["payload"], self.turn("t").status), ("ERROR", {"why": "x"}, FAILED))
        self.assertNames(await self.send("ERROR", None, "b", "loose"), "ERROR>FRONTEND")


class Delivery(Case):
    async def test_same_id_twice_counts_once(self):
        for targets in (("SYSTEM", "BROADCAST"), ("BROADCAST", "SYSTEM")):
            with self.subTest(targets):
                await self.ask(targets[0])
                await self.ack(targets[0])
                out = [await self.say(targets[0], target=t, id=f"dup-{targets[0]}") for t in targets]
                self.assertEqual([len(o) for o in out], [1, 0])

    async def test_broadcast_input_is_observed_only(self):
        self.assertEqual(await self.send("USER_INPUT", payload="x", target="BROADCAST", id="u"), [])
        self.assertEqual(len(await self.send("USER_INPUT", payload="x", id="u")), 2)

    async def test_own_messages_come_back(self):
        switch = (await self.ask("t", "b"))[0]
        count = len(self.published)
        for target in ("BROADCAST", "SYSTEM"):
            await self.runtime.on_message({**switch, "target": target})
        self.assertEqual(len(self.published), count)

    async def test_not_for_us(self):
        for target in ("FRONTEND", "AGENT", "LOGGER", None):
            self.assertEqual(await self.send("USER_INPUT", payload="x", target=target), [])
        await self.runtime.on_message({"id": "z", "session_id": "s2", "event": "USER_INPUT", "target": "SYSTEM"})
        await self.runtime.on_message({"session_id": "s1", "event": "CONTROL", "target": "SYSTEM", "metadata": None})
        self.assertEqual(self.published, [])

    async def test_order_holds_when_the_bus_answers_at_once(self):
        async def publish(msg):
            await self.publish(msg)
            if msg["target"] == "AGENT":
                await self.ack(msg["metadata"]["turn_id"])
        self.runtime._publish = publish
        out = await self.ask("t")
        self.assertNames(out, "USER_INPUT>AGENT", "TURN_ACCEPTED>FRONTEND", "AGENT_STARTED>FRONTEND")

    async def test_two_sessions_share_nothing(self):
        one, two = self.runtime, self.new_runtime("s2")
        await self.ask("t")
        self.runtime = two
        self.assertEqual(await self.ack("t"), [])
        out = await self.send("USER_INPUT", payload="x", id="m0")
        self.assertEqual({m["session_id"] for m in out}, {"s2"})
        two.close()
        self.runtime = one


class Cancel(Case):
    """C."""

    async def test_nobody_speaks(self):
        self.assertNames(await self.send("CONTROL", "CANCEL"), "NO_ACTIVE_SPEAKING>FRONTEND")
        await self.ask("t")
        self.assertNames(await self.send("CONTROL", "CANCEL"), "NO_ACTIVE_SPEAKING>FRONTEND")
        await self.ack("t")
        self.assertNames(await self.send("CONTROL", "CANCEL"), "NO_ACTIVE_SPEAKING>FRONTEND")

    async def test_cancel_and_ack(self):
        for n, (ask, event, receipt) in enumerate([("CANCEL", "CONTROL", "CANCEL_ACK"),
                                                   ("INTERRUPT", "EVENT", "STREAM_STOPPED")]):
            with self.subTest(ask):
                turn = f"t{n}"
                await self.speaking(turn)
                out = await self.send("CONTROL", ask)
                self.assertNames(out, "CANCEL>AGENT", "CANCEL_SENT>FRONTEND")
                self.assertEqual((out[0]["target_id"], out[0]["metadata"]["turn_id"]), ("a", turn))
                self.assertEqual(await self.send("CONTROL", ask), [], "asked once")
                self.assertNames(await self.say(turn), "AGENT_OUTPUT>FRONTEND")
                self.assertEqual(await self.send(event, receipt, "b", turn_id=turn), [])
                self.assertNames(await self.send(event, receipt, "a", turn_id=turn), "CANCELED>FRONTEND")
                self.assertEqual(self.turn(turn).status, CANCELED)
                self.assertEqual(await self.say(turn), [], "nothing after the ACK")
                self.assertEqual(await self.stopped(turn), [])

    async def test_final_before_ack(self):
        await self.speaking("t")
        await self.send("CONTROL", "CANCEL")
        await self.say("t", final=True)
        self.assertNames(await self.stopped("t"), "CANCELED>FRONTEND")

    async def test_ack_by_tx_id(self):
        await self.speaking("t")
        await self.send("CONTROL", "CANCEL", tx_id="x")
        self.assertNames(await self.send("CONTROL", "CANCEL_ACK", "a", tx_id="x"), "CANCELED>FRONTEND")

    async def test_several_speak(self):
        await self.speaking("t1", "a")
        await self.speaking("t2", "b")
        self.assertEqual((await self.send("CONTROL", "CANCEL"))[0]["target_id"], "b")
        self.assertEqual((await self.send("CONTROL", "CANCEL", turn_id="t1"))[0]["target_id"], "a")
        self.assertNames(await self.stopped("t1"), "CANCELED>FRONTEND")
        self.assertEqual(self.turn("t2").status, RUNNING)

    async def test_late_cancel_spares_the_next_turn(self):
        await self.speaking("t1")
        await self.say("t1", final=True)
        await self.speaking("t2")
        self.assertNames(await self.send("CONTROL", "CANCEL", turn_id="t1"), "NO_ACTIVE_SPEAKING>FRONTEND")


class CancelTimeout(Case):
    limits = {"input_ack_ms": LONG, "cancel_ack_ms": SHORT}

    async def test_turn_fails(self):
        await self.speaking("t")
        await self.send("CONTROL", "CANCEL")
        self.assertEqual((await self.until("CANCEL_TIMEOUT"))["metadata"]["turn_id"], "t")
        self.assertEqual(self.turn("t").status, FAILED)
        self.assertEqual(await self.say("t") + await self.stopped("t"), [])
        self.assertNames(await self.send("CONTROL", "CANCEL"), "NO_ACTIVE_SPEAKING>FRONTEND")

    async def test_dependents_are_given_up(self):
        await self.speaking("t")
        await self.send("CONTROL", "REMOVE_AGENT", payload={"agent_id": "a"})
        await self.send("CONTROL", "SESSION_CLOSE")
        await self.until("SESSION_FAILED")
        await self.until("REMOVE_AGENT_FAILED")
        self.assertFalse([m for m in self.published if str(m["subtype"]).startswith("REQUEST_")])
        self.assertIn("a", self.runtime.context.agents)
        self.assertEqual(self.runtime.context.transactions, {})


class Remove(Case):
    """D."""

    async def remove(self, agent, **meta):
        return await self.send("CONTROL", "REMOVE_AGENT", payload={"agent_id": agent}, **meta)

    async def test_silent_agent(self):
        out = await self.remove("b")
        self.assertNames(out, "AGENT_REMOVING>FRONTEND", "REQUEST_REMOVE_AGENT>SYSTEM", "AGENT_REMOVED_LOCAL>FRONTEND")
        self.assertEqual({k: out[1]["payload"][k] for k in ("session_id", "agent_id")},
                         {"session_id": "s1", "agent_id": "b"})
        self.assertEqual(self.runtime.context.agents, ["a", "c"])
        self.assertEqual(await self.remove("b"), [], "under way")
        done = await self.send("CONTROL", "REMOVE_AGENT_DONE", "sm", {"agent_id": "b"})
        self.assertNames(done, "AGENT_REMOVED>FRONTEND")
        self.assertEqual(await self.send("CONTROL", "REMOVE_AGENT_DONE", "sm", {"agent_id": "b"}), [])

    async def test_speaking_and_active_agent(self):
        await self.speaking("t")
        self.assertNames(await self.remove("a"), "AGENT_REMOVING>FRONTEND", "CANCEL>AGENT", "CANCEL_SENT>FRONTEND")
        out = await self.stopped("t")
        self.assertNames(out, "CANCELED>FRONTEND", "REQUEST_REMOVE_AGENT>SYSTEM", "AGENT_REMOVED_LOCAL>FRONTEND",
                         "SWITCH_AGENT>BROADCAST")
        self.assertEqual((out[-1]["payload"]["from"], out[-1]["payload"]["to"]), ("a", "b"))

    async def test_joins_a_cancel_under_way(self):
        await self.speaking("t")
        await self.send("CONTROL", "CANCEL")
        self.assertNames(await self.remove("a"), "AGENT_REMOVING>FRONTEND")
        self.assertIn("REQUEST_REMOVE_AGENT", [m["subtype"] for m in await self.stopped("t")])

    async def test_waits_for_all_its_turns_and_no_other(self):
        await self.speaking("t1")
        await self.speaking("t2")
        await self.speaking("t3", "b")
        self.assertEqual([m["metadata"]["turn_id"] for m in await self.remove("a") if m["subtype"] == "CANCEL"],
                         ["t1", "t2"])
        self.assertNames(await self.stopped("t1"), "CANCELED>FRONTEND")
        self.assertIn("REQUEST_REMOVE_AGENT", [m["subtype"] for m in await self.stopped("t2")])
        self.assertEqual(self.turn("t3").status, RUNNING)

    async def test_pending_turn_fails(self):
        await self.ask("t")
        self.assertIn("TURN_FAILED", [m["subtype"] for m in await self.remove("a")])
        self.assertIsNone(self.turn("t").timer)

    async def test_failed_and_refused(self):
        await self.remove("a", tx_id="x")
        self.assertEqual(await self.send("CONTROL", "REMOVE_AGENT_FAILED", "sm", tx_id="y"), [])
        out = await self.send("CONTROL", "REMOVE_AGENT_FAILED", "sm", {"reason": "disk"}, tx_id="x")
        self.assertNames(out, "REMOVE_AGENT_FAILED>FRONTEND")
        self.assertEqual((out[0]["event"], out[0]["payload"]["message"]), ("ERROR", "disk"))
        self.assertEqual(self.runtime.context.agents, ["b", "c"])
        self.assertNames(await self.remove("a"), "REMOVE_AGENT_FAILED>FRONTEND")

    async def test_last_agent(self):
        for agent in "abc":
            await self.remove(agent)
        self.assertIsNone(self.runtime.context.active_agent_id)
        self.assertIsNone(self.published[-1]["payload"]["to"])

    async def test_receipts_out_of_order(self):
        await self.remove("b")
        await self.remove("c")
        for agent in "cb":
            out = await self.send("CONTROL", "REMOVE_AGENT_DONE", "sm", {"agent_id": agent})
            self.assertEqual(out[0]["payload"]["agent_id"], agent)


class Invite(Case):
    """E."""

    async def test_added_on_done_only(self):
        out = await self.send("CONTROL", "INVITE_AGENT", payload={"agent_spec": {"agent_id": "d"}})
        self.assertNames(out, "REQUEST_ADD_AGENT>SYSTEM", "ADDING_AGENT>FRONTEND")
        self.assertNames(await self.ask("t", "d"), "AGENT_NOT_IN_SESSION>FRONTEND")
        out = await self.send("CONTROL", "ADD_AGENT_DONE", "sm", {"agent_id": "d"}, tx_id=out[0]["metadata"]["tx_id"])
        self.assertNames(out, "AGENT_ADDED>FRONTEND")
        self.assertEqual(out[0]["payload"], {"agent_id": "d", "agents": ["a", "b", "c", "d"]})
        self.assertEqual(self.runtime.context.active_agent_id, "a")
        self.assertEqual((await self.ask("t", "d"))[1]["target_id"], "d")

    async def test_failed(self):
        await self.send("CONTROL", "INVITE_AGENT", payload={"agent_spec": {"agent_id": "d"}})
        self.assertNames(await self.send("CONTROL", "ADD_AGENT_FAILED", "sm", "no"), "ADD_AGENT_FAILED>FRONTEND")
        self.assertEqual(await self.send("CONTROL", "ADD_AGENT_DONE", "sm", {"agent_id": "d"}), [])
        self.assertNotIn("d", self.runtime.context.agents)


class Handover(Case):
    """F."""

    async def request(self, to="b", **meta):
        return await self.send("CONTROL", "HANDOVER_REQUEST", "a", {"target_agent_id": to, "reason": "r"}, **meta)

    async def test_confirm(self):
        await self.speaking("t")
        out = await self.request(turn_id="t")
        self.assertNames(out, "HANDOVER_UI_PROMPT>FRONTEND")
        self.assertEqual((out[0]["payload"]["last_output"], out[0]["payload"]["target_agent_id"]), ("part", "b"))
        self.assertEqual(self.runtime.context.active_agent_id, "a")
        await self.say("t", "ly", final=True)
        out = await self.send("CONTROL", "HANDOVER_CONFIRM", tx_id=out[0]["metadata"]["tx_id"])
        self.assertNames(out, "SWITCH_AGENT>BROADCAST", "HANDOVER_CONTEXT>AGENT")
        self.assertEqual((out[1]["target_id"], out[1]["payload"]["last_output"]), ("b", "partly"))
        self.assertEqual((await self.send("USER_INPUT", payload="next"))[0]["target_id"], "b")

    async def test_reject(self):
        tx_id = (await self.request())[0]["metadata"]["tx_id"]
        self.assertEqual(await self.send("CONTROL", "HANDOVER_REJECT", tx_id=tx_id), [])
        self.assertEqual(await self.send("CONTROL", "HANDOVER_CONFIRM", tx_id=tx_id), [], "settled")
        self.assertEqual(self.runtime.context.active_agent_id, "a")

    async def test_two_prompts_are_told_apart(self):
        await self.ask("t1")
        await self.ask("t2")
        await self.request("b", turn_id="t1")
        await self.request("c", turn_id="t2")
        self.assertEqual(await self.send("CONTROL", "HANDOVER_CONFIRM"), [], "no guess")
        out = await self.send("CONTROL", "HANDOVER_CONFIRM", turn_id="t2")
        self.assertEqual(out[1]["target_id"], "c")

    async def test_absent_agent(self):
        self.assertNames(await self.request("nobody"), "AGENT_NOT_IN_SESSION>FRONTEND")
        await self.request("b")
        await self.send("CONTROL", "REMOVE_AGENT", payload={"agent_id": "b"})
        self.assertNames(await self.send("CONTROL", "HANDOVER_CONFIRM"), "AGENT_NOT_IN_SESSION>FRONTEND")


class Session(Case):
    """H, and the frontend's own SWITCH_AGENT."""

    async def test_open(self):
        self.assertNames(await self.send("CONTROL", "SESSION_OPEN"), "REQUEST_SESSION_OPEN>SYSTEM")
        out = await self.send("CONTROL", "SESSION_OPENED", "sm")
        self.assertNames(out, "SESSION_OPENED>FRONTEND")
        self.assertEqual(out[0]["event"], "EVENT")

    async def test_close_cancels_all_speakers_first(self):
        await self.speaking("t1", "a")
        await self.speaking("t2", "b")
        await self.ask("t3", "c")
        out = await self.send("CONTROL", "SESSION_CLOSE")
        self.assertEqual([m["target_id"] for m in out if m["subtype"] == "CANCEL"], ["a", "b"])
        self.assertNames(await self.stopped("t2", "b"), "CANCELED>FRONTEND")
        self.assertEqual(await self.send("CONTROL", "SESSION_CLOSED", "sm"), [], "not asked for yet")
        self.assertNames(await self.stopped("t1"), "CANCELED>FRONTEND", "REQUEST_SESSION_CLOSE>SYSTEM")
        self.assertNames(await self.send("CONTROL", "SESSION_CLOSED", "sm"), "SESSION_CLOSED>FRONTEND")
        self.assertIsNone(self.turn("t3").timer)

    async def test_failed(self):
        await self.send("CONTROL", "SESSION_CLOSE")
        out = await self.send("CONTROL", "SESSION_FAILED", "sm", {"reason": "disk"})
        self.assertNames(out, "SESSION_FAILED>FRONTEND")
        self.assertEqual((out[0]["event"], out[0]["payload"]["operation"]), ("ERROR", "SESSION_CLOSE"))

    async def test_switch(self):
        out = await self.send("CONTROL", "SWITCH_AGENT", payload={"to": "c"})
        self.assertNames(out, "SWITCH_AGENT>BROADCAST")
        self.assertEqual((await self.send("USER_INPUT", payload="x"))[0]["target_id"], "c")
        self.assertNames(await self.send("CONTROL", "SWITCH_AGENT", payload={"to": "z"}),
                         "AGENT_NOT_IN_SESSION>FRONTEND")


class Adapter(unittest.TestCase):
    def run_lines(self, *lines):
        """Feed the adapter; return its frames and what it said on stderr."""
        data = b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
        done = subprocess.run([sys.executable, HERE / "adapter.py"], input=data, capture_output=True, timeout=10)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()

    @staticmethod
    def setup_frame(session_id):
        return {"parley": "setup", "session_id": session_id, "agents": ["a"], "active_agent_id": "a",
                "limits": {"input_ack_ms": LONG, "cancel_ack_ms": LONG}}

    @staticmethod
    def input_line(session_id, id, turn):
        return {"id": id, "session_id": session_id, "event": "USER_INPUT", "subtype": None, "sender": "user",
                "target": "SYSTEM", "target_id": None, "payload": "hé", "metadata": {"turn_id": turn}}

    def test_sessions_fences_and_reset(self):
        frames, err = self.run_lines(
            self.setup_frame("s1"), self.setup_frame("s2"),
            self.input_line("s1", "m", "t"), {"parley": "fence", "id": 1},
            self.input_line("s2", "m", "t"), {"parley": "fence", "id": 2},
            self.setup_frame("s1"), self.input_line("s1", "m", "t"), {"parley": "fence", "id": 3})
        turn = ["USER_INPUT", "EVENT"]
        self.assertEqual([f.get("parley") or f["event"] for f in frames],
                         ["ready", "ready", *turn, "fenced", *turn, "fenced", "ready", *turn, "fenced"])
        self.assertEqual([f["id"] for f in frames if f.get("parley") == "fenced"], [1, 2, 3])
        self.assertEqual([f["session_id"] for f in frames if f.get("event") == "EVENT"], ["s1", "s2", "s1"])
        self.assertEqual((frames[0], frames[2]["payload"], err), ({"parley": "ready", "session_id": "s1"}, "hé", ""))

    def test_bad_lines_do_not_kill(self):
        bad = [b"not json", b"\xff", b"[1]", {"session_id": "nobody", "event": "USER_INPUT"}, {"parley": "setup"},
               self.input_line("s1", {"no": "id"}, "t"), self.input_line("s1", "m", [1])]
        frames, err = self.run_lines(self.setup_frame("s1"), *bad, {"parley": "fence", "id": "f"})
        self.assertEqual([f["parley"] for f in frames if "parley" in f], ["ready", "fenced"])
        self.assertEqual(len(err.splitlines()), len(bad), err)


if __name__ == "__main__":
    unittest.main()
