"""The streamable HTTP transport: strict bodies in front of the SDK's own transport, for this machine only (CLI-2)."""

import logging
import os
import re
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import RequestBodyLimitMiddleware, TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from task_core.early import BadSettings
from task_core.server.app import TaskServer
from task_core.server.faults import SCOPE_KEY
from task_core.server.wire import WAITERS, Incoming, read_message, stop_signal

__all__ = ["run_http"]

_PATH: Final = "/mcp"
"""The path at which the protocol is served."""

_AUTHORITY: Final = r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?"
"""The names that a client may use for this machine; with another one, a web page could use it for somebody else."""

_HOST: Final = re.compile(_AUTHORITY, re.ASCII | re.IGNORECASE)
"""The accepted values of Host."""

_ORIGIN: Final = re.compile(f"http://{_AUTHORITY}", re.ASCII | re.IGNORECASE)
"""The accepted values of Origin, if there is one: only browsers send it."""

_MAX_BODY: Final = 4 * 1024 * 1024
"""Bytes that a request may have: the limit of the SDK's own servers."""

_ONLY_POST: Final = PlainTextResponse("Send POST: this server keeps no sessions.", 405, {"Allow": "POST"})
"""The answer that refuses to open or end a session's stream; such a stream would stay silent."""

_GRACE: Final = 1
"""Whole seconds that requests may take once the server ends, before uvicorn cancels them."""


def run_http(server: TaskServer, host: str, port: int) -> None:
    """Serve at ``http://host:port/mcp`` until SIGTERM, SIGINT or SIGHUP comes.

    Requests are then still answered, for a second at most. Streams of notifications end at once. Before the last
    requests are abandoned, ``server`` is closed, perhaps twice, which must end their waits.

    Raises:
        BadSettings: the address cannot be used.
    """
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise BadSettings(f"--host {host} --port {port} cannot be used: {os.strerror(error.errno or 0)}") from None
    with listener:
        name, number = listener.getsockname()[:2]
        sys.stderr.write(f"Serving at http://{f'[{name}]' if ':' in name else name}:{number}{_PATH}\n")
        anyio.run(_serve, server, listener)


def _http_app(server: Server[None]) -> ASGIApp:
    """Return the ASGI application: the protocol at ``/mcp``, and ``/healthz``, with Host and Origin checked."""
    app = server.streamable_http_app(
        streamable_http_path=_PATH,
        stateless_http=True,
        json_response=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        custom_starlette_routes=[Route("/healthz", _healthz)],
    )
    return _refuse_foreign(RequestBodyLimitMiddleware(_strict(app), _MAX_BODY))


class _HttpServer(uvicorn.Server):
    """Leaves signals to us: uvicorn would raise them again at its end, and they would set the exit status."""

    @contextmanager
    @override
    def capture_signals(self) -> Generator[None, None, None]:
        yield


async def _serve(server: TaskServer, listener: socket.socket) -> None:
    config = uvicorn.Config(
        _http_app(server.sdk),
        lifespan="on",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
    )
    http_server = _HttpServer(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_after_signal, http_server, server)
        await http_server.serve(sockets=[listener])
        tasks.cancel_scope.cancel()
    server.close()


async def _end_after_signal(http_server: uvicorn.Server, server: TaskServer) -> None:
    await stop_signal()
    # A request that is cancelled at the end never sent its body; a traceback for it would help nobody.
    logging.getLogger("uvicorn.error").disabled = True
    http_server.should_exit = True
    server.end_streams()
    await anyio.sleep(_GRACE - WAITERS)
    server.close()


def _refuse_foreign(app: ASGIApp) -> ASGIApp:
    """Check every Host and Origin, on every path, and before a body is read: the SDK checks only the first one."""

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        refused = _answer_foreign(Headers(scope=scope)) if scope["type"] == "http" else None
        await (refused or app)(scope, receive, send)

    return handle


def _answer_foreign(headers: Headers) -> Response | None:
    hosts, origins = headers.getlist("host"), headers.getlist("origin")
    if not hosts or not all(map(_HOST.fullmatch, hosts)):
        return PlainTextResponse("Address this server as 127.0.0.1, localhost or [::1].", status_code=421)
    if not all(map(_ORIGIN.fullmatch, origins)):
        return PlainTextResponse("Only pages of this machine may call this server.", status_code=403)
    return None


def _strict(app: ASGIApp) -> ASGIApp:
    """Refuse what is not a message, and mark a tool call whose text has a fault."""

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != _PATH:
            return await app(scope, receive, send)
        if scope["method"] != "POST":
            return await _ONLY_POST(scope, receive, send)
        body = await Request(scope, receive).body()
        message = read_message(body)
        if not isinstance(message, Incoming):
            error = JSONResponse(message.model_dump(by_alias=True, exclude_unset=True)) if message else Response()
            error.status_code = 400
            return await error(scope, receive, send)
        if message.offence:
            body = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        return await app({**scope, SCOPE_KEY: message.offence}, _make_replay(body, receive), send)

    return handle


def _make_replay(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


async def _healthz(_: Request) -> Response:
    return JSONResponse({"ok": True})
