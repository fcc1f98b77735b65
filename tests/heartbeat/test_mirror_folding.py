"""What one call costs the mirror: entries that are known are neither made nor parsed again (HB-9, HB-13)."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typing_extensions import Self

from heartbeat_mcp.mirror import Mirror
from heartbeat_mcp.mirror.document import Document, read_document
from heartbeat_mcp.mirror.entries import Entries, render_entry
from heartbeat_mcp.mirror.folding import FOLD
from heartbeat_mcp.mirror.units import Part
from heartbeat_mcp.models import Status, Task
from task_core.files import identify
from task_core.store.base import Collection
from task_core.warning_list import WarningList
from tests.heartbeat.mirror_board import make_task
from tests.heartbeat.mirror_text import FRAGMENTS, PREFIXES

TASKS = [make_task(f"task-{name}", f"do {name}", ideas=["think"]) for name in ("one", "two", "three", "four")]
RUN = Entries().of(TASKS)
ENTRIES = list(RUN)


def units(document: Document) -> Iterator[tuple[Part, bytes, str | None]]:
    """Yield part, text and id of each unit, of a run those of its entries."""
    for unit in document.units:
        if unit.run:
            yield from ((Part.ENTRY, entry.text, entry.task_id) for entry in unit.run)
        else:
            yield unit.part, unit.text, unit.item.closing_id if unit.item else None


def assert_read_alike(data: bytes) -> None:
    """Check that a reader who knows the entries finds what one who does not know them finds."""
    known, plain = read_document(data, "TODO", RUN), read_document(data, "TODO")
    assert list(units(known)) == list(units(plain))
    in_runs = {entry.task_id for unit in known.units for entry in unit.run}
    assert (known.body, known.ids | in_runs, known.size) == (plain.body, plain.ids, plain.size)
    for name in ("before", "heading", "after", "newline", "is_new"):
        assert getattr(known.section, name) == getattr(plain.section, name)
    assert known.shows_the_same_as(plain)


PIECES = st.builds(str.__add__, st.sampled_from(PREFIXES), st.sampled_from(FRAGMENTS))
RUNS = st.integers(0, 4).flatmap(lambda first: st.integers(first, 4).map(lambda last: ENTRIES[first:last]))
RUN_TEXTS = RUNS.map(lambda run: "\n".join(entry.text.decode() for entry in run))


@pytest.mark.requirement("HB-8", "HB-9", "HB-12", "H5")
@given(
    lines=st.lists(PIECES | PIECES | RUN_TEXTS | st.just("## TODO"), max_size=14),
    newline=st.sampled_from(["\n", "\n", "\r\n", "\r"]),
    tail=st.sampled_from(["", "\n"]),
)
@example(["## TODO", *(entry.text.decode() for entry in ENTRIES), "- new"], "\n", "\n")
@example(["## TODO", *(entry.text.decode() for entry in ENTRIES), "  more"], "\n", "\n")
@example(["## TODO", "### Later", *(entry.text.decode() for entry in ENTRIES)], "\n", "\n")
@example(["## TODO", "- new", *(entry.text.decode() for entry in ENTRIES[1:])], "\r\n", "\r\n")
@example(["## TODO", FOLD.decode(), *(entry.text.decode() for entry in ENTRIES)], "\n", "\n")
def test_entries_that_are_known_are_read_as_if_they_were_not(lines: list[str], newline: str, tail: str) -> None:
    text = "\n".join(["# A", *lines]) + tail
    assert_read_alike(text.replace("\n", newline).encode())


OPENERS = [
    "```",
    "~~~ x",
    "<!--",
    "<!-- x",
    "<div>",
    "<pre>",
    "<?php",
    "<!X",
    "<![CDATA[",
    "text",
    "> a",
    "- a",
    "1. a",
]


FOLLOWERS = ["", "- x", "  x", "x", "    x", "## B", "<!-- task_id: task-one -->", "-->", "```"]


@pytest.mark.requirement("HB-8", "HB-12", "H5")
@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("follower", FOLLOWERS)
@pytest.mark.parametrize("place", ["below", "above", "elsewhere"])
def test_entries_that_an_open_block_swallows_are_not_taken_for_known(opener: str, follower: str, place: str) -> None:
    run = b"\n".join(entry.text for entry in ENTRIES).decode()
    above, below = ("## TODO\n", "") if place == "below" else ("", "## TODO\n")
    other = run if place == "elsewhere" else ""
    assert_read_alike(f"# A\n\n{above}{opener}\n{run}\n{follower}\n\n{below}{other}\n\ntext\n".encode())


class Calls(Counter[str]):
    """Counts the calls of functions by name while it is open, and those of all of Python."""

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, function: Callable[..., object]) -> None:
        if event == "call":
            self["python"] += 1
            self[frame.f_code.co_name] += 1
        elif event == "c_call" and function in {os.writev, os.fsync, os.replace}:
            self[f"os.{function.__name__}"] += 1


def many(count: int) -> dict[str, Task]:
    tasks = (make_task(f"seed-task-{number}", f"do {number}") for number in range(count))
    return {task.id: task for task in tasks}


def mirror_of(path: Path) -> Mirror:
    return Mirror(path, WarningList(), settle_seconds=0)


def call(mirror: Mirror, tasks: dict[str, Task], *new: Task) -> Calls:
    """Do what one call of a tool does to the mirror, and return what it cost."""
    with Calls() as calls:
        if not mirror.is_current():
            mirror.additions(Collection(dict(tasks)))
        assert not mirror.holds("new-task")
        tasks.update((task.id, task) for task in new)
        mirror.write(Collection(tasks))
    return calls


def cost(calls: Calls) -> tuple[int, ...]:
    """Return entries made, lines parsed, writes, syncs and replacements."""
    return tuple(calls[name] for name in ("render_entry", "_match_containers", "os.writev", "os.fsync", "os.replace"))


def mirrored(folder: Path, count: int) -> tuple[Path, Mirror, dict[str, Task]]:
    """Return a file with so many tasks, the mirror that wrote it, and the tasks."""
    path = folder / f"{count}.md"
    path.write_text("# A\n\n## TODO\n\n## B\n\nnotes\n")
    mirror, tasks = mirror_of(path), many(count)
    call(mirror, tasks)
    return path, mirror, tasks


def changed(task: Task, change: str) -> Task:
    forms = {
        "create": make_task("new-task", "new"),
        "update": task.changed(result="done so far"),
        "finish": task.changed(status=Status.COMPLETE),
    }
    return forms[change]


@pytest.mark.requirement("HB-9", "HB-13", "H1", "D1")
@pytest.mark.parametrize(("change", "made"), [("create", 1), ("update", 1), ("finish", 0)])
def test_a_change_makes_one_entry_and_writes_once_however_many_tasks_there_are(
    tmp_path: Path, change: str, made: int
) -> None:
    python = list[int]()
    for count in (100, 1000):
        _, mirror, tasks = mirrored(tmp_path, count)
        calls = call(mirror, tasks, changed(tasks[f"seed-task-{count // 2}"], change))
        assert cost(calls) == (made, 0, 1, 1, 1)
        python.append(calls["python"])
    assert python[1] - python[0] <= 10


@pytest.mark.requirement("HB-9", "H1")
def test_where_nothing_that_is_shown_changed_nothing_is_parsed_or_written(tmp_path: Path) -> None:
    path, mirror, tasks = mirrored(tmp_path, 100)
    before = identify(path)
    assert cost(call(mirror, tasks)) == (0, 0, 0, 0, 0)
    assert cost(call(mirror, tasks, tasks["seed-task-7"].changed(claude_session_id="not shown"))) == (1, 0, 0, 0, 0)
    assert identify(path) == before


@pytest.mark.requirement("ST-2", "HB-9")
def test_what_another_server_wrote_costs_no_more_than_what_is_new_in_it(tmp_path: Path) -> None:
    for count in (10, 1000):
        path, mirror, tasks = mirrored(tmp_path, count)
        other = mirror_of(path)
        call(other, tasks, make_task("their-task", "new"))
        # A store that was read again holds equal records, not the same.
        tasks.update((task.id, task.model_copy()) for task in list(tasks.values()))
        made, parsed, *writes = cost(call(mirror, tasks, make_task("new-task", "new")))
        assert (made, writes) == (2, [1, 1, 1])
        assert parsed <= 20


@pytest.mark.requirement("HB-12")
@pytest.mark.parametrize("place", [0, 500, 999, 1000])
def test_a_bullet_between_known_entries_is_all_that_is_parsed(tmp_path: Path, place: int) -> None:
    path, mirror, tasks = mirrored(tmp_path, 1000)
    entries = [render_entry(task) for task in tasks.values()]
    entries.insert(place, b"- buy milk")
    path.write_bytes(b"## TODO\n" + b"\n".join(entries) + b"\n")
    with Calls() as calls:
        found = mirror.additions(Collection(tasks))
    assert [one.raw_user_request for one in found] == ["buy milk"]
    assert cost(calls)[0] == 0
    assert cost(calls)[1] <= 30


@pytest.mark.requirement("HB-14")
def test_a_section_with_a_limit_looks_at_no_more_entries_than_it_has_room_for(tmp_path: Path) -> None:
    lines = list[int]()
    for count in (100, 1000):
        mirror, tasks = Mirror(tmp_path / "x.md", WarningList(), max_chars=2000, settle_seconds=0), many(count)
        call(mirror, tasks)
        lines.append(call(mirror, tasks, make_task("new-task", "new"))["_entry_size"])
    assert lines[0] == lines[1] <= 50


@pytest.mark.requirement("HB-12", "ERR-2", "H3")
@pytest.mark.parametrize("is_reread", [False, True])
def test_an_entry_whose_taking_in_failed_is_found_again(tmp_path: Path, *, is_reread: bool) -> None:
    path, mirror, tasks = mirrored(tmp_path, 3)
    lost = make_task("old-star", "still wanted")
    path.write_bytes(path.read_bytes().replace(b"\n\n## B", b"\n" + render_entry(lost) + b"\n\n## B"))
    assert [found.id for found in mirror.additions(Collection(tasks))] == ["old-star"]
    if is_reread:
        path.write_bytes(path.read_bytes() + b"more\n")
    # A second unit of work that shares the save sees the task, and then the save fails for both.
    assert mirror.additions(Collection({**tasks, lost.id: lost})) == []
    assert [found.id for found in mirror.additions(Collection(tasks))] == ["old-star"]
