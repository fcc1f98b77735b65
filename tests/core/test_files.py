"""Files are replaced whole, appended to or left as they were, whatever stands in their place."""

from __future__ import annotations

import errno
import os
import resource
import secrets
import socket
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from task_core.files import (
    FileChanged,
    FolderNotSynced,
    HeldFile,
    NotRegularFile,
    append_file,
    closing_last,
    describe,
    identify,
    open_held,
    read_file,
    replace_file,
    replace_held,
    sweep_temporary,
    write_new,
)
from tests.core.faults import watched
from tests.core.notes import nobody, open_folder

Make = Callable[[Path], object]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@contextmanager
def umask(mask: int) -> Iterator[None]:
    old = os.umask(mask)
    try:
        yield
    finally:
        os.umask(old)


@contextmanager
def size_limit(size: int) -> Iterator[None]:
    """Let the kernel refuse to make any file larger than ``size`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def failing_for_folders(code: int) -> Callable[[int], None]:
    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))

    return fsync


not_files = pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, make_socket], ids=["folder", "fifo", "socket"])


def test_a_replaced_file_holds_the_new_bytes_under_a_new_identity(tmp_path: Path) -> None:
    path = tmp_path / "a"
    first = replace_file(path, b"one")
    second = replace_file(path, b"two!")
    assert read_file(path) == (b"two!", second)
    assert first != second == identify(path)
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.requirement("D1")
def test_a_replacement_syncs_the_file_before_the_rename_and_the_folder_after_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with watched() as calls:
        replace_file(path, b"new")
    steps = [name for name in calls if name in {"writev", "fsync", "fchmod", "replace"}]
    assert steps == ["fchmod", "writev", "fsync", "fchmod", "replace", "fsync"]


def test_without_fsync_nothing_is_synced(tmp_path: Path) -> None:
    with watched() as calls:
        replace_file(tmp_path / "a", b"new", fsync=False)
        append_file(tmp_path / "a", b"more", fsync=False)
        append_file(tmp_path / "b", b"more", fsync=False)
    assert calls.count("fsync") == 0
    assert (tmp_path / "a").read_bytes() == b"newmore"


@pytest.mark.requirement("S4")
@pytest.mark.parametrize("mask", [0, 0o022, 0o777], ids=oct)
@pytest.mark.parametrize("make", [replace_file, write_new, append_file])
def test_a_new_file_is_private_under_any_umask(
    tmp_path: Path, make: Callable[[Path, bytes], object], mask: int
) -> None:
    with umask(mask):
        make(tmp_path / "a", b"secret")
    assert mode_of(tmp_path / "a") == 0o600


@pytest.mark.requirement("D1", "S4", "H4")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o777], ids=oct)
def test_a_replaced_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a"
    path.touch()
    path.chmod(mode)
    replace_file(path, b"new")
    assert mode_of(path) == mode


@pytest.mark.requirement("D1", "H4")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_that_root_replaces_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    os.chown(path, 1234, 4321)
    replace_file(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


@pytest.mark.requirement("H4")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of others")
@pytest.mark.parametrize(("group", "kept"), [(65534, 65534), (4321, 7)], ids=["own", "foreign"])
def test_a_file_of_somebody_else_keeps_its_group_where_that_is_allowed(group: int, kept: int) -> None:
    with open_folder() as folder:
        path = folder / "a"
        path.touch()
        os.chown(path, 1234, group)
        path.chmod(0o666)
        os.chown(folder, -1, 7)
        folder.chmod(0o2777)
        with nobody():
            replace_file(path, b"new")
        assert (path.stat().st_uid, path.stat().st_gid, mode_of(path)) == (65534, kept, 0o666)


@pytest.mark.requirement("H4", "D4")
def test_a_read_only_file_is_not_replaced() -> None:
    with open_folder() as folder, nobody():
        path = folder / "a"
        path.write_bytes(b"keep")
        path.chmod(0o444)
        with pytest.raises(PermissionError, match="Permission denied"):
            replace_file(path, b"new")
        assert path.read_bytes() == b"keep"
        assert os.listdir(folder) == ["a"]


@pytest.mark.requirement("H4")
def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real" / "file"
    real.parent.mkdir()
    real.write_bytes(b"old")
    (tmp_path / "folder").symlink_to(real.parent)
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    replace_file(tmp_path / "link", b"new")
    assert real.read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()
    assert os.listdir(real.parent) == ["file"]


def test_a_link_to_a_file_that_is_missing_makes_that_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("later")
    replace_file(tmp_path / "link", b"new")
    assert (tmp_path / "later").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_a_link_to_itself_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(OSError, match="not a regular file"):
        replace_file(tmp_path / "link", b"new")
    assert os.readlink(tmp_path / "link") == "link"
    assert os.listdir(tmp_path) == ["link"]


@pytest.mark.requirement("H4", "L1")
@not_files
def test_what_is_no_file_is_neither_read_nor_replaced_nor_appended_to(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "a"
    make(path)
    kind = path.lstat()
    with pytest.raises(OSError, match=r"not a regular file|No such device"):
        read_file(path)
    with pytest.raises(NotRegularFile):
        replace_file(path, b"new")
    with pytest.raises(OSError, match=r"not a regular file|No such device|Is a directory"):
        append_file(path, b"new")
    assert path.lstat() == kind
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.requirement("L1")
def test_a_fifo_that_somebody_reads_and_a_device_are_not_files(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(NotRegularFile):
            append_file(path, b"new")
        assert os.read(reader, 10) == b""
    finally:
        os.close(reader)
    with pytest.raises(NotRegularFile):
        read_file(Path("/dev/zero"))


def test_a_missing_file_has_no_identity_and_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    assert identify(tmp_path / "a") is None
    for act in (replace_file, append_file, write_new):
        with pytest.raises(FileNotFoundError):
            act(tmp_path / "gone" / "a", b"new")


def test_a_path_below_a_file_cannot_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(NotADirectoryError):
        identify(tmp_path / "a" / "b")


def edit(path: Path) -> None:
    path.write_bytes(b"by hand")


@pytest.mark.requirement("ST-3", "C5")
@pytest.mark.parametrize("change", [edit, Path.unlink], ids=["edited", "removed"])
def test_a_file_that_changed_since_it_was_read_is_not_replaced(tmp_path: Path, change: Make) -> None:
    path = tmp_path / "a"
    seen = replace_file(path, b"old")
    change(path)
    now = identify(path)
    with pytest.raises(FileChanged, match="another program changed it"):
        replace_file(path, b"new", over=seen)
    assert identify(path) == now
    assert set(os.listdir(tmp_path)) <= {"a"}


@pytest.mark.requirement("ST-3")
def test_a_file_that_came_up_where_none_was_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    replace_file(path, b"one", over=None)
    with pytest.raises(FileChanged):
        replace_file(path, b"two", over=None)
    replace_file(path, b"three", over=identify(path))
    assert path.read_bytes() == b"three"


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


def zeros(size: int) -> str:
    return "00" * size


@pytest.mark.requirement("S4")
def test_a_link_planted_under_the_temporary_name_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    monkeypatch.setattr(secrets, "token_hex", zeros)
    planted = tmp_path / f".a.{'0' * 16}.tmp"
    planted.symlink_to(victim)
    with pytest.raises(FileExistsError):
        replace_file(tmp_path / "a", b"new")
    assert victim.read_bytes() == b"mine"
    assert planted.is_symlink()


@pytest.mark.requirement("D4")
@pytest.mark.parametrize("taken", [0, 7, 10, 25, 100])
def test_a_disk_that_takes_little_at_a_time_gets_it_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    def write_little(descriptor: int, data: memoryview) -> int:
        return write(descriptor, data[:7])

    def write_some(descriptor: int, pieces: Sequence[bytes]) -> int:
        return write(descriptor, b"".join(pieces)[:taken])

    write = os.write
    monkeypatch.setattr(os, "write", write_little)
    monkeypatch.setattr(os, "writev", write_some)
    replace_held(tmp_path / "a", [b"0123456789"] * 10)
    assert (tmp_path / "a").read_bytes() == b"0123456789" * 10


@pytest.mark.requirement("D4")
def test_a_limit_on_the_size_of_files_leaves_all_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 900)
    for act in (replace_file, append_file):
        with size_limit(1000), pytest.raises(OSError, match="File too large"):
            act(path, b"y" * 2000)
        assert path.read_bytes() == b"x" * 900
    with size_limit(1000), pytest.raises(OSError, match="File too large"):
        write_new(tmp_path / "b", b"y" * 2000)
    assert os.listdir(tmp_path) == ["a"]


def test_a_new_file_takes_no_place_that_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"mine"


def test_what_is_appended_follows_what_is_there(tmp_path: Path) -> None:
    append_file(tmp_path / "a", b"one\n")
    with watched() as calls:
        append_file(tmp_path / "a", b"two\n")
    assert (tmp_path / "a").read_bytes() == b"one\ntwo\n"
    assert calls.count("fsync") == 2


@pytest.mark.requirement("S4")
@pytest.mark.parametrize("is_dangling", [False, True])
def test_nothing_is_appended_through_a_planted_link(tmp_path: Path, *, is_dangling: bool) -> None:
    victim = tmp_path / "victim"
    if not is_dangling:
        victim.write_bytes(b"mine")
    (tmp_path / "a").symlink_to(victim)
    with pytest.raises(OSError, match=r"symbolic links|File exists"):
        append_file(tmp_path / "a", b"new")
    assert victim.exists() == (not is_dangling)


@pytest.mark.requirement("D4")
@pytest.mark.parametrize("act", [append_file, write_new])
def test_a_folder_that_cannot_be_synced_takes_the_append_back(
    tmp_path: Path, act: Callable[[Path, bytes], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    if act is append_file:
        path.write_bytes(b"one")
    monkeypatch.setattr(os, "fsync", failing_for_folders(errno.EIO))
    with pytest.raises(FolderNotSynced):
        act(path, b"two")
    assert {entry.read_bytes() for entry in tmp_path.iterdir()} == ({b"one"} if act is append_file else set())


@pytest.mark.requirement("D1")
def test_a_folder_that_cannot_be_synced_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", failing_for_folders(errno.EIO))
    with pytest.raises(FolderNotSynced, match="Input/output error"):
        replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_file_system_that_never_syncs_folders_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", failing_for_folders(errno.EINVAL))
    replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


@pytest.mark.requirement("D1")
def test_on_macos_the_cache_of_the_drive_is_flushed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl  # noqa: PLC0415 - not on Windows

    def ask(_: int, command: int) -> None:
        asked.append(command)

    asked: list[int] = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", ask)
    monkeypatch.setattr(sys, "platform", "darwin")
    replace_file(tmp_path / "a", b"new")
    assert asked == [51]


class BusyWindows:
    """A rename that fails ``times`` times with a code of Windows, and then works."""

    def __init__(self, times: int, code: int) -> None:
        self.tries = 0
        self._times = times
        self._code = code
        self._replace = os.replace

    def __call__(self, source: Path, target: Path) -> None:
        self.tries += 1
        if self.tries > self._times:
            self._replace(source, target)
            return
        error = PermissionError(errno.EACCES, "busy")
        error.winerror = self._code  # type: ignore[attr-defined] # only Windows has it
        raise error


def pretend_windows(monkeypatch: pytest.MonkeyPatch, replace: Callable[[Path, Path], object] = os.replace) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "replace", replace)


@pytest.mark.requirement("W1")
@pytest.mark.parametrize("code", [5, 32, 33])
def test_on_windows_a_busy_file_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    pretend_windows(monkeypatch, rename := BusyWindows(2, code))
    replace_file(tmp_path / "a", b"new")
    assert (rename.tries, (tmp_path / "a").read_bytes()) == (3, b"new")


@pytest.mark.requirement("W1")
@pytest.mark.parametrize(("code", "tries"), [(5, 20), (112, 1)], ids=["always busy", "full"])
def test_on_windows_trying_again_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, tries: int) -> None:
    pretend_windows(monkeypatch, rename := BusyWindows(100, code))
    with pytest.raises(PermissionError, match="busy"):
        replace_file(tmp_path / "a", b"new")
    assert rename.tries == tries
    assert os.listdir(tmp_path) == []


@pytest.mark.requirement("W1")
def test_on_windows_no_file_stays_open_and_no_folder_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_windows(monkeypatch)
    seen = replace_file(tmp_path / "a", b"one")
    edit(tmp_path / "a")
    with watched() as calls:
        replace_file(tmp_path / "a", b"two", over=seen)
        held = open_held(tmp_path / "a")
        assert held.read() == b"two"
    assert (calls.count("fsync"), calls.count("open"), calls.count("close")) == (1, 2, 2)
    assert calls.index("close") < calls.index("replace")


@pytest.mark.requirement("D3")
def test_only_temporary_files_of_that_file_are_swept(tmp_path: Path) -> None:
    stale = tmp_path / f".a.{'0f' * 8}.tmp"
    kept = {"a", "b", ".a.tmp", f".b.{'0f' * 8}.tmp", f".a.{'0f' * 8}.tmp.bak", f".xa.{'0f' * 8}.tmp"}
    for name in (*kept, stale.name):
        (tmp_path / name).touch()
    (tmp_path / f".a.{'11' * 8}.tmp").mkdir()
    assert not sweep_temporary(tmp_path / "a")
    assert set(os.listdir(tmp_path)) == {*kept, f".a.{'11' * 8}.tmp"}
    (tmp_path / f".a.{'11' * 8}.tmp").rmdir()
    assert sweep_temporary(tmp_path / "a")
    assert not sweep_temporary(tmp_path / "gone" / "a")


@pytest.mark.requirement("ERR-1")
def test_the_cause_of_an_error_has_words_and_a_code_but_no_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        read_file(tmp_path / "secret")
    assert describe(caught.value) == "No such file or directory [ENOENT]"
    assert describe(OSError("only words")) == "OSError"
    assert describe(NotRegularFile()) == "not a regular file [EINVAL]"


@pytest.mark.requirement("D7")
def test_a_file_that_is_dropped_is_closed_at_once_or_at_the_end_of_the_block_that_asks_for_it(tmp_path: Path) -> None:
    def drop() -> int:
        return HeldFile(os.open(tmp_path, os.O_RDONLY))._descriptor  # noqa: SLF001 - which one it was

    def is_open(descriptor: int) -> bool:
        return Path(f"/proc/self/fd/{descriptor}").exists()

    assert not is_open(drop())
    with closing_last():
        dropped = drop()
        assert is_open(dropped)
    assert not is_open(dropped)
    with closing_last():
        first = drop()
        with closing_last():
            second = drop()
        assert (is_open(first), is_open(second)) == (True, False)
    assert not is_open(first)
    with suppress(ZeroDivisionError), closing_last():
        dropped = drop()
        assert is_open(1 // 0)
    assert not is_open(dropped)
    assert not is_open(drop())
