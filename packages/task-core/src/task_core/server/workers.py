"""The threads in which calls are carried out, and the one place where a fault that nobody foresaw is stopped."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

import anyio.to_thread

from task_core.errors import InternalError, TaskError

__all__ = ["Place", "Workers"]

ResultT = TypeVar("ResultT")

_WORKERS: Final = 40
"""Calls that are carried out at a time, each in a thread; more wait for their turn and block nothing (TOOL-7)."""

_log = logging.getLogger(__name__)


class Place:
    """A place for work in a thread; it is free again once those who wait for the work and the thread have left it (P3).

    Work whose wait was cancelled goes on, and its thread with it. Work that has not begun by then is not done.
    """

    def __init__(self, limiter: anyio.CapacityLimiter) -> None:
        self._limiter = limiter
        self._loop = asyncio.get_running_loop()
        self._guard = threading.Lock()
        self._holders = 1

    async def take(self) -> None:
        """Wait until there is a place, and take it."""
        try:
            self._limiter.acquire_on_behalf_of_nowait(self)  # spares most calls a turn of the loop
        except anyio.WouldBlock:
            await self._limiter.acquire_on_behalf_of(self)

    def work(self, what: str, function: Callable[[], ResultT]) -> ResultT | TaskError:
        """Return what ``function`` returns or raises, from any thread."""
        with self._guard:
            if not self._holders:
                return InternalError()
            self._holders += 1
        try:
            return _attempt(what, function)
        finally:
            self.leave()

    def leave(self) -> None:
        """Leave the place, from any thread; the last to do so gives it back."""
        with self._guard:
            self._holders -= 1
            if self._holders:
                return
        # A loop that is closed has no calls that wait for a place.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._limiter.release_on_behalf_of, self)


class Workers:
    """Carries out functions that may block beside the event loop."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(_WORKERS)
        self._unlimited = anyio.CapacityLimiter(math.inf)

    async def run(self, what: str, function: Callable[[], ResultT]) -> ResultT:
        """Return what ``function`` returns; ``what`` says to a reader of the log what was being done.

        Raises:
            TaskError: the function's own, or ``InternalError`` in place of any other, whose text must not leak.
        """
        place = Place(self._limiter)
        await place.take()
        try:
            return _outcome(
                await anyio.to_thread.run_sync(
                    place.work, what, function, limiter=self._unlimited, abandon_on_cancel=True
                )
            )
        finally:
            place.leave()

    @staticmethod
    def run_here(what: str, function: Callable[[], ResultT]) -> ResultT:
        """Do the same at once in this thread, which ``function`` must not block; it raises the same."""
        return _outcome(_attempt(what, function))


def _outcome(outcome: ResultT | TaskError) -> ResultT:
    try:
        if isinstance(outcome, TaskError):
            raise outcome
        return outcome
    finally:
        del outcome  # this frame is in the traceback of the error


def _attempt(what: str, function: Callable[[], ResultT]) -> ResultT | TaskError:
    # An error that a thread raises stays in a cycle with the future that carries it, and all that its frames hold,
    # such as a request of 8 MiB, stays with it until the collector comes by. So it is returned, and without them.
    try:
        return function()
    except TaskError as error:
        error.__context__ = None
        return error.with_traceback(None)
    except Exception as error:  # noqa: BLE001 - a fault in one call must neither end the server nor leak its text
        _log_fault(what, error)
        return InternalError()


def _log_fault(what: str, error: Exception) -> None:
    # The message of an exception may quote a task, which no line above DEBUG may (CLI-4).
    trace = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s failed with %s:\n%s", what, type(error).__name__, trace)
    _log.debug("The message was: %s", error)
