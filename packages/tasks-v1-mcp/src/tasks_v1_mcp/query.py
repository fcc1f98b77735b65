"""What a list asks for: filters, order and page, as one value over plain tasks (V1-2).

All pages of one list keep the order that the tasks had when its first page was made, however they move in between:
no page shows a task again, and none passes over a task that was there before and still matches. That holds whatever
is added, changed or removed, as long as no single task changes more than ``TRAIL_LENGTH`` times meanwhile and the
clock does not step back. Fields, filters and ``total`` speak of the present.
"""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from typing import Final, NamedTuple

from tasks_v1_mcp.cursor import Cursor, Position
from tasks_v1_mcp.models import Category, Priority, Status, StoredTask

__all__ = ["DEFAULT_LIMIT", "MAX_LIMIT", "Listing", "Order", "Page", "Query"]

DEFAULT_LIMIT: Final = 20
"""Tasks on a page, unless told otherwise (V1-2)."""

MAX_LIMIT: Final = 100
"""Tasks on a page at most (V1-2)."""

_NEVER: Final = datetime.min.replace(tzinfo=timezone.utc)
"""Before every moment: when a list without tasks was last changed."""

_PRESENT: Final = datetime.max.replace(tzinfo=timezone.utc)
"""After every moment: a task that is placed as of it stands where it stands now."""


class Order(str, Enum):
    """What comes first; ties by creation, the newest first, then by id, the highest first."""

    CREATED = "created_at_desc"
    PRIORITY = "priority_desc"
    UPDATED = "updated_at_desc"


class Page(NamedTuple):
    """Some of the tasks that match, in order."""

    tasks: Sequence[StoredTask]
    total: int
    """How many match at present, on all pages together."""
    next_cursor: str | None
    """What brings the next page; None when there is none."""


class Listing(NamedTuple):
    """All tasks that match, the last one first, as they were placed at one moment."""

    tasks: Sequence[StoredTask]
    as_of: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Filters that a task must all pass, the order, and the page; a filter that is empty lets every task pass."""

    statuses: Sequence[Status] = ()
    category: Category | None = None
    topic_id: str | None = None
    tags_any: Sequence[str] = ()
    priority: Priority | None = None
    text: str = ""
    order: Order = Order.CREATED
    limit: int = DEFAULT_LIMIT
    cursor: str | None = None

    @property
    def question(self) -> bytes:
        """What all pages of one list have in common: the filters and the order."""
        filters = [sorted(set(self.statuses)), self.category, self.topic_id, sorted(set(self.tags_any)), self.priority]
        return json.dumps([*filters, self.text, self.order]).encode()

    def start(self) -> Cursor | None:
        """Return where the page before ended, or None for a first page.

        Raises:
            InvalidArguments: the cursor is damaged, or is of a list with other filters or another order.
        """
        return None if self.cursor is None else Cursor.from_text(self.cursor, self.question)

    def listing(self, tasks: Iterable[StoredTask], start: Cursor | None = None) -> Listing:
        """Return those of ``tasks`` that match, in the order that the list had at its first page."""
        matches = self._matches(tasks)
        as_of = start.as_of if start else _last_change(matches)
        return Listing(sorted(matches, key=lambda task: self._position(task, as_of)), as_of)

    def changed(self, listing: Listing, gone: Iterable[StoredTask], come: Iterable[StoredTask]) -> Listing:
        """Return what ``listing``, made for a first page, becomes when ``gone`` leave the tasks and ``come`` join them.

        A task that has changed is in both, as it was and as it is.
        """
        tasks = list(listing.tasks)

        def position(task: StoredTask) -> Position:
            return self._position(task, _PRESENT)

        gone, come = self._matches(gone), self._matches(come)
        for task in gone:
            del tasks[bisect_left(tasks, position(task), key=position)]
        for task in come:
            insort(tasks, task, key=position)
        as_of = max(listing.as_of, _last_change(come))
        is_last_gone = any(task.updated_at == as_of for task in gone)
        return Listing(tasks, _last_change(tasks) if is_last_gone else as_of)

    def page(self, listing: Listing, start: Cursor | None = None) -> Page:
        """Return the page of ``listing`` that begins below ``start``."""
        tasks, as_of = listing

        def position(task: StoredTask) -> Position:
            return self._position(task, as_of)

        end = bisect_left(tasks, start.position, key=position) if start else len(tasks)
        first = max(0, end - self.limit)
        cursor = Cursor(as_of, position(tasks[first])).to_text(self.question) if first else None
        return Page(tasks[first:end][::-1], len(tasks), cursor)

    def _matches(self, tasks: Iterable[StoredTask]) -> list[StoredTask]:
        filters = list(self._filters())
        return [task for task in tasks if all(passes(task) for passes in filters)] if filters else list(tasks)

    def _filters(self) -> Iterator[Callable[[StoredTask], bool]]:
        if self.statuses:
            yield lambda task: task.status in self.statuses
        if self.category:
            yield lambda task: task.category is self.category
        if self.topic_id:
            yield lambda task: task.topic_id == self.topic_id
        if self.tags_any:
            wanted = frozenset(self.tags_any)
            yield lambda task: not wanted.isdisjoint(task.tags)
        if self.priority:
            yield lambda task: task.priority is self.priority
        if self.text:
            folded = self.text.casefold()
            yield lambda task: any(folded in text.casefold() for text in _texts(task))

    def _position(self, task: StoredTask, as_of: datetime) -> Position:
        if self.order is Order.CREATED:
            return Position(0, task.created_at, task.created_at, task.id)
        place = task.place_at(as_of)
        if self.order is Order.PRIORITY:
            return Position(place.priority.rank, task.created_at, task.created_at, task.id)
        return Position(0, place.since, task.created_at, task.id)


def _last_change(tasks: Iterable[StoredTask]) -> datetime:
    return max((task.updated_at for task in tasks), default=_NEVER)


def _texts(task: StoredTask) -> Iterator[str]:
    yield task.title
    yield task.description or ""
    yield from task.tags
