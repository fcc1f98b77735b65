"""What a person changes in entries: ticked off, overwritten, back again, or left till it is settled (HB-12, HB-17)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from heartbeat_mcp.models import SECTION, HeartbeatStatus
from heartbeat_mcp.paths import check_reference
from tests.heartbeat.mirror_board import Board, entry, make_task, mirrored, section

COOL = make_task("cool-apple", "eat an apple")
WILD = make_task("wild-coral", "see the coral", status="Running", ideas=["dive"])


@pytest.mark.requirement("HB-12", "H3", "WARN-1")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param(
            "[Running]", "[Done!]", "first line: '[Done!] wild-coral: see the coral'", id="another word in the bracket"
        ),
        pytest.param("Status: Running", "Status: Fail", "status: 'Fail'", id="status in its field"),
        pytest.param("coral: see", "coral: look at", "first line: 'wild-coral: look at the coral'", id="summary"),
        pytest.param("Request: see", "Request: look at", "raw user request: 'look at the coral'", id="request"),
        pytest.param("- dive", "- dive deeper", "idea: 'dive deeper'", id="idea"),
        pytest.param("  - Status", "    - another\n  - Status", "idea: 'another'", id="new idea"),
        pytest.param("  <!--", "  - Result: seen\n  <!--", "result: 'seen'", id="new field"),
        pytest.param("  <!--", "  - my note\n  <!--", "text: '- my note'", id="note above the comment"),
        pytest.param("-->\n", "-->\n  my note\n", "text: 'my note'", id="text below the comment"),
        pytest.param("-->\n", "-->\n  - Result: seen\n", "result: 'seen'", id="new field below the comment"),
        pytest.param(
            "see the",
            "s\udce9e the",
            "raw user request: 's\\u{dce9}e the coral', first line: 'wild-coral: s\\u{dce9}e the coral'",
            id="bytes that are no UTF-8",
        ),
    ],
)
def test_a_changed_entry_is_put_aside_and_overwritten(tmp_path: Path, old: str, new: str, said: str) -> None:
    board = mirrored(tmp_path, COOL)
    process = board.process()
    board.call(process, WILD)
    edited = section(entry(COOL), entry(WILD).replace(old, new)).encode(errors="surrogateescape")
    board.path.write_bytes(edited)
    process = process if "note" in new else board.process()
    assert board.call(process) == []
    assert board.text == section(entry(COOL), entry(WILD))
    assert board.backup.read_bytes().endswith(b"-->\n" + edited.removeprefix(b"# A\n\n").removesuffix(b"## B\n"))
    (warning,) = board.warnings.take()
    assert warning == (
        f"Your edit to wild-coral ({said}) in HEARTBEAT.md was overwritten: the store is authoritative. "
        "The old section is in HEARTBEAT.md.bak. Use task_update to change tasks."
    )
    board.call(process)
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
        pytest.param(entry(WILD), entry(WILD) * 2, id="the entry twice"),
    ],
)
def test_an_entry_that_says_the_same_is_not_a_change(tmp_path: Path, old: str, new: str) -> None:
    board = mirrored(tmp_path, WILD)
    board.path.write_bytes(section(entry(WILD).replace(old, new)).encode())
    assert board.call(board.process(), COOL) == []
    assert board.text.replace("\r", "") == section(entry(COOL), entry(WILD))
    assert not board.backup.exists()
    assert board.warnings.take() == []


@pytest.mark.requirement("HB-12", "HB-18")
def test_a_change_to_an_entry_is_put_aside_though_the_file_was_in_use_at_the_very_first_call(tmp_path: Path) -> None:
    board = Board(tmp_path / "HEARTBEAT.md")
    board.save(section())
    process = board.process()
    with board.path.open("a"):
        board.call(process, WILD)
    board.call(process)
    assert board.text == section(entry(WILD))
    board.path.write_text(section(entry(WILD).replace("dive", "swim")))
    board.call(process)
    assert board.text == section(entry(WILD))
    assert "swim" in board.backup.read_text()
    process.close()


@pytest.mark.requirement("HB-12", "D2")
def test_a_change_to_an_entry_is_put_aside_though_a_kill_followed_a_change_of_its_task(tmp_path: Path) -> None:
    board = mirrored(tmp_path, WILD)
    board.path.write_text(section(entry(WILD).replace("dive", "swim")))
    board.backup.mkdir()  # so that nothing is written after the commit
    board.call(board.process(), WILD.changed(result="seen"))
    board.backup.rmdir()
    board.call(board.process())
    assert board.text == section(entry(WILD.changed(result="seen")))
    assert "swim" in board.backup.read_text()


@pytest.mark.requirement("HB-12", "WARN-1")
def test_an_entry_that_was_taken_out_comes_back_each_time(tmp_path: Path) -> None:
    board = mirrored(tmp_path, COOL, WILD)
    process = board.process()
    for _ in range(2):
        board.path.write_text(section())
        assert board.call(process) == []
        assert board.text == section(entry(COOL), entry(WILD))
        assert board.warnings.take() == [
            "Entries that were missing from HEARTBEAT.md are back: cool-apple, wild-coral. "
            "Perhaps a server ended before it wrote them; if somebody removed them, use task_update to finish tasks."
        ]
    assert not board.backup.exists()


@pytest.mark.requirement("HB-12")
def test_the_next_change_is_put_aside_too(tmp_path: Path) -> None:
    board = mirrored(tmp_path, WILD)
    process = board.process()
    for word in ("one", "two"):
        edited = section(entry(WILD).replace("dive", word))
        board.path.write_text(edited)
        board.call(process)
        assert word in board.backup.read_text()
        assert len(board.warnings.take()) == 1


BRACKETS = [
    ("x", "Complete"), ("X", "Complete"), ("Done", "Complete"), ("Completed", "Complete"), ("Complete", "Complete"),
    ("complete", "Complete"), ("Fail", "Fail"), ("Pending", "Pending"), (" ", "Pending"), ("", "Pending"),
]  # fmt: skip
"""What a person puts into a bracket, and the status that it means."""


@pytest.mark.requirement("HB-12", "HB-17", "WARN-1")
@pytest.mark.parametrize(("mark", "status"), BRACKETS)
def test_an_entry_that_was_ticked_off_sets_the_status(tmp_path: Path, mark: str, status: str) -> None:
    board = mirrored(tmp_path, COOL)
    process = board.process()
    board.call(process, WILD)
    board.path.write_text(section(entry(COOL), entry(WILD).replace("[Running]", f"[{mark}]")))
    assert board.call(process if mark in {"x", " "} else board.process()) == []
    ticked = board.tasks[WILD.id]
    moment = board.now if ticked.status.is_finished else None
    assert ticked == WILD.changed(status=HeartbeatStatus(status), updated_at=board.now, completed_at=moment)
    assert board.text == section(entry(COOL), *([entry(ticked)] if ticked.is_active else []))
    assert board.warnings.take() == [f"Statuses set in HEARTBEAT.md by hand were applied: {WILD.id} ({status})."]
    assert not board.backup.exists()


@pytest.mark.requirement("HB-17")
def test_a_ticked_entry_of_a_task_that_changed_meanwhile_is_a_change_like_any_other(tmp_path: Path) -> None:
    board = mirrored(tmp_path, WILD)
    board.path.write_text(section(entry(WILD).replace("[Running]", "[x]")))
    busy = WILD.changed(result="half")
    board.put(busy)
    assert board.call(board.process()) == []
    assert board.tasks == {WILD.id: busy}
    assert board.text == section(entry(busy))
    assert "[x]" in board.backup.read_text()
    assert "was overwritten" in board.warnings.take()[0]


@pytest.mark.requirement("HB-17")
def test_a_bracket_as_the_task_has_it_and_a_second_copy_tick_nothing_off(tmp_path: Path) -> None:
    board = mirrored(tmp_path, WILD)
    board.path.write_text(
        section(entry(WILD).replace("[Running]", "[running]"), entry(WILD).replace("[Running]", "[x]"))
    )
    assert board.call(board.process()) == []
    assert board.tasks == {WILD.id: WILD}
    assert board.text == section(entry(WILD))
    assert "[x]" in board.backup.read_text()


@pytest.mark.requirement("HB-17", "ERR-2")
def test_what_was_ticked_off_in_a_call_that_failed_is_applied_all_the_same(tmp_path: Path) -> None:
    board = mirrored(tmp_path, WILD)
    board.path.write_text(section(entry(WILD).replace("[Running]", "[x]")))
    with pytest.raises(LookupError), board.process().transaction() as work:
        work.get("no-such-task")
    assert board.tasks[WILD.id].status is HeartbeatStatus.COMPLETE
    assert board.text == section()


@pytest.mark.requirement("HB-12", "HB-13", "WARN-1")
@pytest.mark.parametrize("mark", ["<<<<<<< HEAD", ">>>>>>> main\r"])
def test_nothing_is_taken_in_or_written_while_there_are_marks_of_a_merge_conflict(tmp_path: Path, mark: str) -> None:
    board = mirrored(tmp_path, COOL)
    text = section(entry(COOL).replace("[Pending]", "[x]"), "- buy milk\n", f"{mark}\n=======\n")
    board.save(text)
    process = board.process()
    for _ in range(2):
        assert board.call(process, WILD) == []
        assert not process.is_current()
    assert board.data.decode() == text
    assert board.tasks == {COOL.id: COOL, WILD.id: WILD}
    assert board.warnings.take() == [
        "HEARTBEAT.md has merge conflict markers in line 9: nothing is taken from it or written to it until you "
        "resolve the conflict."
    ]
    board.save(section(entry(COOL), "- buy milk\n"))
    (milk,) = board.call(process)
    assert board.text == section(*map(entry, (COOL, WILD, milk)))


@pytest.mark.requirement("HB-12", "HB-9")
@pytest.mark.parametrize(
    "below", ["=======\nhourly\n\n## TODO\n- buy milk\n>>>>>>> main\n", "## B\n=======\ndaily\n## B\n>>>>>>> main\n"]
)
def test_a_merge_conflict_that_starts_above_the_heading_is_left_alone_too(tmp_path: Path, below: str) -> None:
    board = mirrored(tmp_path, COOL)
    text = f"# A\n\n<<<<<<< HEAD\ndaily\n\n## TODO\n{entry(COOL)}{below}\n## C\n"
    board.save(text)
    assert board.call(board.process(), WILD) == []
    assert board.text == text
    last = text[: text.index(">>>>>>>")].count("\n") + 1
    assert f"has merge conflict markers in line 3, {last}: " in board.warnings.take()[0]


@pytest.mark.requirement("HB-12", "HB-9")
@pytest.mark.parametrize("ours", ["", "a note\n", "one\ntwo\r\n"])
@pytest.mark.parametrize("above", ["", "a text\n", "- buy milk\n"])
def test_a_merge_conflict_whose_start_looks_like_a_heading_is_left_alone_too(
    tmp_path: Path, above: str, ours: str
) -> None:
    board = mirrored(tmp_path, COOL)
    text = section(entry(COOL), f"\n{above}<<<<<<< HEAD\n{ours}=======\n{entry(WILD)}>>>>>>> main\n")
    board.save(text)
    assert board.call(board.process(), WILD) == []
    assert board.data == text.encode()
    assert "has merge conflict markers in line" in board.warnings.take()[0]


@pytest.mark.requirement("HB-12")
@pytest.mark.parametrize("text", ["=======\n", "x\n<<<<<<<x\n", "<<<<<<<< 8\n", " <<<<<<< HEAD\n"])
def test_what_only_looks_like_a_merge_conflict_is_text(tmp_path: Path, text: str) -> None:
    board = Board.of(tmp_path, section(text))
    board.call(board.process(), COOL)
    assert entry(COOL) in board.text
    assert board.warnings.take() == []


@pytest.mark.requirement("HB-12", "HB-6", "TOOL-3", "WARN-1")
@pytest.mark.parametrize(
    ("bullet", "why"),
    [
        ("- " + "x" * 100_001, "Shorten it to 100,000 characters"),
        ("- a\n  - Raw Reference: ../secret", "Give 'raw_reference' as a path inside the workspace"),
        ("- a\n  - Result File: ../secret", "Give 'result_file' as a path inside the workspace"),
        ("- a\n  - Result: " + "x" * 100_001, "Shorten it to 100,000 characters"),
        ("- a\n  - Idea:\n" + "    - i\n" * 201, "at most 200"),
    ],
    ids=lambda text: text[:40],
)
def test_a_bullet_that_no_call_would_accept_stays_as_text(tmp_path: Path, bullet: str, why: str) -> None:
    def check(field: str, value: str) -> None:
        check_reference(field, value, workspace=None, base=tmp_path)

    board = Board.of(tmp_path, section(f"{bullet}\n- buy milk\n"))
    (milk,) = board.call(board.process(check_reference=check))
    assert milk.raw_user_request == "buy milk"
    assert board.text.startswith(section(entry(milk), f"\n{bullet}\n").removesuffix("\n## B\n"))
    warnings = board.warnings.take()
    assert len(warnings) == 2
    assert warnings[1].startswith("Lines of HEARTBEAT.md cannot become tasks and stay as they are: '")
    assert why in warnings[1]
    assert len(warnings[1]) < 500


@pytest.mark.requirement("HB-12")
def test_the_backup_keeps_the_last_twenty_sections_in_a_mebibyte(tmp_path: Path) -> None:
    board = mirrored(tmp_path, WILD)
    for number in range(22):
        board.path.write_text(section(entry(WILD).replace("dive", f"idea {number}")))
        board.call(board.process())
    kept = board.backup.read_text()
    assert [number for number in range(22) if f"idea {number}\n" in kept] == [*range(2, 22)]
    for letter in "abc":
        board.path.write_text(section(entry(WILD).replace("dive", letter * 400_000)))
        board.call(board.process())
    kept = board.backup.read_text()
    assert [kept.count(letter * 400_000) for letter in "abc"] == [0, 1, 1]
    assert len(kept) < 2**20


@pytest.mark.requirement("HB-12", "H3")
def test_every_form_that_was_put_aside_stays_in_the_backup(tmp_path: Path) -> None:
    board = mirrored(tmp_path, WILD)
    board.backup.write_text("notes of somebody's own")
    for word in ("one", "two", "two"):
        board.path.write_text(section(entry(WILD).replace("dive", word)))
        board.call(board.process())
    kept = board.backup.read_text()
    assert kept.startswith("notes of somebody's own\n")
    assert (kept.count("one"), kept.count("two")) == (1, 2)


@pytest.mark.requirement("HB-12")
@pytest.mark.parametrize("receipts", [5, ["x"], {COOL.id: 7}])
def test_receipts_that_somebody_made_unreadable_are_made_anew(tmp_path: Path, receipts: JsonValue) -> None:
    board = mirrored(tmp_path, COOL)
    with board.store.transaction() as work:
        work.set_fields({SECTION: receipts})
    board.call(board.process(), WILD)
    assert board.text == section(entry(COOL), entry(WILD))
    assert board.receipts.keys() >= {WILD.id}
    assert board.call(board.process()) == []
    assert board.text == section(entry(COOL), entry(WILD))


@pytest.mark.requirement("HB-12", "H3")
@pytest.mark.parametrize(
    ("lines", "requests"),
    [
        pytest.param("  - buy milk", ["buy milk"], id="as editors indent"),
        pytest.param("   * [ ] buy milk\n     - fresh", ["buy milk\n- fresh"], id="with sub-bullets"),
        pytest.param("    - buy milk", ["buy milk"], id="four blanks"),
        pytest.param("\t- buy milk", ["buy milk"], id="a tab"),
        pytest.param("\n  - buy milk\n\n  - call Ann", ["buy milk", "call Ann"], id="apart"),
        pytest.param("  - [x] buy milk\n  - call Ann", ["buy milk", "call Ann"], id="two, one of them done"),
    ],
)
@pytest.mark.parametrize("is_last", [True, False], ids=["below the last", "between"])
def test_an_indented_bullet_below_an_entry_is_a_new_task(
    tmp_path: Path, lines: str, requests: list[str], *, is_last: bool
) -> None:
    board = mirrored(tmp_path, COOL, WILD)
    added = f"{lines}\n"
    board.save(section(entry(COOL), entry(WILD), added) if is_last else section(entry(COOL), added, entry(WILD)))
    taken_in = board.call_and_die()
    assert [task.raw_user_request for task in taken_in] == requests
    assert board.call(board.process()) == []
    assert board.text == section(entry(COOL), entry(WILD), *(entry(task) for task in taken_in if task.is_active))
    assert not board.backup.exists()


@pytest.mark.requirement("HB-12", "HB-17")
def test_an_entry_is_ticked_off_though_a_bullet_was_added_below_it(tmp_path: Path) -> None:
    board = mirrored(tmp_path, WILD)
    board.save(section(entry(WILD).replace("[Running]", "[x]"), "  - buy milk\n"))
    (milk,) = board.call(board.process())
    assert board.tasks[WILD.id].status is HeartbeatStatus.COMPLETE
    assert board.text == section(entry(milk))
