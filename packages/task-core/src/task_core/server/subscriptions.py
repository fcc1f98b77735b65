"""Notifies clients that tasks have changed: those that listen, and, in the older era, those that subscribed (RES-6).

While a client wants to know, the store is asked for changes once a second, and at once after a call that may have made
some (EN-20); a server without such a store reports changes itself. In the older era only the client on stdio can be
notified: over HTTP each of its requests is independent.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import anyio
import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp.shared.exceptions import MCPError
from starlette.requests import Request

from task_core.errors import InvalidArguments, ResourceNotFound, TaskError
from task_core.fields import MAX_LINE
from task_core.history.changes import made_by, name_client
from task_core.server.faults import Workers
from task_core.server.overview import LIST_URI, SUMMARY_URI, TASK_URI, parse_task_uri
from task_core.store import Collection as Records
from task_core.store.base import WatchedStore
from task_core.store.claim_register import LISTENING

__all__ = ["LOOK_SECONDS", "MAX_SUBSCRIPTIONS", "Subscriptions"]

MAX_SUBSCRIPTIONS: Final = 1_024
"""URIs that a client of the older era may subscribe to, and all streams of the modern one together (P3)."""

LOOK_SECONDS: Final = 1.0
"""Seconds between two looks at the store while a client wants to know (EN-20)."""

_LONGEST_URI: Final = len(TASK_URI) + 12 * MAX_LINE
"""Characters; a task's URI has at most 12 for each character of its id: 4 bytes of UTF-8, each percent-encoded."""

_ABOUT_MANY: Final = (LIST_URI, SUMMARY_URI)
"""The resources that change when any task does."""


