"""The task of this server: a frozen node of a tree, whose status follows from its leaves (source: R1, R3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cached_property
from typing import Annotated, Final

from pydantic import AliasPath, BeforeValidator, Field, JsonValue
from pydantic_core import to_json
from typing_extensions import Self, override

from task_core.fields import OneLine
from task_core.models import Record

__all__ = ["Status", "Task", "derived_status"]


class Status(str, Enum):
    """Where a task stands."""

    TODO = "todo"
    IN_PROGRESS = "in_progress"
    DONE = "done"


def derived_status(below: Iterable[Status]) -> Status:
    """Return the status of a task whose subtasks, one or more, stand as ``below`` says (R3.4, R3.16 to R3.18)."""
    found = set(below)
    if Status.IN_PROGRESS in found:
        return Status.IN_PROGRESS
    return Status.DONE if found == {Status.DONE} else Status.TODO


_WORDS: Final = {status.value: status for status in Status}


def _known_status(value: object) -> Status:
    """Return the status that a person meant; the codec says so where the word is not the one that was written."""
    return _WORDS.get(value.casefold(), Status.TODO) if isinstance(value, str) else Status.TODO


def _as_list(value: object) -> object:
    if value is None:
        return ()
    return [value] if isinstance(value, str) else value


_Texts = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
"""A list of texts; in a file a single text and null will do."""

_DERIVED: Final = ("status", "parents", "head_json")
"""What is worked out from the fields once and must not pass to a changed copy."""


class Task(Record):
    """One task with its subtasks; a change makes new nodes on the path to the root and shares all others.

    Compare tasks by identity: comparing deep trees by value takes a time that doubles with each level.
    """

    id: OneLine
    name: str
    description: str | None = None
    own_status: Annotated[Status, BeforeValidator(_known_status)] = Field(Status.TODO, alias="status")
    """What was last said of the task itself; it counts only while the task is a leaf."""
    completion_criteria: _Texts = ()
    constraints: _Texts = ()
    resolution: str | None = None
    tasks: tuple[Task, ...] = ()
    unread: tuple[JsonValue, ...] = Field((), validation_alias=AliasPath("id", 0))
    """What stands in a file among the subtasks and is no task, to be written back as it was.

    No field of a file sets it, whatever its name: the alias is an item of the id, and a valid id has none.
    """

    @cached_property
    def status(self) -> Status:
        """Where the task stands: a leaf as it says, a parent as its subtasks do."""
        return derived_status(task.status for task in self.tasks) if self.tasks else self.own_status

    @property
    def is_done(self) -> bool:
        """Whether the task is done."""
        return self.status is Status.DONE

    @cached_property
    def parents(self) -> Mapping[str, str]:
        """The id of the parent of every task below this one, by the id of that task."""
        found: dict[str, str] = {}
        nodes: list[Task] = [self]
        for node in nodes:
            found.update(dict.fromkeys([task.id for task in node.tasks], node.id))
            nodes.extend(task for task in node.tasks if task.tasks)
        return found

    @cached_property
    def head_json(self) -> bytes:
        """The task as compact JSON in UTF-8 on one line, unknown fields too, up to its list of subtasks (ST-1, L2)."""
        fields = {**self.own_fields(), **(self.model_extra or {})}
        # NaN is no JSON: written as null, so that no line with it reads as one that this server wrote.
        return to_json(fields, inf_nan_mode="null")[:-1] + b',"tasks":['

    def own_fields(self) -> dict[str, JsonValue]:
        """Return the fields of the task, its subtasks left out."""
        return {
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "status": self.status.value,
            "completion_criteria": list(self.completion_criteria),
            "constraints": list(self.constraints),
            "resolution": self.resolution,
        }

    @override
    def changed(self, **changes: object) -> Self:
        """Return a copy with ``changes``, which the caller has validated."""
        copy = super().changed(**changes)
        for name in _DERIVED:
            copy.__dict__.pop(name, None)
        return copy

    def with_tasks(self, tasks: tuple[Task, ...]) -> Self:
        """Return the task with these subtasks; one that loses its last is a leaf again, done or else todo (HI-4)."""
        if tasks or not self.tasks:
            return self.changed(tasks=tasks)
        return self.changed(tasks=(), own_status=Status.DONE if self.is_done else Status.TODO)
