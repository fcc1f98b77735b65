"""Files are replaced whole or left as they were, whatever is in their place and whatever fails."""

import errno
import os
import secrets
import socket
import stat
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from task_core.durable import FileChanged, rename_over, replace_file, sweep_temporary, write_new
from task_core.files import FileIdentity, NotRegularFile, identify, open_held, read_file
from tests.core.faults import CODES, Fault, size_limit, watched
from tests.core.notes import nobody, open_folder

Make = Callable[[Path], object]


def put(path: Path, data: bytes) -> FileIdentity:
    """Replace the file at ``path``, let go of it, and return its identity."""
    held = replace_file(path, data)
    held.close()
    return held.identity


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def failing_for_folders(code: int) -> Callable[[int], None]:
    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))

    return fsync


def content_of(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


def test_a_replaced_file_holds_the_new_bytes_under_a_new_identity(tmp_path: Path) -> None:
    path = tmp_path / "a"
    first = put(path, b"one")
    second = put(path, b"two!")
    assert read_file(path) == (b"two!", second)
    assert first != second == identify(path)
    assert os.listdir(tmp_path) == ["a"]


def test_a_replaced_file_is_held_and_can_be_read_again(tmp_path: Path) -> None:
    held = replace_file(tmp_path / "a", b"one")
    put(tmp_path / "a", b"two")
    assert held.read() == b"one"
    held.close()


@pytest.mark.requirement("D1")
def test_a_replacement_syncs_the_file_before_the_rename_and_the_folder_after_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    steps: list[str] = []
    with watched() as calls:
        held = replace_file(path, b"new", rename=lambda new, old: (steps.extend(calls), os.replace(new, old)))
    changes = {"write", "fsync", "fchmod", "replace"}
    assert [name for name in calls if name in changes] == ["write", "fsync", "fchmod", "replace", "fsync"]
    assert [name for name in steps if name in changes] == ["write", "fsync", "fchmod"]
    held.close()


@pytest.mark.parametrize(("fsync", "fsync_folder", "syncs"), [(False, True, 0), (True, False, 1), (True, True, 2)])
def test_what_is_not_asked_for_is_not_synced(tmp_path: Path, syncs: int, *, fsync: bool, fsync_folder: bool) -> None:
    with watched() as calls:
        replace_file(tmp_path / "a", b"new", fsync=fsync, fsync_folder=fsync_folder).close()
    assert calls.count("fsync") == syncs
    assert (tmp_path / "a").read_bytes() == b"new"


@pytest.mark.requirement("S4")
@pytest.mark.parametrize("make", [put, write_new])
def test_a_new_file_is_for_its_owner_only(tmp_path: Path, make: Callable[[Path, bytes], object]) -> None:
    make(tmp_path / "a", b"secret")
    assert mode_of(tmp_path / "a") == 0o600


@pytest.mark.requirement("TM-30", "TM-89")
@pytest.mark.parametrize(("folder", "file"), [(0o755, 0o644), (0o700, 0o600), (0o2775, 0o664)], ids=oct)
def test_a_new_file_that_is_not_private_has_the_access_of_its_folder(tmp_path: Path, folder: int, file: int) -> None:
    path = tmp_path / "shared" / "a"
    path.parent.mkdir()
    path.parent.chmod(folder)
    replace_file(path, b"one", is_private=False).close()
    assert mode_of(path) == file
    path.chmod(0o640)
    replace_file(path, b"two", is_private=False).close()
    assert mode_of(path) == 0o640


@pytest.mark.requirement("D1", "S4", "H4")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o777], ids=oct)
def test_a_replaced_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a"
    path.touch()
    path.chmod(mode)
    put(path, b"new")
    assert mode_of(path) == mode


@pytest.mark.requirement("D1", "H4")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_that_root_replaces_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    os.chown(path, 1234, 4321)
    put(path, b"new")
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
            put(path, b"new")
        assert (path.stat().st_uid, path.stat().st_gid, mode_of(path)) == (65534, kept, 0o666)


