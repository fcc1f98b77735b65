"""Rules that hold for every document and every text (HB-9, HB-11, HB-12, H1, H3, H5)."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heartbeat_mcp.mirror.document import read_document
from heartbeat_mcp.mirror.items import FoundTask
from heartbeat_mcp.mirror.section import Part, locate_section
from heartbeat_mcp.models import HeartbeatTask
from tests.heartbeat.mirror_board import Board, found_in, make_task
from tests.heartbeat.mirror_text import documents, hostile_text, markdown

LIMITS = st.sampled_from([0, 0, 150, 400])

FIELD_NAMES = {"raw", "user", "request", "idea", "status"}
"""Words of a bullet that are not text of its task."""

STORED = (make_task("cool-apple", "hello"), make_task("wild-coral", "title", status="Running"))
"""Tasks whose entries are in some of the documents, in one form or another."""


few = settings(max_examples=int(os.environ.get("TEST_EXAMPLES", "8")))
"""Each example writes files."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rules")


def normal(data: bytes) -> bytes:
    """Return ``data`` as units hold it: no blanks at the ends of lines, and line feeds between them."""
    lines = re.split(rb"\r\n?|\n", data)
    return b"\n".join(line.rstrip(b" \t") for line in lines)


def flush(data: bytes) -> bytes:
    """Return ``data`` without indentation: a bullet below an entry has more of it in the file than in its unit."""
    return re.sub(rb"(?m)^[ \t]+", b"", data)


def texts(task: HeartbeatTask) -> list[str]:
    fields = [task.raw_reference, task.result, task.result_file]
    return [task.status.value, task.raw_user_request, *task.ideas, *(text for text in fields if text)]


def words(text: str) -> set[str]:
    return set(re.findall("[a-z]{3,}", text.casefold()))


