"""HEARTBEAT.md as it was read, the entries that are due, and the frame into which these are put (HB-9, HB-12)."""

import errno
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import accumulate, groupby
from math import inf
from operator import itemgetter
from typing import Final, Self

from heartbeat_mcp.mirror.entries import Entry, overflow_line, render_entry
from heartbeat_mcp.mirror.items import find_ids
from heartbeat_mcp.mirror.section import LIST_END, TaskSection, Unit, locate_section, read_units
from heartbeat_mcp.models import ACTIVE, HeartbeatStatus, HeartbeatTask
from task_core.models import Clock
from task_core.store import Selection, Store

__all__ = ["ActiveEntries", "Document", "Frame", "read_document"]

_CONFLICT: Final = re.compile(rb"^(?:<{7}|>{7})(?: .*)?\r?$", re.MULTILINE)
"""A line with which a merge marks the start or the end of a conflict; a line of ``=`` alone may be a heading."""

_HEADING: Final = re.compile(rb"(?:[^\S\n]*\S[^\n]*\n)*?={7}\r?(?:\n|\Z)")
"""The end of a section after a merge: two marks with a paragraph or nothing between them are a heading."""


@dataclass(frozen=True)
class Document:
    """HEARTBEAT.md at one moment."""

    data: bytes
    section: TaskSection
    units: Sequence[Unit]
    ids: frozenset[str]
    """Every task id in a ``<!-- task_id: … -->`` comment, anywhere in the file as it was read (C4)."""

    @cached_property
    def conflicts(self) -> list[int]:
        """The numbers of the lines, counted from 1, that mark a merge conflict in or around the section (HB-12).

        Git joins conflicts that are three lines apart, so one of them can start above the heading and hold it twice.
        """
        after = self.section.after
        end = len(self.data) - len(after)
        start = end - len(self.section.body)
        if (heading := _HEADING.match(after)) and _CONFLICT.search(heading[0]):
            end += len(heading[0])
        marks = [*_CONFLICT.finditer(self.data)]
        found = [mark for mark in marks if start <= mark.start() < end]
        above = [mark for mark in marks if mark.start() < start][-1:]
        below = [mark for mark in marks if mark.start() >= end][:1]
        if not found and [mark[0][:1] for mark in above + below] == [b"<", b">"]:
            found = above + below
        return [self.data.count(b"\n", 0, mark.start()) + 1 for mark in found]

    @cached_property
    def has_text_around(self) -> bool:
        """True if there is text outside the section."""
        section = self.section
        return bool(section.before.removesuffix(section.heading).strip() or section.after.strip())

    def written(self) -> Self:
        """Return the document as it is once the section is in it and all its units are known."""
        return replace(self, section=replace(self.section, is_new=False))


def read_document(data: bytes, name: str) -> Document:
    """Return the document ``data``, whose section is called ``name``; ``OSError``: it cannot be understood."""
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise OSError(errno.EILSEQ, "the text is UTF-16, not UTF-8")
    section, blocks = locate_section(data, name)
    if blocks and blocks[-1].is_cut:
        raise OSError(errno.ELOOP, "its lists are nested too deep")
    return Document(data, section, read_units(section.lines, blocks), find_ids(data))


_LINE_ENDS: Final = (b"\r", b"\n")


