"""What the processes do that the tests of the stores start, stop and kill; each opens the store for itself."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from task_core.store import Selection
from tests.core.faults import Kill, watched
from tests.core.notes import DEADLINE, Note, add, ids, in_background, open_store

__all__ = ["add_at_call", "add_for_ever", "add_many_at_once", "hold", "read_for_ever", "running"]

_CONTEXT: Final = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["pytest", __name__])

Work = Callable[[Connection, Path], None]


def add_many_at_once(pipe: Connection, path: Path) -> None:
    """Add notes in 32 threads, each in units of work of its own and named by how many there were; send their ids.

    How many each thread adds, and how long they are, comes in the pipe.
    """
    count, length = pipe.recv()
    store = open_store(path)
    store.batch_seconds = 0.1  # as in a server
    names: list[str] = []

    def work() -> None:
        for _ in range(count):
            with store.transaction() as notes:
                name = f"note-{len(notes)}"
                notes.add(Note(id=name, text="x" * length))
            names.append(name)
            with store.read() as notes:
                assert name in notes

    with in_background() as start:
        start(*[work] * 32)
    store.close()
    pipe.send(names)


def read_for_ever(pipe: Connection, path: Path) -> None:
    """Read whole snapshots until something comes in the pipe, and send how many notes each had."""
    sizes: list[int] = []
    while not pipe.poll(0):
        store = open_store(path)
        for _ in range(5):
            with store.read() as notes:
                found = {node.id for node in notes.nodes()}
                assert found == {f"note-{number}" for number in range(len(notes))}
                assert len(notes.select(Selection())) == len(found)
            sizes.append(len(found))
        store.close()
    pipe.send(sizes)


def add_for_ever(pipe: Connection, path: Path) -> None:
    """Add note after note and send the id of each once it is stored."""
    store = open_store(path)
    number = len(ids(store))
    while True:
        number += 1
        add(store, f"note-{number}")
        pipe.send(f"note-{number}")


def add_at_call(pipe: Connection, path: Path) -> None:
    """Add a note that is larger than a page and be killed at the call to the system whose number comes in the pipe."""
    store = open_store(path)
    with watched(Kill(pipe.recv())), store.transaction() as notes:
        notes.add(Note(id="new", text="x" * 10_000))
    pipe.send("new")


def hold(pipe: Connection, path: Path) -> None:
    """Say when the store is held, and add a note to it once something comes in the pipe."""
    with open_store(path).transaction() as notes:
        pipe.send("held")
        pipe.recv()
        notes.add(Note(id="held"))
    pipe.send("done")


@contextmanager
def running(work: Work, path: Path) -> Iterator[tuple[BaseProcess, Connection]]:
    """Run ``work`` in a process of its own and yield it with the other end of its pipe; it is gone after the block."""
    ours, theirs = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=work, args=(theirs, path), daemon=True)
    process.start()
    theirs.close()
    try:
        yield process, ours
    finally:
        process.kill()
        process.join(DEADLINE)
        process.close()
        ours.close()
