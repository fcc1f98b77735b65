"""Tasks of the user for people, also as resources (CX-91); each reading runs ``ctx``."""

import asyncio
from collections.abc import Collection, Coroutine, Iterator, Sequence
from typing import Any, Final, TypeVar

from pydantic import JsonValue

from cortex_mcp.arguments import STATUSES
from cortex_mcp.runner import Runner
from cortex_mcp.service import CortexService
from cortex_mcp.settings import CortexMcpSettings
from task_core.server.overview import MAX_LISTED, MAX_SUMMED, JsonObject, render_list, render_summary
from task_core.view import Line, Section, View, match_statuses

__all__ = ["CtxView", "list_open", "open_view", "summarize"]

T = TypeVar("T")

_PAGE: Final = 100

_HEADINGS: Final = {"IN_PROGRESS": "In progress", "REVIEW": "In review", "TODO": "To do"}


class CtxView:
    """The tasks that ``ctx`` shows to its user."""

    statuses: Sequence[str] = STATUSES
    """Every status of a task, in the order of work."""
    finished: Collection[str] = frozenset({"DONE", "CANCELED"})
    """The statuses of tasks that nobody works on any more."""

    def __init__(self, service: CortexService, runner: Runner) -> None:
        self._service = service
        self._runner = runner

    def lines(self, statuses: Collection[str] = ()) -> Iterator[Line]:
        """Return the tasks with one of ``statuses``, or all, the newest first, a page at a time.

        Raises:
            InvalidArguments: there is no such status.
        """
        return self._pages(match_statuses(statuses, STATUSES) or STATUSES)

    def task(self, task_id: str) -> dict[str, JsonValue]:
        """Return one whole task, or raise ``TaskNotFound``."""
        return self._run(self._service.find_task(task_id))

    def next(self) -> str | None:
        """Return the id of the newest task in progress, else of the newest that is to be done, or None."""
        for status in ("IN_PROGRESS", "TODO"):
            for task in self._run(self._service.list_tasks([status], 1)).tasks:
                return str(task.get("id"))
        return None

    def revision(self) -> object:
        """Return None: only listing the tasks again shows a change."""
        return None

    def close(self) -> None:
        """End what runs."""
        self._runner.close()

    def _pages(self, statuses: Sequence[str]) -> Iterator[Line]:
        cursor: str | None = None
        while True:
            page = self._run(self._service.list_tasks(statuses, _PAGE, cursor))
            yield from map(_line, page.tasks)
            cursor = page.next_cursor
            if cursor is None:
                return

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(work)


def open_view(settings: CortexMcpSettings) -> View:
    """Return the tasks of the user for whom ``ctx`` is logged in."""
    runner = Runner()
    return CtxView(CortexService(settings, runner), runner)


async def list_open(service: CortexService) -> JsonObject:
    """Return the newest tasks of the user."""
    page = await service.list_tasks(limit=MAX_LISTED)
    return render_list(page.tasks, page.total)


async def summarize(service: CortexService) -> str:
    """Return the summary: what is in progress, in review and to be done."""
    pages = await asyncio.gather(*(service.list_tasks([status], MAX_SUMMED) for status in _HEADINGS))
    found = dict(zip(_HEADINGS, pages, strict=True))
    counts = {status: page.total for status, page in found.items()}
    sections = {_HEADINGS[status]: Section([*map(_line, page.tasks)], page.total) for status, page in found.items()}
    return render_summary(counts, sections, "list_tasks")


def _line(task: dict[str, JsonValue]) -> Line:
    found = {name: str(task.get(name, "")) for name in ("id", "status", "title", "priority")}
    priority = found["priority"]
    return Line(found["id"], found["status"], found["title"], "" if priority == "MEDIUM" else priority)