class Frame:
    """A document into which entries are put; filled, it reads back as a document with the same frame."""

    def __init__(self, document: Document, kept: Sequence[Unit]) -> None:
        """Keep the units ``kept`` of the document below the entries; drop everything else in its section."""
        section, units = document.section, document.units
        self._newline = section.newline
        self._before = section.before
        self._after = section.after
        lines = section.lines
        first, last = (units[0].start, units[-1].end) if units else (0, 0)
        self._lead = b"".join(lines[:first])
        self._tail = b"".join(lines[last:])
        places = {unit.start: place for place, unit in enumerate(units)}
        gaps = groupby(enumerate(kept), key=lambda it: places[it[1].start] - it[0])
        runs = [[unit for _, unit in run] for _, run in gaps]  # nothing moves within a run of consecutive units
        self._texts = [b"".join(lines[run[0].start : run[-1].end]) for run in runs]
        self._kept = [unit.text for unit in kept]
        self._ends_as_before = bool(kept) and kept[-1] == units[-1]
        if section.after and not self._tail:
            self._tail = self._newline

    def fill(self, entries: Sequence[Entry], max_chars: int) -> tuple[bytes, list[bytes]]:
        """Return the document with the ``entries`` for which there is room, and the text of each unit of its section.

        ``max_chars`` is the most characters below the heading, 0 for no limit; if not all entries fit, a line counts
        the others (HB-14).
        """
        texts = [entry.text for entry in entries]
        if max_chars:
            urgent = [entry.text for entry in sorted(entries, key=lambda entry: not entry.is_running)]
            room = max_chars - _size(b"".join(self._body([b""]))) + len(self._newline)
            texts = _select_fitting(urgent, room, len(self._newline))
        if len(texts) < len(entries):
            texts.append(overflow_line(len(entries) - len(texts)))
        body = self._body(texts)
        before = self._before
        if any(body) and not before.endswith(_LINE_ENDS):
            before += self._newline
        return b"".join([before, *body, self._after]), [*texts, *self._kept]

    def _body(self, own: Sequence[bytes]) -> list[bytes]:
        """Return the body with the server's ``own`` texts above what is kept."""
        newline = self._newline
        body = [self._lead] if own or self._texts else []
        lines = b"".join([text + b"\n" for text in own])
        body.append(lines if newline == b"\n" else lines.replace(b"\n", newline))
        for number, text in enumerate(self._texts):
            if own or number:
                body.append(newline + LIST_END + newline if _is_indented(text) else newline)
            body.append(text)
        if (own or self._texts) and not self._ends_as_before and _is_indented(self._after):
            body.append((newline if self._texts else b"") + LIST_END + newline)
        return [*body, self._tail]


def _select_fitting(texts: Sequence[bytes], room: int, line_end: int) -> list[bytes]:
    """Return the first of ``texts`` that fit, leaving out those that are too large even alone."""
    sizes = [_size(text) + text.count(b"\n") * (line_end - 1) + line_end for text in texts]
    if all(room >= size for size in accumulate(sizes)):
        return [*texts]
    room -= len(overflow_line(len(texts))) + line_end
    largest = room
    shown = []
    for text, size in zip(texts, sizes, strict=True):
        if room < size <= largest:
            break
        if size <= largest:
            room -= size
            shown.append(text)
    return shown


def _size(data: bytes) -> int:
    return len(data.decode(errors="replace"))


def _is_indented(text: bytes) -> bool:
    return text.startswith((b" ", b"\t"))


_AT_A_TIME: Final = 1_000
"""Changed tasks fetched at a time."""


class ActiveEntries:
    """The entries in the section for a store's Pending and Running tasks; used by one thread at a time."""

    def __init__(self, store: Store[HeartbeatTask], clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._token: str | None = None
        self._entries: dict[str, tuple[tuple[int, str], datetime | None, Entry]] = {}
        self._next: datetime | None = None

    @property
    def ids(self) -> AbstractSet[str]:
        """The ids of the tasks with an entry, now or once they are due, when ``current`` was last called."""
        return self._entries.keys()

    @property
    def seconds(self) -> float:
        """The time until the next task is due; none if ``current`` has returned every entry."""
        return (self._next - self._clock()).total_seconds() if self._next else inf

    def is_current(self) -> bool:
        """Return whether nobody has changed the store since ``current``, and no further task is due."""
        return self._store.changes(None, 0).token == self._token and self.seconds > 0

    def current(self) -> list[Entry]:
        """Return the entries of the tasks that are due, as they are committed now, in the order of ``task_list``."""
        more = True
        while more:
            found = self._store.changes(self._token, _AT_A_TIME)
            if self._token is None or found.reset:
                with self._store.read() as tasks:
                    active = tasks.select(Selection(states=ACTIVE))
                self._entries = {task.id: _make_entry(task) for task in active}
            for task_id, task in found.records:
                self._entries.pop(task_id, None)
                if task is not None and task.is_active:
                    self._entries[task_id] = _make_entry(task)
            self._token, more = found.token, found.more
        found = sorted(self._entries.values(), key=itemgetter(0))
        now = self._clock() if any(start for _, start, _ in found) else None
        later = {start for _, start, _ in found if start and now and start > now}
        self._next = min(later, default=None)
        return [entry for _, start, entry in found if start not in later]


def _make_entry(task: HeartbeatTask) -> tuple[tuple[int, str], datetime | None, Entry]:
    entry = Entry(task.id, task.status is HeartbeatStatus.RUNNING, render_entry(task))
    return (task.columns.created or 0, task.id), task.starts, entry
