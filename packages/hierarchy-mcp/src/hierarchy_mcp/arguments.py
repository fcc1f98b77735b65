"""The arguments of the tools: what is accepted, with which bounds (TOOL-2, TOOL-3, HI-1 to HI-6)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from typing_extensions import override

from hierarchy_mcp.models import Status
from task_core.fields import Arguments, LongText, OneLine, TextList, decoded_object
from task_core.rules import Line, Rule, Text, json_in, refused, well_formed
from task_core.strict_json import NotJson

__all__ = [
    "CompleteTask",
    "CreateTask",
    "DeleteTask",
    "GetTask",
    "ListTasks",
    "NewTask",
    "StartTask",
    "UpdateTask",
]

_MAX_SUBTASKS: Final = 10_000
"""Subtasks of one task in one call: more than a request of 8 MiB is likely to hold."""

_ID: Final = r"^[A-Za-z0-9._-]{1,64}$"
"""The form of an id that a caller chooses."""


@dataclass(frozen=True, slots=True)
class _ChosenId(Rule):
    """An id that the caller gives to a new task."""

    @override
    def check(self, value: object) -> str:
        """Return ``value`` unchanged when it has the form of an id."""
        chosen = well_formed(value)
        if not re.fullmatch(_ID, chosen) or chosen.endswith("\n"):
            raise refused("Give 1 to 64 letters, digits, '.', '_' or '-', or leave it out.")
        return chosen

    @override
    def schema(self) -> JsonSchemaValue:
        """Return a string schema with the pattern."""
        return {"type": "string", "pattern": _ID}


class _Resolution(Text):
    """What came of a task, which is never blank."""

    @override
    def check(self, value: object) -> str:
        """Return ``value`` unchanged when it is text that says something."""
        resolution = super().check(value)
        if not resolution.strip():
            raise refused("Say how the task was resolved; it must not be blank.")
        return resolution


def _subtasks(value: object) -> object:
    items = _subtasks_in(value) if isinstance(value, str) else value
    if items is None:
        return None
    if not isinstance(items, (list, tuple)):
        raise refused("Give a list of tasks.")
    if len(items) > _MAX_SUBTASKS:
        raise refused(f"Give at most {_MAX_SUBTASKS:,} subtasks at a time; there are {len(items):,}.")
    return tuple(items)


def _subtasks_in(text: str) -> object:
    try:
        return json_in(well_formed(text))
    except NotJson as error:
        raise refused(f"Give a JSON list of tasks; this text is not JSON: {error}.") from None


def _status(value: object) -> object:
    try:
        return Status(value)
    except ValueError:
        raise refused("Give 'todo'; a task becomes in_progress by startTask and done by completeTask.") from None


class NewTask(Arguments):
    """A task to be created, with the subtasks that are created together with it (R6.3, R6.4)."""

    name: Annotated[OneLine, Field(description="One line")]
    description: Annotated[LongText | None, Field(description="Details")] = None
    completion_criteria: Annotated[TextList | None, Field(description="Required outcomes")] = None
    constraints: Annotated[TextList | None, Field(description="Limits")] = None
    tasks: Annotated[
        tuple[Annotated[NewTask, BeforeValidator(decoded_object)], ...] | None,
        BeforeValidator(_subtasks),
        Field(description="Subtasks", json_schema_extra={"maxItems": _MAX_SUBTASKS}),
    ] = None
    id: Annotated[Annotated[str, _ChosenId()] | None, Field(description="Default: a new one")] = None


class CreateTask(NewTask):
    """Arguments of ``createTask``."""

    parent_id: Annotated[OneLine | None, Field(alias="parentId", description="Parent; a root task when left out")] = (
        None
    )
    insert_index: Annotated[
        int | None, Field(alias="insertIndex", ge=0, description="Place among the siblings, from 0; last when left out")
    ] = None


class GetTask(Arguments):
    """Arguments of ``getTask``."""

    id: Annotated[OneLine, Field(description="Id")]


class ListTasks(Arguments):
    """Arguments of ``listTasks``."""

    parent_id: Annotated[OneLine | None, Field(alias="parentId", description="Only its subtasks")] = None
    depth: Annotated[
        int | None, Field(ge=0, description="Levels of subtasks shown; 0 only counts them; all when left out")
    ] = None


class UpdateTask(Arguments):
    """Arguments of ``updateTask``."""

    id: Annotated[OneLine, Field(description="Id")]
    name: Annotated[str | None, Line(), Field(description="Name")] = None
    description: Annotated[LongText | None, Field(description="Details")] = None
    completion_criteria: Annotated[TextList | None, Field(description="Outcomes")] = None
    constraints: Annotated[TextList | None, Field(description="Limits")] = None
    resolution: Annotated[LongText | None, Field(description="Result")] = None
    status: Annotated[
        Status | None,
        BeforeValidator(_status),
        WithJsonSchema({"const": "todo"}),
        Field(description="Reopens the task, or every leaf below a parent"),
    ] = None

    @property
    def given(self) -> dict[str, object]:
        """The new values by name of the field, a cleared list as an empty one; ``status`` is not among them."""
        names = [name for name in type(self).model_fields if name in self.model_fields_set - {"id", "status"}]
        lists = {"completion_criteria", "constraints"}
        return {name: () if (value := getattr(self, name)) is None and name in lists else value for name in names}


class DeleteTask(Arguments):
    """Arguments of ``deleteTask``."""

    id: Annotated[OneLine, Field(description="Id")]


class StartTask(Arguments):
    """Arguments of ``startTask``."""

    id: Annotated[OneLine, Field(description="Id")]


class CompleteTask(Arguments):
    """Arguments of ``completeTask``."""

    id: Annotated[OneLine, Field(description="Id of a leaf")]
    resolution: Annotated[str, _Resolution(), Field(description="What was done")]
