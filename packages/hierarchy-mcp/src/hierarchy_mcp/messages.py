"""What an answer tells the model about what was done, and what to do next."""

from typing import Final

from hierarchy_mcp.models import Status, Task
from task_core.text import escape_invisible, shorten

__all__ = ["completed_message", "created_message", "reopened_message", "started_message", "superseded_message"]

_NAME_LIMIT: Final = 100
"""Characters of a name in a message: enough to recognize the task, whose whole name is in the answer as well."""


def created_message(task: Task, subtasks: int) -> str:
    """Return what to do after a root task was created: split it, then start (R1.5)."""
    split = (
        f"It has {subtasks} subtasks; if you need more, add them with createTask and this task as parentId"
        if subtasks
        else "Split it into subtasks with createTask and this task as parentId"
    )
    return f"Created root task {_named(task)}. {split}, then call startTask."


def superseded_message(leaf: Task, status: Status) -> str:
    """Return what its first subtask changed for ``leaf``, given as it was, by its new status; maybe nothing (HI-1)."""
    if leaf.status in {Status.TODO, status}:
        return ""
    was, now = (it.value.replace("_", " ") for it in (leaf.status, status))
    return f"{_named(leaf)} was {was}. It has a subtask now, so it is {now} until all its subtasks are done."


def reopened_message(cleared: int) -> str:
    """Return how many resolutions a reopening cleared (HI-3)."""
    return f"Cleared {cleared} resolution{'' if cleared == 1 else 's'}." if cleared else ""


def started_message(leaf: Task, left: Task | None, *, is_new: bool) -> str:
    """Return what to work on now, and which task ``left`` went back to todo."""
    if not is_new:
        return f"Task {_named(leaf)} is already in progress; nothing changed."
    back = f" {_named(left)}, which was in progress, went back to todo." if left else ""
    return f"Work on {_named(leaf)} now and call completeTask when it is done.{back}"


def completed_message(task: Task, following: Task | None) -> str:
    """Return what comes after ``task``, or that all is done (R3.8, R3.9)."""
    if following is None:
        return f"Completed {_named(task)}. All tasks are done."
    if following.status is Status.IN_PROGRESS:
        return f"Completed {_named(task)}. Task {_named(following)} is still in progress: continue with it."
    return f"Completed {_named(task)}. Next, call startTask for {_named(following)}."


def _named(task: Task) -> str:
    return f"'{escape_invisible(shorten(task.name, _NAME_LIMIT))}' ({task.id})"
