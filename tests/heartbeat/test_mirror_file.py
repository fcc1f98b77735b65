"""How HEARTBEAT.md is read and written: its access, its links, and everything that can go wrong (HB-9, HB-13, H4)."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest
from typing_extensions import override

from heartbeat_mcp.mirror.entries import render_entry
from task_core.files import identify
from tests.core.notes import wait_until
from tests.heartbeat.mirror_board import Board, make_task

COOL = make_task("cool-apple", "eat an apple")
ENTRY = render_entry(COOL).decode() + "\n"


@dataclass
class MeddledBoard(Board):
    """A board whose file somebody else writes between the reading of a changed entry and the writing of the section."""

    texts: list[str] = field(default_factory=list)

    @override
    def clock(self) -> datetime:
        if self.texts:
            self.path.write_text(self.texts.pop(0))
        return super().clock()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.requirement("HB-8", "S4")
def test_a_missing_file_is_made_for_its_owner_with_the_section_alone(tmp_path: Path) -> None:
    board = Board(tmp_path / "HEARTBEAT.md")
    process = board.process(section="待办")
    assert not process.is_current()
    assert board.call(process) == []
    assert board.text == "## 待办\n"
    assert mode(board.path) == 0o600
    assert process.is_current()
    board.path.unlink()
    assert not process.is_current()
    board.path.symlink_to(board.path.name)
    assert not process.is_current()
    board.path.unlink()
    board.call(process, COOL)
    assert board.text == f"## 待办\n{ENTRY}"
    assert names(tmp_path) == ["HEARTBEAT.md", "HEARTBEAT.md.lock"]


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
        found = board.call(board.process())
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
    assert board.call(board.process()) == []
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
    board.call(board.process(), COOL)
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
    process = board.process()
    board.call(process, COOL)
    assert board.text == expected
    board.call(process, board.finished(COOL.id))
    assert board.text.replace("\n", "") == text.replace("\n", "")
    emptied = board.text + "\n" * (not text.endswith("\n") and "\n" not in text)
    for _ in range(3):
        board.call(board.process(), COOL)
        assert board.text.count("\n") <= expected.count("\n") + 1
        board.call(board.process(), board.finished(COOL.id))
        assert board.text == emptied


@pytest.mark.requirement("H1")
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_new_lines_end_like_the_first_line_of_the_file(tmp_path: Path, newline: str) -> None:
    board = Board.of(tmp_path, f"a{newline}b\n## TODO\n")
    board.call(board.process(), COOL)
    assert board.data.decode() == f"a{newline}b\n## TODO\n{ENTRY.replace(chr(10), newline)}"


@pytest.mark.requirement("HB-9", "H4", "S4")
def test_mode_and_link_stay(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n")
    target = tmp_path / "real.md"
    board.path.rename(target)
    target.chmod(0o640)
    board.path.symlink_to("real.md")
    board.call(board.process(), COOL)
    assert board.path.is_symlink()
    assert board.text == target.read_text() == f"## TODO\n{ENTRY}"
    assert mode(target) == 0o640


@pytest.mark.requirement("S4")
def test_a_backup_is_private_and_follows_no_planted_link(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n" + ENTRY.replace("an apple", "a pear"))
    victim = tmp_path / "victim"
    victim.write_text("precious")
    board.backup.symlink_to(victim)
    board.put(COOL)
    board.call(board.process())
    assert victim.read_text() == "precious"
    assert not board.backup.is_symlink()
    assert mode(board.backup) == 0o600
    assert board.backup.read_text().endswith("-->\n## TODO\n" + ENTRY.replace("an apple", "a pear"))


@pytest.mark.requirement("S3", "HB-12")
def test_a_warning_repeats_little_of_an_edit_and_no_hidden_characters(tmp_path: Path) -> None:
    task = make_task("id\u202e" + "x" * 200, "secret")
    edited = task.changed(raw_user_request="\x1b[31m" + "y" * 1000)
    board = Board.of(tmp_path, "## TODO\n" + render_entry(edited).decode())
    board.put(task)
    board.call(board.process())
    (warning,) = board.warnings.take()
    assert "id\\u{202e}x" in warning
    assert warning.isprintable()
    assert len(warning) < 500
    assert "secret" not in warning


@pytest.mark.requirement("D3")
def test_temporary_files_of_a_killed_process_are_swept(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "")
    for name in ("HEARTBEAT.md", "HEARTBEAT.md.bak"):
        (tmp_path / f".{name}.0123456789abcdef.tmp").write_text("torn")
    board.call(board.process())
    assert names(tmp_path) == ["HEARTBEAT.md", "HEARTBEAT.md.lock"]


def _folder(path: Path) -> None:
    path.mkdir()


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _utf_16(path: Path) -> None:
    path.write_text("## TODO\n- x\n", "utf-16")


OBSTACLES: list[Callable[[Path], None]] = [_folder, _fifo, _loop, _utf_16]


@pytest.mark.requirement("HB-13", "H4", "C5", "WARN-1")
@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda make: make.__name__)
def test_what_cannot_be_written_is_one_warning_and_is_tried_again(
    tmp_path: Path, obstacle: Callable[[Path], None]
) -> None:
    board = Board(tmp_path / "HEARTBEAT.md")
    obstacle(board.path)
    process = board.process()
    for _ in range(2):
        assert board.call(process, COOL) == []
        assert not process.is_current()
        assert not process.holds("cool-apple")
    (warning,) = board.warnings.take()
    assert re.search("HEARTBEAT.md could not be (read|written)", warning)
    assert str(tmp_path) not in warning
    board.path.rmdir() if board.path.is_dir() else board.path.unlink()
    board.call(process)
    assert board.text == f"## TODO\n{ENTRY}"
    assert process.is_current()
    assert names(tmp_path) == ["HEARTBEAT.md", "HEARTBEAT.md.lock"]


@pytest.mark.requirement("HB-13", "H4", "C5")
def test_a_link_into_a_folder_that_is_not_there_is_one_warning_until_it_is(tmp_path: Path) -> None:
    board = Board(tmp_path / "HEARTBEAT.md")
    board.path.symlink_to("nowhere/HEARTBEAT.md")
    process = board.process()
    for _ in range(2):
        board.call(process, COOL)
        assert not process.is_current()
    (warning,) = board.warnings.take()
    assert "HEARTBEAT.md was left as it is" in warning
    assert str(tmp_path) not in warning
    (tmp_path / "nowhere").mkdir()
    board.call(process)
    assert board.text == f"## TODO\n{ENTRY}"


@pytest.mark.requirement("HB-13", "H4")
def test_a_read_only_file_is_left_alone_with_a_warning(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n")
    board.path.chmod(0o444)
    process = board.process()
    board.call(process)
    assert process.is_current()
    board.call(process, COOL)
    assert not process.is_current()
    assert board.text == "## TODO\n"
    assert mode(board.path) == 0o444
    (warning,) = board.warnings.take()
    assert "read-only" in warning
    board.path.chmod(0o600)
    board.call(process)
    assert board.text == f"## TODO\n{ENTRY}"


@pytest.mark.requirement("HB-13", "WARN-1")
def test_a_fault_that_comes_back_is_news_again(tmp_path: Path) -> None:
    board = Board(tmp_path / "HEARTBEAT.md")
    process = board.process()
    for _ in range(2):
        board.path.mkdir()
        board.call(process)
        board.path.rmdir()
        board.call(process)
        board.path.unlink()
        assert len(board.warnings.take()) == 1


@pytest.mark.requirement("HB-13", "D4")
def test_a_folder_that_takes_no_new_files_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n- x\n")
    # Too long a name for the temporary file, which root may not make either.
    long = tmp_path / f"{'n' * 240}.md"
    board.path.rename(long)
    board.path = long
    process = board.process()
    board.call(process)
    assert board.text == "## TODO\n- x\n"
    assert not process.is_current()
    assert board.call(process) == []
    (_, warning) = board.warnings.take()
    assert "could not be written" in warning


@pytest.mark.requirement("HB-13", "HB-15")
def test_a_file_that_cannot_be_read_recovers_nothing_with_a_warning(tmp_path: Path) -> None:
    board = Board(tmp_path / "HEARTBEAT.md")
    board.path.mkdir()
    assert board.call(board.process(may_write=False), COOL) == []
    (warning,) = board.warnings.take()
    assert "HEARTBEAT.md could not be read" in warning


@pytest.mark.requirement("HB-15")
def test_without_a_file_there_is_nothing_to_recover_and_nothing_to_say(tmp_path: Path) -> None:
    board = Board(tmp_path / "HEARTBEAT.md")
    assert board.call(board.process(may_write=False), COOL) == []
    assert (board.warnings.take(), names(tmp_path)) == ([], [])


@pytest.mark.requirement("HB-13", "HB-15")
def test_a_process_that_may_not_write_the_file_only_recovers_a_lost_store(tmp_path: Path) -> None:
    text = f"## TODO\n- buy milk\n{ENTRY}"
    board = Board.of(tmp_path, text, is_lost=True)
    process = board.process(may_write=False)
    wild = make_task("wild-coral", "see the coral")
    milk, cool = sorted(board.call(process, wild), key=lambda task: task.created_at)
    assert (milk.raw_user_request, cool.id) == ("buy milk", "cool-apple")
    assert process.is_current()
    assert not process.holds("cool-apple")
    board.save(text + "- clean\n")
    assert board.call(board.process(may_write=False), wild.changed(result="seen")) == []
    assert board.text == text + "- clean\n"
    # A process that may write goes on from there: what was recovered is not new to it.
    assert [task.raw_user_request for task in board.call(board.process())] == ["clean"]
    assert not board.backup.exists()


@pytest.mark.requirement("C4", "HB-1")
def test_the_ids_of_the_whole_file_are_standing(tmp_path: Path) -> None:
    board = Board.of(
        tmp_path, f"<!-- task_id: old-star -->\n\n## TODO\n{ENTRY}\n## B\n```\n<!-- task_id: wild-coral -->\n"
    )
    process = board.process()
    board.call(process)
    board.call(process, COOL.changed(result="eaten"))
    assert process.is_current()
    assert [process.holds(task_id) for task_id in ("old-star", "cool-apple", "wild-coral")] == [True] * 3
    assert not process.holds("calm-river")


@pytest.mark.requirement("HB-9", "HB-13", "ST-3")
def test_an_edit_that_keeps_size_and_time_of_the_file_is_not_written_over(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n\n## B\n\n- [ ] mine\n")
    process = board.process()
    board.call(process, COOL)
    times = board.path.stat().st_atime_ns, board.path.stat().st_mtime_ns
    with board.path.open("r+") as file:
        file.write(board.text.replace("[ ] mine", "[x] mine"))
    os.utime(board.path, ns=times)
    board.call(process, COOL.changed(result="eaten"))
    assert "- [x] mine" in board.text
    assert "eaten" in board.text


@pytest.mark.requirement("HB-9", "C5")
def test_what_somebody_writes_during_a_write_is_not_lost(tmp_path: Path) -> None:
    board = MeddledBoard.of(tmp_path, f"## TODO\n{ENTRY.replace('an apple', 'a pear')}\n## B\n")
    board.put(COOL)
    board.texts.append(f"## TODO\n{ENTRY}- buy milk\n\n## C\n")
    process = board.process()
    (milk,) = board.call(process)
    assert board.text == f"## TODO\n{ENTRY}{render_entry(milk).decode()}\n\n## C\n"
    assert process.is_current()


@pytest.mark.requirement("HB-13", "HB-18", "C5")
def test_a_file_that_keeps_changing_is_left_until_it_is_at_rest(tmp_path: Path) -> None:
    texts = [f"## TODO\n{ENTRY.replace('an apple', 'x' * number)}" for number in range(1, 100)]
    board = MeddledBoard.of(tmp_path, texts[-1])
    board.put(COOL)
    board.texts.extend(texts)
    process = board.process()
    for warned in (1, 0):
        board.call(process)
        assert not process.is_current()
        warnings = board.warnings.take()
        assert len(warnings) == warned
        assert all("HEARTBEAT.md may not show 1 task yet" in warning for warning in warnings)
    assert board.texts
    board.texts.clear()
    wait_until(process.is_current)
    assert board.text == f"## TODO\n{ENTRY}"
    process.close()
