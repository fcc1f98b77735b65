"""The database in one file: durable, checkpointed under the lock, and left alone where it is not ours (EN-8)."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from task_core.errors import (
    StoreDamaged,
    StoreLocked,
    StoreNewer,
    StoreUnreadable,
    StoreWriteFailed,
    TaskNotFound,
)
from task_core.files import ProcessLock, Wait
from task_core.store import Kind, Selection, Store, database, sqlite
from task_core.store.migrations import MIGRATIONS
from task_core.store.sqlite import APPLICATION_ID, LOG_BYTES, SqliteDatabase
from tests.core.engines import CARDS, TREES, Card
from tests.core.notes import in_background, nobody, open_folder, wait_until

pytestmark = pytest.mark.requirement("EN-8")

LARGE = Card(id="large", text="x" * LOG_BYTES)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cards.db"


def open_store(path: Path, kind: Kind[Card] = CARDS, tenant: str = "", lock_seconds: float = 20) -> Store[Card]:
    return Store(SqliteDatabase(path), kind, tenant=tenant, lock_seconds=lock_seconds)


def add(store: Store[Card], *names: str) -> None:
    with store.transaction() as cards:
        for name in names:
            cards.add(Card(id=name))


def ids(store: Store[Card]) -> list[str]:
    with store.read() as cards:
        return [card.id for card in cards.select(Selection())]


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def ask(path: Path, question: str) -> object:
    """Ask the file with a connection of another program."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(question).fetchone()[0]


# The file


def test_the_file_says_whose_it_is_and_is_private(path: Path) -> None:
    store = open_store(path)
    assert ids(store) == []
    assert os.listdir(path.parent) == []
    add(store, "a")
    assert {entry.name: entry.stat().st_mode & 0o777 for entry in path.parent.iterdir()} == dict.fromkeys(
        ["cards.db", "cards.db-wal", "cards.db-shm", "cards.db.lock"], 0o600
    )
    store.close()
    assert sorted(os.listdir(path.parent)) == ["cards.db", "cards.db.lock"]
    assert [ask(path, f"PRAGMA {name}") for name in ("application_id", "user_version", "journal_mode")] == [
        *(APPLICATION_ID, len(MIGRATIONS), "wal")
    ]
    assert ask(path, "PRAGMA integrity_check") == "ok"


@pytest.mark.requirement("D1")
@pytest.mark.parametrize(("fsync", "synchronous"), [(True, 2), (False, 0)], ids=["durable", "fast"])
def test_a_commit_is_synced_before_it_is_answered_unless_that_is_not_wanted(
    path: Path, *, fsync: bool, synchronous: int
) -> None:
    opened = SqliteDatabase(path, fsync=fsync)
    for _ in range(2):
        session = opened.begin(Wait(20))
        asked = ("synchronous", "journal_mode", "wal_autocheckpoint", "trusted_schema")
        found = [session.run(f"PRAGMA {name}", {})[0][0] for name in asked]
        opened.end()
        assert found == [synchronous, "wal", 0, 0]
    opened.close()


def test_lists_of_several_tenants_and_kinds_share_a_file_and_nothing_else(path: Path) -> None:
    places = [(kind, tenant) for kind in (CARDS, TREES) for tenant in ("", "ann", "bob")]
    stores = {(kind.name, tenant): open_store(path, kind, tenant) for kind, tenant in places}
    for (kind, tenant), store in stores.items():
        with store.transaction() as cards:
            cards.add(Card(id="same", topic="t", tags=("p",), text=f"{kind} {tenant}"))
            cards.add(Card(id=f"only {kind} {tenant}"))
            cards.set_fields({"owner": tenant})
    tokens = {place: store.changes(None, 1).token for place, store in stores.items()}
    with stores["cards", "ann"].transaction() as cards:
        cards.replace(Card(id="same", state="done"))
        cards.remove("only cards ann")
    for (kind, tenant), store in stores.items():
        is_changed = (kind, tenant) == ("cards", "ann")
        with store.read() as cards:
            assert (len(cards), cards.count(Selection(states=("done",)))) == ((1, 1) if is_changed else (2, 0))
            assert cards.ids("only", 9) == ([] if is_changed else [f"only {kind} {tenant}"])
            assert len(cards.select(Selection(tags=("p",)))) == (not is_changed)
            assert cards.fields == {"owner": tenant}
            with pytest.raises(TaskNotFound):
                cards.get("only cards carl")
        assert bool(store.changes(tokens[kind, tenant], 9).records) == is_changed
        assert all(store.changes(token, 9).reset for other, token in tokens.items() if other != (kind, tenant))


