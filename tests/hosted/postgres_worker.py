"""Work of processes that tests start, stop and kill, on a list in PostgreSQL; its address comes first in the pipe."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

from task_core.errors import TaskError
from task_core.store import Store
from tests.core.engines import Card
from tests.core.ledger import LEDGER, count_up, open_one
from tests.core.notes import in_background
from tests.postgres import new_pool

__all__ = ["count_many", "hold_once"]


def _open(pipe: Connection, tenant: Path) -> Store[Card]:
    return open_one(new_pool(pipe.recv()), tenant)


def hold_once(pipe: Connection, tenant: Path) -> None:
    """Say when the list is held, count up in it once something comes in the pipe, and send what became of that."""
    store = _open(pipe, tenant)
    try:
        with store.transaction() as cards:
            ledger = cards.get(LEDGER)
            pipe.send("held")
            pipe.recv()
            cards.add(Card(id="held", tags=("p",)))
            cards.replace(ledger.changed(rank=(ledger.rank or 0) + 1))
    except TaskError as error:
        pipe.send(error.message)
    else:
        pipe.send("saved")


def count_many(pipe: Connection, tenant: Path) -> None:
    """Count up in threads, as many and as often as comes in the pipe, and send the names of the cards."""
    store = _open(pipe, tenant)
    name, threads, times = pipe.recv()
    names: set[str] = set()

    def work(thread: int) -> None:
        for number in range(times):
            count_up(store, f"{name}-{thread}-{number}", names)

    with in_background() as start:
        start(*(lambda thread=thread: work(thread) for thread in range(threads)))
    store.close()
    pipe.send(names)
