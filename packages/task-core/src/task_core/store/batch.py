"""Turns and batches: units of work run one at a time, and those that wait for each other share one save.

Ten records in one fsync cost what one costs. A unit is acknowledged only when the save that holds it has succeeded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from task_core.errors import StoreLocked, TaskError
from task_core.models import Record
from task_core.store.base import Transaction
from task_core.store.lock import Wait

__all__ = ["Batch", "Change", "Turn"]

RecordT = TypeVar("RecordT", bound=Record)

_MOST_UNITS: Final = 64
"""Units of work in one batch at most, so that the first of them does not wait long."""


@dataclass(frozen=True)
class Change(Generic[RecordT]):
    """What a unit of work made of one record; the record and its line are None once it is removed."""

    id: str
    record: RecordT | None
    line: bytes | None


class Batch(Generic[RecordT]):
    """The units of work that share one save."""

    def __init__(self, records: Mapping[str, RecordT]) -> None:
        self.records = records
        self.changes: list[Change[RecordT]] = []
        self.units = 0
        self._base = records
        self._own: dict[str, RecordT] | None = None
        self._settled = threading.Event()
        self._failure: Callable[[], TaskError] | None = None

    @property
    def is_full(self) -> bool:
        """Whether no further unit may join."""
        return self.units >= _MOST_UNITS

    def unit(self) -> Transaction[RecordT]:
        """Return the next unit of work; the first that changes something copies the records, the others go on there."""
        return Transaction(self.records, own=self._own)

    def take(self, work: Transaction[RecordT], encode: Callable[[RecordT], bytes]) -> None:
        """Make ``work`` part of the batch, unless ``encode`` raises for a record of it."""
        changes = [Change(name, record, None if record is None else encode(record)) for name, record in work.changes]
        self.changes.extend(changes)
        self.records, self._own = work.records, work.own
        self.units += 1

    def drop(self, work: Transaction[RecordT]) -> None:
        """Leave ``work`` out of the batch: what it changed was not changed."""
        if self._own is None or not work.changes:
            return
        self._own = dict(self._base)
        for change in self.changes:
            if change.record is None:
                del self._own[change.id]
            else:
                self._own[change.id] = change.record
        self.records = self._own

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
