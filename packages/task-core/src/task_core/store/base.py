"""What a server may ask of any persistence engine: units of work over an ordered, keyed collection of records.

Nothing here says JSON or file, so that an SQL engine can stand behind the same names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

from task_core.errors import DuplicateId, TaskNotFound
from task_core.models import Record
from task_core.text import nearest

__all__ = ["Collection", "Store", "Transaction"]

RecordT = TypeVar("RecordT", bound=Record)


class Collection(Generic[RecordT]):
    """The records of a store at one moment, in their stored order; it never changes."""

    def __init__(self, records: Mapping[str, RecordT]) -> None:
        self._records = records

    def __contains__(self, record_id: object) -> bool:
        return record_id in self._records

    def __iter__(self) -> Iterator[RecordT]:
        return iter(self._records.values())

    def __len__(self) -> int:
        return len(self._records)

    @property
    def records(self) -> Mapping[str, RecordT]:
        """The records by id, in order, as they now stand."""
        return self._records

    def get(self, record_id: str) -> RecordT:
        """Return the record with this id.

        Raises:
            TaskNotFound: no record has it; the error names up to three near ids.
        """
        record = self._records.get(record_id)
        if record is None:
            raise TaskNotFound(record_id, nearest(record_id, self._records))
        return record


class Transaction(Collection[RecordT]):
    """The records within one unit of work; changes are seen here at once and by others only after the commit.

    ``own`` are the records where nobody else sees them, so that they may be changed in place.
    """

    def __init__(self, records: Mapping[str, RecordT], *, own: dict[str, RecordT] | None = None) -> None:
        super().__init__(records if own is None else own)
        self._own = own
        self._changes: list[tuple[str, RecordT | None]] = []

    @property
    def own(self) -> dict[str, RecordT] | None:
        """The records where nobody else sees them; None before the first change."""
        return self._own

    @property
    def changes(self) -> Sequence[tuple[str, RecordT | None]]:
        """Every change in the order it was made: an id with the record that it now has, or with None once removed."""
        return self._changes

    def add(self, record: RecordT) -> None:
        """Append ``record``.

        Raises:
            DuplicateId: its id is taken.
        """
        if record.id in self._records:
            raise DuplicateId(record.id)
        self._put(record)

    def replace(self, record: RecordT) -> None:
        """Put ``record`` in the place of the one with the same id.

        Raises:
            TaskNotFound: there is none.
        """
        self.get(record.id)
        self._put(record)

    def remove(self, record_id: str) -> RecordT:
        """Take the record with this id out and return it.

        Raises:
            TaskNotFound: there is none.
        """
        record = self.get(record_id)
        del self._writable()[record_id]
        self._changes.append((record_id, None))
        return record

    def _put(self, record: RecordT) -> None:
        self._writable()[record.id] = record
        self._changes.append((record.id, record))

    def _writable(self) -> dict[str, RecordT]:
        # The committed mapping is shared with every snapshot, so the first change copies it.
        if self._own is None:
            self._own = dict(self._records)
            self._records = self._own
        return self._own


class Store(ABC, Generic[RecordT]):
    """A collection of records that threads and processes change in turn."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Transaction[RecordT]]:
        """Open a unit of work that excludes every other, in this process and others.

        It commits when the block ends and changes nothing when the block raises.

        Raises:
            StoreLocked: the lock was held elsewhere for the whole wait.
            StoreWriteFailed: the commit failed; nothing has changed.
            StoreUnreadable: the store is there but cannot be read.
            StoreNewer: a newer version wrote the store.
        """

    @abstractmethod
    def read(self) -> Collection[RecordT]:
        """Return what is committed now, by this process or another.

        Raises:
            StoreUnreadable: the store is there but cannot be read.
            StoreNewer: a newer version wrote the store.
        """

    @abstractmethod
    def peek(self) -> Collection[RecordT] | None:
        """Return what ``read`` would return if that is in memory, without reading a file or waiting, else nothing."""

    @abstractmethod
    def close(self) -> None:
        """Give up every wait for another process, in every thread, now and later."""
