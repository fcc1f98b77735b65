"""The interface of a forge, and one request to it, by ``gh``, ``glab`` or ourselves; no answer is trusted (CX-84)."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple
from urllib.parse import urlencode, urlsplit

from cortex_cli.errors import CortexError, make_error
from cortex_cli.git import Git
from cortex_cli.http import ConnectionFailed, UnsafeUrl, is_loopback, send
from cortex_cli.models import MAX_ID, Deadline

__all__ = [
    "ForgeApi",
    "Proposal",
    "PullRequest",
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


class Proposal(NamedTuple):
    """A pull request to create."""

    branch: str
    base: str
    title: str
    body: str
    is_draft: bool = False


class PullRequest(NamedTuple):
    """A pull request as the forge describes it; ``state`` is open, merged or closed."""

    number: int | None
    url: str | None
    state: str
    head_sha: str | None


_Request = Callable[[str, str, bytes | None], tuple[int, bytes]]
"""Sends a request by its method, its path with the query, and its JSON body; returns status and body of the answer.

Raises:
    _Unanswered: there is none.
"""


class _Unanswered(Exception):
    """The forge gave no answer; the message says why."""


def send_with_token(url: str, token: str, deadline: Deadline) -> _Request:
    """Return what sends requests with a token to the API at ``url``, which has no trailing slash."""

    def request(method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        headers = {"Accept": "application/json", "Authorization": f"Bearer {token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            reply = send(method, url + path, headers, body, seconds=deadline.limit(_SECONDS), limit=_ANSWER_BYTES)
        except (ConnectionFailed, UnsafeUrl) as error:
            raise _Unanswered(str(error)) from None
        return reply.status, reply.body

    return request


def send_by_program(git: Git, program: str, host: str) -> _Request:
    """Return what lets ``gh`` or ``glab`` send requests to a host that it is logged in to."""

    def request(method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        options = [f"--hostname={host}", f"--method={method}", "--include"]
        options += [] if body is None else ["--header=Content-Type: application/json", "--input=-"]
        said = (body or b"").decode()
        output = git.run_program(program, "api", *options, path.removeprefix("/"), stdin=said, seconds=_SECONDS)
        answer = _ANSWER.fullmatch(output.out[:_ANSWER_BYTES]) if output else None
        if answer is None:
            raise _Unanswered(f"{program}: {output.err if output else 'no answer'}")
        return int(answer[1]), answer[2].encode("utf-8", "surrogateescape")

    return request


class ForgeApi:
    """The API of the forge at a host."""

    def __init__(self, host: str, name: str, request: _Request) -> None:
        self._host = host
        self._name = name
        self._request = request

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
        accepted: int = 200,
    ) -> tuple[int, object]:
        """Send one request and return status and value of its answer; the status is a success or ``accepted``.

        Raises:
            CortexError: the forge does not allow it, cannot be reached, or answers anything else.
        """
        data = None if body is None else json.dumps(body).encode()
        try:
            status, content = self._request(method, path + (f"?{urlencode(query)}" if query else ""), data)
        except _Unanswered as error:
            raise self.failure(str(error)) from None
        try:
            value = json.loads(content or b"null")
        except (ValueError, RecursionError):
            raise self.failure("its answer is not JSON", status) from None
        if status in {401, 403} and "rate limit" not in str(value).lower():
            raise make_error("ForgeAuthFailed", host=self._name, status=status, reason=_reason(value))
        if not 200 <= status < 300 and status != accepted:
            raise self.refusal(status, value)
        return status, value

    def refusal(self, status: int, value: object) -> CortexError:
        """Return the error for an answer that is a refusal, with what the forge says about it."""
        return self.failure(f"{status}: {_reason(value)}", status)

    def failure(self, reason: str, status: int | None = None) -> CortexError:
        """Return the error for an answer that cannot be right."""
        return make_error("ForgeFailed", host=self._name, reason=reason, status=status)

    def make(self, number: object, url: object, state: str, head_sha: object) -> PullRequest:
        """Return a pull request whose parts have been checked."""
        if type(number) is not int or not 0 < number <= MAX_ID:
            raise self.failure("the number of the pull request is not one")
        if not isinstance(url, str) or not is_own_url(url, self._host):
            raise self.failure("the address of the pull request is not on its host")
        is_sha = isinstance(head_sha, str) and len(head_sha) in {40, 64} and not set(head_sha) - set("0123456789abcdef")
        return PullRequest(number, url, state, str(head_sha) if is_sha else None)


def _reason(value: object) -> str:
    return "; ".join(_reasons(value)) or "no reason"


def _reasons(value: object, depth: int = 3) -> list[str]:
    """Return the texts of a refusal: GitHub adds ``errors``; GitLab's message is a text, a list, or lists by field."""
    if isinstance(value, dict):
        value = [value[name] for name in ("message", "errors", "error") if name in value] or list(value.values())
    if isinstance(value, list) and depth:
        return [reason for part in value for reason in _reasons(part, depth - 1)]
    return [value] if isinstance(value, str) else []


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
