"""Real processes on one store: none loses what was acknowledged, whoever is stopped or killed."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import ExitStack, closing
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

import pytest

from task_core.errors import StoreLocked
from tests.core.notes import DEADLINE, add, ids, litter, open_store, stored_ids
from tests.core.worker import add_at_call, add_for_ever, add_many_at_once, hold, read_for_ever, running


@pytest.fixture(params=["notes.json", "notes.db"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


def is_whole(path: Path) -> bool:
    """Return whether SQLite, asked without any code of ours, finds nothing wrong in a database."""
    if path.suffix == ".json":
        return True
    with closing(sqlite3.connect(path)) as database:
        return database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def received(pipe: Connection) -> str:
    assert pipe.poll(DEADLINE), "the other process says nothing"
    name = pipe.recv()
    assert isinstance(name, str)
    return name


def rest_of(pipe: Connection) -> list[str]:
    """Return what a process that is gone has sent."""
    names = []
    try:
        while pipe.poll(0):
            names.append(received(pipe))
    except (EOFError, ConnectionError):
        pass
    return names


@pytest.mark.requirement("ST-2", "C1", "C2", "C4", "EN-5", "EN-8", "EN-9")
def test_four_processes_with_32_calls_each_lose_no_record_while_another_only_reads(path: Path) -> None:
    # A database writes so much that its log is put back in between, which is when old versions of SQLite can fail.
    count, length = (2, 100) if path.suffix == ".json" else (4, 20_000)
    with ExitStack() as stack:
        _, reader = stack.enter_context(running(read_for_ever, path))
        pipes = [stack.enter_context(running(add_many_at_once, path))[1] for _ in range(4)]
        for pipe in pipes:
            pipe.send((count, length))
        names = [name for pipe in pipes if pipe.poll(DEADLINE) for name in pipe.recv()]
        reader.send("enough")
        assert reader.poll(DEADLINE)
        sizes = reader.recv()
    total = 4 * 32 * count
    assert len(names) == len(set(names)) == total
    assert stored_ids(path) == [f"note-{number}" for number in range(total)]
    assert sizes == sorted(sizes)
    assert is_whole(path)
    assert litter(path) == set()


@pytest.mark.requirement("D2", "D3", "C3")
def test_a_writer_killed_at_any_moment_loses_nothing_that_it_acknowledged(path: Path) -> None:
    random = Random(20261121)
    acknowledged: list[str] = []
    for _ in range(40):
        with running(add_for_ever, path) as (process, pipe):
            acknowledged += [received(pipe) for _ in range(random.randint(1, 6))]
            for _ in range(random.randrange(30_000)):
                pass
            process.kill()
            process.join(DEADLINE)
            acknowledged += rest_of(pipe)
        stored = stored_ids(path)
        assert len(stored) - len(acknowledged) in {0, 1}
        assert stored[: len(acknowledged)] == acknowledged
        acknowledged = stored
    store = open_store(path)
    add(store, "last")
    assert ids(store) == stored_ids(path) == [*acknowledged, "last"]
    assert litter(path) == set()


@pytest.mark.requirement("D2", "D3", "C3")
def test_a_writer_killed_at_any_call_to_the_system_leaves_its_record_whole_or_absent(path: Path) -> None:
    add(open_store(path), "old")
    was_new_there: list[bool] = []
    while True:
        path.unlink()
        add(open_store(path), "old")
        with running(add_at_call, path) as (process, pipe):
            pipe.send(len(was_new_there) + 1)
            process.join(DEADLINE)
            sent = rest_of(pipe)
        was_new_there.append("new" in stored_ids(path))
        assert stored_ids(path) == ["old", "new"][: 1 + was_new_there[-1]]
        started = time.monotonic()
        add(open_store(path), "next")
        assert time.monotonic() - started < 2
        assert stored_ids(path)[-1] == "next"
        assert litter(path) == set()
        if sent:
            break
    assert len(was_new_there) > (15 if path.suffix == ".json" else 5)  # SQLite makes its own calls
    assert was_new_there == sorted(was_new_there)


@pytest.mark.requirement("C2", "C3", "ERR-2")
def test_a_holder_that_is_stopped_lets_others_wait_only_so_long(path: Path) -> None:
    store = open_store(path, lock_seconds=0.1)
    add(store, "first")
    with running(hold, path) as (process, pipe):
        assert received(pipe) == "held"
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        pipe.send("go on")
        with pytest.raises(StoreLocked, match="locked"):
            add(store, "refused")
        assert ids(store) == ids(open_store(path)) == ["first"]
        os.kill(process.pid, signal.SIGCONT)
        assert received(pipe) == "done"
        add(store, "second")
    assert ids(store) == stored_ids(path) == ["first", "held", "second"]


@pytest.mark.requirement("C3")
def test_a_holder_that_is_killed_holds_nobody_up(path: Path) -> None:
    with running(hold, path) as (process, pipe):
        assert received(pipe) == "held"
        process.kill()
        started = time.monotonic()
        add(open_store(path), "next")
        assert time.monotonic() - started < 2
    assert stored_ids(path) == ["next"]


@pytest.mark.requirement("C3")
def test_the_age_of_a_lock_file_means_nothing(path: Path) -> None:
    lock = path.with_name(f"{path.name}.lock")
    with running(hold, path) as (_, pipe):
        assert received(pipe) == "held"
        os.utime(lock, (0, 0))
        with pytest.raises(StoreLocked):
            add(open_store(path, lock_seconds=0.05), "refused")
    add(open_store(path), "next")
    assert stored_ids(path) == ["next"]
