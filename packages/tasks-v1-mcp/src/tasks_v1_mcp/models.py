"""The task of this server, its enumerations, and the table of its states (source: spec 2 and 7)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Annotated, Final, NamedTuple

from pydantic import Field, PlainSerializer
from typing_extensions import override

from task_core.models import Record, UtcDatetime, format_timestamp

__all__ = ["TRAIL_LENGTH", "TRANSITIONS", "Category", "Place", "Priority", "Status", "StoredTask", "Task", "TaskItem"]

TRAIL_LENGTH: Final = 16
"""Earlier places that a task remembers: how often it may change while somebody pages through a list."""


class Status(str, Enum):
    """Where a task stands."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    CANCELED = "canceled"


class Category(str, Enum):
    """What a task belongs to."""

    INVESTING = "investing"
    TECH = "tech"
    PARENTING = "parenting"
    PERSONAL = "personal"
    OTHER = "other"


class Priority(str, Enum):
    """How much a task matters; the integers 1, 2, 3 are taken as low, medium, high."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def rank(self) -> int:
        """The integer that stands for the priority too: the higher, the more it matters."""
        return _RANKS[self]

    @classmethod
    @override
    def _missing_(cls, value: object) -> Priority | None:
        # To Python true is 1, but nobody means low by it.
        return next((priority for priority in cls if type(value) is int and value == priority.rank), None)


_RANKS: Final = {Priority.LOW: 1, Priority.MEDIUM: 2, Priority.HIGH: 3}

TRANSITIONS: Final[Mapping[Status, tuple[Status, ...]]] = {
    Status.PENDING: (Status.IN_PROGRESS, Status.CANCELED),
    Status.IN_PROGRESS: (Status.DONE, Status.CANCELED),
    Status.DONE: (Status.CANCELED,),
    Status.CANCELED: (),
}
"""Where a task may go from each status (V1-3); to stay where it is is no transition, and always allowed."""


def _holds_nothing(value: object) -> bool:
    return not value


_Optional: Final = Field(exclude_if=_holds_nothing)


class TaskItem(Record):
    """A task as a list shows it: a field that holds nothing is left out; times are in UTC."""

    title: str
    description: Annotated[str | None, _Optional] = None
    category: Category = Category.OTHER
    status: Status = Status.PENDING
    priority: Priority = Priority.MEDIUM
    tags: Annotated[tuple[str, ...], _Optional] = ()
    topic_id: Annotated[str | None, _Optional] = None
    source: Annotated[str | None, _Optional] = None
    created_at: UtcDatetime
    updated_at: UtcDatetime


class Task(TaskItem):
    """A task as it is shown alone, with every field."""

    description: str | None = None
    tags: tuple[str, ...] = ()
    topic_id: str | None = None
    source: str | None = None


class Place(NamedTuple):
    """What the orders of a list look at, as it was from a moment on until the next change of the task."""

    since: UtcDatetime
    priority: Priority


def _written(trail: tuple[Place, ...]) -> list[tuple[str, str]]:
    # Before 2.14 pydantic does not ask the serializers of what a named tuple holds.
    return [(format_timestamp(place.since), place.priority.value) for place in trail]


class StoredTask(Task):
    """A task as the store keeps it: with its earlier places, oldest first, by which a list finds it again."""

    trail: Annotated[tuple[Place, ...], _Optional, PlainSerializer(_written, when_used="json")] = ()

    def place_at(self, moment: datetime) -> Place:
        """Return the place that the task had at ``moment``, or its oldest known one when it came later."""
        present = Place(self.updated_at, self.priority)
        if not self.trail or present.since <= moment:
            return present
        return next((place for place in reversed(self.trail) if place.since <= moment), self.trail[0])
