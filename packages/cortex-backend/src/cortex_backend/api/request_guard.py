"""Limits that every request passes first: number, size, time and type; and the headers of every answer."""

import asyncio
from collections import Counter
from typing import Final
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cortex_backend.api.responses import SECURITY_HEADERS, problem_response
from cortex_backend.problems import Problem, invalid_arguments

__all__ = ["RequestGuard"]

_MAX_BODY: Final = 256 * 1024
_MAX_HEAD: Final = 16 * 1024
"""Bytes that a body may have (CX-20), and the request line with the headers (CX-96)."""

_BODY_SECONDS: Final = 10.0
_AT_A_TIME: Final = 64
"""Seconds in which a body must arrive, and requests that are answered at a time (CX-96)."""

_JSON: Final = "application/json"
_TYPES: Final = {"/auth/token": "application/x-www-form-urlencoded"}
"""The type of the body by path: RFC 6749 requires a form, everything else takes JSON."""

_UNCOUNTED: Final = {"/healthz"}
"""The paths that are answered however many requests are under way (CX-96)."""

_COLLECTIONS: Final = {"/invitations", "/projects", "/tasks"}
"""The paths that are served with and without a trailing slash; any other path with one is not found (CX-20)."""


_LISTS: Final = {"status", "type", "priority"}
"""The parameters of a query that may be given more than once."""


class RequestGuard:
    """Reads the whole body before the application sees the request; refuses what is too much, too slow or unreadable.

    ``body_seconds`` is how long a body may take to arrive.
    """

    def __init__(self, app: ASGIApp, body_seconds: float = _BODY_SECONDS) -> None:
        self._app = app
        self._body_seconds = body_seconds
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._admit(scope, receive, send_with_headers)
        except Problem as problem:
            await problem_response(problem, scope["path"])(scope, receive, send_with_headers)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        line = len(scope["raw_path"]) + len(scope["query_string"])
        if line + sum(len(name) + len(value) for name, value in scope["headers"]) > _MAX_HEAD:
            raise Problem("TooLarge", limit=_MAX_HEAD)
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await _read(Headers(scope=scope), receive)
        except TimeoutError:
            raise Problem("RequestTimeout") from None
        if body is None:
            return
        if body:
            _check_body(scope, body)
        _check_query(scope["query_string"].decode("latin-1"))
        if scope["path"] in _COLLECTIONS:
            scope = {**scope, "path": f"{scope['path']}/"}
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_all() -> Message:
            return messages.pop() if messages else await receive()

        # A request whose body still arrives is not counted: slow clients would take the places of all others.
        place = 0 if scope["path"] in _UNCOUNTED else 1
        if place and self._running >= _AT_A_TIME:
            raise Problem("Unavailable")
        self._running += place
        try:
            await self._app(scope, receive_all, send)
        finally:
            self._running -= place


async def _read(headers: Headers, receive: Receive) -> bytes | None:
    """Return the body, or None if the client has gone; raise ``TooLarge`` as soon as it is too large."""
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > _MAX_BODY:
        raise Problem("TooLarge", limit=_MAX_BODY)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > _MAX_BODY:
            raise Problem("TooLarge", limit=_MAX_BODY)
        if not message.get("more_body", False):
            return bytes(body)


def _check_query(query: str) -> None:
    names = Counter(name for name, _ in parse_qsl(query, keep_blank_values=True))
    repeated = sorted(name for name, count in names.items() if count > 1 and name not in _LISTS)
    if repeated:
        raise invalid_arguments([(f"query.{name}", "Give it once") for name in repeated])


def _check_body(scope: Scope, body: bytes) -> None:
    expected = _TYPES.get(scope["path"], _JSON)
    given = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
    if given != expected:
        raise Problem("UnsupportedMediaType", expected=expected)
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        raise invalid_arguments([("body", "This is not UTF-8")]) from None
