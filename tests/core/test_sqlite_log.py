"""The log of a database: written back under the lock and outside every call, and then overwritten (EN-8)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from task_core.errors import StoreLocked
from task_core.files import ProcessLock, Wait
from task_core.store import Selection, Store
from task_core.store.sqlite import LOG_BYTES, SqliteDatabase
from tests.core.engines import CARDS, Card
from tests.core.notes import in_background, wait_until

pytestmark = pytest.mark.requirement("EN-8")

LARGE = Card(id="large", text="x" * LOG_BYTES)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cards.db"


def open_store(path: Path) -> Store[Card]:
    return Store(SqliteDatabase(path), CARDS, lock_seconds=20)


def add(store: Store[Card], name: str) -> None:
    with store.transaction() as cards:
        cards.add(Card(id=name))


def ids(store: Store[Card]) -> list[str]:
    with store.read() as cards:
        return [card.id for card in cards.select(Selection())]


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def ids_without_log(path: Path) -> list[str]:
    """Return the ids that are in the database itself."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        return [name for (name,) in connection.execute("SELECT id FROM records ORDER BY id")]


def test_once_the_log_is_large_a_thread_puts_it_back_outside_every_call_and_it_shrinks(path: Path) -> None:
    store = open_store(path)
    with store.transaction() as cards:
        cards.add(LARGE)
    wait_until(lambda: path.stat().st_size > LOG_BYTES)
    assert log_of(path).stat().st_size > LOG_BYTES
    add(store, "small")
    assert log_of(path).stat().st_size == LOG_BYTES
    assert ids_without_log(path) == ["large"]
    assert ids(store) == ["large", "small"]
    store.close()
    assert not log_of(path).exists()


def test_after_some_commits_a_thread_puts_the_log_back_and_the_next_ones_overwrite_it(path: Path) -> None:
    opened = SqliteDatabase(path)
    store = Store(opened, CARDS)
    names = [f"card-{number:03d}" for number in range(33)]
    for name in names[:-1]:
        add(store, name)
    wait_until(lambda: not opened.is_tidying_due())
    assert ids_without_log(path) == names[:-1]
    size = log_of(path).stat().st_size
    add(store, names[-1])
    assert log_of(path).stat().st_size == size > 0
    assert ids_without_log(path) == names[:-1]
    assert ids(store) == ids(open_store(path)) == names


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
    before, lock = path.read_bytes(), ProcessLock.beside(path)
    lock.acquire(Wait(0))
    with pytest.raises(StoreLocked):
        opened.tidy(Wait(0.02))
    assert path.read_bytes() == before
    lock.release()
    opened.tidy(Wait(0.02))
    assert ids_without_log(path) == ids(store) == ["a"]


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
        add(store, "b")
        assert not opened.is_tidying_due()  # not at each commit
        assert path.stat().st_size < LOG_BYTES < log_of(path).stat().st_size
        assert [card.id for card in seen.select(Selection())] == ["a"]
    opened.tidy(Wait(20))
    add(store, "c")
    assert log_of(path).stat().st_size == LOG_BYTES
    assert ids(store) == ["a", "b", "c", "large"]


def test_a_store_that_is_closed_leaves_no_log_to_others_that_have_it_open(path: Path) -> None:
    store, other = open_store(path), open_store(path)
    add(store, "a")
    add(other, "b")
    store.close()
    assert log_of(path).stat().st_size == 0
    assert ids(other) == ["a", "b"]


def test_where_no_thread_can_be_started_the_log_waits(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: object) -> None:
        raise RuntimeError("can't start new thread")

    store = open_store(path)
    with monkeypatch.context() as patch:
        patch.setattr("threading.Thread.start", start)
        with store.transaction() as cards:
            cards.add(LARGE)
    assert path.stat().st_size < LOG_BYTES
    add(store, "next")
    wait_until(lambda: path.stat().st_size > LOG_BYTES)
    assert ids(store) == ["large", "next"]
