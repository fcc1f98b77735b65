"""Puts the section together: which entries it shows, then what a person wrote (HB-10, HB-12, HB-14)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from heartbeat_mcp.mirror.document import Document
from heartbeat_mcp.mirror.entries import Entry, Run, overflow_line
from heartbeat_mcp.mirror.folding import FOLD
from heartbeat_mcp.mirror.units import LIST_END, Part, Unit
from heartbeat_mcp.models import Status

__all__ = ["lay_out"]

_LIST_END: Final = Unit(Part.LIST_END, 0, 0, LIST_END)

_LINE_ENDS: Final = (b"\r", b"\n")


def lay_out(old: Document, kept: Sequence[Unit], entries: Run, max_chars: int) -> Document:
    """Return ``old`` with those of ``entries`` in its section that there is room for, and ``kept`` below them.

    ``max_chars`` is the most characters below the heading, 0 for no limit. Blank lines next to the headings stay.
    A document that shows all that already is returned as it is.
    """
    frame = _Frame(old, kept)
    shown = entries
    if max_chars:
        shown = Run.of(_fitting(_by_urgency(entries), max_chars - frame.size, len(old.section.newline)))
    own = [Unit(Part.RUN, 0, 0, FOLD, run=shown)] if shown else []
    if len(shown) < len(entries):
        own.append(Unit(Part.OVERFLOW, 0, 0, overflow_line(len(entries) - len(shown))))
    new = frame.filled_with(own)
    return old if not old.section.is_new and new.shows_the_same_as(old) else new


def _by_urgency(entries: Run) -> list[Entry]:
    running = [entry for entry in entries if entry.status is Status.RUNNING]
    return running + [entry for entry in entries if entry.status is not Status.RUNNING]


def _fitting(entries: Sequence[Entry], room: int, line_end: int) -> Sequence[Entry]:
    """Return the first of ``entries`` that there is room for, leaving out such as are too large even alone.

    Only as many are looked at as there may be room for; ``line_end`` is the length of one.
    """
    if _fit(entries, room, line_end):
        return entries
    room -= len(overflow_line(len(entries))) + line_end
    largest = room
    shown = []
    for entry in entries:
        size = _entry_size(entry, line_end)
        if room < size <= largest:
            break
        if size <= largest:
            room -= size
            shown.append(entry)
    return shown


def _fit(entries: Sequence[Entry], room: int, line_end: int) -> bool:
    return all(room >= size for size in accumulate(_entry_size(entry, line_end) for entry in entries))


def _entry_size(entry: Entry, line_end: int) -> int:
    return entry.size + entry.line_count * line_end


def _size(data: bytes) -> int:
    return len(data.decode(errors="replace"))


class _Frame:
    """What surrounds the entries: blank lines, what a person wrote, and the rest of the document."""

    def __init__(self, old: Document, kept: Sequence[Unit]) -> None:
        self._section = old.section
        self._newline = old.section.newline
        self._runs = list(_runs(old.units, kept))
        lines, units = old.section.lines, old.units
        first, last = (units[0].start, units[-1].end) if units else (0, 0)
        self._lead = lines[:first]
        self._tail = b"".join(lines[last:])
        if old.section.after and not self._tail:
            self._tail = self._newline
        self._ends_as_before = bool(kept) and kept[-1] == units[-1]

    @property
    def size(self) -> int:
        """Characters below the heading besides the entries."""
        around_nothing = self._build([Unit(Part.OVERFLOW, 0, 0, b"")])
        return _size(b"".join((*around_nothing.parts, self._tail))) - len(self._newline)

    def filled_with(self, own: Sequence[Unit]) -> Document:
        """Return the document with ``own`` in the place for the entries."""
        builder = self._build(own)
        body = b"".join(builder.folded) + self._tail
        before, heading = self._section.before, self._section.heading
        if body and not before.endswith(_LINE_ENDS):
            before += self._newline
            heading += self._newline
        section = replace(self._section, before=before, heading=heading, body=body, is_new=False)
        return Document((before, *builder.parts, self._tail, section.after), section, builder.units)

    def _build(self, own: Sequence[Unit]) -> _Builder:
        builder = _Builder(self._newline)
        if own or self._runs:
            for line in self._lead:
                builder.add_blank(line)
        for unit in own:
            builder.add_own(unit)
        for run in self._runs:
            self._add_run(builder, run)
        if builder.units and not self._ends_as_before and _is_indented(self._section.after):
            if self._runs:
                builder.add_blank(self._newline)
            builder.add_own(_LIST_END)
        return builder

    def _add_run(self, builder: _Builder, run: Sequence[Unit]) -> None:
        lines = self._section.lines[run[0].start : run[-1].end]
        if builder.units:
            builder.add_blank(self._newline)
            if _is_indented(lines[0]):
                builder.add_own(_LIST_END)
        builder.add_run(run, b"".join(lines))


class _Builder:
    """Collects the body of a section and, in step with it, the units that it will be read back as.

    ``parts`` is the body as it is written, ``folded`` the same with a run of entries as one line.
    """

    def __init__(self, newline: bytes) -> None:
        self.parts: list[bytes] = []
        self.folded: list[bytes] = []
        self.units: list[Unit] = []
        self._newline = newline
        self._count = 0

    def add_blank(self, line: bytes) -> None:
        """Add a blank line."""
        self._add(line)
        self._count += 1

    def add_own(self, unit: Unit) -> None:
        """Add lines that the server makes."""
        line = unit.text.replace(b"\n", self._newline) + self._newline
        self.parts += unit.run.pieces(self._newline) or [line]
        self.folded.append(line)
        start, self._count = self._count, self._count + unit.text.count(b"\n") + 1
        self.units.append(replace(unit, start=start, end=self._count))

    def add_run(self, run: Sequence[Unit], text: bytes) -> None:
        """Add what a person wrote, ``text``, in which the units ``run`` stand."""
        self._add(text)
        offset = self._count - run[0].start
        self.units.extend(unit.moved(offset) for unit in run)
        self._count = self.units[-1].end

    def _add(self, part: bytes) -> None:
        self.parts.append(part)
        self.folded.append(part)


def _is_indented(text: bytes) -> bool:
    return text.startswith((b" ", b"\t"))


def _runs(units: Sequence[Unit], kept: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Yield the units in ``kept`` that follow one another in ``units`` together, so that nothing moves within them."""
    places = {unit.start: place for place, unit in enumerate(units)}
    run: list[Unit] = []
    for unit in kept:
        if run and places[unit.start] != places[run[-1].start] + 1:
            yield run
            run = []
        run.append(unit)
    if run:
        yield run
