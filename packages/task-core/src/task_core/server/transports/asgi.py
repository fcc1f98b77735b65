"""HTTP as every server here speaks it: it checks names, reads bodies strictly, and ends in time."""

import asyncio
import logging
import os
import re
import socket
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Final, NamedTuple, Protocol

import anyio
import anyio.lowlevel
import uvicorn
from mcp.server.streamable_http import check_accept_headers
from mcp_types import INVALID_REQUEST
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from task_core.bootstrap import BadSettings
from task_core.server.faults import SCOPE_KEY
from task_core.server.transports.connections import TimelyConnection, count_files
from task_core.server.transports.wire import WAITERS, Incoming, find_id, read_message, refusal, stop_signal

__all__ = [
    "MAX_BODY",
    "MESSAGE_KEY",
    "PATH",
    "AllowedNames",
    "Service",
    "listen",
    "read_strictly",
    "say_where",
    "serve",
]

PATH: Final = "/mcp"
"""The path at which the protocol is served, or how it ends."""

MAX_BODY: Final = 4 * 1024 * 1024
"""Bytes that a request may have: the limit of the SDK's own servers."""

MESSAGE_KEY: Final = "task_core.message"
"""The key in the scope of a request under which its message is once it was read."""

_ONLY_POST: Final = PlainTextResponse("Send POST: this server keeps no sessions.", 405, {"Allow": "POST"})
"""The answer that refuses to open or end a session's stream; such a stream would stay silent."""

_BODY_SECONDS: Final = 10.0
"""Seconds in which a body must arrive (HO-4)."""

_REFUSALS: Final = {
    406: "Accept application/json, and text/event-stream for notifications.",
    408: "The body of the request did not arrive in time: send it again.",
    413: f"Send messages of at most {MAX_BODY:,} bytes.",
}
"""The statuses that refuse a request unread, and what their answers say."""

_BACKLOG: Final = 128
"""Connections that may wait to be accepted. All of them are accepted together, so they must not need too many files."""

_GRACE: Final = 1
"""Whole seconds that requests may take once the server ends, before uvicorn cancels them."""


class Service(Protocol):
    """A service that can be told to end."""

    def end_streams(self) -> None:
        """End every stream of notifications with its final answer."""

    def close(self) -> None:
        """End every wait for the store; waiting calls fail."""


class AllowedNames(NamedTuple):
    """The names by which clients may address the server, and the pages that may call it."""

    hosts: re.Pattern[str]
    """matches the accepted values of Host: with another one, a web page could use the server for somebody else"""
    origins: re.Pattern[str]
    """matches the accepted values of Origin, if there is one: only browsers send it"""
    host_advice: str
    origin_advice: str

    def check(self, app: ASGIApp, exempt: frozenset[str] = frozenset()) -> ASGIApp:
        """Return ``app`` with every Host and Origin checked before a body is read, but for the ``exempt`` paths.

        The SDK checks only the first of each. A path that ends with a newline is refused too.
        """

        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            is_checked = scope["type"] == "http" and scope["path"] not in exempt
            refused = self._refuse(scope["path"], Headers(scope=scope)) if is_checked else None
            await (refused or app)(scope, receive, send)

        return handle

    def let_pages_read(self, app: ASGIApp) -> ASGIApp:
        """Return ``app`` with leave for pages of the allowed origins to send POST and to read the answers (CORS)."""
        return CORSMiddleware(
            app,
            allow_methods=["POST"],
            allow_headers=["*"],
            allow_origin_regex=f"(?i:{self.origins.pattern})",
            expose_headers=["WWW-Authenticate", "Retry-After", "X-Request-Id"],
        )

    def _refuse(self, path: str, headers: Headers) -> Response | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if not hosts or not all(map(self.hosts.fullmatch, hosts)):
            return PlainTextResponse(self.host_advice, status_code=421)
        if not all(map(self.origins.fullmatch, origins)):
            return PlainTextResponse(self.origin_advice, status_code=403)
        # The patterns of Starlette's routes match before a final newline, too.
        return PlainTextResponse("Not Found", status_code=404) if path.endswith("\n") else None


def read_strictly(app: ASGIApp) -> ASGIApp:
    """Return ``app`` behind the checks of a body: its size and time, and that it is a message.

    A faulty tool call is marked. The message is in the scope, under ``MESSAGE_KEY``. A request without the header
    Accept takes any answer, as HTTP has it; the SDK would refuse it.
    """

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            return await _ONLY_POST(scope, receive, send)
        request = Request(scope, receive)
        try:
            body, status = await _read_body(request)
        except ClientDisconnect:
            return None  # nobody is there to answer, and a traceback would help nobody
        if status:
            message = refusal(INVALID_REQUEST, _REFUSALS[status], find_id(body, is_whole=status == 406))
        else:
            message = read_message(body)
        if not isinstance(message, Incoming):
            answer = JSONResponse(message.model_dump(by_alias=True, exclude_unset=True)) if message else Response()
            answer.status_code = status or 400
            if status in {408, 413}:
                answer.headers["Connection"] = "close"  # the rest of the body may come at any time
            return await answer(scope, receive, send)
        if message.offence:
            body = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        accept = () if "accept" in request.headers else ((b"accept", b"*/*"),)
        read = {**scope, "headers": [*scope["headers"], *accept]}
        read |= {SCOPE_KEY: message.offence, MESSAGE_KEY: message.message}
        return await app(read, _make_replay(body, receive), send)

    return handle


async def _read_body(request: Request) -> tuple[bytes, int]:
    """Return the body and 0, or its beginning and the status that refuses it.

    Raises:
        ClientDisconnect: the client has left.
    """
    body = bytearray()
    if int(request.headers.get("content-length", 0)) > MAX_BODY:
        return bytes(body), 413
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > MAX_BODY:
                    return bytes(body), 413
    except TimeoutError:
        return bytes(body), 408
    is_acceptable = "accept" not in request.headers or check_accept_headers(request)[0]
    return bytes(body), 0 if is_acceptable else 406


def _make_replay(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        BadSettings: the address cannot be used.
    """
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
        backlog=max(1, min(_BACKLOG, count_files() // 8)),
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