@pytest.mark.requirement("H4", "D4")
def test_a_read_only_file_is_not_replaced() -> None:
    with open_folder() as folder, nobody():
        path = folder / "a"
        path.write_bytes(b"keep")
        path.chmod(0o444)
        with pytest.raises(PermissionError, match="Permission denied"):
            replace_file(path, b"new")
        assert content_of(folder) == {"a": b"keep"}


@pytest.mark.requirement("H4")
def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real" / "file"
    real.parent.mkdir()
    real.write_bytes(b"old")
    (tmp_path / "folder").symlink_to(real.parent)
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    put(tmp_path / "link", b"new")
    assert content_of(real.parent) == {"file": b"new"}
    assert (tmp_path / "link").is_symlink()


def test_a_link_to_a_file_that_is_missing_makes_that_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("later")
    put(tmp_path / "link", b"new")
    assert (tmp_path / "later").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_a_link_to_itself_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(OSError, match="not a regular file"):
        replace_file(tmp_path / "link", b"new")
    assert os.readlink(tmp_path / "link") == "link"
    assert os.listdir(tmp_path) == ["link"]


@pytest.mark.requirement("ST-3")
def test_another_name_of_the_same_file_keeps_the_old_content(tmp_path: Path) -> None:
    put(tmp_path / "a", b"one")
    os.link(tmp_path / "a", tmp_path / "b")
    put(tmp_path / "a", b"two")
    assert content_of(tmp_path) == {"a": b"two", "b": b"one"}


@pytest.mark.requirement("H4", "L1")
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, make_socket], ids=["folder", "fifo", "socket"])
def test_what_is_not_a_file_is_not_replaced(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "a"
    make(path)
    kind = path.lstat()
    with pytest.raises(NotRegularFile):
        replace_file(path, b"new")
    with pytest.raises(FileExistsError):
        write_new(path, b"new")
    assert path.lstat() == kind
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("act", [put, write_new])
def test_a_missing_folder_is_an_error(tmp_path: Path, act: Callable[[Path, bytes], object]) -> None:
    with pytest.raises(FileNotFoundError):
        act(tmp_path / "gone" / "a", b"new")


def edit(path: Path) -> None:
    path.write_bytes(b"by hand")


def edit_whole(path: Path) -> None:
    path.with_name("b").write_bytes(b"old")
    path.with_name("b").rename(path)


@pytest.mark.requirement("ST-3", "C5")
@pytest.mark.parametrize("change", [edit, edit_whole, Path.unlink, Path.touch], ids=lambda change: change.__name__)
def test_a_file_that_changed_since_it_was_read_is_not_replaced(tmp_path: Path, change: Make) -> None:
    path = tmp_path / "a"
    held = replace_file(path, b"old")
    change(path)
    before = content_of(tmp_path)
    with pytest.raises(FileChanged, match="another program has changed it"):
        replace_file(path, b"new", over=held.identity)
    assert content_of(tmp_path) == before
    held.close()


@pytest.mark.requirement("ST-3")
def test_a_file_that_came_up_where_none_was_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    replace_file(path, b"one", over=None).close()
    with pytest.raises(FileChanged):
        replace_file(path, b"two", over=None)
    replace_file(path, b"three", over=identify(path)).close()
    assert content_of(tmp_path) == {"a": b"three"}


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
def test_a_limit_on_the_size_of_files_leaves_all_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 900)
    with size_limit(1000), pytest.raises(OSError, match="File too large"):
        replace_file(tmp_path / "a", b"y" * 2000)
    with size_limit(1000), pytest.raises(OSError, match="File too large"):
        write_new(tmp_path / "b", b"y" * 2000)
    assert content_of(tmp_path) == {"a": b"x" * 900}


def test_a_new_file_takes_no_place_that_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"mine"


