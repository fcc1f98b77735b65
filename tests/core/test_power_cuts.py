"""The power is cut at any moment: what was acknowledged is there, the rest whole or absent, on JSON and on SQLite."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from task_core.errors import StoreWriteFailed, TaskError
from task_core.files import Wait
from task_core.store import Store
from task_core.store.collection import Node
from task_core.store.sqlite import SqliteDatabase
from tests.core.faults import size_limit
from tests.core.notes import NOTES, Note, add, ids, open_store
from tests.core.power_cuts import FRAME, HEADER, Disk, lay_out, mixed_pages, torn_logs

EVERY = pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.by_hand)], ids=["some", "all"])
"""Runs a test with every 13th of the cuts that it makes, or with all of them."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cut").mkdir()
    return tmp_path / "cut"


class Cuts:
    """What is left by a cut after any call of a few units of work, and how many of them were acknowledged by then."""

    def __init__(self, folder: Path, *, units: int = 3, fsync: bool) -> None:
        self.found: dict[tuple[tuple[str, bytes], ...], int] = {}
        self._disk = Disk(folder)
        self._acknowledged = 0
        moment = datetime(2030, 1, 1, tzinfo=UTC)
        self._store = open_store(folder / "notes.json", fsync=fsync, clock=lambda: moment)
        with self._disk.watched(self._note):
            for number in range(units):
                moment += timedelta(days=1)
                add(self._store, f"note-{number}")
                self._acknowledged += 1
                self._note()

    def _note(self) -> None:
        for state in self._disk.states():
            self.found[tuple(sorted(state.items()))] = self._acknowledged

    def outcomes(self, folder: Path) -> Iterator[tuple[int, list[str] | TaskError]]:
        """Yield how many units were acknowledged before each cut, and what a fresh process shows after it."""
        for state, acknowledged in self.found.items():
            lay_out(folder, dict(state))
            try:
                yield acknowledged, ids(open_store(folder / "notes.json"))
            except TaskError as error:
                yield acknowledged, error


@pytest.mark.requirement("D1", "D2", "ST-6")
def test_a_document_after_a_power_cut_is_the_one_before_or_the_one_after_the_save(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "live").mkdir()
    cuts = Cuts(tmp_path / "live", fsync=True)
    outcomes = [*cuts.outcomes(folder)]
    assert len(outcomes) >= 15
    for acknowledged, shown in outcomes:
        assert shown in [[f"note-{number}" for number in range(count)] for count in (acknowledged, acknowledged + 1)]
    for state, acknowledged in cuts.found.items():
        lay_out(folder, dict(state))
        store = open_store(folder / "notes.json")
        add(store, "later")
        assert len(ids(store)) - 1 in (acknowledged, acknowledged + 1)
        for generation in folder.glob("*.bak*"):
            assert ids(open_store(generation)) == [
                f"note-{number}" for number in range(len(ids(open_store(generation))))
            ]


def test_without_syncs_the_same_cuts_lose_units_and_tear_documents(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "live").mkdir()
    outcomes = [*Cuts(tmp_path / "live", units=2, fsync=False).outcomes(folder)]
    assert any(isinstance(shown, TaskError) for _, shown in outcomes)
    assert any(not isinstance(shown, TaskError) and len(shown) < acknowledged for acknowledged, shown in outcomes)


class Database:
    """A database that a few units of work change, with its files after each step."""

    def __init__(self, path: Path, *, fsync: bool = True) -> None:
        self.path = path
        self.database = SqliteDatabase(path, fsync=fsync)
        self.store = Store(self.database, NOTES)

    def work(self, number: int) -> None:
        """Do a unit of work that touches several pages."""
        with self.store.transaction() as notes:
            notes.add(Note(id=f"note-{number}", text=f"{number}" * 3_000 * (number % 3)))
            if number > 1:
                notes.replace(notes.get(f"note-{number - 1}").changed(text="changed"))
            if number > 2:
                notes.remove(f"note-{number - 2}")

    def checkpoint(self) -> None:
        self.database.tidy(Wait(1))

    def shown(self) -> list[Node]:
        with self.store.read() as notes:
            return notes.nodes()

    def files(self) -> tuple[bytes, bytes, bytes]:
        """Return the database, its log and the index of the log."""
        return self._read(""), self._read("-wal"), self._read("-shm")

    def _read(self, suffix: str) -> bytes:
        file = self.path.with_name(self.path.name + suffix)
        return file.read_bytes() if file.exists() else b""


