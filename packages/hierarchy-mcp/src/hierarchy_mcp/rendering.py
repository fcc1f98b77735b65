"""Tasks as JSON, with as many levels of subtasks as fit an answer (HI-1 to HI-6, TOOL-9)."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from pydantic import JsonValue

from hierarchy_mcp.models import MAX_LEVELS, HierarchyTask
from task_core.bounds import MAX_PAGE, size_of, take_fitting
from task_core.server.overview import MAX_LISTED, MAX_TEXT, JsonObject, render_list
from task_core.store import ROOTS, Collection
from task_core.text import shorten

__all__ = ["add_levels", "render_alone", "render_counted", "render_tree", "short_trees"]

_MAX_SHOWN: Final = 200
"""Tasks in an answer that shows them with their subtasks (HI-3)."""

_MAX_BYTES: Final = 30_000
"""Maximum bytes of JSON for those tasks, unless the requested task alone has more (HI-3)."""

_FIELDS: Final = frozenset(HierarchyTask.model_fields)
"""The fields that answers show."""


def render_tree(tasks: Collection[HierarchyTask], task: HierarchyTask) -> JsonObject:
    """Return the task as JSON with its subtasks, as many whole levels as fit an answer (TOOL-9)."""
    return _with_levels(tasks, task, None)


def render_counted(tasks: Collection[HierarchyTask], task: HierarchyTask) -> JsonObject:
    """Return the task as JSON with the count of its subtasks."""
    return _with_levels(tasks, task, 0)


def render_alone(task: HierarchyTask) -> JsonObject:
    """Return the task as JSON without its subtasks."""
    return task.model_dump(mode="json", include=_FIELDS)


def short_trees(tasks: Collection[HierarchyTask]) -> JsonObject:
    """Return the trees with id, name and status only, in as many whole levels as an answer allows.

    It has at most ``MAX_LISTED`` tasks: where a tree is cut, ``subtask_count`` replaces ``tasks``, and if there are too
    many roots, the last are left out.
    """
    found = take_fitting([_short(task) for task in tasks.children(ROOTS, limit=MAX_LISTED)])
    return render_list(found, len(tasks), add_levels(tasks, found, None, is_short=True))


def add_levels(
    tasks: Collection[HierarchyTask], found: Sequence[JsonObject], depth: int | None, *, is_short: bool = False
) -> int:
    """Give the tasks that ``render_alone`` made ``depth`` levels of subtasks, all by default, as far as they fit.

    If a level is left out, ``subtask_count`` replaces ``tasks``; leaves of trees in short have neither. Return the
    number of all tasks.
    """
    render, most, room = (_short, MAX_LISTED, MAX_PAGE) if is_short else (render_alone, _MAX_SHOWN, _MAX_BYTES)
    level = found
    count, size = len(level), sum(map(size_of, level))
    for _ in range(MAX_LEVELS if depth is None else min(depth, MAX_LEVELS)):
        numbers = _count_below(tasks, level)
        if not level or count + sum(numbers) > most:
            break
        below = [
            [render(child) for child in tasks.children(str(task["id"]))] if number else []
            for task, number in zip(level, numbers, strict=True)
        ]
        size += sum(map(size_of, chain.from_iterable(below)))
        if size > room:
            break
        count += sum(numbers)
        for task, children in zip(level, below, strict=True):
            if children or not is_short:
                task["tasks"] = [*children]
        level = [*chain.from_iterable(below)]
    for task, number in zip(level, _count_below(tasks, level), strict=True):
        if number or not is_short:
            task["subtask_count"] = number
    return count


def _with_levels(tasks: Collection[HierarchyTask], task: HierarchyTask, depth: int | None) -> JsonObject:
    shown = render_alone(task)
    add_levels(tasks, [shown], depth)
    return shown


def _count_below(tasks: Collection[HierarchyTask], level: Sequence[Mapping[str, JsonValue]]) -> list[int]:
    """Return how many subtasks each of the shown tasks of ``level`` has, whatever their status."""
    states = tasks.child_states_of([str(task["id"]) for task in level])
    return [sum(of_one.values()) for of_one in states.values()]


def _short(task: HierarchyTask) -> JsonObject:
    return {"id": task.id, "name": shorten(task.name, MAX_TEXT), "status": task.status.value}
