"""Turns and batches: units of work run one at a time, and those that wait for each other share one save.

Ten records in one fsync cost what one costs. A unit is acknowledged only when the save that holds it has succeeded.
"""

from __future__ import annotations

import threading
from collections import deque
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
    """The units of work that share one save: those that came before ``time`` was over, if they are not too many."""

    def __init__(self, records: Mapping[str, RecordT], time: Wait) -> None:
        self.records = records
        self.changes: list[Change[RecordT]] = []
        self._units = 0
        self._time = time
        self._base = records
        self._own: dict[str, RecordT] | None = None
        self._settled = threading.Event()
        self._failure: Callable[[], TaskError] | None = None

    @property
    def is_full(self) -> bool:
        """Whether no further unit may join."""
        return self._units >= _MOST_UNITS or not self._time.remaining

    def unit(self) -> Transaction[RecordT]:
        """Return the next unit of work; the first that changes something copies the records, the others go on there."""
        return Transaction(self.records, own=self._own)

    def take(self, work: Transaction[RecordT], encode: Callable[[RecordT], bytes]) -> None:
        """Make ``work`` part of the batch, unless ``encode`` raises for a record of it."""
        changes = [Change(name, record, None if record is None else encode(record)) for name, record in work.changes]
        self.changes.extend(changes)
        self.records, self._own = work.records, work.own
        self._units += 1

    def drop(self, work: Transaction[RecordT]) -> None:
        """Leave ``work`` out of the batch: what it changed was not changed."""
        self._units += 1
        if self._own is None or not work.changes:
            return
        # In place: a unit before it that changed nothing hands these very records to its caller after the save.
        self._own.clear()
        self._own.update(self._base)
        for change in self.changes:
            if change.record is None:
                del self._own[change.id]
            else:
                self._own[change.id] = change.record

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
    """Lets one thread at a time work on the store, in the order in which they came."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._is_taken = False
        self._waiting: deque[threading.Event] = deque()

    def take(self, wait: Wait) -> None:
        """Wait for the turn within ``wait``.

        Raises:
            StoreLocked: the wait was too long.
        """
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return
            mine = threading.Event()
            self._waiting.append(mine)
        if not mine.wait(wait.remaining) and self._is_given_up(mine):
            raise StoreLocked(wait.elapsed)

    def leave(self) -> None:
        """Give the turn to the thread that waits longest, if there is one."""
        with self._guard:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._is_taken = False

    def leave_if_wanted(self) -> bool:
        """Give the turn to the thread that waits longest, and return whether there was one; else keep it."""
        with self._guard:
            if not self._waiting:
                return False
            self._waiting.popleft().set()
            return True

    def _is_given_up(self, mine: threading.Event) -> bool:
        """Return whether the wait ended without the turn, which may come at the very end of it."""
        with self._guard:
            if mine.is_set():
                return False
            self._waiting.remove(mine)
            return True
