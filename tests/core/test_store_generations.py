"""Older documents: one is kept for each day of saves, and one is put back under the lock (ST-6, L3)."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_core import durable
from task_core.cli.commands import Commands
from task_core.document_file.generations import list_generations, restore
from task_core.errors import StoreLocked, StoreWriteFailed
from task_core.files import ProcessLock, identify
from task_core.models import utc_now
from task_core.store import ListCodec
from task_core.warning_list import WarningList
from tests.core.command_line import NotesSettings
from tests.core.faults import watched
from tests.core.notes import NOTES, add, ids, open_folder, open_store, stored_ids

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.json"


class Days:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


def generations(path: Path) -> dict[str, list[str]]:
    """Return the ids in each generation, by what is behind the name of the document."""
    return {copy.name.removeprefix(path.name): stored_ids(copy) for copy in list_generations(path)}


@contextmanager
def without_links(code: int = errno.EPERM) -> Iterator[None]:
    """Let the file system have no hard links."""

    def link(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "link", link)
        yield


@pytest.mark.requirement("ST-6")
def test_the_first_save_of_a_day_keeps_the_document_of_the_days_before_and_the_last_three_stay(path: Path) -> None:
    clock = Days()
    store = open_store(path, clock=clock)
    for name in "abcdef":
        add(store, name)
        add(store, f"{name}2")
        clock.now += DAY
    assert generations(path) == {
        ".bak": ["a", "a2", "b", "b2", "c", "c2", "d", "d2", "e", "e2"],
        ".bak.2": ["a", "a2", "b", "b2", "c", "c2", "d", "d2"],
        ".bak.3": ["a", "a2", "b", "b2", "c", "c2"],
    }


@pytest.mark.requirement("ST-6")
@pytest.mark.parametrize(
    ("moment", "is_kept"),
    [(datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC), False), (datetime(2026, 3, 2, tzinfo=UTC), True)],
)
def test_the_day_is_that_of_the_clock_in_utc_for_every_process(path: Path, moment: datetime, *, is_kept: bool) -> None:
    clock = Days()
    add(open_store(path, clock=clock), "a")
    add(open_store(path, clock=clock), "b")
    assert generations(path) == {".bak": ["a"]}
    clock.now = moment
    add(open_store(path, clock=clock), "c")
    assert generations(path) == ({".bak": ["a", "b"], ".bak.2": ["a"]} if is_kept else {".bak": ["a"]})


@pytest.mark.requirement("ST-6")
def test_a_generation_is_a_second_name_of_the_document_and_costs_no_copy(path: Path) -> None:
    store = open_store(path)
    add(store, "a")
    inode = path.stat().st_ino
    with watched() as calls:
        add(open_store(path), "b")
    assert path.with_name("notes.json.bak").stat().st_ino == inode
    assert (calls.count("write"), calls.count("fsync")) == (1, 2)
    assert path.stat().st_ino != inode


@pytest.mark.requirement("ST-6", "S4")
def test_where_there_are_no_hard_links_a_generation_is_a_private_copy(path: Path) -> None:
    add(open_store(path), "a")
    with without_links():
        add(open_store(path, clock=lambda: NOON), "b")
    copy = path.with_name("notes.json.bak")
    assert (stored_ids(copy), copy.stat().st_mtime) == (["a"], NOON.timestamp())
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


@pytest.mark.requirement("ST-6")
def test_a_save_that_fails_later_in_the_day_leaves_the_generation(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    add(open_store(path), "a")
    clock = Days()
    clock.now = utc_now() + DAY
    store = open_store(path, clock=clock)
    with monkeypatch.context() as patch:
        patch.setattr(durable, "rename_with", refuse)
        with pytest.raises(StoreWriteFailed):
            add(store, "b")
    assert (ids(store), stored_ids(path), generations(path)) == (["a"], ["a"], {".bak": ["a"]})
    add(store, "b")
    add(open_store(path, clock=clock), "c")
    assert (stored_ids(path), generations(path)) == (["a", "b", "c"], {".bak": ["a"]})


@pytest.mark.requirement("ST-6", "WARN-1")
def test_a_generation_that_cannot_be_kept_is_a_warning_and_costs_no_other_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Days()
    for name in "abcd":
        add(open_store(path, clock=clock), name)
        clock.now += DAY
    before = generations(path)
    warnings = WarningList()
    store = open_store(path, warnings, clock=clock)
    real = os.open

    def full(name: object, *args: int, **kwargs: int) -> int:
        if str(name).endswith(".bak"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(str(name), *args, **kwargs)

    with without_links(), monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        add(store, "e")
        add(store, "f")
        add(store, "g")
    assert warnings.take() == ["The notes.json from before today could not be kept (No space left on device [ENOSPC])."]
    assert generations(path) == {".bak.2": before[".bak"], ".bak.3": before[".bak.2"]}
    add(store, "h")
    assert generations(path)[".bak"] == [*"abcdefg"]
    clock.now += DAY
    with without_links(), monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        add(store, "i")
    assert len(warnings.take()) == 1


@pytest.mark.requirement("ST-6", "S4")
def test_what_is_planted_under_the_name_of_a_generation_is_moved_and_never_written_through(path: Path) -> None:
    add(open_store(path), "a")
    victim = path.with_name("victim")
    victim.write_bytes(b"mine")
    path.with_name("notes.json.bak").symlink_to("victim")
    os.utime(victim, (0, 0))
    add(open_store(path), "b")
    assert victim.read_bytes() == b"mine"
    assert os.readlink(path.with_name("notes.json.bak.2")) == "victim"
    assert stored_ids(path.with_name("notes.json.bak")) == ["a"]


@pytest.mark.requirement("L3", "ST-6")
def test_damaged_copies_and_replaced_documents_are_never_removed(path: Path) -> None:
    kept = [
        path.with_name(f"notes.json.{kind}-{number}") for kind in ("corrupt", "before-restore") for number in range(5)
    ]
    for copy in kept:
        copy.write_bytes(b"x")
        os.utime(copy, (0, 0))
    clock = Days()
    for name in "abcdef":
        add(open_store(path, clock=clock), name)
        clock.now += DAY
    assert {copy for copy in list_generations(path) if copy in kept} == {*kept}
    assert [copy.name for copy in list_generations(path)][:3] == [
        "notes.json.bak",
        "notes.json.bak.2",
        "notes.json.bak.3",
    ]


@pytest.mark.requirement("ST-5", "WARN-1", "WARN-2")
def test_a_missing_document_with_a_generation_beside_it_is_an_empty_store_with_a_warning_each_time(path: Path) -> None:
    warnings = WarningList()
    add(open_store(path), "a")
    store = open_store(path, warnings)
    add(store, "b")
    said = (
        "notes.json is missing, but notes.json.bak exists: to restore its tasks, the user can run the server's "
        "command 'restore'."
    )
    for name in "cdef":
        path.unlink()
        assert ids(store) == ids(store) == []
        assert warnings.take() == [said]
        add(store, name)
        if name < "e":  # read again, as after an edit
            path.touch()
            path.write_bytes(path.read_bytes())
        assert ids(store) == [name]
        assert warnings.take() == []


@pytest.mark.requirement("ST-6", "WARN-2")
def test_a_missing_document_costs_no_generation_when_a_new_one_is_saved_on_another_day(path: Path) -> None:
    days, warnings = Days(), WarningList()
    store = open_store(path, warnings, clock=days)
    for name in "abcd":
        add(store, name)
        days.now += DAY
    before = generations(path)
    path.unlink()
    add(store, "new")
    assert generations(path) == before
    assert [said for said in warnings.take() if "could not be kept" in said] == []


@pytest.mark.requirement("ST-6", "ST-2")
def test_a_generation_is_put_back_while_servers_run_and_what_it_replaces_is_kept(path: Path) -> None:
    store = open_store(path)
    add(store, "a")
    old = path.read_bytes()
    path.chmod(0o640)
    add(store, "b")
    replaced = path.read_bytes()
    kept = path.with_name("notes.json.before-restore-20260301T120000000000Z")
    assert restore(path, old, ProcessLock.beside(path), 1, NOON) == kept
    assert kept.read_bytes() == replaced
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (old, 0o640)
    assert ids(store) == ["a"]
    add(store, "c")
    assert stored_ids(path) == ["a", "c"]
    assert list_generations(path) == [kept]


@pytest.mark.requirement("ST-6")
def test_where_no_document_is_nothing_is_replaced(path: Path) -> None:
    add(open_store(path.with_name("other.json")), "a")
    assert restore(path, path.with_name("other.json").read_bytes(), ProcessLock.beside(path), 1, NOON) is None
    assert stored_ids(path) == ["a"]
    assert list_generations(path) == []


@pytest.mark.requirement("ST-6", "C1")
def test_nothing_is_put_back_while_a_server_writes(path: Path) -> None:
    with open_store(path).transaction(), pytest.raises(StoreLocked):
        restore(path, b"{}", ProcessLock.beside(path), 0.01, NOON)
    assert not path.exists()


@pytest.mark.requirement("ST-6", "D4")
def test_what_cannot_be_put_back_leaves_the_document(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    add(open_store(path), "a")
    before = identify(path)
    with monkeypatch.context() as patch:
        patch.setattr(durable, "rename_with", refuse)
        with pytest.raises(StoreWriteFailed, match="Read-only file system"):
            restore(path, b"{}", ProcessLock.beside(path), 1, NOON)
    assert identify(path) == before
    add(open_store(path), "b")


@pytest.mark.requirement("ST-6")
@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=12))
def test_whatever_the_days_of_saves_a_generation_is_the_document_before_the_first_save_of_a_day(
    steps: list[tuple[int, bool]],
) -> None:
    with open_folder() as folder:
        path = folder / "notes.json"
        clock = Days()
        store = open_store(path, clock=clock, fsync=False)
        expected: list[list[str]] = []
        document: list[str] = []
        looked_on = kept_on = None
        for number, (days, is_restart) in enumerate(steps):
            clock.now += days * DAY
            if is_restart:
                store, looked_on = open_store(path, clock=clock, fsync=False), None
            if document and clock.now not in {looked_on, kept_on}:
                expected = [document, *expected][:3]
                kept_on = clock.now
            looked_on = clock.now
            add(store, f"note-{number}")
            document = [*document, f"note-{number}"]
            assert stored_ids(path) == document
            assert [*generations(path).values()] == expected


def test_nothing_is_kept_where_there_is_no_folder(tmp_path: Path) -> None:
    assert list_generations(tmp_path / "gone" / "notes.json") == []


@pytest.mark.requirement("ST-6")
@pytest.mark.parametrize("seconds", [300_000_000_000, -300_000_000_000], ids=["after year 9999", "before year 1"])
def test_an_older_document_with_a_time_that_no_calendar_has_is_of_another_day(seconds: int) -> None:
    memory = "/dev/shm"  # noqa: S108 - shared memory keeps such times, and many disks do not
    with TemporaryDirectory(dir=memory if Path(memory).is_dir() else None) as folder:
        path = Path(folder) / "notes.json"
        newest = path.with_name("notes.json.bak")
        add(open_store(path), "a")
        newest.write_bytes(path.read_bytes())
        os.utime(newest, (seconds, seconds))
        commands = Commands(NotesSettings(task_store=f"json:{path}"), ListCodec(NOTES))
        commands.run("restore", None)
        add(open_store(path), "b")
        assert generations(path) == {".bak": ["a"], ".bak.2": ["a"]}
