"""Calls have places in threads, and keep them for as long as their threads work (TOOL-7, P3)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest

from task_core.errors import InternalError
from task_core.server.workers import Place, Workers
from tests.core.notes import DEADLINE

pytestmark = pytest.mark.requirement("P3", "TOOL-7")


async def until(condition: Callable[[], object]) -> None:
    with anyio.fail_after(DEADLINE):
        while not condition():
            await anyio.lowlevel.checkpoint()


async def let_others_run() -> None:
    for _ in range(1_000):
        await anyio.lowlevel.checkpoint()


async def test_a_cancelled_call_keeps_its_place_until_its_thread_is_done() -> None:
    workers, may_end = Workers(), threading.Event()
    begun = list[bool]()

    def work() -> None:
        begun.append(may_end.is_set())
        may_end.wait(DEADLINE)

    async with anyio.create_task_group() as cancelled:
        for _ in range(100):
            cancelled.start_soon(workers.run, "Waiting", work)
        await until(lambda: len(begun) == 40)
        cancelled.cancel_scope.cancel()
    async with anyio.create_task_group() as later:
        later.start_soon(workers.run, "Waiting", work)
        await let_others_run()
        may_end.set()
    assert begun == [False] * 40 + [True]


async def test_all_places_are_free_after_calls_that_were_done_that_failed_and_that_were_cancelled() -> None:
    workers, together = Workers(), threading.Barrier(40)
    for _ in range(50):
        with pytest.raises(InternalError):
            await workers.run("Failing", lambda: 1 // 0)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await workers.run("Nothing", lambda: None)
    async with anyio.create_task_group() as tasks:
        for _ in range(40):
            tasks.start_soon(workers.run, "Meeting", lambda: together.wait(DEADLINE))
    assert not together.broken


async def test_work_that_nobody_waits_for_any_more_is_not_begun() -> None:
    limiter, done = anyio.CapacityLimiter(1), list[None]()
    place = Place(limiter)
    await place.take()
    place.leave()
    assert isinstance(place.work("Working", lambda: done.append(None)), InternalError)
    await until(lambda: not limiter.borrowed_tokens)
    assert done == []


def test_work_may_outlast_the_event_loop() -> None:
    async def begin() -> Place:
        place = Place(anyio.CapacityLimiter(1))
        await place.take()
        return place

    assert asyncio.run(begin()).work("Working", lambda: "done") == "done"
    place = asyncio.run(begin())
    place.leave()
