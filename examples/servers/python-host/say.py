#!/usr/bin/env python3
"""Have the participant say something: python3 say.py ADDRESS_FILE RELAY_SESSION TEXT

ADDRESS_FILE is what server.py --say-file has written.
"""

import json
import pathlib
import sys
import urllib.request


def main() -> int:
    """Post the text; the exit status shows whether the host has accepted it."""
    address, session, text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").strip(), sys.argv[2], sys.argv[3]
    body = json.dumps({"sessionId": session, "text": text}).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return 0 if answer.status == 200 else 1


if __name__ == "__main__":
    sys.exit(main())