def test_an_older_schema_is_brought_up_to_date_once_and_a_newer_one_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = open_store(path)
    add(older, "a")
    older.close()

    def with_migration(statement: str) -> Store[Card]:
        for module in (database, sqlite):
            monkeypatch.setattr(module, "MIGRATIONS", (*MIGRATIONS, (statement,)))
        return open_store(path)

    with pytest.raises(StoreWriteFailed, match="nonsense"):
        add(with_migration("CREATE nonsense"), "b")
    assert ask(path, "PRAGMA user_version") == len(MIGRATIONS)
    newer = with_migration("CREATE TABLE more (tenant TEXT, kind TEXT, PRIMARY KEY (tenant, kind))")
    assert ids(newer) == ["a"]
    add(newer, "b")
    add(newer, "c")
    newer.close()
    assert ask(path, "PRAGMA user_version") == len(MIGRATIONS) + 1
    monkeypatch.undo()
    before = path.read_bytes()
    for refused in (lambda: add(open_store(path), "d"), lambda: ids(open_store(path))):
        with pytest.raises(StoreNewer) as caught:
            refused()
        supported = len(MIGRATIONS)
        assert caught.value.details == {"file": "cards.db", "found": supported + 1, "supported": supported}
        assert path.read_bytes() == before


@pytest.mark.requirement("ST-4")
def test_a_list_in_a_newer_format_is_refused_and_its_neighbour_is_not(path: Path) -> None:
    add(open_store(path, Kind("cards", Card, version=7)), "a")
    for refused in (lambda: add(open_store(path), "d"), lambda: ids(open_store(path))):
        with pytest.raises(StoreNewer):
            refused()
    add(open_store(path, tenant="other"), "b")


# The log


def test_once_the_log_is_large_a_thread_puts_it_back_outside_every_call(path: Path) -> None:
    store = open_store(path)
    with store.transaction() as cards:
        cards.add(LARGE)
    wait_until(lambda: log_of(path).stat().st_size == 0)
    assert path.stat().st_size > LOG_BYTES
    add(store, "small")
    assert 0 < log_of(path).stat().st_size < LOG_BYTES
    assert ids(store) == ["large", "small"]
    store.close()
    assert not log_of(path).exists()


def test_the_log_of_a_file_that_is_gone_is_left_alone(path: Path) -> None:
    opened = SqliteDatabase(path)
    add(Store(opened, CARDS), "a")
    path.rename(path.with_name("elsewhere.db"))
    opened.tidy(Wait(0))
    opened.close()
    assert not path.exists()


def test_the_log_is_put_back_under_the_lock_only(path: Path) -> None:
    opened = SqliteDatabase(path)
    store = Store(opened, CARDS)
    add(store, "a")
    size = log_of(path).stat().st_size
    lock = ProcessLock.beside(path)
    lock.acquire(Wait(0))
    with pytest.raises(StoreLocked):
        opened.tidy(Wait(0.02))
    assert log_of(path).stat().st_size == size > 0
    lock.release()
    opened.tidy(Wait(0.02))
    assert log_of(path).stat().st_size == 0
    assert ids(store) == ["a"]


def test_while_the_log_is_put_back_transactions_wait_and_readers_do_not(path: Path) -> None:
    store, lock = open_store(path), ProcessLock.beside(path)
    with in_background() as start:
        with store.transaction() as cards:
            cards.add(LARGE)
        lock.acquire(Wait(20))
        start(lambda: add(store, "next"))
        assert ids(store) == ["large"]
        lock.release()
    assert ids(store) == ["large", "next"]


def test_what_a_reader_still_needs_stays_in_the_log(path: Path) -> None:
    opened = SqliteDatabase(path)
    store = Store(opened, CARDS)
    add(store, "a")
    with store.read() as seen:
        assert len(seen) == 1
        with store.transaction() as cards:
            cards.add(LARGE)
        wait_until(lambda: not opened.is_tidying_due())
        assert log_of(path).stat().st_size > LOG_BYTES
        assert [card.id for card in seen.select(Selection())] == ["a"]
    for state in ("doing", "done", "todo"):
        with store.transaction() as cards:
            cards.replace(LARGE.changed(state=state))
        wait_until(lambda: not opened.is_tidying_due())
    assert log_of(path).stat().st_size < 3 * LOG_BYTES
    assert ids(store) == ["a", "large"]


