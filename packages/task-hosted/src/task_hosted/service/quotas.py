"""Quotas: limits of what one list may keep (HO-4)."""

from typing import NamedTuple

from task_core.errors import TaskError
from task_core.store.collection import ListRow

__all__ = ["Quota", "QuotaExceeded"]


class QuotaExceeded(TaskError):
    """A change would let a list grow beyond what its owner may keep."""

    def __init__(self, what: str, count: int, limit: int) -> None:
        """``what`` is what there would be too many of: ``tasks`` or ``bytes``."""
        super().__init__(
            f"This list may hold {limit:,} {what}, and would have {count:,}; remove or shorten tasks that nobody needs "
            "anymore, or ask the operator of the service for more room.",
            {"what": what, "count": count, "limit": limit},
        )


class Quota(NamedTuple):
    """Limits of one list; a list that exceeds them already, as after a change of its quota, may not grow."""

    records: int
    size: int
    """bytes of all records as they are stored"""

    def check(self, before: ListRow, after: ListRow) -> None:
        """Raise ``QuotaExceeded`` if the list has grown beyond the quota."""
        for what, old, new, limit in (
            ("tasks", before.number, after.number, self.records),
            ("bytes", before.size, after.size, self.size),
        ):
            if new > max(limit, old):
                raise QuotaExceeded(what, new, limit)
