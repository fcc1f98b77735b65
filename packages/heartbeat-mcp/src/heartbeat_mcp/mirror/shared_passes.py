"""Lets concurrent calls share one pass over HEARTBEAT.md under its lock, as they share one commit of the store (C5).

The lock is taken before that of the store, and held until the section is written.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, Generic, TypeVar

from task_core.errors import StoreLocked, TaskError
from task_core.files import ProcessLock, Wait

__all__ = ["SharedPasses"]

PassT = TypeVar("PassT")

_MAX_CALLS: Final = 64
"""Maximum calls in one pass, so that the first of them does not wait long."""

_MAX_SECONDS: Final = 0.1
"""How long calls may join a pass, in seconds; meanwhile other processes wait."""

_PAUSE_SECONDS: Final = 0.25
"""Time to the next pass without a call."""


class SharedPasses(Generic[PassT]):
    """Groups calls into passes: the first call of a pass begins it under the lock, and the last one finishes it."""

    def __init__(
        self, lock: ProcessLock, lock_seconds: float, begin: Callable[[], PassT], finish: Callable[[PassT], object]
    ) -> None:
        """Make each pass with ``begin`` and end it with ``finish``; only the calls of the pass are given it."""
        self._lock = lock
        self._lock_seconds = lock_seconds
        self._begin = begin
        self._finish = finish
        self._timer: threading.Timer | None = None
        self._is_over = False
        self._changed = threading.Condition()
        self._calls = 0
        self._joined = 0
        self._number = 0
        self._open: PassT | None = None
        self._time = Wait(0)

    @contextmanager
    def join(self) -> Iterator[PassT]:
        """Take part in a pass; the last call that leaves it finishes it before any call of it returns.

        Raises:
            TaskError: the lock could not be taken, or no pass joined, in time.
        """
        joined = self._wait_for_pass()
        if joined is None:
            joined = self._open_pass()
        try:
            yield joined
        finally:
            if self._leave():
                try:
                    self._finish(joined)
                finally:
                    self._lock.release()
                    self._end()

    def plan(self, run: Callable[[], None]) -> None:
        """Let ``run`` join a pass soon, without a call, unless that is planned already; retry if it fails."""

        def run_until_done() -> None:
            with self._changed:
                self._timer = None
            try:
                run()
            except TaskError:
                self.plan(run)

        with self._changed:
            if not (self._timer or self._is_over):
                timer = threading.Timer(_PAUSE_SECONDS, run_until_done)
                timer.daemon = True
                with suppress(RuntimeError):  # no thread can be started: the next call plans again
                    timer.start()
                    self._timer = timer

    def give_up(self) -> None:
        """End every wait for the lock, now and later, and begin no more passes without a call."""
        self._lock.give_up()
        with self._changed:
            self._is_over = True
            if self._timer:
                self._timer.cancel()

    def _wait_for_pass(self) -> PassT | None:
        """Return the open pass as soon as it can be joined, or None for the call that must open the next one."""
        wait = Wait(self._lock_seconds)
        with self._changed:
            while self._calls:
                if self._open is not None and self._joined < _MAX_CALLS and self._time.remaining:
                    self._calls += 1
                    self._joined += 1
                    return self._open
                if not self._changed.wait(wait.remaining):
                    raise StoreLocked(wait.elapsed)
            self._calls = self._joined = 1
        try:
            self._lock.acquire(wait)
        except BaseException:  # KeyboardInterrupt too: let others begin, then raise again
            self._end()
            raise
        return None

    def _open_pass(self) -> PassT:
        try:
            begun = self._begin()
        except BaseException:  # KeyboardInterrupt too: let others begin, then raise again
            self._lock.release()
            self._end()
            raise
        with self._changed:
            self._open, self._time = begun, Wait(_MAX_SECONDS)
            self._changed.notify_all()
        return begun

    def _leave(self) -> bool:
        """Return True for the last call of the pass, which must finish it; any other call waits for that."""
        with self._changed:
            if self._calls == 1:
                self._open = None
                return True
            self._calls -= 1
            number = self._number
            while self._number == number:
                self._changed.wait()
            return False

    def _end(self) -> None:
        with self._changed:
            self._calls, self._open = 0, None
            self._number += 1
            self._changed.notify_all()
