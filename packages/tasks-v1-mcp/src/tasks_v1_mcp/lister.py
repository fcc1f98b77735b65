"""Pages at the cost of a page: a list is put in order once, and what changes afterwards is moved to its new place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import is_not
from typing import Final

from tasks_v1_mcp.cursor import Cursor
from tasks_v1_mcp.models import StoredTask
from tasks_v1_mcp.query import Listing, Page, Query

__all__ = ["Lister"]

_MOST_CHANGES: Final = 100
"""Changed tasks of which each is moved in a list; of more, the list is put in order anew."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The last list, and what it was made from."""

    listing: Listing
    tasks: Sequence[StoredTask]
    question: bytes
    is_first: bool
    """Whether it was made for a first page, and so has every task at its present place."""

    def answers(self, query: Query, tasks: Sequence[StoredTask], start: Cursor | None) -> bool:
        is_of_this_list = start.as_of == self.listing.as_of if start else self.is_first
        # Records are frozen and shared: to see that none has changed, this compares hardly more than addresses.
        return is_of_this_list and self.question == query.question and self.tasks == tasks


class Lister:
    """Answers queries, from any thread, and keeps the last list in order for its further pages."""

    def __init__(self) -> None:
        self._kept: _Kept | None = None

    def page(self, query: Query, tasks: Iterable[StoredTask]) -> Page:
        """Return the page of those among ``tasks`` that match.

        Raises:
            InvalidArguments: the cursor is damaged, or is of a list with other filters or another order.
        """
        start = query.start()
        present = list(tasks)
        kept = self._kept
        if kept is None or not kept.answers(query, present, start):
            listing = _changed(kept, query, present) if kept and start is None else None
            kept = _Kept(listing or query.listing(present, start), present, query.question, start is None)
            self._kept = kept
        return query.page(kept.listing, start)


def _changed(kept: _Kept, query: Query, present: Sequence[StoredTask]) -> Listing | None:
    """Return the list for a first page as it follows from the one before, or None where it does not easily."""
    if not kept.is_first or kept.question != query.question:
        return None
    is_changed = list(map(is_not, kept.tasks, present))
    if sum(is_changed) + abs(len(kept.tasks) - len(present)) > _MOST_CHANGES:
        return None
    gone = [*compress(kept.tasks, is_changed), *kept.tasks[len(present) :]]
    come = [*compress(present, is_changed), *present[len(kept.tasks) :]]
    return query.changed(kept.listing, gone, come)
