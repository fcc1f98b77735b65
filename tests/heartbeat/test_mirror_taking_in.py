"""What a person writes into the section is taken in once, kept, or put aside, and never lost (HB-12, H3, H5)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from heartbeat_mcp.mirror import FoundTask
from heartbeat_mcp.mirror.entries import render_entry
from heartbeat_mcp.models import Status, Task
from task_core.clock import utc_now
from tests.heartbeat.mirror_board import Board, make_task

COOL = make_task("cool-apple", "eat an apple")
WILD = make_task("wild-coral", "see the coral", status="Running", ideas=["dive"])


def entry(task: Task) -> str:
    return render_entry(task).decode() + "\n"


def section(*parts: str) -> str:
    return "# A\n\n## TODO\n" + "".join(parts) + "\n## B\n"


def mirrored(tmp_path: Path, *tasks: Task) -> Board:
    """Return a board on which a process that is gone has mirrored the tasks."""
    board = Board.of(tmp_path, section())
    board.call(board.mirror(), *tasks)
    assert board.text == section(*map(entry, tasks))
    return board


@pytest.mark.requirement("HB-12", "HB-10", "H3")
def test_new_bullets_become_tasks_and_other_text_stands_below_the_entries(tmp_path: Path) -> None:
    kept = "Keep it short.\n\n1. first\n2. second\n\n### Notes\n- a note\n"
    start = "# A\n\n## TODO – List below\n\n"
    board = Board.of(tmp_path, f"{start}- buy milk\n- [x] pay\n- [Running] clean\n\n{kept}\n## B\n- [ ] not this\n")
    taken_in = board.call(board.mirror(), COOL)
    assert [(task.raw_user_request, task.status) for task in taken_in] == [
        ("buy milk", Status.PENDING),
        ("pay", Status.COMPLETE),
        ("clean", Status.RUNNING),
    ]
    entries = "".join(entry(task) for task in (taken_in[0], taken_in[2], COOL))
    assert board.text == f"{start}{entries}\n{kept}\n## B\n- [ ] not this\n"
    assert not board.backup.exists()
    assert board.warnings.take() == []


@pytest.mark.requirement("HB-12")
def test_what_was_taken_in_is_not_taken_in_again(tmp_path: Path) -> None:
    board = Board.of(tmp_path, section("- buy milk\n- buy milk\n"))
    mirror = board.mirror()
    assert not mirror.is_current()
    assert len(board.call(mirror)) == 2
    assert mirror.is_current()
    assert mirror.additions(board.stored) == board.mirror().additions(board.stored) == []


@pytest.mark.requirement("HB-12", "D2")
@pytest.mark.parametrize("lines", ["- buy milk\n", "- buy milk\n* [ ] buy milk\n", "- [x] buy milk\n- buy milk\n"])
def test_a_kill_between_commit_and_mirror_takes_nothing_in_twice(tmp_path: Path, lines: str) -> None:
    board = Board.of(tmp_path, section(entry(COOL), lines))
    board.put(COOL)
    board.commit(board.mirror().additions(board.stored))
    stored = list(board.tasks.values())
    assert board.call(board.mirror()) == []
    assert board.text == section(*(entry(task) for task in stored if task.is_active))
    assert not board.backup.exists()


@pytest.mark.requirement("HB-12", "D2")
def test_what_a_person_adds_after_a_kill_takes_nothing_in_twice(tmp_path: Path) -> None:
    board = Board.of(tmp_path, section("- buy milk\n"))
    board.commit(board.mirror().additions(board.stored))
    board.path.write_text(section("- buy milk\n- clean\n"))
    assert [task.raw_user_request for task in board.call(board.mirror())] == ["clean"]
    assert board.text == section(*map(entry, board.tasks.values()))


@pytest.mark.requirement("HB-12")
def test_a_bullet_like_a_task_that_has_an_entry_is_another_task(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    board.path.write_text(section(entry(COOL), "- eat an apple\n"))
    (twin,) = board.call(board.mirror())
    assert twin.raw_user_request == COOL.raw_user_request
    assert board.text == section(entry(COOL), entry(twin))


@pytest.mark.requirement("HB-12")
def test_a_finished_bullet_is_not_confused_with_a_task_that_was_worked_on(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    board.finish(COOL.id)
    board.path.write_text(section("- [x] eat an apple\n"))
    (again,) = board.call(board.mirror())
    assert again.status is Status.COMPLETE
    assert board.text == section()


@pytest.mark.requirement("HB-12")
def test_a_bullet_that_comes_between_reading_and_writing_stays_for_the_next_call(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    mirror = board.mirror()
    assert mirror.additions(board.stored) == []
    board.path.write_text(section(entry(COOL), "- [Running] buy milk\n"))
    board.put(WILD)
    mirror.write(board.stored)
    assert board.text == section(entry(COOL), entry(WILD), "\n- [Running] buy milk\n")
    assert not mirror.is_current()
    (milk,) = board.call(mirror)
    assert board.text == section(*map(entry, (COOL, WILD, milk)))
    assert mirror.is_current()


@pytest.mark.requirement("HB-12")
def test_a_second_bullet_that_comes_later_is_a_second_task(tmp_path: Path) -> None:
    board = Board.of(tmp_path, section("- buy milk\n"))
    mirror = board.mirror()
    (milk,) = board.commit(mirror.additions(board.stored))
    board.path.write_text(section("- buy milk\n- buy milk\n"))
    mirror.write(board.stored)
    assert board.text == section(entry(milk), "\n- buy milk\n")
    assert len(board.call(mirror)) == 1
    assert len(board.tasks) == 2


@pytest.mark.requirement("HB-12", "C5")
def test_units_of_work_that_share_a_save_take_a_bullet_in_once(tmp_path: Path) -> None:
    board = Board.of(tmp_path, section("- buy milk\n"))
    mirror = board.mirror()
    (milk,) = board.commit(mirror.additions(board.stored))
    assert board.commit(mirror.additions(board.stored)) == []
    mirror.write(board.stored)
    assert board.text == section(entry(milk))


@pytest.mark.requirement("HB-12", "ERR-2")
def test_a_bullet_whose_commit_failed_is_found_again(tmp_path: Path) -> None:
    board = Board.of(tmp_path, section("- buy milk\n"))
    mirror = board.mirror()
    board.commit(mirror.additions(board.stored))
    mirror.additions(board.stored)
    board.tasks.clear()
    assert [found.raw_user_request for found in mirror.additions(board.stored)] == ["buy milk"]


@pytest.mark.requirement("HB-12", "HB-13")
@pytest.mark.parametrize("is_same_process", [True, False], ids=["same process", "new process"])
def test_a_bullet_in_a_read_only_file_is_taken_in_once_even_when_it_is_done(
    tmp_path: Path, *, is_same_process: bool
) -> None:
    board = Board.of(tmp_path, section("- buy milk\n- [Running] clean\n"))
    board.path.chmod(0o444)
    os.utime(board.path, (0, 0))
    mirror = board.mirror()
    milk, clean = board.call(mirror)
    board.finish(milk.id)
    board.put(clean.changed(result="half", updated_at=utc_now()))
    mirror = mirror if is_same_process else board.mirror()
    assert board.call(mirror) == []
    assert board.text == section("- buy milk\n- [Running] clean\n")
    board.path.chmod(0o644)
    assert board.call(mirror) == []
    assert board.text == section(entry(board.tasks[clean.id]))
    assert not board.backup.exists()


@pytest.mark.requirement("HB-12", "HB-13")
def test_without_a_backup_a_change_is_not_overwritten(tmp_path: Path) -> None:
    board = mirrored(tmp_path, WILD)
    edited = section(entry(WILD).replace("dive", "swim"), "- buy milk\n")
    board.path.write_text(edited)
    board.backup.mkdir()
    mirror = board.mirror()
    (milk,) = board.call(mirror)
    assert board.text == edited
    board.finish(milk.id)
    assert board.call(mirror) == []
    board.backup.rmdir()
    assert board.call(mirror) == []
    assert board.text == section(entry(WILD))
    assert "swim" in board.backup.read_text()


@pytest.mark.requirement("HB-12", "H3", "WARN-1")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("[Running]", "[Complete]", id="status in the bracket"),
        pytest.param("[Running]", "[Done!]", id="another word in the bracket"),
        pytest.param("Status: Running", "Status: Fail", id="status in its field"),
        pytest.param("coral: see", "coral: look at", id="summary"),
        pytest.param("Request: see", "Request: look at", id="request"),
        pytest.param("- dive", "- dive deeper", id="idea"),
        pytest.param("  - Status", "    - another\n  - Status", id="new idea"),
        pytest.param("  <!--", "  - Result: seen\n  <!--", id="new field"),
        pytest.param("  <!--", "  - my note\n  <!--", id="note above the comment"),
        pytest.param("-->\n", "-->\n  - my note\n", id="note below the comment"),
        pytest.param("see the", "s\udce9e the", id="bytes that are no UTF-8"),
    ],
)
@pytest.mark.parametrize("is_same_process", [True, False], ids=["same process", "new process"])
def test_a_changed_entry_is_put_aside_and_overwritten(
    tmp_path: Path, old: str, new: str, *, is_same_process: bool
) -> None:
    board = mirrored(tmp_path, COOL)
    mirror = board.mirror()
    board.call(mirror, WILD)
    edited = section(entry(COOL), entry(WILD).replace(old, new)).encode(errors="surrogateescape")
    board.path.write_bytes(edited)
    mirror = mirror if is_same_process else board.mirror()
    assert board.call(mirror) == []
    assert board.text == section(entry(COOL), entry(WILD))
    assert board.backup.read_bytes() == edited.removeprefix(b"# A\n\n").removesuffix(b"## B\n")
    (warning,) = board.warnings.take()
    assert "wild-coral" in warning
    assert "HEARTBEAT.md.bak" in warning
    board.call(mirror)
    assert board.warnings.take() == []


@pytest.mark.requirement("HB-12")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("\n", " \t\n", id="blanks at the ends"),
        pytest.param("\n  ", "\n\n  ", id="blank lines"),
        pytest.param("  - ", "  * ", id="another marker"),
        pytest.param("\n", "\r\n", id="another line end"),
        pytest.param("  <!-- task_id: wild-coral -->\n", "", id="no comment"),
        pytest.param(entry(WILD), "", id="no entry"),
        pytest.param(entry(WILD), entry(WILD) * 2, id="the entry twice"),
    ],
)
def test_an_entry_that_says_the_same_is_no_change(tmp_path: Path, old: str, new: str) -> None:
    board = mirrored(tmp_path, WILD)
    board.path.write_bytes(section(entry(WILD).replace(old, new)).encode())
    assert board.call(board.mirror(), COOL) == []
    assert board.text.replace("\r", "") == section(entry(WILD), entry(COOL))
    assert not board.backup.exists()
    assert board.warnings.take() == []


@pytest.mark.requirement("HB-12", "H3")
def test_what_a_bullet_says_beyond_its_task_is_put_aside(tmp_path: Path) -> None:
    board = Board.of(tmp_path, section("- [Running] eat an apple\n  - Idea: peel it\n"))
    now = utc_now()
    board.put(COOL.changed(created_at=now, updated_at=now))
    assert board.call(board.mirror()) == []
    assert board.text == section(entry(COOL))
    assert "peel it" in board.backup.read_text()


@pytest.mark.requirement("HB-12")
def test_the_next_change_is_put_aside_too(tmp_path: Path) -> None:
    board = mirrored(tmp_path, WILD)
    mirror = board.mirror()
    for word in ("one", "two"):
        edited = section(entry(WILD).replace("dive", word))
        board.path.write_text(edited)
        board.call(mirror)
        assert word in board.backup.read_text()
        assert len(board.warnings.take()) == 1


@pytest.mark.requirement("HB-12", "D2")
def test_entries_that_are_only_old_make_no_noise(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL, WILD)
    first, second = board.mirror(), board.mirror()
    board.call(first, WILD.changed(result="seen"))
    board.call(second, COOL.changed(raw_user_request="eat two"))
    board.finish(WILD.id)
    board.call(first)
    board.tasks.pop(WILD.id)
    board.call(second)
    assert board.text == section(entry(board.tasks[COOL.id]))
    assert not board.backup.exists()
    assert board.warnings.take() == []


@pytest.mark.requirement("HB-12", "D2")
def test_a_kill_after_a_task_was_finished_makes_no_noise(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL, WILD)
    board.put(WILD.changed(status=Status.PENDING))
    board.call(board.mirror())
    board.finish(WILD.id)
    board.finish(COOL.id)
    board.backup.unlink()
    board.warnings.take()
    assert board.call(board.mirror()) == []
    assert board.text == section()
    assert not board.backup.exists()


@pytest.mark.requirement("HB-12", "HB-15")
def test_an_entry_whose_task_is_unknown_is_found_under_its_id(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL, WILD)
    del board.tasks[WILD.id]
    mirror = board.mirror()
    assert mirror.additions(board.stored) == [
        FoundTask("wild-coral", Status.RUNNING, "see the coral", ideas=("dive",)),
    ]
    assert [task.id for task in board.call(mirror)] == [WILD.id]
    assert board.text == section(entry(COOL), entry(WILD))
    assert not board.backup.exists()


@pytest.mark.requirement("HB-12", "H3")
def test_an_entry_that_is_not_taken_in_is_put_aside(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL, WILD)
    del board.tasks[WILD.id]
    mirror = board.mirror()
    mirror.additions(board.stored)
    mirror.write(board.stored)
    assert board.text == section(entry(COOL))
    assert board.backup.read_text() == section(entry(COOL), entry(WILD)).removeprefix("# A\n\n").removesuffix("## B\n")
    assert mirror.is_current()


@pytest.mark.requirement("HB-12", "ST-3")
def test_an_entry_of_this_process_goes_with_its_task(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    mirror = board.mirror()
    board.call(mirror, WILD)
    del board.tasks[WILD.id]
    board.path.write_text(board.text + "- [ ] not this\n")
    assert board.call(mirror) == []
    assert board.text == section(entry(COOL)) + "- [ ] not this\n"
    assert not board.backup.exists()


@pytest.mark.requirement("H5", "HB-12")
def test_where_first_line_and_comment_disagree_it_is_text(tmp_path: Path) -> None:
    torn = "- [Pending] cool-apple: eat an apple\n  - Status: Pending\n  <!-- task_id: wild-coral -->\n"
    board = Board.of(tmp_path, section(torn))
    assert board.call(board.mirror(), COOL, WILD) == []
    assert board.text == section(entry(COOL), entry(WILD), "\n", torn)


@pytest.mark.requirement("HB-12")
def test_under_a_deeper_heading_only_entries_of_stored_tasks_are_the_servers(tmp_path: Path) -> None:
    sample = entry(make_task("old-star", "a sample"))
    board = mirrored(tmp_path, COOL)
    board.path.write_text(section("### Now\n", entry(COOL), "\n", sample, "- a note\n"))
    assert board.call(board.mirror()) == []
    assert board.text == section(entry(COOL), "\n### Now\n\n", sample, "- a note\n")


@pytest.mark.requirement("HB-12", "H3")
def test_text_that_an_entry_kept_apart_does_not_run_together(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    board.path.write_text(section("one\n", entry(COOL), "---\n"))
    board.call(board.mirror())
    assert board.text == section(entry(COOL), "\none\n\n---\n")
    board.finish(COOL.id)
    board.call(board.mirror())
    assert board.text == section("one\n\n---\n")


@pytest.mark.requirement("HB-12", "HB-8")
@pytest.mark.parametrize("text", ["   ```\n- buy milk\n   ```\n", "    - code\n", " - [Pending/Running] x\n"])
def test_indented_text_does_not_become_part_of_the_last_entry(tmp_path: Path, text: str) -> None:
    board = Board.of(tmp_path, section(text))
    mirror = board.mirror()
    assert board.call(mirror, COOL) == []
    once = section(entry(COOL), "\n<!-- end of list -->\n", text)
    assert board.text == once
    assert board.call(board.mirror(), WILD) == []
    assert board.text == section(entry(COOL), entry(WILD), "\n<!-- end of list -->\n", text)
    for task_id in list(board.tasks):
        board.finish(task_id)
    board.call(mirror)
    assert board.text == section(text)


@pytest.mark.requirement("HB-8", "HB-9")
@pytest.mark.parametrize("after", ["  ## B\n", "   B\n===\n"])
def test_an_indented_heading_does_not_become_part_of_the_last_entry(tmp_path: Path, after: str) -> None:
    board = Board.of(tmp_path, "## TODO\n" + after)
    board.call(board.mirror(), COOL)
    assert board.text == "## TODO\n" + entry(COOL) + "<!-- end of list -->\n\n" + after
    assert board.call(board.mirror()) == []
    board.finish(COOL.id)
    board.call(board.mirror())
    assert board.text == "## TODO\n\n" + after


@pytest.mark.requirement("HB-12")
def test_bytes_that_are_no_utf_8_are_never_taken_in(tmp_path: Path) -> None:
    board = Board.of(tmp_path, b"## TODO\n- caf\xe9\n- tea\n")
    (tea,) = board.call(board.mirror())
    assert board.data == b"## TODO\n" + entry(tea).encode() + b"\n- caf\xe9\n"


@pytest.mark.requirement("HB-15")
def test_a_recovered_entry_without_its_comment_keeps_its_id(tmp_path: Path) -> None:
    by_hand = "- [Running] cool-apple: short\n  - Raw User Request: long & <b>\n- plain\n"
    board = Board.of(tmp_path, section(by_hand))
    mirror = board.mirror()
    board.commit(mirror.recover())
    assert list(board.tasks) == ["cool-apple", "made-2"]
    assert board.mirror().additions(board.stored) == []
    mirror.write(board.stored)
    assert board.text == section(*map(entry, board.tasks.values()))
    assert not board.backup.exists()


@pytest.mark.requirement("HB-8", "HB-9")
def test_an_indented_heading_stays_one_behind_text_that_runs_to_a_blank_line(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n<div>\n\n- buy milk\n # B\n")
    (milk,) = board.call(board.mirror())
    assert board.text == f"## TODO\n{entry(milk)}\n<div>\n\n<!-- end of list -->\n\n # B\n"
    assert board.call(board.mirror()) == []


@pytest.mark.requirement("HB-12", "D2")
@pytest.mark.parametrize("mark", ["- [x]", "- [ ]", "-"])
def test_the_same_words_on_another_day_are_another_task(tmp_path: Path, mark: str) -> None:
    board = Board.of(tmp_path, "## TODO\n")
    board.call(board.mirror())
    for day in range(1, 4):
        board.path.write_text(board.text + f"{mark} water the plants\n")
        tomorrow = utc_now().timestamp() + day
        os.utime(board.path, (tomorrow, tomorrow))
        assert len(board.call(board.mirror())) == 1
        assert len(board.tasks) == day
        for task_id in board.tasks:
            board.finish(task_id)
        board.call(board.mirror())


@pytest.mark.requirement("HB-12", "HB-13")
def test_a_bullet_in_a_file_that_cannot_be_written_is_taken_in_once_for_all_starts(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n- buy milk\n")
    for _ in range(3):
        board.commit(board.mirror().additions(board.stored))
        for task_id in board.tasks:
            board.finish(task_id)
    assert len(board.tasks) == 1
    assert board.call(board.mirror()) == []
    assert board.text == "## TODO\n"


@pytest.mark.requirement("HB-12", "H3")
def test_every_form_that_was_put_aside_stays_in_the_backup(tmp_path: Path) -> None:
    board = mirrored(tmp_path, WILD)
    board.backup.write_text("notes of somebody's own")
    for word in ("one", "two", "two"):
        board.path.write_text(section(entry(WILD).replace("dive", word)))
        board.call(board.mirror())
    kept = board.backup.read_text()
    assert kept.startswith("notes of somebody's own\n")
    assert (kept.count("one"), kept.count("two")) == (1, 1)
