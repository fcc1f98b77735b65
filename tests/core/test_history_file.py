"""The history beside a document: edits by hand, damage, and faults of the disk (AG-4, AG-21)."""

from __future__ import annotations

import errno
import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from task_core.errors import StoreWriteFailed
from task_core.history import history_file
from task_core.history.changes import OUTSIDE, Change, made_by
from task_core.history.history_file import HistoryFile, Stamp
from task_core.models import Clock, microseconds, utc_now
from task_core.store import Store
from task_core.store.store import NEWEST
from task_core.warning_list import WarningList
from tests.core.engines import LIST, Card, Engine
from tests.core.faults import Fault, watched

pytestmark = pytest.mark.requirement("AG-4")

JSON: Final = Engine("json")
NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Document:
    """A document with its history, and the stores of the processes that share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = JSON.path(folder)
        self.history = self.path.with_name("store.json.history.jsonl")
        self.warnings = WarningList()
        self.stamp = Stamp(0, 0)

    def open(self, clock: Clock = utc_now) -> Store[Card]:
        return JSON.open(self.folder, LIST, history_days=90, warnings=self.warnings, clock=clock)

    def edit(self, old: str, new: str) -> None:
        """Change the document as a person does with an editor."""
        text = self.path.read_text()
        assert old in text
        self.path.write_text(text.replace(old, new))


@pytest.fixture
def document(tmp_path: Path) -> Document:
    return Document(tmp_path)


def add(store: Store[Card], *names: str) -> None:
    with made_by("agent", "add"), store.transaction() as work:
        for name in names:
            work.add(Card(id=name, text=f"<{name}>"))


def replace(store: Store[Card], text: str) -> None:
    with store.transaction() as work:
        work.replace(Card(id="a", text=text))


def entries(store: Store[Card]) -> list[Change]:
    return store.history(limit=1_000)[::-1]


def told(store: Store[Card]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return of each change who made it, and what it did to which record."""
    return [(change.by, [(step.what, step.id) for step in change.steps]) for change in entries(store)]


# Edits by hand


def test_an_edit_by_hand_while_a_server_runs_is_a_change_from_outside(document: Document) -> None:
    store = document.open()
    add(store, "a", "b")
    document.edit("<a>", "edited")
    for _ in range(2):  # it may be read any number of times before somebody writes
        with store.read():
            pass
    add(store, "c")
    _, first, last = entries(store)
    assert (first.by, first.steps[0].before, first.steps[0].after) == (OUTSIDE, {"text": "<a>"}, {"text": "edited"})
    assert (last.by, last.number) == ("agent", first.number + 1)


def test_an_edit_that_was_read_between_two_others_is_not_lost(document: Document) -> None:
    store = document.open()
    add(store, "a", "b")
    for old, new in (("<a>", "once"), ("once", "twice")):
        document.edit(old, new)
        with store.read():
            pass
    add(store, "c")
    assert [step.after for change in entries(store)[1:3] for step in change.steps] == [
        {"text": "once"},
        {"text": "twice"},
    ]


def test_an_edit_while_no_server_runs_is_noted_without_its_values(document: Document) -> None:
    add(document.open(), "a")
    document.edit("<a>", "edited")
    add(document.open(), "b")
    assert told(document.open()) == [
        ("agent", [("created", "a")]),
        (OUTSIDE, []),
        ("agent", [("created", "b")]),
    ]
    assert not entries(document.open())[1].is_whole


def test_a_document_from_before_the_history_begins_it_with_the_next_change(document: Document) -> None:
    add(document.open(), "a")
    document.history.unlink()
    store = document.open()
    document.path.touch()
    add(store, "b")
    assert told(store) == [("agent", [("created", "b")])]


