"""Limits the requests of each tenant, and of all tenants together, and refuses those beyond them (HO-2, HO-4)."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Final

from mcp_types import INTERNAL_ERROR, RequestId
from starlette.responses import JSONResponse, Response

from task_core.server.transports.wire import refusal
from task_hosted.service.settings import HostedSettings

__all__ = ["MAX_CALLS", "Limits", "Refusal", "make_challenge", "make_refusal"]

MAX_CALLS: Final = 42
"""Concurrent calls in one replica: one for each of its connections, and 32 that wait for one."""

_MAX_KNOWN: Final = 10_000
"""Tenants that are remembered before those that have been quiet are forgotten."""

_NEEDED: Final = "tasks:read tasks:write"
"""The scopes that a client should ask for."""


class Refusal(Exception):
    """Ends a request with this status, these headers, and a body, or else the text as a JSON-RPC error."""

    def __init__(
        self, status: int, message: str, headers: dict[str, str] | None = None, body: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
        self._body = body

    def respond(self, request_id: RequestId | None) -> Response:
        """Return the response to the request with this id."""
        error = refusal(INTERNAL_ERROR, str(self), request_id)
        body = self._body or error.model_dump(by_alias=True, exclude_unset=True)
        return JSONResponse(body, self.status, self.headers)


def make_refusal(status: int, message: str, seconds: float) -> Refusal:
    """Return the refusal of a request that the server would accept after so many seconds."""
    return Refusal(status, message, {"Retry-After": str(math.ceil(seconds))})


def make_challenge(metadata_url: str, status: int, message: str, *, error: str = "", scope: str = _NEEDED) -> Refusal:
    """Return the refusal of a request without a sufficient token (RFC 6750), which says where to get one."""
    parts = {"error": error, "error_description": message} if error else {}
    parts |= {"scope": scope, "resource_metadata": metadata_url}
    header = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parts.items())
    body = {"error": error or "unauthorized", "error_description": message}
    return Refusal(status, message, {"WWW-Authenticate": header}, body)


@dataclass
class _Usage:
    """The current usage of one tenant."""

    left: float
    """Requests that the tenant may still make at once."""
    moment: float
    """The time of that count."""
    calls: int = 0
    streams: int = 0


class Limits:
    """Counts requests, and refuses those beyond a limit.

    A request counts for its tenant before its body is read, and for the replica once the body has arrived, so that slow
    bodies do not block others.
    """

    def __init__(self, settings: HostedSettings, clock: Callable[[], float] = monotonic) -> None:
        """``clock`` gives seconds, from any start."""
        self._settings = settings
        self._clock = clock
        self._known: dict[str, _Usage] = {}
        self._forget_at = _MAX_KNOWN
        self.calls = 0
        """Current calls of all tenants."""
        self.streams = 0
        """Open streams of all tenants."""

    @contextmanager
    def admit(self, tenant: str, *, is_stream: bool) -> Iterator[None]:
        """Count one request of a tenant while the block lasts, including its body.

        It raises ``Refusal`` if there are too many.
        """
        usage = self._find(tenant)
        self._take_turn(usage)
        kind = "streams" if is_stream else "calls"
        limit = self._settings.task_streams if is_stream else self._settings.task_calls_in_flight
        if getattr(usage, kind) >= limit:
            raise make_refusal(429, f"This is more than {limit} {kind} at a time: wait until one has ended.", 1)
        with _count(usage, kind):
            yield

    @contextmanager
    def occupy(self, *, is_stream: bool) -> Iterator[None]:
        """Count one request of the replica while the block lasts, or raise ``Refusal`` if there are too many."""
        if not is_stream and self.calls >= MAX_CALLS:
            raise make_refusal(503, "The server is busy: try again in a moment.", 1)
        with _count(self, "streams" if is_stream else "calls"):
            yield

    def _find(self, tenant: str) -> _Usage:
        usage = self._known.get(tenant)
        if usage is None:
            if len(self._known) >= self._forget_at:
                self._forget_quiet()
            usage = self._known[tenant] = _Usage(self._settings.task_calls_burst, self._clock())
        return usage

    def _take_turn(self, usage: _Usage) -> None:
        rate, now = self._settings.task_calls_per_second, self._clock()
        usage.left = min(usage.left + (now - usage.moment) * rate, self._settings.task_calls_burst)
        usage.moment = now
        if usage.left < 1:
            raise make_refusal(
                429, f"This is more than {rate:g} calls a second: wait a moment.", (1 - usage.left) / rate
            )
        usage.left -= 1

    def _forget_quiet(self) -> None:
        """Forget the tenants that have nothing under way and may make as many requests as a new one."""
        pause = self._settings.task_calls_burst / self._settings.task_calls_per_second
        limit = self._clock() - pause
        self._known = {
            name: usage for name, usage in self._known.items() if usage.calls or usage.streams or usage.moment > limit
        }
        self._forget_at = max(_MAX_KNOWN, 2 * len(self._known))  # so that a new tenant costs the same among many


@contextmanager
def _count(counted: Limits | _Usage, kind: str) -> Iterator[None]:
    setattr(counted, kind, getattr(counted, kind) + 1)
    try:
        yield
    finally:
        setattr(counted, kind, getattr(counted, kind) - 1)
