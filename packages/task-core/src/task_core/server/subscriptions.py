"""Tells clients that tasks have changed: those that listen, and, in the older era, those that subscribed (RES-6).

A look at the store after each successful call of a tool finds what has changed since the look before: by that call, or
by other calls, processes and people in the meantime. What others change is therefore noticed at the next call, not
when it happens. No look is taken while nobody wants to know.

In the older era only stdio and its one client can be told: over HTTP each of its requests stands alone there.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp.shared.exceptions import MCPError
from mcp_types import (
    METHOD_NOT_FOUND,
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)
from starlette.requests import Request

from task_core.errors import InvalidArguments, ResourceNotFound, TaskError
from task_core.server.refusals import refused
from task_core.server.resources import LIST_URI, SUMMARY_URI, TASK_URI, task_id_in
from task_core.server.workers import Workers

__all__ = ["MAX_SUBSCRIPTIONS", "Subscriptions", "as_can_be_told"]

MAX_SUBSCRIPTIONS: Final = 1_024
"""URIs that a client of the older era may subscribe to: as many as there may be streams in the modern one."""

_ABOUT_MANY: Final = (LIST_URI, SUMMARY_URI)
"""The resources that change when any task does."""

_PROMISES: Final = ("initialize", "server/discover")
"""The requests whose answer says what the server can do, in the older era and in the modern one."""

_NEVER: Final = ("tools_list_changed", "prompts_list_changed")
"""What a client may ask to be told and never happens."""


class Subscriptions:
    """Knows who wants to be told, and tells them."""

    def __init__(self, records: Callable[[], Mapping[str, object]], workers: Workers) -> None:
        self._records = records
        self._workers = workers
        self._guard = threading.Lock()
        self._known: Mapping[str, object] = {}
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._listeners = 0
        self._listened_for: Counter[str] = Counter()
        self._subscriber: ServerSession | None = None
        self._subscribed: set[str] = set()

    async def listen(
        self, context: ServerRequestContext[None], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one stream of the modern era until its client leaves or the server ends.

        Of changed tools and prompts it tells nothing, and acknowledges nothing: both stay as they are.
        """
        wanted = params.notifications.model_copy(update=dict.fromkeys(_NEVER))
        uris = Counter(set(wanted.resource_subscriptions or ()))
        await self._begin()
        self._listeners += 1
        self._listened_for += uris
        try:
            return await self._streams(context, params.model_copy(update={"notifications": wanted}))
        finally:
            self._listeners -= 1
            self._listened_for -= uris

    async def subscribe(self, context: ServerRequestContext[None], params: SubscribeRequestParams) -> EmptyResult:
        """Tell the client of the older era from now on when this resource changes.

        Raises:
            MCPError: there can be no such resource, the client has too many, or it cannot be told.
        """
        uris = self._uris_of(context)
        if params.uri not in _ABOUT_MANY and task_id_in(params.uri) is None:
            raise refused(ResourceNotFound(params.uri, (*_ABOUT_MANY, TASK_URI)))
        if len(uris) >= MAX_SUBSCRIPTIONS:
            raise refused(InvalidArguments([("uri", f"subscribe to at most {MAX_SUBSCRIPTIONS:,} resources")]))
        await self._begin()
        uris.add(params.uri)
        return EmptyResult()

    async def unsubscribe(self, context: ServerRequestContext[None], params: UnsubscribeRequestParams) -> EmptyResult:
        """Tell the client no more; a resource that it is not subscribed to makes no difference.

        Raises:
            MCPError: the client cannot be told of anything.
        """
        self._uris_of(context).discard(params.uri)
        return EmptyResult()

    async def tell(self) -> None:
        """Look for changes and tell those who want to know; a store that cannot be read is left for the next time."""
        if not self._is_anybody_there:
            return
        wanted = {*self._listened_for, *self._subscribed}
        try:
            events = await self._workers.run("Looking for changes", partial(self._changes, wanted))
        except TaskError:
            return
        for event in events:
            await self._bus.publish(event)
            if self._subscriber and self._subscribed:
                await self._tell_subscriber(self._subscriber, event)

    def close(self) -> None:
        """End every stream, with the answer that says so."""
        self._streams.close()

    @property
    def _is_anybody_there(self) -> bool:
        return bool(self._listeners or self._subscribed)

    async def _begin(self) -> None:
        """Remember how things stand when the first one wants to know."""
        if self._is_anybody_there:
            return
        try:
            self._known = await self._workers.run("Looking at the tasks", self._records)
        except TaskError:
            self._known = {}

    def _uris_of(self, context: ServerRequestContext[None]) -> set[str]:
        if isinstance(context.request, Request):
            raise MCPError(METHOD_NOT_FOUND, "Method not found", context.method)
        # What the client said at the handshake is one object for as long as its connection lasts.
        if self._subscriber is None or self._subscriber.client_params is not context.session.client_params:
            self._subscriber, self._subscribed = context.session, set()
        return self._subscribed

    def _changes(self, wanted: Collection[str]) -> list[ServerEvent]:
        with self._guard:
            before, now = self._known, self._records()
            self._known = now
        has_other_ids = before.keys() != now.keys()
        if not has_other_ids and all(now[task_id] is record for task_id, record in before.items()):
            return []
        tasks = {uri: task_id_in(uri) for uri in wanted}
        moved = [uri for uri, task_id in tasks.items() if task_id and before.get(task_id) is not now.get(task_id)]
        events: list[ServerEvent] = [ResourceUpdated(uri) for uri in (*_ABOUT_MANY, *sorted(moved))]
        return [*events, ResourcesListChanged()] if has_other_ids else events

    async def _tell_subscriber(self, session: ServerSession, event: ServerEvent) -> None:
        if isinstance(event, ResourcesListChanged):
            await session.send_resource_list_changed()
        elif isinstance(event, ResourceUpdated) and event.uri in self._subscribed:
            await session.send_resource_updated(event.uri)


async def as_can_be_told(ctx: ServerRequestContext[None], call_next: CallNext) -> HandlerResult:
    """Let the server promise the notifications that it sends, and no others.

    In the older era that is possible on stdio only. The lists of tools and prompts never change.
    """
    result = await call_next(ctx)
    if ctx.method in _PROMISES and isinstance(result, dict):
        is_told = ctx.method != "initialize" or not isinstance(ctx.request, Request)
        unchanging = {"listChanged": False}
        result["capabilities"] |= {"tools": unchanging, "prompts": unchanging}
        result["capabilities"]["resources"] = {"subscribe": is_told, "listChanged": is_told}
    return result
