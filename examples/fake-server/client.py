"""A client of an agent-select server, as somebody might write one: it switches agents, and tells how that went."""

import http.client
import json
import socket
import threading
import urllib.parse
import urllib.request


class Client:
    def __init__(self, url):
        self.url = url
        self.agent = None
        self.told = []  # what a person would read
        self.news = threading.Condition()
        self.connection = None
        self.http = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)
        self.http.request("GET", "/events", headers={"Accept": "text/event-stream"})
        self.line = self.http.sock
        self.stream = self.http.getresponse()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()
        self._until(lambda: self.agent)
        self.session = self._post("/session/create", {"connectionId": self.connection})["session"]["id"]

    def switch(self, agent):
        before = len(self.told)
        self._post("/message", {"type": "switch_agent", "agentId": agent, "sessionId": self.session,
                                "connectionId": self.connection})
        self._until(lambda: len(self.told) > before)
        return self.told[-1]

    def close(self):
        try:
            self.line.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the server was first
        self.listener.join()
        self.stream.close()
        self.http.close()

    def _post(self, path, body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def _listen(self):
        try:
            for line in self.stream:
                if line.startswith(b"data:"):
                    self._take(json.loads(line[5:]))
        except (OSError, http.client.HTTPException):
            pass  # it is over
        with self.news:
            self.told.append("The connection is lost.")
            self.news.notify_all()

    def _take(self, event):
        data = event.get("data", {})
        with self.news:
            if event["type"] == "connected":
                self.connection = data["connectionId"]
            elif event["type"] == "agent_list":
                self.agent = data["currentAgentId"]
            elif event["type"] == "agent_switched":
                self.agent = data["currentAgentId"]
                self.told.append("You are talking to %s." % data["agentName"])
            elif event["type"] == "error":
                self.told.append({"agent_busy": "One moment: the agent is busy."}.get(data["errorCode"], data["message"]))
            self.news.notify_all()

    def _until(self, there):
        with self.news:
            if not self.news.wait_for(there, timeout=10):
                raise TimeoutError("the server does not answer")
