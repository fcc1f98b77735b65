"""An entry of the section: how the server writes one (HB-10)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from heartbeat_mcp.mirror.escape import escape, escape_within
from heartbeat_mcp.mirror.items import Item, read_item
from heartbeat_mcp.models import Task

__all__ = ["Entries", "Entry", "overflow_count", "overflow_line", "render_entry"]

_OFFSET: Final = 2
"""Columns before the content of an entry: its bullet and a blank."""

_MOST_SUMMARY: Final = 80
"""Characters of the request that the first line of an entry shows at most (HB-10)."""

_MOST_TEXT: Final = 400
"""Characters of the request, the result and each idea that an entry shows at most (HB-10)."""

_FIRST_LINE: Final = re.compile(r"\S[^\n\v\f\r\x85\u2028\u2029]{0,80}")
_OVERFLOW: Final = re.compile(rb"\((\d{1,9}) more tasks?: task_list shows (?:it|them)\)")


@dataclass(frozen=True, eq=False)
class Entry:
    """What the section shows of a task."""

    task: Task
    text: bytes
    """the lines of the entry, joined by line feeds; nothing for a finished task"""

    @cached_property
    def item(self) -> Item:
        """The entry as it will be read back."""
        return read_item(self.text.decode(), _OFFSET)

    @cached_property
    def size(self) -> int:
        """Characters in its lines, their ends left out."""
        return len(self.text.decode()) - self.line_count + 1

    @cached_property
    def line_count(self) -> int:
        """How many lines it has."""
        return self.text.count(b"\n") + 1


class Entries:
    """Makes the entries of tasks, each once as long as what it shows stays the same."""

    def __init__(self) -> None:
        # Entries hold their tasks, so the identity of such a task is never that of another.
        self._by_identity: dict[int, Entry] = {}
        self._by_id: dict[str, Entry] = {}

    def of(self, tasks: Iterable[Task]) -> list[Entry]:
        """Return the entries of those of all ``tasks`` that are active, in their order."""
        wanted = list(tasks)
        found = list(map(self._by_identity.get, map(id, wanted)))
        entries = [entry or self._make(task) for entry, task in zip(found, wanted, strict=True)]
        if len(self._by_identity) > len(entries):
            self._by_identity = dict(zip(map(id, wanted), entries, strict=True))
            self._by_id = {entry.task.id: entry for entry in entries}
        return [entry for entry in entries if entry.text]

    def _make(self, task: Task) -> Entry:
        old = self._by_id.get(task.id)
        if old:
            del self._by_identity[id(old.task)]
        is_same = old is not None and _shown(old.task) == _shown(task)
        text = old.text if old and is_same else render_entry(task) if task.is_active else b""
        entry = Entry(task, text)
        self._by_identity[id(task)] = self._by_id[task.id] = entry
        return entry


def _shown(task: Task) -> tuple[object, ...]:
    """Return all that an entry shows of ``task`` besides its id."""
    return task.status, task.raw_user_request, task.raw_reference, task.ideas, task.result, task.result_file


def render_entry(task: Task) -> bytes:
    """Return the entry for ``task``, its lines joined by line feeds."""
    task_id = escape(task.id)
    status = task.status.value
    ideas = [f"    - {escape_within(idea, _MOST_TEXT)}" for idea in task.ideas if idea]
    lines = [
        f"- [{status}] {task_id}: {_summary(task.raw_user_request)}".rstrip(" "),
        *_line("Raw User Request", escape_within(task.raw_user_request, _MOST_TEXT)),
        *_line("Raw Reference", escape(task.raw_reference or "")),
        *(["  - Idea:", *ideas] if ideas else []),
        f"  - Status: {status}",
        *_line("Result", escape_within(task.result or "", _MOST_TEXT)),
        *_line("Result File", escape(task.result_file or "")),
        f"  <!-- task_id: {task_id} -->",
    ]
    return "\n".join(lines).encode()


def _summary(request: str) -> str:
    first = _FIRST_LINE.search(request)
    return escape_within(first[0].rstrip(), _MOST_SUMMARY) if first else ""


def _line(name: str, value: str) -> list[str]:
    return [f"  - {name}: {value}"] if value else []


def overflow_line(count: int) -> bytes:
    """Return the line that stands for the ``count`` tasks that there was no room for (HB-14)."""
    return b"(%d more task%s: task_list shows %s)" % (count, *((b"", b"it") if count == 1 else (b"s", b"them")))


def overflow_count(line: bytes) -> int | None:
    """Return how many tasks ``line`` stands for, or None if it is no such line."""
    found = _OVERFLOW.fullmatch(line)
    return int(found[1]) if found else None
