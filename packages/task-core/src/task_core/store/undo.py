"""Undoing one change: what it replaced is put back if nothing has changed there since (AG-6)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, Generic, Protocol

from pydantic import JsonValue, ValidationError
from pydantic_core import from_json, to_json

from task_core.bounds import fit
from task_core.errors import MAX_NAMED, TaskError, echo
from task_core.history.changes import Change, Step
from task_core.models import RecordT, format_timestamp
from task_core.store.base import ROOTS
from task_core.store.store import NEWEST, Store
from task_core.store.transaction import Transaction
from task_core.text import end_sentence

__all__ = ["ChangeNotFound", "History", "NotUndone", "StoreHistory", "check_kept", "find_change", "undo"]

_GONE: Final = "the task is gone"


class ChangeNotFound(TaskError, LookupError):
    """The history has no change with this number."""

    def __init__(self, number: int) -> None:
        why = "It may be too old; with TASK_HISTORY_DAYS=0 none are kept."
        super().__init__(f"The history has no change {number}. {why} List the changes first.", {"change": number})


class NotUndone(TaskError):
    """Nothing was put back; ``conflicts`` has an id, perhaps a field, and what is there ``now``."""

    def __init__(self, change: Change, why: str = "", conflicts: Sequence[Mapping[str, JsonValue]] = ()) -> None:
        """Without a reason, it is that something was changed since: the first of the conflicts."""
        if not why and conflicts:
            first = {name: echo(str(value)) for name, value in conflicts[0].items()}
            what = f"{first['field']} of '{first['id']}'" if "field" in first else f"'{first['id']}'"
            why = f"something was changed since, first {what}, which is now: {first['now']}"
        super().__init__(
            end_sentence(f"Change {change.number} was not undone: {why}"),
            fit({"change": change.number, "conflicts": [dict(conflict) for conflict in conflicts[:MAX_NAMED]]}),
        )


class History(Protocol):
    """The changes of a list."""

    def changes(self, task_id: str = "", before: int = NEWEST, limit: int = 1) -> list[Change]:
        """Return at most ``limit`` changes, of one task or of all, with a number below ``before``, newest first."""

    def undo(self, number: int) -> list[str]:
        """Undo the change with this number, and return the ids of its tasks, or raise ``TaskError``."""

    def transaction(self) -> AbstractContextManager[object]:
        """Open a transaction of the server, of which those that are opened within it are a part."""


class StoreHistory(Generic[RecordT]):
    """The changes of a store, which are undone by the rules of its server."""

    def __init__(
        self,
        store: Store[RecordT],
        *,
        transaction: Callable[[], AbstractContextManager[Transaction[RecordT]]] | None = None,
        settle: Callable[[Transaction[RecordT], list[str]], str] = lambda _work, _ids: "",
    ) -> None:
        """Undo in a ``transaction`` of the server, if it has its own.

        ``settle`` makes what follows for tasks that were put back, and for those above them, and returns the rule that
        they break, or nothing.
        """
        self._store = store
        self.transaction = transaction or store.transaction
        self._settle = settle
        self.changes = store.history

    def undo(self, number: int) -> list[str]:
        """Undo the change with this number, and return the ids of its tasks.

        Raises:
            ChangeNotFound: there is none.
            NotUndone: as ``undo`` says, or the tasks would break a rule of the server.
        """
        change = find_change(self, number)
        with self.transaction() as work:
            undo(work, change)
            parents = [place.parent for step in change.steps for place in (step.left, step.reached) if place]
            ids = list(dict.fromkeys(step.id for step in change.steps))
            if rule := self._settle(work, [name for name in dict.fromkeys([*ids, *parents]) if name in work]):
                raise NotUndone(change, rule)
        return ids


def find_change(history: History, number: int) -> Change:
    """Return the change with this number, or raise ``ChangeNotFound``."""
    for change in history.changes(before=number + 1):
        if change.number == number:
            return change
    raise ChangeNotFound(number)


def check_kept(change: Change) -> None:
    """Raise ``NotUndone`` if not all that ``change`` replaced was kept, or if it is a claim."""
    if any(step.what == "claimed" for step in change.steps):
        raise NotUndone(change, "it took a claim over, which has to be released instead")
    if not change.is_whole:
        raise NotUndone(change, "not all that it replaced was kept")


def undo(work: Transaction[RecordT], change: Change) -> None:
    """Put back what ``change`` replaced; what the server requires is not checked.

    Raises:
        NotUndone: something there has changed since, or not all that was replaced was kept.
    """
    check_kept(change)
    try:
        conflicts = [conflict for step in reversed(change.steps) for conflict in _put_back(work, step)]
    except ValidationError:
        raise NotUndone(change, "what was kept of it is not valid any more") from None
    if conflicts:
        raise NotUndone(change, conflicts=conflicts)


def _put_back(work: Transaction[RecordT], step: Step) -> Iterator[dict[str, JsonValue]]:
    """Undo one step, or yield what is in the way."""
    if step.what == "removed":
        yield from _restore(work, step)
    elif step.id not in work:
        yield {"id": step.id, "now": _GONE}
    elif step.reached and work.row(step.id).parent != step.reached.parent:
        yield {"id": step.id, "now": "it is below another task"}
    elif step.what == "moved":
        yield from _move_back(work, step)
    else:
        yield from _put_fields_back(work, step)


def _put_fields_back(work: Transaction[RecordT], step: Step) -> Iterator[dict[str, JsonValue]]:
    values = from_json(work.get(step.id).to_json())
    if differing := [*step.put_back(values, work.kind.stamp)]:
        yield from ({"id": step.id, **found} for found in differing)
    elif step.what == "changed":
        work.replace(_validate(work, values))
    elif work.kind.is_tree and work.count_children(step.id):
        yield {"id": step.id, "now": "it has subtasks that were added since"}
    else:
        work.remove(step.id)


def _restore(work: Transaction[RecordT], step: Step) -> Iterator[dict[str, JsonValue]]:
    parent, following = step.left or (ROOTS, "")
    if step.id in work:
        yield {"id": step.id, "now": "there is a new task with this id"}
    elif parent and parent not in work:
        yield {"id": parent, "now": _GONE}
    else:
        work.add(_validate(work, step.before), parent, before=_find_next(work, parent, following))


def _move_back(work: Transaction[RecordT], step: Step) -> Iterator[dict[str, JsonValue]]:
    parent, following = step.left or (ROOTS, "")
    if parent and parent not in work:
        yield {"id": parent, "now": _GONE}
    elif parent and step.id in (parent, *(above.id for above in work.ancestors(parent))):
        yield {"id": parent, "now": "it is below this task"}
    else:
        work.move(step.id, parent, before=_find_next(work, parent, following))


def _find_next(work: Transaction[RecordT], parent: str, following: str) -> str:
    """Return the child ``following`` of a parent, or nothing, which means the last place, if it is not there."""
    return following if following in work and work.row(following).parent == parent else ""


def _validate(work: Transaction[RecordT], values: dict[str, JsonValue]) -> RecordT:
    stamp = {work.kind.stamp: format_timestamp(work.next_moment())} if work.kind.stamp else {}
    return work.kind.record_type.model_validate_json(to_json({**values, **stamp}))
