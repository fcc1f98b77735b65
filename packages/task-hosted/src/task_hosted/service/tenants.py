"""Servers of tenants, which share no state between calls (HO-3), and the quota of each (HO-4)."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from task_core.errors import TaskError
from task_core.server.app import TaskServer
from task_core.store.collection import ListRow
from task_hosted.service.limits import make_refusal

__all__ = ["MAX_TENANTS", "Quota", "QuotaExceeded", "Tenants"]

MAX_TENANTS: Final = 1_000
"""Most servers to keep; an unused one makes room for another."""


class _Tenant:
    """The server of one tenant while it is kept."""

    def __init__(self, server: TaskServer) -> None:
        self.server = server
        self.manager = StreamableHTTPSessionManager(server.sdk, json_response=True, stateless=True)
        self.users = 0
        """Current requests, including streams."""
        self.is_open = anyio.Event()
        self.is_over = anyio.Event()

    async def live(self) -> None:
        async with self.manager.run():
            self.is_open.set()
            await self.is_over.wait()
        await anyio.to_thread.run_sync(self.server.close)


class Tenants:
    """The servers of the tenants, least recently used first; they exist while ``run`` does."""

    def __init__(self, build: Callable[[str], TaskServer], limit: int = MAX_TENANTS) -> None:
        """``build`` returns the server of a tenant; it must be fast."""
        self._build = build
        self._limit = limit
        self._kept: OrderedDict[str, _Tenant] = OrderedDict()
        self._tasks: TaskGroup | None = None
        self._is_ending = False

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Keep servers until the block ends."""
        async with anyio.create_task_group() as self._tasks:
            yield
            for tenant in self._kept.values():
                tenant.is_over.set()

    @asynccontextmanager
    async def use(self, name: str) -> AsyncIterator[StreamableHTTPSessionManager]:
        """Keep the server of a tenant while the block lasts, and yield its session manager.

        It raises ``Refusal`` if every server that is kept is in use.
        """
        tenant = self._kept.get(name) or self._add(name)
        self._kept.move_to_end(name)
        tenant.users += 1
        try:
            await tenant.is_open.wait()
            yield tenant.manager
        finally:
            tenant.users -= 1

    def end_streams(self) -> None:
        """End every stream of notifications with its final answer, including streams that open later."""
        self._is_ending = True
        for tenant in self._kept.values():
            tenant.server.end_streams()

    def close(self) -> None:
        """End every wait for the store; waiting calls fail."""
        for tenant in self._kept.values():
            tenant.server.close()

    def _add(self, name: str) -> _Tenant:
        if len(self._kept) >= self._limit:
            self._make_room()
        tenant = self._kept[name] = _Tenant(self._build(name))
        if self._is_ending:
            tenant.server.end_streams()
        assert self._tasks  # noqa: S101 - for the type checker: ``run`` has opened it
        self._tasks.start_soon(tenant.live)
        return tenant

    def _make_room(self) -> None:
        for name, tenant in self._kept.items():
            if not tenant.users:
                del self._kept[name]
                tenant.is_over.set()
                return
        raise make_refusal(503, "The server has as many users as it can have at a time: try again later.", 30)


class QuotaExceeded(TaskError):
    """A change would let a list grow beyond what its owner may keep."""

    def __init__(self, what: str, count: int, limit: int) -> None:
        """``what`` is what there would be too many of: ``tasks`` or ``bytes``."""
        super().__init__(
            f"This list may hold {limit:,} {what}, and would have {count:,}; remove or shorten tasks that nobody needs "
            "anymore, or ask the operator of the service for more room.",
            {"what": what, "count": count, "limit": limit},
        )


class Quota(NamedTuple):
    """Limits of one list; a list that exceeds them already, as after a change of its quota, may not grow."""

    records: int
    size: int
    """bytes of all records as they are stored"""

    def check(self, before: ListRow, after: ListRow) -> None:
        """Raise ``QuotaExceeded`` if the list has grown beyond the quota."""
        for what, old, new, limit in (
            ("tasks", before.number, after.number, self.records),
            ("bytes", before.size, after.size, self.size),
        ):
            if new > max(limit, old):
                raise QuotaExceeded(what, new, limit)
