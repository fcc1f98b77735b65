"""The table of states (V1-3)."""

from datetime import timedelta

import pytest

from task_core.errors import InvalidTransition
from tasks_v1_mcp.arguments import MoveTaskArguments
from tasks_v1_mcp.models import StoredTask, V1Status
from tests.tasks_v1.conftest import START, make_task, service_at

LATER = START + timedelta(hours=1)
STAY, GO, NO = "stay", "go", "no"

TABLE = {
    "pending": {"pending": STAY, "in_progress": GO, "done": NO, "canceled": GO},
    "in_progress": {"pending": NO, "in_progress": STAY, "done": GO, "canceled": GO},
    "done": {"pending": NO, "in_progress": NO, "done": STAY, "canceled": GO},
    "canceled": {"pending": NO, "in_progress": NO, "done": NO, "canceled": STAY},
}

PAIRS = [(V1Status(old), V1Status(new), verdict) for old, row in TABLE.items() for new, verdict in row.items()]


def pairs(*verdicts: str) -> pytest.MarkDecorator:
    chosen = [(old, new) for old, new, verdict in PAIRS if verdict in verdicts]
    return pytest.mark.parametrize(("old", "new"), chosen, ids=[f"{old.value}-{new.value}" for old, new in chosen])


def move(task: StoredTask, status: V1Status) -> StoredTask:
    return service_at(LATER, task).update_task_status(MoveTaskArguments(id=task.id, status=status))


def test_the_table_has_all_sixteen_pairs() -> None:
    assert len(PAIRS) == len(V1Status) ** 2 == 16


@pytest.mark.requirement("V1-3", "V1-6")
@pairs(GO)
def test_an_allowed_transition_moves_the_task_and_its_updated_at(old: V1Status, new: V1Status) -> None:
    task = move(make_task(1, status=old), new)
    assert (task.status, task.updated_at) == (new, LATER)


@pytest.mark.requirement("V1-3", "V1-6")
@pairs(STAY)
def test_the_same_status_again_changes_nothing(old: V1Status, new: V1Status) -> None:
    task = make_task(1, status=old)
    assert move(task, new) == task


@pytest.mark.requirement("V1-3")
@pairs(NO)
def test_any_other_transition_is_refused_with_the_allowed_ones(old: V1Status, new: V1Status) -> None:
    allowed = [status for status, verdict in TABLE[old.value].items() if verdict == GO]
    with pytest.raises(InvalidTransition) as caught:
        move(make_task(1, status=old), new)
    assert caught.value.details == {"from": old.value, "to": new.value, "allowed": allowed}
    assert all(status in caught.value.message for status in allowed)


@pytest.mark.requirement("V1-3", "ERR-1")
def test_the_error_for_a_canceled_task_advises_to_create_a_new_one() -> None:
    with pytest.raises(InvalidTransition, match="'canceled' is final; create a new task"):
        move(make_task(1, status="canceled"), V1Status.PENDING)
