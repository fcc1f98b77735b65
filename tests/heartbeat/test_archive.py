"""The archive of cleaned tasks: append-only, durable, read when asked for."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path

import pytest

from heartbeat_mcp.archive import Archive
from heartbeat_mcp.models import Status, Task
from task_core.warning_list import WarningList

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def finished(task_id: str, request: str = "send the letter") -> Task:
    return Task(
        id=task_id,
        status=Status.COMPLETE,
        raw_user_request=request,
        created_at=NOON,
        updated_at=NOON,
        completed_at=NOON,
    )


@pytest.fixture
def warnings() -> WarningList:
    return WarningList()


@pytest.fixture
def archive(tmp_path: Path, warnings: WarningList) -> Archive:
    return Archive(tmp_path / "archive.jsonl", warnings)


def test_an_archive_without_a_file_is_empty(archive: Archive, warnings: WarningList) -> None:
    assert archive.tasks() == {}
    assert warnings.take() == []


@pytest.mark.requirement("HB-7")
def test_appended_tasks_are_found_by_another_process_in_order(tmp_path: Path, archive: Archive) -> None:
    archive.append([finished("cool-apple"), finished("wild-coral")])
    archive.append([finished("calm-star", "短い手紙")])
    other = Archive(tmp_path / "archive.jsonl", WarningList())
    assert list(other.tasks().values()) == [
        finished("cool-apple"),
        finished("wild-coral"),
        finished("calm-star", "短い手紙"),
    ]


@pytest.mark.requirement("HB-7")
def test_a_task_archived_in_this_very_form_is_not_appended_again(tmp_path: Path, archive: Archive) -> None:
    archive.append([finished("cool-apple")])
    before = (tmp_path / "archive.jsonl").read_bytes()
    archive.append([finished("cool-apple")])
    assert (tmp_path / "archive.jsonl").read_bytes() == before


def test_the_last_form_of_a_task_counts(archive: Archive) -> None:
    archive.append([finished("cool-apple")])
    archive.append([finished("cool-apple", "send the parcel")])
    assert archive.tasks()["cool-apple"].raw_user_request == "send the parcel"


@pytest.mark.requirement("S4")
def test_the_archive_is_private_to_its_owner(tmp_path: Path, archive: Archive) -> None:
    archive.append([finished("cool-apple")])
    assert (tmp_path / "archive.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.requirement("D2")
def test_a_line_torn_by_a_power_cut_swallows_no_later_task(
    tmp_path: Path, archive: Archive, warnings: WarningList
) -> None:
    archive.append([finished("cool-apple")])
    with (tmp_path / "archive.jsonl").open("ab") as file:
        file.write(b'{"id": "wild-co')
    archive.append([finished("calm-star")])
    assert set(archive.tasks()) == {"cool-apple", "calm-star"}
    assert warnings.take() == ["archive.jsonl: 1 lines are no tasks and were passed over."]


def test_blank_lines_are_passed_over_in_silence(tmp_path: Path, archive: Archive, warnings: WarningList) -> None:
    archive.append([finished("cool-apple")])
    with (tmp_path / "archive.jsonl").open("ab") as file:
        file.write(b"\r\n\n")
    assert set(archive.tasks()) == {"cool-apple"}
    assert warnings.take() == []


@pytest.mark.requirement("L1", "WARN-1")
def test_an_archive_that_cannot_be_read_is_a_warning_until_it_is_mended(
    tmp_path: Path, archive: Archive, warnings: WarningList
) -> None:
    path = tmp_path / "archive.jsonl"
    path.mkdir()
    assert archive.tasks() == {}
    assert warnings.take() == [
        "archive.jsonl cannot be read (not a regular file [EINVAL]); the tasks in it are not shown."
    ]
    path.rmdir()
    archive.append([finished("cool-apple")])
    assert set(archive.tasks()) == {"cool-apple"}
    path.unlink()
    assert archive.tasks() == {}


@pytest.mark.requirement("S4")
def test_a_planted_link_is_not_written_through(tmp_path: Path, archive: Archive) -> None:
    target = tmp_path / "somebody elses file"
    target.write_bytes(b"theirs\n")
    os.symlink(target, tmp_path / "archive.jsonl")
    with pytest.raises(OSError, match="symbolic links"):
        archive.append([finished("cool-apple")])
    assert target.read_bytes() == b"theirs\n"
