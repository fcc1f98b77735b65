"""How the server writes an entry of the section (HB-10)."""

import re
from typing import Final

from heartbeat_mcp.mirror.escape import escape, escape_within
from heartbeat_mcp.mirror.items import Item, read_item
from heartbeat_mcp.models import Task

__all__ = ["entry_item", "overflow_count", "overflow_line", "render_entry"]

_OFFSET: Final = 2
"""Columns before the content of an entry: its bullet and a blank."""

_MAX_SUMMARY: Final = 80
"""Characters of the request that the first line of an entry shows (HB-10)."""

_MAX_TEXT: Final = 400
"""Characters of the request, the result and each idea that an entry shows (HB-10)."""

_FIRST_LINE: Final = re.compile(r"\S[^\n\v\f\r\x85\u2028\u2029]{0,80}")
_OVERFLOW: Final = re.compile(rb"\((\d{1,9}) more tasks?: task_list shows (?:it|them)\)")


def render_entry(task: Task) -> bytes:
    """Return the entry for ``task``, its lines joined by line feeds."""
    task_id = escape(task.id)
    status = task.status.value
    ideas = [f"    - {escape_within(idea, _MAX_TEXT)}" for idea in task.ideas if idea]
    lines = [
        f"- [{status}] {task_id}: {_summary(task.raw_user_request)}".rstrip(" "),
        *_line("Raw User Request", escape_within(task.raw_user_request, _MAX_TEXT)),
        *_line("Raw Reference", escape(task.raw_reference or "")),
        *(["  - Idea:", *ideas] if ideas else []),
        f"  - Status: {status}",
        *_line("Result", escape_within(task.result or "", _MAX_TEXT)),
        *_line("Result File", escape(task.result_file or "")),
        f"  <!-- task_id: {task_id} -->",
    ]
    return "\n".join(lines).encode()


def entry_item(task: Task) -> Item:
    """Return the entry for ``task`` as it is read back."""
    return read_item(render_entry(task).decode(), _OFFSET)


def _summary(request: str) -> str:
    first = _FIRST_LINE.search(request)
    return escape_within(first[0].rstrip(), _MAX_SUMMARY) if first else ""


def _line(name: str, value: str) -> list[str]:
    return [f"  - {name}: {value}"] if value else []


def overflow_line(count: int) -> bytes:
    """Return the line that replaces the ``count`` tasks for which there was no room (HB-14)."""
    return b"(%d more task%s: task_list shows %s)" % (count, *((b"", b"it") if count == 1 else (b"s", b"them")))


def overflow_count(line: bytes) -> int | None:
    """Return how many tasks ``line`` replaces, or None if it is not such a line."""
    found = _OVERFLOW.fullmatch(line)
    return int(found[1]) if found else None
