"""Contents of a store, the same on every engine (EN-2 to EN-4)."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, Protocol

from task_core.models import RecordT

__all__ = ["ROOTS", "Changes", "Kind", "Row", "WatchedStore"]

ROOTS: Final = ""
"""The parent of the roots of a tree, or of all records of a list."""


@dataclass(frozen=True)
class Kind(Generic[RecordT]):
    """The properties of one server's records that a store needs."""

    name: str
    """the name of the list, if several share one database"""
    record_type: type[RecordT]
    states: tuple[str, ...] = ("",)
    """every state that a record can have"""
    closed: frozenset[str] = frozenset()
    """the states in which no work is left"""
    is_tree: bool = False
    holds_many: bool = False
    """true if a record holds many tasks, so that a change to it may concern any of them"""
    stamp: str = ""
    """the field with the time of the last change, which every change sets"""
    version: int = 1
    """of the format; a store with a higher one raises ``StoreNewer``"""


class Row(NamedTuple, Generic[RecordT]):
    """A record, its place, and its size."""

    record: RecordT
    parent: str
    position: int
    """rises from sibling to sibling"""
    size: int
    """bytes of the record as it is stored"""


class Changes(NamedTuple, Generic[RecordT]):
    """Records that changed since a token, in the order of the last change of each (EN-20)."""

    records: list[tuple[str, RecordT | None]]
    """each id once, with the record as it is now, or None once it was removed"""
    token: str
    """asks for the changes after these"""
    more: bool = False
    """true if more has changed than fits the limit"""
    reset: bool = False
    """true if the token is unknown here or too old, so that only listing the records again shows what changed"""


class WatchedStore(Protocol):
    """A store as clients that listen and the board need it."""

    kind: Kind[Any]
    check: Callable[[Any], None]
    """called when a transaction begins; an error that it raises ends it"""

    def changes(self, since: str | None, limit: int) -> Changes[Any]:
        """Return what changed after the token ``since``, at most ``limit`` records; without one, only a token."""

    def read(self) -> AbstractContextManager[Any]:
        """Open a snapshot, whose length is the number of its records."""
