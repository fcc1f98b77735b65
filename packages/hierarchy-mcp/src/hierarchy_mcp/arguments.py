"""The tools' arguments with their bounds (TOOL-2, TOOL-3, HI-1 to HI-6)."""

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema

from hierarchy_mcp.models import HierarchyStatus
from task_core.fields import (
    MAX_LINE,
    Arguments,
    AsInteger,
    Clearable,
    LongText,
    OneLine,
    TextList,
    at_most,
    check_well_formed,
    decode_object,
    invalid_value,
    line,
    match_word,
    text,
)

__all__ = [
    "CompleteTask",
    "CreateTask",
    "GetTask",
    "ListTasks",
    "NewTask",
    "StartTask",
    "UpdateTask",
    "is_id",
]

_MAX_SUBTASKS: Final = 10_000
"""Subtasks of one task in one call: more than a request of 4 MiB is likely to hold."""

_ID: Final = r"^[A-Za-z0-9._-]{1,64}$"
"""The form of an id that a caller chooses."""


def is_id(text: str) -> bool:
    """Return whether ``text`` has the form of an id that a caller may choose."""
    return bool(re.fullmatch(_ID, text)) and not text.endswith("\n")


def _check_new_id(value: object) -> str:
    chosen = check_well_formed(value)
    if not is_id(chosen):
        raise invalid_value("Give 1 to 64 letters, digits, '.', '_' or '-', or leave it out.")
    return chosen


def _resolution(value: object) -> str:
    resolution = text(value)
    if not resolution.strip():
        raise invalid_value("Say how the task was resolved; it must not be blank.")
    return resolution


def _subtasks(value: object) -> object:
    items = decode_object(value, "list of tasks")
    if items is None:
        return None
    if not isinstance(items, (list, tuple)):
        raise invalid_value("Give a list of tasks.")
    if len(items) > _MAX_SUBTASKS:
        raise invalid_value(f"Give at most {_MAX_SUBTASKS:,} subtasks at a time; there are {len(items):,}.")
    return tuple(items)


def _status(value: object) -> object:
    if found := match_word(value, [status.value for status in HierarchyStatus]):
        return HierarchyStatus(found)
    raise invalid_value("Give 'todo'; call startTask for in_progress and completeTask for done.")


def _check_optional_id(value: object) -> str:
    return "" if value == "" else line(value)


_MaybeId = Annotated[str, PlainValidator(_check_optional_id), WithJsonSchema({"type": "string", "maxLength": MAX_LINE})]
"""An id; an empty one counts as not given."""

_ChosenId = Annotated[str, PlainValidator(_check_new_id), WithJsonSchema({"type": "string", "pattern": _ID})]
"""An id that the caller gives to a new task."""


class NewTask(Arguments):
    """A task to be created, with the subtasks that are created together with it (R6.3, R6.4)."""

    name: Annotated[OneLine, Field(description="One line")]
    description: Annotated[LongText | None, Field(description="Details")] = None
    completion_criteria: Annotated[TextList | None, Field(description="Required outcomes")] = None
    constraints: Annotated[TextList | None, Field(description="Limits")] = None
    tasks: Annotated[
        tuple[Annotated["NewTask", BeforeValidator(decode_object)], ...] | None,
        BeforeValidator(_subtasks),
        Field(description="Subtasks, with the same fields", json_schema_extra={"maxItems": _MAX_SUBTASKS}),
    ] = None
    id: Annotated[_ChosenId | None, Field(description="Default: generated")] = None


class CreateTask(NewTask):
    """Arguments of ``createTask``."""

    parent_id: Annotated[_MaybeId | None, Field(alias="parentId", description="Parent; default none: a root task")] = (
        None
    )
    insert_index: Annotated[
        int | None,
        Field(alias="insertIndex", ge=0, description="Position among siblings, from 0; default last"),
        AsInteger,
    ] = None


class GetTask(Arguments):
    """Arguments of ``getTask`` and ``deleteTask``."""

    id: Annotated[OneLine, Field(description="Id")]


class ListTasks(Arguments):
    """Arguments of ``listTasks``."""

    parent_id: Annotated[
        _MaybeId | None, Field(alias="parentId", description="List its subtasks; default the roots")
    ] = None
    depth: Annotated[
        int | None,
        Field(ge=0, description="Levels of subtasks to show; 0 only counts them; default all"),
        AsInteger,
    ] = None
    limit: Annotated[int, Field(ge=1, le=100, description="Page size"), AsInteger] = 100
    after: Annotated[_MaybeId | None, Field(description="Continue after this id")] = None


class UpdateTask(GetTask):
    """Arguments of ``updateTask``."""

    parent_id: Annotated[
        _MaybeId | None, Clearable, Field(alias="parentId", description="New parent; null makes it a root")
    ] = None
    insert_index: Annotated[int | None, Field(alias="insertIndex", ge=0, description="New position"), AsInteger] = None
    name: Annotated[str | None, *at_most(MAX_LINE, line), Field(description="Name")] = None
    description: Annotated[LongText | None, Clearable, Field(description="Details")] = None
    completion_criteria: Annotated[TextList | None, Clearable, Field(description="Outcomes")] = None
    constraints: Annotated[TextList | None, Clearable, Field(description="Limits")] = None
    resolution: Annotated[LongText | None, Clearable, Field(description="Result")] = None
    status: Annotated[
        HierarchyStatus | None,
        BeforeValidator(_status),
        WithJsonSchema({"type": "string", "enum": [HierarchyStatus.TODO.value]}),
        Field(description="Reopen; resolutions stay until completeTask"),
    ] = None

    @property
    def values(self) -> dict[str, object]:
        """The new values by field name, a cleared list as an empty one; without place and status."""
        lists = {"completion_criteria", "constraints"}
        values = {name: () if value is None and name in lists else value for name, value in self.given.items()}
        return {name: values[name] for name in values if name not in {"id", "parent_id", "insert_index", "status"}}

    @property
    def keeps_parent(self) -> bool:
        """True if the task stays below its parent; an empty id counts as not given."""
        return "parent_id" not in self.model_fields_set or self.parent_id == ""

    @property
    def is_move(self) -> bool:
        """True if the call asks for another place."""
        return not self.keeps_parent or self.insert_index is not None


class StartTask(GetTask):
    """Arguments of ``startTask``."""

    table: Annotated[bool | None, Field(description="Show all tasks")] = None


class CompleteTask(Arguments):
    """Arguments of ``completeTask``."""

    id: Annotated[OneLine, Field(description="Id of a leaf")]
    resolution: Annotated[LongText, BeforeValidator(_resolution), Field(description="What was done")]
    start_next: Annotated[bool | None, Field(description="Start the next")] = None
    table: Annotated[bool | None, Field(description="Show all tasks")] = None
