"""The moves of a task and who may make them, as tables (CX-12, CX-13)."""

from __future__ import annotations

import pytest

from cortex_backend.enums import MemberRole, TaskStatus
from cortex_backend.service.rules.moves import ALLOWED_MOVES, check_branch, check_move, check_writer, choose_assignee
from tests.cortex_backend.backend_fixture import raises_problem

ME, OTHER, THIRD = 1, 2, 3

MOVES = [
    "TODO IN_PROGRESS",
    "IN_PROGRESS REVIEW",
    "REVIEW DONE",
    "REVIEW IN_PROGRESS",
    "IN_PROGRESS DONE",
    "IN_PROGRESS TODO",
    "TODO CANCELED",
    "IN_PROGRESS CANCELED",
    "REVIEW CANCELED",
    "DONE IN_PROGRESS",
    "CANCELED TODO",
]
"""The moves in the words of the specification."""


@pytest.mark.requirement("CX-12")
@pytest.mark.parametrize("old", TaskStatus)
@pytest.mark.parametrize("new", TaskStatus)
def test_a_move_is_allowed_if_the_specification_names_it_or_if_it_is_none(old: TaskStatus, new: TaskStatus) -> None:
    if old is new or f"{old} {new}" in MOVES:
        check_move(old, new)
    else:
        with raises_problem("InvalidTransition") as caught:
            check_move(old, new)
        assert caught.value.members == {"from": old, "to": new, "allowed": [*ALLOWED_MOVES[old]]}


@pytest.mark.requirement("CX-13")
@pytest.mark.parametrize("role", MemberRole)
def test_a_viewer_changes_nothing(role: MemberRole) -> None:
    if role is MemberRole.VIEWER:
        with raises_problem("Forbidden"):
            check_writer(role)
    else:
        check_writer(role)


@pytest.mark.requirement("CX-13")
def test_a_review_without_a_branch_is_refused_and_the_other_moves_are_named() -> None:
    with raises_problem("InvalidTransition", match="Set branch_name in the same request") as caught:
        check_branch(TaskStatus.IN_PROGRESS, TaskStatus.REVIEW, None)
    assert caught.value.members["allowed"] == ["DONE", "TODO", "CANCELED"]
    check_branch(TaskStatus.IN_PROGRESS, TaskStatus.REVIEW, "feature/task-1-x")
    check_branch(TaskStatus.IN_PROGRESS, TaskStatus.DONE, None)


STARTS: list[tuple[str, int | None, dict[str, int | None], int | str]] = [
    ("member", None, {}, ME),
    ("member", ME, {}, ME),
    ("member", OTHER, {}, "AssignedToOther"),
    ("owner", OTHER, {}, "AssignedToOther"),
    ("owner", OTHER, {"assignee_id": ME}, ME),
    ("owner", OTHER, {"assignee_id": THIRD}, THIRD),
    ("owner", OTHER, {"assignee_id": OTHER}, OTHER),
    ("owner", OTHER, {"assignee_id": None}, ME),
    ("member", OTHER, {"assignee_id": ME}, "Forbidden"),
    ("member", None, {"assignee_id": ME}, ME),
    ("member", ME, {"assignee_id": None}, ME),
]
"""Role, whose the task is, what the request sets, and whose it is once it is started."""


@pytest.mark.requirement("CX-13")
@pytest.mark.parametrize(("role", "current", "wanted", "expected"), STARTS)
def test_a_task_that_is_started_is_somebodys(
    role: str, current: int | None, wanted: dict[str, int | None], expected: int | str
) -> None:
    if isinstance(expected, int):
        assert choose_assignee(ME, role, current, wanted, is_start=True) == expected
    else:
        with raises_problem(expected):
            choose_assignee(ME, role, current, wanted, is_start=True)


@pytest.mark.requirement("CX-13")
@pytest.mark.parametrize("current", [None, ME, OTHER])
@pytest.mark.parametrize("chosen", [None, ME, OTHER, THIRD])
def test_a_member_takes_free_tasks_and_gives_up_their_own_and_an_owner_assigns_all(
    current: int | None, chosen: int | None
) -> None:
    wanted = {"assignee_id": chosen}
    assert choose_assignee(ME, "owner", current, wanted, is_start=False) == chosen
    if current == chosen or {current, chosen} <= {None, ME}:
        assert choose_assignee(ME, "member", current, wanted, is_start=False) == chosen
    else:
        with raises_problem("Forbidden"):
            choose_assignee(ME, "member", current, wanted, is_start=False)
