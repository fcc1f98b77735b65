"""Requests to the API of a forge, by ``gh``, ``glab`` or ourselves, and the hosts that an answer may name (CX-84)."""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from cortex_cli.errors import make_error
from cortex_cli.git import Git
from cortex_cli.http import ConnectionFailed, UnsafeUrl, is_loopback, send
from cortex_cli.models import Deadline

__all__ = [
    "ForgeRequest",
    "is_here",
    "is_own_url",
    "is_same_host",
    "send_by_program",
    "send_with_token",
]

_ANSWER_BYTES: Final = 1024 * 1024

_SECONDS: Final = 10.0
"""Seconds that a request may take."""

_ANSWER: Final = re.compile(r"HTTP/[0-9.]+ ([0-9]{3})[^\n]*\n(?:[^\r\n]+\r?\n)*\r?\n(.*)", re.DOTALL)
"""An answer as ``gh`` and ``glab`` write it: a line with the status, headers, a blank line, and the body."""

_URL_LIMIT: Final = 2048
"""Characters of the address of a pull request at most (CX-14)."""

ForgeRequest = Callable[[str, str, bytes | None], tuple[int, bytes]]
"""Sends a request by its method, its path with the query, and its JSON body; returns status and body of the answer, or
raises ``ForgeFailed`` if there is none."""


def send_with_token(url: str, token: str, host: str, deadline: Deadline) -> ForgeRequest:
    """Return what sends requests with a token to the API at ``url``, which has no trailing slash."""

    def request(method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        headers = {"Accept": "application/json", "Authorization": f"Bearer {token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            reply = send(method, url + path, headers, body, seconds=deadline.limit(_SECONDS), limit=_ANSWER_BYTES)
        except (ConnectionFailed, UnsafeUrl) as error:
            raise make_error("ForgeFailed", host=host, reason=str(error), status=None) from None
        return reply.status, reply.body

    return request


def send_by_program(git: Git, program: str, host: str) -> ForgeRequest:
    """Return what lets ``gh`` or ``glab`` send requests to a host that it is logged in to."""

    def request(method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        options = [f"--hostname={host}", f"--method={method}", "--include"]
        options += [] if body is None else ["--header=Content-Type: application/json", "--input=-"]
        said = (body or b"").decode()
        output = git.run_program(program, "api", *options, path.removeprefix("/"), stdin=said, seconds=_SECONDS)
        answer = _ANSWER.fullmatch(output.out[:_ANSWER_BYTES]) if output else None
        if answer is None:
            reason = f"{program}: {output.err if output else 'no answer'}"
            raise make_error("ForgeFailed", host=host, reason=reason, status=None)
        return int(answer[1]), answer[2].encode("utf-8", "surrogateescape")

    return request


def is_own_url(url: str, host: str) -> bool:
    """Return whether ``url`` is the address of a web page on ``host``, without anything hidden in it (CX-84)."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_plain = len(url) <= _URL_LIMIT and all("!" <= char <= "~" for char in url) and "@" not in parts.netloc
    return is_plain and parts.scheme in {"http", "https"} and is_same_host(parts.hostname or "", host)


def is_same_host(one: str, other: str) -> bool:
    """Return whether two hosts are the same; all names of this machine are, and so is a missing name."""
    return one == other or (is_here(one) and is_here(other))


def is_here(host: str) -> bool:
    """Return whether ``host`` is this machine, as for a remote that is a path."""
    return not host or is_loopback(host)
