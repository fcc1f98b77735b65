"""HTTP as every server here speaks it: names are checked, and bodies read strictly; without authentication (CLI-2)."""

import asyncio
import re
from typing import Final, NamedTuple

import anyio
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import check_accept_headers
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from task_core.server.app import TaskServer
from task_core.server.faults import SCOPE_KEY
from task_core.server.transports.connections import listen, say_where, serve
from task_core.server.transports.wire import MAX_MESSAGE, TOO_LONG, Incoming, find_id, read_message, refusal

__all__ = ["MESSAGE_KEY", "PATH", "AllowedNames", "read_strictly", "run_http"]

PATH: Final = "/mcp"
"""The path at which the protocol is served, or how it ends."""

MESSAGE_KEY: Final = "task_core.message"
"""The key in the scope of a request under which its message is once it was read."""

_BODY_SECONDS: Final = 10.0
"""Seconds in which a body must arrive (HO-4)."""

_REFUSALS: Final = {
    406: "Accept application/json, and text/event-stream for notifications.",
    408: "The body of the request did not arrive in time: send it again.",
    413: TOO_LONG,
}
"""The statuses that refuse a request unread, and what their answers say."""


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


_AUTHORITY: Final = r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?"

_NAMES: Final = AllowedNames(
    re.compile(_AUTHORITY, re.ASCII | re.IGNORECASE),
    re.compile(f"http://{_AUTHORITY}", re.ASCII | re.IGNORECASE),
    "Address this server as 127.0.0.1, localhost or [::1].",
    "Only pages of this machine may call this server.",
)
"""The names of this machine."""


def read_strictly(app: ASGIApp) -> ASGIApp:
    """Return ``app`` behind the checks of a body: its size and time, and that it is a message.

    A faulty tool call is marked. The message is in the scope, under ``MESSAGE_KEY``. A request without the header
    Accept takes any answer, as HTTP has it; the SDK would refuse it.
    """

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            # A stream of a session, which would stay silent, is neither opened nor ended.
            refused = PlainTextResponse("Send POST: this server keeps no sessions.", 405, {"Allow": "POST"})
            return await refused(scope, receive, send)
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
    """Return the body and 0, or its beginning and the status that refuses it, or raise ``ClientDisconnect``."""
    body = bytearray()
    if int(request.headers.get("content-length", 0)) > MAX_MESSAGE:
        return bytes(body), 413
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > MAX_MESSAGE:
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
