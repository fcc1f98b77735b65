"""The engine without a disk keeps the promises of a store and touches no file."""

from __future__ import annotations

import sys

import pytest

from task_core.errors import DuplicateId
from task_core.store import MemoryDatabase, Selection, Store
from tests.core.faults import watched
from tests.core.notes import NOTES, Note, add, ids, in_background

pytestmark = pytest.mark.requirement("EN-5")


def open_store() -> Store[Note]:
    return Store(MemoryDatabase(), NOTES, lock_seconds=60)


@pytest.mark.requirement("C1")
def test_a_store_in_memory_makes_no_call_to_the_operating_system() -> None:
    with watched() as calls:
        store = open_store()
        add(store, "a")
        assert ids(store) == ["a"]
        store.close()
    assert {*calls} <= {"close"}  # a thread of an earlier test may be closing what it used


@pytest.mark.requirement("C1")
def test_threads_change_a_store_in_memory_one_at_a_time_and_readers_see_whole_units_only() -> None:
    store = open_store()
    interval = sys.getswitchinterval()

    def work() -> None:
        for _ in range(20):
            with store.transaction() as notes:
                for _ in range(2):
                    notes.add(Note(id=f"note-{len(notes)}"))

    def look() -> None:
        for _ in range(100):
            with store.read() as notes:
                count = len(notes)
                assert count % 2 == 0
                assert len(notes.select(Selection())) == len(notes.nodes()) == count

    sys.setswitchinterval(1e-6)
    try:
        with in_background() as start:
            start(*[work] * 6, *[look] * 2)
    finally:
        sys.setswitchinterval(interval)
    assert ids(store) == [f"note-{number}" for number in range(240)]


@pytest.mark.requirement("ERR-2")
def test_a_transaction_that_fails_commits_nothing() -> None:
    store = open_store()
    add(store, "a")
    token = store.changes(None, 1).token
    with pytest.raises(DuplicateId):
        add(store, "b", "a")
    assert ids(store) == ["a"]
    assert store.changes(None, 1).token == token
