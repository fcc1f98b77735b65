"""The URIs of tasks, and short views of many tasks: each task costs tokens, so what is left out is counted (RES-4)."""

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from pydantic import JsonValue

from task_core.bounds import fit, take_fitting
from task_core.history.changes import Change
from task_core.models import format_timestamp, from_microseconds
from task_core.text import escape_invisible, shorten
from task_core.view import Section

__all__ = [
    "BRIEF_URI",
    "LIST_URI",
    "MAX_LISTED",
    "MAX_SUMMED",
    "MAX_TEXT",
    "SUMMARY_URI",
    "TASK_URI",
    "JsonObject",
    "parse_task_uri",
    "render_change",
    "render_counts",
    "render_list",
    "render_summary",
    "render_text",
]

JsonObject = dict[str, JsonValue]

LIST_URI: Final = "tasks://list"
"""The URI of the list of tasks, as JSON."""

SUMMARY_URI: Final = "tasks://summary"
"""The URI of the summary, as Markdown."""

BRIEF_URI: Final = "tasks://brief"
"""The URI of the brief, as Markdown."""

TASK_URI: Final = "tasks://{id}"
"""The form of a task's URI (RFC 6570): all but letters, digits, ``-``, ``.``, ``_`` and ``~`` is percent-encoded."""

MAX_LISTED: Final = 100
"""Tasks that ``tasks://list`` shows at most."""

MAX_TEXT: Final = 160
"""Characters of one text of a task in a list or a summary: enough to recognize it."""

MAX_SUMMED: Final = 10
"""Tasks under one heading of a summary."""

_MAX_COUNTS: Final = 200
"""Bytes of the numbers of tasks."""

_MARKUP: Final = re.compile(r"[\\`*#\[\]<>]")
"""Characters that could turn a task's text into a link, an image, a heading, code or HTML."""


def parse_task_uri(uri: str) -> str | None:
    """Return the id of the task that ``uri`` is about, or None if it is about no task or about many."""
    scheme, mark, name = uri.partition("tasks://")
    return unquote(name) if mark and name and not scheme and uri not in (LIST_URI, SUMMARY_URI) else None


def render_list(shown: Sequence[JsonObject], total: int, count: int | None = None) -> JsonObject:
    """Return the content of ``tasks://list``: the tasks, how many there are, and how many of those are left out.

    ``count`` is the number of tasks in ``shown`` if some are nested; else it ends where an answer is full (TOOL-9).
    """
    first = take_fitting(shown) if count is None else shown
    return {"tasks": [*first], "total": total, "left_out": total - (len(first) if count is None else count)}


def render_summary(counts: Mapping[str, int], sections: Mapping[str, Section], list_tool: str) -> str:
    """Return the content of ``tasks://summary``: how many tasks have each status, then each section with its tasks.

    The text of tasks is on one line, cut, and escaped (S3). ``list_tool`` is named where tasks are left out.
    """
    counted = render_counts(counts)
    blocks = ["# Tasks", f"{sum(counts.values())} in all: {counted}." if counted else "There are none."]
    for title, (entries, total) in sections.items():
        lines = [
            f"- {render_text(it.id)}: {render_text(it.text)}" + (f" ({render_text(it.note)})" if it.note else "")
            for it in entries[:MAX_SUMMED]
        ] or ["None."]
        if total > MAX_SUMMED:
            lines.append(f"- … and {total - MAX_SUMMED} more, which {list_tool} shows")
        blocks.append("\n".join([f"## {title}", *lines]))
    return "\n\n".join(blocks) + "\n"


def render_counts(counts: Mapping[str, int]) -> str:
    """Return how many tasks have each status, which a person may have made up, as far as there is room."""
    found: list[str] = []
    for status, count in counts.items():
        if count and len(", ".join([*found, text := f"{count} {render_text(status)}"]).encode()) <= _MAX_COUNTS:
            found.append(text)
    return ", ".join(found)


def render_change(change: Change) -> JsonObject:
    """Return a change as the tools show it; what is too long is cut."""
    moment = format_timestamp(from_microseconds(change.at))
    return fit({"change": change.number, "at": moment, **change.render()}, keep=("change",))


def render_text(text: str) -> str:
    """Return the text of a task for Markdown: on one line, cut, and escaped (S3)."""
    # Cut before escaping: the text may have megabytes.
    start = " ".join(text.lstrip()[: 4 * MAX_TEXT].split())
    return _MARKUP.sub(r"\\\g<0>", shorten(escape_invisible(start), MAX_TEXT))
