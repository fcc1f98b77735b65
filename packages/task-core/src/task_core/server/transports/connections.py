"""Connections that uvicorn accepts: each must send a request in time, and they leave files for everything else."""

import asyncio
import logging
import sys
from typing import ClassVar, Final, Self

from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["TimelyConnection", "count_files"]

_HEAD_SECONDS: Final = 10.0
"""Seconds in which the head of a request must arrive, from the connection's beginning or the head's first byte."""

_SHARE: Final = 2
"""One in so many files may be a connection."""

_LOG_SECONDS: Final = 10.0
"""Seconds between two lines of the log about too many connections."""

_log = logging.getLogger(__name__)


def count_files() -> int:
    """Return how many files this process may have open at a time, at most 65,536."""
    if sys.platform == "win32":  # pragma: no cover - Windows has no such limit
        return 65_536
    import resource  # noqa: PLC0415 - not on Windows

    return min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 65_536)


class TimelyConnection(H11Protocol):
    """A connection that is closed if the head of a request does not arrive in time.

    Once half of the files are connections, a new one takes the place of the one that has been silent the longest.
    """

    _silent: ClassVar[dict[Self, asyncio.TimerHandle]] = {}
    """Connections without a whole head, in the order of their deadlines."""
    _warned_at: ClassVar[float] = -_LOG_SECONDS

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._await_head()
        if len(self.connections) > count_files() / _SHARE:
            next(iter(self._silent)).drop()
            if self.loop.time() - TimelyConnection._warned_at >= _LOG_SECONDS:
                TimelyConnection._warned_at = self.loop.time()
                _log.warning("There are too many connections, so those that send nothing are closed.")

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()

    @override
    def handle_events(self) -> None:
        super().handle_events()
        self._await_head()

    def _await_head(self) -> None:
        # Between two requests, uvicorn's own timer runs until the first byte of the second one.
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering or self.timeout_keep_alive_task:
            self._stop_waiting()
        elif self not in self._silent:
            self._silent[self] = self.loop.call_later(_HEAD_SECONDS, self.drop)

    def drop(self) -> None:
        """Close the connection at once."""
        self._stop_waiting()
        self.transport.abort()

    def _stop_waiting(self) -> None:
        if timer := self._silent.pop(self, None):
            timer.cancel()
