"""The threads that carry out calls, and the one place that stops an unforeseen fault."""

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
"""Calls of each sort that are carried out at a time, each in a thread; more calls wait their turn (TOOL-7)."""

_log = logging.getLogger(__name__)


class Workers:
    """Carries out functions that may block beside the event loop.

    Those that change the store have threads of their own: all of these may wait for its lock, which readers need not.
    """

    def __init__(self) -> None:
        self._readers = ThreadPoolExecutor(_WORKERS)
        self._writers = ThreadPoolExecutor(_WORKERS)

    async def run(self, what: str, function: Callable[[], ResultT], *, is_read_only: bool = True) -> ResultT:
        """Return the result of ``function``; ``what`` names the work in the log.

        If the wait is cancelled, a function that has begun goes on, and one that has not is not called.

        Raises:
            TaskError: the function's own, or ``InternalError`` in place of any other, whose text must not leak.
        """
        # Whoever gets here first, the worker or the cancelled caller, pops the function and so releases its arguments.
        outcome = Future[ResultT]()
        waiting = [(function, outcome)]

        def work() -> None:
            with suppress(IndexError):
                begun, ended = waiting.pop()
                try:
                    ended.set_result(self.run_here(what, begun))
                except (TaskError, KeyboardInterrupt) as error:
                    # Drop the frames that it passed through: they hold everything that the call was given.
                    error.__context__ = error.__cause__ = None
                    ended.set_exception(error.with_traceback(None))

        try:
            (self._readers if is_read_only else self._writers).submit(work)
        except RuntimeError as error:
            # The work is in the queue even though no thread could be started, and another thread may have taken it.
            with suppress(IndexError):
                waiting.pop()
                _log_fault(what, error)
                raise InternalError(was_begun=False) from error
        try:
            return await asyncio.wrap_future(outcome)
        finally:
            waiting.clear()
            del outcome  # it holds the error, whose traceback holds this frame

    def end(self) -> None:
        """Let each thread end once nothing waits for it; no more functions are accepted."""
        for threads in (self._readers, self._writers):
            threads.shutdown(wait=False)

    @staticmethod
    def run_here(what: str, function: Callable[[], ResultT]) -> ResultT:
        """Do the same as ``run`` at once in this thread, which ``function`` must not block; it raises the same."""
        try:
            return function()
        except (TaskError, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - a fault in one call must not end the server or leak its text
            _log_fault(what, error)
            raise InternalError from None


def _log_fault(what: str, error: BaseException) -> None:
    # The message of an exception may quote a task, which no line above DEBUG may (CLI-4).
    trace = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s failed with %s:\n%s", what, type(error).__name__, trace)
    _log.debug("The message was: %s", error)
