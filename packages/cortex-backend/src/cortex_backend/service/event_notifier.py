"""Waiting for events: polling the database once a second serves everybody who waits (CX-45)."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from anyio.to_thread import run_sync

from cortex_backend.database import CortexDatabase
from cortex_backend.problems import Problem, too_many_requests
from cortex_backend.store.events import affected_users, newest_event_id

__all__ = ["MAX_WAITING", "EventNotifier"]

MAX_WAITING: Final = 1_000
"""The most requests that wait at the same time."""

_PAUSE: Final = 1.0
"""Seconds between two polls."""


class EventNotifier:
    """Wakes those who wait when there may be an event for them; used in one event loop.

    Waiting holds no connection to the database and no thread. Nothing is polled while nobody waits.
    """

    def __init__(self, database: CortexDatabase, pause: float = _PAUSE) -> None:
        self._database = database
        self._pause = pause
        self._waiting: defaultdict[int, set[asyncio.Event]] = defaultdict(set)
        self._count = 0
        self._poller: asyncio.Task[None] | None = None
        self._polls: set[asyncio.Task[tuple[int, set[int]]]] = set()
        self.is_ended: bool = False

    def end(self) -> None:
        """Wake everybody who waits, to read events for the last time."""
        self.is_ended = True
        for signals in self._waiting.values():
            for signal in signals:
                signal.set()

    async def close(self) -> None:
        """Wait until no poll uses the database any more."""
        if self._polls:
            await asyncio.wait(self._polls)

    @contextmanager
    def listen(self, user_id: int) -> Iterator[asyncio.Event]:
        """Yield a signal that is set when the user should read events again. Clear it first, then read, then wait.

        Raises:
            Problem: ``TooManyRequests`` if too many wait already.
        """
        if self._count >= MAX_WAITING:
            raise too_many_requests(int(self._pause) or 1)
        signal = asyncio.Event()
        self._waiting[user_id].add(signal)
        self._count += 1
        poller = self._poller = self._poller or asyncio.create_task(self._poll_events())
        try:
            yield signal
        finally:
            self._waiting[user_id].discard(signal)
            if not self._waiting[user_id]:
                del self._waiting[user_id]
            self._count -= 1
            if not self._count:
                poller.cancel()
                self._poller = None

    async def _poll_events(self) -> None:
        seen: int | None = None
        while True:
            try:
                # A poll goes on in its thread after everybody who waited for it has left: ``close`` must know of it.
                poll = asyncio.create_task(run_sync(self._news, seen))
                self._polls.add(poll)
                poll.add_done_callback(self._polls.discard)
                newest, users = await asyncio.shield(poll)
            except Problem:
                pass  # the database is out of reach; the waits end in time all the same
            else:
                # Those who read events before the first poll may have missed some.
                for user_id in [*self._waiting] if seen is None else users & self._waiting.keys():
                    for signal in self._waiting[user_id]:
                        signal.set()
                seen = newest
            await asyncio.sleep(self._pause)

    def _news(self, seen: int | None) -> tuple[int, set[int]]:
        with self._database.read() as session:
            newest = newest_event_id(session)
            return newest, set() if seen in (None, newest) else affected_users(session, seen or 0)
