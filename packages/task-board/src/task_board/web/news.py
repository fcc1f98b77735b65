"""Reports changes to open pages within a second, whoever made them (EN-20)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final

import anyio
from anyio import to_thread

from task_board.stores import BoardStore

__all__ = ["News"]

_SECONDS: Final = 0.5
"""Seconds between two checks of a store while a page is open."""

_QUIET: Final = 15.0
"""Seconds without news after which a page hears that the connection is still there."""


class News:
    """Checks the stores while somebody has the page open, and reports changes to every page."""

    def __init__(self, stores: Sequence[BoardStore]) -> None:
        self._stores = stores
        self._pages: set[asyncio.Queue[str]] = set()
        self._is_wanted = asyncio.Event()

    async def watch(self) -> None:
        """Check the stores until this is cancelled; a slow one delays no other."""
        async with anyio.create_task_group() as tasks:
            for store in self._stores:
                tasks.start_soon(self._watch_one, store)

    async def listen(self) -> AsyncIterator[str]:
        """Yield events for one page until ``close``: the keys of stores that have changed."""
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._pages.add(queue)
        self._is_wanted.set()
        try:
            yield "retry: 1000\n\n"
            while True:
                try:
                    key = await asyncio.wait_for(queue.get(), _QUIET)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                if not key:
                    return
                yield f"event: changed\ndata: {key}\n\n"
        finally:
            self._pages.discard(queue)
            if not self._pages:
                self._is_wanted.clear()

    def report(self, key: str) -> None:
        """Report to every page that the store with this key has changed."""
        for queue in self._pages:
            queue.put_nowait(key)

    def close(self) -> None:
        """End every stream."""
        self.report("")

    async def _watch_one(self, store: BoardStore) -> None:
        seen: object = None
        while True:
            await self._is_wanted.wait()
            now = await to_thread.run_sync(store.fingerprint)
            if now != seen:
                self.report(store.key)
            seen = now
            await anyio.sleep(_SECONDS)
