"""Units of work that wait for each other share one save, and each still succeeds or fails for itself."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from typing_extensions import override

from task_core.errors import DuplicateId, InternalError, StoreLocked, StoreWriteFailed, TaskError
from task_core.store import JsonFileStore, ListCodec, Transaction
from task_core.store.batch import Batch, Turn
from task_core.store.encoding import Kept
from task_core.store.lines import Lines
from task_core.store.lock import Wait
from tests.core.faults import watched
from tests.core.notes import DEADLINE, Note, add, ids, in_background, open_store, stored_ids, wait_for_turn


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.json"


class Outcomes:
    """What became of units of work that run at the same time: None or the error, by the id that each adds."""

    def __init__(self, store: JsonFileStore[Note]) -> None:
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
        except (TaskError, ValueError, ZeroDivisionError) as error:
            self.errors[name] = error
        else:
            self.errors[name] = None


@contextmanager
def together(store: JsonFileStore[Note], *names: str) -> Iterator[tuple[Outcomes, Transaction[Note]]]:
    """Yield an open unit of work for which one that adds each of ``names`` waits; all have ended after the block."""
    outcomes = Outcomes(store)
    with in_background() as start, store.transaction() as notes:
        wait_for_turn(*start(*outcomes.adding(*names)))
        yield outcomes, notes


@pytest.mark.requirement("D1", "D6", "TOOL-7")
def test_units_that_wait_for_each_other_are_saved_together(path: Path) -> None:
    store = open_store(path)
    names = {f"note-{number}" for number in range(9)}
    with watched() as calls, together(store, *names) as (outcomes, notes):
        notes.add(Note(id="first"))
    assert (calls.count("replace"), calls.count("fsync")) == (1, 2)
    assert outcomes.saved == names
    assert set(stored_ids(path)) == {"first", *names}


@pytest.mark.requirement("C2")
def test_a_batch_ends_so_that_nobody_waits_long(path: Path) -> None:
    store = open_store(path)
    with watched() as calls, together(store, *map(str, range(100))) as (outcomes, _):
        pass
    assert calls.count("replace") == 2
    assert len(outcomes.saved) == len(stored_ids(path)) == 100


@pytest.mark.requirement("C2")
def test_units_that_fail_end_a_batch_as_others_do(path: Path) -> None:
    store = open_store(path)
    add(store, "taken")
    outcomes = Outcomes(store)
    with watched() as calls, in_background() as start, store.transaction() as notes:
        wait_for_turn(*start(*outcomes.adding(*["taken"] * 64)))
        wait_for_turn(*start(*outcomes.adding("last")))
        notes.add(Note(id="first"))
    assert calls.count("replace") == 2
    assert stored_ids(path) == ["taken", "first", "last"]


@pytest.mark.requirement("C2")
def test_when_its_time_is_over_a_batch_takes_no_further_unit(path: Path) -> None:
    store = open_store(path)
    store.batch_seconds = 0
    with watched() as calls, together(store, "a", "b") as (outcomes, notes):
        notes.add(Note(id="first"))
    assert calls.count("replace") == 3
    assert outcomes.saved == {"a", "b"}


@pytest.mark.requirement("D1")
def test_no_unit_is_acknowledged_before_the_save_that_holds_it(path: Path) -> None:
    seen: list[tuple[set[str], set[str]]] = []
    store = open_store(path, on_commit=lambda _: seen.append((set(stored_ids(path)), outcomes.saved)))
    with together(store, "a", "b") as (outcomes, _):
        pass
    assert seen == [({"a", "b"}, set())]
    assert outcomes.saved == {"a", "b"}


def add_twice(notes: Transaction[Note], name: str) -> None:
    notes.add(Note(id=name))
    notes.add(Note(id=name))


@pytest.mark.requirement("ERR-2")
def test_a_unit_that_fails_takes_no_other_with_it(path: Path) -> None:
    store = open_store(path)
    add(store, "taken")
    with pytest.raises(DuplicateId), together(store, "a", "taken", "b") as (outcomes, notes):
        add_twice(notes, "never")
    assert isinstance(outcomes.errors["taken"], DuplicateId)
    assert outcomes.saved == {"a", "b"}
    assert set(ids(store)) == set(stored_ids(path)) == {"taken", "a", "b"}


@pytest.mark.requirement("ERR-2", "D6")
def test_what_a_unit_changed_before_it_failed_is_as_the_units_before_it_left_it(path: Path) -> None:
    def fail() -> None:
        with suppress(ZeroDivisionError), store.transaction() as notes:
            assert [note.id for note in notes] == ["kept", "first"]
            notes.remove("kept")
            notes.replace(Note(id="first", text="changed"))
            add_and_fail(notes, "never")

    store = open_store(path)
    add(store, "old", "kept")
    with in_background() as start, store.transaction() as notes:
        wait_for_turn(*start(fail))
        wait_for_turn(*start(lambda: add(store, "last")))
        notes.remove("old")
        notes.add(Note(id="first", text="as it was"))
    assert ids(store) == stored_ids(path) == ["kept", "first", "last"]
    assert store.read().get("first").text == "as it was"


@pytest.mark.requirement("ERR-2", "D5")
def test_a_reader_is_shown_nothing_of_a_unit_after_it_that_failed(path: Path) -> None:
    def fail() -> None:
        with suppress(ZeroDivisionError), store.transaction() as notes:
            notes.remove("recovered")
            add_and_fail(notes, "never")

    store = open_store(path, recover=lambda: [Note(id="recovered")])
    shown: list[str] = []
    with in_background() as start, store.transaction() as notes:
        wait_for_turn(*start(lambda: shown.extend(ids(store))))
        wait_for_turn(*start(fail))
        notes.add(Note(id="first"))
    assert shown == ids(store) == stored_ids(path) == ["recovered", "first"]


def add_and_fail(notes: Transaction[Note], name: str) -> None:
    notes.add(Note(id=name))
    raise ZeroDivisionError


@pytest.mark.requirement("ERR-2")
def test_a_record_that_cannot_be_written_fails_its_own_unit_only(path: Path) -> None:
    store = open_store(path)
    with together(store, "a", "\ud800", "b") as (outcomes, _):
        pass
    assert isinstance(outcomes.errors["\ud800"], ValueError)
    assert outcomes.saved == set(ids(store)) == set(stored_ids(path)) == {"a", "b"}


@pytest.mark.requirement("ERR-2", "D4")
def test_when_the_shared_save_fails_each_unit_fails_with_an_error_of_its_own(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store = open_store(path)
    add(store, "before")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(StoreWriteFailed) as caught, together(store, "a", "b", "c") as (outcomes, notes):
            notes.add(Note(id="first"))
    errors = [caught.value, *outcomes.errors.values()]
    assert len(set(map(id, errors))) == 4
    assert all(isinstance(error, StoreWriteFailed) and "No space left" in error.message for error in errors)
    assert ids(store) == stored_ids(path) == ["before"]
    add(store, "after")
    assert stored_ids(path) == ["before", "after"]


class BrokenCodec(ListCodec[Note]):
    """Fails in a way that nobody foresaw."""

    is_broken = False

    @override
    def pieces(self, lines: Lines, kept: Kept) -> Sequence[bytes]:
        if self.is_broken:
            raise ZeroDivisionError
        return super().pieces(lines, kept)


@pytest.mark.requirement("ERR-2")
def test_a_save_that_fails_unforeseen_hangs_nobody_and_changes_nothing(path: Path) -> None:
    codec = BrokenCodec(Note)
    store = open_store(path, codec=codec)
    add(store, "before")
    codec.is_broken = True
    with pytest.raises(InternalError), together(store, "a", "b") as (outcomes, notes):
        notes.add(Note(id="first"))
    assert {type(error) for error in outcomes.errors.values()} == {InternalError, ZeroDivisionError}
    codec.is_broken = False
    assert ids(store) == stored_ids(path) == ["before"]
    add(store, "after")
    assert stored_ids(path) == ["before", "after"]


@pytest.mark.requirement("ERR-2")
def test_what_fails_after_the_save_takes_no_saved_unit_back(path: Path) -> None:
    def on_commit(_: object) -> None:
        raise ZeroDivisionError

    store = open_store(path, on_commit=on_commit)
    with together(store, "a", "b") as (outcomes, notes):
        notes.add(Note(id="first"))
    assert len(outcomes.saved) == 1
    assert set(ids(store)) == set(stored_ids(path)) == {"first", "a", "b"}
    with pytest.raises(ZeroDivisionError):
        add(store, "next")
    assert "next" in stored_ids(path)


@pytest.mark.requirement("C2")
def test_a_unit_that_waits_too_long_for_another_fails_alone(path: Path) -> None:
    store = open_store(path, lock_seconds=0.02)
    outcomes = Outcomes(store)
    with store.transaction() as notes, in_background() as start:
        notes.add(Note(id="first"))
        start(*outcomes.adding("a", "b"))
    assert {type(error) for error in outcomes.errors.values()} == {StoreLocked}
    assert ids(store) == ["first"]


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
    assert outcomes.saved == set(stored_ids(path)) == set(ids(store))
    assert outcomes.saved


def run_all(work: list[Callable[[], None]]) -> None:
    for step in work:
        step()


@pytest.mark.requirement("C1", "TOOL-7")
def test_of_many_threads_none_loses_a_record_and_every_id_is_its_own(path: Path) -> None:
    here, there = open_store(path, fsync=False), open_store(path, fsync=False)

    def work(store: JsonFileStore[Note]) -> None:
        for _ in range(25):
            with store.transaction() as notes:
                notes.add(Note(id=f"note-{len(notes)}"))
            assert len(store.read()) > 0

    with in_background() as start:
        start(*[partial(work, here)] * 4, *[partial(work, there)] * 4)
    assert ids(here) == ids(there) == stored_ids(path) == [f"note-{number}" for number in range(200)]


def test_the_turn_goes_to_a_thread_that_waits_and_stays_where_none_does() -> None:
    turn = Turn()
    turn.take(Wait(0))
    assert not turn.leave_if_wanted()
    with pytest.raises(StoreLocked):
        turn.take(Wait(0))
    with in_background() as start:
        wait_for_turn(*start(lambda: (turn.take(Wait(DEADLINE)), turn.leave())))
        assert turn.leave_if_wanted()
    turn.take(Wait(0))


@pytest.mark.requirement("C2")
def test_a_thread_that_comes_back_waits_behind_those_that_wait() -> None:
    turn = Turn()
    order: list[str] = []
    turn.take(Wait(0))
    with in_background() as start:
        wait_for_turn(*start(lambda: (turn.take(Wait(DEADLINE)), order.append("waited"), turn.leave())))
        turn.leave()
        turn.take(Wait(DEADLINE))
        order.append("came back")
    assert order == ["waited", "came back"]


@pytest.mark.requirement("C2")
def test_a_turn_that_comes_as_the_wait_ends_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Turn()
    turn.take(Wait(0))

    def late(*_: object) -> bool:
        turn.leave()
        return False

    with monkeypatch.context() as patch:
        patch.setattr(threading.Event, "wait", late)
        turn.take(Wait(0))
    assert not turn.leave_if_wanted()
    with pytest.raises(StoreLocked):
        turn.take(Wait(0))


def test_a_batch_is_full_when_no_further_unit_may_join() -> None:
    batch: Batch[Note] = Batch({}, Wait(DEADLINE))
    for _ in range(32):
        assert not batch.is_full
        batch.take(batch.unit(), Note.to_json)
        assert not batch.is_full
        batch.drop(batch.unit())
    assert batch.is_full
    batch.settle()
    batch.wait()
