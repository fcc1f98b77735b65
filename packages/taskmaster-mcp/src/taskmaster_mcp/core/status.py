"""The status of items: what to work on next, and what follows from a change (TM-40, TM-41, TM-48 to TM-50)."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from taskmaster_mcp.core.items import PRIORITIES, JsonObject, ProjectItem, TagTasks

__all__ = [
    "StatusChange",
    "StatusChanges",
    "choose_next",
    "describe_next_step",
    "find_blocked",
    "find_waiting",
    "list_all_ready",
    "list_ready",
    "set_status",
]

_OPEN: Final = ("pending", "in-progress")
"""The statuses of what can be worked on."""

_MAX_BLOCKED: Final = 5
"""Blocked items that an answer names."""

_CLOSED_WITH_TASK: Final = frozenset({"pending", "in-progress", "review", "blocked"})
"""The statuses of subtasks that a task closes when it becomes done."""


class StatusChange(NamedTuple):
    """One item, and its status before and after."""

    item: ProjectItem
    old: str
    new: str


class StatusChanges(NamedTuple):
    """The changes of one call: those asked for, the subtasks that were closed, the tasks that followed."""

    asked: list[StatusChange]
    closed: list[ProjectItem]
    parents: list[StatusChange]

    @property
    def has_finished(self) -> bool:
        """True if an item became done."""
        return any(change.new == "done" != change.old for change in (*self.asked, *self.parents))


def set_status(tasks: TagTasks, items: Sequence[ProjectItem], status: str) -> StatusChanges:
    """Set the status of each item; a task that becomes done closes its subtasks, and tasks follow their subtasks."""
    changes = StatusChanges([], [], [])
    old = {item: item.status for item in items}  # before a task closes the subtasks that are named beside it
    for item in items:
        _change(tasks, item, status)
        changes.asked.append(StatusChange(item, old[item], status))
        if status == "done" and changes.asked[-1].old != "done":
            closed = [subtask for subtask in item.subtasks if subtask.status in _CLOSED_WITH_TASK]
            for subtask in closed:
                _change(tasks, subtask, "done")
            changes.closed.extend(subtask for subtask in closed if subtask not in items)
    own = {item.id for item in items}
    moved = [change.item for change in changes.asked if change.old != change.new]
    parents = {item.parent.id: item.parent for item in moved if item.parent and item.parent.id not in own}
    for parent in parents.values():
        followed = _change(tasks, parent, _follow_subtasks(parent))
        if followed.old != followed.new:
            changes.parents.append(followed)
    return changes


def _follow_subtasks(task: ProjectItem) -> str:
    """Return the status that follows from those of its subtasks (TM-49)."""
    words = {subtask.status for subtask in task.subtasks}
    if words in ({"done"}, {"pending"}):
        return words.pop()
    return "in-progress" if words & {"in-progress", "done"} else task.status


def _change(tasks: TagTasks, item: ProjectItem, status: str) -> StatusChange:
    change = StatusChange(item, item.status, status)
    if change.old != status:
        item.fields["status"] = status
        tasks.touch(item)
    return change


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
    word = item.priority if item.priority in PRIORITIES else "medium"
    return PRIORITIES.index(word), len(item.dependencies), parent, item.number or 0
