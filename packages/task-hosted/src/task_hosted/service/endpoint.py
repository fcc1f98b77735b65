"""The endpoint of the protocol: it checks every request and passes it to the server of its tenant (HO-2 to HO-4).

The order of checks: token, limits of the tenant, body, message, scope, limit of the replica.
"""

import asyncio
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import anyio
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.auth.provider import AccessToken
from mcp_types import JSONRPCRequest, RequestId
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import Message, Receive, Scope, Send

from task_core.server.transports.asgi import MESSAGE_KEY, read_strictly
from task_core.server.transports.wire import find_id
from task_hosted.service.limits import Limits, Refusal, make_challenge, make_refusal
from task_hosted.service.tenants import Tenants
from task_hosted.service.tokens import READ_SCOPE, TENANT, WRITE_SCOPE, IssuerUnreachable
from task_hosted.service.tool_calls import request_id

__all__ = ["ProtocolEndpoint"]

_PART_SECONDS: Final = 1.0
"""Seconds in which the first part of a body must arrive, to be answered with its id if the request is refused."""

_ANSWER_SECONDS: Final = 10.0
"""Seconds in which a client must take each part of an answer that is not a stream (HO-4)."""

_LISTEN: Final = "subscriptions/listen"
"""The method whose answer is a stream, as the header ``Mcp-Method`` names it before the body is read."""

_PLAIN_ID: Final = re.compile(r"[\w.:-]{1,64}", re.ASCII)
"""Request names to accept from a proxy; any other text could forge a line of the log."""


class ProtocolEndpoint:
    """Passes requests to the servers of their tenants, or refuses them."""

    def __init__(
        self,
        backend: BearerAuthBackend,
        metadata_url: str,
        limits: Limits,
        tenants: Tenants,
        is_read_only: Callable[[str], bool],
    ) -> None:
        """``metadata_url`` says where to get tokens; ``is_read_only`` returns whether a tool changes nothing."""
        self._backend = backend
        self._make_challenge = partial(make_challenge, metadata_url)
        self._limits = limits
        self._tenants = tenants
        self._is_read_only = is_read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        given = Headers(scope=scope).get("x-request-id", "")
        name = given if _PLAIN_ID.fullmatch(given) else secrets.token_hex(8)
        request_id.set(name)

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["X-Request-Id"] = name
            await send(message)

        beginning = _Beginning(receive)
        try:
            await self._admit(scope, beginning.receive, send_named)
        except Refusal as refused:
            response = refused.respond(await beginning.find_id())
            await response(scope, receive, send_named)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = await self._identify(HTTPConnection(scope))
        with self._limits.admit(_tenant_of(caller), is_stream=_is_stream(scope)):
            answer = send if _is_stream(scope) else _drop_late(send)
            await read_strictly(partial(self._hand_over, caller))(scope, receive, answer)

    async def _identify(self, connection: HTTPConnection) -> AccessToken:
        tokens = connection.headers.getlist("authorization")
        try:
            found = await self._backend.authenticate(connection) if len(tokens) == 1 else None
        except IssuerUnreachable:
            raise make_refusal(503, "Tokens cannot be verified at the moment: try again soon.", 1) from None
        if not tokens:
            raise self._make_challenge(401, "Send a token of the issuer in the header Authorization.")
        if found is None:
            raise self._refuse_token()
        return found[1].access_token

    def _refuse_token(self) -> Refusal:
        return self._make_challenge(401, "The token is not valid for this server.", error="invalid_token")

    async def _hand_over(self, caller: AccessToken, scope: Scope, receive: Receive, send: Send) -> None:
        message = scope[MESSAGE_KEY]
        is_stream = _is_stream(scope)
        if is_stream and getattr(message, "method", None) != _LISTEN:
            raise Refusal(400, "The header Mcp-Method must name the method of the message.")
        needed = self._find_scope(message)
        if needed not in caller.scopes:
            raise self._make_challenge(403, f"This needs the scope {needed}.", error="insufficient_scope", scope=needed)
        with self._limits.occupy(is_stream=is_stream):
            async with self._tenants.use(_tenant_of(caller)) as manager:
                if not is_stream:
                    await manager.handle_request(scope, receive, send)
                elif not await _end_with_token(manager.handle_request, caller, (scope, receive, send)):
                    raise self._refuse_token()

    def _find_scope(self, message: object) -> str:
        if isinstance(message, JSONRPCRequest) and message.method == "tools/call":
            tool = (message.params or {}).get("name")
            return READ_SCOPE if not isinstance(tool, str) or self._is_read_only(tool) else WRITE_SCOPE
        return READ_SCOPE


class _Beginning:
    """The first part of a body, kept for the answer that refuses the request."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._part: Message | None = None

    async def receive(self) -> Message:
        """Return the next part of the request."""
        message = await self._receive()
        self._part = self._part or message
        return message

    async def find_id(self) -> RequestId | None:
        """Return the id of the message in the body, if that is plain in a first part which is there already."""
        with anyio.move_on_after(_PART_SECONDS):
            part = self._part or await self.receive()
            return find_id(part.get("body", b""), is_whole=not part.get("more_body", False))
        return None


def _drop_late(send: Send) -> Send:
    """Return ``send`` for an answer that is dropped once its client does not take a part of it in time."""
    is_dropped = False

    async def send_in_time(message: Message) -> None:
        nonlocal is_dropped
        if not is_dropped:
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    await send(message)
            except TimeoutError:
                is_dropped = True

    return send_in_time


async def _end_with_token(
    app: Callable[[Scope, Receive, Send], Awaitable[None]], caller: AccessToken, request: tuple[Scope, Receive, Send]
) -> bool:
    """Serve a stream until its token expires.

    Return whether the stream began before that.
    """
    scope, receive, send = request
    is_begun = False

    async def send_noting(message: Message) -> None:
        nonlocal is_begun
        is_begun = True
        await send(message)

    with anyio.move_on_after((caller.expires_at or 0) - time.time()) as life:
        await app(scope, receive, send_noting)
    if life.cancelled_caught and is_begun:
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    return is_begun


def _is_stream(scope: Scope) -> bool:
    return Headers(scope=scope).get("mcp-method") == _LISTEN


def _tenant_of(caller: AccessToken) -> str:
    return str((caller.claims or {})[TENANT])
