"""The threads in which calls are carried out, and the one place where a fault that nobody foresaw is stopped."""

import asyncio
import logging
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

from task_core.errors import InternalError, TaskError

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
        # Emptied by whichever comes first: the thread that begins the work, or the caller who gives it up.
        outcome = Future[ResultT]()
        waiting = [(function, outcome)]

        def work() -> None:
            with suppress(IndexError):
                begun, ended = waiting.pop()
                try:
                    ended.set_result(self.run_here(what, begun))
                except (TaskError, KeyboardInterrupt) as error:
                    # Without the frames that it came through, which hold all that the call was given.
                    error.__context__ = error.__cause__ = None
                    ended.set_exception(error.with_traceback(None))

        try:
            self._threads.submit(work)
        except RuntimeError as error:
            # Work for which no thread could be started is in the queue all the same, and another thread may have it.
            with suppress(IndexError):
                waiting.pop()
                _log_fault(what, error)
                raise InternalError from error
        try:
            return await asyncio.wrap_future(outcome)
        finally:
            waiting.clear()
            del outcome  # it holds the error, whose traceback holds this frame

    def end(self) -> None:
        """Let each thread end once nothing waits for it; no function is taken on from now on."""
        self._threads.shutdown(wait=False)

    @staticmethod
    def run_here(what: str, function: Callable[[], ResultT]) -> ResultT:
        """Do the same at once in this thread, which ``function`` must not block; it raises the same."""
        try:
            return function()
        except (TaskError, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - a fault in one call must neither end the server nor leak its text
            _log_fault(what, error)
            raise InternalError from None


def _log_fault(what: str, error: BaseException) -> None:
    # The message of an exception may quote a task, which no line above DEBUG may (CLI-4).
    trace = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s failed with %s:\n%s", what, type(error).__name__, trace)
    _log.debug("The message was: %s", error)
