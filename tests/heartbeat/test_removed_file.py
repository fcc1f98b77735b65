"""HEARTBEAT.md is taken away, as by a program that imports it: nobody fights for it, and it is said once (HB-18)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.heartbeat.mirror_board import entry, make_task, mirrored

COOL = make_task("cool-apple", "eat an apple")
WILD = make_task("wild-coral", "see the coral")

GONE = (
    "HEARTBEAT.md is gone: it was deleted, or a program took it over, as OpenClaw does from 2026.8.1 on. The tasks "
    "are safe in the store, and {}. Set AUTO_SYNC_ENABLED=false if nothing reads the file."
)


@pytest.mark.requirement("HB-18", "HB-12")
def test_a_file_that_somebody_took_away_is_made_anew_by_the_next_start_alone(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    process = board.process()
    board.call(process)
    board.path.unlink()
    assert not process.is_current()
    board.call(process, WILD)
    board.call(process)
    assert process.is_current()
    assert board.warnings.take() == [GONE.format("the server creates it again at its next start")]
    assert not board.path.exists()
    process.close()
    other = board.process()
    board.call(other)
    board.call(other)
    assert board.text == "## TODO\n" + entry(COOL) + entry(WILD)
    board.warnings.take()


@pytest.mark.requirement("HB-18")
def test_a_start_without_the_file_says_that_it_is_made_anew(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    board.path.unlink()
    process = board.process()
    board.call(process)
    board.call(process)
    assert board.text == "## TODO\n" + entry(COOL)
    assert board.warnings.take() == [GONE.format("the file is created again")]


@pytest.mark.requirement("HB-18", "HB-12")
def test_a_file_that_comes_back_is_kept_in_step_again(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    process = board.process()
    board.call(process)
    text = board.text
    board.path.unlink()
    board.call(process, WILD)
    board.save(text.replace("\n## B", "- buy milk\n\n## B"))
    assert [task.raw_user_request for task in board.call(process)] == ["buy milk"]
    assert "wild-coral" in board.text
    board.path.unlink()
    board.warnings.take()
    board.call(process)
    assert len(board.warnings.take()) == 1
    process.close()
