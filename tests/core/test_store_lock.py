"""One lock keeps processes apart, whatever exists under its name and whoever waits for it."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from task_core.errors import StoreLocked, StoreWriteFailed
from task_core.files import ProcessLock, Wait
from tests.core.notes import Note, add, ids, litter, open_store, stored_ids


@pytest.fixture(params=["notes.json", "notes.db"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


def lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


@pytest.mark.requirement("C1", "H4")
def test_a_store_and_a_link_to_it_are_one_store_with_one_lock(path: Path) -> None:
    real, link = path.parent / "real" / path.name, path.with_name(f"link{path.suffix}")
    real.parent.mkdir()
    link.symlink_to(real)
    through_link, direct = open_store(link, lock_seconds=0.02), open_store(real, lock_seconds=0.02)
    add(through_link, "a")
    with pytest.raises(StoreLocked), direct.transaction():
        add(through_link, "c")
    add(direct, "b")
    assert ids(through_link) == ids(direct) == stored_ids(real) == ["a", "b"]
    assert link.is_symlink()


def make_link(lock: Path, victim: Path) -> None:
    lock.symlink_to(victim)


def make_second_name(lock: Path, victim: Path) -> None:
    lock.hardlink_to(victim)


@pytest.mark.requirement("C1", "S4")
@pytest.mark.parametrize("plant", [make_link, make_second_name])
@pytest.mark.parametrize("content", [b"", b"mine"], ids=["empty", "full"])
def test_a_planted_lock_harms_no_other_file(path: Path, plant: Callable[[Path, Path], None], content: bytes) -> None:
    victim = path.with_name("victim")
    victim.write_bytes(content)
    plant(lock_of(path), victim)
    if plant is make_link or content:
        with pytest.raises(StoreWriteFailed, match=r"symbolic links|not a lock is in its place") as caught:
            add(open_store(path), "a")
        assert caught.value.details["file"] == f"{path.name}.lock"
        assert not path.exists()
    else:
        add(open_store(path), "a")
    assert victim.read_bytes() == content


@pytest.mark.requirement("C1")
def test_the_lock_file_is_not_removed(path: Path) -> None:
    lock = lock_of(path)
    lock.touch()
    inode = lock.stat().st_ino
    add(open_store(path), "a")
    assert (lock.stat().st_ino, lock.stat().st_size) == (inode, 0)


@pytest.mark.requirement("C1", "S4")
def test_a_pipe_in_the_place_of_the_lock_is_refused_and_hangs_nothing(path: Path) -> None:
    os.mkfifo(lock_of(path))
    with pytest.raises(StoreWriteFailed, match="not a regular file"):
        add(open_store(path), "a")


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("change", [Path.unlink, lambda lock: (lock.unlink(), lock.touch())], ids=["gone", "replaced"])
def test_a_lock_file_that_goes_as_it_is_locked_keeps_nobody_out_and_is_not_taken(
    path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    lock = lock_of(path)
    locked: list[int] = []

    def lock_and_lose(descriptor: int, operation: int) -> None:
        flock(descriptor, operation)
        if operation & fcntl.LOCK_EX:
            locked.append(os.fstat(descriptor).st_ino)
            if len(locked) == 1:
                change(lock)

    flock = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", lock_and_lose)
    store = open_store(path)
    with store.transaction() as notes:
        assert (len(locked), locked[-1]) == (2, lock.stat().st_ino)
        notes.add(Note(id="a"))
    assert ids(store) == ["a"]


@pytest.mark.requirement("C1")
def test_two_who_make_the_lock_file_at_once_take_turns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = lock_of(path)

    def open_late(name: object, flags: int, *rest: int, **kwargs: object) -> int:
        if name == lock and flags & os.O_CREAT and not lock.exists():
            os.close(real(lock, flags, *rest))
        return real(name, flags, *rest, **kwargs)

    real: Callable[..., int] = os.open
    monkeypatch.setattr(os, "open", open_late)
    add(open_store(path), "a")
    assert stored_ids(path) == ["a"]


@pytest.mark.requirement("W1", "S4")
def test_on_windows_a_planted_link_is_not_followed_to_a_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = path.with_name("victim")
    victim.touch()
    lock = ProcessLock(lock_of(path))
    lock_of(path).symlink_to(victim)
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(StoreWriteFailed, match="symbolic links"):
        lock.acquire(Wait(0))


@pytest.mark.requirement("W1", "C1")
@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS], ids=errno.errorcode.get)
def test_where_the_kernel_cannot_lock_nothing_is_written(
    path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def flock(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(StoreWriteFailed, match=errno.errorcode[code]):
        add(open_store(path), "a")
    assert not path.exists()
    assert litter(path) == set()


@pytest.mark.requirement("C1")
def test_a_lock_that_the_kernel_would_not_free_goes_with_its_open_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stubborn(descriptor: int, operation: int) -> None:
        if operation == fcntl.LOCK_UN:
            raise OSError(errno.EIO, "stuck")
        flock(descriptor, operation)

    flock = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", stubborn)
    add(open_store(path), "a")
    add(open_store(path, lock_seconds=0.02), "b")
    assert stored_ids(path) == ["a", "b"]
