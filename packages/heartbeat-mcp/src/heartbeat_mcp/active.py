"""The entries of the active tasks, updated from what has changed, so that a call does not read every task again."""

from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import Final

from heartbeat_mcp.mirror import Entry
from heartbeat_mcp.mirror.entries import render_entry
from heartbeat_mcp.models import ACTIVE, Status, Task
from task_core.store import Order, Selection, Store
from task_core.store.base import Key

__all__ = ["ActiveEntries"]

_AT_A_TIME: Final = 1_000
"""Changed tasks fetched at a time."""


class ActiveEntries:
    """The entries in the section for a store's Pending and Running tasks; used by one thread at a time."""

    def __init__(self, store: Store[Task]) -> None:
        self._store = store
        self._token: str | None = None
        self._entries: dict[str, tuple[Key, Entry]] = {}

    @property
    def ids(self) -> AbstractSet[str]:
        """The ids of the tasks whose entries ``current`` last returned."""
        return self._entries.keys()

    def is_current(self) -> bool:
        """Return whether nobody has changed the store since ``current``."""
        return self._store.changes(None, 0).token == self._token

    def current(self) -> list[Entry]:
        """Return the entries of the tasks as they are committed now, the oldest task first."""
        more = True
        while more:
            found = self._store.changes(self._token, _AT_A_TIME)
            if self._token is None or found.reset:
                with self._store.read() as tasks:
                    active = tasks.select(Selection(states=ACTIVE))
                self._entries = {task.id: _entry_of(task) for task in active}
            for task_id, task in found.records:
                self._entries.pop(task_id, None)
                if task is not None and task.is_active:
                    self._entries[task_id] = _entry_of(task)
            self._token, more = found.token, found.more
        return [entry for _, entry in sorted(self._entries.values(), key=itemgetter(0))]


def _entry_of(task: Task) -> tuple[Key, Entry]:
    return Order.CREATED.key(task), Entry(task.id, task.status is Status.RUNNING, render_entry(task))