def test_where_no_thread_can_be_started_the_log_waits(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: object) -> None:
        raise RuntimeError("can't start new thread")

    store = open_store(path)
    with monkeypatch.context() as patch:
        patch.setattr("threading.Thread.start", start)
        with store.transaction() as cards:
            cards.add(LARGE)
    assert log_of(path).stat().st_size > LOG_BYTES
    add(store, "next")
    wait_until(lambda: log_of(path).stat().st_size == 0)
    assert ids(store) == ["large", "next"]


# Another file in its place


def test_a_file_put_in_the_place_of_the_open_one_is_the_store_from_then_on(path: Path, tmp_path: Path) -> None:
    store, other = open_store(path), open_store(tmp_path / "other.db")
    add(store, "old")
    assert ids(store) == ["old"]
    add(other, "new")
    other.close()
    log_of(path).unlink()
    os.replace(tmp_path / "other.db", path)
    assert ids(store) == ["new"]
    add(store, "next")
    assert ids(open_store(path)) == ["new", "next"]


def test_a_file_that_is_gone_is_an_empty_store_and_made_again(path: Path) -> None:
    store = open_store(path)
    add(store, "old")
    assert ids(store) == ["old"]
    for name in (path, log_of(path), path.with_name("cards.db-shm")):
        name.unlink()
    assert ids(store) == []
    add(store, "new")
    assert ids(store) == ids(open_store(path)) == ["new"]
    path.unlink()
    store.close()
    assert not path.exists()


# What is not ours


