"""Calls are carried out in so many threads and no more, which those that were cancelled keep as well (TOOL-7, P3)."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import anyio
import pytest

from task_core.errors import InternalError, StoreUnreadable
from task_core.server.faults import Workers
from tests.core.listening import let_others_run, until
from tests.core.notes import DEADLINE

pytestmark = pytest.mark.requirement("P3", "TOOL-7")


async def test_a_cancelled_call_keeps_its_thread_until_its_work_is_done() -> None:
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


async def test_all_threads_are_free_after_calls_that_were_done_that_failed_and_that_were_cancelled() -> None:
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


async def test_work_that_nobody_waits_for_anymore_is_not_started() -> None:
    workers, may_end, done = Workers(), threading.Event(), list[None]()
    async with anyio.create_task_group() as busy:
        for _ in range(40):
            busy.start_soon(workers.run, "Waiting", lambda: may_end.wait(DEADLINE))
        async with anyio.create_task_group() as cancelled:
            cancelled.start_soon(workers.run, "Working", lambda: done.append(None))
            await let_others_run()
            cancelled.cancel_scope.cancel()
        may_end.set()
    await workers.run("Nothing", lambda: None)
    assert done == []


def test_work_may_outlast_the_event_loop() -> None:
    workers, begun, may_end, done = Workers(), threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        may_end.wait(DEADLINE)
        done.set()

    async def begin() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(workers.run, "Working", work)
            await until(begun.is_set)
            tasks.cancel_scope.cancel()

    asyncio.run(begin())
    may_end.set()
    assert done.wait(DEADLINE)


async def test_after_the_end_started_work_continues_and_no_other_starts() -> None:
    workers, may_end = Workers(), threading.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(workers.run, "Waiting", lambda: may_end.wait(DEADLINE))
        await let_others_run()
        workers.end()
        with pytest.raises(InternalError):
            await workers.run("Nothing", lambda: None)
        may_end.set()


async def test_work_without_a_thread_is_never_started_and_the_next_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    workers, done = Workers(), list[str]()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(InternalError):
            await workers.run("Working", lambda: done.append("first"))
    await workers.run("Working", lambda: done.append("second"))
    assert done == ["second"]
    assert "Working failed with RuntimeError" in caplog.text


async def test_work_that_another_thread_took_from_one_that_did_not_start_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def submit(_: object, work: Callable[[], None]) -> None:
        work()
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    assert await Workers().run("Working", lambda: "done") == "done"


class Arguments:
    """What a call was given."""


async def test_nothing_of_a_cancelled_call_is_kept_even_if_all_threads_are_busy() -> None:
    workers, may_end = Workers(), threading.Event()
    arguments = [Arguments() for _ in range(10)]
    kept = [weakref.ref(one) for one in arguments]
    async with anyio.create_task_group() as busy:
        for _ in range(40):
            busy.start_soon(workers.run, "Waiting", lambda: may_end.wait(DEADLINE))
        await let_others_run()
        async with anyio.create_task_group() as cancelled:
            for one in arguments:
                cancelled.start_soon(workers.run, "Working", partial(id, one))
            await let_others_run()
            cancelled.cancel_scope.cancel()
        del one
        arguments.clear()
        gc.collect()
        assert [reference() for reference in kept] == [None] * 10
        may_end.set()


@pytest.mark.requirement("ERR-1")
async def test_nothing_of_a_failed_call_is_kept_whatever_caused_its_error() -> None:
    def fail(_: object) -> None:
        try:
            os.stat("")
        except OSError as error:
            raise StoreUnreadable("a.json", "gone") from error

    arguments = Arguments()
    kept = weakref.ref(arguments)
    gc.disable()
    try:
        with pytest.raises(StoreUnreadable):
            await Workers().run("Failing", partial(fail, arguments))
        del arguments
        await until(lambda: kept() is None)
    finally:
        gc.enable()


async def test_an_unusual_error_is_answered_too() -> None:
    class Panic(BaseException):
        pass

    def work() -> None:
        raise Panic

    with anyio.fail_after(DEADLINE), pytest.raises(InternalError):
        await Workers().run("Working", work)


@pytest.mark.requirement("CLI-5")
def test_an_interrupt_of_the_event_loop_ends_it() -> None:
    def work() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Workers.run_here("Working", work)
