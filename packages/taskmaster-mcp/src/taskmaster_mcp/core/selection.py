"""Choice of the item to work on next (TM-40, TM-41)."""

from collections.abc import Mapping, Sequence
from typing import Final

from taskmaster_mcp.core.items import JsonObject, ProjectItem, TagTasks

__all__ = ["choose_next", "describe_next_step", "find_blocked", "find_waiting", "list_all_ready", "list_ready"]

_OPEN: Final = ("pending", "in-progress")
"""The statuses of what can be worked on."""

_MAX_BLOCKED: Final = 5
"""Blocked items that an answer names."""


def choose_next(tasks: TagTasks) -> ProjectItem | None:
    """Return the item to work on next: a subtask of a task in progress, else a task; None if nothing is ready."""
    return next(iter(list_ready(tasks)), None)


def list_ready(tasks: TagTasks) -> list[ProjectItem]:
    """Return what can be worked on, most urgent first: subtasks of tasks in progress if there are any, else tasks."""
    within, others = list_all_ready(tasks)
    return within or others


def list_all_ready(tasks: TagTasks) -> tuple[list[ProjectItem], list[ProjectItem]]:
    """Return what can be worked on, most urgent first: the subtasks of tasks in progress, and the tasks."""
    index = tasks.index()
    within = [subtask for task in tasks.tasks if task.status == "in-progress" for subtask in task.subtasks]

    def choose(items: Sequence[ProjectItem]) -> list[ProjectItem]:
        return sorted((it for it in items if it.status in _OPEN and not _waits_for(it, index)), key=_order)

    return choose(within), choose(tasks.tasks)


def find_waiting(tasks: TagTasks) -> list[tuple[ProjectItem, list[str]]]:
    """Return the open items that wait for others, each with the ids of what it waits for."""
    index = tasks.index()
    found = [(item, _waits_for(item, index)) for item in tasks.items if item.status in _OPEN]
    return [(item, names) for item, names in found if names]


def find_blocked(tasks: TagTasks) -> list[JsonObject]:
    """Return open items that wait for others, at most five, each with what it waits for."""
    return [{"id": item.id, "waitsFor": [*names]} for item, names in find_waiting(tasks)[:_MAX_BLOCKED]]


def describe_next_step(item: ProjectItem | None) -> str:
    """Return one sentence about what to do now."""
    if item is None:
        return "Nothing is ready: finish what the blocked items wait for, or add tasks."
    kind = "subtask" if item.is_subtask else "task"
    done = "when it is finished, set it to 'done' with set_task_status and call next_task again."
    if item.status == "in-progress":
        return f"Go on with {kind} {item.id}; {done}"
    return f"Set {kind} {item.id} to 'in-progress' with set_task_status and work on it; {done}"


def _waits_for(item: ProjectItem, index: Mapping[str, ProjectItem]) -> list[str]:
    return [target for target in item.targets if target not in index or not index[target].is_settled]


def _order(item: ProjectItem) -> tuple[int, int, int, int]:
    parent = item.parent.number or 0 if item.parent else 0
    return item.urgency, len(item.dependencies), parent, item.number or 0
