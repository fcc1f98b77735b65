"""Access to the page: only the browser that was opened with the token, from this machine, from this page."""

import re
import secrets
from typing import Final

from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from task_board.language import choose_language
from task_core.server.transports.asgi import AllowedNames

__all__ = ["MAX_BODY", "Keys", "protect"]

MAX_BODY: Final = 16 * 1024 * 1024
"""Bytes that a form may have: it holds each text twice, and a Chinese character in it is nine bytes."""

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every answer."""

_PUBLIC: Final = "/static/"
"""The beginning of the paths of files that say nothing about tasks; the page that refuses somebody uses them too."""


class Keys:
    """The secrets of one run: the token in the link, and what the browser gets for it."""

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        # Browsers give a cookie to every port of a host. So each port has a name of its own; and a path that nobody
        # else knows, or whatever listens on another port, perhaps for another user, would be given this key.
        self._name = f"task-board-{port}"
        self.secret_path = f"/{secrets.token_urlsafe(16)}"
        """the path below which the browser sends what it got"""

    def admits(self, token: str) -> bool:
        """Return whether ``token`` is the one in the link."""
        return secrets.compare_digest(token.encode(), self.token.encode())

    def is_known(self, request: Request) -> bool:
        """Return whether a request comes from a browser that was opened with the link."""
        given = request.cookies.get(self._name, "")
        return secrets.compare_digest(given.encode(), self._session.encode())

    def set_cookie(self, response: Response) -> None:
        """Let the browser that gets ``response`` in, until it is closed."""
        response.set_cookie(self._name, self._session, path=self.secret_path, httponly=True, samesite="strict")


def protect(app: ASGIApp, port: int, keys: Keys) -> ASGIApp:
    """Return ``app`` for those who may use it; everybody else is refused before a body is read."""
    host = rf"(127\.0\.0\.1|localhost){'(:80)?' if port == 80 else f':{port}'}"  # browsers leave out :80
    names = AllowedNames(
        re.compile(host, re.IGNORECASE),
        re.compile(f"http://{host}", re.IGNORECASE),
        "Address this page as 127.0.0.1 or localhost.",
        "Only this page itself may use it.",
    )

    limited = RequestBodyLimitMiddleware(app, MAX_BODY)  # it reads the whole body first

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        refused = _refuse(Request(scope), keys) if scope["type"] == "http" else None
        await (refused or limited)(scope, receive, send)

    return _with_headers(names.check(handle))


def _refuse(request: Request, keys: Keys) -> Response | None:
    is_entrance = request.url.path == "/" and "token" in request.query_params
    # Older browsers do not say from where a request comes; they have the Origin of what changes something.
    is_foreign = request.headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}
    if request.url.path.startswith(_PUBLIC) or (is_entrance and request.method == "GET"):
        return None
    if is_foreign or not keys.is_known(request):
        language = choose_language(request.headers.get("accept-language", ""))
        return PlainTextResponse(language.say("page.link_needed"), 403)
    if request.method == "POST" and not _is_own(request):
        return PlainTextResponse("Only this page itself may change tasks.", 403)
    return None


def _is_own(request: Request) -> bool:
    """Return whether what changes something was sent by this page: no other can set this header, and its Origin."""
    host = request.headers["host"].lower()
    return request.headers.get("origin", "").lower() == f"http://{host}" and "hx-request" in request.headers


def _with_headers(app: ASGIApp) -> ASGIApp:
    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await app(scope, receive, answer if scope["type"] == "http" else send)

    return handle