def test_of_two_processes_only_the_next_writer_notes_an_edit_and_only_once(document: Document) -> None:
    first, second = document.open(), document.open()
    add(first, "a")
    with second.read():
        pass
    document.edit("<a>", "edited")
    for store in (first, second):
        with store.read():
            pass
    add(second, "b")
    add(first, "c")
    add(second, "d")
    assert told(first) == [
        ("agent", [("created", "a")]),
        (OUTSIDE, [("changed", "a")]),
        ("agent", [("created", "b")]),
        ("agent", [("created", "c")]),
        ("agent", [("created", "d")]),
    ]


@pytest.mark.requirement("AG-3")
def test_a_change_that_its_process_noted_is_noted_by_no_other_one_when_more_follow(document: Document) -> None:
    first, second = document.open(), document.open()
    for name in "ab":
        add(first, name)
        with second.read():
            pass
    add(first, "c")
    document.edit("<a>", "edited")
    add(second, "d")
    assert told(first)[:3] == [("agent", [("created", name)]) for name in "abc"]
    assert told(first)[3:] == [(OUTSIDE, [("changed", "a"), ("created", "c")]), ("agent", [("created", "d")])]


@pytest.mark.requirement("AG-3")
def test_a_process_that_died_before_it_noted_its_change_leaves_that_to_the_next_one(document: Document) -> None:
    store = document.open()
    add(store, "a")
    noted = document.history.read_bytes()
    add(document.open(), "b")
    document.history.write_bytes(noted)  # as if that process had died before the line
    add(store, "c")
    assert told(store) == [
        ("agent", [("created", "a")]),
        (OUTSIDE, [("created", "b")]),
        ("agent", [("created", "c")]),
    ]
    assert [change.number for change in entries(store)] == [1, 2, 3]


@pytest.mark.requirement("AG-21")
def test_a_document_that_was_removed_or_put_back_is_a_change_from_outside(document: Document) -> None:
    store = document.open()
    add(store, "a")
    old = document.path.read_bytes()
    add(store, "b")
    document.path.write_bytes(old)
    add(store, "c")
    document.path.unlink()
    add(store, "d")
    assert told(store)[2:] == [
        (OUTSIDE, [("removed", "b")]),
        ("agent", [("created", "c")]),
        (OUTSIDE, [("removed", "a"), ("removed", "c")]),
        ("agent", [("created", "d")]),
    ]


def test_what_is_saved_beside_the_tasks_begins_no_history(document: Document) -> None:
    store = document.open()
    with store.transaction() as work:
        work.set_fields({"section": 1})
    assert document.path.exists()
    assert not document.history.exists()


# Damage


@pytest.mark.requirement("AG-21")
def test_a_history_that_is_torn_at_any_byte_stops_nobody_and_numbers_on(document: Document) -> None:
    store = document.open()
    for name in "ab":
        add(store, name)
    replace(store, "<c>")
    whole = document.history.read_bytes()
    history = HistoryFile(document, document.warnings, utc_now, lambda: 90, is_private=True)
    for cut in range(len(whole)):
        document.history.write_bytes(whole[:cut])
        lines = whole[:cut].count(b"\n") + (whole[cut : cut + 1] == b"\n")
        if cut % 40:  # a store for some of them, since that takes a hundred times as long
            history.end_save([Change(microseconds(utc_now()), f"t{cut}", "", [])])
            found = history.find([""], NEWEST, 1_000)[::-1]
            assert found[-1].by == f"t{cut}"
        else:
            replace(store, f"t{cut}")
            found = entries(store)
            assert found[-1].steps[0].after == {"text": f"t{cut}"}
        assert [change.number for change in found] == [*range(1, lines + 2)]


def test_a_damaged_line_is_skipped_with_a_warning(document: Document) -> None:
    store = document.open()
    for name in "abc":
        add(store, name)
    lines = document.history.read_bytes().splitlines()
    for damaged in (
        b"{",
        b"\xff\0",
        b"[]",
        b"3",
        lines[1].replace(b"tasks", b"task"),
        lines[1].replace(b'"at"', b'"to"'),
    ):
        document.history.write_bytes(b"\n".join((lines[0], damaged, lines[2])))
        assert [change.steps[0].id for change in entries(store)] == ["a", "c"]
    assert document.warnings.take() == ["store.json.history.jsonl: 1 damaged line skipped."]
    add(store, "d")
    assert entries(store)[-1].number == 4


