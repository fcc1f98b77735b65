"""The results of the tools, and how tasks are shown in them: each task once (HI-1 to HI-7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema
from pydantic.config import JsonDict
from typing_extensions import override

from hierarchy_mcp.models import Task
from hierarchy_mcp.summary import counts, parent_progress, per_cent, table
from hierarchy_mcp.tree import MAX_LEVELS, Forest, fold

__all__ = [
    "CreatedTask",
    "Criteria",
    "DeletedTask",
    "ParentEntry",
    "ProgressSummary",
    "StartedTask",
    "TaskAlone",
    "TaskAnswer",
    "TaskEntry",
    "TaskPage",
    "TaskShown",
    "TaskState",
    "TaskStep",
    "criteria_of",
    "progress_of",
    "shown",
]

_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_MAYBE_TEXT: Final = {"anyOf": [{"type": "string"}, {"type": "null"}]}

TaskShown = Annotated[
    object,
    # Subtasks are not described again: a client that checks results level by level would run out of stack.
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "name": {"type": "string"},
                "description": _MAYBE_TEXT,
                "status": {"enum": ["todo", "in_progress", "done"]},
                "completion_criteria": _TEXTS,
                "constraints": _TEXTS,
                "resolution": _MAYBE_TEXT,
                "tasks": {"type": "array"},
                "subtask_count": {"type": "integer"},
            },
        }
    ),
]
"""A task as JSON with its subtasks or their count, made by ``shown``."""

TaskAlone = Annotated[object, WithJsonSchema({"type": "object"})]
"""A task as JSON with the count of its subtasks, made by ``shown``; a summary beside it has them all (HI-7)."""


class TaskAnswer(BaseModel):
    """One task with all its subtasks."""

    task: TaskShown


class CreatedTask(BaseModel):
    """The task that was created with all its subtasks; for a root task also what to do next (R1.5)."""

    task: TaskShown
    message: Annotated[str, Field(exclude_if=lambda text: not text)] = ""


class TaskPage(BaseModel):
    """The tasks that were asked for, in order."""

    tasks: list[TaskShown]


class DeletedTask(BaseModel):
    """What was deleted, and how many tasks that were in all."""

    id: str
    deleted: int


def _without_required(schema: JsonDict) -> None:
    del schema["required"]


class _Part(BaseModel):
    """A part of a result; its fields are always there, which its schema leaves out to stay small (TOOL-4)."""

    model_config = ConfigDict(json_schema_extra=_without_required)


class TaskEntry(_Part):
    """A task by its id and name."""

    id: str
    name: str

    @classmethod
    def of(cls, task: Task) -> TaskEntry:
        """Return the entry for ``task``."""
        return cls(id=task.id, name=task.name)


class TaskState(TaskEntry):
    """A task by its id and name, and where it stands."""

    status: str

    @classmethod
    @override
    def of(cls, task: Task) -> TaskState:
        """Return the entry for ``task``."""
        return cls(id=task.id, name=task.name, status=task.status.value)


class Criteria(_Part):
    """What holds for a task and what it must meet, that of its ancestors first."""

    completion_criteria: list[str]
    constraints: list[str]


class StartedTask(BaseModel):
    """What a start did, and what holds for the task to work on now."""

    task: TaskAlone
    active_task: TaskEntry
    started_tasks: list[TaskState]
    message: str
    aggregated_criteria: Criteria
    hierarchy_summary: str


class ParentEntry(TaskEntry):
    """How many of its direct subtasks a parent has done."""

    completed_subtasks: int
    remaining_subtasks: int
    completion_percentage: int


class ProgressSummary(_Part):
    """How far all work has come; percentages are whole and rounded down."""

    table: str
    total_tasks: int
    completed_tasks: int
    in_progress_tasks: int
    todo_tasks: int
    completion_percentage: int
    parents: Annotated[list[ParentEntry], WithJsonSchema({"type": "array"})]


class TaskStep(BaseModel):
    """What a completion did, and what comes next."""

    task: TaskAlone
    next_task_id: Annotated[str, Field(exclude_if=lambda task_id: not task_id)] = ""
    message: str
    auto_completed_parents: list[TaskEntry]
    progress_summary: ProgressSummary


def shown(task: Task, depth: int | None = None) -> dict[str, JsonValue]:
    """Return the task as JSON, with ``depth`` levels of subtasks, all by default; below that they are counted."""
    return fold((task, MAX_LEVELS if depth is None else depth), _below, _shown)


def criteria_of(path: Iterable[Task]) -> Criteria:
    """Return the criteria and constraints of all tasks on ``path``, outermost first (R3.2)."""
    tasks = list(path)
    return Criteria(
        completion_criteria=[text for task in tasks for text in task.completion_criteria],
        constraints=[text for task in tasks for text in task.constraints],
    )


def progress_of(forest: Forest, changed: set[str]) -> ProgressSummary:
    """Return the table and the counts of all tasks; ``changed`` holds the ids that this call gave another status."""
    found = counts(forest.roots)
    return ProgressSummary(
        table=table(forest.roots, changed),
        total_tasks=found.total,
        completed_tasks=found.done,
        in_progress_tasks=found.in_progress,
        todo_tasks=found.todo,
        completion_percentage=per_cent(found.done, found.total),
        parents=[
            ParentEntry(
                id=parent.task.id,
                name=parent.task.name,
                completed_subtasks=parent.done,
                remaining_subtasks=parent.total - parent.done,
                completion_percentage=per_cent(parent.done, parent.total),
            )
            for parent in parent_progress(forest.roots)
        ],
    )


def _below(node: tuple[Task, int]) -> Sequence[tuple[Task, int]]:
    task, depth = node
    return [(child, depth - 1) for child in task.tasks] if depth else []


def _shown(node: tuple[Task, int], below: tuple[dict[str, JsonValue], ...]) -> dict[str, JsonValue]:
    task, depth = node
    fields = task.own_fields()
    if depth:
        fields["tasks"] = [*below]
    else:
        fields["subtask_count"] = len(task.tasks)
    return fields