@pytest.mark.requirement("HB-9", "H1")
@few
@given(before=st.binary(max_size=200), after=st.binary(max_size=200), newline=st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_arbitrary_bytes_outside_the_section_stay_bit_for_bit(
    folder: Path, before: bytes, after: bytes, newline: bytes
) -> None:
    data = newline.join([before, b"", b"## TODO", b"- buy milk", b"", b"# after", after])
    section, _ = locate_section(data, "TODO")
    board = Board.of(folder, data)
    board.call(board.process(), *STORED)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        assert board.data == data
    else:
        assert board.data.startswith(section.before)
        assert board.data.endswith(section.after)
        assert b"<!-- task_id: cool-apple -->" in board.data


@pytest.mark.requirement("HB-9", "HB-12", "H1", "H3")
@few
@given(data=documents(), tasks=st.sampled_from([(), STORED]), limit=LIMITS)
@example(data=b"\n\n## TODO\n[label]: /url\n    text\n===", tasks=STORED, limit=0)
def test_a_section_is_written_once_and_then_stays(
    folder: Path, data: bytes, tasks: tuple[HeartbeatTask, ...], limit: int
) -> None:
    old = read_document(data, "TODO")
    board = Board.of(folder, data)
    process = board.process(max_chars=limit)
    board.put(*tasks)
    board.call(process)
    new = read_document(board.data, "TODO")
    assert process.is_current()
    assert new.section.before.startswith(old.section.before.rstrip(b"\r\n") if not old.section.is_new else b"")
    assert new.section.after == old.section.after
    for another in (process, board.process(max_chars=limit)):
        assert board.call(another) == []
        assert board.data == new.data


@pytest.mark.requirement("HB-12", "H3")
@few
@given(data=documents(), tasks=st.sampled_from([(), STORED]))
@example(
    data=b"## TODO\n- [Pending] wild-coral: title\n  <!-- task_id: wild-coral -->\n  - [Running] cool-apple: a\n text",
    tasks=STORED,
)
def test_every_line_is_kept_taken_in_or_put_aside(folder: Path, data: bytes, tasks: tuple[HeartbeatTask, ...]) -> None:
    old = read_document(data, "TODO")
    board = Board.of(folder, data)
    board.put(*tasks)
    taken_in = board.call(board.process())
    kept = normal(read_document(board.data, "TODO").section.body)
    aside = normal(board.backup.read_bytes()) if board.backup.exists() else b""
    stored = words("\n".join(text for task in taken_in for text in texts(task)))
    for unit in old.units:
        if unit.part is Part.TEXT and b"more tasks" not in unit.text:
            assert unit.text in kept
        elif unit.part is Part.BULLET:
            assert flush(unit.text) in flush(aside) or words(unit.text.decode()) - FIELD_NAMES <= stored


@pytest.mark.requirement("HB-12", "D2")
@few
@given(data=documents(), tasks=st.sampled_from([(), STORED]), limit=LIMITS)
def test_a_kill_after_the_commit_takes_nothing_in_twice(
    folder: Path, data: bytes, tasks: tuple[HeartbeatTask, ...], limit: int
) -> None:
    # The count in some of these documents speaks of tasks that the store never had.
    data = re.sub(rb"\(3 more[^\r\n]*", b"", data)
    board = Board.of(folder, data)
    board.put(*tasks)
    board.call_and_die()
    assert board.call(board.process(max_chars=limit)) == []
    assert board.call(board.process(max_chars=limit)) == []


@pytest.mark.requirement("HB-15", "H5")
@few
@given(data=documents())
def test_recovered_tasks_are_in_the_section_and_can_be_recovered_again(folder: Path, data: bytes) -> None:
    board = Board.of(folder, data, is_lost=True)
    assert board.call(board.process()) == [*board.tasks.values()]
    active = [task for task in board.tasks.values() if task.is_active]
    again = found_in(board.data)
    assert [one.id for one in again] == [task.id for task in active]
    assert all(one.agrees_with(task) for one, task in zip(again, active, strict=True))


FIELDS = st.fixed_dictionaries(
    {
        "status": st.sampled_from(["Pending", "Running"]),
        "raw_reference": st.none() | hostile_text,
        "ideas": st.lists(hostile_text, max_size=3),
        "result": st.none() | hostile_text | hostile_text.map(lambda text: text * 100),
        "result_file": st.none() | hostile_text,
    }
)
REQUESTS = hostile_text | hostile_text.map(lambda text: text * 100)


def is_shown_as(text: str | None, shown: str | None) -> bool:
    """Whether ``shown`` is ``text``, or a beginning of it that is cut."""
    text, shown = text or "", shown or ""
    return text == shown or (shown.endswith("…") and text.startswith(shown[:-1]))


def is_whole(task: HeartbeatTask, found: FoundTask) -> bool:
    pairs = [
        (task.raw_user_request, found.raw_user_request),
        (task.raw_reference, found.raw_reference),
        (task.result, found.result),
        (task.result_file, found.result_file),
        *zip((idea for idea in task.ideas if idea), found.ideas, strict=True),
    ]
    return (task.id, task.status) == (found.id, found.status) and all(is_shown_as(*pair) for pair in pairs)


@pytest.mark.requirement("HB-11", "HB-15", "H5")
@few
@given(
    fields=st.lists(st.tuples(REQUESTS, FIELDS), max_size=4),
    around=markdown,
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_hostile_text_in_every_field_survives_the_loss_of_the_store(
    folder: Path, fields: list[tuple[str, dict[str, object]]], around: list[str], newline: str
) -> None:
    text = "\n".join(["## TODO", "", "### Kept", *around])
    board = Board.of(folder, text.replace("\n", newline))
    tasks = [make_task(f"task-{number}", request, **values) for number, (request, values) in enumerate(fields)]
    board.call(board.process(), *tasks)
    found = found_in(board.data)
    assert len(found) == len(board.tasks)
    assert all(is_whole(task, one) for task, one in zip(board.tasks.values(), found, strict=True))
    written = board.data
    assert board.call(board.process()) == []
    assert board.data == written
    assert not board.backup.exists()


@pytest.mark.requirement("HB-10", "HB-11")
@few
@given(
    fields=st.fixed_dictionaries(
        {
            "raw_user_request": st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40),
            "raw_reference": hostile_text.filter(bool),
            "ideas": st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40), min_size=1),
            "result": st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40),
            "result_file": hostile_text.filter(bool),
        }
    )
)
def test_text_that_was_not_cut_comes_back_exactly(folder: Path, fields: dict[str, str]) -> None:
    board = Board.of(folder, "")
    board.call(board.process(), make_task("cool-apple", request=fields.pop("raw_user_request"), **fields))
    (found,) = found_in(board.data)
    assert found.agrees_with(board.tasks["cool-apple"])


@pytest.mark.requirement("C5")
@few
@given(data=documents(), limit=LIMITS, steps=st.lists(st.sampled_from(["add", "finish", "edit", "call"]), max_size=6))
def test_a_process_that_went_on_knows_what_a_new_one_reads(
    folder: Path, data: bytes, limit: int, steps: list[str]
) -> None:
    board = Board.of(folder, data)
    old = board.process(max_chars=limit)
    board.call(old, *STORED)
    for number, step in enumerate(steps):
        if step == "add":
            board.put(make_task(f"new-{number}", f"hello {number}"))
        elif step == "finish" and board.tasks:
            board.finish(next(iter(board.tasks)))
        elif step == "edit":
            board.save(board.data + b"\n- by hand\n")
        board.call(old)
        before = board.data
        assert board.call(board.process(max_chars=limit)) == []
        assert board.data == before
