"""A small record and the store of it that the tests of the stores share, and waiting without sleeping."""

from __future__ import annotations

import json
import linecache
import os
import sqlite3
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from task_core.models import Clock, Record, utc_now
from task_core.store import Kind, ListCodec, Store
from task_core.store.document import DocumentDatabase
from task_core.store.sqlite import SqliteDatabase
from task_core.warning_list import WarningList

__all__ = [
    "DEADLINE",
    "NOTES",
    "Note",
    "add",
    "call_by_read",
    "call_by_unit",
    "deleted_files",
    "ids",
    "in_background",
    "litter",
    "nobody",
    "open_folder",
    "open_store",
    "stored_ids",
    "wait_for_turn",
    "wait_until",
]

DEADLINE: Final = 120.0
"""Seconds after which a test that waits has failed; reached only then."""

_NOBODY: Final = 65534
"""User and group without rights."""


class Note(Record):
    """A record with one field."""

    text: str = ""


NOTES: Final = Kind("notes", Note)
"""What a store must know of notes."""


def open_store(
    path: Path,
    warnings: WarningList | None = None,
    *,
    codec: ListCodec[Note] | None = None,
    may_start_anew: bool = False,
    clock: Clock = utc_now,
    lock_seconds: float = 10 * DEADLINE,
    fsync: bool = True,
) -> Store[Note]:
    """Return a store of notes, as a process of its own would open it; a batch stays open on a slow machine too.

    It is SQLite where the name of the file ends with ``.db``, a list in PostgreSQL that belongs to the path where it
    ends with ``.pg``, else a JSON document.
    """
    if path.suffix == ".pg":
        return _patient(_open_list(path, clock, lock_seconds))
    database = (
        SqliteDatabase(path, fsync=fsync)
        if path.suffix == ".db"
        else DocumentDatabase(
            path,
            codec or ListCodec(NOTES),
            warnings or WarningList(),
            clock,
            may_start_anew=may_start_anew,
            fsync=fsync,
        )
    )
    return _patient(Store(database, NOTES, clock=clock, lock_seconds=lock_seconds))


def _open_list(path: Path, clock: Clock, lock_seconds: float) -> Store[Note]:
    from task_hosted.postgres import PostgresDatabase  # noqa: PLC0415 - it needs the driver
    from tests.postgres import name_tenant, store_pool  # noqa: PLC0415 - it imports this module

    tenant = name_tenant(path)
    database = PostgresDatabase(store_pool(), tenant, NOTES.name, lock_seconds=lock_seconds)
    return Store(database, NOTES, tenant=tenant, clock=clock, lock_seconds=lock_seconds)


def _patient(store: Store[Note]) -> Store[Note]:
    store.batch_seconds = 10 * DEADLINE
    return store


def call_by_read(store: Store[Note]) -> None:
    """Do nothing but read."""
    with store.read():
        pass


def call_by_unit(store: Store[Note]) -> None:
    """Add a note called ``new``."""
    with store.transaction() as notes:
        notes.add(Note(id="new"))


def add(store: Store[Note], *names: str) -> None:
    """Add a note for each name in one unit of work."""
    with store.transaction() as notes:
        for name in names:
            notes.add(Note(id=name))


def ids(store: Store[Note]) -> list[str]:
    """Return the ids that the store shows, in the order of the document."""
    with store.read() as notes:
        return [node.id for node in notes.nodes()]


def stored_ids(path: Path) -> list[str]:
    """Return the ids in the store, in order, read without any code of ours."""
    if ".json" in path.suffixes:  # an older document too
        return [item["id"] for item in json.loads(path.read_bytes())["tasks"]]
    query = "SELECT id FROM records WHERE removed IS NULL {} ORDER BY position"
    if path.suffix == ".pg":
        from tests.postgres import connect_as_owner, name_tenant  # noqa: PLC0415 - it imports this module

        with connect_as_owner() as connection:
            rows = connection.execute(query.format("AND tenant = %s"), [name_tenant(path)])
            return [name for (name,) in rows.fetchall()]
    with closing(sqlite3.connect(path)) as database:
        return [name for (name,) in database.execute(query.format(""))]


def litter(path: Path) -> set[str]:
    """Return the names in the folder of the store that are not the store, its lock, its log or its older documents."""
    ours = {path.name + suffix for suffix in ("", ".lock", "-wal", "-shm", ".bak", ".bak.2", ".bak.3")}
    return set(os.listdir(path.parent)) - ours


def wait_until(condition: Callable[[], object]) -> None:
    """Return once ``condition`` holds."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "what the test waits for never came"
        time.sleep(0.001)


def deleted_files(path: Path, process: int | str = "self") -> list[str]:
    """Return the files at ``path``, or in that folder, that the process holds open although they no longer exist."""
    targets = list[str]()
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            targets.append(os.readlink(link))
    return [target for target in targets if target.startswith(str(path)) and target.endswith(" (deleted)")]


@contextmanager
def in_background() -> Iterator[Callable[..., list[threading.Thread]]]:
    """Yield what starts a thread for each piece of work; at the end of the block all have ended, none with an error."""
    failures: list[BaseException] = []
    threads: list[threading.Thread] = []

    def run(task: Callable[[], object]) -> None:
        try:
            task()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            failures.append(error)

    def start(*work: Callable[[], object]) -> list[threading.Thread]:
        started = [threading.Thread(target=run, args=(task,), daemon=True) for task in work]
        threads.extend(started)
        for thread in started:
            thread.start()
        return started

    try:
        yield start
    finally:
        for thread in threads:
            thread.join(DEADLINE)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    assert failures == []


def wait_for_turn(*threads: threading.Thread, line: str = "self._turn.acquire(timeout") -> None:
    """Return once every thread waits at a ``line`` of code, which is where one waits for its turn at a store."""

    def is_waiting(thread: threading.Thread) -> bool:
        frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - nothing public shows where a thread waits
        steps = traceback.walk_stack(frame) if frame else ()
        return any(line in linecache.getline(step.f_code.co_filename, at) for step, at in steps)

    wait_until(lambda: all(map(is_waiting, threads)))


@contextmanager
def nobody() -> Iterator[None]:
    """Run the block with the rights of a user who has none, where the tests run as root."""
    if os.geteuid():
        yield
        return
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(_NOBODY)
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


@contextmanager
def open_folder() -> Iterator[Path]:
    """Yield an empty folder that every user reaches and may change; it is gone after the block."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        folder.chmod(0o777)
        yield folder
