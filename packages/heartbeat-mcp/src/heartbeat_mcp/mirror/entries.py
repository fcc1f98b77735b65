"""An entry of the section: how the server writes one (HB-10)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Final, TypeVar

from typing_extensions import Self

from heartbeat_mcp.mirror.escape import escape, escape_within
from heartbeat_mcp.mirror.items import Item, read_item
from heartbeat_mcp.models import Status, Task

__all__ = ["Entries", "Entry", "Run", "overflow_count", "overflow_line", "render_entry"]

ItemT = TypeVar("ItemT")

_OFFSET: Final = 2
"""Columns before the content of an entry: its bullet and a blank."""

_MOST_SUMMARY: Final = 80
"""Characters of the request that the first line of an entry shows at most (HB-10)."""

_MOST_TEXT: Final = 400
"""Characters of the request, the result and each idea that an entry shows at most (HB-10)."""

_BUNDLE: Final = 32
"""Entries that are joined at a time."""

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


@dataclass(frozen=True, eq=False)
class _Bundle:
    """Entries that follow one another, few enough to be joined anew when one of them changes."""

    entries: Sequence[Entry]

    @cached_property
    def text(self) -> bytes:
        """Their lines, each with a line feed."""
        return b"\n".join((*(entry.text for entry in self.entries), b""))


_ENTRIES: Final = attrgetter("entries")


class Run:
    """Entries that follow one another, in bundles; it never changes."""

    def __init__(self, bundles: Iterable[_Bundle] = ()) -> None:
        self._bundles = [bundle for bundle in bundles if bundle.entries]
        self._count = sum([len(bundle.entries) for bundle in self._bundles])

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Self:
        """Return the run of ``entries`` in new bundles."""
        return cls(map(_Bundle, _sliced(entries)))

    def __iter__(self) -> Iterator[Entry]:
        return chain.from_iterable(map(_ENTRIES, self._bundles))

    def __len__(self) -> int:
        return self._count

    def pieces(self, newline: bytes) -> list[bytes]:
        """Return the lines, each with ``newline`` at its end, as pieces to be written in turn."""
        texts = [bundle.text for bundle in self._bundles]
        return texts if newline == b"\n" else [text.replace(b"\n", newline) for text in texts]


@dataclass(frozen=True, eq=False)
class _Part:
    """Tasks that follow one another in the store; of one that is not active the entry is None."""

    tasks: Sequence[Task]
    entries: Sequence[Entry | None]
    bundle: _Bundle


class Entries:
    """Makes the entries of tasks, each once as long as the task stays the same, and their bundles likewise."""

    def __init__(self) -> None:
        self._parts: Sequence[_Part] = ()
        self._ids: set[str] = set()

    def has_made(self, task_id: str) -> bool:
        """Return whether there ever was an entry for this id here."""
        return task_id in self._ids

    def of(self, tasks: Iterable[Task]) -> Run:
        """Return the entries of those of all ``tasks`` that are active, in their order.

        Tasks that stand where they stood the last time are only compared, which takes next to no time.
        """
        slices = _sliced(list(tasks))
        pairs = enumerate(zip(self._parts, slices, strict=False))
        same = {number: part for number, (part, some) in pairs if part.tasks == some}
        others = [part for number, part in enumerate(self._parts) if number not in same]
        known = {task.id: (task, made) for part in others for task, made in zip(part.tasks, part.entries, strict=True)}
        self._parts = [same.get(number) or self._part(some, known) for number, some in enumerate(slices)]
        return Run([part.bundle for part in self._parts])

    def _part(self, tasks: Sequence[Task], known: Mapping[str, tuple[Task, Entry | None]]) -> _Part:
        entries = [self._entry(task, *known.get(task.id, (None, None))) for task in tasks]
        return _Part(tasks, entries, _Bundle([entry for entry in entries if entry]))

    def _entry(self, task: Task, old: Task | None, entry: Entry | None) -> Entry | None:
        if task is old or task == old:
            return entry
        if not task.is_active:
            return None
        self._ids.add(task.id)
        return Entry.of(task)


def _sliced(items: Sequence[ItemT]) -> list[Sequence[ItemT]]:
    return [items[start : start + _BUNDLE] for start in range(0, len(items), _BUNDLE)]


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
