"""The tasks at a glance: the short trees and the summary that are read as resources (RES-2, RES-3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hierarchy_mcp.models import Status, Task
from hierarchy_mcp.summary import counts
from hierarchy_mcp.tree import fold, walk
from task_core.server.overview import MAX_LISTED, Entry, JsonObject, listing, summary

__all__ = ["all_tasks", "short_trees", "tasks_by_id"]


def tasks_by_id(roots: Sequence[Task]) -> Mapping[str, Task]:
    """Return every task by its id, in the order of the tree; when one changes, so do the tasks above it."""
    return {task.id: task for task, _ in walk(roots)}


def short_trees(roots: Sequence[Task]) -> JsonObject:
    """Return the trees with id, name and status only, as many whole levels as have ``MAX_LISTED`` tasks or fewer.

    Where a tree is cut, ``subtask_count`` stands in place of ``tasks``. Of more roots than that the last are left out.
    """
    first = roots[:MAX_LISTED]
    depth, count = _fitting(first)
    return listing([fold((root, depth), _below, _short) for root in first], counts(roots).total, count)


def all_tasks(roots: Sequence[Task]) -> str:
    """Return the summary: the leaf in progress, and the todo leaves in the order in which they are to be done."""
    found = counts(roots)
    by_status = {"done": found.done, "in_progress": found.in_progress, "todo": found.todo}
    sections = {"Active": _leaves(roots, Status.IN_PROGRESS), "Next": _leaves(roots, Status.TODO)}
    return summary(by_status, sections, "listTasks")


def _fitting(roots: Sequence[Task]) -> tuple[int, int]:
    """Return how many levels below the roots can be shown, and how many tasks that makes."""
    depth, count = 0, len(roots)
    level = _next_level(roots)
    while level and count + len(level) <= MAX_LISTED:
        depth, count = depth + 1, count + len(level)
        level = _next_level(level)
    return depth, count


def _next_level(tasks: Sequence[Task]) -> list[Task]:
    return [child for task in tasks for child in task.tasks]


def _below(node: tuple[Task, int]) -> Sequence[tuple[Task, int]]:
    task, depth = node
    return [(child, depth - 1) for child in task.tasks] if depth else []


def _short(node: tuple[Task, int], below: tuple[JsonObject, ...]) -> JsonObject:
    task, _ = node
    fields: JsonObject = {"id": task.id, "name": task.name, "status": task.status.value}
    if below:
        fields["tasks"] = [*below]
    elif task.tasks:
        fields["subtask_count"] = len(task.tasks)
    return fields


def _leaves(roots: Sequence[Task], status: Status) -> list[Entry]:
    return [
        Entry(task.id, task.name, f"in {parent.name}" if parent else "")
        for task, parent in walk(roots)
        if not task.tasks and task.status is status
    ]
