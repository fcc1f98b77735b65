"""The lock of HEARTBEAT.md: exclusive between processes, shared by the calls of one process; the last writes (C5).

Concurrent calls share one write of the file, as they share one commit of the store. The lock is taken before that
of the store, and held until the section is written.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from task_core.errors import StoreLocked
from task_core.store.lock import ProcessLock, Wait

__all__ = ["Rounds"]

_MAX_CALLS: Final = 64
"""Most calls in one round, so that the first of them does not wait long."""

_MAX_SECONDS: Final = 0.1
"""How long calls may join a round, in seconds; meanwhile other processes wait."""


class Rounds:
    """Groups calls into rounds that have one beginning and one end."""

    def __init__(self, lock: ProcessLock, lock_seconds: float) -> None:
        self._lock = lock
        self._lock_seconds = lock_seconds
        self._changed = threading.Condition()
        self._calls = 0
        self._joined = 0
        self._number = 0
        self._is_open = False
        self._time = Wait(0)

    @contextmanager
    def call(self, begin: Callable[[], None], end: Callable[[], None]) -> Iterator[None]:
        """Take part in a round: its first call runs ``begin`` under the lock, its last one runs ``end``.

        The block of every call ends only when ``end`` is done.

        Raises:
            TaskError: the lock could not be taken.
        """
        self._join(begin)
        try:
            yield
        finally:
            self._leave(end)

    def give_up(self) -> None:
        """End every wait for the lock, now and later."""
        self._lock.give_up()

    def _join(self, begin: Callable[[], None]) -> None:
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
                begin()
            except BaseException:  # KeyboardInterrupt too: let other processes in, then raise again
                self._lock.release()
                raise
        except BaseException:  # KeyboardInterrupt too: let the next round begin, then raise again
            self._close()
            raise
        with self._changed:
            self._is_open, self._time = True, Wait(_MAX_SECONDS)
            self._changed.notify_all()

    def _leave(self, end: Callable[[], None]) -> None:
        with self._changed:
            number = self._number
            if self._calls > 1:
                self._calls -= 1
                while self._number == number:
                    self._changed.wait()
                return
            self._is_open = False
        try:
            end()
        finally:
            self._lock.release()
            self._close()

    def _close(self) -> None:
        with self._changed:
            self._calls, self._is_open = 0, False
            self._number += 1
            self._changed.notify_all()
