"""A ticket desk in Python, written from docs/ticket-desk.md. It has no WebSocket and no history, other paths and other
names, and shares no code with what judges it: profiles/python.yaml says how it differs."""

import argparse
import itertools
import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

lock = threading.Lock()
numbers = itertools.count(1)
clients = {}  # id → Client
tickets = {}  # id → Ticket


class Client:
    def __init__(self):
        self.id = f"c{next(numbers)}"
        self.events = queue.Queue()
        self.seq = 0

    def tell(self, event, **rest):
        self.seq += 1
        self.events.put({"event": event, "seq": self.seq, **rest})


class Ticket:
    def __init__(self, owner):
        self.id = f"t{next(numbers)}"
        self.owner = owner
        self.asked = None  # the message whose answer waits for consent
        self.closed = False

    def tell(self, ref, event, **rest):
        self.owner.tell(event, ticketId=self.id, requestId=ref, **rest)

    def answer(self, message):
        pieces = ["I see. ", "You say: ", message["text"]]
        for text in pieces:
            self.tell(message["requestId"], "delta", text=text)
        self.end(message, "answered", "".join(pieces))

    def end(self, message, outcome, text=""):
        self.asked = None
        self.tell(message["requestId"], "agent.done", outcome=outcome, text=text)


def handle(client, message):
    kind = message.get("event") if isinstance(message, dict) else None
    ref = message.get("requestId") if isinstance(message, dict) else None

    def refuse(code):
        client.tell("refused", requestId=ref, code=code, message=f"refused: {code}")

    if kind == "ping":
        client.tell("pong", requestId=ref)
    elif kind == "open":
        ticket = Ticket(client)
        tickets[ticket.id] = ticket
        ticket.tell(ref, "opened", subject=message.get("subject"))
    elif kind in ("say", "reply", "stop", "close"):
        ticket = tickets.get(message.get("ticketId"))
        if ticket is None or ticket.owner is not client:
            refuse("unknown-ticket")
        elif ticket.closed:
            refuse("closed")
        elif kind == "say" and ticket.asked:
            refuse("busy")
        elif kind == "say":
            ticket.tell(ref, "agent.started")
            if message.get("consent"):
                ticket.asked = message
                ticket.tell(ref, "agent.asks", question="Shall I?")
            else:
                ticket.answer(message)
        elif kind == "reply" and ticket.asked:
            if message.get("yes"):
                ticket.answer(ticket.asked)
            else:
                ticket.end(ticket.asked, "declined")
        elif kind == "stop" and ticket.asked:
            ticket.end(ticket.asked, "stopped")
        elif kind == "close":
            if ticket.asked:
                ticket.end(ticket.asked, "stopped")
            ticket.closed = True
            ticket.tell(ref, "closed")
    else:
        refuse("bad-message")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path != "/stream":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        client = Client()
        with lock:
            clients[client.id] = client
            client.tell("welcome", connectionId=client.id)
        try:
            while True:
                self.wfile.write(f"data: {json.dumps(client.events.get())}\n\n".encode())
                self.wfile.flush()
        except OSError:
            clients.pop(client.id, None)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        client = clients.get(self.path.removeprefix("/send/"))
        if client is None:
            self.send_error(404)
            return
        try:
            message = json.loads(body)
        except ValueError:
            message = None
        with lock:
            handle(client, message)
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
Server(("127.0.0.1", parser.parse_args().port), Handler).serve_forever()
