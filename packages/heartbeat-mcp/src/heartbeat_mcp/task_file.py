"""The file beside a store, as the service uses it; and no file, for a server without HEARTBEAT.md."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from typing_extensions import override

from heartbeat_mcp.models import HeartbeatTask
from task_core.store import Store, Transaction

__all__ = ["StoreOnly", "TaskFile"]


class TaskFile(Protocol):
    """Opens transactions on the store, and keeps a file in step with it."""

    def is_current(self) -> bool:
        """Return whether there is nothing to take in or to write."""
        ...

    def shows_all(self) -> bool:
        """Return whether the file, if there is one, shows what is in the store now."""
        ...

    def holds(self, task_id: str) -> bool:
        """Return whether the file has an entry with the id."""
        ...

    def transaction(self) -> AbstractContextManager[Transaction[HeartbeatTask]]:
        """Open a transaction on the store; if there is a file, it matches the store before and after."""
        ...

    def close(self) -> None:
        """End every wait."""
        ...


class StoreOnly(TaskFile):
    """Opens transactions on the store alone, for a server without HEARTBEAT.md."""

    def __init__(self, store: Store[HeartbeatTask]) -> None:
        self._store = store

    @override
    def is_current(self) -> bool:
        return True

    @override
    def shows_all(self) -> bool:
        return True

    @override
    def holds(self, task_id: str) -> bool:
        return False

    @contextmanager
    @override
    def transaction(self) -> Iterator[Transaction[HeartbeatTask]]:
        with self._store.transaction() as work:
            yield work

    @override
    def close(self) -> None:
        return
