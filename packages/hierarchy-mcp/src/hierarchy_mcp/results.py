"""The results of the tools (HI-1 to HI-6)."""

from collections.abc import Sequence
from operator import not_
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from hierarchy_mcp.models import HierarchyTask

__all__ = [
    "ActiveTask",
    "Criteria",
    "DeletedTask",
    "ListedTasks",
    "ParentEntry",
    "ProgressSummary",
    "StartedTask",
    "TaskAlone",
    "TaskEntry",
    "TaskShown",
    "TaskState",
    "TaskStep",
    "TreeAnswer",
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
                "status": {"type": "string", "enum": ["todo", "in_progress", "done"]},
                "completion_criteria": _TEXTS,
                "constraints": _TEXTS,
                "resolution": _MAYBE_TEXT,
                "tasks": {"type": "array"},
                "subtask_count": {"type": "integer"},
            },
        }
    ),
]
"""A task as JSON with its subtasks or their count, made by ``render_tree``."""

TaskAlone = Annotated[object, WithJsonSchema({"type": "object"})]
"""A task as JSON with the count of its subtasks, made by ``render_counted``."""

_Message = Annotated[str, Field(exclude_if=not_)]


class TreeAnswer(BaseModel):
    """One task with its subtasks, and what else the call did."""

    task: TaskShown
    message: _Message = ""


class ListedTasks(BaseModel):
    """The tasks that were asked for, in order, and how many come after them."""

    tasks: list[TaskShown]
    left_out: Annotated[int, Field(exclude_if=not_)] = 0


class DeletedTask(BaseModel):
    """The deleted task's id, and the number of tasks deleted with it."""

    id: str
    deleted: int


def _without_required(schema: JsonDict) -> None:
    del schema["required"]


class _Part(BaseModel):
    """A part of a result; its fields are always present; the schema does not say so, to stay small (TOOL-4)."""

    model_config = ConfigDict(json_schema_extra=_without_required)


class TaskEntry(_Part):
    """A task by its id and name."""

    id: str
    name: str

    @classmethod
    def of(cls, task: HierarchyTask) -> Self:
        """Return the entry for ``task``."""
        return cls.model_validate(task, from_attributes=True)


class TaskState(TaskEntry):
    """A task by its id and name, and its status."""

    status: str


class ActiveTask(TaskEntry):
    """The task to work on, with its criteria and constraints."""

    description: str | None
    completion_criteria: list[str]
    constraints: list[str]


class Criteria(_Part):
    """The constraints and criteria of a task, its ancestors' first (R3.2)."""

    completion_criteria: list[str]
    constraints: list[str]

    @classmethod
    def of(cls, path: Sequence[HierarchyTask]) -> Self:
        """Return what holds for the last task of ``path``, which begins with a root."""
        return cls(
            completion_criteria=[text for task in path for text in task.completion_criteria],
            constraints=[text for task in path for text in task.constraints],
        )


class StartedTask(BaseModel):
    """The changes that a start made, and the criteria of the task to work on now."""

    task: TaskAlone
    active_task: Annotated[ActiveTask, WithJsonSchema({"type": "object"})]
    started_tasks: list[TaskState]
    message: str
    aggregated_criteria: Criteria
    hierarchy_summary: str


class ParentEntry(TaskEntry):
    """The progress of a parent: how many of its direct subtasks are done."""

    completed_subtasks: int
    remaining_subtasks: int
    completion_percentage: int


class ProgressSummary(_Part):
    """The progress of all work; percentages are whole and rounded down."""

    table: str
    total_tasks: int
    completed_tasks: int
    in_progress_tasks: int
    todo_tasks: int
    completion_percentage: int
    parents: Annotated[list[ParentEntry], WithJsonSchema({"type": "array"})]


class TaskStep(BaseModel):
    """The changes that a completion made, and the task that comes next, with its criteria if the call started it."""

    task: TaskAlone
    next_task_id: _Message = ""
    message: str
    auto_completed_parents: list[TaskEntry]
    progress_summary: ProgressSummary
    active_task: Annotated[ActiveTask | None, WithJsonSchema({"type": "object"}), Field(exclude_if=not_)] = None
    aggregated_criteria: Annotated[Criteria | None, WithJsonSchema({"type": "object"}), Field(exclude_if=not_)] = None
