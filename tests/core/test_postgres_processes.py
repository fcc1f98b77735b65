"""Processes that share a list in PostgreSQL: none holds it longer than it lives, and none misses what others do."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.core.ledger import begin, check, count_up, open_one
from tests.core.notes import DEADLINE
from tests.core.postgres_worker import hold_once
from tests.core.worker import running
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
