"""HEARTBEAT.md is never written while somebody else may be writing it (HB-18)."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from heartbeat_mcp.mirror import access
from heartbeat_mcp.mirror.access import FileInUse, make_rename, read_at_rest
from heartbeat_mcp.mirror.entries import render_entry
from task_core import durable
from task_core.durable import FileChanged, replace_file
from task_core.errors import StoreUnreadable
from task_core.files import HeldFile
from tests.core.notes import in_background, wait_until
from tests.heartbeat.mirror_board import Board, make_task

COOL = make_task("cool-apple", "eat an apple")
ENTRY = render_entry(COOL).decode() + "\n"
TEXT = "# Notes\nkeep me\n\n## TODO\n"

Unlease = Callable[[pytest.MonkeyPatch], None]


def without_leases(patch: pytest.MonkeyPatch) -> None:
    """Make the system refuse leases, as for the file of another user."""
    real = fcntl.fcntl

    def refuse(descriptor: int, command: int, argument: int = 0) -> int:
        if command == fcntl.F_SETLEASE:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return real(descriptor, command, argument)

    patch.setattr(fcntl, "fcntl", refuse)


def without_linux(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(access.sys, "platform", "darwin")


def without_exchange(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(durable, "EXCHANGE", 0x4000)  # flags that no system knows
    patch.setattr(durable, "NO_REPLACE", 0x8000)


def refuse_to_rename(patch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    patch.setattr(durable, "rename_with", refuse)


def age(path: Path, seconds: float) -> None:
    """Let the last change of the file be so long ago."""
    now = path.stat().st_mtime - seconds
    os.utime(path, (now, now))


def has_begun(thread: threading.Thread) -> bool:
    """Return whether the edit in a thread is done, or waits for the file, which the server holds."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - nothing public shows where a thread waits
    return frame is None or frame.f_code.co_name == "open"


@contextmanager
def written_slowly(path: Path, text: str) -> Iterator[None]:
    """Write ``text`` in place; the block runs when half of it is written."""
    half = len(text) // 2
    with path.open("w") as file:
        file.write(text[:half])
        file.flush()
        yield
        file.write(text[half:])


@pytest.mark.requirement("HB-18", "C5", "HB-9")
def test_what_is_written_slowly_is_left_alone_and_then_the_section_follows_without_a_call(tmp_path: Path) -> None:
    board = Board.of(tmp_path, TEXT)
    process = board.process()
    board.call(process)
    new = f"{TEXT}- buy milk\n"
    with written_slowly(board.path, new):
        half = board.data
        board.call(process, COOL)
        assert board.data == half
        assert not process.is_current()
    wait_until(process.is_current)
    (milk,) = [task for task in board.tasks.values() if task.id != COOL.id]
    assert milk.raw_user_request == "buy milk"
    assert board.text == TEXT + ENTRY + render_entry(milk).decode() + "\n"
    assert not board.backup.exists()
    process.close()


@pytest.mark.requirement("HB-12", "HB-18")
def test_an_entry_that_was_not_written_yet_is_not_reported_as_missing(tmp_path: Path) -> None:
    board = Board.of(tmp_path, TEXT)
    process = board.process()
    board.call(process)
    with board.path.open("a"):
        board.call(process, COOL)
        assert board.text == TEXT
    board.call(process)
    assert board.text == f"{TEXT}{ENTRY}"
    assert board.warnings.take() == []
    board.save(TEXT)
    board.call(process)
    (warning,) = board.warnings.take()
    assert "are back: cool-apple" in warning
    process.close()


@pytest.mark.requirement("HB-18", "HB-12")
def test_a_half_written_line_is_not_a_task(tmp_path: Path) -> None:
    board = Board.of(tmp_path, TEXT)
    process = board.process()
    board.call(process)
    with board.path.open("a") as file:
        file.write("- buy mi")
        file.flush()
        assert board.call(process) == []
        file.write("lk\n")
    (task,) = board.call(process)
    assert task.raw_user_request == "buy milk"


