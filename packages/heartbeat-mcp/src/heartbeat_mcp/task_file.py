"""The file beside a store, as the service uses it; without HEARTBEAT.md, none."""

from collections.abc import Iterator
from contextlib import contextmanager

from heartbeat_mcp.models import HeartbeatTask
from task_core.store import Store, Transaction

__all__ = ["TaskFile"]


class TaskFile:
    """Opens transactions on the store; a subclass keeps a file in step with it."""

    def __init__(self, store: Store[HeartbeatTask]) -> None:
        self._store = store

    def is_current(self) -> bool:
        """Return whether there is nothing to take in or to write."""
        return True

    def holds(self, task_id: str) -> bool:  # noqa: ARG002 - only a list with a file asks which task
        """Return whether the file has an entry with the id."""
        return False

    @contextmanager
    def transaction(self) -> Iterator[Transaction[HeartbeatTask]]:
        """Open a transaction on the store; if there is a file, it matches the store before and after."""
        with self._store.transaction() as work:
            yield work

    def close(self) -> None:
        """End every wait."""
