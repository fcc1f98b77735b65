"""What a store holds and what it can be asked for, the same on every engine (EN-2 to EN-4)."""

from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, NamedTuple, TypeVar

from task_core.models import Record

__all__ = ["ROOTS", "Changes", "Key", "Kind", "Order", "Row", "Selection"]

RecordT = TypeVar("RecordT", bound=Record)

ROOTS: Final = ""
"""The parent of the roots of a tree."""

Key = tuple[int | str, ...]
"""Where a record is in an order: the values that the order compares, then the id."""


@dataclass(frozen=True)
class Kind(Generic[RecordT]):
    """What a store must know of the records of one server."""

    name: str
    """the name of the list, if several share one database"""
    record_type: type[RecordT]
    states: tuple[str, ...] = ("",)
    """every state that a record can have"""
    closed: frozenset[str] = frozenset()
    """the states that are not open, in a tree"""
    is_tree: bool = False
    version: int = 1
    """of the format; a store with a higher one raises ``StoreNewer``"""


class Order(Enum):
    """The orders that stores keep an index for: the columns that they compare, ties by id."""

    CREATED = ("created",)
    RANK = ("rank", "created")
    UPDATED = ("updated", "created")

    def key(self, record: Record) -> Key:
        """Return where ``record`` is in this order."""
        return (*(getattr(record.columns, name) for name in self.value), record.id)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which records, in which order; an empty field lets every record pass (EN-3)."""

    states: tuple[str, ...] = ()
    facets: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    topic: str = ""
    tags: tuple[str, ...] = ()
    """any of them"""
    words: tuple[str, ...] = ()
    """all of them, folded as the record's text is"""
    since: int | None = None
    """records that were updated then or later, and those without a time of update; microseconds since 1970"""
    order: Order = Order.CREATED
    descending: bool = False
    after: Key | None = None
    """the key of the last record on the previous page"""
    limit: int | None = None


class Row(NamedTuple, Generic[RecordT]):
    """A record and its place: its parent, and a number that rises from sibling to sibling."""

    record: RecordT
    parent: str
    position: int


class Changes(NamedTuple, Generic[RecordT]):
    """What changed since a token, in the order of the last change of each (EN-20)."""

    records: list[tuple[str, RecordT | None]]
    """each id once, with the record as it is now, or None once it was removed"""
    token: str
    """asks for the changes after these"""
    more: bool = False
    """whether more has changed than fits the limit"""
    reset: bool = False
    """whether the token is unknown here or too old, so that only listing the records again shows what changed"""