@pytest.mark.requirement("HB-18")
@pytest.mark.parametrize("text", ["", "\n \n", "## TODO\n", f"## TODO\n{ENTRY}"], ids=["empty", "blank", "bare", "own"])
def test_a_file_that_lost_its_text_is_left_alone_for_half_a_minute(tmp_path: Path, text: str) -> None:
    board = Board.of(tmp_path, TEXT)
    process = board.process()
    board.call(process, COOL)
    board.save(text)
    board.call(process, COOL.changed(result="eaten"))
    assert board.text == text
    board.save(f"{TEXT}- buy milk\n")
    (milk,) = board.call(process)
    assert board.text.startswith(f"{TEXT}- [Pending] cool-apple")
    board.save(text)
    board.outlast(process)
    board.call(process)
    assert board.text.startswith("## TODO" if text.strip() else text)
    assert milk.id in board.text
    process.close()


@pytest.mark.requirement("HB-18")
def test_half_a_minute_begins_anew_when_the_file_was_whole_in_between(tmp_path: Path) -> None:
    board = Board.of(tmp_path, TEXT)
    process = board.process()
    board.call(process)
    board.save("")
    board.outlast(process)
    board.save(TEXT)
    board.call(process)
    board.save("")
    board.call(process, COOL)
    assert board.text == ""
    process.close()


@pytest.mark.requirement("HB-18", "HB-8")
@pytest.mark.parametrize("limit", [without_leases, without_linux, without_exchange])
def test_a_missing_file_is_made_at_once_and_never_over_one_that_has_just_appeared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: Unlease
) -> None:
    limit(monkeypatch)
    path = tmp_path / "HEARTBEAT.md"
    path.write_text("mine")
    with pytest.raises(FileChanged):
        replace_file(path, b"new", rename=make_rename(None, b""), fsync=False)
    assert path.read_text() == "mine"
    assert os.listdir(tmp_path) == ["HEARTBEAT.md"]
    path.unlink()
    replace_file(path, b"new", rename=make_rename(None, b""), fsync=False).close()
    assert path.read_text() == "new"


def open_for_writing(path: Path) -> Callable[[], object]:
    return path.open("a").close


def edited(path: Path) -> Callable[[], object]:
    path.write_text("other")
    return lambda: None


def saved_by_rename(path: Path) -> Callable[[], object]:
    path.with_name("new").write_text("old")
    path.with_name("new").rename(path)
    return lambda: None


@pytest.mark.requirement("HB-18", "HB-9")
@pytest.mark.parametrize("meddle", [open_for_writing, edited, saved_by_rename])
def test_what_others_do_between_reading_and_writing_is_never_replaced(
    tmp_path: Path, meddle: Callable[[Path], Callable[[], object]]
) -> None:
    path = tmp_path / "HEARTBEAT.md"
    path.write_text("old")
    held, data = read_at_rest(path)
    release = meddle(path)
    theirs = path.stat().st_ino, path.read_text()
    with pytest.raises((FileChanged, FileInUse)):
        replace_file(path, b"new", rename=make_rename(held, data))
    assert (path.stat().st_ino, path.read_text()) == theirs
    assert os.listdir(tmp_path) == ["HEARTBEAT.md"]
    release()
    held.close()


def save_new(path: Path, text: str) -> None:
    path.with_name("draft").write_text(text)
    path.with_name("draft").rename(path)


def save_anew(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text)


@pytest.mark.requirement("HB-12", "HB-18", "C5")
@pytest.mark.parametrize("save", [save_new, save_anew, Path.write_text])
@pytest.mark.parametrize("is_before", [True, False], ids=["before the exchange", "after it"])
def test_an_edit_that_is_saved_at_the_moment_of_the_exchange_becomes_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save: Callable[[Path, str], object], *, is_before: bool
) -> None:
    board = Board.of(tmp_path, TEXT)
    process = board.process()
    board.call(process)
    edit, real = f"{board.text}- buy milk\n", durable.rename_with
    edits = iter([partial(save, board.path, edit)])
    with in_background() as start:

        def meddle() -> None:
            started = start(*islice(edits, 1))
            wait_until(lambda: all(map(has_begun, started)))

        def exchange(flag: int, source: str, target: str) -> None:
            if is_before:
                meddle()
            real(flag, source, target)
            meddle()

        monkeypatch.setattr(durable, "rename_with", exchange)
        board.call(process, COOL)
    board.call(process)
    wait_until(process.is_current)
    (milk,) = [task for task in board.tasks.values() if task.id != COOL.id]
    assert milk.raw_user_request == "buy milk"
    assert board.text == TEXT + ENTRY + render_entry(milk).decode() + "\n"
    process.close()


