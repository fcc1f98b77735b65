"""The changes that a call makes to a task (V1-1, V1-5, V1-6)."""

from datetime import UTC, datetime, timedelta

import pytest

from task_core.errors import InvalidArguments
from tasks_v1_mcp.arguments import CreateTaskArguments, MoveTaskArguments, UpdateTaskArguments
from tasks_v1_mcp.models import Category, Priority, StoredTask, V1Status
from tests.tasks_v1.conftest import START, make_task, service_at

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
    return service_at(LATER, task).update_task(UpdateTaskArguments.model_validate({"id": task.id, **fields}))


def finish(task: StoredTask, moment: datetime) -> StoredTask:
    return service_at(moment, task).update_task_status(MoveTaskArguments(id=task.id, status=V1Status.DONE))


@pytest.mark.requirement("V1-1")
def test_null_for_a_new_task_is_as_good_as_nothing() -> None:
    names = ("description", "category", "priority", "tags", "topic_id", "source", "status")
    plain = service_at(START).create_task(CreateTaskArguments(title="t"))
    nulls = CreateTaskArguments.model_validate({"title": "t", **dict.fromkeys(names)})
    assert service_at(START).create_task(nulls) == plain
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
    values = {name: getattr(task, name) for name in StoredTask.model_fields}
    changed = {name: value for name, value in values.items() if value != getattr(FULL, name)}
    assert changed == {**expected, "updated_at": LATER}


@pytest.mark.requirement("V1-6")
@pytest.mark.parametrize(
    "fields",
    [{"title": "t1"}, {"tags": ["a", "b", "a"]}, {"priority": 3, "category": "tech"}, {"topic_id": "space"}],
    ids=str,
)
def test_an_update_to_what_is_there_already_changes_nothing(fields: dict[str, object]) -> None:
    assert update(FULL, **fields) == FULL


@pytest.mark.requirement("V1-6")
def test_nulls_for_what_is_empty_already_change_nothing() -> None:
    task = make_task(1)
    names = ("description", "category", "priority", "tags", "topic_id", "source")
    assert update(task, **dict.fromkeys(names)) == task


@pytest.mark.requirement("V1-5")
def test_an_update_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidArguments, match="at least one field"):
        update(FULL)


@pytest.mark.requirement("V1-6")
@pytest.mark.parametrize("seconds", [0, -3600])
def test_updated_at_rises_even_when_the_clock_stops_or_steps_back(seconds: int) -> None:
    task = finish(FULL, FULL.updated_at + timedelta(seconds=seconds))
    assert task.updated_at == FULL.updated_at + timedelta(microseconds=1)


@pytest.mark.requirement("V1-6")
def test_updated_at_stays_at_the_end_of_the_calendar() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    task = FULL.changed(updated_at=last)
    assert update(task, title="new") == task.changed(title="new")
    assert finish(task, LATER) == task.changed(status=V1Status.DONE)
