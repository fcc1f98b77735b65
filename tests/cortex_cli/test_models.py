"""What is read from an answer, and the time that a command has."""

from __future__ import annotations

import pytest

from cortex_cli.errors import TimedOut
from cortex_cli.models import CortexTask, Deadline, LoginSession, Malformed, Membership, TaskListing, as_json, read_as
from tests.cortex_cli.stub_server import TASK, USER


@pytest.mark.requirement("CX-11")
def test_a_task_that_is_read_and_written_is_the_same() -> None:
    request: dict[str, object] = {
        "url": None,
        "number": 3,
        "forge": "none",
        "state": "open",
        "head_sha": "a",
        "base": "main",
    }
    whole = {**TASK, "pull_request": {**request, "submitted_at": None}, "assignee": {"id": 7, "name": "Ada"}}
    assert as_json(read_as(CortexTask, {**whole, "unknown": 1})) == {
        **{name: whole[name] for name in CortexTask._fields},
    }


@pytest.mark.requirement("CX-102")
@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"id": "42"}, "answer.id"),
        ({"id": True}, "answer.id"),
        ({"title": None}, "answer.title"),
        ({"project": []}, "answer.project"),
        ({"project": {"id": 1}}, "answer.project.name"),
        ({"branch_name": 3}, "answer.branch_name"),
        ({"assignee": {"id": 1, "name": 2}}, "answer.assignee.name"),
    ],
    ids=str,
)
def test_an_answer_of_another_form_is_refused_with_the_place(change: dict[str, object], place: str) -> None:
    with pytest.raises(Malformed, match=place):
        read_as(CortexTask, {**TASK, **change})


@pytest.mark.requirement("CX-102")
@pytest.mark.parametrize("value", [None, [], "x", {}, {"tasks": {}, "total": 1}, {"tasks": [1], "total": 1}], ids=str)
def test_a_page_of_another_form_is_refused(value: object) -> None:
    with pytest.raises(Malformed):
        read_as(TaskListing, value)


def test_the_first_form_that_fits_is_read() -> None:
    assert read_as(Membership, {"role": "owner", "user": USER}).user.name == "Ada"
    assert read_as(Membership, {"role": "owner", "user": {"id": 1, "name": "Bo"}}).user.name == "Bo"
    assert [read_as(LoginSession, {"id": value}).id for value in (3, "s3")] == [3, "s3"]


@pytest.mark.requirement("CX-89")
def test_a_step_may_take_what_the_command_has_left() -> None:
    now = [100.0]
    deadline = Deadline(10, clock=lambda: now[0])
    assert deadline.limit(3) == 3
    now[0] = 108.0
    assert deadline.limit(3) == 2
    now[0] = 110.0
    with pytest.raises(TimedOut, match="10 seconds") as caught:
        deadline.limit(3)
    assert caught.value.code == "Timeout"
    assert deadline.extended(4).limit(9) == 4