@pytest.mark.requirement("HB-18", "HB-9")
@pytest.mark.parametrize("before", ["_check", "_is_untouched"], ids=["before the rename", "after it"])
def test_whoever_waits_to_open_the_file_writes_into_the_one_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    path = tmp_path / "HEARTBEAT.md"
    path.write_text("old\n")
    held, data = read_at_rest(path)
    appending: list[subprocess.Popen[bytes]] = []
    descriptor = os.open(path, os.O_RDONLY)
    program = "import os,sys; open(f'/proc/{os.getppid()}/fd/' + sys.argv[1], 'a').write('more\\n')"
    real: Callable[..., object] = getattr(access, before)

    def meddle(*arguments: object) -> object:
        # Through the descriptor, whose file may be under another name by now, as for whoever looked it up before.
        appending.append(subprocess.Popen([sys.executable, "-c", program, str(descriptor)]))
        if before == "_check":
            wait_until(lambda: fcntl.fcntl(held.fileno(), fcntl.F_GETLEASE) != fcntl.F_RDLCK)
        else:
            appending[0].wait()
        return real(*arguments)

    monkeypatch.setattr(access, before, meddle)
    with pytest.raises(FileChanged):
        replace_file(path, b"new", rename=make_rename(held, data))
    assert appending[0].wait() == 0
    assert path.read_text() == "old\nmore\n"
    assert os.listdir(tmp_path) == ["HEARTBEAT.md"]
    os.close(descriptor)
    held.close()


def refuse_to_replace(patch: pytest.MonkeyPatch, path: Path, meddle: Callable[[HeldFile], bool]) -> None:
    """Try to replace the file; ``meddle`` takes the place of the last look at the file that was replaced."""
    held, data = read_at_rest(path)
    patch.setattr(access, "_is_untouched", meddle)
    with pytest.raises(FileChanged):
        replace_file(path, b"new", rename=make_rename(held, data))
    held.close()


@pytest.mark.requirement("HB-18", "HB-9")
def test_whoever_had_looked_up_the_file_before_it_was_replaced_gets_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "HEARTBEAT.md"
    path.write_text("old\n")
    writers: list[int] = []
    real: Callable[[HeldFile], bool] = vars(access)["_is_untouched"]

    def meddle(old: HeldFile) -> bool:
        writers.append(os.open(f"/proc/self/fd/{old.fileno()}", os.O_WRONLY | os.O_APPEND))
        return real(old)

    refuse_to_replace(monkeypatch, path, meddle)
    os.write(writers[0], b"more\n")
    os.close(writers[0])
    assert path.read_text() == "old\nmore\n"


@pytest.mark.requirement("HB-18", "HB-9")
def test_the_file_that_was_replaced_is_put_back_even_if_the_new_one_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "HEARTBEAT.md"
    path.write_text("old")

    def meddle(_: HeldFile) -> bool:
        path.unlink()
        return False

    refuse_to_replace(monkeypatch, path, meddle)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["HEARTBEAT.md"]


@pytest.mark.requirement("HB-18")
@pytest.mark.parametrize("limit", [without_leases, without_linux])
def test_without_leases_a_file_is_left_alone_until_its_last_change_is_two_seconds_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: Unlease
) -> None:
    limit(monkeypatch)
    board = Board.of(tmp_path, TEXT)
    process = board.process()
    board.call(process, COOL)
    assert board.text == TEXT
    age(board.path, 3)
    board.call(process)
    assert board.text == f"{TEXT}{ENTRY}"
    board.call(process, board.finished(COOL.id))  # its own change is no reason to wait
    assert board.text == TEXT
    process.close()


@pytest.mark.requirement("HB-18", "HB-9")
def test_where_two_files_cannot_be_exchanged_one_is_renamed_over_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_exchange(monkeypatch)
    board = Board.of(tmp_path, "")
    process = board.process()
    board.call(process)
    board.call(process, COOL)
    assert board.text == f"## TODO\n{ENTRY}"
    assert sorted(os.listdir(tmp_path)) == ["HEARTBEAT.md", "HEARTBEAT.md.lock"]


