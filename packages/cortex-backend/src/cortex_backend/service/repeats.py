"""Requests that are done once, however often they are sent (CX-25)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Lock
from typing import Final

from pydantic import BaseModel
from sqlalchemy.orm import Session

from cortex_backend.caller import Caller
from cortex_backend.clock import Clock
from cortex_backend.database import CortexDatabase
from cortex_backend.problems import Problem, require
from cortex_backend.store.idempotency import forget_old_keys, take_key
from cortex_backend.store.projects import find_project

__all__ = ["Creation", "Repeats"]

_KEPT: Final = timedelta(hours=24)
"""The time for which an answer is kept."""


class Creation(BaseModel):
    """The answer to a request that created something in a project; ``is_replayed`` is whether an earlier one did."""

    body: str
    project_id: int
    """The project whose members may see the answer."""
    location: str | None = None
    version: int = 1
    is_replayed: bool = False


class Repeats:
    """Runs each request with a key once: the key, the change and the answer are kept in one transaction."""

    def __init__(self, database: CortexDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._running: set[tuple[int, str]] = set()
        self._lock = Lock()

    def run(self, caller: Caller, key: str | None, digest: str, create: Callable[[Session], Creation]) -> Creation:
        """Return what ``create`` returns, or returned for the first request with this key.

        ``digest`` is the same for the same request, else it is ``IdempotencyKeyReused``. It is ``RequestInProgress``
        while the first one runs, and ``NotFound`` once the caller has left the project.
        """
        if key is None:
            with self._database.write() as session:
                return create(session)
        with self._alone(caller.user_id, key), self._database.write() as session:
            now = self._clock()
            forget_old_keys(session, caller.user_id, now - _KEPT)
            row, is_new = take_key(session, caller.user_id, key, digest, now)
            if is_new:
                creation = create(session)
                row.answer = creation.model_dump_json()
                return creation
            if row.request_hash != digest:
                raise Problem("IdempotencyKeyReused")
            creation = Creation.model_validate_json(row.answer or "")
            require(find_project(session, caller.user_id, creation.project_id), "object")
            return creation.model_copy(update={"is_replayed": True})

    @contextmanager
    def _alone(self, user_id: int, key: str) -> Iterator[None]:
        with self._lock:
            if (user_id, key) in self._running:
                raise Problem("RequestInProgress")
            self._running.add((user_id, key))
        try:
            yield
        finally:
            with self._lock:
                self._running.remove((user_id, key))
