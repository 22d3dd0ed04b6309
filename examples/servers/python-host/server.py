#!/usr/bin/env python3
"""Relay and movie-booking host of the external agent protocol behind one address.

    python3 server.py --port 8780 --say-port 8781 --logs logs/study

Python 3.11, standard library only. Both run as tasks of one process; the host is a WebSocket client of the relay, as it
would be from another process. The host joins the relay session ``default`` at the start and any other when an agent
joins it.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import pathlib
import secrets
import signal
import sys

import wire
from host import SAY_PATH, Catalogue, Host, add_host_flags
from relay import AGENT_PATH, DEFAULT_SESSION, Relay


async def run(arguments: argparse.Namespace, catalogue: Catalogue) -> int:
    """Serve until a signal arrives; return the exit status."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    token = secrets.token_urlsafe(32)
    relay = Relay(token)
    try:
        port = await relay.start(arguments.port)
        url = f"ws://{wire.LOOPBACK}:{port}{AGENT_PATH}"
        host = Host(url, [DEFAULT_SESSION], catalogue, arguments.logs, arguments.keep, token)
        say_port = await host.start(arguments.say_port)
        if arguments.say_file:
            arguments.say_file.write_text(f"http://{wire.LOOPBACK}:{say_port}{SAY_PATH}\n", encoding="utf-8")
    except OSError as error:
        print(f"can't start: {error}", file=sys.stderr)
        await relay.stop()
        return 1
    stopped, joined = asyncio.create_task(stop.wait()), asyncio.create_task(host.joined())
    await asyncio.wait((stopped, joined), return_when=asyncio.FIRST_COMPLETED)
    if not stop.is_set():
        print(
            f"listening on http://{wire.LOOPBACK}:{port}, WebSocket on {AGENT_PATH}, "
            f"the participant speaks on http://{wire.LOOPBACK}:{say_port}{SAY_PATH}",
            flush=True,
        )
    await stopped
    joined.cancel()
    await host.stop()
    await relay.stop()
    return 0


def main() -> int:
    """Read the command line, then serve."""
    parser = argparse.ArgumentParser(description="relay and movie-booking host for the external agent protocol")
    parser.add_argument(
        "--port", type=wire.port_number, required=True, metavar="N", help="port on 127.0.0.1; 0: a free one"
    )
    parser.add_argument(
        "--say-port", type=wire.port_number, default=0, metavar="N", help="port of POST /say; default 0: a free one"
    )
    parser.add_argument("--say-file", type=pathlib.Path, metavar="FILE", help="file for the address of POST /say")
    add_host_flags(parser)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    try:
        catalogue = Catalogue(arguments.catalogue)
    except ValueError as error:
        parser.error(str(error))
    return asyncio.run(run(arguments, catalogue))


if __name__ == "__main__":
    sys.exit(main())
