"""Follows the events of the backend while a client wants to know of changes (CX-92)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Final

from pydantic import JsonValue

from cortex_mcp.errors import RunnerClosed
from cortex_mcp.finder import parse_answer
from task_core.errors import TaskError
from task_core.warning_list import WarningList

__all__ = ["FIRST_PAUSE", "LONGEST_PAUSE", "EventWatch"]

FIRST_PAUSE: Final = 1.0
"""Seconds until the events are followed again; twice as many each time that nothing came."""

LONGEST_PAUSE: Final = 30.0
"""Seconds that such a pause has at most."""

_CAUSE: Final = "events"
"""The subject of the warning, which is given once until events come again."""

_log = logging.getLogger(__name__)


class EventWatch:
    """Runs ``ctx events --follow`` only while somebody wants events, and restarts it if it ends.

    ``notify`` is ``TaskServer.changed``, or takes what it takes.
    """

    def __init__(
        self,
        follow: Callable[[int | None], AsyncIterator[bytes]],
        notify: Callable[..., Awaitable[None]],
        warnings: WarningList,
    ) -> None:
        self._follow = follow
        self._notify = notify
        self._warnings = warnings
        self._last: int | None = None
        """The number of the last event."""
        self._pause = FIRST_PAUSE
        self._watching: asyncio.Task[None] | None = None

    def on_subscribers_changed(self, is_wanted: bool) -> None:  # noqa: FBT001 - the core calls it so
        """Begin or end; this returns at once."""
        if is_wanted:
            self._last, self._pause = None, FIRST_PAUSE
            self._begin(0)
        elif self._watching is not None:
            self._watching.cancel()

    def _begin(self, pause: float) -> None:
        self._watching = asyncio.get_running_loop().create_task(self._watch(pause))
        self._watching.add_done_callback(self._on_ended)

    async def _watch(self, pause: float) -> None:
        await asyncio.sleep(pause)
        async with aclosing(self._follow(self._last)) as lines:  # pyrefly: ignore  # it is a generator
            async for line in lines:
                await self._handle(parse_answer(line))

    def _on_ended(self, ended: asyncio.Task[None]) -> None:
        """Begin again after a pause, whatever ended it, unless nobody listens or the server ends."""
        error = None if ended.cancelled() else ended.exception()
        if ended.cancelled() or isinstance(error, RunnerClosed):
            return
        if error is not None:
            self._warn(error.code if isinstance(error, TaskError) else type(error).__name__)
        self._begin(self._pause)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    async def _handle(self, event: dict[str, JsonValue] | None) -> None:
        if event is None:
            return
        if event.get("success") is False:
            self._warn(str(event.get("code")))
            return
        number, task_id = event.get("id"), event.get("task_id")
        self._pause = FIRST_PAUSE
        self._warnings.settle(_CAUSE)
        if isinstance(number, int):
            self._last = number
        ids = (str(task_id),) if isinstance(task_id, int) else ()
        await self._notify(*ids, resized=event.get("kind") == "task_created")

    def _warn(self, code: str) -> None:
        _log.info("events: %s", code)
        self._warnings.add(_CAUSE, f"Clients are not notified of changes at present ({code[:100]}).")