def write(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def make_foreign(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)


def make_damaged(path: Path) -> None:
    """Write nonsense over the pages of a store, but not over its head."""
    store = open_store(path)
    add(store, *(f"card {number}" for number in range(500)))
    store.close()
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xa5" * (len(data) - 4096))


def make_short(path: Path) -> None:
    """Leave the first page of a store and half of the second."""
    store = open_store(path)
    add(store, *(f"card {number}" for number in range(500)))
    store.close()
    os.truncate(path, 6000)


@pytest.mark.requirement("ST-3")
@pytest.mark.parametrize(
    ("make", "found"),
    [
        (write(b'{"version": 1, "tasks": []}\n' * 99), "not a database"),
        (write(b"tasks"), "not a database"),
        (write(b"SQLite format 3\0" + bytes(4080)), "not a database|malformed|another program"),
        (lambda path: make_foreign(path, "CREATE TABLE songs (name TEXT)"), "another program"),
        (lambda path: make_foreign(path, "PRAGMA application_id = 7"), "another program"),
        (make_damaged, "malformed"),
        (make_short, "malformed"),
    ],
    ids=["json", "text", "head only", "other tables", "other owner", "damaged", "short"],
)
def test_anything_but_a_whole_database_of_ours_is_damaged_and_left_as_it_is(
    path: Path, make: Callable[[Path], object], found: str
) -> None:
    make(path)
    before = path.read_bytes()
    for refused in (lambda: ids(open_store(path)), lambda: add(open_store(path), "a")):
        with pytest.raises(StoreDamaged, match=found) as caught:
            refused()
        assert caught.value.details["file"] == "cards.db"
        assert "line" not in caught.value.details
        assert path.read_bytes() == before


def test_a_damage_deep_in_the_file_is_found_by_its_check(path: Path) -> None:
    opened = SqliteDatabase(path)
    store = Store(opened, CARDS)
    add(store, *(f"card {number}" for number in range(2_000)))
    assert opened.check() == []
    store.close()
    data = bytearray(path.read_bytes())
    data[-4096:] = b"\xa5" * 4096
    path.write_bytes(data)
    with pytest.raises(StoreDamaged):
        SqliteDatabase(path).check()


@pytest.mark.parametrize("make", [Path.touch, lambda path: make_foreign(path, "VACUUM")], ids=["empty", "no tables"])
def test_an_empty_database_is_an_empty_store(path: Path, make: Callable[[Path], object]) -> None:
    make(path)
    assert ids(open_store(path)) == []
    add(open_store(path), "a")
    assert ids(open_store(path)) == ["a"]


@pytest.mark.requirement("ST-4")
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_not_a_file_is_neither_read_nor_written(path: Path, make: Callable[[Path], object]) -> None:
    make(path)
    with pytest.raises(StoreUnreadable, match="not a regular file"):
        ids(open_store(path))
    with pytest.raises(StoreUnreadable, match="not a regular file"):
        add(open_store(path), "a")
    open_store(path).close()


def test_a_folder_that_is_not_there_holds_an_empty_store_that_cannot_be_written(tmp_path: Path) -> None:
    store = open_store(tmp_path / "none" / "cards.db")
    assert ids(store) == []
    with pytest.raises(StoreWriteFailed, match="folder does not exist"):
        add(store, "a")
    assert os.listdir(tmp_path) == []


@pytest.mark.requirement("ST-4")
@pytest.mark.parametrize("has_log", [False, True], ids=["closed", "in use"])
def test_in_a_folder_that_cannot_be_written_a_database_is_read_and_not_written(*, has_log: bool) -> None:
    with open_folder() as folder:
        path = folder / "cards.db"
        store = open_store(path)
        add(store, "a")
        if not has_log:
            store.close()
        for entry in folder.iterdir():
            entry.chmod(0o444)
        folder.chmod(0o555)
        before = path.read_bytes(), sorted(os.listdir(folder))
        with nobody():
            reader = open_store(path)
            assert ids(reader) == ids(reader) == ["a"]
            with pytest.raises(StoreWriteFailed):
                add(reader, "b")
        assert (path.read_bytes(), sorted(os.listdir(folder))) == before
        folder.chmod(0o777)
        store.close()


@pytest.mark.requirement("D4")
def test_a_database_that_cannot_be_made_is_a_failed_write() -> None:
    with open_folder() as folder:
        lock = folder / "cards.db.lock"
        lock.touch()
        lock.chmod(0o666)
        folder.chmod(0o555)
        with nobody(), pytest.raises(StoreWriteFailed, match="Permission denied"):
            add(open_store(folder / "cards.db"), "a")
        assert os.listdir(folder) == ["cards.db.lock"]
        folder.chmod(0o777)


@pytest.mark.requirement("ST-4")
def test_a_log_that_cannot_be_read_along_makes_a_database_unreadable() -> None:
    with open_folder() as folder:
        path = folder / "cards.db"
        store = open_store(path)
        add(store, "a")
        copy = folder / "copy"
        copy.mkdir()
        for name in (path, log_of(path)):
            shutil.copy(name, copy)
        copy.chmod(0o555)
        for name in copy.iterdir():
            name.chmod(0o444)
        with nobody(), pytest.raises(StoreUnreadable):
            ids(open_store(copy / "cards.db"))
        copy.chmod(0o755)
        assert ids(open_store(copy / "cards.db")) == ["a"]
        store.close()


@pytest.mark.requirement("ST-4")
def test_a_database_that_may_not_be_read_is_not_taken_for_an_empty_one() -> None:
    with open_folder() as folder:
        path = folder / "cards.db"
        store = open_store(path)
        add(store, "a")
        store.close()
        path.chmod(0)
        with nobody():
            with pytest.raises(StoreUnreadable):
                ids(open_store(path))
            with pytest.raises(StoreWriteFailed):
                add(open_store(path), "b")
        path.chmod(0o600)
        assert ids(open_store(path)) == ["a"]


def test_a_connection_that_broke_is_not_used_again(path: Path) -> None:
    opened = SqliteDatabase(path)
    store = Store(opened, CARDS)
    add(store, "a")
    opened.begin(Wait(20)).close()
    opened.end()
    with opened.reading() as session:
        session.close()
    add(store, "b")
    assert ids(store) == ["a", "b"]


@pytest.mark.requirement("C2")
def test_another_program_that_writes_is_waited_for_as_long_as_the_lock_is(path: Path) -> None:
    store = open_store(path, lock_seconds=0.05)
    add(store, "a")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked) as caught:
            add(store, "b")
        waited = caught.value.details["waited"]
        assert isinstance(waited, float)
        assert 0.04 <= waited < 5
        assert ids(store) == ["a"]
        other.execute("ROLLBACK")
    add(store, "b")
    assert ids(store) == ["a", "b"]


@pytest.mark.requirement("ERR-2", "D4")
def test_a_commit_that_the_disk_has_no_room_for_changes_nothing(path: Path) -> None:
    opened = SqliteDatabase(path)
    store = Store(opened, CARDS)
    add(store, "a")
    opened.begin(Wait(20)).run("PRAGMA max_page_count = 60", {})
    opened.end()
    with pytest.raises(StoreWriteFailed, match="full"), store.transaction() as cards:
        cards.add(LARGE)
    assert ids(store) == ["a"]
    add(store, "b")
    assert ids(open_store(path)) == ["a", "b"]


def test_a_copy_of_the_folder_is_the_store(path: Path, tmp_path: Path) -> None:
    add(open_store(path), "a")
    shutil.copytree(path.parent, tmp_path / "copy", ignore=shutil.ignore_patterns("*-shm", "*.lock", "copy"))
    assert ids(open_store(tmp_path / "copy" / "cards.db")) == ["a"]
