"""Units of work that wait for each other share one save, and each still succeeds or fails for itself (EN-9)."""

from __future__ import annotations

import errno
import os
import resource
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from task_core import durable
from task_core.errors import DuplicateId, InternalError, StoreLocked, StoreWriteFailed, TaskError
from task_core.files import Wait
from task_core.store import Collection, ListCodec, Selection, Store, Transaction
from task_core.store.collection import Node
from task_core.store.sqlite import SqliteDatabase
from tests.core.faults import watched
from tests.core.notes import NOTES, Note, add, ids, in_background, open_store, stored_ids, wait_for_turn
from tests.postgres import connect_as_owner, name_tenant, needs_postgres

pytestmark = pytest.mark.requirement("EN-9")


@contextmanager
def begun(path: Path) -> Iterator[Path]:
    """Yield where a store is that has one note, and that somebody else has open too."""
    store = open_store(path)
    add(store, "before")
    yield path
    store.close()


@pytest.fixture(params=["notes.json", "notes.db", pytest.param("notes.pg", marks=needs_postgres)])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    with begun(tmp_path / str(request.param)) as path:
        yield path


@pytest.fixture(params=["notes.json", "notes.db"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    with begun(tmp_path / str(request.param)) as path:
        yield path


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    with begun(tmp_path / "notes.db") as path:
        yield path


class Outcomes:
    """What became of units of work that run at the same time: None or the error, by the id that each adds."""

    def __init__(self, store: Store[Note]) -> None:
        self.errors: dict[str, BaseException | None] = {}
        self._store = store

    def adding(self, *names: str) -> list[Callable[[], None]]:
        return [partial(self._add, name) for name in names]

    @property
    def saved(self) -> set[str]:
        return {name for name, error in self.errors.items() if error is None}

    def _add(self, name: str) -> None:
        try:
            add(self._store, name)
        except (TaskError, ZeroDivisionError) as error:
            self.errors[name] = error
        else:
            self.errors[name] = None


@contextmanager
def together(store: Store[Note], *names: str) -> Iterator[tuple[Outcomes, Transaction[Note]]]:
    """Yield an open unit of work for which one that adds each of ``names`` waits; all have ended after the block."""
    outcomes = Outcomes(store)
    with in_background() as start, store.transaction() as notes:
        wait_for_turn(*start(*outcomes.adding(*names)))
        yield outcomes, notes


def commits(path: Path) -> int:
    """Return how many commits are in the log of a database, or noted in it."""
    if path.suffix == ".pg":
        with connect_as_owner() as connection:
            noted = connection.execute("SELECT COUNT(*) FROM commits WHERE tenant = %s", [name_tenant(path)])
            return next(int(count) for (count,) in noted.fetchall())
    data = path.with_name(f"{path.name}-wal").read_bytes()
    (page,) = struct.unpack_from(">I", data, 8)
    frames = [data[start : start + 24] for start in range(32, len(data), page + 24)]
    return sum(frame[4:8] != bytes(4) for frame in frames if frame[8:16] == data[16:24])


@contextmanager
def counted_saves(path: Path) -> Iterator[Callable[[], int]]:
    """Yield a function that returns how often the block has saved the store."""
    with watched() as calls:
        if path.suffix == ".json":
            yield lambda: calls.count("rename_with")
        else:
            before = commits(path)
            yield lambda: commits(path) - before


@pytest.mark.requirement("D1", "D6", "TOOL-7")
def test_units_that_wait_for_each_other_are_saved_together(path: Path) -> None:
    store = open_store(path)
    names = {f"note-{number}" for number in range(9)}
    with counted_saves(path) as saves, together(store, *names) as (outcomes, notes):
        notes.add(Note(id="first"))
    assert saves() == 1
    assert outcomes.saved == names
    assert set(stored_ids(path)) == {"before", "first", *names}


@pytest.mark.requirement("EN-20")
def test_each_unit_of_a_batch_is_a_revision_of_its_own(path: Path) -> None:
    store = open_store(path)
    add(store, "old")
    token = store.changes(None, 1).token
    with together(store, "a", "b") as (_, notes):
        notes.add(Note(id="first"))
    news = store.changes(token, 9)
    assert (news.records[0][0], len(news.records)) == ("first", 3)
    assert int(news.token.split("-")[1]) == int(token.split("-")[1]) + 3


@pytest.mark.requirement("C2")
def test_a_batch_ends_so_that_nobody_waits_long(path: Path) -> None:
    store = open_store(path)
    with counted_saves(path) as saves, together(store, *map(str, range(100))) as (outcomes, notes):
        notes.add(Note(id="first"))
    assert saves() == 2
    assert len(outcomes.saved) == len(stored_ids(path)) - 2 == 100


@pytest.mark.requirement("C2")
def test_units_that_fail_end_a_batch_as_others_do(path: Path) -> None:
    store = open_store(path)
    with counted_saves(path) as saves, together(store, *["before"] * 64) as (_, notes):
        notes.add(Note(id="first"))
        assert len(notes) == 2
    assert saves() == 1
    with counted_saves(path) as saves, together(store, *map(str, range(64))) as (_, notes):
        notes.replace(Note(id="first", text="new"))
    assert saves() == 2


@pytest.mark.requirement("C2")
def test_when_its_time_is_over_a_batch_takes_no_further_unit(path: Path) -> None:
    store = open_store(path)
    store.batch_seconds = 0
    with counted_saves(path) as saves, together(store, "a", "b") as (outcomes, notes):
        notes.add(Note(id="first"))
    assert saves() == 3
    assert outcomes.saved == {"a", "b"}


class Witness(SqliteDatabase):
    """Tells of each commit what is stored and who was answered at that moment."""

    @override
    def commit(self, records: Collection[Any], changed: set[str]) -> None:
        super().commit(records, changed)
        seen.append((set(stored_ids(self.path)), outcomes_now[0].saved))


seen: list[tuple[set[str], set[str]]] = []
outcomes_now: list[Outcomes] = []


@pytest.mark.requirement("D1")
def test_no_unit_is_acknowledged_before_the_save_that_holds_it(database: Path) -> None:
    store = Store(Witness(database), NOTES, lock_seconds=20)
    store.batch_seconds = 20
    seen.clear()
    with together(store, "a", "b") as (outcomes, notes):
        outcomes_now[:] = [outcomes]
        notes.add(Note(id="first"))
    assert seen == [({"before", "first", "a", "b"}, set())]
    assert outcomes.saved == {"a", "b"}


@pytest.mark.requirement("D1", "C1")
def test_a_reader_sees_no_unit_before_the_save_that_holds_it(path: Path) -> None:
    store = open_store(path)
    shown: list[list[str]] = []

    def look() -> None:
        with store.transaction() as notes:
            assert "first" in notes
            shown.append(ids(store))

    with in_background() as start, store.transaction() as notes:
        wait_for_turn(*start(look))
        notes.add(Note(id="first"))
    assert shown == [["before"]]
    assert ids(store) == ["before", "first"]


def add_and_fail(notes: Transaction[Note], name: str) -> None:
    notes.add(Note(id=name))
    raise ZeroDivisionError


@pytest.mark.requirement("ERR-2")
def test_a_unit_that_fails_takes_no_other_with_it(path: Path) -> None:
    store = open_store(path)
    with pytest.raises(ZeroDivisionError), together(store, "a", "before", "b") as (outcomes, notes):
        add_and_fail(notes, "never")
    assert isinstance(outcomes.errors["before"], DuplicateId)
    assert outcomes.saved == {"a", "b"}
    assert set(ids(store)) == set(stored_ids(path)) == {"before", "a", "b"}


@pytest.mark.requirement("ERR-2", "D6")
def test_what_a_unit_changed_before_it_failed_is_as_the_units_before_it_left_it(path: Path) -> None:
    def fail() -> None:
        with suppress(ZeroDivisionError), store.transaction() as notes:
            assert notes.get("first").text == "as it was"
            notes.remove("before")
            notes.replace(Note(id="first", text="changed"))
            add_and_fail(notes, "never")

    store = open_store(path)
    with in_background() as start, store.transaction() as notes:
        wait_for_turn(*start(fail))
        notes.add(Note(id="first", text="as it was"))
    add(store, "last")
    assert ids(store) == stored_ids(path) == ["before", "first", "last"]
    with store.read() as notes:
        assert notes.get("first").text == "as it was"
        assert notes.count(Selection()) == len(notes) == 3


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """Let no save of the store succeed within the block."""
    if path.suffix == ".json":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(durable, "rename_with", full)
            yield
        return
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.with_name(f"{path.name}-wal").stat().st_size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.requirement("ERR-2", "D4")
def test_when_the_shared_save_fails_each_unit_fails_with_an_error_of_its_own(file: Path) -> None:
    store = open_store(file)
    with (
        full_disk(file),
        pytest.raises(StoreWriteFailed) as caught,
        together(store, "a", "b", "c") as (outcomes, notes),
    ):
        notes.add(Note(id="first"))
    errors = [caught.value, *outcomes.errors.values()]
    assert len(set(map(id, errors))) == 4
    assert all(isinstance(error, StoreWriteFailed) for error in errors)
    assert ids(store) == stored_ids(file) == ["before"]
    add(store, "after")
    assert ids(open_store(file)) == stored_ids(file) == ["before", "after"]


@pytest.mark.requirement("ERR-2", "D4")
def test_when_the_database_takes_everything_back_no_unit_of_the_batch_is_acknowledged(database: Path) -> None:
    opened = SqliteDatabase(database)
    store = Store(opened, NOTES, lock_seconds=20)
    store.batch_seconds = 20
    opened.begin(Wait(20)).run("PRAGMA max_page_count = 60", {})
    opened.end()
    outcomes = Outcomes(store)

    def fill() -> None:
        with store.transaction() as notes:
            assert "first" in notes
            wait_for_turn(*start(*outcomes.adding("next")))
            notes.add(Note(id="large", text="x" * 2**20))

    def refused(work: Callable[[], None]) -> None:
        with pytest.raises(StoreWriteFailed, match="full"):
            work()

    def add_first() -> None:
        with store.transaction() as notes:
            wait_for_turn(*start(partial(refused, fill)))
            notes.add(Note(id="first"))

    with in_background() as start:
        refused(add_first)
    assert outcomes.saved == {"next"}
    assert ids(store) == stored_ids(database) == ["before", "next"]
    with store.read() as notes:
        assert len(notes) == 2


class BrokenCodec(ListCodec[Note]):
    """Fails in a way that nobody foresaw."""

    is_broken = False

    @override
    def block(self, nodes: Sequence[Node]) -> bytes:
        if self.is_broken:
            raise ZeroDivisionError
        return super().block(nodes)


@pytest.mark.requirement("ERR-2")
def test_a_save_that_fails_unforeseen_hangs_nobody_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    codec = BrokenCodec(NOTES)
    store = open_store(path, codec=codec)
    add(store, "before")
    codec.is_broken = True
    outcomes = Outcomes(store)
    with in_background() as start, suppress(ZeroDivisionError, InternalError), store.transaction() as notes:
        wait_for_turn(*start(*outcomes.adding("a", "b")))
        notes.add(Note(id="first"))
    assert {type(error) for error in outcomes.errors.values()} <= {InternalError, ZeroDivisionError}
    codec.is_broken = False
    assert ids(store) == stored_ids(path) == ["before"]
    add(store, "after")
    assert stored_ids(path) == ["before", "after"]


@pytest.mark.requirement("C2")
def test_a_unit_that_waits_too_long_for_another_fails_alone(path: Path) -> None:
    store = open_store(path, lock_seconds=0.02)
    outcomes = Outcomes(store)
    with store.transaction() as notes, in_background() as start:
        notes.add(Note(id="first"))
        start(*outcomes.adding("a", "b"))
    assert {type(error) for error in outcomes.errors.values()} == {StoreLocked}
    assert ids(store) == ["before", "first"]


@pytest.mark.requirement("C2", "ERR-2", "ST-2")
@pytest.mark.parametrize("seconds", [0, 0.0005, 0.002])
def test_waits_that_end_at_the_moment_of_their_turn_lose_nothing_and_hang_nobody(path: Path, seconds: float) -> None:
    store = open_store(path, lock_seconds=seconds, fsync=False)
    outcomes = Outcomes(store)
    with in_background() as start:
        for thread in range(8):
            start(*[partial(run_all, outcomes.adding(*(f"{thread}-{number}" for number in range(40))))])
    assert len(outcomes.errors) == 320
    assert {type(error) for error in outcomes.errors.values()} <= {type(None), StoreLocked}
    assert {"before", *outcomes.saved} == set(stored_ids(path)) == set(ids(store))
    assert outcomes.saved


def run_all(work: list[Callable[[], None]]) -> None:
    for step in work:
        step()


@pytest.mark.requirement("C1", "TOOL-7")
def test_none_of_many_threads_loses_a_record_and_every_id_is_unique(path: Path) -> None:
    here, there = open_store(path, fsync=False), open_store(path, fsync=False)

    def work(store: Store[Note]) -> None:
        for _ in range(25):
            with store.transaction() as notes:
                notes.add(Note(id=f"note-{len(notes)}"))
            with store.read() as notes:
                assert len(notes) == len(notes.nodes())

    with in_background() as start:
        start(*[partial(work, here)] * 4, *[partial(work, there)] * 4)
    assert ids(here) == ids(there) == stored_ids(path) == ["before", *(f"note-{number}" for number in range(1, 201))]
