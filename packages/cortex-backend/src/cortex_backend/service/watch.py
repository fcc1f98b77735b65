"""Waiting for events: one look at the database a second serves all who wait (CX-45)."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from anyio.to_thread import run_sync

from cortex_backend.database import CortexDatabase
from cortex_backend.problems import Problem, too_many_requests
from cortex_backend.store.events import affected_users, newest_event_id

__all__ = ["MAX_WAITING", "EventLookout"]

MAX_WAITING: Final = 1_000
"""Requests that wait at a time."""

_PAUSE: Final = 1.0
"""Seconds between two looks."""


class EventLookout:
    """Wakes whoever waits when there may be an event for them; used in one event loop.

    Waiting holds no connection to the database and no thread. There is no look while nobody waits.
    """

    def __init__(self, database: CortexDatabase, pause: float = _PAUSE) -> None:
        self._database = database
        self._pause = pause
        self._waiting: defaultdict[int, set[asyncio.Event]] = defaultdict(set)
        self._count = 0
        self._looker: asyncio.Task[None] | None = None
        self._looks: set[asyncio.Task[tuple[int, set[int]]]] = set()
        self.is_ended: bool = False

    def end(self) -> None:
        """Wake whoever waits, to look for the last time."""
        self.is_ended = True
        for signals in self._waiting.values():
            for signal in signals:
                signal.set()

    async def close(self) -> None:
        """Wait until no look uses the database any more."""
        if self._looks:
            await asyncio.wait(self._looks)

    @contextmanager
    def listen(self, user_id: int) -> Iterator[asyncio.Event]:
        """Yield what is set whenever the user should look again. Clear it first, then look, then wait.

        Raises:
            Problem: ``TooManyRequests`` if too many wait already.
        """
        if self._count >= MAX_WAITING:
            raise too_many_requests(int(self._pause) or 1)
        signal = asyncio.Event()
        self._waiting[user_id].add(signal)
        self._count += 1
        looker = self._looker = self._looker or asyncio.create_task(self._look())
        try:
            yield signal
        finally:
            self._waiting[user_id].discard(signal)
            if not self._waiting[user_id]:
                del self._waiting[user_id]
            self._count -= 1
            if not self._count:
                looker.cancel()
                self._looker = None

    async def _look(self) -> None:
        seen: int | None = None
        while True:
            try:
                # A look goes on in its thread after whoever waited for it has left: ``close`` must know of it.
                look = asyncio.create_task(run_sync(self._news, seen))
                self._looks.add(look)
                look.add_done_callback(self._looks.discard)
                newest, users = await asyncio.shield(look)
            except Problem:
                pass  # the database is out of reach; whoever waits is answered in the end all the same
            else:
                # What happened before the first look may have been missed by those who looked before it.
                for user_id in [*self._waiting] if seen is None else users & self._waiting.keys():
                    for signal in self._waiting[user_id]:
                        signal.set()
                seen = newest
            await asyncio.sleep(self._pause)

    def _news(self, seen: int | None) -> tuple[int, set[int]]:
        with self._database.read() as session:
            newest = newest_event_id(session)
            return newest, set() if seen in (None, newest) else affected_users(session, seen or 0)
