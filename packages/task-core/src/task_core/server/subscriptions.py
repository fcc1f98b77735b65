"""Tells clients that tasks have changed: those that listen, and, in the older era, those that subscribed (RES-6).

A look at the store after each successful call of a tool finds what has changed since the look before: by that call, or
by other calls, processes and people in the meantime. What others change is therefore noticed at the next call, not
when it happens. No look is taken while nobody wants to know.

In the older era only stdio and its one client can be told: over HTTP each of its requests stands alone there.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import anyio
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
from task_core.rules import MAX_LINE
from task_core.server.refusals import refused
from task_core.server.resources import LIST_URI, SUMMARY_URI, TASK_URI, task_id_in
from task_core.server.workers import Workers

__all__ = ["MAX_SUBSCRIPTIONS", "Subscriptions", "as_can_be_told"]

MAX_SUBSCRIPTIONS: Final = 1_024
"""URIs that a client of the older era may subscribe to, and all streams of the modern one together (P3)."""

_LONGEST_URI: Final = len(TASK_URI) + 12 * MAX_LINE
"""Characters; the URI of a task has at most 12 for each of its id's: 4 bytes of UTF-8, each percent-encoded."""

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
        self._joining = anyio.Lock()
        self._listeners = 0
        # Both are replaced and never changed: a look in a thread takes them as they stand.
        self._listened_for: Counter[str] = Counter()
        self._subscriber: ServerSession | None = None
        self._subscribed: frozenset[str] = frozenset()

    async def listen(
        self, context: ServerRequestContext[None], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one stream of the modern era until its client leaves or the server ends.

        Of changed tools and prompts it tells nothing, and acknowledges nothing: both stay as they are.

        Raises:
            MCPError: these URIs and those of the other streams are too many, one is too long, or there are too many
                streams.
        """
        wanted = params.notifications.model_copy(update=dict.fromkeys(_NEVER))
        uris = wanted.resource_subscriptions or []
        async with self._joining:
            _refuse_excess("notifications.resourceSubscriptions", uris, self._listened_for.total() + len(uris))
            await self._begin()
            self._listeners += 1
            self._listened_for = self._listened_for + Counter(uris)
        try:
            return await self._streams(context, params.model_copy(update={"notifications": wanted}))
        finally:
            self._listeners -= 1
            self._listened_for = self._listened_for - Counter(uris)

    async def subscribe(self, context: ServerRequestContext[None], params: SubscribeRequestParams) -> EmptyResult:
        """Tell the client of the older era from now on when this resource changes.

        Raises:
            MCPError: there can be no such resource, the client has too many, or it cannot be told.
        """
        async with self._joining:
            self._turn_to(context)
            _refuse_excess("uri", [params.uri], len(self._subscribed | {params.uri}))
            if params.uri not in _ABOUT_MANY and task_id_in(params.uri) is None:
                raise refused(ResourceNotFound(params.uri, (*_ABOUT_MANY, TASK_URI)))
            await self._begin()
            self._subscribed |= {params.uri}
        return EmptyResult()

    async def unsubscribe(self, context: ServerRequestContext[None], params: UnsubscribeRequestParams) -> EmptyResult:
        """Tell the client no more; a resource that it is not subscribed to makes no difference.

        Raises:
            MCPError: the client cannot be told of anything.
        """
        self._turn_to(context)
        self._subscribed -= {params.uri}
        return EmptyResult()

    async def tell(self) -> None:
        """Look for changes and tell those who want to know; a store that cannot be read is left for the next time."""
        if not self._is_anybody_there:
            return
        try:
            events = await self._workers.run("Looking for changes", self._changes)
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
        if not self._is_anybody_there:
            with suppress(TaskError):
                await self._workers.run("Looking at the tasks", self._remember)

    def _remember(self) -> None:
        with self._guard:
            self._known = {}
            self._known = self._records()

    def _turn_to(self, context: ServerRequestContext[None]) -> None:
        if isinstance(context.request, Request):
            raise MCPError(METHOD_NOT_FOUND, "Method not found", context.method)
        # What the client said at the handshake is one object for as long as its connection lasts.
        if self._subscriber is None or self._subscriber.client_params is not context.session.client_params:
            self._subscriber, self._subscribed = context.session, frozenset()

    def _changes(self) -> list[ServerEvent]:
        with self._guard:
            before, now = self._known, self._records()
            self._known = now
            # After the look: who joined before it is told of all that it found.
            wanted = {*self._listened_for, *self._subscribed}
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


def _refuse_excess(field: str, uris: Sequence[str], count: int) -> None:
    """Refuse ``uris`` when there would be ``count`` of them in all, and that is too many, or one is too long."""
    if count > MAX_SUBSCRIPTIONS:
        raise refused(InvalidArguments([(field, f"subscribe to at most {MAX_SUBSCRIPTIONS:,} resources")]))
    if any(len(uri) > _LONGEST_URI for uri in uris):
        raise refused(InvalidArguments([(field, f"no URI of a task has more than {_LONGEST_URI:,} characters")]))


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
