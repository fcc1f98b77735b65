"""Health probes: liveness of this replica, and its readiness for requests (HO-7, HO-8)."""

import asyncio
import logging
from collections.abc import Callable
from time import monotonic
from typing import Final

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse

from task_core.errors import TaskError

__all__ = ["ReplicaHealth"]

_ANSWER_SECONDS: Final = 1.0
"""Seconds in which the database must answer."""

_KEPT_SECONDS: Final = 0.5
"""Seconds to reuse the result of a probe, so that frequent requests do not keep the database busy."""

_log = logging.getLogger(__name__)


class ReplicaHealth:
    """Answers probes; ``probe`` raises a ``TaskError`` unless the database can be used, and may block."""

    def __init__(self, probe: Callable[[], object], clock: Callable[[], float] = monotonic) -> None:
        """``clock`` gives seconds, from any start."""
        self.is_draining = False
        """True once the end was announced, so that no more requests should come."""
        self._probe = probe
        self._clock = clock
        self._answered_at = -float("inf")
        self._asking: asyncio.Future[str] | None = None
        self._thread = anyio.CapacityLimiter(1)

    async def live(self, _: Request) -> JSONResponse:
        """Answer that the process serves."""
        return JSONResponse({"ok": True})

    async def ready(self, _: Request) -> JSONResponse:
        """Answer 200 if the database answers, its schema is right, and the end was not announced; else 503."""
        problem = "draining" if self.is_draining else await self._poll()
        return JSONResponse(
            {"ready": not problem, **({"problem": problem} if problem else {})}, 503 if problem else 200
        )

    async def _poll(self) -> str:
        # A probe that hangs is awaited again: it keeps its thread, and another one would hang beside it.
        if self._asking is None or (self._asking.done() and self._clock() - self._answered_at >= _KEPT_SECONDS):
            self._asking = asyncio.ensure_future(anyio.to_thread.run_sync(self._check, limiter=self._thread))
        await asyncio.wait([self._asking], timeout=_ANSWER_SECONDS)
        return self._asking.result() if self._asking.done() else "the database does not answer in time"

    def _check(self) -> str:
        try:
            self._probe()
        except TaskError as error:
            _log.warning("The database is not ready: %s", error.message)
            return error.code
        finally:
            self._answered_at = self._clock()
        return ""
