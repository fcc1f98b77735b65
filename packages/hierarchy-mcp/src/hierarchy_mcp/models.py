"""The task of this server: a record in a tree, whose status follows from its leaves (source: R1, R3)."""

from collections.abc import Collection
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Final

from pydantic import BeforeValidator
from typing_extensions import override

from task_core.fields import OneLine
from task_core.models import Columns, Record, Texts
from task_core.store import Kind

__all__ = ["KIND", "MAX_LEVELS", "HierarchyStatus", "HierarchyTask", "derive_status"]

MAX_LEVELS: Final = 90
"""Levels of a tree, its root the first: JSON readers stop near 200 nestings, and each level takes two."""


class HierarchyStatus(StrEnum):
    """The status of a task."""

    TODO = "todo"
    IN_PROGRESS = "in_progress"
    DONE = "done"


def derive_status(below: Collection[str]) -> HierarchyStatus:
    """Return the status of a task whose subtasks, one or more, have the states ``below`` (R3.4, R3.16 to R3.18)."""
    if HierarchyStatus.IN_PROGRESS in below:
        return HierarchyStatus.IN_PROGRESS
    return HierarchyStatus.DONE if set(below) == {HierarchyStatus.DONE} else HierarchyStatus.TODO


def _to_lower_case(value: object) -> object:
    return value.casefold() if isinstance(value, str) else value


class HierarchyTask(Record):
    """One task without its subtasks, which the store keeps below it."""

    id: OneLine
    name: str
    description: str | None = None
    status: Annotated[HierarchyStatus, BeforeValidator(_to_lower_case)] = HierarchyStatus.TODO
    """For a task with subtasks, the status that follows from theirs."""
    completion_criteria: Texts = ()
    constraints: Texts = ()
    resolution: str | None = None

    @cached_property
    @override
    def columns(self) -> Columns:
        return Columns(state=self.status.value)

    @property
    def is_done(self) -> bool:
        """True if the task is done."""
        return self.status is HierarchyStatus.DONE


KIND: Final = Kind(
    "hierarchy",
    HierarchyTask,
    states=tuple(status.value for status in HierarchyStatus),
    closed=frozenset({HierarchyStatus.DONE.value}),
    is_tree=True,
)
"""The facts about these tasks that a store needs."""
