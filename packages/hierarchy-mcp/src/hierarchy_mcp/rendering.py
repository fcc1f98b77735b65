"""Tasks as JSON, with as many levels of subtasks as fit an answer (HI-1 to HI-6, TOOL-9)."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from pydantic import JsonValue

from hierarchy_mcp.models import MAX_LEVELS, HierarchyTask
from task_core.bounds import size_of
from task_core.store import Collection

__all__ = ["add_levels", "count_below", "render_alone", "render_counted", "render_tree"]

_MAX_SHOWN: Final = 200
"""Tasks in an answer that shows them with their subtasks (HI-3)."""

_MAX_BYTES: Final = 30_000
"""Maximum bytes of JSON for those tasks, unless the requested task alone has more (HI-3)."""

_JsonObject = dict[str, JsonValue]


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
