"""A pass over HEARTBEAT.md: the turn that calls share (EN-9), what a transaction takes in and notes, and the next.

A store without that file has a ``TaskFile`` all the same, which does nothing.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, Generic, NamedTuple, TypeVar

from heartbeat_mcp.mirror.entries import Receipts
from heartbeat_mcp.models import ACTIVE, SECTION, HeartbeatTask
from task_core.errors import StoreLocked
from task_core.files import Wait
from task_core.store import Selection, Store, Transaction
from task_core.warning_list import WarningList

__all__ = ["PassTimer", "SharedTurn", "TakenIn", "TaskFile", "drop_bullets", "note_receipts", "transact"]

ThingT = TypeVar("ThingT")


class _Turn(Generic[ThingT]):
    def __init__(self, thing: ThingT) -> None:
        self.thing = thing
        self.count = 1
        """the calls that take part and have not finished"""
        self.ended = threading.Event()


class SharedTurn(Generic[ThingT]):
    """Gives calls that wait for each other one thing to work with, and every later call a new one."""

    def __init__(self, begin: Callable[[Wait], ThingT], end: Callable[[ThingT], None]) -> None:
        """``begin`` makes the thing within a wait; ``end`` is called once the last call has finished with it."""
        self._begin = begin
        self._end = end
        self._guard = threading.Condition()
        self._is_taken = False
        self._open: _Turn[ThingT] | None = None
        """the turn under way, until its first call has finished"""

    @contextmanager
    def take(self, seconds: float) -> Iterator[ThingT]:
        """Take part in the turn under way, or begin one; a block that does not raise is left once the turn has ended.

        It raises ``StoreLocked`` if none begins within ``seconds``, and what ``begin`` and ``end`` raise.
        """
        turn = self._join(Wait(seconds))
        is_done = False
        try:
            yield turn.thing
            is_done = True
        finally:
            self._leave(turn, is_done=is_done)

    def _join(self, wait: Wait) -> _Turn[ThingT]:
        with self._guard:
            if not self._guard.wait_for(lambda: self._open or not self._is_taken, wait.remaining):
                raise StoreLocked(wait.elapsed)
            if self._open:
                self._open.count += 1
                return self._open
            self._is_taken = True
        try:
            turn = _Turn(self._begin(wait))
        except BaseException:  # KeyboardInterrupt too: let the next one in, then raise again
            self._release()
            raise
        with self._guard:
            self._open = turn
            self._guard.notify_all()
        return turn

    def _leave(self, turn: _Turn[ThingT], *, is_done: bool) -> None:
        with self._guard:
            self._open = None  # whoever comes now must not keep those waiting who have finished
            turn.count -= 1
            is_last = not turn.count
        if not is_last:
            if is_done:
                turn.ended.wait()
            return
        try:
            self._end(turn.thing)
        finally:
            turn.ended.set()
            self._release()

    def _release(self) -> None:
        with self._guard:
            self._is_taken = False
            self._guard.notify_all()


class TakenIn(NamedTuple):
    """The part of a file that a transaction took in."""

    message: str = ""
    """The warning about it, or nothing."""
    shown: Mapping[str, bytes] = {}
    """The entries in the file, by the ids of their tasks."""
    bullets: Mapping[str, bytes] = {}
    """The bullets that became tasks, by the ids of these."""


@contextmanager
def transact(
    store: Store[HeartbeatTask],
    warnings: WarningList,
    take_in: Callable[[Transaction[HeartbeatTask]], TakenIn],
    note: Callable[[Transaction[HeartbeatTask], TakenIn], None],
) -> Iterator[Transaction[HeartbeatTask]]:
    """Open a transaction that begins with ``take_in`` and ends with ``note``, and warn of what was taken in."""
    taken, cause = TakenIn(), ""
    try:
        with store.transaction() as work:
            taken = take_in(work)
            cause = f"taken in: {id(taken)}"  # another call may take in the same at the same time, if this one fails
            work.end_change()
            store.check(work)
            yield work
            # Before the commit, so that no other call can see these tasks and answer without the warning.
            if taken.message:
                warnings.add(cause, taken.message)
            note(work, taken)
    except BaseException:  # KeyboardInterrupt too: nothing was taken in, so drop the warning and raise again
        warnings.withdraw(cause)
        raise
    warnings.settle(cause)


def note_receipts(work: Transaction[HeartbeatTask], taken: TakenIn, outdated: Iterable[str] = ()) -> set[str]:
    """Note in the receipts the entries that the file has of the changed tasks, and those that it will have.

    Receipts of ``outdated`` ids are renewed too. Return the ids that have new receipts.
    """
    ids = {*work.changed, *outdated}
    receipts = Receipts.from_fields(work.fields)
    if receipts is None:
        receipts = Receipts({})
        ids |= {*taken.shown, *(task.id for task in work.select(Selection(states=ACTIVE)))}
    tasks = {task_id: work.get(task_id) if task_id in work else None for task_id in sorted(ids)}
    after = receipts.build_next(tasks, taken.shown, taken.bullets)
    if SECTION not in work.fields or after.stored != receipts.stored:
        work.set_fields({**work.fields, SECTION: {**after.stored}})
    return ids


def drop_bullets(store: Store[HeartbeatTask], shown: Mapping[str, bytes]) -> None:
    """Drop the receipts of bullets, none of which the file has any more; it has the entries ``shown``."""
    with store.transaction() as work:
        receipts = Receipts.from_fields(work.fields) or Receipts({})
        made = {task_id: work.get(task_id) if task_id in work else None for task_id in receipts.find_bullets()}
        work.set_fields({**work.fields, SECTION: {**receipts.build_next(made, shown, None).stored}})


_PAUSE_SECONDS: Final = 0.25
"""Time to the next pass while others write the file."""

_LONGEST_SECONDS: Final = 60.0
"""Time to the next pass while a task is not due: what a timer counts stands still while the machine sleeps."""


class PassTimer:
    """Plans the next pass, which ``run`` makes."""

    def __init__(self, run: Callable[[], None]) -> None:
        self._run = run
        self._timer = threading.Timer(0, run)  # which is never started
        self._is_over = False

    def plan(self, seconds: float = 0) -> None:
        """Make a pass in about ``seconds`` in place of the one that is planned."""
        self._timer.cancel()
        if not self._is_over:
            timer = threading.Timer(min(max(seconds, _PAUSE_SECONDS), _LONGEST_SECONDS), self._run)
            timer.daemon = True
            self._timer = timer
            with suppress(RuntimeError):  # no thread can be started: the next call plans again
                timer.start()

    def close(self) -> None:
        """Begin no more passes."""
        self._is_over = True
        self._timer.cancel()


class TaskFile:
    """Opens transactions on the store; a subclass keeps a file in step with it."""

    def __init__(self, store: Store[HeartbeatTask]) -> None:
        self.store = store

    def is_current(self) -> bool:
        """Return whether there is nothing to take in or to write."""
        return True

    def holds(self, task_id: str) -> bool:  # noqa: ARG002 - only a list with a file asks which task
        """Return whether the file has an entry with the id."""
        return False

    @contextmanager
    def transaction(self) -> Iterator[Transaction[HeartbeatTask]]:
        """Open a transaction on the store; if there is a file, it matches the store before and after."""
        with self.store.transaction() as work:
            yield work

    def close(self) -> None:
        """End every wait."""
