"""Connections that uvicorn accepts, each of which must send a request in time, and how they begin and end."""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import ClassVar, Final, Protocol, Self

import anyio
import anyio.lowlevel
import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from task_core.bootstrap import BadSettings
from task_core.server.transports.wire import WAITERS, stop_signal

__all__ = ["Service", "TimelyConnection", "count_files", "listen", "say_where", "serve"]

_HEAD_SECONDS: Final = 10.0
"""Seconds in which the head of a request must arrive, from the connection's beginning or the head's first byte."""

_SHARE: Final = 2
"""One in so many files may be a connection."""

_LOG_SECONDS: Final = 10.0
"""Seconds between two lines of the log about too many connections."""

_GRACE: Final = 1
"""Whole seconds that requests may take once the server ends, before uvicorn cancels them."""

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


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or raise ``BadSettings`` if the address cannot be used."""
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise BadSettings(f"{_join(host, port)} cannot be used: {os.strerror(error.errno or 0)}") from None
    # Connections inherit it; otherwise the body of each answer would wait until the client acknowledges its head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def say_where(listener: socket.socket, path: str) -> None:
    """Write to stderr the URL at which a server listens."""
    sys.stderr.write(f"Serving at http://{_join(*listener.getsockname()[:2])}{path}\n")


def _join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Service(Protocol):
    """A service that can be told to end."""

    def end_streams(self) -> None:
        """End every stream of notifications with its final answer."""

    def close(self) -> None:
        """End every wait for the store; waiting calls fail."""


class _HttpServer(uvicorn.Server):
    """Leaves signals to us: uvicorn would raise them again at its end, and they would set the exit status."""

    @contextmanager
    @override
    def capture_signals(self) -> Generator[None, None, None]:
        yield


async def serve(
    app: ASGIApp,
    listener: socket.socket,
    service: Service,
    *,
    drain: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint,
    keep_alive: int = 5,
) -> None:
    """Serve ``app`` until SIGTERM, SIGINT or SIGHUP comes, and while ``drain`` then takes.

    After that, requests are answered for a second at most, and streams end at once. Before the last requests are
    abandoned, ``service`` is closed, perhaps twice. An idle connection is kept for ``keep_alive`` seconds.
    """
    config = uvicorn.Config(
        app,
        http=TimelyConnection,
        backlog=max(1, min(128, count_files() // 8)),  # all are accepted together, and must not need too many files
        lifespan="on",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=keep_alive,
        timeout_graceful_shutdown=_GRACE,
    )
    http_server = _HttpServer(config)

    async def end_after_signal() -> None:
        await stop_signal()
        await drain()
        # A request that is cancelled at the end never sent its body; a traceback for it would help nobody.
        logging.getLogger("uvicorn.error").disabled = True
        http_server.should_exit = True
        service.end_streams()
        await anyio.sleep(_GRACE - WAITERS)
        service.close()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(end_after_signal)
        await http_server.serve(sockets=[listener])
        tasks.cancel_scope.cancel()
    service.close()
