"""How HEARTBEAT.md is read and written: its access, its links, and everything that can go wrong (HB-9, HB-13, H4)."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from typing_extensions import override

from heartbeat_mcp.mirror import Mirror
from heartbeat_mcp.mirror.entries import render_entry
from heartbeat_mcp.models import Task
from task_core.files import identify
from task_core.store.base import Collection
from task_core.warning_list import WarningList
from tests.heartbeat.mirror_board import Board, make_task

COOL = make_task("cool-apple", "eat an apple")
ENTRY = render_entry(COOL).decode() + "\n"


class Meddling(Collection[Task]):
    """Tasks at each look into which somebody else writes the file."""

    def __init__(self, board: Board, texts: list[str]) -> None:
        super().__init__(dict(board.tasks))
        self._board = board
        self._texts = texts

    @override
    def __contains__(self, record_id: object) -> bool:
        if self._texts:
            self._board.path.write_text(self._texts.pop(0))
        return super().__contains__(record_id)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.requirement("HB-8", "S4")
def test_a_missing_file_is_made_for_its_owner_with_the_section_alone(tmp_path: Path) -> None:
    board = Board(tmp_path / "HEARTBEAT.md")
    mirror = board.mirror(section="待办")
    assert not mirror.is_current()
    assert board.call(mirror) == []
    assert board.text == "## 待办\n"
    assert mode(board.path) == 0o600
    assert mirror.is_current()
    board.path.unlink()
    assert not mirror.is_current()
    board.path.symlink_to(board.path.name)
    assert not mirror.is_current()
    board.path.unlink()
    board.call(mirror, COOL)
    assert board.text == f"## 待办\n{ENTRY}"
    assert [path.name for path in tmp_path.iterdir()] == ["HEARTBEAT.md"]


@pytest.mark.requirement("HB-12", "HB-13")
@pytest.mark.parametrize("seconds", [300_000_000_000, -300_000_000_000], ids=["after year 9999", "before year 1"])
def test_a_file_with_a_time_that_no_calendar_has_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    board = Board.of(tmp_path, "## TODO\n- buy milk\n")
    real = os.fstat

    def far(descriptor: int) -> os.stat_result:
        return os.stat_result(real(descriptor), {"st_mtime_ns": seconds * 10**9})

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", far)
        found = board.mirror().additions(board.stored)
    assert [one.raw_user_request for one in found] == ["buy milk"]


@pytest.mark.requirement("HB-9", "H1")
@pytest.mark.parametrize(
    "text",
    [
        "## TODO",
        "## TODO\n",
        "## TODO\n## B",
        "## TODO\n\n\n\n# B",
        "x\n## TODO\n\n \n",
        "## TODO\r\ntext",
        "\ufeff## TODO",
    ],
)
def test_a_section_that_shows_all_tasks_is_not_written(tmp_path: Path, text: str) -> None:
    board = Board.of(tmp_path, text)
    before = identify(board.path)
    board.call(board.mirror())
    assert board.data == text.encode()
    assert identify(board.path) == before


@pytest.mark.requirement("HB-9", "HB-10")
@pytest.mark.parametrize(
    "text",
    [
        f"## TODO\n\n{ENTRY}\n\n\n## B",
        f"## TODO\n{ENTRY}## B",
        f"## TODO\n{ENTRY.rstrip()}",
        f"## TODO\r{ENTRY}text\n",
        ENTRY.replace("\n", " \r\n").join(["## TODO\n", "\n### C\n- d"]),
    ],
)
def test_blank_lines_and_line_ends_are_no_reason_to_write(tmp_path: Path, text: str) -> None:
    board = Board.of(tmp_path, text)
    board.call(board.mirror(), COOL)
    assert board.data == text.encode()


@pytest.mark.requirement("HB-9", "HB-10", "H1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("## TODO", f"## TODO\n{ENTRY}", id="no final newline"),
        pytest.param("## TODO\n## B", f"## TODO\n{ENTRY}\n## B", id="no blank line"),
        pytest.param("## TODO\n\n\n## B", f"## TODO\n{ENTRY}\n\n## B", id="two blank lines"),
        pytest.param("## TODO\n\ntext", f"## TODO\n\n{ENTRY}\ntext", id="a blank line below the heading"),
        pytest.param("## TODO\ntext", f"## TODO\n{ENTRY}\ntext", id="none below the heading"),
    ],
)
def test_blank_lines_next_to_headings_stay_and_never_grow(tmp_path: Path, text: str, expected: str) -> None:
    board = Board.of(tmp_path, text)
    mirror = board.mirror()
    board.call(mirror, COOL)
    assert board.text == expected
    board.finish(COOL.id)
    board.call(mirror)
    emptied = board.text
    assert emptied.replace("\n", "") == text.replace("\n", "")
    for _ in range(3):
        board.put(COOL)
        board.call(board.mirror())
        assert board.text.count("\n") <= expected.count("\n") + 1
        board.finish(COOL.id)
        board.call(board.mirror())
        assert board.text == emptied


@pytest.mark.requirement("H1")
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_new_lines_end_like_the_first_line_of_the_file(tmp_path: Path, newline: str) -> None:
    board = Board.of(tmp_path, f"a{newline}b\n## TODO\n")
    board.call(board.mirror(), COOL)
    assert board.data.decode() == f"a{newline}b\n## TODO\n{ENTRY.replace(chr(10), newline)}"


@pytest.mark.requirement("HB-9", "H4", "S4")
def test_mode_and_link_stay(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "")
    target = tmp_path / "real.md"
    board.path.rename(target)
    target.chmod(0o640)
    board.path.symlink_to("real.md")
    board.call(board.mirror(), COOL)
    assert board.path.is_symlink()
    assert board.text == target.read_text() == f"## TODO\n{ENTRY}"
    assert mode(target) == 0o640


@pytest.mark.requirement("S4")
def test_a_backup_is_private_and_follows_no_planted_link(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n" + ENTRY.replace("an apple", "a pear"))
    victim = tmp_path / "victim"
    victim.write_text("precious")
    board.backup.symlink_to(victim)
    board.call(board.mirror(), COOL)
    assert victim.read_text() == "precious"
    assert not board.backup.is_symlink()
    assert mode(board.backup) == 0o600
    assert board.backup.read_text() == "## TODO\n" + ENTRY.replace("an apple", "a pear")


@pytest.mark.requirement("S4", "S3")
def test_a_warning_holds_no_text_of_a_task_and_no_hidden_characters(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    task = make_task("id\u202e" + "x" * 200, "secret")
    board = Board.of(tmp_path, "## TODO\n" + render_entry(task.changed(raw_user_request="hidden")).decode())
    board.call(board.mirror(), task)
    (warning,) = board.warnings.take()
    assert "id\\u{202e}x" in warning
    assert len(warning) < 400
    assert "secret" not in caplog.text + warning
    assert "hidden" not in caplog.text + warning


@pytest.mark.requirement("D3")
def test_temporary_files_of_a_killed_process_are_swept(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "")
    for name in ("HEARTBEAT.md", "HEARTBEAT.md.bak"):
        (tmp_path / f".{name}.0123456789abcdef.tmp").write_text("torn")
    board.call(board.mirror())
    assert [path.name for path in tmp_path.iterdir()] == ["HEARTBEAT.md"]


def _folder(path: Path) -> None:
    path.mkdir()


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _utf_16(path: Path) -> None:
    path.write_text("## TODO\n- x\n", "utf-16")


def _missing_folder(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere") / path.name)


OBSTACLES: list[Callable[[Path], None]] = [_folder, _fifo, _loop, _utf_16, _missing_folder]


@pytest.mark.requirement("HB-13", "H4", "C5", "WARN-1")
@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda make: make.__name__)
def test_what_cannot_be_written_is_one_warning_and_is_tried_again(
    tmp_path: Path, obstacle: Callable[[Path], None]
) -> None:
    board = Board(tmp_path / "HEARTBEAT.md")
    obstacle(board.path)
    mirror = board.mirror()
    assert mirror.additions(board.stored) == []
    assert not mirror.holds("cool-apple")
    board.put(COOL)
    for _ in range(2):
        mirror.write(board.stored)
        assert not mirror.is_current()
    (warning,) = board.warnings.take()
    assert "HEARTBEAT.md could not be written" in warning
    assert str(tmp_path) not in warning
    board.path.rmdir() if board.path.is_dir() else board.path.unlink()
    board.call(mirror)
    assert board.text == f"## TODO\n{ENTRY}"
    assert mirror.is_current()
    assert [path.name for path in tmp_path.iterdir()] == ["HEARTBEAT.md"]


@pytest.mark.requirement("HB-13", "H4")
def test_a_read_only_file_is_left_alone_with_a_warning(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n")
    board.path.chmod(0o444)
    mirror = board.mirror()
    board.call(mirror)
    assert mirror.is_current()
    board.call(mirror, COOL)
    assert not mirror.is_current()
    assert board.text == "## TODO\n"
    assert mode(board.path) == 0o444
    (warning,) = board.warnings.take()
    assert "read-only" in warning
    board.path.chmod(0o600)
    board.call(mirror)
    assert board.text == f"## TODO\n{ENTRY}"


@pytest.mark.requirement("HB-13", "WARN-1")
def test_a_fault_that_comes_back_is_news_again(tmp_path: Path) -> None:
    board = Board(tmp_path / "HEARTBEAT.md")
    mirror = board.mirror()
    for _ in range(2):
        board.path.mkdir()
        board.call(mirror)
        board.path.rmdir()
        board.call(mirror)
        board.path.unlink()
        assert len(board.warnings.take()) == 1


@pytest.mark.requirement("HB-13", "D4")
def test_a_folder_that_takes_no_new_files_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n- x\n")
    # Too long a name for the temporary file, which root may not make either.
    long = tmp_path / f"{'n' * 240}.md"
    board.path.rename(long)
    board.path = long
    mirror = board.mirror()
    board.call(mirror)
    assert board.text == "## TODO\n- x\n"
    assert not mirror.is_current()
    assert board.call(mirror) == []
    assert len(board.warnings.take()) == 1


@pytest.mark.requirement("HB-13", "HB-15")
def test_a_file_that_cannot_be_read_recovers_nothing_with_a_warning(tmp_path: Path) -> None:
    board = Board(tmp_path / "HEARTBEAT.md")
    board.path.mkdir()
    assert board.mirror().recover() == []
    (warning,) = board.warnings.take()
    assert "HEARTBEAT.md could not be read" in warning


@pytest.mark.requirement("HB-15")
def test_without_a_file_there_is_nothing_to_recover_and_nothing_to_say(tmp_path: Path) -> None:
    board = Board(tmp_path / "HEARTBEAT.md")
    assert board.mirror().recover() == []
    assert board.warnings.take() == []


@pytest.mark.requirement("HB-13")
def test_a_mirror_that_is_not_enabled_only_recovers(tmp_path: Path) -> None:
    board = Board.of(tmp_path, f"## TODO\n- buy milk\n{ENTRY}")
    mirror = board.mirror(enabled=False)
    assert mirror.is_current()
    assert mirror.additions(board.stored) == []
    assert not mirror.holds("cool-apple")
    mirror.write(board.stored)
    assert board.text == f"## TODO\n- buy milk\n{ENTRY}"
    assert [found.id for found in mirror.recover()] == [None, "cool-apple"]


@pytest.mark.requirement("C4", "HB-1")
def test_the_ids_of_the_whole_file_are_standing(tmp_path: Path) -> None:
    board = Board.of(
        tmp_path, f"<!-- task_id: old-star -->\n\n## TODO\n{ENTRY}\n## B\n```\n<!-- task_id: wild-coral -->\n"
    )
    mirror = board.mirror()
    assert [mirror.holds(task_id) for task_id in ("old-star", "cool-apple", "wild-coral")] == [True] * 3
    assert not mirror.holds("calm-river")
    board.put(COOL.changed(result="eaten"))
    mirror.write(board.stored)
    assert mirror.is_current()
    assert [mirror.holds(task_id) for task_id in ("old-star", "cool-apple", "wild-coral")] == [True] * 3
    assert not mirror.holds("calm-river")


@pytest.mark.requirement("HB-9", "HB-13", "ST-3")
def test_an_edit_that_keeps_size_and_time_of_the_file_is_not_written_over(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n\n## B\n\n- [ ] mine\n")
    mirror = board.mirror()
    board.put(COOL)
    mirror.write(board.stored)
    times = board.path.stat().st_atime_ns, board.path.stat().st_mtime_ns
    with board.path.open("r+") as file:
        file.write(board.text.replace("[ ] mine", "[x] mine"))
    os.utime(board.path, ns=times)
    board.put(COOL.changed(result="eaten"))
    mirror.write(board.stored)
    assert "- [x] mine" in board.text
    assert "eaten" in board.text


@pytest.mark.requirement("HB-9", "C5")
def test_what_somebody_writes_during_a_write_is_not_lost(tmp_path: Path) -> None:
    board = Board.of(tmp_path, f"## TODO\n{ENTRY}\n## B\n")
    board.put(COOL.changed(result="eaten"))
    mirror = board.mirror()
    mirror.additions(board.stored)
    mirror.write(Meddling(board, [f"## TODO\n{ENTRY}- buy milk\n\n## C\n"]))
    shown = render_entry(board.tasks[COOL.id]).decode()
    assert board.text == f"## TODO\n{shown}\n\n- buy milk\n\n## C\n"
    assert not mirror.is_current()


@pytest.mark.requirement("HB-13", "C5")
def test_a_file_that_keeps_changing_is_left_for_the_next_call(tmp_path: Path) -> None:
    texts = [f"## TODO\n{ENTRY.replace('an apple', 'x' * number)}" for number in range(1, 100)]
    last = texts[-1]
    board = Board.of(tmp_path, last)
    board.put(COOL)
    mirror = board.mirror()
    mirror.write(Meddling(board, texts))
    assert not mirror.is_current()
    (*_, warning) = board.warnings.take()
    assert "changed" in warning
    board.path.write_text(last)
    mirror.write(board.stored)
    assert board.text == f"## TODO\n{ENTRY}"


@pytest.mark.requirement("C5", "H1", "HB-9")
def test_an_editor_that_saves_in_place_loses_nothing_to_a_call_in_between(tmp_path: Path) -> None:
    path = tmp_path / "HEARTBEAT.md"
    text = "# Notes\nkeep me\n\n## TODO\n- buy milk\n"
    path.write_text(text)
    mirror = Mirror(path, WarningList(), fsync=False)
    mirror.write(Collection({}))
    with path.open("w") as file, ThreadPoolExecutor(1) as pool:
        call = pool.submit(mirror.write, Collection({}))
        wait([call], timeout=0.03)
        assert not call.done()
        file.write(text)
        file.flush()
        call.result()
    assert path.read_text() == text


@pytest.mark.requirement("C5")
def test_a_file_that_stays_empty_is_given_its_section_after_a_while(tmp_path: Path) -> None:
    path = tmp_path / "HEARTBEAT.md"
    path.write_text("")
    Mirror(path, WarningList(), fsync=False, settle_seconds=0.01).write(Collection({}))
    assert path.read_text() == "## TODO\n"


@pytest.mark.requirement("C5", "HB-13")
def test_a_file_that_never_comes_to_rest_is_read_as_it_is(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "")
    is_over = threading.Event()

    def touch() -> None:
        while not is_over.is_set():
            os.utime(board.path)

    os.utime(board.path)
    thread = threading.Thread(target=touch)
    thread.start()
    try:
        assert not Mirror(board.path, board.warnings, settle_seconds=0.04).holds("cool-apple")
    finally:
        is_over.set()
        thread.join()
