"""The section of HEARTBEAT.md shows one store, which its lock file names (HB-19)."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from heartbeat_mcp.mirror.entries import render_entry
from tests.doctor_report import report
from tests.heartbeat.conftest import Desk, call
from tests.heartbeat.mirror_board import Board, make_task

COOL = make_task("cool-apple", "eat an apple")
ENTRY = render_entry(COOL).decode() + "\n"
TEXT = "# Notes\nkeep me\n\n## TODO\n"


@pytest.mark.requirement("HB-19")
def test_a_store_that_does_not_own_the_section_leaves_it_alone_and_says_so_once(tmp_path: Path) -> None:
    board = Board.of(tmp_path, TEXT)
    board.path.with_name("one.json").write_text("the store of the owner")
    owner = board.process(store="one.json")
    board.call(owner, COOL)
    assert board.warnings.take() == []
    other = Board(board.path, warnings=board.warnings)
    process = other.process(store="two.json")
    shown = f"{board.text}- buy milk\n"
    board.save(shown)
    for _ in range(2):
        assert other.call(process, make_task("wild-coral", "swim")) == []
        assert process.is_current()
        assert board.text == shown
    (warning,) = board.warnings.take()
    assert "one.json" in warning
    assert "two.json" in warning
    assert str(tmp_path) not in warning
    (milk,) = board.call(owner)
    assert milk.raw_user_request == "buy milk"


@pytest.mark.requirement("HB-19")
def test_a_section_whose_owner_no_longer_exists_passes_to_the_next_server(tmp_path: Path) -> None:
    board = Board.of(tmp_path, TEXT)
    store = board.path.with_name("one.json")
    store.write_text("the store of the owner")
    board.call(board.process(store="one.json"), COOL)
    other = Board(board.path)
    process = other.process(store="two.json")
    other.call(process, make_task("brave-otter", "run"))
    assert process.is_current()
    store.unlink()
    assert not process.is_current()
    other.warnings.take()
    other.call(other.process(store="two.json"), make_task("wild-coral", "swim"))
    assert "wild-coral" in other.text
    assert "brave-otter" in other.text
    assert not any("are back" in warning for warning in other.warnings.take())
    assert json.loads(Path(f"{other.path}.lock").read_text())["store"].endswith("two.json")


@pytest.mark.requirement("HB-19")
@pytest.mark.parametrize("store", ["", f"/{'x' * 300}/a.json", "/\0"], ids=["in memory", "too long", "no path"])
def test_a_section_whose_owner_is_not_a_file_passes_to_the_next_server(tmp_path: Path, store: str) -> None:
    board = Board.of(tmp_path, TEXT)
    lock = board.path.with_name("HEARTBEAT.md.lock")
    lock.write_text(json.dumps({"store": store, "tenant": "", "id": "1"}))
    board.call(board.process(), COOL)
    assert board.text == f"{TEXT}{ENTRY}"
    assert json.loads(lock.read_text())["store"] == str(tmp_path / "tasks.json")
    assert board.warnings.take() == []


@pytest.mark.requirement("HB-19")
def test_a_store_that_was_moved_or_copied_keeps_its_section(tmp_path: Path) -> None:
    board = Board.of(tmp_path, TEXT)
    for name in ("one.json", "two.json"):
        board.path.with_name(name).write_text("the same store, under two names")
    board.call(board.process(store="one.json"), COOL)
    board.call(board.process(store="two.json"), make_task("wild-coral", "swim"))
    assert "wild-coral" in board.text
    assert board.warnings.take() == []


@pytest.mark.requirement("HB-19", "S4")
@pytest.mark.parametrize(
    ("content", "is_lock"),
    [
        ("", True),
        ('{"store": "/gone/a.json", "tenant": "", "id": "1"}\n', True),
        ('{"store": "/gone/a.js', True),
        ('{"store": 7, "tenant": "", "id": "1"}\n', True),
        ("\0" * 60, True),
        ('{"st', True),
        ("precious", False),
        ('{"mine": 1}', False),
    ],
)
def test_the_lock_file_names_the_owner_and_any_other_file_in_its_place_stays(
    tmp_path: Path, content: str, *, is_lock: bool
) -> None:
    board = Board.of(tmp_path, TEXT)
    lock = tmp_path / "HEARTBEAT.md.lock"
    lock.write_text(content)
    process = board.process()
    board.call(process, COOL)
    assert (COOL.id in board.text) is is_lock
    if is_lock:
        with board.store.read() as tasks:
            store_id = tasks.fields["store_id"]
        owner = {"store": str(tmp_path / "tasks.json"), "tenant": "", "id": store_id, "file": "", "section": "todo"}
        assert json.loads(lock.read_text()) == owner
    else:
        assert lock.read_text() == content


@pytest.mark.requirement("HB-19", "D5")
def test_a_full_disk_does_not_keep_the_owner_from_its_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = Board.of(tmp_path, TEXT)
    process = board.process()
    real = os.ftruncate

    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "ftruncate", full)
    board.call(process)
    monkeypatch.setattr(os, "ftruncate", real)
    board.call(process, COOL)
    assert board.text == f"{TEXT}{ENTRY}"


@pytest.mark.requirement("HB-19")
async def test_a_reading_call_lets_the_section_follow_a_store_that_somebody_else_changed(stored_desk: Desk) -> None:
    server = stored_desk.server()
    task = await call(server, "task_create", raw_user_request="feed the cat")
    store = stored_desk.folder / "heartbeat_state.json"
    store.write_text(store.read_text().replace("feed the cat", "feed the dog"))
    assert "feed the cat" in stored_desk.heartbeat.read_text()
    listed = await call(server, "task_list")
    assert listed["tasks"][0]["raw_user_request"] == "feed the dog"
    assert "feed the dog" in stored_desk.heartbeat.read_text()
    store.write_text(store.read_text().replace("feed the dog", "feed the fish"))
    assert (await call(server, "task_get", task_id=task["id"]))["raw_user_request"] == "feed the fish"
    assert "feed the fish" in stored_desk.heartbeat.read_text()


@pytest.mark.requirement("HB-19", "DOC-1")
async def test_doctor_names_both_stores_of_one_section(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    await call(desk.server(), "task_create", raw_user_request="feed the cat")
    other = {"HEARTBEAT_FILE_PATH": str(desk.heartbeat), "HEARTBEAT_STATE_PATH": str(tmp_path / "other.json")}
    (fault,) = report("heartbeat_mcp", tmp_path, other).of("heartbeat", "WRONG")
    assert "shows the tasks of heartbeat_state.json" in fault
    assert "those of other.json" in fault


@pytest.mark.requirement("HB-19", "HB-9")
def test_two_sections_of_one_file_belong_to_two_stores(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "# Notes\n\n## TODO\n\n## Later\n\n## B\nkeep me\n")
    for name in ("one.json", "two.json"):
        board.path.with_name(name).write_text("a store")
    other = Board(board.path, warnings=board.warnings)
    for _ in range(2):  # also once both are new processes
        now, later = board.process(store="one.json"), other.process(store="two.json", section="Later")
        board.call(now, COOL)
        other.call(later, make_task("wild-coral", "swim"))
        for heading, line in (("## TODO\n", "- tea\n"), ("## Later\n", "- call Ann\n")):
            board.save(board.text.replace(heading, heading + line, 1))
        (tea,), (ann,) = board.call(now), other.call(later)
        assert (tea.raw_user_request, ann.raw_user_request) == ("tea", "call Ann")
        board.finish(tea.id)
        other.finish(ann.id)
    board.call(now)
    other.call(later)
    coral = render_entry(other.tasks["wild-coral"]).decode()
    assert board.text == f"# Notes\n\n## TODO\n{ENTRY}\n## Later\n{coral}\n\n## B\nkeep me\n"
    assert not any("shows the tasks of" in warning for warning in board.warnings.take())
    lines = Path(f"{board.path}.lock").read_text().splitlines()
    assert {line["section"]: Path(line["store"]).name for line in map(json.loads, lines)} == {
        "todo": "one.json",
        "later": "two.json",
    }
    third = Board(board.path)
    third.call(third.process(store="three.json", section="LATER"), make_task("sly-fox", "run"))
    (warning,) = third.warnings.take()
    assert "shows the tasks of two.json" in warning
    assert "sly-fox" not in third.text
