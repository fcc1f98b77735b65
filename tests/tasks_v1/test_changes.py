"""What a call makes of a task, without store and server (V1-1, V1-5, V1-6)."""

from datetime import UTC, datetime, timedelta

import pytest

from task_core.errors import InvalidArguments
from tasks_v1_mcp.arguments import CreateTaskArguments, UpdateTaskArguments
from tasks_v1_mcp.models import Category, Priority, StoredTask, V1Status
from tasks_v1_mcp.service import apply_status, apply_update, create_record
from tests.tasks_v1.conftest import START, make_task

LATER = START + timedelta(hours=1)

FULL = make_task(
    1,
    description="why",
    category="tech",
    priority="high",
    tags=["a", "b"],
    topic_id="space",
    source="manual_note",
    status="in_progress",
)


def update(task: StoredTask, **fields: object) -> StoredTask:
    return apply_update(task, UpdateTaskArguments.model_validate({"id": task.id, **fields}), LATER)


@pytest.mark.requirement("V1-1")
def test_null_for_a_new_task_is_as_good_as_nothing() -> None:
    names = ("description", "category", "priority", "tags", "topic_id", "source", "status")
    plain = create_record("task_1", CreateTaskArguments(title="t"), START)
    assert (
        create_record("task_1", CreateTaskArguments.model_validate({"title": "t", **dict.fromkeys(names)}), START)
        == plain
    )
    assert (plain.category, plain.status, plain.priority) == (Category.OTHER, V1Status.PENDING, Priority.MEDIUM)


@pytest.mark.requirement("V1-5", "V1-6")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"title": "new"}, {"title": "new"}),
        ({"description": None}, {"description": None}),
        ({"category": "personal"}, {"category": Category.PERSONAL}),
        ({"category": None}, {"category": Category.OTHER}),
        ({"priority": 1}, {"priority": Priority.LOW}),
        ({"priority": None}, {"priority": Priority.MEDIUM}),
        ({"tags": ["b", "c", "b"]}, {"tags": ("b", "c")}),
        ({"tags": []}, {"tags": ()}),
        ({"tags": None}, {"tags": ()}),
        ({"topic_id": None, "source": None}, {"topic_id": None, "source": None}),
        ({"title": "t1", "source": "capture_idea"}, {"source": "capture_idea"}),
    ],
    ids=str,
)
def test_an_update_changes_what_is_given_and_nothing_else(
    fields: dict[str, object], expected: dict[str, object]
) -> None:
    task = update(FULL, **fields)
    before, after = dict(FULL), dict(task)
    changed = {name: value for name, value in after.items() if before[name] != value}
    assert changed == {**expected, "updated_at": LATER}


@pytest.mark.requirement("V1-6")
@pytest.mark.parametrize(
    "fields",
    [{"title": "t1"}, {"tags": ["a", "b", "a"]}, {"priority": 3, "category": "tech"}, {"topic_id": "space"}],
    ids=str,
)
def test_an_update_to_what_is_there_already_changes_nothing(fields: dict[str, object]) -> None:
    assert update(FULL, **fields) is FULL


@pytest.mark.requirement("V1-6")
def test_nulls_for_what_is_empty_already_change_nothing() -> None:
    task = make_task(1)
    names = ("description", "category", "priority", "tags", "topic_id", "source")
    assert update(task, **dict.fromkeys(names)) is task


@pytest.mark.requirement("V1-5")
def test_an_update_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidArguments, match="at least one field"):
        update(FULL)


@pytest.mark.requirement("V1-6")
@pytest.mark.parametrize("seconds", [0, -3600])
def test_updated_at_rises_even_when_the_clock_stops_or_steps_back(seconds: int) -> None:
    task = apply_status(FULL, V1Status.DONE, FULL.updated_at + timedelta(seconds=seconds))
    assert task.updated_at == FULL.updated_at + timedelta(microseconds=1)


@pytest.mark.requirement("V1-6")
def test_updated_at_stays_at_the_end_of_the_calendar() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    task = FULL.changed(updated_at=last)
    assert update(task, title="new") == task.changed(title="new")
    assert apply_status(task, V1Status.DONE, LATER) == task.changed(status=V1Status.DONE)