@pytest.mark.requirement("D4", "ERR-2")
@pytest.mark.parametrize(
    ("act", "old"),
    [(put, None), (put, b"old"), (write_new, None)],
    ids=["replace nothing", "replace", "write new"],
)
@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
def test_an_operation_of_which_any_step_fails_leaves_the_file_as_it_was(
    tmp_path: Path, act: Callable[[Path, bytes], object], old: bytes | None, code: int
) -> None:
    for number in count(1):
        (tmp_path / "file").unlink(missing_ok=True)
        if old is not None:
            (tmp_path / "file").write_bytes(old)
        before = content_of(tmp_path)
        is_changed = True
        with watched(Fault(number, code)) as calls:
            try:
                act(tmp_path / "file", b"new")
            except OSError:
                is_changed = act is put and "replace" in calls[: number - 1]
        assert content_of(tmp_path) == ({"file": b"new"} if is_changed else before)
        if len(calls) < number:
            return


@pytest.mark.requirement("D4")
def test_a_folder_that_cannot_be_synced_takes_the_new_file_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", failing_for_folders(errno.EIO))
    with pytest.raises(OSError, match="Input/output error"):
        write_new(tmp_path / "a", b"two")
    assert content_of(tmp_path) == {}


@pytest.mark.requirement("D1")
def test_a_folder_that_cannot_be_synced_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", failing_for_folders(errno.EIO))
    with watched() as calls, pytest.raises(OSError, match="Input/output error"):
        replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert calls.count("open") == calls.count("close")


def test_a_file_system_that_never_syncs_folders_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", failing_for_folders(errno.EINVAL))
    put(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


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
    put(tmp_path / "a", b"new")
    assert (rename.tries, (tmp_path / "a").read_bytes()) == (3, b"new")


@pytest.mark.requirement("W1")
@pytest.mark.parametrize(("code", "tries"), [(5, 20), (112, 1)], ids=["always busy", "full"])
def test_on_windows_trying_again_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, tries: int) -> None:
    pretend_windows(monkeypatch, rename := BusyWindows(100, code))
    with pytest.raises(PermissionError, match="busy"):
        put(tmp_path / "a", b"new")
    assert rename.tries == tries
    assert os.listdir(tmp_path) == []


@pytest.mark.requirement("W1")
def test_on_windows_no_file_stays_open_and_no_folder_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_windows(monkeypatch)
    seen = put(tmp_path / "a", b"one")
    edit(tmp_path / "a")
    with watched() as calls:
        replace_file(tmp_path / "a", b"two", over=seen)
        assert open_held(tmp_path / "a").read() == b"two"
    assert (calls.count("fsync"), calls.count("open"), calls.count("close")) == (1, 3, 3)
    assert calls.index("close") < calls.index("replace")


@pytest.mark.requirement("W1")
@pytest.mark.parametrize("platform", ["win32", "darwin"])
@pytest.mark.parametrize("has_links", [True, False])
def test_a_system_that_cannot_exchange_files_replaces_the_expected_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, *, has_links: bool
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    expected = put(tmp_path / "a", b"one")
    put(tmp_path / "b", b"two")
    monkeypatch.setattr(sys, "platform", platform)
    if not has_links:
        monkeypatch.setattr(os, "link", refuse)
    assert rename_over(str(tmp_path / "b"), str(tmp_path / "a"), expected)
    assert content_of(tmp_path) == {"a": b"two"}


@pytest.mark.requirement("D3")
def test_only_temporary_files_of_that_file_are_swept(tmp_path: Path) -> None:
    stale = tmp_path / f".a.{'0f' * 8}.tmp"
    kept = {"a", "b", ".a.tmp", f".b.{'0f' * 8}.tmp", f".a.{'0f' * 8}.tmp.bak", f".xa.{'0f' * 8}.tmp"}
    for name in (*kept, stale.name):
        (tmp_path / name).touch()
    (tmp_path / f".a.{'11' * 8}.tmp").mkdir()
    assert not sweep_temporary(tmp_path / "a")
    (tmp_path / f".a.{'11' * 8}.tmp").rmdir()
    assert sweep_temporary(tmp_path / "a")
    assert set(os.listdir(tmp_path)) == kept
    assert not sweep_temporary(tmp_path / "gone" / "a")
