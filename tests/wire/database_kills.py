"""What must hold after a process that worked on SQLite was killed at any system call: all or nothing is there."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from hierarchy_mcp.arguments import CreateTask
from hierarchy_mcp.codec import CODEC
from hierarchy_mcp.models import HierarchyTask
from hierarchy_mcp.service import HierarchyService
from hierarchy_mcp.settings import HierarchySettings
from task_core.store import Store, open_store
from task_core.warning_list import WarningList
from tests.acts import files_in, lay_out
from tests.wire.kills import Begin, forked, traced, traced_calls, traced_kills

__all__ = ["DATABASE_ACTS", "check_database_kills", "check_unseen_commit"]

NAME: Final = "tasks.db"


class Database:
    """The service of hierarchy-mcp over a database in a folder, as a new process would build it."""

    def __init__(self, folder: Path) -> None:
        settings = HierarchySettings.model_validate({"task_store": f"sqlite:{folder / NAME}"})
        self._store: Store[HierarchyTask] = open_store(settings, CODEC, WarningList())
        self._service = HierarchyService(self._store, strict_roots=False, rng=Random(7))

    def create(self, name: str) -> None:
        """Create a task with two subtasks."""
        leaves = [{"name": leaf, "id": f"{name}.{leaf}"} for leaf in "ab"]
        self._service.create_task(CreateTask.model_validate({"name": name, "id": name, "tasks": leaves}))

    def create_and_close(self, name: str) -> None:
        """Create a task and end, which puts the log back into the database."""
        self.create(name)
        self.close()

    def names(self) -> list[str]:
        """Return the ids of all tasks."""
        with self._store.read() as tasks:
            assert len(tasks) == len(tasks.nodes())
            return sorted(node.id for node in tasks.nodes())

    def close(self) -> None:
        """Let go of the files."""
        self._store.close()


class DatabaseAct(NamedTuple):
    """An act on a database, and what is there before."""

    prepare: Callable[[Path], object]
    run: Callable[[Database, str], None]


def nothing(_: Path) -> None:
    """Leave no database."""


def usual(folder: Path) -> None:
    """Leave a database as a server leaves it that ends."""
    Database(folder).create_and_close("old")


def with_log(folder: Path) -> None:
    """Leave a database whose log was not put back, as a kill does."""
    database = Database(folder)
    database.create("old")
    files = files_in(folder)
    database.close()
    (folder / f"{NAME}-wal").write_bytes(files[f"{NAME}-wal"])
    (folder / NAME).write_bytes(files[NAME])


DATABASE_ACTS: Final = {
    "the first task": DatabaseAct(nothing, Database.create),
    "another task": DatabaseAct(usual, Database.create),
    "a task behind a log": DatabaseAct(with_log, Database.create),
    "a task and the end": DatabaseAct(usual, Database.create_and_close),
}


def check_database_kills(act: DatabaseAct, folder: Path) -> int:
    """Kill a process at every system call of an act that leaves something behind; return the number of kills."""
    act.prepare(folder)
    files = files_in(folder)
    before = _look(folder)
    after = sorted([*before, "new", "new.a", "new.b"])
    was_new, number = False, 0

    def begin() -> Callable[[], object]:
        database = Database(folder)
        return lambda: act.run(database, "new")

    for _ in traced_kills(begin, folder, files):
        number += 1
        found = _look(folder)
        assert found in ([after] if was_new else [before, after])
        was_new = found == after
        Database(folder).create_and_close("later")
        assert _look(folder) == sorted([*found, "later", "later.a", "later.b"])
        assert files_in(folder).keys() == {NAME, f"{NAME}.lock"}
    assert was_new
    return number


def check_unseen_commit(folder: Path) -> int:
    """Kill a process whose commit is in the log, but not yet known to a process that reads; return the number of kills.

    When that one has ended too, the commit is seen, unless there was another one meanwhile: then it is gone for good.
    """
    usual(folder)
    files = files_in(folder)
    last = traced_calls(_beginning(folder, "new"), folder).count("fdatasync")
    for others in (list[str](), ["later", "later.a", "later.b"]):
        lay_out(folder, files)
        with forked(_beginning(folder, "never"), _call) as (reader, _):
            status = traced(_beginning(folder, "new"), "-e", f"inject=fdatasync:signal=SIGKILL:when={last}")
            assert os.WIFSIGNALED(status)
            if others:
                with forked(_beginning(folder, others[0]), _call) as (process, go):
                    go()
                    assert os.waitpid(process, 0)[1] == 0
            os.kill(reader, signal.SIGKILL)
            os.waitpid(reader, 0)
        assert _look(folder) == sorted(["old", "old.a", "old.b", *(others or ["new", "new.a", "new.b"])])
    return 2


def _beginning(folder: Path, name: str) -> Begin:
    def begin() -> Callable[[], object]:
        database = Database(folder)
        assert "old" in database.names()
        return lambda: database.create(name)

    return begin


def _call(run: Callable[[], object]) -> None:
    run()


def _look(folder: Path) -> list[str]:
    """Return the ids that a new process finds, once SQLite finds nothing wrong."""
    database = Database(folder)
    names = database.names()
    database.close()
    if (folder / NAME).exists():
        with closing(sqlite3.connect(folder / NAME)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return names
