"""Files are read whole, known by their identity while they are held, and made for their owner only."""

import os
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from task_core.files import NotRegularFile, close, describe, identify, open_held, open_new, read_file, write_all

Make = Callable[[Path], object]


@contextmanager
def umask(mask: int) -> Iterator[None]:
    old = os.umask(mask)
    try:
        yield
    finally:
        os.umask(old)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.requirement("D7")
def test_a_file_is_read_whole_and_under_its_identity(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one" * 100_000)
    assert read_file(path) == (b"one" * 100_000, identify(path))


@pytest.mark.requirement("L1", "ST-4")
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, make_socket], ids=["folder", "fifo", "socket"])
def test_what_is_not_a_file_is_an_error_at_once(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "a")
    with pytest.raises(OSError, match=r"not a regular file|No such device"):
        read_file(tmp_path / "a")


@pytest.mark.requirement("L1", "ST-4")
def test_a_device_is_not_a_file() -> None:
    with pytest.raises(NotRegularFile):
        read_file(Path("/dev/zero"))


def test_a_missing_file_has_no_identity(tmp_path: Path) -> None:
    assert identify(tmp_path / "a") is None
    assert identify(tmp_path / "gone" / "a") is None


def test_a_path_below_a_file_cannot_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(NotADirectoryError):
        identify(tmp_path / "a" / "b")


@pytest.mark.requirement("D7")
def test_no_other_file_takes_the_identity_of_one_that_is_held(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    held = open_held(path)
    assert held.read() == b"one"
    for _ in range(20):
        path.unlink()
        path.write_bytes(b"two")
        os.utime(path, ns=(0, held.identity.mtime_ns))
        assert identify(path) != held.identity
    assert held.read() == b"one"
    held.close()


@pytest.mark.requirement("D7")
def test_a_file_that_is_let_go_keeps_its_identity_and_is_closed_once(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    held = open_held(path)
    held.read()
    held.close()
    # The number of the descriptor is free now and may be that of another file, which a second close must not touch.
    other = os.open(path, os.O_RDONLY)
    held.close()
    assert os.fstat(other).st_size == 3
    os.close(other)
    assert held.identity == identify(path)


def test_a_descriptor_that_is_closed_already_is_closed(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    close(descriptor)
    close(descriptor)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@pytest.mark.requirement("S4")
@pytest.mark.parametrize("mask", [0, 0o022, 0o077], ids=oct)
def test_a_new_file_is_for_its_owner_only_under_any_umask(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        close(open_new(tmp_path / "a"))
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


@pytest.mark.requirement("S4")
@pytest.mark.parametrize("is_dangling", [False, True])
def test_a_new_file_takes_no_place_that_is_taken_by_a_file_or_a_link(tmp_path: Path, *, is_dangling: bool) -> None:
    if not is_dangling:
        (tmp_path / "victim").write_bytes(b"mine")
    (tmp_path / "a").symlink_to("victim")
    with pytest.raises(FileExistsError):
        open_new(tmp_path / "a")
    assert (tmp_path / "victim").exists() is not is_dangling


@pytest.mark.requirement("D4")
@pytest.mark.parametrize("taken", [1, 7, 100, 200])
def test_a_disk_that_takes_little_at_a_time_gets_it_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    def write_little(descriptor: int, data: memoryview) -> int:
        return write(descriptor, data[:taken])

    write = os.write
    monkeypatch.setattr(os, "write", write_little)
    descriptor = open_new(tmp_path / "a")
    write_all(descriptor, b"0123456789" * 20, fsync=True)
    close(descriptor)
    assert (tmp_path / "a").read_bytes() == b"0123456789" * 20


@pytest.mark.requirement("D1")
def test_on_macos_the_cache_of_the_drive_is_flushed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl  # noqa: PLC0415 - not on Windows

    def ask(_: int, command: int) -> None:
        asked.append(command)

    asked: list[int] = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", ask)
    monkeypatch.setattr(sys, "platform", "darwin")
    descriptor = open_new(tmp_path / "a")
    write_all(descriptor, b"x", fsync=False)
    assert asked == []
    write_all(descriptor, b"x", fsync=True)
    assert asked == [51]
    close(descriptor)


@pytest.mark.requirement("ERR-1")
def test_the_cause_of_an_error_has_words_and_a_code_but_no_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        read_file(tmp_path / "secret")
    assert describe(caught.value) == "No such file or directory [ENOENT]"
    assert describe(OSError("only words")) == "OSError"
    assert describe(NotRegularFile()) == "not a regular file [EINVAL]"
