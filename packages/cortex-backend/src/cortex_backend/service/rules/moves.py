"""The moves of a task from status to status, and who may make them: plain functions (CX-12, CX-13)."""

from collections.abc import Mapping
from typing import Final

from cortex_backend.enums import MemberRole, TaskStatus
from cortex_backend.problems import Problem, forbidden, invalid_transition

__all__ = ["ALLOWED_MOVES", "SETTLED", "check_branch", "check_move", "check_writer", "choose_assignee"]

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
    """Return if a member with this role may change tasks; raise the problem ``Forbidden`` for a viewer."""
    if role == MemberRole.VIEWER:
        raise forbidden("owners and members of the project")


def check_move(old: TaskStatus, new: TaskStatus) -> None:
    """Return if a task may go from one status to the other; the same status again is allowed.

    Raises:
        Problem: ``InvalidTransition`` if it may not.
    """
    if new not in (old, *ALLOWED_MOVES[old]):
        raise invalid_transition(old, new, ALLOWED_MOVES[old])


def check_branch(old: TaskStatus, new: TaskStatus, branch_name: object) -> None:
    """Return if a task has the branch that its new status needs.

    Raises:
        Problem: ``InvalidTransition`` if a review needs a branch.
    """
    if new is TaskStatus.REVIEW and branch_name is None:
        allowed = [status for status in ALLOWED_MOVES[old] if status is not TaskStatus.REVIEW]
        raise invalid_transition(old, new, allowed, missing="branch_name")


def choose_assignee(
    caller: int, role: str, current: int | None, wanted: Mapping[str, int | None], *, is_start: bool
) -> int | None:
    """Return the assignee after a change; ``wanted`` has ``assignee_id`` if the request sets it.

    Starting an unassigned task assigns it to the caller. An owner may assign a task to anybody; a member may take an
    unassigned one and give up their own.

    Raises:
        Problem: ``AssignedToOther`` or ``Forbidden``.
    """
    chosen = wanted.get("assignee_id", current)
    if chosen != current and role != MemberRole.OWNER and not {current, chosen} <= {None, caller}:
        raise forbidden("an owner of the project")
    if not is_start:
        return chosen
    if "assignee_id" not in wanted and current not in (None, caller):
        raise Problem("AssignedToOther")
    return caller if chosen is None else chosen
