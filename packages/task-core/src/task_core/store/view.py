"""The tasks of a store as people see them: the part that all servers with a store share."""

from abc import ABC, abstractmethod
from collections.abc import Collection as Words
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Generic

from pydantic import JsonValue

from task_core.claims.claim import Agent, Claim
from task_core.history.changes import Change
from task_core.models import RecordT
from task_core.store.base import ROOTS
from task_core.store.collection import LOWEST, Collection, Node
from task_core.store.statements import Selection
from task_core.store.store import Store
from task_core.view import Line, Section, WorkState, match_statuses

__all__ = ["StoreView"]

_PAGE: Final = 500
"""Records, or roots of trees, that one snapshot reads: no snapshot of millions of tasks is open for long."""


class StoreView(ABC, Generic[RecordT]):
    """The tasks of a store, read only: a ``View``. A server says what a line shows, and which tasks come first."""

    finished: Words[str] = ()
    """the statuses of tasks on which work has ended"""
    listed: Selection = Selection()
    """a choice of the records that are shown, and their order"""
    advice: str = ""
    """the tools to call next, in one sentence"""
    headings: Mapping[str, str] = {}
    """the status under each heading of a summary, in the order in which to work on them"""

    def __init__(self, store: Store[RecordT]) -> None:
        self._store = store

    @abstractmethod
    def line(self, task: RecordT, depth: int) -> Line:
        """Return a task for a list."""

    def first(self, tasks: Collection[RecordT], status: str, limit: int) -> Sequence[RecordT]:
        """Return the first tasks with a status of ``headings``, in the order in which to work on them."""
        return tasks.select(replace(self.listed, states=(status,), limit=limit))

    def startable(self, tasks: Collection[RecordT], limit: int) -> Iterable[str]:
        """Return the ids of the first tasks that can be claimed, in the order of work."""
        _, waiting = self.headings.values()
        return [task.id for task in self.first(tasks, waiting, limit)]

    def count(self, tasks: Collection[RecordT]) -> dict[str, int]:
        """Return how many tasks have each status."""
        return {status: tasks.count(replace(self.listed, states=(status,))) for status in self.statuses}

    def section(self, tasks: Collection[RecordT], status: str, count: int, limit: int) -> Section:
        """Return the first of the ``count`` tasks with a status of ``headings``."""
        return Section([self.line(task, 0) for task in self.first(tasks, status, limit)], count)

    def render(self, tasks: Collection[RecordT], task_id: str) -> dict[str, JsonValue]:
        """Return one whole task as the tools show it, or raise ``TaskNotFound``."""
        return tasks.get(task_id).model_dump(mode="json")

    @property
    def statuses(self) -> Sequence[str]:
        """Return every status that a task can have, in the order of work."""
        return self._store.kind.states

    def lines(self, statuses: Words[str] = ()) -> Iterator[Line]:
        """Return the tasks with one of ``statuses``, or all; a page at a time, so others may change them meanwhile."""
        wanted = match_statuses(statuses, self.statuses)
        if self._store.kind.is_tree:
            return self._walk_trees(wanted)
        return self.walk_list(replace(self.listed, states=wanted))

    def task(self, task_id: str) -> dict[str, JsonValue]:
        """Return one whole task as the tools show it, or raise ``TaskNotFound``."""
        with self._store.read() as tasks:
            return self.render(tasks, task_id)

    def next(self) -> str | None:
        """Return the id of the task to work on next, or None."""
        with self._store.read() as tasks:
            return next((task.id for status in self.headings.values() for task in self.first(tasks, status, 1)), None)

    def overview(self, limit: int) -> tuple[Mapping[str, int], Mapping[str, Section]]:
        """Return how many tasks have each status, and at most ``limit`` tasks under each of ``headings``."""
        with self._store.read() as tasks:
            counts = self.count(tasks)
            return counts, {
                title: self.section(tasks, status, counts[status], limit) for title, status in self.headings.items()
            }

    def work(self, limit: int) -> WorkState:
        """Return the state of the work, with at most ``limit`` tasks of each sort."""
        running, waiting = self.headings.values()
        with self._store.read() as tasks:
            counts = self.count(tasks)
            active = self.section(tasks, running, counts[running], limit)
            ready = self.section(tasks, waiting, counts[waiting], limit)
            return WorkState(active.entries, active.total, ready.entries, ready.total, counts, self.finished)

    def texts(self, ids: Words[str]) -> dict[str, str]:
        """Return the texts of the tasks with these ids that exist."""
        with self._store.read() as tasks:
            return {name: self.line(tasks.get(name), 0).text for name in ids if name in tasks}

    def changes(self, task_id: str = "", *, limit: int) -> list[Change]:
        """Return the last changes of one task or of all, newest first."""
        return self._store.history(task_id, limit=limit)

    def claims(self) -> list[Claim]:
        """Return the claims on open tasks, the oldest first."""
        return self._store.find_claims()

    def caller(self) -> Agent:
        """Return the agent that calls."""
        return self._store.claims.agent

    def revision(self) -> object:
        """Return a value that differs after every change of the store."""
        return self._store.changes(None, 0).token

    def close(self) -> None:
        """Release the store."""
        self._store.close()

    def walk_list(self, selection: Selection) -> Iterator[Line]:
        """Yield the tasks of a choice, a page at a time."""
        selection = replace(selection, limit=_PAGE)
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