@pytest.mark.requirement("HB-18")
def test_an_old_c_library_has_no_exchange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda *_args, **_kwargs: object())
    board = Board.of(tmp_path, TEXT)
    board.call(board.process(), COOL)
    assert board.text == f"{TEXT}{ENTRY}"


@pytest.mark.requirement("HB-18", "HB-13")
def test_a_python_without_ctypes_writes_the_section_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctypes", None)
    board = Board.of(tmp_path, TEXT)
    board.call(board.process(), COOL)
    assert board.text == f"{TEXT}{ENTRY}"


@pytest.mark.requirement("HB-18", "HB-9")
@pytest.mark.parametrize("code", [errno.EBUSY, errno.EXDEV])
def test_a_file_that_no_rename_can_replace_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    refuse_to_rename(monkeypatch, code)
    board = Board.of(tmp_path, f"{TEXT}\n## After\nthis too\n")
    before = board.path.stat().st_ino
    process = board.process()
    board.call(process, COOL)
    assert board.text == f"{TEXT}{ENTRY}\n## After\nthis too\n"
    board.call(process, board.finished(COOL.id))
    assert board.text == f"{TEXT}\n## After\nthis too\n"
    assert board.path.stat().st_ino == before
    assert process.is_current()
    assert board.warnings.take() == []
    assert sorted(os.listdir(tmp_path)) == ["HEARTBEAT.md", "HEARTBEAT.md.lock"]


@pytest.mark.requirement("HB-18", "HB-13")
def test_where_a_missing_file_cannot_be_made_the_warning_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_to_rename(monkeypatch, errno.EBUSY)
    board = Board.of(tmp_path, "")
    board.call(board.process(), COOL)
    (warning,) = board.warnings.take()
    assert "could not be written" in warning


@pytest.mark.requirement("HB-18", "HB-13")
def test_a_file_that_was_never_filled_is_written_once_nobody_has_changed_it_for_two_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = Board.of(tmp_path, "\n")
    with monkeypatch.context() as patch:
        patch.setattr(access, "_REST_SECONDS", 1_000)
        process = board.process()
        board.call(process, COOL)
        assert board.text == "\n"
        process.close()
        board.call(board.process())
        (warning,) = board.warnings.take()
        assert warning.startswith("HEARTBEAT.md may not show 1 task yet: it is blank")
    age(board.path, 3)
    board.call(board.process())
    assert board.text == f"\n## TODO\n{ENTRY}"


@pytest.mark.requirement("HB-18", "WARN-1")
def test_a_file_that_somebody_holds_for_more_than_a_minute_is_reported_once(tmp_path: Path) -> None:
    board = Board.of(tmp_path, TEXT)
    process = board.process()
    with board.path.open("a"):
        board.call(process, COOL)
        assert board.warnings.take() == []
        board.now += timedelta(seconds=61)
        for _ in range(2):
            board.call(process)
        (warning,) = board.warnings.take()
        assert warning.startswith("Another program has had HEARTBEAT.md open for more than a minute")
    board.call(process)
    assert board.text == f"{TEXT}{ENTRY}"
    process.close()


@pytest.mark.requirement("HB-15", "HB-18")
def test_a_store_that_is_to_be_recovered_from_a_file_in_use_waits_for_it(tmp_path: Path) -> None:
    board = Board.of(tmp_path, f"## TODO\n{ENTRY}", is_lost=True)
    process = board.process(may_write=False)
    with board.path.open("a"), pytest.raises(StoreUnreadable, match="another program is writing it"):
        board.call(process, make_task("wild-coral", "swim"))
    assert board.tasks == {}
    (cool,) = board.call(process)
    assert cool.id == COOL.id


@pytest.mark.requirement("W1")
def test_on_windows_where_the_old_file_is_closed_once_it_is_read_it_is_replaced_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "HEARTBEAT.md"
    path.write_bytes(b"old")
    age(path, 10)
    monkeypatch.setattr(access.sys, "platform", "win32")
    held, data = read_at_rest(path)
    replace_file(path, b"new", rename=make_rename(held, data))
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == [path.name]
