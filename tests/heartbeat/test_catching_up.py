"""What is new is taken in once for all readers, none of whom waits long for a lock that others hold (C2, TOOL-7)."""

from __future__ import annotations

import threading

import pytest

from heartbeat_mcp.catching_up import CatchUp
from task_core.errors import StoreLocked, StoreWriteFailed
from tests.core.notes import DEADLINE, in_background, wait_for_turn, wait_until

pytestmark = pytest.mark.requirement("C2", "TOOL-7")


class Work:
    """Work that goes on until it may end, and is due until it has been done often enough."""

    def __init__(self, times: int = 1) -> None:
        self.begun = 0
        self.left = times
        self.may_end = threading.Event()

    def __call__(self) -> None:
        self.begun += 1
        self.may_end.wait(DEADLINE)
        self.left -= 1

    def is_due(self) -> bool:
        return self.left > 0


def test_work_that_is_not_due_is_not_begun() -> None:
    work = Work(times=0)
    CatchUp(work, work.is_due).wait()
    assert not work.begun


def test_readers_who_come_together_share_one_run() -> None:
    work = Work()
    catch_up = CatchUp(work, work.is_due, DEADLINE)
    with in_background() as start:
        for _ in range(3):
            wait_for_turn(*start(catch_up.wait), line="run.result(")
        work.may_end.set()
    assert work.begun == 1


def test_a_reader_who_joins_a_run_that_missed_what_is_new_waits_for_one_more() -> None:
    work = Work(times=3)
    catch_up = CatchUp(work, work.is_due, DEADLINE)
    with in_background() as start:
        wait_for_turn(*start(catch_up.wait), line="run.result(")
        wait_for_turn(*start(catch_up.wait), line="run.result(")
        work.may_end.set()
    assert work.begun == 2


def test_nobody_waits_for_a_run_that_takes_too_long_and_it_goes_on() -> None:
    work = Work()
    catch_up = CatchUp(work, work.is_due, 0)
    for _ in range(3):
        with pytest.raises(StoreLocked):
            catch_up.wait()
    work.may_end.set()
    wait_until(lambda: not work.is_due())
    catch_up.wait()
    assert work.begun == 1


def test_an_error_reaches_every_reader_as_one_of_its_own() -> None:
    def work() -> None:
        raise StoreWriteFailed("a.json", "it is full")

    catch_up = CatchUp(work, lambda: True)
    errors: list[StoreWriteFailed] = []
    for _ in range(2):
        with pytest.raises(StoreWriteFailed, match="it is full") as caught:
            catch_up.wait()
        errors.append(caught.value)
    assert errors[0] is not errors[1]


def test_without_a_thread_the_reader_does_the_work() -> None:
    work = Work()
    work.may_end.set()
    catch_up = CatchUp(work, work.is_due)
    catch_up.close()
    catch_up.wait()
    assert work.begun == 1
