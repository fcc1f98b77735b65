"""Tasks that are due later and tasks that recur: in the tools, in the list and in HEARTBEAT.md (HB-10, HB-12)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from heartbeat_mcp.models import HeartbeatStatus, HeartbeatTask
from heartbeat_mcp.settings import HeartbeatSettings
from heartbeat_mcp.view import HeartbeatView, list_active
from task_core.models import format_timestamp
from tests.core.notes import wait_until
from tests.heartbeat.conftest import Desk, call
from tests.heartbeat.mirror_board import START, Board, entry, found_in, make_task, mirrored, section
from tests.heartbeat.parts import parts_of
from tests.tool_client import ToolFailed


@pytest.fixture(autouse=True)
def _no_pass_is_planned_afterwards() -> Iterator[None]:
    yield
    while timers := [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]:
        for timer in timers:
            timer.cancel()
            timer.join()


COOL = make_task("cool-apple", "eat an apple")
DAY = timedelta(days=1)


def later(days: float) -> str:
    """Return the moment so many days after the boards of tests begin."""
    return format_timestamp(START + DAY + timedelta(days=days))


def scheduled(task_id: str, **fields: JsonValue) -> HeartbeatTask:
    return make_task(task_id, "look at the inbox", extra_fields=fields)


async def add(desk: Desk, **fields: JsonValue) -> dict[str, Any]:
    return await call(desk.server(), "task_create", raw_user_request="look at the inbox", **fields)


@pytest.mark.requirement("HB-3")
async def test_a_finished_task_that_recurs_is_pending_again_at_its_next_time(each_desk: Desk) -> None:
    server = each_desk.server()
    task = await call(server, "task_create", raw_user_request="look", every="4h", extra_fields={"room": "hall"})
    assert task["extra_fields"] == {"every": "4h", "room": "hall"}
    await call(server, "task_update", task_id=task["id"], updates={"status": "Running", "result": "2 letters"})
    updates: dict[str, JsonValue] = {"status": "Complete", "completed_at": "2026-03-01T12:00:00Z"}
    again = await call(server, "task_update", task_id=task["id"], updates=updates)
    assert (again["status"], again["completed_at"], again["result"]) == ("Pending", None, None)
    assert again["extra_fields"] == {
        "every": "4h",
        "room": "hall",
        "due": "2026-03-01T16:00:00Z",
        "last_completed_at": "2026-03-01T12:00:00.000000Z",
        "last_result": "Complete: 2 letters",
    }
    assert task["id"] not in each_desk.heartbeat.read_text("utf-8")
    each_desk.now += timedelta(hours=5)
    await call(server, "task_list")
    assert f"- [Pending] {task['id']} (every 4h, due 2026-03-01T16:00:00Z): look\n" in each_desk.heartbeat.read_text()
    failed = await call(server, "task_update", task_id=task["id"], updates={"status": "Fail"})
    assert failed["extra_fields"]["last_result"] == "Fail"
    ended = await call(server, "task_update", task_id=task["id"], updates={"status": "Complete", "every": None})
    assert ended["status"] == "Complete"


@pytest.mark.requirement("HB-2", "HB-3")
async def test_a_new_rule_says_when_the_task_is_due(desk: Desk) -> None:
    task = await add(desk, cron="0 9 * * *", tz="Europe/Paris")
    assert task["extra_fields"]["due"] == "2026-03-02T09:00:00+01:00"
    server = desk.server()
    task_id = (await call(server, "task_create", raw_user_request="x", due="2026-04-01"))["id"]

    async def update(**updates: JsonValue) -> dict[str, Any]:
        return (await call(server, "task_update", task_id=task_id, updates=updates))["extra_fields"]

    assert await update(every="2d") == {"due": "2026-04-01", "every": "2d"}
    changes: dict[int, dict[str, JsonValue]] = {2: {"status": "Complete"}, 7: {"extra_fields": {"every": "1w"}}}
    for days, updates in changes.items():
        changed = await update(**updates)
        due, last = (datetime.fromisoformat(changed[name]) for name in ("due", "last_completed_at"))
        assert due - last == days * DAY
    assert (await update(cron="0 0 1 * *", every=None))["due"] == "2026-04-01T00:00:00Z"
    assert "due" not in await update(due=None)


@pytest.mark.requirement("ERR-1", "HB-2", "HB-3")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"due": "2026-12-01T09:00"}, "due: give a date-time with an offset, such as 2026-12-01T09:00:00+01:00, or"),
        ({"every": "four hours"}, "every: give a number and m, h, d or w, such as 30m, 4h, 1d or 1w"),
        ({"cron": "@daily"}, "cron: give the five fields minute, hour, day, month and weekday"),
        ({"cron": "0 9 * * *", "tz": "Mars/Base"}, "tz: give the name of a time zone, such as Europe/Paris"),
        ({"tz": "Europe/Paris"}, "tz: it is the time zone of cron: give that too, or leave it out"),
        ({"every": "4h", "cron": "0 9 * * *"}, "every: give every or cron, not both; null removes the other one"),
        ({"extra_fields": {"every": 4}}, "every: give a number and m, h, d or w, such as 30m, 4h, 1d or 1w"),
    ],
)
async def test_a_schedule_that_is_not_well_formed_is_refused(
    desk: Desk, fields: dict[str, JsonValue], said: str
) -> None:
    with pytest.raises(ToolFailed) as failed:
        await add(desk, **fields)
    assert said in str(failed.value)
    task_id = (await add(desk))["id"]
    with pytest.raises(ToolFailed) as failed:
        await call(desk.server(), "task_update", task_id=task_id, updates=fields)
    assert f"updates.{said}" in str(failed.value)


@pytest.mark.requirement("HB-4")
async def test_tasks_that_are_not_due_are_listed_last_and_never_next(stored_desk: Desk) -> None:
    server = stored_desk.server()
    dues: list[JsonValue] = ["2026-03-09", "2026-03-05", None, "2026-01-01"]
    ids = [(await call(server, "task_create", raw_user_request="x", due=due))["id"] for due in dues]
    listed = (await call(server, "task_list"))["tasks"]
    assert [task["id"] for task in listed] == [ids[3], ids[2], ids[1], ids[0]]
    rest = await call(server, "task_list", after=ids[2])
    assert [task["id"] for task in rest["tasks"]] == [ids[1], ids[0]]
    settings = HeartbeatSettings.model_validate({"heartbeat_file_path": str(stored_desk.heartbeat)})
    parts = parts_of(settings, stored_desk.clock)
    view = HeartbeatView(parts.store, parts.archive, stored_desk.clock)
    assert view.next() == ids[3]
    work = view.work(10)
    assert ([line.id for line in work.ready], work.ready_count) == ([ids[3], ids[2]], 2)
    assert [line.note for line in view.lines()] == ["due 2026-01-01", "", "due 2026-03-05", "due 2026-03-09"]
    with parts.store.read() as tasks:
        shown = list_active(tasks)["tasks"]
    assert isinstance(shown, list)
    assert [task.get("due") for task in shown if isinstance(task, dict)][1:3] == [None, "2026-03-05T00:00:00.000000Z"]


@pytest.mark.requirement("AG-3", "AG-11")
async def test_each_occurrence_is_one_change_of_the_history_and_ends_its_claim(stored_desk: Desk) -> None:
    server = stored_desk.server(task_extra_tools="claims,history")
    task_id = (await call(server, "task_create", raw_user_request="look", every="4h"))["id"]
    await call(server, "claim_task", id=task_id, agent="ann")
    for _ in range(2):
        await call(server, "task_update", task_id=task_id, updates={"status": "Complete"}, agent="ann")
    changes = (await call(server, "task_history", id=task_id))["changes"]
    assert len(changes) == 3
    claim = await call(server, "claim_task", id=task_id, agent="bob")
    assert claim["claim"]["agent"] == "bob"


@pytest.mark.requirement("HB-10", "HB-12")
@pytest.mark.parametrize("is_restarted", [True, False])
def test_what_is_not_due_is_not_in_the_file_and_nobody_removed_it(tmp_path: Path, *, is_restarted: bool) -> None:
    board = mirrored(tmp_path, COOL)
    process = board.process()
    board.call(process, scheduled("wild-coral", due=later(1), every="1d"))
    assert board.text == section(entry(COOL))
    assert process.is_current()
    board.call(board.process())
    assert board.text == section(entry(COOL))
    board.now += DAY
    assert not process.is_current()
    process = board.process() if is_restarted else process
    board.call(process)
    coral = board.tasks["wild-coral"]
    assert board.text == section(entry(COOL), entry(coral)) or board.text == section(entry(coral), entry(COOL))
    assert f"- [Pending] wild-coral (every 1d, due {later(1)}): look at the inbox" in board.text
    board.call(process, make_task("old-star", "x"))
    board.now -= 2 * DAY
    board.call(process)
    board.call(board.process())
    assert board.text == section(entry(COOL), entry(board.tasks["old-star"]))
    assert board.warnings.take() == []
    process.close()


@pytest.mark.requirement("HB-12")
def test_the_entry_of_a_due_task_that_was_deleted_from_the_store_is_dropped(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    board.call(board.process(), scheduled("wild-coral", due=later(-1)))
    assert "wild-coral" in board.text
    board.remove("wild-coral")
    assert board.call(board.process()) == []
    assert board.text == section(entry(COOL))


@pytest.mark.requirement("HB-12")
def test_an_entry_of_a_due_task_that_somebody_removed_is_back_with_a_warning(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    board.call(board.process(), scheduled("wild-coral", due=later(-1)))
    text = board.text
    board.call(board.process())
    process = board.process()
    board.call(process)
    board.call(process, make_task("old-star", "x"))
    shown = board.text
    board.save(section(entry(COOL)))
    board.call(process)
    assert board.text == shown != text
    (warning,) = board.warnings.take()
    assert warning.startswith("Entries that were missing from HEARTBEAT.md are back: ")
    assert "wild-coral" in warning
    process.close()


@pytest.mark.requirement("HB-17", "HB-12")
@pytest.mark.parametrize("is_killed", [True, False])
def test_each_occurrence_is_ticked_off_once(tmp_path: Path, *, is_killed: bool) -> None:
    board = mirrored(tmp_path, COOL)
    board.call(board.process(), scheduled("wild-coral", every="1d"))
    for number in range(3):
        task = board.tasks["wild-coral"]
        assert entry(task) in board.text
        board.save(board.text.replace("[Pending] wild-coral", "[x] wild-coral"))
        if is_killed:
            board.call_and_die()
        process = board.process()
        board.call(process)
        board.call(board.process())
        again = board.tasks["wild-coral"]
        assert again.status is HeartbeatStatus.PENDING
        assert again.starts is not None
        assert again.starts > board.now + DAY - timedelta(minutes=1)
        assert board.text == section(entry(COOL)), number
        warned = board.warnings.take()
        assert len(warned) == (0 if is_killed else 1)
        if is_killed:
            board.save(board.text)
        board.now += DAY
        board.call(process)
        process.close()
    board.warnings.take()


@pytest.mark.requirement("HB-17")
def test_a_tick_that_was_applied_before_a_long_sleep_is_not_one_of_the_next_occurrence(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    board.call(board.process(), scheduled("wild-coral", every="1d"))
    board.save(board.text.replace("[Pending] wild-coral", "[x] wild-coral"))
    board.call_and_die()
    done = board.tasks["wild-coral"]
    board.now += 10 * DAY
    process = board.process()
    board.call(process)
    assert board.tasks["wild-coral"] == done
    assert entry(done) in board.text
    board.save(board.text.replace("[Pending] wild-coral", "[x] wild-coral"))
    board.call(process)
    assert board.tasks["wild-coral"].starts != done.starts
    process.close()


@pytest.mark.requirement("HB-12", "HB-15")
@pytest.mark.parametrize(
    "fields",
    [
        {"every": "4h"},
        {"due": "2026-01-01"},
        {"cron": "*/5 0 * * 1-5", "tz": "America/New_York", "due": "2026-01-01T09:00:00-05:00"},
    ],
)
def test_an_entry_is_read_back_with_its_schedule(fields: dict[str, JsonValue]) -> None:
    task = make_task("wild-coral", "look (every 2h)", extra_fields=fields)
    (found,) = found_in(section(entry(task)))
    assert (found.id, found.raw_user_request, found.extra_fields) == (task.id, task.raw_user_request, fields)
    bare = entry(task).replace("  <!-- task_id: wild-coral -->\n", "")
    (found,) = found_in(section(bare))
    assert (found.id, found.extra_fields, found.ideas) == (task.id, fields, ())


@pytest.mark.requirement("HB-11", "HB-15")
def test_text_cannot_forge_a_schedule_and_no_word_is_lost() -> None:
    task = make_task("wild-coral", "x (every 4h)", extra_fields={"every": "soon"})
    assert "wild-coral: x (every 4h)\n" in entry(task)
    (found,) = found_in(section(entry(task)))
    assert (found.raw_user_request, found.extra_fields) == ("x (every 4h)", {})
    edited = entry(task).replace("wild-coral: x", "wild-coral (every now and then): x")
    (found,) = found_in(section(edited))
    assert (found.extra_fields, found.ideas) == ({}, ("(every now and then) x (every 4h)",))


@pytest.mark.requirement("HB-12")
def test_a_bullet_recurs_only_if_its_line_ends_in_a_mark(tmp_path: Path) -> None:
    bullets = ("look at the inbox (every 4h)", "[x] water (cron 0 9 * * *)", "pay (due 2027-01-01)")
    board = Board.of(tmp_path, "## TODO\n" + "".join(f"- {bullet}\n" for bullet in bullets))
    process = board.process()
    found = {task.raw_user_request: task.extra_fields for task in board.call(process)}
    assert found["look at the inbox"] == {"every": "4h"}
    assert found["pay (due 2027-01-01)"] == {}
    assert found["water"]["due"] == "2026-03-03T09:00:00Z"
    assert found["water"]["last_result"] == "Complete"
    assert "(every 4h): look at the inbox" in board.text
    assert "water" not in board.text
    (warning,) = board.warnings.take()
    assert "returns" not in warning
    board.save(board.text + "- every 4h: call Ann\n")
    (task,) = board.call(process)
    assert (task.raw_user_request, task.extra_fields) == ("every 4h: call Ann", {})
    (warning,) = board.warnings.take()
    once = f"To be done once: {task.id}. A task returns if its line ends in a mark such as (every 4h)."
    assert warning.endswith(once)
    process.close()


def test_fields_of_those_names_from_before_are_shown_and_have_no_effect(tmp_path: Path) -> None:
    task = scheduled("wild-coral", due="when it rains", every=["day"], cron="0 9 * * *", tz="here")
    plain = make_task("wild-coral", "look at the inbox")
    board = mirrored(tmp_path, task)
    assert board.text == section(entry(plain))
    assert board.tasks["wild-coral"] == task


@pytest.mark.requirement("HB-18")
def test_the_server_writes_an_entry_by_itself_once_it_is_due(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    process = board.process()
    board.call(process, scheduled("old-star", due=later(1)))
    board.call(process, scheduled("wild-coral", due=format_timestamp(board.now + timedelta(seconds=5))))
    wait_until(lambda: "wild-coral" in board.text)
    assert "old-star" not in board.text
    process.close()
