"""Collections, units of work, and what every engine promises alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from task_core.errors import DuplicateId, TaskNotFound
from task_core.store import Collection, MemoryStore, Store, Transaction
from tests.core.notes import Note, add, ids, in_background, open_store

names = st.sampled_from(["cool-apple", "cool-maple", "warm-pear", "a", "b", "c"])


@pytest.fixture(params=["memory", "json"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store[Note]:
    return MemoryStore() if request.param == "memory" else open_store(tmp_path / "notes.json")


def records(*ids_of_them: str) -> Mapping[str, Note]:
    return {name: Note(id=name) for name in ids_of_them}


def test_a_collection_is_asked_by_id_and_read_in_order() -> None:
    notes = Collection(records("b", "a"))
    assert [note.id for note in notes] == ["b", "a"]
    assert (len(notes), "a" in notes, "z" in notes, 7 in notes) == (2, True, False, False)
    assert notes.get("a") == Note(id="a")


@pytest.mark.requirement("ERR-4")
def test_an_id_that_is_not_known_names_the_near_ones() -> None:
    with pytest.raises(TaskNotFound) as caught:
        Collection(records("warm-pear", "cool-apple", "cool-maple")).get("cool-appl")
    assert caught.value.details == {"id": "cool-appl", "near": ["cool-apple", "cool-maple"]}


def test_an_id_is_given_once() -> None:
    work = Transaction(records("a"))
    with pytest.raises(DuplicateId):
        work.add(Note(id="a", text="other"))
    assert list(work) == [Note(id="a")]
    assert work.changes == []


def test_what_is_not_there_is_neither_replaced_nor_removed() -> None:
    work = Transaction(records("a"))
    with pytest.raises(TaskNotFound):
        work.replace(Note(id="z"))
    with pytest.raises(TaskNotFound):
        work.remove("z")
    assert work.changes == []


def test_a_unit_of_work_leaves_the_records_that_it_began_with() -> None:
    committed = records("a", "b")
    work = Transaction(committed)
    work.remove("a")
    work.add(Note(id="c"))
    assert list(committed) == ["a", "b"]
    assert list(work.records) == ["b", "c"]
    assert work.changes == [("a", None), ("c", Note(id="c"))]


class AgainstADictionary(RuleBasedStateMachine):
    """A unit of work holds what a plain dictionary holds after the same steps, and its changes lead there."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = records("a", "warm-pear")
        self.model = dict(self.begun)
        self.work = Transaction(self.begun)

    @rule(name=names, text=st.text(max_size=2))
    def add(self, name: str, text: str) -> None:
        note = Note(id=name, text=text)
        if name in self.model:
            with pytest.raises(DuplicateId):
                self.work.add(note)
        else:
            self.work.add(note)
            self.model[name] = note

    @rule(name=names, text=st.text(max_size=2))
    def replace(self, name: str, text: str) -> None:
        note = Note(id=name, text=text)
        if name in self.model:
            self.work.replace(note)
            self.model[name] = note
        else:
            with pytest.raises(TaskNotFound):
                self.work.replace(note)

    @rule(name=names)
    def remove(self, name: str) -> None:
        if name in self.model:
            assert self.work.remove(name) == self.model.pop(name)
        else:
            with pytest.raises(TaskNotFound):
                self.work.remove(name)

    @invariant()
    def holds_the_same_in_the_same_order(self) -> None:
        assert list(self.work.records.items()) == list(self.model.items())
        assert list(self.work) == list(self.model.values())

    @invariant()
    def the_changes_lead_from_the_beginning_to_the_end(self) -> None:
        replayed = dict(self.begun)
        for name, note in self.work.changes:
            if note is None:
                del replayed[name]
            else:
                replayed[name] = note
        assert list(replayed.items()) == list(self.model.items())


AgainstADictionary.TestCase.settings = settings(max_examples=50, deadline=None)
test_a_unit_of_work_holds_what_a_dictionary_holds = AgainstADictionary.TestCase


def test_what_is_committed_is_read(store: Store[Note]) -> None:
    assert ids(store) == []
    add(store, "b", "a")
    with store.transaction() as notes:
        notes.replace(Note(id="b", text="new"))
        notes.remove("a")
    assert list(store.read()) == [Note(id="b", text="new")]


@pytest.mark.requirement("ERR-2", "D6")
def test_a_block_that_raises_changes_nothing(store: Store[Note]) -> None:
    add(store, "a")

    def work() -> None:
        with store.transaction() as notes:
            notes.add(Note(id="b"))
            notes.remove("a")
            notes.remove("z")

    with pytest.raises(TaskNotFound):
        work()
    assert ids(store) == ["a"]


def test_what_was_read_stays_as_it_was(store: Store[Note]) -> None:
    add(store, "a")
    seen = store.read()
    add(store, "b")
    assert [note.id for note in seen] == ["a"]


@pytest.mark.requirement("C1")
def test_a_reader_sees_nothing_of_an_open_unit_of_work(store: Store[Note]) -> None:
    add(store, "a")
    seen: list[list[str]] = []
    with store.transaction() as notes:
        notes.add(Note(id="b"))
        with in_background() as start:
            start(lambda: seen.append(ids(store)))
    assert seen == [["a"]]
    assert ids(store) == ["a", "b"]


def test_closing_twice_harms_nobody(store: Store[Note]) -> None:
    store.close()
    store.close()
    assert ids(store) == []
