"""Tests of client.py, with Parley as its server: pytest, or python3 -m unittest."""

import json
import os
import subprocess
import threading
import time
import unittest
import urllib.request

from client import Client


class Parley:
    """A server that `parley simulate` plays, and its API."""

    def __init__(self, *flags):
        command = [os.environ.get("PARLEY", "parley"), "simulate", "--protocol", "agent-select", "--as", "server", *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.api = self.process.stdout.readline().strip() + "/api/v1/sessions/1"
        self.url = self.process.stdout.readline().strip()

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.api + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class TestClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Parley()
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        self.server.call("POST", "/reset")
        self.client = Client(self.server.url)
        self.addCleanup(self.client.close)

    def test_switch(self):
        self.assertEqual(self.client.switch("debugger"), "You are talking to Debugger.")
        sent = self.server.call("POST", "/wait", {"type": "switch_agent", "dir": "received", "within": "5s"})
        self.assertEqual(json.loads(sent["text"])["agentId"], "debugger")

    def test_busy(self):
        # the person who decides here is this test: it answers otherwise than the bundled server would
        self.server.call("PUT", "/mind", {"mind": "ask", "types": ["agent_switched"]})
        done = []
        switching = threading.Thread(target=lambda: done.append(self.client.switch("debugger")))
        switching.start()
        held = []
        deadline = time.monotonic() + 10
        while not held and time.monotonic() < deadline:
            held = self.server.call("GET", "/held")
        busy = {"type": "error", "data": {"errorCode": "agent_busy", "message": "busy"}}
        self.server.call("POST", "/held/%d" % held[0]["n"], {"do": "send", "body": json.dumps(busy)})
        switching.join()
        self.assertEqual(done, ["One moment: the agent is busy."])
        self.assertEqual(self.client.agent, "general")

    def test_faulty_server(self):
        self.server.call("PUT", "/mutant", {"mutant": "name-as-current-agent"})
        client = Client(self.server.url)
        self.addCleanup(client.close)
        self.assertEqual(client.agent, "General")  # its author decides whether that is good enough

    def test_script(self):
        self.server.call("PUT", "/script", {"script": SCRIPT})
        self.server.call("PUT", "/mind", {"mind": "script"})
        client = Client(self.server.url)
        self.addCleanup(client.close)
        self.assertEqual(client.switch("debugger"), "The connection is lost.")


SCRIPT = """
script: lost
protocol: agent-select
as: server
rules:
- on: {open: /events}
  answer:
  - send: {type: connected, data: {connectionId: "${id}"}}
  - send: {type: agent_list, data: {agents: [], currentAgentId: general}}
- on: {request: POST /session/create}
  answer: [{respond: 200, body: {success: true, session: {id: s1}}}]
- on: {request: POST /message, type: switch_agent}
  answer: [cut]
"""


if __name__ == "__main__":
    unittest.main()
