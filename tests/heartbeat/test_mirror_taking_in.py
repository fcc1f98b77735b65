"""What a person writes into the section is taken in once, kept, or put aside, and never lost (HB-12, H3, H5)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from heartbeat_mcp.mirror import mirror
from heartbeat_mcp.models import HeartbeatStatus
from heartbeat_mcp.passes import TaskFile
from task_core.files import FileIdentity, HeldFile, identify
from tests.core.notes import DEADLINE
from tests.heartbeat.mirror_board import Board, entry, make_task, mirrored, section

COOL = make_task("cool-apple", "eat an apple")
WILD = make_task("wild-coral", "see the coral", status="Running", ideas=["dive"])


@pytest.mark.requirement("HB-12", "HB-10", "H3")
def test_new_bullets_become_tasks_and_other_text_goes_below_the_entries(tmp_path: Path) -> None:
    kept = "Keep it short.\n\n1. first\n2. second\n\n### Notes\n- a note\n"
    start = "# A\n\n## TODO – List below\n\n"
    board = Board.of(tmp_path, f"{start}- buy milk\n- [x] pay\n- [Running] clean\n\n{kept}\n## B\n- [ ] not this\n")
    taken_in = board.call(board.process(), COOL)
    assert [(task.raw_user_request, task.status) for task in taken_in] == [
        ("buy milk", HeartbeatStatus.PENDING),
        ("pay", HeartbeatStatus.COMPLETE),
        ("clean", HeartbeatStatus.RUNNING),
    ]
    entries = "".join(entry(task) for task in (COOL, taken_in[0], taken_in[2]))
    assert board.text == f"{start}{entries}\n{kept}\n## B\n- [ ] not this\n"
    assert not board.backup.exists()
    named = ", ".join(task.id for task in taken_in)
    assert board.warnings.take() == [f"Lines added to HEARTBEAT.md by hand are now tasks: {named}."]


@pytest.mark.requirement("HB-12")
def test_what_was_taken_in_is_not_taken_in_again(tmp_path: Path) -> None:
    board = Board.of(tmp_path, section("- buy milk\n- buy milk\n"))
    process = board.process()
    assert not process.is_current()
    assert len(board.call(process)) == 2
    assert process.is_current()
    assert board.call(process) == board.call(board.process()) == []


def edited(folder: Path) -> tuple[Board, TaskFile]:
    """Return a board to which a person has added a bullet since the process wrote it."""
    board = Board.of(folder, section("- buy milk\n"))
    process = board.process()
    board.call(process)
    board.path.write_text(board.text.replace("## TODO\n", "## TODO\n- buy bread\n"))
    return board, process


@pytest.mark.requirement("HB-12", "C2")
def test_a_list_is_not_current_if_another_thread_reads_the_file_while_this_one_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, process = edited(tmp_path)
    with ExitStack() as unit:

        def identify_late(path: Path) -> FileIdentity | None:  # a call of the system, during which other threads run
            monkeypatch.setattr(mirror, "identify", identify)
            unit.enter_context(process.transaction())
            return identify(path)

        monkeypatch.setattr(mirror, "identify", identify_late)
        assert not process.is_current()
    assert process.is_current()


@pytest.mark.requirement("HB-12", "C2")
def test_a_list_is_not_current_while_another_thread_still_reads_the_changed_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board, process = edited(tmp_path)
    seen: list[bool] = []

    def close(held: HeldFile, close: Callable[[HeldFile], None] = HeldFile.close) -> None:
        seen.append(process.is_current())  # a call of the system, during which other threads run
        close(held)

    monkeypatch.setattr(HeldFile, "close", close)
    assert len(board.call(process)) == 1
    assert seen
    assert not any(seen)


@pytest.mark.requirement("HB-12", "D2")
@pytest.mark.parametrize("lines", ["- buy milk\n", "- buy milk\n* [ ] buy milk\n", "- [x] buy milk\n- buy milk\n"])
def test_a_kill_between_commit_and_mirror_takes_nothing_in_twice(tmp_path: Path, lines: str) -> None:
    board = Board.of(tmp_path, section(entry(COOL), lines))
    board.put(COOL)
    board.call_and_die()
    stored = list(board.tasks.values())
    assert len(stored) == 1 + lines.count("milk")
    assert board.call(board.process()) == []
    assert board.text == section(*(entry(task) for task in stored if task.is_active))
    assert not board.backup.exists()


@pytest.mark.requirement("HB-12", "D2")
def test_what_a_person_adds_after_a_kill_takes_nothing_in_twice(tmp_path: Path) -> None:
    board = Board.of(tmp_path, section("- buy milk\n"))
    assert len(board.call_and_die()) == 1
    board.path.write_text(section("- buy milk\n- clean\n"))
    assert [task.raw_user_request for task in board.call(board.process())] == ["clean"]
    assert board.text == section(*map(entry, board.tasks.values()))


@pytest.mark.requirement("HB-12")
def test_a_bullet_like_a_task_that_has_an_entry_is_another_task(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    board.path.write_text(section(entry(COOL), "- eat an apple\n"))
    (twin,) = board.call(board.process())
    assert twin.raw_user_request == COOL.raw_user_request
    assert board.text == section(entry(COOL), entry(twin))


@pytest.mark.requirement("HB-12")
def test_a_finished_bullet_is_not_confused_with_a_task_that_was_worked_on(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    board.finish(COOL.id)
    board.path.write_text(section("- [x] eat an apple\n"))
    (again,) = board.call(board.process())
    assert again.status is HeartbeatStatus.COMPLETE
    assert board.text == section()


@pytest.mark.requirement("HB-12")
def test_bullets_that_come_within_a_call_are_taken_in_by_it(tmp_path: Path) -> None:
    board = Board.of(tmp_path, section("- buy milk\n"))
    process = board.process()
    with process.transaction() as work:
        work.add(WILD)
        board.path.write_text(section("- buy milk\n- buy milk\n- clean\n"))
    taken_in = [task for task in board.tasks.values() if task != WILD]
    assert [task.raw_user_request for task in taken_in] == ["buy milk", "buy milk", "clean"]
    assert board.text == section(*map(entry, (WILD, *taken_in)))
    assert process.is_current()


@pytest.mark.requirement("HB-12", "ERR-2", "WARN-1")
def test_a_bullet_is_taken_in_though_the_call_that_found_it_failed(tmp_path: Path) -> None:
    board = Board.of(tmp_path, section("- buy milk\n"))
    process = board.process()
    with pytest.raises(LookupError), process.transaction() as work:
        work.get("no-such-task")
    (milk,) = board.tasks.values()
    assert board.text == section(entry(milk))
    assert board.warnings.take() == [f"Lines added to HEARTBEAT.md by hand are now tasks: {milk.id}."]


@pytest.mark.requirement("HB-12", "HB-13")
@pytest.mark.parametrize("is_same_process", [True, False], ids=["same process", "new process"])
def test_a_bullet_in_a_read_only_file_is_taken_in_once_even_when_it_is_done(
    tmp_path: Path, *, is_same_process: bool
) -> None:
    board = Board.of(tmp_path, section("- buy milk\n- [Running] clean\n"))
    board.path.chmod(0o444)
    os.utime(board.path, (0, 0))
    process = board.process()
    milk, clean = board.call(process)
    process = process if is_same_process else board.process()
    with process.transaction() as work:
        work.replace(board.finished(milk.id))
        work.replace(clean.changed(result="half"))
    process = process if is_same_process else board.process()
    assert board.call(process) == []
    assert board.text == section("- buy milk\n- [Running] clean\n")
    board.path.chmod(0o644)
    assert board.call(process) == []
    assert board.text == section(entry(board.tasks[clean.id]))
    assert not board.backup.exists()


@pytest.mark.requirement("HB-12", "HB-13")
def test_without_a_backup_a_change_is_not_overwritten(tmp_path: Path) -> None:
    board = mirrored(tmp_path, WILD)
    edited = section(entry(WILD).replace("dive", "swim"), "- buy milk\n")
    board.path.write_text(edited)
    board.backup.mkdir()
    process = board.process()
    (milk,) = board.call(process)
    assert board.text == edited
    board.finish(milk.id)
    assert board.call(process) == []
    board.backup.rmdir()
    assert board.call(process) == []
    assert board.text == section(entry(WILD))
    assert "swim" in board.backup.read_text()


@pytest.mark.requirement("HB-12", "D2")
def test_entries_that_are_only_old_make_no_noise(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL, WILD)
    first, second = board.process(), board.process()
    board.call(first, WILD.changed(result="seen"))
    board.call(second, COOL.changed(raw_user_request="eat two"))
    board.finish(WILD.id)
    board.call(first)
    board.remove(WILD.id)
    board.call(second)
    assert board.text == section(entry(board.tasks[COOL.id]))
    assert not board.backup.exists()
    assert board.warnings.take() == []


@pytest.mark.requirement("HB-12", "D2")
def test_a_kill_after_a_task_was_finished_makes_no_noise(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL, WILD)
    board.call(board.process(), WILD.changed(status=HeartbeatStatus.PENDING))
    board.call_and_die(board.finished(WILD.id), board.finished(COOL.id))
    assert board.call(board.process()) == []
    assert board.text == section()
    assert not board.backup.exists()


@pytest.mark.requirement("HB-12", "HB-15")
def test_an_entry_that_the_server_did_not_write_is_taken_in_under_its_id(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    board.path.write_text(section(entry(COOL), entry(WILD)))
    (wild,) = board.call(board.process())
    assert (wild.id, wild.status, wild.raw_user_request, wild.ideas) == (
        WILD.id,
        WILD.status,
        "see the coral",
        ("dive",),
    )
    assert board.text == section(entry(COOL), entry(WILD))
    assert not board.backup.exists()


@pytest.mark.requirement("HB-12", "ST-5")
@pytest.mark.parametrize("is_same_process", [True, False], ids=["same process", "new process"])
def test_an_entry_of_the_server_goes_with_its_task(tmp_path: Path, *, is_same_process: bool) -> None:
    board = mirrored(tmp_path, COOL)
    process = board.process()
    board.call(process, WILD)
    board.remove(WILD.id)
    board.path.write_text(board.text + "- [ ] not this\n")
    assert board.call(process if is_same_process else board.process()) == []
    assert board.text == section(entry(COOL)) + "- [ ] not this\n"
    assert not board.backup.exists()


@pytest.mark.requirement("H5", "HB-12")
def test_where_first_line_and_comment_disagree_it_is_text(tmp_path: Path) -> None:
    torn = "- [Pending] cool-apple: eat an apple\n  - Status: Pending\n  <!-- task_id: wild-coral -->\n"
    board = Board.of(tmp_path, section(torn))
    assert board.call(board.process(), COOL, WILD) == []
    assert board.text == section(entry(COOL), entry(WILD), "\n", torn)


@pytest.mark.requirement("HB-12")
def test_under_a_deeper_heading_only_entries_of_stored_tasks_are_the_servers(tmp_path: Path) -> None:
    sample = entry(make_task("old-star", "a sample"))
    board = mirrored(tmp_path, COOL)
    board.path.write_text(section("### Now\n", entry(COOL), "\n", sample, "- a note\n"))
    assert board.call(board.process()) == []
    assert board.text == section(entry(COOL), "\n### Now\n\n", sample, "- a note\n")


@pytest.mark.requirement("HB-12", "H3")
def test_text_that_an_entry_kept_apart_does_not_run_together(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    board.path.write_text(section("one\n", entry(COOL), "---\n"))
    board.call(board.process())
    assert board.text == section(entry(COOL), "\none\n\n---\n")
    board.finish(COOL.id)
    board.call(board.process())
    assert board.text == section("one\n\n---\n")


@pytest.mark.requirement("HB-12", "HB-8")
@pytest.mark.parametrize("text", ["   ```\n- buy milk\n   ```\n", "    - code\n", " - [Pending/Running] x\n"])
def test_indented_text_does_not_become_part_of_the_last_entry(tmp_path: Path, text: str) -> None:
    board = Board.of(tmp_path, section(text))
    process = board.process()
    assert board.call(process, COOL) == []
    once = section(entry(COOL), "\n<!-- end of list -->\n", text)
    assert board.text == once
    assert board.call(board.process(), WILD) == []
    assert board.text == section(entry(COOL), entry(WILD), "\n<!-- end of list -->\n", text)
    board.finish(*board.tasks)
    board.call(process)
    assert board.text == section(text)


@pytest.mark.requirement("HB-8", "HB-9")
@pytest.mark.parametrize("after", ["  ## B\n", "   B\n===\n"])
def test_an_indented_heading_does_not_become_part_of_the_last_entry(tmp_path: Path, after: str) -> None:
    board = Board.of(tmp_path, "## TODO\n" + after)
    board.call(board.process(), COOL)
    assert board.text == "## TODO\n" + entry(COOL) + "<!-- end of list -->\n\n" + after
    assert board.call(board.process()) == []
    board.finish(COOL.id)
    board.call(board.process())
    assert board.text == "## TODO\n\n" + after


@pytest.mark.requirement("HB-12")
def test_bytes_that_are_no_utf_8_are_never_taken_in(tmp_path: Path) -> None:
    board = Board.of(tmp_path, b"## TODO\n- caf\xe9\n- tea\n")
    (tea,) = board.call(board.process())
    assert board.data == b"## TODO\n" + entry(tea).encode() + b"\n- caf\xe9\n"


@pytest.mark.requirement("HB-15")
def test_a_recovered_entry_without_its_comment_keeps_its_id(tmp_path: Path) -> None:
    by_hand = "- [Running] cool-apple: short\n  - Raw User Request: long & <b>\n- plain\n"
    board = Board.of(tmp_path, section(by_hand), is_lost=True)
    assert [task.raw_user_request for task in board.call_and_die()] == ["long & <b>", "plain"]
    assert next(iter(board.tasks)) == "cool-apple"
    assert board.call(board.process()) == []
    assert board.text == section(*map(entry, board.tasks.values()))
    assert by_hand in board.backup.read_text()


@pytest.mark.requirement("HB-8", "HB-9")
def test_an_indented_heading_stays_one_behind_text_that_runs_to_a_blank_line(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n<div>\n\n- buy milk\n # B\n")
    (milk,) = board.call(board.process())
    assert board.text == f"## TODO\n{entry(milk)}\n<div>\n\n<!-- end of list -->\n\n # B\n"
    assert board.call(board.process()) == []


@pytest.mark.requirement("HB-12", "D2")
@pytest.mark.parametrize("mark", ["- [x]", "- [ ]", "-"])
def test_the_same_words_on_another_day_are_another_task(tmp_path: Path, mark: str) -> None:
    board = Board.of(tmp_path, "## TODO\n")
    board.call(board.process())
    for day in range(1, 4):
        board.path.write_text(board.text + f"{mark} water the plants\n")
        assert len(board.call(board.process())) == 1
        assert len(board.tasks) == day
        board.finish(*board.tasks)
        board.call(board.process())


@pytest.mark.requirement("HB-12", "HB-13")
def test_a_bullet_in_a_file_that_cannot_be_written_is_taken_in_once_for_all_starts(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n- buy milk\n")
    for _ in range(3):
        board.call_and_die()
        board.finish(*board.tasks)
    assert len(board.tasks) == 1
    assert board.call(board.process()) == []
    assert board.text == "## TODO\n"


@pytest.mark.requirement("HB-12", "HB-18", "C2")
def test_a_call_that_timed_out_of_a_pass_leaves_the_file_to_the_calls_that_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_writing, may_write = threading.Event(), threading.Event()
    real = mirror.sweep_temporary

    def delay(path: Path) -> bool:
        is_writing.set()
        assert may_write.wait(10 * DEADLINE)
        return real(path)

    monkeypatch.setattr(mirror, "sweep_temporary", delay)
    board = Board.of(tmp_path, "## TODO\n")
    process = board.process(lock_seconds=2)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(board.call, process, COOL)
        try:
            assert is_writing.wait(DEADLINE)
            board.save("## TODO\n- buy milk\n\nRemember the bread.\n")
            saved = board.text
            assert board.call(process, WILD) == []
            assert board.text == saved
        finally:
            may_write.set()
        slow.result()
    assert board.text.endswith("\nRemember the bread.\n")
    assert [task.raw_user_request for task in board.tasks.values()] == ["eat an apple", "see the coral", "buy milk"]
    assert all(f"<!-- task_id: {task_id} -->" in board.text for task_id in board.tasks)
    assert any(warning.startswith("HEARTBEAT.md was left as it is: ") for warning in board.warnings.take())


@pytest.mark.requirement("HB-12", "H3")
@pytest.mark.parametrize(
    "label",
    [
        "Never do:", "**Never do**", "__Never do__", "**Never do:**", "*Never do:*", "Never do：", "<b>Never do</b>",
        "Mind this.\nNever do:", "### Never do", "*Never do this*", "Don't do any of these.", "绝不要做", "しない",
        "- Never do the following:", "* [ ] **Do not:**", "1. Never do:", "> Never do:", "> **Never do**",
        "> [!WARNING]\n> Never do this", "Forbidden", "Out of scope",
    ],
)  # fmt: skip
def test_bullets_under_a_label_are_left_alone_with_it(tmp_path: Path, label: str) -> None:
    for gap in ("", "\n"):
        rules = f"{label}\n{gap}- delete mail\n- [ ] buy anything\n\n* run this\n"
        board = Board.of(tmp_path, section("- call Ann\n", "\n", rules))
        (ann,) = board.call(board.process())
        assert ann.raw_user_request == "call Ann"
        assert board.text == section(entry(ann), "\n", rules)


@pytest.mark.requirement("HB-12")
@pytest.mark.parametrize(
    "text",
    [
        "Just a note.",
        "<!-- Do not edit below -->",
        "> Just a note.",
        "See a: b",
        "a **bold** word",
        "**a** and **b** too",
        "10:30",
    ],
)
def test_other_text_is_no_label(tmp_path: Path, text: str) -> None:
    board = Board.of(tmp_path, section(f"{text}\n\n- buy milk\n"))
    (milk,) = board.call(board.process())
    assert milk.raw_user_request == "buy milk"


@pytest.mark.requirement("HB-12", "H3")
@pytest.mark.parametrize("label", ["Never do:", "Mind this.\n  **Never do**"])
def test_a_label_that_an_editor_indented_below_an_entry_stays_with_its_bullets(tmp_path: Path, label: str) -> None:
    board = mirrored(tmp_path, COOL)
    board.save(section(entry(COOL), f"  {label}\n  - delete mail\n  - [ ] buy anything\n"))
    assert board.call(board.process()) == []
    written = board.text
    assert written.startswith(section(entry(COOL)).removesuffix("\n## B\n"))
    assert [line.strip() for line in f"{label}\n- delete mail\n- [ ] buy anything".split("\n")] == [
        line.strip() for line in written.removeprefix(section(entry(COOL)).removesuffix("\n## B\n")).splitlines()[:-2]
    ]
    assert board.warnings.take() == []
    assert board.call(board.process()) == []
    assert board.text == written


@pytest.mark.requirement("HB-12")
def test_a_label_ends_at_the_next_text_and_at_an_entry(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL)
    board.save(section("Never do:\n- delete mail\n", entry(COOL), "- buy milk\n", "\nAlso this.\n\n- call Ann\n"))
    assert [task.raw_user_request for task in board.call(board.process())] == ["buy milk", "call Ann"]
    assert board.text.endswith("\n\nNever do:\n- delete mail\n\nAlso this.\n\n## B\n")


@pytest.mark.requirement("HB-12", "HB-15")
def test_the_first_intake_of_a_file_keeps_the_section_as_it_was_and_speaks_of_no_recovery(tmp_path: Path) -> None:
    text = section("Do:\n- water the plants\n\nSoon.\n\n- buy milk\n")
    board = Board.of(tmp_path, text, is_lost=True)
    (milk,) = board.call(board.process())
    assert board.warnings.take() == [
        f"Tasks were added from the lines of HEARTBEAT.md: {milk.id}. The section as it was is in HEARTBEAT.md.bak."
    ]
    kept = board.backup.read_text().partition("\n")[2]
    assert f"# A\n\n{kept}## B\n" == text
    board.save(board.text.replace("Soon.", "Soon.\n\n- call Ann"))
    board.call(board.process())
    assert board.warnings.take()[0].startswith("Lines added to HEARTBEAT.md by hand are now tasks: ")
    assert board.backup.read_text().partition("\n")[2] == kept


@pytest.mark.requirement("HB-12", "HB-13")
def test_a_section_that_cannot_be_kept_at_the_first_intake_is_not_replaced(tmp_path: Path) -> None:
    board = Board.of(tmp_path, section("- buy milk\n"), is_lost=True)
    board.backup.mkdir()
    before = board.text
    process = board.process()
    (milk,) = board.call(process)
    assert board.text == before
    board.backup.rmdir()
    board.call(process)
    assert board.text == section(entry(milk))
    assert "- buy milk" in board.backup.read_text()
