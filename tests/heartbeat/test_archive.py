"""The archive of cleaned tasks: a file beside a document, or rows of a database (HB-7, EN-19)."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from heartbeat_mcp.archive import Archive, ArchiveFile
from heartbeat_mcp.models import KIND, HeartbeatStatus, HeartbeatTask
from task_core.history.history_file import append_lines
from task_core.store import MemoryDatabase, Selection, Store
from task_core.warning_list import WarningList
from tests.core.faults import Fault, watched
from tests.core.notes import in_background, wait_for_turn

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def finished(task_id: str, request: str = "send the letter") -> HeartbeatTask:
    return HeartbeatTask(
        id=task_id,
        status=HeartbeatStatus.COMPLETE,
        raw_user_request=request,
        created_at=NOON,
        updated_at=NOON,
        completed_at=NOON,
    )


@pytest.fixture
def warnings() -> WarningList:
    return WarningList()


@pytest.fixture
def archive(tmp_path: Path, warnings: WarningList) -> ArchiveFile:
    return ArchiveFile(tmp_path / "archive.jsonl", warnings)


def move(archive: Archive, *tasks: HeartbeatTask) -> Store[HeartbeatTask]:
    """Archive tasks of a new store, and return that."""
    store = Store(MemoryDatabase(), KIND)
    with store.transaction() as work:
        for task in tasks:
            work.add(task)
        archive.move(tasks, work)
    return store


def ids(archive: Archive) -> list[str]:
    return [task.id for task in archive.tasks()]


def test_an_archive_without_a_file_is_empty(archive: ArchiveFile, warnings: WarningList) -> None:
    assert (ids(archive), "cool-apple" in archive, archive.find("cool-apple"), archive.near("cool-apple")) == (
        [],
        False,
        None,
        [],
    )
    assert warnings.take() == []


@pytest.mark.requirement("HB-7")
def test_archived_tasks_leave_the_store_and_are_found_by_another_process_in_order(
    tmp_path: Path, archive: ArchiveFile
) -> None:
    store = move(archive, finished("cool-apple"), finished("wild-coral"))
    with store.read() as left:
        assert len(left) == 0
    move(archive, finished("calm-star", "短い手紙"))
    other = ArchiveFile(tmp_path / "archive.jsonl", WarningList())
    assert [*other.tasks()] == [finished("cool-apple"), finished("wild-coral"), finished("calm-star", "短い手紙")]
    assert other.find("calm-star") == finished("calm-star", "短い手紙")
    assert other.near("calm-stars") == ["calm-star"]


@pytest.mark.requirement("HB-7")
def test_a_task_archived_by_a_save_that_failed_is_not_appended_again(tmp_path: Path, archive: ArchiveFile) -> None:
    move(archive, finished("cool-apple"))
    before = (tmp_path / "archive.jsonl").read_bytes()
    move(archive, finished("cool-apple"))
    assert (tmp_path / "archive.jsonl").read_bytes() == before


def test_the_last_form_of_a_task_counts(archive: ArchiveFile) -> None:
    move(archive, finished("cool-apple"))
    move(archive, finished("cool-apple", "send the parcel"))
    assert [task.raw_user_request for task in archive.tasks()] == ["send the parcel"]


@pytest.mark.requirement("S4")
def test_the_archive_is_private_to_its_owner(tmp_path: Path, archive: ArchiveFile) -> None:
    move(archive, finished("cool-apple"))
    assert (tmp_path / "archive.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.requirement("D2")
def test_a_line_torn_by_a_power_cut_swallows_no_later_task(
    tmp_path: Path, archive: ArchiveFile, warnings: WarningList
) -> None:
    move(archive, finished("cool-apple"))
    with (tmp_path / "archive.jsonl").open("ab") as file:
        file.write(b'{"id": "wild-co')
    move(archive, finished("calm-star"))
    assert ids(archive) == ["cool-apple", "calm-star"]
    assert warnings.take() == ["archive.jsonl: 1 lines are not tasks and were skipped."]


@pytest.mark.requirement("WARN-2")
def test_lines_that_are_not_tasks_are_reported_again_once_they_were_fixed(
    tmp_path: Path, archive: ArchiveFile, warnings: WarningList
) -> None:
    path = tmp_path / "archive.jsonl"
    for _ in range(2):
        path.write_text("no task\n", "utf-8")
        for _ in range(2):
            assert ids(archive) == []
        assert warnings.take() == ["archive.jsonl: 1 lines are not tasks and were skipped."]
        path.write_bytes(finished("cool-apple").to_json() + b"\n")
        assert ids(archive) == ["cool-apple"]
        assert warnings.take() == []


def test_blank_lines_are_passed_over_in_silence(tmp_path: Path, archive: ArchiveFile, warnings: WarningList) -> None:
    (tmp_path / "archive.jsonl").write_bytes(b"")
    move(archive, finished("cool-apple"))
    with (tmp_path / "archive.jsonl").open("ab") as file:
        file.write(b"\r\n\n")
    assert (ids(archive), "cool-apple" in archive) == (["cool-apple"], True)
    assert warnings.take() == []


@pytest.mark.requirement("HB-7")
@pytest.mark.parametrize(
    ("line", "task_id"),
    [
        (finished("cool-apple").to_json(), "cool-apple"),
        (b'{"raw_user_request": "x", "id": "cool-apple"}', "cool-apple"),
        (rb'{"id":"a\"b"}', 'a"b'),
        (b'{"id":"cool-apple', "cool-apple"),
        (b'{"id":7}', None),
        (b"[1]", None),
        (b"torn", None),
    ],
)
def test_the_id_of_every_line_that_has_one_is_taken(
    tmp_path: Path, archive: ArchiveFile, line: bytes, task_id: str | None
) -> None:
    (tmp_path / "archive.jsonl").write_bytes(line + b"\n")
    assert [name for name in ("cool-apple", 'a"b', "", "7", "torn") if name in archive] == [task_id] * bool(task_id)


@pytest.mark.requirement("HB-7")
def test_each_byte_of_the_archive_is_read_once_for_its_ids(tmp_path: Path, archive: ArchiveFile) -> None:
    move(archive, *(finished(f"task-{number}") for number in range(100)))
    other = ArchiveFile(tmp_path / "archive.jsonl", WarningList())
    assert "task-7" in archive
    lines = list[int]()
    for reader in (archive, other):
        count = 0

        def note(_frame: object, event: str, function: object) -> None:
            nonlocal count
            count += event == "c_call" and getattr(function, "__name__", "") == "find"

        assert "task-7" in reader
        move(archive, finished(f"new-{len(lines)}"))
        sys.setprofile(note)
        try:
            assert f"new-{len(lines)}" in reader
        finally:
            sys.setprofile(None)
        lines.append(count)
    assert max(lines) <= 2


@pytest.mark.requirement("HB-1", "TOOL-7")
def test_calls_that_read_the_archive_together_miss_no_id(tmp_path: Path, archive: ArchiveFile) -> None:
    other = ArchiveFile(tmp_path / "archive.jsonl", WarningList())
    move(other, finished("cool-apple"), finished("wild-coral"))
    with in_background() as start:

        def ask_beside(_frame: object, event: str, function: object) -> None:
            if event == "c_call" and getattr(function, "__name__", "") == "find":
                sys.setprofile(None)
                wait_for_turn(*start(lambda: "cool-apple" in archive), line="with self._lock")

        sys.setprofile(ask_beside)
        assert "cool-apple" in archive
    move(other, finished("calm-star"), finished("dark-lake"))
    assert [name for name in ("wild-coral", "calm-star", "dark-lake") if name not in archive] == []


@pytest.mark.requirement("HB-1")
def test_a_line_that_is_still_being_written_has_no_id_until_it_ends(tmp_path: Path, archive: ArchiveFile) -> None:
    first, line = (finished(name).to_json() for name in ("calm-star", "cool-apple"))
    for end in (12, -1):
        (tmp_path / "archive.jsonl").write_bytes(first + b"\n" + line[:end])
        assert ("calm-star" in archive, "cool-apple" in archive) == (True, False)
    for end in (b"", b"\n", b"\n" + finished("wild-coral").to_json()):
        (tmp_path / "archive.jsonl").write_bytes(first + b"\n" + line + end)
        assert "cool-apple" in archive
    assert "wild-coral" in archive


@pytest.mark.requirement("L1", "WARN-1")
def test_an_archive_that_cannot_be_read_is_a_warning_until_it_is_fixed(
    tmp_path: Path, archive: ArchiveFile, warnings: WarningList
) -> None:
    path = tmp_path / "archive.jsonl"
    path.mkdir()
    assert ids(archive) == []
    assert warnings.take() == [
        "archive.jsonl cannot be read (not a regular file [EINVAL]); the tasks in it are not shown."
    ]
    path.rmdir()
    move(archive, finished("cool-apple"))
    assert ids(archive) == ["cool-apple"]
    path.unlink()
    path.symlink_to(path.name)
    assert "cool-apple" not in ArchiveFile(path, warnings)
    assert len(warnings.take()) == 1
    path.unlink()
    assert "cool-apple" not in archive


@pytest.mark.requirement("L1", "HB-7")
def test_anything_but_a_file_in_place_of_the_archive_keeps_nobody_waiting(tmp_path: Path, archive: ArchiveFile) -> None:
    os.mkfifo(tmp_path / "archive.jsonl")
    assert (ids(archive), "cool-apple" in archive) == ([], False)
    with pytest.raises(OSError, match="not a regular file"):
        move(archive, finished("cool-apple"))
    with pytest.raises(OSError, match=r"not a regular file|No such device"):
        append_lines(tmp_path / "archive.jsonl", lambda _: b"{}\n")


@pytest.mark.requirement("S4")
def test_a_planted_link_is_not_written_through(tmp_path: Path, archive: ArchiveFile) -> None:
    target = tmp_path / "somebody elses file"
    target.write_bytes(b"theirs\n")
    os.symlink(target, tmp_path / "archive.jsonl")
    with pytest.raises(OSError, match="symbolic links"):
        move(archive, finished("cool-apple"))
    assert target.read_bytes() == b"theirs\n"


@pytest.mark.requirement("D4")
@pytest.mark.parametrize("step", ["write", "fsync"])
def test_what_could_not_be_appended_whole_is_taken_back(tmp_path: Path, step: str) -> None:
    path = tmp_path / "archive.jsonl"
    path.write_bytes(b"before\n")
    with watched(Fault(1, 28, for_good=True), {step}), pytest.raises(OSError, match="No space left"):
        append_lines(path, lambda _: b"after\n")
    assert path.read_bytes() == b"before\n"


@pytest.mark.requirement("EN-19")
def test_the_archive_of_a_database_is_rows_that_are_marked() -> None:
    archive = Archive()
    store = move(archive, finished("cool-apple"))
    with store.read() as tasks:
        (task,) = tasks.select(Selection())
        assert (task.id, task.columns.facet) == ("cool-apple", "archived")
        assert tasks.select(Selection(facets=archive.facets)) == []
    assert (ids(archive), "cool-apple" in archive, archive.near("cool-appl")) == ([], False, [])