def test_values_of_any_type_in_a_line_stop_nobody(document: Document) -> None:
    store = document.open()
    add(store, "a")
    replace(store, "new")
    line = document.history.read_bytes().splitlines()[1]
    for name, part in json.loads(line).items():
        for key, there in [(name, part), *(part[0].items() if name == "tasks" else ())]:
            found = b'"%b":%b' % (key.encode(), json.dumps(there, separators=(",", ":")).encode())
            assert found in line
            for value in (b"5", b"null", b"[1]", b"[[1,2]]", b"{}", b'"x"', b"true", b"1e999"):
                document.history.write_bytes(line.replace(found, b'"%b":%b' % (key.encode(), value)) + b"\n")
                for change in entries(store):
                    assert (change.steps[0].what, type(change.steps[0].before)) == ("changed", dict)
            add(store, f"after {key}")


def test_a_damaged_line_does_not_take_older_changes_along_when_old_ones_are_dropped(
    document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_file, "_TRIMMED_EVERY", 1)
    now = [NOON]
    store = document.open(clock=lambda: now[0])
    add(store, "old")
    now[0] += timedelta(days=60)
    add(store, "a")
    for damaged in (b'{"at":"2026-13-99T","by', b"{\n"):
        with document.history.open("ab") as file:
            file.write(damaged)
        now[0] += timedelta(days=15)
        add(store, f"{now[0].day}")
    now[0] += timedelta(days=5)
    add(store, "z")
    assert entries(store)[0].steps[0].id == "a"
    assert b"<old>" not in document.history.read_bytes()
    assert b"2026-13-99T" in document.history.read_bytes()


# Faults


def test_a_history_that_cannot_be_written_or_read_only_warns(document: Document) -> None:
    document.history.mkdir()
    store = document.open()
    with made_by("agent", "add") as origin, store.transaction() as work:
        work.add(Card(id="a", text="<a>"))
    assert origin.change
    assert origin.change.number == 0, "a number that another change has could undo that one"
    assert entries(store) == []
    written, read = document.warnings.take()
    assert written.startswith("store.json.history.jsonl cannot be written (")
    assert written.endswith("), so the last change cannot be undone.")
    assert read.startswith("store.json.history.jsonl cannot be read (")
    document.history.rmdir()
    add(store, "b")
    assert told(store)[-1] == ("agent", [("created", "b")])


def test_a_line_that_was_written_in_part_is_taken_back(document: Document) -> None:
    store = document.open()
    add(store, "a")
    before = document.history.read_bytes()
    with watched(Fault(2, errno.ENOSPC, for_good=True), {"write"}):  # the first one is of the document
        add(store, "b")
    assert document.history.read_bytes() == before
    assert "No space left on device" in document.warnings.take()[0]
    add(store, "c")
    assert told(store) == [("agent", [("created", "a")]), ("agent", [("created", "c")])]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize(("is_private", "mode"), [(True, 0o600), (False, 0o644)])
def test_the_history_is_as_private_as_the_document(document: Document, *, is_private: bool, mode: int) -> None:
    document.path.parent.chmod(0o755)  # whose access a document gets that is not private
    history = HistoryFile(document, document.warnings, utc_now, lambda: 90, is_private=is_private)
    history.end_save([Change(0, "", "", [])])
    assert stat.S_IMODE(history.path.stat().st_mode) == mode
    assert history.path == document.history


def test_a_change_that_was_not_saved_is_not_noted(document: Document) -> None:
    store = document.open()
    add(store, "a")
    with watched(Fault(1, errno.ENOSPC), {"write"}), pytest.raises(StoreWriteFailed):
        add(store, "b")
    add(store, "c")
    assert told(store) == [("agent", [("created", "a")]), ("agent", [("created", "c")])]
