"""The tasks as resources: the list, a summary to read, and each task under a URI of its own (RES-1 to RES-4).

The list of resources is the same for every server, so that it is known before the store is read.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import mcp_types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from pydantic_core import to_json
from starlette.requests import Request

from task_core.errors import ECHO_LIMIT, ResourceNotFound, TaskNotFound, echo
from task_core.server.app_view import VIEW_META, VIEW_TYPE, VIEWED, add_view, read_view, view_uri
from task_core.server.faults import Workers
from task_core.server.overview import BRIEF_URI, LIST_URI, SUMMARY_URI, TASK_URI, JsonObject, parse_task_uri
from task_core.store.base import WatchedStore

__all__ = ["Resources", "TaskResources", "advertise"]

_JSON: Final = "application/json"

_MARKDOWN: Final = "text/markdown"

_MAX_VALUES: Final = 100
"""Values that one answer to a completion may have (MCP)."""

_RESOURCES: Final = (
    mcp_types.Resource(
        uri=LIST_URI,
        name="list",
        title="Tasks",
        description="The tasks in short form, in the order of the list tool, and how many are left out.",
        mime_type=_JSON,
    ),
    mcp_types.Resource(
        uri=SUMMARY_URI,
        name="summary",
        title="Summary of the tasks",
        description="How many tasks there are in each status, which are active, and which come next.",
        mime_type=_MARKDOWN,
    ),
)

_BRIEF: Final = mcp_types.Resource(
    uri=BRIEF_URI,
    name="brief",
    title="Brief",
    description="What a new session must know: work in progress, what comes next, what changed.",
    mime_type=_MARKDOWN,
)

_TEMPLATE: Final = mcp_types.ResourceTemplate(
    uri_template=TASK_URI, name="task", title="Task", description="One complete task, by its id.", mime_type=_JSON
)


@dataclass(frozen=True, slots=True)
class TaskResources:
    """Functions that show the tasks as resources: they may block in a thread, or are coroutine functions."""

    store: WatchedStore | Callable[[], WatchedStore] | None
    """The store of the tasks, or what finds it; a server without one reports changes with ``TaskServer.changed``."""
    tasks: Callable[[], JsonObject | Awaitable[JsonObject]]
    """Returns the content of ``tasks://list``, made with ``overview.render_list``."""
    task: Callable[[str], JsonObject | Awaitable[JsonObject]]
    """Returns one whole task; raises ``TaskNotFound``."""
    summary: Callable[[], str | Awaitable[str]]
    """Returns the content of ``tasks://summary``, made with ``overview.render_summary``."""
    ids: Callable[[str, int], Sequence[str] | Awaitable[Sequence[str]]] | None = None
    """Returns the first ids that begin with a text; without it they are those of the records in the store."""
    list_tool: str = ""
    """The tool that lists the tasks. Clients with MCP Apps show its answers in a view; empty, there is no view."""

    @property
    def find_store(self) -> Callable[[], WatchedStore] | None:
        """Return what finds the store of the tasks, if there is one."""
        store = self.store
        return store if store is None or callable(store) else lambda: store


class Resources:
    """Answers the requests of the protocol about resources; failures raise ``TaskError``."""

    def __init__(self, tasks: TaskResources, workers: Workers, read_brief: Callable[[], str] | None = None) -> None:
        self._tasks = tasks
        self._read_brief = read_brief
        self._workers = workers

    async def list(
        self, _: ServerRequestContext[None], __: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourcesResult:
        """Return the resources that can be read without knowing an id."""
        return mcp_types.ListResourcesResult(resources=[*_RESOURCES, *([_BRIEF] if self._read_brief else ())])

    async def templates(
        self, _: ServerRequestContext[None], __: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourceTemplatesResult:
        """Return the form of the other URIs."""
        return mcp_types.ListResourceTemplatesResult(resource_templates=[_TEMPLATE])

    async def read(
        self, _: ServerRequestContext[None], params: mcp_types.ReadResourceRequestParams
    ) -> mcp_types.ReadResourceResult:
        """Return the content of one resource."""
        return mcp_types.ReadResourceResult(contents=[await self._content(params.uri)])

    async def complete(
        self, _: ServerRequestContext[None], params: mcp_types.CompleteRequestParams
    ) -> mcp_types.CompleteResult:
        """Return the ids that begin with what was typed, in alphabetical order; none for prompts."""
        if isinstance(params.ref, mcp_types.PromptReference):
            return mcp_types.CompleteResult(completion=mcp_types.Completion(values=[]))
        if params.ref.uri != TASK_URI:
            raise ResourceNotFound(params.ref.uri, [TASK_URI])
        look = partial(self._tasks.ids or self._ids, params.argument.value, _MAX_VALUES + 1)
        ids = await self._workers.run("Completing an id", look)
        return mcp_types.CompleteResult(
            completion=mcp_types.Completion(values=ids[:_MAX_VALUES], has_more=len(ids) > _MAX_VALUES)
        )

    def _ids(self, typed: str, limit: int) -> Sequence[str]:
        find_store = self._tasks.find_store
        if find_store is None:
            return []
        with find_store().read() as records:
            return records.ids(typed, limit)

    async def _content(self, uri: str) -> mcp_types.TextResourceContents:
        read_text = self._tasks.summary if uri == SUMMARY_URI else self._read_brief if uri == BRIEF_URI else None
        if read_text:
            text = await self._workers.run("Reading a resource", read_text)
            return mcp_types.TextResourceContents(uri=uri, mime_type=_MARKDOWN, text=text)
        if (tool := self._tasks.list_tool) and uri == view_uri(tool):
            text = await self._workers.run("Reading a resource", partial(read_view, tool))
            return mcp_types.TextResourceContents(uri=uri, mime_type=VIEW_TYPE, text=text, _meta=VIEW_META)
        is_list = uri == LIST_URI
        shown = await (self._workers.run("Reading a resource", self._tasks.tasks) if is_list else self._task(uri))
        return mcp_types.TextResourceContents(uri=uri, mime_type=_JSON, text=to_json(shown).decode())

    async def _task(self, uri: str) -> JsonObject:
        task_id = parse_task_uri(uri)
        if task_id is None:
            raise ResourceNotFound(uri, (LIST_URI, SUMMARY_URI, TASK_URI))
        try:
            return await self._workers.run("Reading a resource", partial(self._tasks.task, task_id))
        except TaskNotFound as error:
            del error.details["id"]
            error.details["uri"] = echo(uri, ECHO_LIMIT * 2 // 3)  # the message repeats the id in it (TOOL-3)
            raise


async def advertise(list_tool: str, ctx: ServerRequestContext[None], call_next: CallNext) -> HandlerResult:
    """Advertise the notifications that the server sends, and no others; and its view, to clients that show views.

    In the older era that is possible on stdio only. The lists of tools and prompts never change.
    """
    result = await call_next(ctx)
    if ctx.method in {"initialize", "server/discover"} and isinstance(result, dict):
        is_heard = ctx.method != "initialize" or not isinstance(ctx.request, Request)
        unchanging = {"listChanged": False}
        result["capabilities"] |= {"tools": unchanging, "prompts": unchanging}
        result["capabilities"]["resources"] = {"subscribe": is_heard, "listChanged": is_heard}
    if ctx.method in VIEWED and isinstance(result, dict) and (client := ctx.session.client_capabilities):
        return add_view(ctx.method, result, list_tool, client.extensions)
    return result
