"""The moves of a task from status to status, and who may make them: plain functions (CX-12, CX-13)."""

from collections.abc import Mapping
from typing import Final

from cortex_backend.enums import MemberRole, TaskStatus
from cortex_backend.problems import Problem, forbidden, invalid_arguments, invalid_transition

__all__ = [
    "ALLOWED_MOVES",
    "SETTLED",
    "check_branch",
    "check_branch_name",
    "check_move",
    "check_writer",
    "choose_assignee",
]

ALLOWED_MOVES: Final[Mapping[TaskStatus, tuple[TaskStatus, ...]]] = {
    TaskStatus.TODO: (TaskStatus.IN_PROGRESS, TaskStatus.CANCELED),
    TaskStatus.IN_PROGRESS: (TaskStatus.REVIEW, TaskStatus.DONE, TaskStatus.TODO, TaskStatus.CANCELED),
    TaskStatus.REVIEW: (TaskStatus.DONE, TaskStatus.IN_PROGRESS, TaskStatus.CANCELED),
    TaskStatus.DONE: (TaskStatus.IN_PROGRESS,),
    TaskStatus.CANCELED: (TaskStatus.TODO,),
}
"""The statuses that a task can change to from each status."""

SETTLED: Final = (TaskStatus.DONE.value, TaskStatus.CANCELED.value)
"""The statuses of tasks that nobody works on."""


def check_writer(role: str) -> None:
    """Raise ``Forbidden`` for a viewer, who may not change tasks."""
    if role == MemberRole.VIEWER:
        raise forbidden("owners and members of the project")


def check_move(old: TaskStatus, new: TaskStatus) -> None:
    """Raise ``InvalidTransition`` if a task may not go from one status to the other; the same again is allowed."""
    if new not in (old, *ALLOWED_MOVES[old]):
        raise invalid_transition(old, new, ALLOWED_MOVES[old])


def check_branch(old: TaskStatus, new: TaskStatus, branch_name: object) -> None:
    """Raise ``InvalidTransition`` if a task without a branch would become one to review."""
    if new is TaskStatus.REVIEW and branch_name is None:
        allowed = [status for status in ALLOWED_MOVES[old] if status is not TaskStatus.REVIEW]
        raise invalid_transition(old, new, allowed, missing="branch_name")


def check_branch_name(task_id: int, branch_name: str | None) -> None:
    """Raise ``InvalidArguments`` if a branch is the one of another task (CX-41)."""
    if branch_name is not None and not branch_name.partition("/")[2].startswith(f"task-{task_id}-"):
        raise invalid_arguments([("body.branch_name", f"Give a branch of this task: <type>/task-{task_id}-<slug>")])


def choose_assignee(
    caller: int, role: str, current: int | None, wanted: Mapping[str, int | None], *, is_start: bool
) -> int | None:
    """Return the assignee after a change; ``wanted`` has ``assignee_id`` if the request sets it.

    Starting an unassigned task assigns it to the caller. An owner may assign a task to anybody; a member may take an
    unassigned one and give up their own. Anything else is ``AssignedToOther`` or ``Forbidden``.
    """
    chosen = wanted.get("assignee_id", current)
    if chosen != current and role != MemberRole.OWNER and not {current, chosen} <= {None, caller}:
        raise forbidden("an owner of the project")
    if not is_start:
        return chosen
    if "assignee_id" not in wanted and current not in (None, caller):
        raise Problem("AssignedToOther")
    return caller if chosen is None else chosen
