"""Storms in short, over each server, and what they would find."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.postgres import needs_postgres
from tests.wire.claim_storm import ClaimResult, Hold, Holders, claim_storm
from tests.wire.storm import Result, storm
from tests.wire.storm_client import Counts
from tests.wire.storm_ledger import Change, Kept, Ledger, Seen, Start, check_active
from tests.wire.storm_report import claim_table, report, report_claims, write_page
from tests.wire.storm_servers import SERVERS, TasksV1

CREATED = {"status": "new", "text": None}

CREATE = Change("t", "create", {}, CREATED, frozenset({"first"}))

UPDATE = Change("t", "update", {}, {"text": "x"})

APPEND = Change("t", "append", {}, marks=frozenset({"second"}))


@pytest.mark.requirement("D2", "D3", "C1", "C2", "C3", "C4", "C5", "ST-2", "ERR-2", "TOOL-7", "EN-8", "EN-9")
@pytest.mark.parametrize(
    ("server", "engine"),
    [
        ("heartbeat", "json"),
        pytest.param("tasks-v1", "sqlite", marks=pytest.mark.long),
        pytest.param("hierarchy", "json", marks=pytest.mark.by_hand),
        pytest.param("tasks-v1", "postgresql", marks=[needs_postgres, pytest.mark.by_hand]),
    ],
)
def test_servers_killed_and_stopped_at_work_lose_nothing_that_they_acknowledged(
    tmp_path: Path, server: str, engine: str
) -> None:
    result = storm(SERVERS[server](engine), tmp_path, 4, 2, Random(20260301))
    assert result.counts.kills == 4
    assert result.counts.acknowledged > 4
    assert result.tasks > 1


@pytest.mark.requirement("AG-12", "AG-19")
@pytest.mark.parametrize(
    "engine",
    [
        "json",
        pytest.param("sqlite", marks=pytest.mark.long),
        pytest.param("postgresql", marks=[needs_postgres, pytest.mark.by_hand]),
    ],
)
def test_processes_that_claim_tasks_are_killed_and_stopped_and_no_claim_is_lost_or_held_twice(
    tmp_path: Path, engine: str
) -> None:
    result = claim_storm(TasksV1(engine), tmp_path, 4, 2.0, Random(20260301))
    assert result.claims
    assert result.stops
    assert result.kills + result.ends


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        pytest.param([("t", "#1"), ("t", "#2")], ClaimResult("json", 2, doubles=1), id="held twice"),
        pytest.param([("t", "#1"), ("t", "#1"), ("u", "#2")], ClaimResult("json", 2), id="renewed, and another task"),
    ],
)
def test_a_task_that_two_processes_hold_is_counted(calls: list[tuple[str, str]], found: ClaimResult) -> None:
    result = ClaimResult("json", 2)
    holders = Holders(result)
    for task, token in calls:
        holders.take(task, Hold(token, token))
    assert result == found
    assert found.doubles == 0 or pytest.raises(AssertionError, result.check)


def seen(text: str | None = None, *marks: str, task_id: str = "1") -> Seen:
    return Seen("t", task_id, {"status": "new", "text": text}, marks)


def ledger(
    *, acknowledged: tuple[Change, ...] = (), refused: tuple[Change, ...] = (), lost: tuple[Change, ...] = ()
) -> Ledger:
    """Return a ledger after these calls, in this order."""
    made = Ledger()
    for number, change in enumerate((*acknowledged, *refused, *lost)):
        made.send(number, change, 0.0)
        if change in acknowledged:
            made.acknowledge(number, "1", 1.0)
        elif change in refused:
            made.refuse(number)
    assert made.lose(2.0) == len(lost)
    return made


@pytest.mark.parametrize(
    ("book", "found"),
    [
        pytest.param(ledger(acknowledged=(CREATE,)), None, id="an acknowledged task is gone"),
        pytest.param(ledger(acknowledged=(CREATE,)), seen(None, "first", task_id="2"), id="it has another id"),
        pytest.param(ledger(acknowledged=(CREATE, UPDATE)), seen(None, "first"), id="an acknowledged change is gone"),
        pytest.param(ledger(acknowledged=(CREATE, APPEND)), seen(None, "first"), id="an acknowledged entry is gone"),
        pytest.param(ledger(acknowledged=(CREATE,), lost=(UPDATE,)), seen("y", "first"), id="a change made up"),
        pytest.param(ledger(acknowledged=(CREATE,), refused=(UPDATE,)), seen("x", "first"), id="a refused change"),
        pytest.param(ledger(acknowledged=(CREATE,), lost=(APPEND,)), seen(None, "second"), id="an entry replaced"),
        pytest.param(ledger(acknowledged=(CREATE,)), seen(None, "first", "first"), id="an entry made twice"),
        pytest.param(ledger(lost=(CREATE,)), Seen("t", "1", {"status": "new"}, ["first"]), id="a task by half"),
    ],
)
def test_what_was_not_acknowledged_so_is_found(book: Ledger, found: Seen | None) -> None:
    with pytest.raises(AssertionError):
        book.settle({} if found is None else {"t": found})


@pytest.mark.parametrize(
    ("book", "found", "counted"),
    [
        pytest.param(
            ledger(acknowledged=(CREATE, UPDATE, APPEND)), seen("x", "first", "second"), 0, id="all acknowledged"
        ),
        pytest.param(ledger(acknowledged=(CREATE,), lost=(UPDATE,)), seen(None, "first"), 0, id="unanswered, not done"),
        pytest.param(ledger(acknowledged=(CREATE,), lost=(UPDATE,)), seen("x", "first"), 1, id="unanswered, done"),
        pytest.param(
            ledger(acknowledged=(CREATE,), lost=(APPEND,)),
            seen(None, "first", "second"),
            1,
            id="unanswered entry, done",
        ),
        pytest.param(ledger(lost=(CREATE,)), seen(None, "first"), 1, id="unanswered task, there"),
    ],
)
def test_what_may_be_is_taken_as_it_is(book: Ledger, found: Seen, counted: int) -> None:
    assert book.settle({"t": found}) == counted
    assert book.tasks == {"t": Kept("1", found.fields, frozenset(found.marks))}
    assert book.settle({"t": found}) == 0


def test_a_task_whose_creation_had_no_answer_may_be_absent() -> None:
    book = ledger(lost=(CREATE,))
    assert book.settle({}) == 0
    assert book.tasks == {}


FIRST = Start("a", 0.0, 1.0, is_sure=True)

SECOND = Start("b", 2.0, 3.0, is_sure=True)

BESIDE = Start("c", 2.5, 4.0, is_sure=True)

UNSURE = Start("d", 5.0, 6.0, is_sure=False)


@pytest.mark.parametrize(
    ("active", "done", "starts"),
    [
        pytest.param(["b"], [], [FIRST, SECOND], id="the last one"),
        pytest.param(["b"], [], [FIRST, SECOND, BESIDE], id="one of two at a time"),
        pytest.param(["c"], [], [FIRST, SECOND, BESIDE], id="the other"),
        pytest.param(["d"], [], [FIRST, UNSURE], id="one without an answer"),
        pytest.param(["a"], [], [FIRST, UNSURE], id="the one before it"),
        pytest.param([], ["b"], [FIRST, SECOND], id="the last one is done"),
        pytest.param([], [], [UNSURE], id="perhaps none was started"),
    ],
)
def test_the_active_task_may_be_any_that_can_have_been_started_last(
    active: list[str], done: list[str], starts: list[Start]
) -> None:
    check_active(active, done, starts)


@pytest.mark.parametrize(
    ("active", "done", "starts"),
    [
        pytest.param(["b", "a"], [], [FIRST, SECOND], id="two of them"),
        pytest.param(["a"], [], [FIRST, SECOND], id="one that another followed"),
        pytest.param([], ["a"], [FIRST, SECOND], id="none, though the last is not done"),
    ],
)
def test_no_other_active_task_is_legal(active: list[str], done: list[str], starts: list[Start]) -> None:
    with pytest.raises(AssertionError):
        check_active(active, done, starts)


def test_the_report_has_a_column_for_each_server_and_engine() -> None:
    first, second = SERVERS["heartbeat"](), SERVERS["tasks-v1"]("sqlite")
    results = [Result(first, 1, 2, 0.5, 60.0, Counts(kills=1_000)), Result(second, counts=Counts(kills=7))]
    page = report(results, 4, 99)
    assert "--kills 1007 --seed 99" in page
    head = "| | heartbeat on json | tasks-v1 on sqlite |\n| --- | ---: | ---: |\n"
    assert f"{head}| Servers killed | 1,000 | 7 |\n" in page
    assert "| Slowest first create after the last kill, seconds | 0.50 | 0.00 |" in page


def test_each_part_of_the_page_stays_when_the_other_one_is_written(tmp_path: Path) -> None:
    page = tmp_path / "storm.md"
    claims = report_claims([ClaimResult("json", 8, kills=1_234, longest=0.125)], 60, 7)
    assert "| json | 8 | 0 | 1,234 |" in claims
    for part in (claims, "# The storm\n\nold\n", "# The storm\n\nnew\n", claims):
        write_page(page, part)
    assert page.read_text("utf-8") == f"# The storm\n\nnew\n\n{claims}"
    assert claim_table([]).count("\n") == 1
