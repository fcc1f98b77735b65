"""One document on disk: what a save does, what an edit by hand does, and where the files are."""

import errno
import gc
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from task_core.document_file.source import Source
from task_core.errors import DuplicateId, StoreLocked, StoreUnreadable, StoreWriteFailed
from task_core.store import ListCodec, Store
from task_core.store.codec import Decoded
from task_core.store.collection import Node
from tests.core.faults import watched
from tests.core.notes import (
    NOTES,
    Note,
    add,
    ids,
    in_background,
    litter,
    nobody,
    open_folder,
    open_store,
    stored_ids,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.json"


class CountingCodec(ListCodec[Note]):
    """Counts the records that it writes, and the documents that it reads."""

    def __init__(self) -> None:
        super().__init__(NOTES)
        self.written: list[str] = []
        self.documents = 0
        self.meanwhile: Callable[[], None] = nothing

    @override
    def block(self, nodes: Sequence[Node]) -> bytes:
        self.written.append(nodes[0].id)
        return super().block(nodes)

    @override
    def decode(self, source: Source) -> Decoded[Note]:
        self.documents += 1
        self.meanwhile()
        return super().decode(source)


def nothing() -> None:
    pass


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.requirement("D1", "D6")
def test_a_transaction_is_one_rename_and_two_syncs_however_many_records_it_has(path: Path) -> None:
    store = open_store(path)
    add(store, "first")
    with watched() as calls:
        add(store, *(f"note-{number}" for number in range(50)))
    steps = [name for name in calls if name in {"write", "fsync", "replace", "rename_with", "unlink", "link"}]
    assert steps == ["write", "fsync", "rename_with", "fsync", "unlink"]
    assert len(stored_ids(path)) == 51


@pytest.mark.requirement("EN-6")
def test_a_save_writes_what_changed_anew_and_nothing_else(path: Path) -> None:
    codec = CountingCodec()
    store = open_store(path, codec=codec)
    add(store, *"abcd")
    codec.written.clear()
    with store.transaction() as notes:
        notes.add(Note(id="e"))
        notes.remove("b")
        notes.replace(Note(id="c", text="new"))
    assert (sorted(codec.written), codec.documents) == (["c", "e"], 0)
    assert stored_ids(path) == ["a", "c", "d", "e"]


@pytest.mark.requirement("EN-20", "D7")
def test_only_what_another_process_changed_is_news(path: Path) -> None:
    add(open_store(path), *"abcd")
    store = open_store(path)
    assert ids(store) == [*"abcd"]
    token = store.changes(None, 9).token
    with open_store(path).transaction() as notes:
        notes.add(Note(id="e"))
        notes.remove("b")
        notes.replace(Note(id="c", text="new"))
    assert {name: note and note.text for name, note in store.changes(token, 9).records} == {
        "b": None,
        "c": "new",
        "e": "",
    }
    assert ids(store) == [*"acde"]


def test_a_transaction_that_changes_nothing_writes_nothing(path: Path) -> None:
    store = open_store(path)
    add(store, "a")
    with watched() as calls, store.transaction():
        pass
    assert {"write", "fsync", "rename_with"}.isdisjoint(calls)


@pytest.mark.requirement("D7")
def test_a_document_that_did_not_change_is_looked_at_with_one_call_and_not_read_again(path: Path) -> None:
    add(open_store(path), "a")
    codec = CountingCodec()
    store = open_store(path, codec=codec)
    assert not store.can_answer_now()
    assert ids(store) == ["a"]
    assert store.can_answer_now()
    gc.collect()  # else it might close a file of another test below
    with watched() as calls:
        assert ids(store) == ["a"]
    assert (calls, codec.documents) == (["stat"], 1)
    add(store, "b")
    assert ids(store) == ["a", "b"]
    assert codec.documents == 1


@pytest.mark.requirement("D7", "C1")
def test_a_slow_reader_does_not_make_the_store_forget_a_later_save(path: Path) -> None:
    def save_meanwhile() -> None:
        codec.meanwhile = nothing
        add(open_store(path), "b")

    add(open_store(path), "a")
    codec = CountingCodec()
    codec.meanwhile = save_meanwhile
    store = open_store(path, codec=codec)
    assert ids(store) == ["a"]
    add(store, "c")
    assert ids(store) == stored_ids(path) == ["a", "b", "c"]


@pytest.mark.requirement("ST-2", "EN-1")
def test_a_reader_during_a_transaction_sees_the_state_before_it(path: Path) -> None:
    def look() -> None:
        edit_whole(path)
        with in_background() as start:
            start(lambda: seen.append(text_of(store)))

    seen: list[str] = []
    store = open_store(path)
    add(store, "a")
    with pytest.raises(StoreWriteFailed):
        add_while(store, "b", look)
    assert [*seen, text_of(store)] == ["", "by hand"]


def text_of(store: Store[Note]) -> str:
    with store.read() as notes:
        return notes.get("a").text


@pytest.mark.requirement("ST-2", "D7")
def test_what_another_process_saves_is_seen_at_the_next_call(path: Path) -> None:
    here, there = open_store(path), open_store(path)
    for name in "abcd":
        add(here if name in "ac" else there, name)
        assert ids(here) == ids(there) == stored_ids(path)
    assert stored_ids(path) == ["a", "b", "c", "d"]


def edit_whole(path: Path) -> None:
    data = path.read_bytes().replace(b'"text":""', b'"text":"by hand", "mood":"fine"')
    path.with_name("new").write_bytes(data)
    path.with_name("new").rename(path)


def edit_in_place(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"text":""', b'"text":"by hand", "mood":"fine"'))


def add_while(store: Store[Note], name: str, act: Callable[[], object]) -> None:
    with store.transaction() as notes:
        notes.add(Note(id=name))
        act()


edits = pytest.mark.parametrize("edit", [edit_whole, edit_in_place])


@pytest.mark.requirement("ST-3", "ST-5", "D7", "L2")
@edits
def test_an_edit_by_hand_between_two_saves_is_seen_and_kept(path: Path, edit: Callable[[Path], None]) -> None:
    store = open_store(path)
    add(store, "a")
    edit(path)
    assert text_of(store) == "by hand"
    add(store, "b")
    assert b'{"id":"a","text":"by hand","mood":"fine"}' in path.read_bytes()


@pytest.mark.requirement("ST-5")
def test_the_order_that_a_person_gave_is_kept(path: Path) -> None:
    store = open_store(path)
    add(store, *"abc")
    path.write_bytes(path.read_bytes().replace(b'"a"', b'"x"').replace(b'"c"', b'"a"').replace(b'"x"', b'"c"'))
    add(store, "d")
    assert stored_ids(path) == ["c", "b", "a", "d"]


@pytest.mark.requirement("ST-3", "ERR-2")
@edits
def test_an_edit_by_hand_during_a_transaction_is_not_overwritten(path: Path, edit: Callable[[Path], None]) -> None:
    store = open_store(path)
    add(store, "a")
    with pytest.raises(StoreWriteFailed, match="another program has changed it in the meantime"):
        add_while(store, "b", lambda: edit(path))
    assert (ids(store), text_of(store)) == (["a"], "by hand")
    assert litter(path) == set()
    add(store, "c")
    assert stored_ids(path) == ["a", "c"]


@pytest.mark.requirement("ST-3")
def test_a_document_that_came_up_during_the_first_transaction_is_not_overwritten(path: Path, tmp_path: Path) -> None:
    add(open_store(tmp_path / "other.json"), "by hand")
    store = open_store(path)
    with pytest.raises(StoreWriteFailed):
        add_while(store, "a", lambda: (tmp_path / "other.json").rename(path))
    assert ids(store) == ["by hand"]


@pytest.mark.requirement("ST-3")
def test_a_document_that_is_removed_during_a_transaction_stays_removed(path: Path) -> None:
    store = open_store(path)
    add(store, "a")
    with pytest.raises(StoreWriteFailed):
        add_while(store, "b", path.unlink)
    assert not path.exists()
    assert ids(store) == []


@pytest.mark.requirement("ST-3", "D7")
def test_an_edit_of_the_same_size_in_the_same_tick_is_seen(path: Path) -> None:
    store = open_store(path)
    add(store, "a")
    before = path.stat()
    data = path.read_bytes().replace(b'"a"', b'"z"')
    path.unlink()
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert ids(store) == ["z"]


@pytest.mark.requirement("ST-5")
def test_a_document_that_is_removed_is_empty_from_then_on(path: Path) -> None:
    store = open_store(path)
    add(store, "a")
    path.unlink()
    assert ids(store) == []
    add(store, "b")
    assert stored_ids(path) == ["b"]


actions = st.sampled_from(["add", "replace", "remove", "fail", "other process"])


@pytest.mark.requirement("ST-1", "EN-6")
@settings(max_examples=25)
@given(st.lists(st.tuples(actions, st.sampled_from("abcdef")), max_size=30))
def test_a_document_grown_step_by_step_is_the_one_written_at_once(steps: list[tuple[str, str]]) -> None:
    with open_folder() as folder:
        path = folder / "notes.json"
        store = open_store(path, fsync=False)
        for number, (action, name) in enumerate(steps):
            if action == "other process":
                store = store if number % 2 else open_store(path, fsync=False)
            else:
                take_step(store, action, Note(id=name, text=str(number)))
        with store.read() as notes, open_store(path).read() as fresh:
            assert fresh.nodes() == notes.nodes()
            if path.exists():
                codec = ListCodec(NOTES)
                assert path.read_bytes() == codec.document(codec.encode(notes.nodes()), {})


def take_step(store: Store[Note], action: str, note: Note) -> None:
    with suppress(DuplicateId), store.transaction() as notes:
        if action == "remove" and note.id in notes:
            notes.remove(note.id)
        elif note.id in notes:
            notes.replace(note)
        else:
            notes.add(note)
        if action == "fail":
            notes.add(note)


@pytest.mark.requirement("S4", "C1")
def test_the_store_and_its_lock_are_for_their_owner_only(path: Path) -> None:
    old = os.umask(0)
    try:
        add(open_store(path), "a")
    finally:
        os.umask(old)
    assert {entry.name: mode_of(entry) for entry in path.parent.iterdir()} == {
        "notes.json": 0o600,
        "notes.json.lock": 0o600,
    }


@pytest.mark.requirement("S4", "D1")
def test_a_mode_that_the_user_gave_is_kept(path: Path) -> None:
    store = open_store(path)
    add(store, "a")
    path.chmod(0o640)
    add(store, "b")
    assert mode_of(path) == 0o640


@pytest.mark.requirement("H4", "C1")
def test_all_who_reach_the_document_through_links_share_it_and_its_lock(path: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path.symlink_to("real/store.json")
    add(open_store(path), "a")
    add(open_store(tmp_path / "real" / "store.json"), "b")
    add(open_store(path), "c")
    assert path.is_symlink()
    assert stored_ids(path) == ["a", "b", "c"]
    assert sorted(os.listdir(tmp_path / "real")) == ["store.json", "store.json.bak", "store.json.lock"]
    assert sorted(os.listdir(tmp_path)) == ["notes.json", "real"]


@pytest.mark.requirement("ST-3")
def test_a_second_name_of_the_document_keeps_what_it_had(path: Path, tmp_path: Path) -> None:
    store = open_store(path)
    add(store, "a")
    os.link(path, tmp_path / "second.json")
    add(store, "b")
    assert (stored_ids(path), stored_ids(tmp_path / "second.json")) == (["a", "b"], ["a"])


@pytest.mark.requirement("D3")
def test_what_a_killed_process_left_is_swept_by_the_next_transaction_and_by_no_reader(path: Path) -> None:
    stale = path.with_name(f".notes.json.{'a' * 16}.tmp")
    stale.touch()
    store = open_store(path)
    assert ids(store) == []
    assert stale.exists()
    add(store, "a")
    assert litter(path) == set()


@pytest.mark.requirement("D5", "ST-3")
def test_a_fresh_process_reads_a_store_in_a_folder_where_nothing_can_be_written() -> None:
    with open_folder() as folder:
        path = folder / "notes.json"
        with nobody():
            add(open_store(path), "a")
            path.with_name("notes.json.lock").unlink()
        folder.chmod(0o555)
        with nobody():
            store = open_store(path)
            assert ids(store) == ["a"]
            with pytest.raises(StoreWriteFailed, match=r"notes\.json\.lock.*Permission denied"):
                add(store, "b")
            assert ids(store) == stored_ids(path) == ["a"]
            assert os.listdir(folder) == ["notes.json"]


@pytest.mark.requirement("D4", "H4")
def test_a_store_that_the_user_made_read_only_stays_as_it_is() -> None:
    with open_folder() as folder, nobody():
        path = folder / "notes.json"
        store = open_store(path)
        add(store, "a")
        path.chmod(0o400)
        with pytest.raises(StoreWriteFailed, match="Permission denied"):
            add(store, "b")
        assert ids(store) == stored_ids(path) == ["a"]
        path.chmod(0o600)
        add(store, "b")
        assert stored_ids(path) == ["a", "b"]


def add_both(store: Store[Note], first: Note, second: Note) -> None:
    with store.transaction() as notes:
        notes.add(first)
        notes.add(second)


@pytest.mark.requirement("ERR-2")
def test_a_record_that_cannot_be_written_changes_nothing_and_blocks_nobody(path: Path) -> None:
    store = open_store(path)
    add(store, "a")
    with pytest.raises(ValueError, match="surrogates"):
        add_both(store, Note(id="b"), Note(id="c", text="\ud800"))
    assert ids(store) == stored_ids(path) == ["a"]
    add(store, "b")
    add(open_store(path), "c")
    assert ids(store) == stored_ids(path) == ["a", "b", "c"]


@pytest.mark.requirement("ERR-2", "D2")
@pytest.mark.parametrize("before", [[], ["old"]], ids=["none", "old"])
def test_a_folder_that_cannot_be_synced_takes_the_change_back(
    path: Path, before: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    store = open_store(path)
    for name in before:
        add(store, name)
    data = path.read_bytes() if before else None
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(StoreWriteFailed, match="Input/output error") as caught:
            add(store, "new")
    assert "undone" not in caught.value.message
    assert (path.read_bytes() if path.exists() else None) == data
    assert ids(store) == before


@pytest.mark.requirement("ST-4")
def test_what_is_unreadable_for_a_writer_is_reported_by_name(path: Path) -> None:
    path.mkdir()
    with pytest.raises(StoreUnreadable, match="not a regular file") as caught:
        add(open_store(path), "a")
    assert caught.value.details["file"] == "notes.json"


@pytest.mark.requirement("EN-1", "P3")
def test_a_store_that_is_closed_waits_for_no_other_process(path: Path) -> None:
    closed = open_store(path)
    closed.close()
    with open_store(path).transaction(), pytest.raises(StoreLocked):
        add(closed, "a")
