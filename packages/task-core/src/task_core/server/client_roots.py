"""The folder that the client works in, for servers whose tasks are in a project (TM-13).

Only clients of the older era on stdio can be asked: roots are deprecated, and over HTTP clients share one server.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import anyio
import mcp_types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.requests import Request

__all__ = ["ClientRoots"]

_NEEDY: Final = frozenset(
    {"resources/list", "resources/read", "resources/subscribe", "subscriptions/listen", "completion/complete"}
)
"""The requests besides calls that need the tasks."""

_WAIT_SECONDS: Final = 5.0
"""Seconds that a call waits for the roots of the client."""


class ClientRoots:
    """A middleware that asks for the client's roots before the first call that needs them, and again after changes.

    ``use`` gets the URI of the first one, None if there is none, and nothing but an empty text while the client, which
    declares roots, does not answer. A call ``needs`` them by its tool and its arguments.
    """

    def __init__(self, use: Callable[[str | None], None], needs: Callable[[str, Mapping[str, Any]], bool]) -> None:
        self._use = use
        self._needs = needs
        self._asking = anyio.Lock()
        self._changes = 0
        self._known: int | None = None  # the number of changes when the roots were asked for

    async def __call__(self, ctx: ServerRequestContext[None], call_next: CallNext) -> HandlerResult:
        """Carry out ``call_next`` once the roots are known."""
        if ctx.method == "notifications/roots/list_changed":
            self._changes += 1
        params = ctx.params or {}
        given = params.get("arguments")
        call = str(params.get("name")), given if isinstance(given, Mapping) else {}
        if ctx.method in _NEEDY or (ctx.method == "tools/call" and self._needs(*call)):
            async with self._asking:
                await self._ask(ctx)
        return await call_next(ctx)

    async def _ask(self, context: ServerRequestContext[None]) -> None:
        if self._known == (changes := self._changes):
            return
        root: str | None = None
        declared, version = context.session.client_capabilities, context.session.protocol_version
        is_asked = version not in MODERN_PROTOCOL_VERSIONS and not isinstance(context.request, Request)
        if is_asked and declared and declared.roots is not None:
            with anyio.move_on_after(_WAIT_SECONDS) as waiting, suppress(MCPError, ValidationError):
                answer = await context.session.send_request(mcp_types.ListRootsRequest(), mcp_types.ListRootsResult)
                root = next((str(found.uri) for found in answer.roots), None)
            if waiting.cancelled_caught:
                self._use("")  # asked again by the next call
                return
        self._use(root)
        self._known = changes
