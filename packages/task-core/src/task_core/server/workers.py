"""The threads in which calls are carried out, and the one place where a fault that nobody foresaw is stopped."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

from task_core.errors import InternalError, TaskError
from task_core.files import closing_last

__all__ = ["Workers"]

ResultT = TypeVar("ResultT")

_WORKERS: Final = 40
"""Calls that are carried out at a time, each in a thread; more wait for their turn and block nothing (TOOL-7)."""

_log = logging.getLogger(__name__)


class Workers:
    """Carries out functions that may block beside the event loop."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_WORKERS)

    async def run(self, what: str, function: Callable[[], ResultT]) -> ResultT:
        """Return what ``function`` returns; ``what`` says to a reader of the log what was being done.

        When the wait is cancelled, a function that has begun goes on, and one that has not is not called.

        Raises:
            TaskError: the function's own, or ``InternalError`` in place of any other, whose text must not leak.
        """
        return _outcome(await self._carried_out(what, function))

    def end(self) -> None:
        """Let each thread end once nothing waits for it; no function is taken on from now on."""
        self._threads.shutdown(wait=False)

    async def _carried_out(self, what: str, function: Callable[[], ResultT]) -> ResultT | TaskError:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[ResultT | TaskError] = loop.create_future()
        # Emptied by who is first to begin the work or to give it up, together with all that its arguments hold.
        waiting = [function]

        def work() -> None:
            with suppress(IndexError), closing_last():
                outcome = _attempt(what, waiting.pop())
                # A loop that is closed waits for nothing.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(_settle, answer, outcome)

        try:
            self._threads.submit(work)
        except RuntimeError as error:
            # Work for which no thread could be started is in the queue all the same, and another thread may have it.
            with suppress(IndexError):
                waiting.pop()
                _log_fault(what, error)
                return InternalError()
        try:
            return await answer
        finally:
            waiting.clear()

    @staticmethod
    def run_here(what: str, function: Callable[[], ResultT]) -> ResultT:
        """Do the same at once in this thread, which ``function`` must not block; it raises the same."""
        return _outcome(_attempt(what, function))


def _settle(answer: asyncio.Future[ResultT], outcome: ResultT) -> None:
    if not answer.done():
        answer.set_result(outcome)


def _outcome(outcome: ResultT | TaskError) -> ResultT:
    try:
        if isinstance(outcome, TaskError):
            raise outcome
        return outcome
    finally:
        del outcome  # this frame is in the traceback of the error


def _attempt(what: str, function: Callable[[], ResultT]) -> ResultT | TaskError:
    # An error that a thread raised would stay in a cycle with the frames that it came through, and all that these hold,
    # such as a request of 8 MiB, until the collector comes by. So it is returned, and without them.
    try:
        return function()
    except TaskError as error:
        error.__context__ = error.__cause__ = None
        return error.with_traceback(None)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a fault in one call must neither end the server nor leak its text
        _log_fault(what, error)
        return InternalError()


def _log_fault(what: str, error: BaseException) -> None:
    # The message of an exception may quote a task, which no line above DEBUG may (CLI-4).
    trace = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s failed with %s:\n%s", what, type(error).__name__, trace)
    _log.debug("The message was: %s", error)
