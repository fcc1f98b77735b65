"""The streamable HTTP transport without authentication, for this machine only (CLI-2)."""

import re
from typing import Final

import anyio
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from task_core.server.app import TaskServer
from task_core.server.transports.asgi import PATH, AllowedNames, listen, read_strictly, say_where, serve

__all__ = ["run_http"]

_AUTHORITY: Final = r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?"

_NAMES: Final = AllowedNames(
    re.compile(_AUTHORITY, re.ASCII | re.IGNORECASE),
    re.compile(f"http://{_AUTHORITY}", re.ASCII | re.IGNORECASE),
    "Address this server as 127.0.0.1, localhost or [::1].",
    "Only pages of this machine may call this server.",
)
"""The names of this machine."""


def run_http(server: TaskServer, host: str, port: int) -> None:
    """Serve at ``http://host:port/mcp`` until SIGTERM, SIGINT or SIGHUP comes.

    Requests are then still answered, for a second at most. Streams of notifications end at once. Before the last
    requests are abandoned, ``server`` is closed, perhaps twice, which must end their waits.

    Raises:
        BadSettings: the address cannot be used.
    """
    with listen(host, port) as listener:
        say_where(listener, PATH)
        anyio.run(serve, _build_app(server.sdk), listener, server)


def _build_app(server: Server[None]) -> ASGIApp:
    """Return the ASGI application: the protocol at ``/mcp``, and ``/healthz``, with Host and Origin checked."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        custom_starlette_routes=[Route("/healthz", _healthz)],
    )
    app.router.redirect_slashes = False
    protocol = _NAMES.let_pages_read(read_strictly(app))

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        is_protocol = scope["type"] == "http" and scope["path"] == PATH
        await (protocol if is_protocol else app)(scope, receive, send)

    return _NAMES.check(handle)


async def _healthz(_: Request) -> Response:
    return JSONResponse({"ok": True})
