"""Progress of a call, sent while it runs to the client that asked for it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Final, TypeVar

import anyio
from mcp.server.context import ServerRequestContext

__all__ = ["SEND_SECONDS", "report_progress", "stream_progress"]

ResultT = TypeVar("ResultT")

SEND_SECONDS: Final = 0.1
"""Seconds between two notifications about one call."""

_reports: ContextVar[list[tuple[int, int]] | None] = ContextVar("_reports", default=None)
"""The last report of a call whose client asked for its progress."""


def report_progress(done: int, total: int) -> None:
    """Let the client know how much of the call that runs in this thread is ``done``, if it asked."""
    reports = _reports.get()
    if reports is not None:
        reports[:] = [(done, total)]


@asynccontextmanager
async def stream_progress(
    context: ServerRequestContext[None], work: Callable[[], ResultT]
) -> AsyncIterator[Callable[[], ResultT]]:
    """Yield the ``work`` of a call, for any thread; its last report is sent at most ten times a second."""
    reports: list[tuple[int, int]] = []
    variables = copy_context()
    variables.run(_reports.set, reports)
    sender = asyncio.create_task(_send(context, reports))
    try:
        yield partial(variables.run, work)
    finally:
        sender.cancel()


async def _send(context: ServerRequestContext[None], reports: list[tuple[int, int]]) -> None:
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the client is gone
        while True:
            await asyncio.sleep(SEND_SECONDS)
            while reports:
                await context.session.report_progress(*reports.pop())
