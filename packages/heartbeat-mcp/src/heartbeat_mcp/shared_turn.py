"""Turns that calls of one process share: those that wait for each other have one beginning and one end (EN-9)."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from task_core.errors import StoreLocked
from task_core.files import Wait

__all__ = ["SharedTurn"]

ThingT = TypeVar("ThingT")


class _Turn(Generic[ThingT]):
    def __init__(self, thing: ThingT) -> None:
        self.thing = thing
        self.count = 1
        """the calls that take part and have not finished"""
        self.ended = threading.Event()


class SharedTurn(Generic[ThingT]):
    """Gives calls that wait for each other one thing to work with, and every later call a new one."""

    def __init__(self, begin: Callable[[Wait], ThingT], end: Callable[[ThingT], None]) -> None:
        """``begin`` makes the thing within a wait; ``end`` is called once the last call has finished with it."""
        self._begin = begin
        self._end = end
        self._guard = threading.Condition()
        self._is_taken = False
        self._open: _Turn[ThingT] | None = None
        """the turn under way, until its first call has finished"""

    @contextmanager
    def take(self, seconds: float) -> Iterator[ThingT]:
        """Take part in the turn under way, or begin one; a block that does not raise is left once the turn has ended.

        It raises ``StoreLocked`` if none begins within ``seconds``, and what ``begin`` and ``end`` raise.
        """
        turn = self._join(Wait(seconds))
        is_done = False
        try:
            yield turn.thing
            is_done = True
        finally:
            self._leave(turn, is_done=is_done)

    def _join(self, wait: Wait) -> _Turn[ThingT]:
        with self._guard:
            if not self._guard.wait_for(lambda: self._open or not self._is_taken, wait.remaining):
                raise StoreLocked(wait.elapsed)
            if self._open:
                self._open.count += 1
                return self._open
            self._is_taken = True
        try:
            turn = _Turn(self._begin(wait))
        except BaseException:  # KeyboardInterrupt too: let the next one in, then raise again
            self._release()
            raise
        with self._guard:
            self._open = turn
            self._guard.notify_all()
        return turn

    def _leave(self, turn: _Turn[ThingT], *, is_done: bool) -> None:
        with self._guard:
            self._open = None  # whoever comes now must not keep those waiting who have finished
            turn.count -= 1
            is_last = not turn.count
        if not is_last:
            if is_done:
                turn.ended.wait()
            return
        try:
            self._end(turn.thing)
        finally:
            turn.ended.set()
            self._release()

    def _release(self) -> None:
        with self._guard:
            self._is_taken = False
            self._guard.notify_all()
