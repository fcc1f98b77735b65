"""Limit of the requests that a session makes in a minute (CX-35)."""

from datetime import datetime, timedelta
from threading import Lock
from typing import Final

from cortex_backend.database import CortexDatabase
from cortex_backend.problems import too_many_requests
from cortex_backend.store.attempts import add_to_rate

__all__ = ["PER_MINUTE", "RequestRates"]

PER_MINUTE: Final = 600
"""Requests that a session may make in a minute."""

_SHARE: Final = 60
"""Requests after which a process adds its own to the shared count: writing each would cost more than answering it."""


class RequestRates:
    """Counts the requests of each session, in this process and, in steps, in the database for all processes."""

    def __init__(self, database: CortexDatabase) -> None:
        self._database = database
        self._lock = Lock()
        self._minute: datetime | None = None
        self._own: dict[str, int] = {}
        self._others: dict[str, int] = {}

    def count(self, session_id: str, now: datetime) -> None:
        """Count a request at ``now``; raise ``TooManyRequests`` once the session has made all of this minute."""
        end = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
        with self._lock:
            if end != self._minute:
                self._minute = end
                self._own.clear()
                self._others.clear()
            own = self._own[session_id] = self._own.get(session_id, 0) + 1
        if own % _SHARE == 0:
            with self._database.write() as db:
                total = add_to_rate(db, f"requests:{session_id}", _SHARE, end)
            self._others[session_id] = total - own
        if own + self._others.get(session_id, 0) > PER_MINUTE:
            raise too_many_requests(max(1, round((end - now).total_seconds())))
