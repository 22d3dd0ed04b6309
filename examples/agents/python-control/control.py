#!/usr/bin/env python3
"""The hook `call`: python3 control.py SOCKET tells the agent there what Parley asks it for."""

import json
import os
import socket
import sys
import time


def main() -> int:
    """Write the command, and wait until it has been taken."""
    command = {"act": os.environ["PARLEY_ACT"], "url": os.environ["PARLEY_URL"], "session": os.environ["PARLEY_SESSION"]}
    with socket.socket(socket.AF_UNIX) as agent:
        for attempt in range(100):  # the agent may just be starting
            try:
                agent.connect(sys.argv[1])
                break
            except OSError:
                time.sleep(0.1)
        else:
            print(f"nobody listens on {sys.argv[1]}", file=sys.stderr)
            return 1
        agent.sendall(json.dumps(command).encode() + b"\n")
        return 0 if agent.recv(100) == b'{"ok": true}\n' else 1


if __name__ == "__main__":
    sys.exit(main())
