"""Changes the status of an item, and with it those of its subtasks and of its task (TM-48 to TM-50)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from taskmaster_mcp.core.items import ProjectItem, TagTasks

__all__ = ["StatusChange", "StatusChanges", "follow_subtasks", "set_status"]

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
        followed = follow_subtasks(tasks, parent)
        if followed:
            changes.parents.append(followed)
    return changes


def follow_subtasks(tasks: TagTasks, task: ProjectItem) -> StatusChange | None:
    """Give a task the status that follows from its subtasks, and return the change if there is one (TM-49)."""
    words = {subtask.status for subtask in task.subtasks}
    status = task.status
    if words == {"done"}:
        status = "done"
    elif words & {"in-progress", "done"}:
        status = "in-progress"
    elif words == {"pending"}:
        status = "pending"
    return _change(tasks, task, status) if status != task.status else None


def _change(tasks: TagTasks, item: ProjectItem, status: str) -> StatusChange:
    change = StatusChange(item, item.status, status)
    if change.old != status:
        item.fields["status"] = status
        tasks.touch(item)
    return change
