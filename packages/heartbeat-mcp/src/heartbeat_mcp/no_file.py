"""Transactions on the store alone, and what the service asks of whatever keeps a HEARTBEAT.md beside it."""

from collections.abc import Iterator
from contextlib import contextmanager

from heartbeat_mcp.models import HeartbeatTask
from task_core.store import Store, Transaction

__all__ = ["NoFile"]


class NoFile:
    """Opens transactions on the store alone, for a server without HEARTBEAT.md."""

    def __init__(self, store: Store[HeartbeatTask]) -> None:
        self._store = store

    def is_current(self) -> bool:
        """Return whether there is nothing to take in or to write."""
        return True

    def shows_all(self) -> bool:
        """Return whether the file, if there is one, shows what is in the store now."""
        return True

    def holds(self, task_id: str) -> bool:  # noqa: ARG002 - the keeper of a file uses it
        """Return whether the file has an entry with the id."""
        return False

    @contextmanager
    def transaction(self) -> Iterator[Transaction[HeartbeatTask]]:
        """Open a transaction on the store; if there is a file, it matches the store before and after."""
        with self._store.transaction() as work:
            yield work

    def close(self) -> None:
        """End every wait."""
