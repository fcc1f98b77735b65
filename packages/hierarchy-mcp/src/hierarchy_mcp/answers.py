"""The results of the tools, and how tasks are shown in them (HI-1 to HI-6, TOOL-9)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema
from pydantic.config import JsonDict

from hierarchy_mcp.models import MAX_LEVELS, HierarchyTask
from task_core.bounds import size_of
from task_core.store import Collection

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
    "add_levels",
    "collect_criteria",
    "count_below",
    "render_alone",
    "render_counted",
    "render_tree",
]

_MAX_SHOWN: Final = 200
"""Tasks in an answer that shows them with their subtasks (HI-3)."""

_MAX_BYTES: Final = 30_000
"""Maximum bytes of JSON for those tasks, unless the requested task alone has more (HI-3)."""

_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_MAYBE_TEXT: Final = {"anyOf": [{"type": "string"}, {"type": "null"}]}

_JsonObject = dict[str, JsonValue]

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
"""A task as JSON with its subtasks or their count, made by ``render_tree``."""

TaskAlone = Annotated[object, WithJsonSchema({"type": "object"})]
"""A task as JSON with the count of its subtasks, made by ``render_counted``."""

_Message = Annotated[str, Field(exclude_if=lambda text: not text)]


class TreeAnswer(BaseModel):
    """One task with its subtasks, and what else the call did."""

    task: TaskShown
    message: _Message = ""


class ListedTasks(BaseModel):
    """The tasks that were asked for, in order, and how many come after them."""

    tasks: list[TaskShown]
    left_out: Annotated[int, Field(exclude_if=lambda count: not count)] = 0


class DeletedTask(BaseModel):
    """What was deleted, and how many tasks were deleted in all."""

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
    """The constraints and criteria of a task, its ancestors' first."""

    completion_criteria: list[str]
    constraints: list[str]


class StartedTask(BaseModel):
    """What a start did, and what holds for the task to work on now."""

    task: TaskAlone
    active_task: Annotated[ActiveTask, WithJsonSchema({"type": "object"})]
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
    """The progress of all work; percentages are whole and rounded down."""

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
    next_task_id: _Message = ""
    message: str
    auto_completed_parents: list[TaskEntry]
    progress_summary: ProgressSummary


def render_tree(tasks: Collection[HierarchyTask], task: HierarchyTask) -> _JsonObject:
    """Return the task as JSON with its subtasks, as many whole levels as fit an answer (TOOL-9)."""
    return add_levels(tasks, [render_alone(task)], None)[0]


def render_counted(tasks: Collection[HierarchyTask], task: HierarchyTask) -> _JsonObject:
    """Return the task as JSON with the count of its subtasks."""
    return add_levels(tasks, [render_alone(task)], 0)[0]


def add_levels(tasks: Collection[HierarchyTask], found: list[_JsonObject], depth: int | None) -> list[_JsonObject]:
    """Give the tasks that ``render_alone`` made ``depth`` levels of subtasks, all by default, as far as they fit.

    If a level is left out, ``subtask_count`` replaces ``tasks``.
    """
    level = found
    count, size = len(level), sum(map(size_of, level))
    for _ in range(MAX_LEVELS if depth is None else min(depth, MAX_LEVELS)):
        numbers = count_below(tasks, level)
        count += sum(numbers)
        if not level or count > _MAX_SHOWN:
            break
        below = [
            [render_alone(child) for child in tasks.children(str(task["id"]))] if number else []
            for task, number in zip(level, numbers, strict=True)
        ]
        size += sum(map(size_of, chain.from_iterable(below)))
        if size > _MAX_BYTES:
            break
        for task, children in zip(level, below, strict=True):
            task["tasks"] = [*children]
        level = [*chain.from_iterable(below)]
    for task, number in zip(level, count_below(tasks, level), strict=True):
        task["subtask_count"] = number
    return found


def count_below(tasks: Collection[HierarchyTask], level: Sequence[Mapping[str, JsonValue]]) -> list[int]:
    """Return how many subtasks each of the shown tasks of ``level`` has, whatever their status."""
    states = tasks.child_states_of([str(task["id"]) for task in level])
    return [sum(of_one.values()) for of_one in states.values()]


def collect_criteria(path: Iterable[HierarchyTask]) -> Criteria:
    """Return the criteria and constraints of all tasks on ``path``, outermost first (R3.2)."""
    tasks = list(path)
    return Criteria(
        completion_criteria=[text for task in tasks for text in task.completion_criteria],
        constraints=[text for task in tasks for text in task.constraints],
    )


def render_alone(task: HierarchyTask) -> _JsonObject:
    """Return the task as JSON without its subtasks."""
    return {
        "id": task.id,
        "name": task.name,
        "description": task.description,
        "status": task.status.value,
        "completion_criteria": [*task.completion_criteria],
        "constraints": [*task.constraints],
        "resolution": task.resolution,
    }
