"""The engine without a disk: what it holds ends with the process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from task_core.models import Record
from task_core.store.base import Collection, Store, Transaction

__all__ = ["MemoryStore"]

RecordT = TypeVar("RecordT", bound=Record)


class MemoryStore(Store[RecordT]):
    """Keeps records in memory and performs no file operation at all."""

    def __init__(self, on_commit: Callable[[Collection[RecordT]], None] = lambda _: None) -> None:
        self._turn = threading.Lock()
        self._records: Mapping[str, RecordT] = {}
        self._on_commit = on_commit

    @contextmanager
    def transaction(self) -> Iterator[Transaction[RecordT]]:
        """Open a unit of work that excludes those of other threads."""
        with self._turn:
            work = Transaction(self._records)
            yield work
            self._records = work.records
            self._on_commit(Collection(work.records))

    def read(self) -> Collection[RecordT]:
        """Return what is committed now."""
        return Collection(self._records)

    def peek(self) -> Collection[RecordT]:
        """Return what is committed now."""
        return self.read()

    def close(self) -> None:
        """Do nothing: no wait here is long."""
