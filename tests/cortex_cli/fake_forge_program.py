"""A fake ``gh`` and ``glab``: sends each request to the stub in ``FAKE_FORGE`` and writes the answer as they do.

It runs with the standard library alone, as a program of its own. Without ``FAKE_FORGE`` nobody is logged in.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

IS_GITLAB = Path(sys.argv[0]).name == "glab"


def main(*words: str) -> int:
    """Answer one command line, and return the exit code."""
    origin = os.environ.get("FAKE_FORGE")
    if words[:2] == ("auth", "status"):
        return 0 if origin else 1
    if origin == "broken":
        sys.stderr.write("no such host\n")
        return 1
    parts = [word.removeprefix("--").partition("=") for word in words if word.startswith("--")]
    options = {name: value for name, _, value in parts}
    token = {"PRIVATE-TOKEN": "secret"} if IS_GITLAB else {"Authorization": "Bearer secret"}
    body = sys.stdin.buffer.read() if options.get("input") == "-" else None
    url = f"{origin}{'/api/v4' if IS_GITLAB else ''}/{words[-1]}"
    try:
        answer = urlopen(Request(url, body, token, method=options["method"]))  # noqa: S310 - the stub of the test
    except HTTPError as error:
        answer = error
    status = int(answer.status or 0)
    sys.stdout.write(f"HTTP/2.0 {status} Reason\nContent-Type: application/json\r\nVia: x\r\n\r\n")
    sys.stdout.write(answer.read().decode())
    return 1 if status >= 400 else 0


sys.exit(main(*sys.argv[1:]))
