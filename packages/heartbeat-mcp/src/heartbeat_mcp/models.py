"""The task of this server and its statuses (source: requirements 3.2)."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, JsonValue

from task_core.models import Record, UtcDatetime

__all__ = ["PREDEFINED_FIELDS", "Status", "Task"]


class Status(str, Enum):
    """Where a task stands; written as here, matched without regard to case."""

    PENDING = "Pending"
    RUNNING = "Running"
    COMPLETE = "Complete"
    FAIL = "Fail"

    @property
    def is_finished(self) -> bool:
        """Whether work on the task has ended, well or badly."""
        return self in (Status.COMPLETE, Status.FAIL)

    @classmethod
    def _missing_(cls, value: object) -> Status | None:
        wanted = value.casefold() if isinstance(value, str) else None
        return next((status for status in cls if status.value.casefold() == wanted), None)


def _as_list(value: object) -> object:
    if value is None:
        return []
    return [value] if isinstance(value, str) else value


class Task(Record):
    """One entry of the to-do list; times are in UTC."""

    status: Status = Status.PENDING
    raw_user_request: str
    raw_reference: str | None = None
    ideas: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = ()
    result: str | None = None
    result_file: str | None = None
    created_at: UtcDatetime
    updated_at: UtcDatetime
    completed_at: UtcDatetime | None = None
    claude_session_id: str | None = None
    extra_fields: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def is_active(self) -> bool:
        """Whether the task still stands in HEARTBEAT.md: it is Pending or Running."""
        return not self.status.is_finished


PREDEFINED_FIELDS: Final = tuple(Task.model_fields)
"""The names that no extra field may take (source: requirements 3.3)."""
