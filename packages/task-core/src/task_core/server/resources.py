"""The tasks as resources: the list, a summary to read, and each task under a URI of its own (RES-1 to RES-4).

What there is to list is the same for every server, whatever its settings and its tasks, so that it can be known before
the store is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import quote, unquote

from mcp.server.context import ServerRequestContext
from mcp_types import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from task_core.errors import ECHO_LIMIT, ResourceNotFound, TaskError, TaskNotFound
from task_core.server.overview import JsonObject
from task_core.server.refusals import refused
from task_core.server.workers import Workers
from task_core.text import escape_invisible, shorten

__all__ = ["LIST_URI", "SUMMARY_URI", "TASK_URI", "Board", "Resources", "task_id_in", "task_uri"]

LIST_URI: Final = "tasks://list"
"""Where the list of tasks is read, as JSON."""

SUMMARY_URI: Final = "tasks://summary"
"""Where the summary is read, as Markdown."""

TASK_URI: Final = "tasks://{id}"
"""The form of a task's URI (RFC 6570): what is no letter, digit, ``-``, ``.``, ``_`` or ``~`` is percent-encoded."""

_SCHEME: Final = "tasks://"

_JSON: Final = "application/json"

_MARKDOWN: Final = "text/markdown"

_ECHO_URI: Final = ECHO_LIMIT * 2 // 3
"""Characters of a URI that are repeated beside a message that repeats the id in it (TOOL-3)."""

_RESOURCES: Final = (
    Resource(
        uri=LIST_URI,
        name="list",
        title="Tasks",
        description="The tasks in short, as the list tool orders them, with a count of those left out.",
        mime_type=_JSON,
    ),
    Resource(
        uri=SUMMARY_URI,
        name="summary",
        title="Summary of the tasks",
        description="How many tasks there are in each status, which are active, and which come next.",
        mime_type=_MARKDOWN,
    ),
)

_TEMPLATE: Final = ResourceTemplate(
    uri_template=TASK_URI, name="task", title="Task", description="One task, whole, by its id.", mime_type=_JSON
)


@dataclass(frozen=True, slots=True)
class Board:
    """What a server shows of its tasks beside its tools; each function runs in a thread and may block."""

    records: Callable[[], Mapping[str, object]]
    """Returns every task by its id, in order; one that has changed is another object than before."""
    tasks: Callable[[], JsonObject]
    """Returns the content of ``tasks://list``, made with ``overview.listing``."""
    task: Callable[[str], JsonObject]
    """Returns one task, whole; raises ``TaskNotFound``."""
    summary: Callable[[], str]
    """Returns the content of ``tasks://summary``, made with ``overview.summary``."""


class Resources:
    """Answers the requests of the protocol that are about resources."""

    def __init__(self, board: Board, workers: Workers) -> None:
        self._board = board
        self._workers = workers

    async def list(self, _: ServerRequestContext[None], __: PaginatedRequestParams | None) -> ListResourcesResult:
        """Return the resources that can be read without knowing an id."""
        return ListResourcesResult(resources=[*_RESOURCES])

    async def templates(
        self, _: ServerRequestContext[None], __: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """Return the form of the others."""
        return ListResourceTemplatesResult(resource_templates=[_TEMPLATE])

    async def read(self, _: ServerRequestContext[None], params: ReadResourceRequestParams) -> ReadResourceResult:
        """Return the content of one resource.

        Raises:
            MCPError: there is no such resource, or the store cannot be read.
        """
        try:
            content = await self._workers.run("Reading a resource", partial(self._content, params.uri))
        except TaskError as error:
            raise refused(error) from None
        return ReadResourceResult(contents=[content])

    def _content(self, uri: str) -> TextResourceContents:
        if uri == SUMMARY_URI:
            return _contents(uri, _MARKDOWN, self._board.summary())
        shown = self._board.tasks() if uri == LIST_URI else self._task(uri)
        return _contents(uri, _JSON, json.dumps(shown, ensure_ascii=False, separators=(",", ":")))

    def _task(self, uri: str) -> JsonObject:
        task_id = task_id_in(uri)
        if task_id is None:
            raise ResourceNotFound(uri, (LIST_URI, SUMMARY_URI, TASK_URI))
        try:
            return self._board.task(task_id)
        except TaskNotFound as error:
            del error.details["id"]
            error.details["uri"] = shorten(escape_invisible(uri[: _ECHO_URI + 1]), _ECHO_URI)
            raise


def task_uri(task_id: str) -> str:
    """Return the URI of a task; one whose id is the name of another resource has it encoded."""
    name = quote(task_id, safe="", errors="replace")
    uri = _SCHEME + name
    return f"{_SCHEME}%{ord(name[0]):02X}{name[1:]}" if uri in (LIST_URI, SUMMARY_URI) else uri


def task_id_in(uri: str) -> str | None:
    """Return the id of the task that ``uri`` is about, or None where it is about no task or about many."""
    if not uri.startswith(_SCHEME) or uri in (_SCHEME, LIST_URI, SUMMARY_URI):
        return None
    return unquote(uri[len(_SCHEME) :])


def _contents(uri: str, mime_type: str, text: str) -> TextResourceContents:
    text.encode()  # half a character fails here, where it costs one request, and not in the transport
    return TextResourceContents(uri=uri, mime_type=mime_type, text=text)
