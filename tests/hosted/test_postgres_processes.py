"""Processes that share a list in PostgreSQL: none holds it longer than it lives, and none misses what others do."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from task_core.store import Store
from tests.core.engines import Card
from tests.core.ledger import LEDGER, begin, check, count_up, open_one
from tests.core.notes import DEADLINE, in_background
from tests.core.worker import running
from tests.hosted.postgres_worker import count_many, hold_once
from tests.postgres import needs_postgres, store_pool, store_url

pytestmark = [needs_postgres, pytest.mark.requirement("EN-12", "EN-15")]


def received(pipe: Connection) -> object:
    assert pipe.poll(DEADLINE), "the other process says nothing"
    return pipe.recv()


def test_a_process_that_is_frozen_in_a_transaction_holds_no_list_and_doubles_nothing_when_it_goes_on(
    tmp_path: Path,
) -> None:
    disturbed, alone = (open_one(store_pool(), tmp_path / name) for name in ("disturbed", "alone"))
    with ExitStack() as stack:
        pipes: list[Connection] = []
        pids: list[int] = []
        for store, name in ((disturbed, "disturbed"), (alone, "alone")):
            begin(store)
            process, pipe = stack.enter_context(running(hold_once, tmp_path / name))
            pipe.send(store_url())
            assert received(pipe) == "held"
            assert process.pid is not None
            os.kill(process.pid, signal.SIGSTOP)
            pids.append(process.pid)
            pipes.append(pipe)
        count_up(disturbed, "a")
        with alone.transaction():
            pass
        for pid, pipe in zip(pids, pipes, strict=True):
            os.kill(pid, signal.SIGCONT)
            pipe.send("go on")
        outcomes = [received(pipe) for pipe in pipes]
    assert "others have changed the list since" in str(outcomes[0])
    assert outcomes[1] == "saved"
    check(disturbed, {"a"})
    check(alone, {"held"})


@pytest.mark.sample
@pytest.mark.requirement("EN-12")
@pytest.mark.requirement("C3")
def test_a_process_that_is_killed_in_a_transaction_leaves_nothing_and_holds_nobody_up(tmp_path: Path) -> None:
    store = open_one(store_pool(), tmp_path, lock_seconds=2)
    begin(store)
    with running(hold_once, tmp_path) as (process, pipe):
        pipe.send(store_url())
        assert received(pipe) == "held"
        process.kill()
        count_up(store, "a")
    check(store, {"a"})


@dataclass
class Follower:
    """Reads the news of a list from one store after the other."""

    token: str
    names: list[str] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    """of the ledger, whenever it came"""

    def follow(self, stores: Sequence[Store[Card]], number: int) -> None:
        """Read on until this many cards have come."""
        for store in cycle(stores):
            news = store.changes(self.token, 3)
            assert not news.reset
            self.token = news.token
            for name, card in news.records:
                assert card is not None
                if name == LEDGER:
                    self.ranks.append(card.rank or 0)
                else:
                    self.names.append(name)
            if len(self.names) >= number:
                return


@pytest.mark.requirement("EN-20")
def test_news_skip_and_double_nothing_under_eight_writers_whichever_store_is_asked(tmp_path: Path) -> None:
    times = 6
    stores = [open_one(store_pool(), tmp_path) for _ in range(3)]
    follower = Follower(stores[0].changes(None, 1).token)
    begin(stores[0])
    made: set[str] = set()

    def write(store: Store[Card], name: str) -> None:
        for number in range(times):
            count_up(store, f"{name}-{number}", made)

    with ExitStack() as stack:
        pipes = [stack.enter_context(running(count_many, tmp_path))[1] for _ in range(2)]
        for number, pipe in enumerate(pipes):
            pipe.send(store_url())
            pipe.send((f"process {number}", 2, times))
        start = stack.enter_context(in_background())
        start(*(lambda number=number: write(stores[number % 2], f"thread {number}") for number in range(4)))
        start(lambda: follower.follow(stores, 8 * times))
        for pipe in pipes:
            found = received(pipe)
            assert isinstance(found, set)
            made |= found
    assert sorted(follower.names) == sorted(made)
    assert len(made) == 8 * times
    assert follower.ranks == sorted(follower.ranks)
    check(stores[2], made)
