"""Tests of a client, with Parley as its server."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import urllib.request

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "fake-server"))
from client import Client  # noqa: E402  (your client)

PARLEY = os.environ.get("PARLEY", "parley")


class Served:
    """A command of Parley that prints URLs on its first lines, and serves until it is ended."""

    def __init__(self, lines, *command):
        self.process = subprocess.Popen([PARLEY, *command], stdout=subprocess.PIPE, text=True)
        self.urls = [self.process.stdout.readline().strip() for _ in range(lines)]

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Peer(Served):
    """A server that `parley simulate` plays, and its API."""

    def __init__(self):
        super().__init__(2, "simulate", "--protocol", "agent-select", "--as", "server")
        self.url = self.urls[1]

    def raw(self, method, path, body=None):
        request = urllib.request.Request(self.urls[0] + "/api/v1/sessions/1" + path, method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def call(self, method, path, body=None):
        return json.loads(self.raw(method, path, body))


class TestFakePeer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.peer = Peer()
        cls.addClassCleanup(cls.peer.close)

    def setUp(self):
        self.peer.call("POST", "/reset")

    def connect(self, url):
        client = Client(url)
        self.addCleanup(client.close)
        return client

    def test_what_it_sends(self):
        self.connect(self.peer.url).switch("debugger")
        sent = self.peer.call("POST", "/wait", {"type": "switch_agent", "dir": "received", "within": "5s"})
        self.assertEqual(json.loads(sent["text"])["agentId"], "debugger")

    def test_a_refusal(self):
        self.peer.call("PUT", "/script", {"script": REFUSES})
        self.peer.call("PUT", "/mind", {"mind": "script"})
        client = self.connect(self.peer.url)
        self.assertEqual(client.switch("debugger"), "There is no debugger.")
        self.assertEqual(client.agent, "general")  # a refused switch changes nothing

    def test_as_recorded(self):
        peer = Peer()  # of its own: a recording has everything since the start
        self.addCleanup(peer.close)
        client = self.connect(peer.url)
        told = client.switch("debugger")
        client.close()
        with tempfile.TemporaryDirectory() as folder:
            recording = pathlib.Path(folder, "switch.jsonl")
            recording.write_bytes(peer.raw("GET", "/recording"))
            mock = Served(1, "mock", str(recording))
            self.addCleanup(mock.close)
            self.assertEqual(self.connect(mock.urls[0]).switch("debugger"), told)


# What the peer answers where the test does not leave it to the bundled server (docs/simulator-scripts.md).
REFUSES = """
script: refuses
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
  answer:
  - respond: 200
    body: {success: true}
  - send: {type: error, data: {errorCode: agent_not_found, message: "There is no ${/agentId}."}}
"""


if __name__ == "__main__":
    unittest.main()