class Subscriptions:
    """Knows who wants notifications, and sends them; an impossible or excessive request raises ``TaskError``.

    ``on_subscribers_changed`` is called with True when the first client wants them, with False when none does any more.
    """

    def __init__(
        self,
        find_store: Callable[[], WatchedStore] | None,
        workers: Workers,
        on_subscribers_changed: Callable[[bool], None],
    ) -> None:
        self._find_store = find_store
        self._on_subscribers_changed = on_subscribers_changed
        self._is_wanted = False
        self._workers = workers
        self._token: str | None = None
        self._number = 0
        self._watch: asyncio.Task[None] | None = None
        self.due = asyncio.Event()
        """set this to look for changes at once, if a client wants to know"""
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._joining = anyio.Lock()
        self._is_closed = False
        self._listened_for: Counter[str] = Counter()
        self._clients: Counter[tuple[str, bool]] = Counter()
        """those that listen, and whether others call through the same process"""
        self._looks = 0
        self._subscriber: ServerSession | None = None
        self._subscribed: frozenset[str] = frozenset()

    async def listen(
        self, context: ServerRequestContext[None], params: mcp_types.SubscriptionsListenRequestParams
    ) -> mcp_types.SubscriptionsListenResult:
        """Serve one stream of the modern era until its client leaves or the server ends."""
        never = ("tools_list_changed", "prompts_list_changed")  # and so not acknowledged
        wanted = params.notifications.model_copy(update=dict.fromkeys(never))
        uris = wanted.resource_subscriptions or []
        async with self._joining:
            _refuse_excess("notifications.resourceSubscriptions", uris, self._listened_for.total() + len(uris))
            await self._begin()
            client = context.session.client_params
            by = name_client(client.client_info.name, client.client_info.version) if client else ""
            listener = by, isinstance(context.request, Request)
            self._clients[listener] += 1
            self._listened_for = self._listened_for + Counter(uris)
            self._count()
        if self._is_closed:  # the stream is opened after the end was announced: it is acknowledged, and ends
            asyncio.get_running_loop().call_soon(self._streams.close)
        try:
            return await self._streams(context, params.model_copy(update={"notifications": wanted}))
        finally:
            self._clients[listener] -= 1
            self._listened_for = self._listened_for - Counter(uris)
            self._count()

    async def subscribe(
        self, context: ServerRequestContext[None], params: mcp_types.SubscribeRequestParams
    ) -> mcp_types.EmptyResult:
        """Notify the client of the older era whenever this resource changes from now on."""
        async with self._joining:
            self._turn_to(context)
            _refuse_excess("uri", [params.uri], len(self._subscribed | {params.uri}))
            if params.uri not in _ABOUT_MANY and parse_task_uri(params.uri) is None:
                raise ResourceNotFound(params.uri, (*_ABOUT_MANY, TASK_URI))
            await self._begin()
            self._subscribed |= {params.uri}
            self._count()
        return mcp_types.EmptyResult()

    async def unsubscribe(
        self, context: ServerRequestContext[None], params: mcp_types.UnsubscribeRequestParams
    ) -> mcp_types.EmptyResult:
        """Notify the client no longer; for a resource that it is not subscribed to, this does nothing."""
        self._turn_to(context)
        self._subscribed -= {params.uri}
        self._count()
        return mcp_types.EmptyResult()

    def close(self) -> None:
        """End every stream with its final answer, those too that are yet to open."""
        self._is_closed = True
        self._count()
        self._streams.close()
        if self._watch is not None:
            self._watch.cancel()

    async def report(self, ids: Collection[str], *, resized: bool) -> None:
        """Notify clients that the tasks with these ids have changed, and perhaps how many there are."""
        moved = {uri for uri in (*self._listened_for, *self._subscribed) if parse_task_uri(uri) in ids}
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # a client has just gone
            await self._publish(_events(moved, resized=resized))

    def _count(self) -> None:
        is_wanted = bool(self._clients.total() or self._subscribed) and not self._is_closed
        if is_wanted is not self._is_wanted:
            self._is_wanted = is_wanted
            self._on_subscribers_changed(is_wanted)

    async def _begin(self) -> None:
        """Remember the current state when the first client wants to know, and watch from then on."""
        if self._find_store is None:
            return
        if self._watch is None or self._watch.done():
            self._token = None
            self.due.clear()
            with suppress(TaskError):
                await self._workers.run("Looking at the tasks", partial(self._look, self._find_store))
            self._watch = asyncio.create_task(self._watch_store(self._find_store))

    async def _watch_store(self, find_store: Callable[[], WatchedStore]) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self.due.wait()
            self.due.clear()
            if not (self._clients.total() or self._subscribed):
                return
            # A store that cannot be read is left for the next time, and so is a client that has just gone.
            with suppress(TaskError, anyio.ClosedResourceError, anyio.BrokenResourceError):
                await self._publish(await self._workers.run("Looking for changes", partial(self._look, find_store)))

    async def _publish(self, events: Sequence[ServerEvent]) -> None:
        for event in events:
            await self._bus.publish(event)
            if self._subscriber and self._subscribed and isinstance(event, ResourcesListChanged):
                await self._subscriber.send_resource_list_changed()
            elif self._subscriber and isinstance(event, ResourceUpdated) and event.uri in self._subscribed:
                await self._subscriber.send_resource_updated(event.uri)

    def _turn_to(self, context: ServerRequestContext[None]) -> None:
        if isinstance(context.request, Request):
            raise MCPError(mcp_types.METHOD_NOT_FOUND, "Method not found", context.method)
        # The client's handshake is one and the same object for as long as its connection lasts.
        if self._subscriber is None or self._subscriber.client_params is not context.session.client_params:
            self._subscriber, self._subscribed = context.session, frozenset()
            self._count()

    def _look(self, find_store: Callable[[], WatchedStore]) -> list[ServerEvent]:
        """Return the events for the changes since the last look."""
        store = find_store()
        self._looks += 1
        for by, is_remote in +self._clients if self._looks % 5 == 0 else ():
            with made_by(by, LISTENING, is_remote=is_remote), store.read():
                pass  # each fifth time this extends the claims of the client's agents (AG-14)
        changed: set[str] = set()
        token, is_reset, more = self._token, False, True
        while more:
            found = store.changes(token, 1_000)
            token, more = found.token, found.more
            is_reset |= found.reset
            changed.update(name for name, _ in found.records)
        if not (changed or is_reset or self._token is None):
            self._token = token
            return []
        with store.read() as records:
            count = len(records)
            # After the look: whoever joined in the meantime is notified of all that it found.
            wanted = {uri: name for uri in (*self._listened_for, *self._subscribed) if (name := parse_task_uri(uri))}
            concerned = _add_ancestors(records, changed) if wanted else changed
        before, self._number, self._token = self._number, count, token  # only now: a look that fails is repeated
        is_any = is_reset or store.kind.holds_many
        moved = {uri for uri, name in wanted.items() if is_any or name in concerned}
        return _events(moved, resized=before != self._number or is_reset)


def _events(moved: set[str], *, resized: bool) -> list[ServerEvent]:
    events: list[ServerEvent] = [ResourceUpdated(uri) for uri in (*_ABOUT_MANY, *sorted(moved))]
    return [*events, ResourcesListChanged()] if resized else events


def _add_ancestors(records: Records[Any], changed: set[str]) -> set[str]:
    """Return ``changed`` with the tasks above them, which show what is below them."""
    if not records.kind.is_tree:
        return changed
    there = [name for name in changed if name in records]
    return changed.union(*({task.id for task in records.ancestors(name)} for name in there))


def _refuse_excess(field: str, uris: Sequence[str], count: int) -> None:
    """Refuse ``uris`` if they would make ``count`` in all and that is too many, or if one is too long."""
    if count > MAX_SUBSCRIPTIONS:
        raise InvalidArguments([(field, f"subscribe to at most {MAX_SUBSCRIPTIONS:,} resources")])
    if any(len(uri) > _LONGEST_URI for uri in uris):
        raise InvalidArguments([(field, f"the URI of a task has at most {_LONGEST_URI:,} characters")])
