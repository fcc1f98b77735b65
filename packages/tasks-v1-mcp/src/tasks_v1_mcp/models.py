"""The task of this server, its enumerations, and the table of its states (source: spec 2 and 7)."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from operator import not_
from typing import Annotated, Final, Self

from pydantic import Field
from typing_extensions import override

from task_core.models import Columns, Record, UtcDatetime, microseconds
from task_core.store import Kind
from task_core.text import fold

__all__ = ["KIND", "TRANSITIONS", "Category", "Priority", "StoredTask", "TaskItem", "V1Status"]


class V1Status(StrEnum):
    """The status of a task."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    CANCELED = "canceled"


class Category(StrEnum):
    """The area of life that a task belongs to."""

    INVESTING = "investing"
    TECH = "tech"
    PARENTING = "parenting"
    PERSONAL = "personal"
    OTHER = "other"


class Priority(StrEnum):
    """The priority of a task; the integers 1, 2, 3 are accepted for low, medium, high."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def rank(self) -> int:
        """The integer for the priority: the higher, the more the task matters."""
        return [*Priority].index(self) + 1

    @classmethod
    @override
    def _missing_(cls, value: object) -> Self | None:
        # In Python, True equals 1, but nobody means low by it.
        return next((priority for priority in cls if type(value) is int and value == priority.rank), None)


TRANSITIONS: Final[Mapping[V1Status, tuple[V1Status, ...]]] = {
    V1Status.PENDING: (V1Status.IN_PROGRESS, V1Status.CANCELED),
    V1Status.IN_PROGRESS: (V1Status.DONE, V1Status.CANCELED),
    V1Status.DONE: (V1Status.CANCELED,),
    V1Status.CANCELED: (),
}
"""The statuses that may follow each status (V1-3); keeping a status is not a transition, and always allowed."""


_Optional: Final = Field(exclude_if=not_)


class TaskItem(Record):
    """A task as a list shows it: empty fields are left out; times are in UTC."""

    title: str
    description: Annotated[str | None, _Optional] = None
    category: Category = Category.OTHER
    status: V1Status = V1Status.PENDING
    priority: Priority = Priority.MEDIUM
    tags: Annotated[tuple[str, ...], _Optional] = ()
    topic_id: Annotated[str | None, _Optional] = None
    source: Annotated[str | None, _Optional] = None
    created_at: UtcDatetime
    updated_at: UtcDatetime


class StoredTask(TaskItem):
    """A task as the store keeps it and as it is shown on its own, with every field."""

    description: str | None = None
    tags: tuple[str, ...] = ()
    topic_id: str | None = None
    source: str | None = None

    @cached_property
    @override
    def columns(self) -> Columns:
        return Columns(
            state=self.status.value,
            facet=self.category.value,
            rank=self.priority.rank,
            created=microseconds(self.created_at),
            updated=microseconds(self.updated_at),
            topic=self.topic_id or "",
            tags=self.tags,
            text=lambda: fold("\n".join((self.title, self.description or "", *self.tags))),
        )


KIND: Final = Kind(
    "tasks-v1",
    StoredTask,
    states=tuple(status.value for status in V1Status),
    closed=frozenset({V1Status.DONE.value, V1Status.CANCELED.value}),
    stamp="updated_at",
)
"""The facts about these tasks that a store needs."""
