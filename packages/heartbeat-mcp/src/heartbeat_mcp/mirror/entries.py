"""An entry of the section: how the server writes one (HB-10)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from typing_extensions import Self

from heartbeat_mcp.mirror.escape import escape, escape_within
from heartbeat_mcp.mirror.items import Item, read_item
from heartbeat_mcp.models import Status, Task

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

    task_id: str
    status: Status
    text: bytes
    """the lines of the entry, joined by line feeds"""

    @classmethod
    def of(cls, task: Task) -> Self:
        """Return the entry for ``task``."""
        return cls(task.id, task.status, render_entry(task))

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
    """Makes the entries of tasks, each once as long as the task stays the same."""

    def __init__(self) -> None:
        self._tasks: list[Task] = []
        self._entries: list[Entry | None] = []
        self._ids: set[str] = set()

    def has_made(self, task_id: str) -> bool:
        """Return whether there ever was an entry for this id here."""
        return task_id in self._ids

    def of(self, tasks: Iterable[Task]) -> list[Entry]:
        """Return the entries of those of all ``tasks`` that are active, in their order.

        What is the same at both ends as at the last time is only compared, which takes next to no time.
        """
        wanted = list(tasks)
        first = _count_same(self._tasks, wanted)
        last = _count_same(self._tasks[first:][::-1], wanted[first:][::-1])
        changed = slice(first, len(self._tasks) - last)
        # The tasks of the last time are still there, so the identity of one is never that of another.
        known = dict(zip(map(id, self._tasks[changed]), self._entries[changed], strict=True))
        self._entries[changed] = [
            known[id(task)] if id(task) in known else self._entry(task) for task in wanted[first : len(wanted) - last]
        ]
        self._tasks = wanted
        return list(filter(None, self._entries))

    def _entry(self, task: Task) -> Entry | None:
        if not task.is_active:
            return None
        self._ids.add(task.id)
        return Entry.of(task)


def _count_same(some: Sequence[Task], others: Sequence[Task]) -> int:
    """Return how many tasks are the same from the start on: to compare pieces of lists is quicker than each task."""
    same, most = 0, min(len(some), len(others))
    while same < most:
        middle = (same + most + 1) // 2
        if some[same:middle] == others[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same


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
