"""Messages of answers: each says what the call did and what to do next."""

from collections.abc import Sequence
from typing import Final

from hierarchy_mcp.models import HierarchyStatus, HierarchyTask
from task_core.text import escape_invisible, pluralize, shorten

__all__ = [
    "completed_message",
    "created_message",
    "left_message",
    "reopened_message",
    "started_message",
    "superseded_message",
]

_NAME_LIMIT: Final = 100
"""Characters of a name in a message: enough to recognize the task, whose whole name is in the answer as well."""


def created_message(task: HierarchyTask, subtasks: int) -> str:
    """Return what to do after a root task was created: split it, then start (R1.5)."""
    split = (
        f"It has {subtasks} subtasks; if you need more, add them with createTask and this task as parentId"
        if subtasks
        else "Split it into subtasks with createTask and this task as parentId"
    )
    return f"Created root task {_name_task(task)}. {split}, then call startTask."


def superseded_message(leaf: HierarchyTask, status: HierarchyStatus) -> str:
    """Return what its first subtask changed for ``leaf``, given as it was, by its new status; maybe nothing (HI-1)."""
    if leaf.status in {HierarchyStatus.TODO, status}:
        return ""
    was, now = (it.value.replace("_", " ") for it in (leaf.status, status))
    return f"{_name_task(leaf)} was {was}. It has a subtask now, so it is {now} until all its subtasks are done."


def reopened_message(kept: int) -> str:
    """Return how many resolutions a reopening kept (HI-3)."""
    return f"Kept {pluralize(kept, 'resolution')}: completeTask replaces them." if kept else ""


def left_message(left: Sequence[HierarchyTask]) -> str:
    """Return which tasks went back to todo with the claim on their root."""
    names = ", ".join(map(_name_task, left))
    return f"{names} went back to todo: outside claimed roots one task is in progress, and another is." if left else ""


def started_message(leaf: HierarchyTask, left: HierarchyTask | None, *, is_new: bool) -> str:
    """Return what to work on now, and which task ``left`` went back to todo."""
    if not is_new:
        return f"Task {_name_task(leaf)} is already in progress; nothing changed."
    back = f" {_name_task(left)}, which was in progress, went back to todo." if left else ""
    return f"Work on {_name_task(leaf)} now and call completeTask when it is done.{back}"


def completed_message(
    task: HierarchyTask,
    following: HierarchyTask | None,
    *,
    is_started: bool = False,
    is_over: bool = True,
    is_claimed: bool = False,
    holder: str = "",
) -> str:
    """Return what comes after ``task``, or that all is done; ``is_started``: the call began it (R3.8, R3.9, PE-19).

    If nothing follows although it is not ``is_over``, other roots are left: for another claim if the task's root
    ``is_claimed``, else to the agents that have claimed them (AG-17). What follows may be claimed by a ``holder``.
    """
    if following is None:
        rest = "Nothing is left of what you claimed: call claimTask." if is_claimed else "Others have claimed the rest."
        return f"Completed {_name_task(task)}. {'All tasks are done.' if is_over else rest}"
    if holder:
        taken = f"{_name_task(following)} comes next, but '{escape_invisible(holder)}' has claimed it"
        return f"Completed {_name_task(task)}. {taken}: work on another root."
    if is_started:
        return f"Completed {_name_task(task)}. {started_message(following, None, is_new=True)}"
    if following.status is HierarchyStatus.IN_PROGRESS:
        return f"Completed {_name_task(task)}. Task {_name_task(following)} is still in progress: continue with it."
    return f"Completed {_name_task(task)}. Next, call startTask for {_name_task(following)}."


def _name_task(task: HierarchyTask) -> str:
    return f"'{escape_invisible(shorten(task.name, _NAME_LIMIT))}' ({task.id})"
