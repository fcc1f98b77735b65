"""Clients that are notified of changes, and a clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Self

import anyio.lowlevel
import pytest
from mcp.client import Client
from mcp.client.subscriptions import Subscription
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp_types import ResourceListChangedNotification, ResourceUpdatedNotification

from task_core.server.app import TaskServer
from tests.core.notes import DEADLINE

__all__ = ["Clock", "Told", "following", "let_others_run", "older", "until"]


async def until(condition: Callable[[], object]) -> None:
    """Let others run until ``condition`` holds, whatever the clock of the event loop says meanwhile."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "what the test waits for never came"
        _let_threads_run()
        await anyio.lowlevel.checkpoint()


def _let_threads_run() -> None:
    time.sleep(0.0005)  # a loop that never waits keeps the interpreter from every other thread


async def let_others_run(turns: int = 1_000) -> None:
    """Give everybody else in the event loop so many turns."""
    for _ in range(turns):
        await anyio.lowlevel.checkpoint()


class Clock:
    """The clock of an event loop: it stands still until it is moved to a moment that somebody waits for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.now = loop.time()
        self._call_at = loop.call_at
        self._timers: list[asyncio.TimerHandle] = []

    @classmethod
    def put_into(cls, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> Self:
        """Return the clock that ``loop`` goes by from now on."""
        made = cls(loop)
        monkeypatch.setattr(loop, "time", made.time)
        monkeypatch.setattr(loop, "call_at", made.call_at)
        return made

    def time(self) -> float:
        return self.now

    def call_at(
        self, when: float, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = self._call_at(when, callback, *args, context=context)
        self._timers.append(handle)
        return handle

    async def move(self, seconds: float) -> None:
        """Go on by so many seconds once somebody waits for just that moment."""
        then = self.now + seconds
        await until(lambda: any(timer.when() == then and not timer.cancelled() for timer in self._timers))
        self.now = then


class Told:
    """A client of the older era and its notifications, in order."""

    def __init__(self) -> None:
        self.events: list[ServerEvent] = []
        self.client: Client

    async def hear(self, message: object) -> None:
        """Take in a message that answers no request."""
        if isinstance(message, ResourceUpdatedNotification):
            self.events.append(ResourceUpdated(message.params.uri))
        elif isinstance(message, ResourceListChangedNotification):
            self.events.append(ResourcesListChanged())

    async def call(self, tool: str, name: str) -> None:
        """Call a tool."""
        await self.client.call_tool(tool, {"name": name})

    async def next(self, count: int) -> list[ServerEvent]:
        """Return the next events; they must come."""
        await until(lambda: len(self.events) >= count)
        told, self.events = self.events[:count], self.events[count:]
        return told


@asynccontextmanager
async def older(server: TaskServer, *uris: str) -> AsyncIterator[Told]:
    """Yield a client of the older era that is subscribed to these URIs."""
    told = Told()
    async with Client(server.sdk, mode="legacy", message_handler=told.hear) as told.client:
        for uri in uris:
            await told.client.subscribe_resource(uri)
        yield told


async def following(subscription: Subscription, count: int) -> list[ServerEvent]:
    """Return the next events of a stream; they must come."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(_following(subscription, count))
        await until(task.done)
        return task.result()


async def _following(subscription: Subscription, count: int) -> list[ServerEvent]:
    return [await anext(subscription) for _ in range(count)]
