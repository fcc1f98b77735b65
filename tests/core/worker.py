"""What the processes do that the tests of the stores start, stop and kill; each opens the store for itself."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from tests.core.faults import Kill, watched
from tests.core.notes import DEADLINE, Note, add, open_store

__all__ = ["add_at_call", "add_for_ever", "add_many", "hold", "running"]

_CONTEXT: Final = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["pytest", __name__])

Work = Callable[[Connection, Path], None]


def add_many(pipe: Connection, path: Path) -> None:
    """Add 100 notes, each in a unit of work of its own and named by how many there were, and send their ids."""
    store = open_store(path)
    names = []
    for _ in range(100):
        with store.transaction() as notes:
            name = f"note-{len(notes)}"
            notes.add(Note(id=name))
        names.append(name)
        assert name in store.read()
    pipe.send(names)


def add_for_ever(pipe: Connection, path: Path) -> None:
    """Add note after note and send the id of each once it is stored."""
    store = open_store(path)
    number = len(store.read())
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
