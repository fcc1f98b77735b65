"""Brings the list up to date for readers, who do not wait for long while others hold a lock (C2, TOOL-7)."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Final

from task_core.errors import StoreLocked, TaskError

__all__ = ["PATIENCE_SECONDS", "CatchUp"]

PATIENCE_SECONDS: Final = 2.0
"""Seconds from the beginning of a run after which nobody waits for it: far longer than a slow disk needs."""


class CatchUp:
    """Carries out ``work`` in a thread of its own, once for all readers who need it at the same time."""

    def __init__(self, work: Callable[[], None], is_due: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
        """Let readers wait until a run is ``seconds`` old; it goes on for those who come later."""
        self._work = work
        self._is_due = is_due
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(1)
        self._guard = threading.Lock()
        self._deadline = 0.0
        self._run = Future[None]()
        self._run.set_result(None)

    def wait(self) -> None:
        """Wait until the work is no longer due, or has been done once.

        Raises:
            StoreLocked: the run takes too long.
            TaskError: the work raised it.
        """
        if self._is_due() and not self._take_part() and self._is_due():
            self._take_part()  # the first run had begun before, and may have missed what came since

    def close(self) -> None:
        """Let the thread end; from now on whoever needs the work does it."""
        self._threads.shutdown(wait=False)

    def _take_part(self) -> bool:
        """Wait for the current run, or for a new one, and return whether it is new."""
        with self._guard:
            is_new = self._run.done()
            if is_new:
                self._run, self._deadline = self._begin(), monotonic() + self._seconds
            run, left = self._run, self._deadline - monotonic()
        try:
            run.result(max(0.0, left))
        except TimeoutError:
            raise StoreLocked(self._seconds) from None
        except TaskError as error:  # each reader raises a copy of its own
            raise error.copy() from None
        return is_new

    def _begin(self) -> Future[None]:
        try:
            return self._threads.submit(self._work)
        except RuntimeError:  # no thread can be started
            self._work()
            return self._run
