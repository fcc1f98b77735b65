"""The engine without a disk keeps the promises of a store and touches no file."""

from __future__ import annotations

import sys

import pytest

from task_core.errors import DuplicateId
from task_core.store import MemoryStore
from tests.core.faults import watched
from tests.core.notes import Note, add, ids, in_background


@pytest.mark.requirement("C1")
def test_a_store_in_memory_makes_no_call_to_the_operating_system() -> None:
    with watched() as calls:
        store: MemoryStore[Note] = MemoryStore()
        add(store, "a")
        assert ids(store) == ["a"]
        store.close()
    assert calls == []


@pytest.mark.requirement("C1")
def test_threads_change_a_store_in_memory_one_at_a_time() -> None:
    store: MemoryStore[Note] = MemoryStore()
    interval = sys.getswitchinterval()

    def work() -> None:
        for _ in range(50):
            with store.transaction() as notes:
                notes.add(Note(id=f"note-{len(notes)}"))

    sys.setswitchinterval(1e-6)
    try:
        with in_background() as start:
            start(*[work] * 8)
    finally:
        sys.setswitchinterval(interval)
    assert ids(store) == [f"note-{number}" for number in range(400)]


@pytest.mark.requirement("ERR-2")
def test_a_unit_of_work_that_fails_commits_nothing() -> None:
    commits: list[list[str]] = []
    store: MemoryStore[Note] = MemoryStore(lambda notes: commits.append([note.id for note in notes]))
    add(store, "a")
    with pytest.raises(DuplicateId):
        add(store, "b", "a")
    assert ids(store) == ["a"]
    assert commits == [["a"]]
