"""A fake ``gh`` and ``glab``: sends each request to the stub in ``FAKE_FORGE`` and writes the answer as they do.

It runs with the standard library alone, as a program of its own. Without ``FAKE_FORGE`` nobody is logged in. It speaks
through a plain socket: importing an HTTP client takes longer than everything else here.
"""

from __future__ import annotations

import os
import socket
import sys

IS_GITLAB = sys.argv[0].endswith("glab")


def ask(origin: str, method: str, path: str, body: bytes) -> tuple[int, bytes]:
    """Send one request, and return the status and the body of the answer."""
    host, _, port = origin.removeprefix("http://").partition(":")
    token = "PRIVATE-TOKEN: secret" if IS_GITLAB else "Authorization: Bearer secret"
    head = (
        f"{method} {'/api/v4' if IS_GITLAB else ''}/{path} HTTP/1.0\r\n{token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + body)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    return int(answer.split(b" ")[1]), answer.partition(b"\r\n\r\n")[2]


def main(*words: str) -> int:
    """Answer one command line, and return the exit code."""
    origin = os.environ.get("FAKE_FORGE")
    if words[:2] == ("auth", "status"):
        return 0 if origin else 1
    if origin is None or origin == "broken":
        sys.stderr.write("no such host\n")
        return 1
    parts = [word.removeprefix("--").partition("=") for word in words if word.startswith("--")]
    options = {name: value for name, _, value in parts}
    body = sys.stdin.buffer.read() if options.get("input") == "-" else b""
    status, content = ask(origin, options["method"], words[-1], body)
    sys.stdout.write(f"HTTP/2.0 {status} Reason\nContent-Type: application/json\r\nVia: x\r\n\r\n{content.decode()}")
    return 1 if status >= 400 else 0


sys.exit(main(*sys.argv[1:]))
