"""Calls of one process that wait for each other share a turn, and so a commit and a write of HEARTBEAT.md (EN-9)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from heartbeat_mcp.mirror import mirror
from heartbeat_mcp.mirrored_file import MirroredFile
from heartbeat_mcp.passes import SharedTurn
from task_core.errors import StoreLocked
from task_core.files import Wait
from tests.core.notes import DEADLINE, wait_until
from tests.heartbeat.mirror_board import Board, make_task

pytestmark = pytest.mark.requirement("EN-9")


class Turns:
    """Turns whose things are rising numbers, and what happened in them; ``fault`` names the step that fails."""

    def __init__(self, fault: str = "") -> None:
        self.steps: list[str] = []
        self.fault = fault
        self.shared = SharedTurn(self._begin, lambda number: self._note(f"end {number}"))
        self._numbers = itertools.count(1)

    def take_part(self, until: Callable[[], bool] = lambda: True) -> None:
        with self.shared.take(DEADLINE) as number:
            wait_until(lambda: f"call {number}" in self.steps or until())
            self._note(f"call {number}")
        self._note(f"answer {number}")

    def _begin(self, _: Wait) -> int:
        number = next(self._numbers)
        self._note(f"begin {number}")
        return number

    def _note(self, step: str) -> None:
        self.steps.append(step)
        if self.fault and step.startswith(self.fault):
            raise LookupError(step)


def calls_in(shared: SharedTurn[Any]) -> int:
    """Return how many calls take part in the turn under way; 0 if no more may join it."""
    turn = shared._open  # noqa: SLF001 - nothing public shows who waits
    return turn.count if turn else 0


def test_calls_that_are_under_way_together_begin_once_and_end_once() -> None:
    turns = Turns()
    with ThreadPoolExecutor(4) as pool:
        with turns.shared.take(DEADLINE):
            others = [pool.submit(turns.take_part, until=lambda: calls_in(turns.shared) == 4) for _ in range(3)]
            wait_until(lambda: turns.steps.count("call 1") == 3 and not calls_in(turns.shared))
            others.append(pool.submit(turns.take_part))  # too late for this turn
        for call in others:
            call.result()
    answers = [step for step in turns.steps if "answer" in step]
    assert sorted(answers) == ["answer 1", "answer 1", "answer 1", "answer 2"]
    assert turns.steps.index("end 1") < turns.steps.index("answer 1")
    others_done = [step for step in turns.steps if step not in answers]
    assert others_done == ["begin 1", "call 1", "call 1", "call 1", "end 1", "begin 2", "call 2", "end 2"]


def test_a_call_waits_no_longer_for_a_turn_than_it_may() -> None:
    def begin(_: Wait) -> None:
        with ThreadPoolExecutor(1) as pool, pytest.raises(StoreLocked):
            pool.submit(take_briefly).result()

    def take_briefly() -> None:
        with shared.take(0.01):
            pass

    shared = SharedTurn(begin, lambda _: None)
    with shared.take(DEADLINE):
        pass


@pytest.mark.parametrize("fault", ["begin", "call", "end"])
def test_after_a_failure_the_next_turn_begins(fault: str) -> None:
    turns = Turns(fault)
    with pytest.raises(LookupError):
        turns.take_part()
    assert ("end 1" in turns.steps) == (fault != "begin")
    turns.fault = ""
    turns.take_part()
    assert turns.steps[-4:] == ["begin 2", "call 2", "end 2", "answer 2"]


@pytest.mark.requirement("HB-12")
def test_calls_that_wait_for_each_other_write_the_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = Board.of(tmp_path, "## TODO\n")
    process = board.process()
    assert isinstance(process, MirroredFile)
    board.call(process, make_task("first-task", "begin"))
    writes: list[Path] = []
    real = mirror.replace_file

    def count_write(path: Path, *rest: Any, **options: Any) -> object:  # noqa: ANN401 - as given
        writes.append(path)
        return real(path, *rest, **options)

    monkeypatch.setattr(mirror, "replace_file", count_write)
    entered = itertools.count(1)
    commits: list[float] = []
    board.store.observe(lambda what, value: commits.append(value) if what == "transactions" else None)
    board.store.batch_seconds = DEADLINE

    def add(number: int) -> None:
        with process.transaction() as work:
            if next(entered) == 1:
                wait_until(lambda: process.store._waiting == 7)  # noqa: SLF001 - nothing public shows who waits
            work.add(make_task(f"task-number-{number}", f"do {number}"))

    with ThreadPoolExecutor(8) as pool:
        for call in [pool.submit(add, number) for number in range(8)]:
            call.result()
    assert (len(writes), commits) == (1, [8])
    assert all(f"task-number-{number}" in board.text for number in range(8))


@pytest.mark.requirement("HB-18")
def test_calls_that_share_the_first_pass_miss_no_file_that_was_never_written(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "")
    process = board.process()
    assert isinstance(process, MirroredFile)
    with process._turn.take(DEADLINE) as sync:  # noqa: SLF001 - two calls in one pass
        for number in range(2):
            with sync.transaction() as work:
                work.add(make_task(f"task-number-{number}", f"do {number}"))
    assert board.warnings.take() == []
    assert "task-number-1" in board.text


@pytest.mark.requirement("HB-18")
def test_a_pass_is_repeated_though_the_timer_took_part_in_the_one_before(tmp_path: Path) -> None:
    board = Board.of(tmp_path, "## TODO\n")
    process = board.process()
    assert isinstance(process, MirroredFile)
    with board.path.open("ab"):  # another program is about to write
        with process._turn.take(DEADLINE) as sync:  # noqa: SLF001 - a call that ends after the timer has left
            with sync.transaction() as work:
                work.add(make_task("cool-apple", "eat an apple"))
            process._timer.plan()  # noqa: SLF001 - as after a pass before
            wait_until(lambda: calls_in(process._turn) == 0)  # noqa: SLF001 - as above
        assert "cool-apple" not in board.text
    wait_until(lambda: "cool-apple" in board.text)
    process.close()


def test_a_call_that_failed_waits_for_nobody() -> None:
    turns = Turns("call")
    with ThreadPoolExecutor(1) as pool:
        with turns.shared.take(DEADLINE), pytest.raises(LookupError):
            pool.submit(turns.take_part).result(DEADLINE)
        assert turns.steps == ["begin 1", "call 1", "end 1"]
