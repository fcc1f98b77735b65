"""What a store does is counted: the records that it makes and encodes, the files that it writes, and the syncs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import field_validator
from typing_extensions import override

from task_core.errors import DuplicateId
from task_core.store import JsonFileStore, ListCodec, Transaction
from task_core.warning_list import WarningList
from tests.core.faults import watched
from tests.core.notes import Note, deleted_files

MANY = 2_000
"""Records in the store: enough for a document of several pieces."""


class CountedNote(Note):
    """A note that tells when a record of it was made of something else than values that were checked before."""

    @field_validator("text")
    @classmethod
    def _count(cls, text: str) -> str:
        made.append(text)
        return text


class CountingCodec(ListCodec[CountedNote]):
    """Tells which records it encodes."""

    @override
    def encode(self, record: CountedNote) -> bytes:
        encoded.append(record.id)
        return super().encode(record)


made: list[str] = []
encoded: list[str] = []


@pytest.fixture(autouse=True)
def path(tmp_path: Path) -> Path:
    """Return the path of a store of many notes."""
    path = tmp_path / "notes.json"
    with open_store(path).transaction() as notes:
        for number in range(MANY):
            notes.add(note(str(number)))
    forget()
    return path


def open_store(path: Path, index_field: str | None = "id_to_index") -> JsonFileStore[CountedNote]:
    return JsonFileStore(path, CountingCodec(CountedNote, index_field=index_field), WarningList())


def note(name: str) -> CountedNote:
    return CountedNote(id=name, text=f"{name}: " + "what was said on the telephone " * 8)


def add(store: JsonFileStore[CountedNote], *names: str) -> None:
    records = [note(name) for name in names]
    made.clear()
    with store.transaction() as notes:
        for record in records:
            notes.add(record)


def forget() -> None:
    made.clear()
    encoded.clear()


def add_twice(notes: Transaction[CountedNote], record: CountedNote) -> None:
    notes.add(record)
    notes.add(record)


@contextmanager
def bytes_written() -> Iterator[list[int]]:
    sizes: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        real = os.writev

        def writev(descriptor: int, pieces: Sequence[bytes]) -> int:
            sizes.append(real(descriptor, pieces))
            return sizes[-1]

        patch.setattr(os, "writev", writev)
        yield sizes


@pytest.mark.requirement("D1")
def test_a_create_encodes_one_record_writes_the_file_once_and_syncs_twice(path: Path) -> None:
    store = open_store(path)
    store.read()
    forget()
    with bytes_written() as sizes, watched() as calls:
        add(store, "new")
    assert (made, encoded) == ([], ["new"])
    assert sum(sizes) == path.stat().st_size
    assert [name for name in calls if name in {"read", "fsync", "replace", "unlink"}] == ["fsync", "replace", "fsync"]


@pytest.mark.requirement("D7")
def test_looking_at_a_store_that_did_not_change_is_one_question(path: Path) -> None:
    store = open_store(path)
    store.read()
    forget()
    with watched() as calls:
        store.read()
    assert calls == ["stat"]
    assert (made, encoded) == ([], [])


@pytest.mark.requirement("D7")
def test_a_unit_of_work_on_a_store_that_did_not_change_reads_nothing(path: Path) -> None:
    store = open_store(path)
    add(store, "first")
    with watched() as calls:
        add(store, "second")
    assert {"read", "scandir"}.isdisjoint(calls)


@pytest.mark.requirement("ST-2", "D7")
@pytest.mark.parametrize("index_field", ["id_to_index", None])
def test_of_a_change_of_another_process_only_what_is_new_is_made(tmp_path: Path, index_field: str | None) -> None:
    path = tmp_path / "others.json"
    here, there = (open_store(path, index_field) for _ in range(2))
    add(there, *map(str, range(MANY)))
    before = here.read()
    new = note("new")
    with there.transaction() as notes:
        notes.remove("7")
        notes.replace(notes.get("8").changed(text="by another"))
        notes.add(new)
    forget()
    with watched() as calls:
        after = here.read()
    assert made == ["by another", new.text]
    assert encoded == ["8", "new"]
    assert [name for name in calls if name in {"stat", "open", "read"}] == ["stat", "open", "read", "read"]
    assert [record.id for record in after if record.id not in before] == ["new"]
    assert [record.id for record in after if record.id in before and record is not before.get(record.id)] == ["8"]


def test_what_was_read_just_as_it_is_written_is_not_encoded_again(path: Path) -> None:
    store = open_store(path)
    store.read()
    assert (len(made), len(encoded)) == (MANY, MANY)
    forget()
    add(store, "new")
    assert encoded == ["new"]


def test_what_was_read_in_another_form_is_encoded_at_the_first_save_only(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'{"id"', b'{ "id"', 1))
    store = open_store(path)
    store.read()
    encoded.clear()
    add(store, "new")
    assert len(encoded) == MANY + 1
    encoded.clear()
    add(store, "newer")
    assert encoded == ["newer"]


@pytest.mark.requirement("ERR-2")
def test_a_unit_that_fails_encodes_nothing(path: Path) -> None:
    store = open_store(path)
    store.read()
    forget()
    with pytest.raises(DuplicateId), store.transaction() as notes:
        add_twice(notes, note("new"))
    assert encoded == []
    assert len(store.read()) == MANY


@pytest.mark.requirement("D7")
def test_the_file_that_was_replaced_is_let_go_once_the_change_is_saved(path: Path) -> None:
    store = open_store(path)
    for name in "abc":
        add(store, name)
        assert deleted_files(path) == []
