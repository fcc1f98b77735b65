"""Requests that are done once, however often they are sent (CX-25)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from threading import Lock
from typing import Final

from pydantic import BaseModel
from sqlalchemy.orm import Session

from cortex_backend.clock import Clock
from cortex_backend.database import CortexDatabase
from cortex_backend.problems import Problem
from cortex_backend.service.caller import Caller
from cortex_backend.store.idempotency import find_kept_answer, forget_old_keys, keep_answer, take_key

__all__ = ["Creation", "KeyedRequest", "Repeats"]

_KEPT: Final = timedelta(hours=24)
"""The time for which an answer is kept."""


class Creation(BaseModel):
    """The answer to a request that created something; ``is_replayed`` is whether an earlier one did."""

    body: str
    location: str | None = None
    version: int | None = None
    is_replayed: bool = False


class KeyedRequest(BaseModel):
    """The parts that make two requests the same, and the key that the client gave, if any."""

    key: str | None
    method: str
    path: str
    body: str

    @property
    def digest(self) -> str:
        """SHA-256 of method, path and body."""
        return sha256(f"{self.method} {self.path}\n{self.body}".encode()).hexdigest()


class Repeats:
    """Runs each request with a key once: the key, the change and the answer are kept in one transaction."""

    def __init__(self, database: CortexDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._running: set[tuple[int, str]] = set()
        self._lock = Lock()

    def run(self, caller: Caller, request: KeyedRequest, create: Callable[[Session], Creation]) -> Creation:
        """Return what ``create`` returns, or returned for the first request with the key of ``request``.

        Raises:
            Problem: ``IdempotencyKeyReused`` or ``RequestInProgress``.
        """
        if request.key is None:
            with self._database.write() as session:
                return create(session)
        with self._alone(caller.user_id, request.key), self._database.write() as session:
            return self._run_once(session, caller.user_id, request.key, request.digest, create)

    def _run_once(
        self, session: Session, user_id: int, key: str, digest: str, create: Callable[[Session], Creation]
    ) -> Creation:
        now = self._clock()
        forget_old_keys(session, user_id, now - _KEPT)
        if take_key(session, user_id, key, digest, now):
            creation = create(session)
            keep_answer(session, user_id, key, creation.model_dump_json())
            return creation
        first, answer = find_kept_answer(session, user_id, key)
        if first != digest:
            raise Problem("IdempotencyKeyReused")
        return Creation.model_validate_json(answer).model_copy(update={"is_replayed": True})

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