def check(folder: Path, number: int, pages: bytes, log: bytes, index: bytes, allowed: Sequence[list[Node]]) -> None:
    """Open the database that a cut left; the shared index of the log, which is never synced, is lost or as it was."""
    state = {"s.db": pages, **({"s.db-wal": log} if log or number % 2 else {})}
    lay_out(folder, state | [{}, {"s.db-shm": index}, {"s.db-shm": index[:100] + bytes(len(index) // 2)}][number % 3])
    left = Database(folder / "s.db", fsync=False)
    try:
        assert left.shown() in allowed
        assert left.database.check() == []
        add(left.store, "later")
        assert [node for node in left.shown() if node.id != "later"] in allowed
    finally:
        left.store.close()


@pytest.mark.requirement("D2", "EN-8")
@EVERY
def test_whatever_a_cut_leaves_of_the_log_each_acknowledged_unit_is_there(
    tmp_path: Path, folder: Path, step: int
) -> None:
    live = Database(tmp_path / "s.db")
    before: list[Node] = []
    old_log = b""
    number = 0
    for unit in range(6):
        live.work(unit)
        after = live.shown()
        pages, log, index = live.files()
        for torn in (*islice(torn_logs(len(old_log), log), 0, None, step), log):
            check(folder, number, pages, torn, index, [after] if torn == log else [before, after])
            number += 1
        before, old_log = after, log
    live.store.close()
    assert number > 200 // step


@pytest.mark.requirement("D2", "EN-8")
@EVERY
def test_whatever_a_cut_leaves_of_a_checkpoint_each_acknowledged_unit_is_there(
    tmp_path: Path, folder: Path, step: int
) -> None:
    live = Database(tmp_path / "s.db")
    rng = Random(1)
    number = 0
    for cycle in range(2):
        for unit in range(3):
            live.work(4 * cycle + unit)
        before = live.shown()
        old_pages, log, index = live.files()
        live.checkpoint()
        new_pages, emptied, _ = live.files()
        assert emptied == b""
        # The log is durable before a page is written.
        for pages in islice(mixed_pages(old_pages, new_pages, rng), 0, None, step):
            check(folder, number, pages, log, index, [before])
            number += 1
        # The pages are durable before the log is emptied.
        for left in (log, emptied):
            check(folder, number, new_pages, left, index, [before])
            number += 1
        # The first unit afterwards begins a new log; its header is durable before a frame is written.
        live.work(4 * cycle + 3)
        after = live.shown()
        pages, new_log, index = live.files()
        assert pages == new_pages
        for torn in torn_logs(0, new_log[:HEADER]):
            check(folder, number, pages, torn + log[len(torn) :], index, [before])
            number += 1
        for torn in (*islice(torn_logs(HEADER, new_log), 0, None, step), new_log):
            check(folder, number, pages, torn, index, [after] if torn == new_log else [before, after])
            number += 1
        live.checkpoint()
    live.store.close()
    assert number > 200 // step


def test_pages_that_were_written_before_the_log_was_durable_would_be_found(tmp_path: Path, folder: Path) -> None:
    live = Database(tmp_path / "s.db")
    live.work(0)
    live.checkpoint()
    for unit in range(1, 4):
        live.work(unit)
    after = live.shown()
    old_pages, _, index = live.files()
    live.checkpoint()
    new_pages, _, _ = live.files()
    live.store.close()
    losses = 0
    for pages in mixed_pages(old_pages, new_pages, Random(1)):
        try:
            check(folder, 0, pages, b"", index, [after])
        except (AssertionError, TaskError):
            losses += 1
    assert losses > 10


@pytest.mark.requirement("D2", "EN-8")
@EVERY
def test_a_cut_while_the_database_is_made_leaves_an_empty_store(tmp_path: Path, folder: Path, step: int) -> None:
    live = Database(tmp_path / "s.db")
    live.work(0)
    after = live.shown()
    pages, log, index = live.files()
    live.store.close()
    for number, left in enumerate([b"", *islice(torn_logs(0, log), 0, None, step)]):
        check(folder, number, pages, left, index, [[], after])
    check(folder, 0, b"", b"", b"", [[]])


@pytest.mark.requirement("D4", "ERR-2", "EN-8")
def test_a_disk_that_is_full_at_any_byte_of_a_commit_leaves_the_database_as_it_was(tmp_path: Path) -> None:
    live = Database(tmp_path / "s.db", fsync=False)
    live.work(0)
    live.work(1)
    before = live.shown()
    size = len(live.files()[1])
    failures = 0
    for limit in range(size, size + 20 * FRAME, FRAME // 2):
        try:
            with size_limit(limit):
                live.work(2)
        except StoreWriteFailed as error:
            assert "full" in error.message or "disk" in error.message  # noqa: PT017 - at last it succeeds
            assert live.shown() == Database(live.path).shown() == before
            failures += 1
        else:
            break
    assert failures > 3
    assert live.shown() != before
    assert live.shown() == Database(live.path).shown()
    assert live.database.check() == []
    live.store.close()


@pytest.mark.requirement("D4", "ERR-2", "EN-8")
@pytest.mark.parametrize("limit", [0, 9_500, 38_000, 95_000])
def test_a_disk_that_is_full_while_the_database_is_made_leaves_an_empty_store(tmp_path: Path, limit: int) -> None:
    live = Database(tmp_path / "s.db", fsync=False)
    with size_limit(limit), pytest.raises(StoreWriteFailed):
        live.work(0)
    assert live.shown() == Database(live.path).shown() == []
    live.work(0)
    assert [node.id for node in live.shown()] == ["note-0"]
    assert live.database.check() == []
    live.store.close()
