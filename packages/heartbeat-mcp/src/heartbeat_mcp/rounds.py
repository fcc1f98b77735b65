"""The lock of HEARTBEAT.md: exclusive between processes, shared by the calls of one process; the last writes (C5).

Concurrent calls share one write of the file, as they share one commit of the store. The lock is taken before that
of the store, and held until the section is written.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from task_core.errors import StoreLocked, TaskError
from task_core.store.lock import ProcessLock, Wait

__all__ = ["Rounds"]

_MAX_CALLS: Final = 64
"""Most calls in one round, so that the first of them does not wait long."""

_MAX_SECONDS: Final = 0.1
"""How long calls may join a round, in seconds; meanwhile other processes wait."""

_PAUSE_SECONDS: Final = 0.25
"""Time to the next round of its own."""


class Rounds:
    """Groups calls into rounds that have one beginning and one end."""

    def __init__(
        self,
        lock: ProcessLock,
        lock_seconds: float,
        *,
        begin: Callable[[], None],
        end: Callable[[], bool],
        again: Callable[[], None],
    ) -> None:
        """Run ``begin`` and ``end`` under the lock; if ``end`` returns True, a round with ``again`` follows soon."""
        self._lock = lock
        self._lock_seconds = lock_seconds
        self._begin = begin
        self._end = end
        self._again = again
        self._timer: threading.Timer | None = None
        self._is_over = False
        self._changed = threading.Condition()
        self._calls = 0
        self._joined = 0
        self._number = 0
        self._is_open = False
        self._time = Wait(0)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Take part in a round: its first call begins it under the lock, its last one ends it.

        The block of every call ends only when the round has ended.

        Raises:
            TaskError: the lock could not be taken.
        """
        self._join()
        try:
            yield
        finally:
            self._leave()

    def give_up(self) -> None:
        """End every wait for the lock, now and later, and begin no more rounds without a call."""
        self._lock.give_up()
        with self._changed:
            self._is_over = True
            if self._timer:
                self._timer.cancel()

    def _join(self) -> None:
        wait = Wait(self._lock_seconds)
        with self._changed:
            while self._calls and not (self._is_open and self._joined < _MAX_CALLS and self._time.remaining):
                if not self._changed.wait(wait.remaining):
                    raise StoreLocked(wait.elapsed)
            self._calls += 1
            self._joined += 1
            if self._calls > 1:
                return
            self._joined = 1
        try:
            self._lock.acquire(wait)
            try:
                self._begin()
            except BaseException:  # KeyboardInterrupt too: let other processes in, then raise again
                self._lock.release()
                raise
        except BaseException:  # KeyboardInterrupt too: let the next round begin, then raise again
            self._close()
            raise
        with self._changed:
            self._is_open, self._time = True, Wait(_MAX_SECONDS)
            self._changed.notify_all()

    def _leave(self) -> None:
        with self._changed:
            number = self._number
            if self._calls > 1:
                self._calls -= 1
                while self._number == number:
                    self._changed.wait()
                return
            self._is_open = False
        is_another_needed = False
        try:
            is_another_needed = self._end()
        finally:
            self._lock.release()
            self._close()
            if is_another_needed:
                self._plan()

    def _plan(self) -> None:
        with self._changed:
            if not (self._timer or self._is_over):
                timer = threading.Timer(_PAUSE_SECONDS, self._run)
                timer.daemon = True
                with suppress(RuntimeError):  # no thread can be started: the next call plans again
                    timer.start()
                    self._timer = timer

    def _run(self) -> None:
        with self._changed:
            self._timer = None
        try:
            with self.call():
                self._again()
        except TaskError:
            self._plan()

    def _close(self) -> None:
        with self._changed:
            self._calls, self._is_open = 0, False
            self._number += 1
            self._changed.notify_all()
