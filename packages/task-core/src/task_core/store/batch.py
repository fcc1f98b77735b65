"""Turns and batches: units of work run one at a time, and those that wait for each other share one save.

Ten records in one fsync cost what one costs. A unit is acknowledged only when the save that holds it has succeeded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Generic, TypeVar

from task_core.errors import StoreLocked, TaskError
from task_core.models import Record
from task_core.store.lock import Wait

__all__ = ["Batch", "Turn"]

RecordT = TypeVar("RecordT", bound=Record)

_MOST_UNITS: Final = 64
"""Units of work in one batch at most, so that the first of them does not wait long."""


class Batch(Generic[RecordT]):
    """The units of work that share one save."""

    def __init__(self, records: Mapping[str, RecordT]) -> None:
        self.records = records
        self.changes: list[tuple[str, bytes | None]] = []
        self.units = 0
        self._settled = threading.Event()
        self._failure: Callable[[], TaskError] | None = None

    @property
    def is_full(self) -> bool:
        """Whether no further unit may join."""
        return self.units >= _MOST_UNITS

    def take(self, records: Mapping[str, RecordT], changes: Iterable[tuple[str, bytes | None]]) -> None:
        """Make a unit of work part of the batch: the records it left, and each change as an id and its new line."""
        self.records = records
        self.changes.extend(changes)
        self.units += 1

    def settle(self, failure: Callable[[], TaskError] | None = None) -> None:
        """Release the units that wait: all are saved, or all failed with what ``failure`` makes."""
        self._failure = failure
        self._settled.set()

    def wait(self) -> None:
        """Wait until the batch is saved.

        Raises:
            TaskError: it was not.
        """
        self._settled.wait()
        if self._failure:
            raise self._failure()


class Turn:
    """Lets one thread at a time work on the store."""

    def __init__(self) -> None:
        self._guard = threading.Condition()
        self._taken = False
        self._waiting = 0

    def take(self, wait: Wait) -> None:
        """Wait for the turn within ``wait``.

        Raises:
            StoreLocked: the wait was too long.
        """
        with self._guard:
            self._waiting += 1
            try:
                if not self._guard.wait_for(lambda: not self._taken, wait.remaining):
                    raise StoreLocked(wait.elapsed)
                self._taken = True
            finally:
                self._waiting -= 1

    def leave(self) -> None:
        """Give the turn to the next thread."""
        with self._guard:
            self._taken = False
            self._guard.notify()

    def leave_if_wanted(self) -> bool:
        """Give the turn to a thread that waits, and return whether there was one; else keep it.

        Asking and leaving are one step: a thread counted as waiting is then sure to take the turn.
        """
        with self._guard:
            if not self._waiting:
                return False
            self._taken = False
            self._guard.notify()
            return True
