"""What an update makes of a task (HB-3), without a store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import JsonValue

from heartbeat_mcp.arguments import Updates
from heartbeat_mcp.errors import ReadOnlyField, ReservedField
from heartbeat_mcp.models import HeartbeatStatus, HeartbeatTask
from heartbeat_mcp.task_rules import apply_update, merge_extra_fields
from task_core.errors import DuplicateKey, InvalidArguments, TaskError

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
TASK = HeartbeatTask(id="cool-apple", raw_user_request="write", ideas=("a",), created_at=NOON, updated_at=NOON)
DONE = TASK.changed(status=HeartbeatStatus.COMPLETE, completed_at=NOON)


def change(task: HeartbeatTask = TASK, **updates: JsonValue) -> HeartbeatTask:
    return apply(updates, task)


def apply(updates: dict[str, JsonValue], task: HeartbeatTask = TASK, *, append_ideas: bool = False) -> HeartbeatTask:
    return apply_update(task, Updates.model_validate(updates), append_ideas=append_ideas, now=LATER)


@pytest.mark.requirement("HB-3")
def test_several_fields_change_at_once_and_the_rest_stays() -> None:
    task = change(status="Running", ideas=["x", "y"], result="half", result_file="out.md", claude_session_id="s1")
    assert task == TASK.changed(
        status=HeartbeatStatus.RUNNING,
        ideas=("x", "y"),
        result="half",
        result_file="out.md",
        claude_session_id="s1",
        updated_at=LATER,
    )


@pytest.mark.requirement("HB-3")
def test_ideas_are_appended_when_asked_and_replaced_otherwise() -> None:
    assert apply({"ideas": ["b"]}, append_ideas=True).ideas == ("a", "b")
    assert change(ideas=["b"]).ideas == ("b",)
    assert change(ideas="one idea").ideas == ("one idea",)
    assert change(ideas=None).ideas == ()
    assert apply({"result": "r"}, append_ideas=True).ideas == ("a",)


@pytest.mark.requirement("HB-3")
@pytest.mark.parametrize("name", ["id", "created_at", "updated_at"])
def test_what_the_server_sets_cannot_be_changed(name: str) -> None:
    with pytest.raises(ReadOnlyField, match=name):
        apply({name: "x"})


@pytest.mark.requirement("HB-3")
@pytest.mark.parametrize("status", ["Complete", "Fail", "complete", "FAIL"])
def test_finishing_sets_completed_at_to_now(status: str) -> None:
    task = change(status=status)
    assert (task.status, task.completed_at) == (HeartbeatStatus(status), LATER)


@pytest.mark.requirement("HB-3")
@pytest.mark.parametrize("status", ["Pending", "Running"])
def test_going_back_clears_completed_at(status: str) -> None:
    assert change(DONE, status=status).completed_at is None


def test_a_change_of_other_fields_leaves_completed_at_alone() -> None:
    assert change(DONE, result="r").completed_at == NOON


@pytest.mark.requirement("HB-3")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2026-03-01T11:00:00Z", NOON - timedelta(hours=1)),
        ("2026-03-01T11:00:00+02:00", NOON - timedelta(hours=3)),
        ("2026-03-01 11:00", NOON - timedelta(hours=1)),
        ("2026-03-01T13:00:00.000000Z", LATER),
    ],
)
def test_completed_at_may_be_given_in_the_same_update(given: str, expected: datetime) -> None:
    assert change(status="Complete", completed_at=given).completed_at == expected
    assert change(DONE, completed_at=given).completed_at == expected


@pytest.mark.requirement("HB-3")
@pytest.mark.parametrize(
    "given", ["soon", "1700000000", 1700000000, "2026-03-01", "2026-13-01T00:00:00Z", "", None, True], ids=repr
)
def test_completed_at_must_be_a_date_time(given: JsonValue) -> None:
    with pytest.raises(ValueError, match="ISO 8601"):
        change(status="Complete", completed_at=given)


@pytest.mark.requirement("HB-3")
def test_completed_at_must_not_lie_in_the_future() -> None:
    with pytest.raises(InvalidArguments, match="future"):
        change(status="Complete", completed_at="2026-03-01T13:00:00.000001Z")


@pytest.mark.requirement("HB-3")
def test_an_open_task_has_no_completed_at() -> None:
    with pytest.raises(InvalidArguments, match="Complete or Fail"):
        change(completed_at="2026-03-01T11:00:00Z")
    with pytest.raises(InvalidArguments, match="Complete or Fail"):
        change(DONE, status="Running", completed_at="2026-03-01T11:00:00Z")


@pytest.mark.requirement("HB-3")
def test_unknown_names_become_extra_fields_and_null_removes_one() -> None:
    once = change(priority={"level": 3}, owner="me")
    assert once.extra_fields == {"priority": {"level": 3}, "owner": "me"}
    assert change(once, owner=None, extra_fields={"room": 7}).extra_fields == {"priority": {"level": 3}, "room": 7}


@pytest.mark.requirement("HB-3", "HB-2", "ERR-4")
@pytest.mark.parametrize(
    ("slip", "meant"),
    [("stauts", "status"), ("raw_refrence", "raw_reference"), ("idea", "ideas"), ("Status", "status")],
)
def test_a_slip_of_a_predefined_name_is_refused_with_the_name_meant(slip: str, meant: str) -> None:
    with pytest.raises(InvalidArguments, match=f"'{meant}'") as caught:
        apply({slip: "Running"})
    near = caught.value.details["near"]
    assert isinstance(near, list)
    assert near[0] == meant


@pytest.mark.parametrize("name", ["uid", "dues", "tags", "priority", "状态", "owner", "s"])
def test_an_ordinary_name_is_not_a_misspelling(name: str) -> None:
    assert apply({name: 1}).extra_fields == {name: 1}


@pytest.mark.requirement("HB-3")
@pytest.mark.parametrize(
    ("updates", "error"),
    [
        ({}, InvalidArguments),
        ({"extra_fields": {"status": "x"}}, ReservedField),
        ({"extra_fields": {"a": 1}, "a": 2}, DuplicateKey),
        ({"extra_fields": {f"k{n}": n for n in range(50)}, "one_more": 1}, InvalidArguments),
    ],
    ids=["nothing", "reserved", "given twice", "too many"],
)
def test_what_cannot_be_applied_is_refused(updates: dict[str, JsonValue], error: type[TaskError]) -> None:
    with pytest.raises(error):
        apply(updates)


@pytest.mark.requirement("HB-2")
def test_fifty_extra_fields_are_taken() -> None:
    assert len(merge_extra_fields({}, {f"k{n}": n for n in range(50)}, {})) == 50


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        ({"status": "Done"}, "Give one of Pending, Running, Complete, Fail"),
        ({"status": None}, "Give one of"),
        ({"raw_user_request": None}, "text"),
        ({"raw_user_request": " \n"}, "blank"),
        ({"ideas": [1]}, "text"),
        ({"result": 5}, "text"),
        ({"claude_session_id": "two\nlines"}, "one line"),
        ({"extra_fields": [1]}, "JSON object"),
        ({"extra": float("inf")}, "finite"),
    ],
    ids=str,
)
def test_a_value_of_a_wrong_type_is_refused(updates: dict[str, JsonValue], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        apply(updates)


@pytest.mark.requirement("TOOL-3", "HB-3")
def test_appending_does_not_pass_the_limit_of_a_list() -> None:
    full = TASK.changed(ideas=("i",) * 199)
    assert len(apply({"ideas": ["one"]}, full, append_ideas=True).ideas) == 200
    with pytest.raises(InvalidArguments, match="at most 200 ideas"):
        apply({"ideas": ["one", "two"]}, full, append_ideas=True)


def test_a_longer_list_that_a_person_wrote_does_not_block_other_changes() -> None:
    long = TASK.changed(ideas=("i",) * 300)
    assert apply({"status": "Running"}, long).ideas == long.ideas


@pytest.mark.parametrize(("ideas", "expected"), [(None, ()), ("one", ("one",)), (["a", "b"], ("a", "b"))])
def test_ideas_that_a_person_wrote_into_the_store_become_a_list(ideas: JsonValue, expected: tuple[str, ...]) -> None:
    assert HeartbeatTask.model_validate({**TASK.model_dump(), "ideas": ideas}).ideas == expected
