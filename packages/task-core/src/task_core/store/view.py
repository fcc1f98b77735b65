"""The tasks of a store as people see them: what is common to the servers that keep one."""

from abc import ABC, abstractmethod
from collections.abc import Collection as Words
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, Generic, TypeVar

from pydantic import JsonValue

from task_core.models import Record
from task_core.store.base import ROOTS
from task_core.store.collection import LOWEST, Collection, Node
from task_core.store.statements import Selection
from task_core.store.store import Store
from task_core.view import Line, match_statuses

__all__ = ["StoreView"]

RecordT = TypeVar("RecordT", bound=Record)

_PAGE: Final = 500
"""Records, or roots of trees, that one snapshot reads: no snapshot of millions of tasks is open for long."""


class StoreView(ABC, Generic[RecordT]):
    """The tasks of a store, read only: a ``View``. A server says what a line shows, and which is next."""

    finished: Words[str] = ()
    """the statuses of tasks on which work has ended"""
    listed: Selection = Selection()
    """which records of a list are shown, and in which order"""

    def __init__(self, store: Store[RecordT]) -> None:
        self._store = store

    @abstractmethod
    def line(self, task: RecordT, depth: int) -> Line:
        """Return a task for a list."""

    @abstractmethod
    def choose(self, tasks: Collection[RecordT]) -> RecordT | None:
        """Return the task to work on next."""

    def render(self, tasks: Collection[RecordT], task_id: str) -> dict[str, JsonValue]:
        """Return one whole task as the tools show it, or raise ``TaskNotFound``."""
        return tasks.get(task_id).model_dump(mode="json")

    @property
    def statuses(self) -> Sequence[str]:
        """Return every status that a task can have, in the order of work."""
        return self._store.kind.states

    def lines(self, statuses: Words[str] = ()) -> Iterator[Line]:
        """Return the tasks with one of ``statuses``, or all; a page at a time, so others may change them meanwhile.

        Raises:
            InvalidArguments: there is no such status.
        """
        wanted = match_statuses(statuses, self.statuses)
        return self._walk_trees(wanted) if self._store.kind.is_tree else self._walk_list(wanted)

    def task(self, task_id: str) -> dict[str, JsonValue]:
        """Return one whole task as the tools show it, or raise ``TaskNotFound``."""
        with self._store.read() as tasks:
            return self.render(tasks, task_id)

    def next(self) -> str | None:
        """Return the id of the task to work on next, or None."""
        with self._store.read() as tasks:
            task = self.choose(tasks)
        return task.id if task else None

    def revision(self) -> object:
        """Return a value that differs after every change of the store."""
        return self._store.changes(None, 0).token

    def close(self) -> None:
        """Release the store."""
        self._store.close()

    def _walk_list(self, wanted: tuple[str, ...]) -> Iterator[Line]:
        selection = replace(self.listed, states=wanted, limit=_PAGE)
        while True:
            with self._store.read() as tasks:
                page = tasks.select(selection)
            yield from (self.line(task, 0) for task in page)
            if len(page) < _PAGE:
                return
            selection = replace(selection, after=selection.order.key(page[-1]))

    def _walk_trees(self, wanted: tuple[str, ...]) -> Iterator[Line]:
        position: int | None = LOWEST
        while position is not None:
            with self._store.read() as tasks:
                roots = _roots_after(tasks, position)
                states = tasks.child_states_of([root.id for root in roots])
                found = [
                    self.line(task, depth)
                    for root in roots
                    for task, depth in (_walk(tasks, root) if states[root.id] else [(root, 0)])
                ]
                position = tasks.row(roots[-1].id).position if len(roots) == _PAGE else None
            yield from (line for line in found if not wanted or line.status in wanted)


def _roots_after(tasks: Collection[RecordT], position: int) -> list[RecordT]:
    """Return the first roots after a position: the root that was there may be gone."""
    first = [tasks.get(name) for _, name in tasks.positions(ROOTS, position, 1)]
    return [*first, *(tasks.children(ROOTS, after=first[0].id, limit=_PAGE - 1) if first else ())]


def _walk(tasks: Collection[RecordT], root: RecordT) -> Iterator[tuple[RecordT, int]]:
    """Yield the root and all below it, depth first, each with how many tasks it is below."""
    below: dict[str, list[Node]] = {}
    for node, _ in tasks.subtree(root.id):
        below.setdefault(node.parent, []).append(node)
    validate = tasks.kind.record_type.model_validate_json
    waiting = [(root, 0)]
    while waiting:
        task, depth = waiting.pop()
        yield task, depth
        waiting.extend((validate(node.line), depth + 1) for node in reversed(below.get(task.id, ())))
