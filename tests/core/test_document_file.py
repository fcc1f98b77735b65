"""One file that people edit at the worst moment: nothing of theirs is replaced without a word (ST-3, C1, D7)."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mcp.client import Client
from pydantic import BaseModel

from task_core import durable
from task_core.document_file.generations import list_generations, restore
from task_core.errors import StoreLocked, StoreWriteFailed
from task_core.fields import Arguments, OneLine
from task_core.files import ProcessLock, Wait
from task_core.models import utc_now
from task_core.server.app import TaskServer
from task_core.store import Store
from task_core.warning_list import WarningList
from tests.core.notes import Note, add, ids, litter, open_store, stored_ids


class NewNote(Arguments):
    """The id of a note."""

    id: OneLine


class Written(BaseModel):
    """Nothing."""


Edit = Callable[[Path], object]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.json"


def edit_in_place(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"a"', b'"by hand"'))


def edit_by_rename(path: Path) -> None:
    path.with_name("new").write_bytes(path.read_bytes().replace(b'"a"', b'"by hand"'))
    path.with_name("new").rename(path)


def save_by_another(path: Path) -> None:
    path.with_name("notes.json.lock").unlink()  # as a script does that cleans up
    add(open_store(path), "by hand")


def add_while(store: Store[Note], name: str, act: Callable[[], object]) -> None:
    with store.transaction() as notes:
        notes.add(Note(id=name))
        act()


@contextmanager
def at_the_rename(
    act: Callable[[], object], *, name: str = "rename_with", can_exchange: bool = True
) -> Iterator[list[Callable[[], object]]]:
    """Let ``act`` happen right before the new file gets the name of the document, and what is yielded by then."""
    real: Callable[..., object] = getattr(durable, name)
    acts = [act]

    def rename(*args: object) -> object:
        if acts:
            acts.pop()()
        return real(*args)

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    with pytest.MonkeyPatch.context() as patch:
        if not can_exchange:
            patch.setattr(durable, "rename_with", refuse)
        patch.setattr(durable, name, rename)
        yield acts


@pytest.mark.requirement("ST-3", "ERR-2")
@pytest.mark.parametrize("edit", [edit_in_place, edit_by_rename, save_by_another])
def test_an_edit_that_lands_between_the_check_and_the_rename_stays(path: Path, edit: Edit) -> None:
    store = open_store(path)
    add(store, "a")
    with at_the_rename(lambda: edit(path)), pytest.raises(StoreWriteFailed, match="changed it in the meantime"):
        add(store, "b")
    assert "by hand" in ids(store)
    assert "b" not in stored_ids(path)
    assert litter(path) == set()
    add(store, "b")
    assert stored_ids(path)[-2:] == ["by hand", "b"]


@pytest.mark.requirement("ST-3", "ERR-2")
@pytest.mark.parametrize(("edits", "error"), [(1, None), (2, None), (3, "StoreWriteFailed")])
async def test_a_call_whose_document_is_edited_as_it_is_saved_is_made_on_top_of_the_edit(
    path: Path, edits: int, error: str | None
) -> None:
    def edit() -> None:
        names.append(f"by hand {len(names)}")
        edit_by_rename(path)
        if len(names) < edits:
            acts.append(edit)

    names, store = list[str](), open_store(path)
    add(store, "a")
    server = TaskServer("notes", title="Notes", version="1", instructions="", warnings=WarningList())

    @server.tool()
    def write(arguments: NewNote) -> Written:
        add(store, arguments.id)
        return Written()

    with at_the_rename(edit, name="_check_replaceable") as acts:
        async with Client(server.sdk) as client:
            answer = await client.call_tool("write", {"id": "b"})
    found = (answer.structured_content or {}).get("error", {})
    assert found.get("code") == error
    assert stored_ids(path) == ["by hand", *([] if error else ["b"])]


@pytest.mark.requirement("ST-3")
def test_a_document_that_is_removed_or_made_at_the_rename_stays_so(path: Path) -> None:
    store = open_store(path)
    add(open_store(path.with_name("other.json")), "by hand")
    with at_the_rename(lambda: path.with_name("other.json").rename(path)), pytest.raises(StoreWriteFailed):
        add(store, "a")
    assert ids(store) == ["by hand"]
    with at_the_rename(path.unlink), pytest.raises(StoreWriteFailed):
        add(store, "a")
    assert ids(store) == []
    assert not path.exists()


@pytest.mark.requirement("ST-3")
def test_without_an_exchange_a_write_into_the_replaced_file_is_put_back(path: Path) -> None:
    store = open_store(path)
    add(store, "a")
    with (
        at_the_rename(lambda: edit_in_place(path), name="replace", can_exchange=False),
        pytest.raises(StoreWriteFailed, match="changed it in the meantime"),
    ):
        add(store, "b")
    assert ids(store) == stored_ids(path) == ["by hand"]
    assert litter(path) == set()
    with at_the_rename(lambda: None, name="replace", can_exchange=False):
        add(store, "b")
        add(open_store(path.with_name("new.json")), "c")
    assert (stored_ids(path), stored_ids(path.with_name("new.json"))) == (["by hand", "b"], ["c"])


@pytest.mark.requirement("ST-3")
@pytest.mark.parametrize("has_links", [True, False])
def test_without_an_exchange_an_edit_before_the_rename_is_not_replaced(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, has_links: bool
) -> None:
    real = os.link

    def link(source: str, target: str) -> None:
        edit_by_rename(path)
        if not has_links:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        real(source, target)

    store = open_store(path)
    add(store, "a")
    add(store, "b")  # keeps the generation of today
    with at_the_rename(lambda: None, can_exchange=False, name="replace"), monkeypatch.context() as patch:
        patch.setattr(os, "link", link)
        with pytest.raises(StoreWriteFailed, match="changed it in the meantime"):
            add(store, "c")
    assert stored_ids(path) == ["by hand", "b"]
    assert litter(path) == set()


@pytest.mark.requirement("ST-3", "ERR-2")
def test_what_is_edited_again_while_it_is_put_back_is_kept_beside_the_document(path: Path) -> None:
    def edit_twice(*args: object) -> None:
        if args[0] == durable.EXCHANGE:
            edit_by_rename(path)
        real(*args)

    real: Callable[..., None] = durable.rename_with
    store = open_store(path)
    add(store, "a")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(durable, "rename_with", edit_twice)
        with pytest.raises(StoreWriteFailed):
            add(store, "b")
    (copy,) = [copy for copy in list_generations(path) if ".replaced-" in copy.name]
    assert stored_ids(path) == ["by hand"]
    assert stored_ids(copy) == ["by hand", "b"]


@pytest.mark.requirement("ST-3", "ERR-2")
def test_an_edit_is_put_back_even_if_somebody_removes_the_new_document_at_once(path: Path) -> None:
    def exchange_and_remove(flag: int, source: str, target: str) -> None:
        patch.undo()
        edit_by_rename(path)
        durable.rename_with(flag, source, target)
        path.unlink()

    store = open_store(path)
    add(store, "a")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(durable, "rename_with", exchange_and_remove)
        with pytest.raises(StoreWriteFailed, match="changed it in the meantime"):
            add(store, "b")
    assert ids(store) == stored_ids(path) == ["by hand"]
    assert litter(path) == set()


@pytest.mark.requirement("ST-3", "ERR-2")
def test_an_edit_that_cannot_be_put_back_is_kept_beside_the_document_and_reported(path: Path) -> None:
    def exchange_once(*args: object) -> None:
        if calls:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        calls.append(args)
        edit_by_rename(path)
        real(*args)

    calls: list[object] = []
    real: Callable[..., None] = durable.rename_with
    store = open_store(path)
    add(store, "a")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(durable, "rename_with", exchange_once)
        with pytest.raises(StoreWriteFailed, match="could not be undone"):
            add(store, "b")
    (copy,) = [copy for copy in list_generations(path) if ".replaced-" in copy.name]
    assert stored_ids(copy) == ["by hand"]


@pytest.mark.requirement("ST-3", "ERR-2")
@pytest.mark.parametrize("before", [[], ["a"]], ids=["new", "old"])
def test_a_change_that_is_taken_back_takes_no_edit_with_it(path: Path, before: list[str]) -> None:
    def fail_to_sync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            path.write_bytes(path.read_bytes().replace(b'"b"', b'"by hand"'))
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    store = open_store(path)
    for name in before:
        add(store, name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fail_to_sync)
        with pytest.raises(StoreWriteFailed, match="Nothing was saved"):
            add(store, "b")
    assert ids(store) == before
    (copy,) = [copy for copy in list_generations(path) if ".replaced-" in copy.name]
    assert stored_ids(copy) == [*before, "by hand"]


@pytest.mark.requirement("ST-3", "ST-6")
def test_restoring_replaces_no_edit_that_lands_at_the_rename(path: Path) -> None:
    add(open_store(path), "a")
    data = path.read_bytes()
    with at_the_rename(lambda: edit_by_rename(path)), pytest.raises(StoreWriteFailed):
        restore(path, data, ProcessLock.beside(path), 1, utc_now())
    assert stored_ids(path) == ["by hand"]


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("suffix", [".json", ".db"])
def test_a_save_fails_once_its_lock_file_is_gone(path: Path, suffix: str) -> None:
    path = path.with_suffix(suffix)
    store = open_store(path)
    add(store, "a")
    with pytest.raises(StoreWriteFailed, match="its lock file was removed"):
        add_while(store, "b", path.with_name(f"{path.name}.lock").unlink)
    assert ids(store) == stored_ids(path) == ["a"]
    add(store, "c")
    assert stored_ids(path) == ["a", "c"]


@pytest.mark.requirement("C1")
def test_a_lock_is_checked_by_whoever_holds_it(path: Path) -> None:
    lock = ProcessLock.beside(path)
    lock.acquire(Wait(1))
    lock.check()
    path.with_name("notes.json.lock").rename(path)
    with pytest.raises(OSError, match="its lock file was removed"):
        lock.check()
    lock.release()


@pytest.mark.requirement("D7", "ST-3")
def test_an_edit_in_place_that_keeps_size_and_time_is_seen(path: Path) -> None:
    def edit_in_secret(old: bytes, new: bytes) -> None:
        before = path.stat()
        with path.open("r+b") as file:
            file.write(path.read_bytes().replace(old, new))
        while path.stat().st_mtime_ns != before.st_mtime_ns or path.stat().st_ctime_ns == before.st_ctime_ns:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # the kernel's clock for files has long ticks
        assert path.stat().st_ino == before.st_ino

    store = open_store(path)
    add(store, "a")
    edit_in_secret(b'"a"', b'"y"')
    assert ids(store) == ["y"]
    with pytest.raises(StoreWriteFailed, match="changed it in the meantime"):
        add_while(store, "b", lambda: edit_in_secret(b'"y"', b'"z"'))
    assert ids(store) == stored_ids(path) == ["z"]


@pytest.mark.requirement("D7", "ST-3")
@pytest.mark.parametrize(("edit", "left"), [(edit_by_rename, ["by hand"]), (Path.unlink, [])])
def test_an_edit_right_after_the_rename_is_seen_by_the_next_call(
    path: Path, monkeypatch: pytest.MonkeyPatch, edit: Edit, left: list[str]
) -> None:
    def sync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            edit(path)
        real(descriptor)

    store, real = open_store(path), os.fsync
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", sync)
        add(store, "a")
    assert ids(store) == left


@pytest.mark.requirement("C1")
def test_a_closed_store_waits_for_no_lock_even_behind_a_link_that_was_turned(path: Path) -> None:
    path.symlink_to("one.json")
    store = open_store(path)
    store.close()
    path.unlink()
    path.symlink_to("two.json")
    assert ids(store) == []
    lock = ProcessLock.beside(path.with_name("two.json"))
    lock.acquire(Wait(1))
    with pytest.raises(StoreLocked):
        add(store, "a")
    lock.release()


@pytest.mark.requirement("H4", "C1", "ST-2")
def test_a_store_behind_a_link_follows_it_to_another_file(path: Path, tmp_path: Path) -> None:
    def turn(target: str) -> None:
        path.with_name("link").symlink_to(target)
        path.with_name("link").rename(path)

    real = {name: tmp_path / name for name in ("one.json", "two.json")}
    turn("one.json")
    store = open_store(path)
    add(store, "a")
    turn("two.json")
    assert ids(store) == []
    add(store, "b")
    add(open_store(real["two.json"]), "c")
    assert ids(store) == ["b", "c"]
    with pytest.raises(StoreWriteFailed):
        add_while(store, "d", lambda: turn("one.json"))
    assert ids(store) == ["a"]
    with open_store(real["one.json"], lock_seconds=0.01).transaction():
        pass
    assert {name: stored_ids(file) for name, file in real.items()} == {"one.json": ["a"], "two.json": ["b", "c"]}
    real["two.json"].unlink()
    os.link(real["one.json"], real["two.json"])  # the same file by another name, which parts with the next save
    turn("two.json")
    add(store, "e")
    assert {name: stored_ids(file) for name, file in real.items()} == {"one.json": ["a"], "two.json": ["a", "e"]}
