"""The task of this server and its statuses (source: requirements 3.2)."""

from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Final, Self

from pydantic import Field, JsonValue
from typing_extensions import override

from heartbeat_mcp.recurrence import SCHEDULE_FIELDS, Schedule, parse_moment
from task_core.models import Columns, Record, Texts, UtcDatetime, microseconds
from task_core.store import Kind

__all__ = [
    "ACTIVE",
    "ARCHIVED",
    "FINISHED",
    "IMPORTED",
    "KIND",
    "PREDEFINED_FIELDS",
    "SECTION",
    "STORE_ID",
    "HeartbeatStatus",
    "HeartbeatTask",
]

ARCHIVED: Final = "archived"
"""The field that marks an archived task in answers and in a database."""

IMPORTED: Final = "imported_at"
"""The extra field with the moment of the import of a finished task, from which it is kept in the list."""


class HeartbeatStatus(StrEnum):
    """The status of a task; written as here, matched without regard to case."""

    PENDING = "Pending"
    RUNNING = "Running"
    COMPLETE = "Complete"
    FAIL = "Fail"

    @property
    def is_finished(self) -> bool:
        """True if work on the task has ended, well or badly."""
        return self in (HeartbeatStatus.COMPLETE, HeartbeatStatus.FAIL)

    @classmethod
    @override
    def _missing_(cls, value: object) -> Self | None:
        wanted = value.casefold() if isinstance(value, str) else None
        return next((status for status in cls if status.value.casefold() == wanted), None)


class HeartbeatTask(Record):
    """One entry of the to-do list; times are in UTC."""

    status: HeartbeatStatus = HeartbeatStatus.PENDING
    raw_user_request: str
    raw_reference: str | None = None
    ideas: Texts = ()
    result: str | None = None
    result_file: str | None = None
    created_at: UtcDatetime
    updated_at: UtcDatetime
    completed_at: UtcDatetime | None = None
    claude_session_id: str | None = None
    extra_fields: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def is_active(self) -> bool:
        """True if the task is Pending or Running, and so in HEARTBEAT.md once it is due."""
        return not self.status.is_finished

    @property
    def schedule(self) -> Schedule | None:
        """When it is due, and when again, if it has fields for that."""
        return None if self.extra_fields.keys().isdisjoint(SCHEDULE_FIELDS) else Schedule.of(self.extra_fields)

    @property
    def schedule_words(self) -> str:
        """Its schedule as people see it, such as ``every 4h``; empty for none."""
        return self.schedule.words if self.schedule else ""

    @property
    def starts(self) -> datetime | None:
        """The moment before which this Pending task is not in HEARTBEAT.md; None if it is there at any time."""
        return self.schedule.moment if self.schedule and self.status is HeartbeatStatus.PENDING else None

    @cached_property
    @override
    def columns(self) -> Columns:
        """The values that a store filters and orders tasks by; a task is updated when it is finished or imported.

        A Pending task that has a due time is in the order as if it had been created then.
        """
        finished_at = self.completed_at or self.updated_at
        if imported_at := self.extra_fields.get(IMPORTED):
            finished_at = max(finished_at, parse_moment(imported_at) or finished_at)
        return Columns(
            state=self.status.value,
            facet=ARCHIVED if (self.model_extra or {}).get(ARCHIVED) is True else "",
            created=microseconds(self.starts or self.created_at),
            updated=None if self.is_active else microseconds(finished_at),
        )


PREDEFINED_FIELDS: Final = tuple(HeartbeatTask.model_fields)
"""The names that no extra field may take (source: requirements 3.3)."""

ACTIVE: Final = (HeartbeatStatus.PENDING.value, HeartbeatStatus.RUNNING.value)
"""The states of tasks that are not finished."""

FINISHED: Final = (HeartbeatStatus.COMPLETE.value, HeartbeatStatus.FAIL.value)
"""The other states."""

KIND: Final = Kind(
    "heartbeat", HeartbeatTask, states=(*ACTIVE, *FINISHED), closed=frozenset(FINISHED), stamp="updated_at"
)
"""The kind of these tasks, for a store."""

SECTION: Final = "section"
"""The field of the document that holds the receipts of HEARTBEAT.md (HB-12)."""

STORE_ID: Final = "store_id"
"""The field of the document that distinguishes this store from every other one, wherever it is (HB-19)."""
