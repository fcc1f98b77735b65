"""One request to the backend: the headers, the second attempts (CX-63), and its errors as ours (CX-23, CX-95)."""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar
from urllib.parse import urlencode

from cortex_cli.errors import BackendRefused, CortexError, NotLoggedIn, echo, make_error
from cortex_cli.http import ConnectionFailed, Reply, send
from cortex_cli.models import Deadline, Malformed, read_as

__all__ = ["REQUEST_SECONDS", "Api", "BackendAnswer"]

Model = TypeVar("Model", bound=tuple[object, ...])

REQUEST_SECONDS: Final = 20.0
"""Seconds that one request may take."""

_PAUSES: Final = (0.2, 1.0)
"""Seconds before the second and the third attempt."""

_BUSY: Final = {502, 503, 504}

_CODE: Final = re.compile(r"[A-Za-z_]{3,40}")
"""The code of an error; anything else in its place is not from the backend."""

_OUTCOMES: Final = ("errors", "from", "to", "allowed", "current_version")
"""Members of an error of the backend that become its details."""


class BackendAnswer:
    """Answer of the backend to one request, not yet trusted."""

    def __init__(self, reply: Reply, request_id: str) -> None:
        self._reply = reply
        self._request_id = request_id

    def value(self) -> object:
        """Return the JSON value of the body; raise ``CortexError`` if the body is not JSON."""
        try:
            return json.loads(self._reply.body)
        except (ValueError, RecursionError):
            raise self._failure("the answer is not JSON") from None

    def read(self, model: type[Model]) -> Model:
        """Return the body as a ``model``; raise ``CortexError`` if it has another form."""
        return self._read(model, self.value(), "answer")

    def read_list(self, model: type[Model], name: str) -> list[Model]:
        """Return the models in the list ``name`` of the body; raise ``CortexError`` if it has another form."""
        value = self.value()
        items = value.get(name) if isinstance(value, dict) else None
        if not isinstance(items, list):
            raise self._failure(f"{name} is not a list")
        return [self._read(model, item, name) for item in items]

    def next_cursor(self) -> str | None:
        """Return where the list goes on, or None at its end."""
        value = self.value()
        cursor = value.get("next_cursor") if isinstance(value, dict) else None
        return cursor if isinstance(cursor, str) else None

    def error(self) -> CortexError | None:
        """Return the error that the answer is, if it is one (RFC 9457)."""
        if 200 <= self._reply.status < 300:
            return None
        if self._reply.status >= 500 or self._reply.status < 400:
            return self._failure("an error of the server" if self._reply.status >= 500 else "a redirect")
        try:
            problem = json.loads(self._reply.body)
        except (ValueError, RecursionError):
            problem = None
        problem = problem if isinstance(problem, dict) else {}
        code = problem.get("code", problem.get("error"))  # the second for a refresh (RFC 6749)
        if not isinstance(code, str) or not _CODE.fullmatch(code):
            return self._failure("the answer does not come from a Cortex server")
        detail = problem.get("detail")
        message = echo(detail, 500) if isinstance(detail, str) and detail else f"The server refused: {code}."
        details = {name: problem[name] for name in _OUTCOMES if name in problem}
        after = self._reply.headers.get("retry-after", "")
        if after.isdecimal():
            details["retry_after"] = int(after[:9])
        return BackendRefused(self._reply.status, code, message, details)

    def _read(self, model: type[Model], value: object, place: str) -> Model:
        try:
            return read_as(model, value, place)
        except Malformed as error:
            raise self._failure(str(error)) from None

    def _failure(self, reason: str) -> CortexError:
        return make_error("BackendError", status=self._reply.status, reason=reason, request_id=self._request_id)


class Api:
    """The backend at one origin, without a login."""

    def __init__(self, origin: str, deadline: Deadline, pause: Callable[[float], None] = time.sleep) -> None:
        self.origin = origin
        self.deadline = deadline
        self._pause = pause

    def call(
        self,
        method: str,
        path: str,
        *,
        token: str = "",
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, object] | None = None,
        form: Mapping[str, str] | None = None,
        version: int | None = None,
    ) -> BackendAnswer:
        """Send one request and return its answer; ``version`` of a task makes a PATCH of an older one fail.

        Raise ``NotLoggedIn`` if the token is not accepted, ``BackendRefused`` if the rules forbid it, ``TimedOut`` at
        the end of the command's time, and ``BackendError`` or ``BackendUnreachable`` without an answer.
        """
        headers = {"Accept": "application/json", "X-Request-Id": os.urandom(16).hex()}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        if method == "POST" and path.startswith(("/projects/", "/tasks/", "/invitations/")):
            headers["Idempotency-Key"] = os.urandom(16).hex()
        data = None
        if body is not None:
            headers["Content-Type"], data = "application/json", json.dumps(body).encode()
        elif form is not None:
            headers["Content-Type"], data = "application/x-www-form-urlencoded", urlencode(form).encode()
        url = f"{self.origin}{path}" + (f"?{urlencode(query)}" if query else "")
        answer = BackendAnswer(self._send(method, url, headers, data), headers["X-Request-Id"])
        error = answer.error()
        if error is not None:
            is_rejected = isinstance(error, BackendRefused) and error.status == 401 and token
            raise NotLoggedIn("the server does not accept the login") if is_rejected else error
        return answer

    def _send(self, method: str, url: str, headers: Mapping[str, str], data: bytes | None) -> Reply:
        repeats = 2 if method == "GET" else int("If-Match" in headers or "Idempotency-Key" in headers)
        for pause in _PAUSES[:repeats]:
            try:
                reply = self._send_once(method, url, headers, data)
                if reply.status not in _BUSY:
                    return reply
            except CortexError as error:
                if error.code != "BackendUnreachable":
                    raise
            self._pause(self.deadline.limit(pause))
        return self._send_once(method, url, headers, data)

    def _send_once(self, method: str, url: str, headers: Mapping[str, str], data: bytes | None) -> Reply:
        seconds = self.deadline.limit(REQUEST_SECONDS)
        try:
            reply = send(method, url, headers, data, seconds=seconds)
        except ConnectionFailed as error:
            _trace(method, url, str(error))
            if error.is_timeout:
                self.deadline.limit(seconds)  # raises if the whole command is over
            raise make_error("BackendUnreachable", url=self.origin, reason=str(error)) from None
        _trace(method, url, str(reply.status))
        return reply


def _trace(method: str, url: str, outcome: str) -> None:
    """Write a line about a request to stderr if ``CTX_DEBUG=1`` asks for it; no header and no body is in it (CX-64)."""
    if os.environ.get("CTX_DEBUG") == "1":
        sys.stderr.write(f"ctx: {method} {echo(url.partition('?')[0])}: {echo(outcome)}\n")
