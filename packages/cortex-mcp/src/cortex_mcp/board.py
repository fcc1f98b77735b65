"""The tasks at a glance, as resources: what is open, and each task by its id (CX-91)."""

import asyncio
from typing import Final

from pydantic import JsonValue

from cortex_mcp.answers import CtxTaskPage
from cortex_mcp.service import CortexService
from task_core.server.overview import (
    MAX_LISTED,
    MAX_SUMMED,
    JsonObject,
    SummaryLine,
    SummarySection,
    render_list,
    render_summary,
)
from task_core.server.resources import Board

__all__ = ["build_board"]

_SECTIONS: Final = {"IN_PROGRESS": "In progress", "REVIEW": "In review", "TODO": "To do"}
"""The headings of the summary, by status: what is open."""


def build_board(service: CortexService) -> Board:
    """Return how the tasks of the user are shown; each reading asks ``ctx``."""

    async def tasks() -> JsonObject:
        page = await service.list_tasks(limit=MAX_LISTED)
        return render_list(page.tasks, page.total)

    async def summary() -> str:
        pages = await asyncio.gather(*(service.list_tasks([status], MAX_SUMMED) for status in _SECTIONS))
        found = dict(zip(_SECTIONS, pages, strict=True))
        counts = {status: page.total for status, page in found.items()}
        sections = {_SECTIONS[status]: _summarize(page) for status, page in found.items()}
        return render_summary(counts, sections, "list_tasks")

    return Board(None, tasks, service.find_task, summary, list_tool="list_tasks")


def _summarize(page: CtxTaskPage) -> SummarySection:
    return SummarySection(
        [SummaryLine(_text(task, "id"), _text(task, "title"), _note(task)) for task in page.tasks], page.total
    )


def _note(task: dict[str, JsonValue]) -> str:
    return "" if task.get("priority") == "MEDIUM" else _text(task, "priority")


def _text(task: dict[str, JsonValue], name: str) -> str:
    return str(task.get(name, ""))
