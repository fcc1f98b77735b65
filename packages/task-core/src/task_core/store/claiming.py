"""Claiming and releasing the tasks of a store (AG-11)."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Generic, NamedTuple, Protocol

from task_core.claims.claim import Claim
from task_core.errors import InvalidTransition
from task_core.history.changes import JsonObject
from task_core.models import RecordT
from task_core.store.store import Store
from task_core.store.transaction import Transaction
from task_core.store.view import StoreView

__all__ = ["Claimed", "Claiming", "StoreClaiming"]


class Claimed(NamedTuple):
    """The outcome of claiming a task: the claim and the task, or nothing and the claims of others."""

    claim: Claim | None = None
    task: JsonObject | None = None
    others: Iterable[Claim] = ()
    message: str = ""
    """the effect that this had on other tasks"""


class Claiming(Protocol):
    """Claims the tasks of a list for the agent that calls."""

    def claim(self, task_id: str, note: str, *, is_forced: bool) -> Claimed:
        """Claim a task, or without an id the first that can be worked on and that nobody holds.

        It raises what ``ClaimList.take`` does, ``TaskNotFound``, and ``InvalidTransition`` for a task that is finished.
        """

    def release(self, task_id: str) -> str:
        """Give up a claim, or raise what ``ClaimList.release`` does; return the effect that this had on tasks."""


class StoreClaiming(Generic[RecordT]):
    """Claims the tasks of a store, in the order of work of its ``view``."""

    def __init__(
        self,
        store: Store[RecordT],
        view: StoreView[RecordT],
        transaction: Callable[[], AbstractContextManager[Transaction[RecordT]]] | None = None,
        *,
        settle: Callable[[Transaction[RecordT], set[str]], str] = lambda *_: "",
    ) -> None:
        """Claim in a ``transaction`` of the server, if it has its own.

        ``settle`` puts right what no longer holds once these tasks are not claimed, and returns what it did.
        """
        self._settle = settle
        self._store = store
        self._view = view
        self._transaction = transaction or store.transaction

    def claim(self, task_id: str, note: str, *, is_forced: bool) -> Claimed:
        """Claim a task, as ``Claiming`` says."""
        with self._transaction() as work:
            now = self._store.now(work)
            claims = self._store.claims.list_claims(work, now)
            chosen = task_id or claims.find_free(self._view.startable(work, len(work.claims) + 1))
            if not chosen:
                return Claimed(others=[it for it in work.claims if it.is_living(now)])
            state = work.get(chosen).columns.state
            if state in work.kind.closed:
                raise InvalidTransition(state, "claimed", (), "It is finished: claim another one.")
            before = {it.task for it in work.claims}
            claim = self._store.claims.hold(work, chosen, note, now, is_forced=is_forced)
            message = self._settle(work, before - {it.task for it in work.claims})
            return Claimed(claim, self._view.render(work, chosen), message=message)

    def release(self, task_id: str) -> str:
        """Give up a claim, as ``Claiming`` says."""
        with self._transaction() as work:
            work.claims = self._store.claims.list_claims(work, self._store.now(work)).release(task_id)
            return self._settle(work, {task_id})
