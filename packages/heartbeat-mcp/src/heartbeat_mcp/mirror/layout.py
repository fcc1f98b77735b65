"""Puts the section together: which entries it shows, then what a person wrote (HB-10, HB-12, HB-14)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from heartbeat_mcp.mirror.entries import Entry, overflow_line
from heartbeat_mcp.mirror.section import Section
from heartbeat_mcp.mirror.units import Part, Unit
from heartbeat_mcp.models import Status

__all__ = ["Document", "lay_out"]

_LIST_END: Final = b"<!-- -->"
"""Ends a list, so that indented text below it does not become part of its last item."""

_LINE_ENDS: Final = (b"\r", b"\n")


@dataclass(frozen=True)
class Document:
    """HEARTBEAT.md as it is or is to be."""

    data: bytes
    section: Section
    units: list[Unit]

    @property
    def has_new_bullets(self) -> bool:
        """Whether a person's bullet stands in it that was not taken in."""
        return any(unit.part is Part.BULLET for unit in self.units)


def lay_out(old: Document, kept: Sequence[Unit], entries: Sequence[Entry], max_chars: int) -> Document:
    """Return ``old`` with those of ``entries`` in its section that there is room for, and ``kept`` below them.

    ``max_chars`` is the most characters below the heading, 0 for no limit. Blank lines next to the headings stay.
    A document that shows all that already is returned as it is.
    """
    frame = _Frame(old, kept)
    if max_chars:
        entries = sorted(entries, key=lambda entry: entry.task.status is not Status.RUNNING)
        shown = _fitting(entries, max_chars - frame.size, old.section.newline)
    else:
        shown = list(entries)
    own = [Unit(Part.ENTRY, 0, 0, entry.text, entry.item) for entry in shown]
    if len(shown) < len(entries):
        own.append(Unit(Part.OVERFLOW, 0, 0, overflow_line(len(entries) - len(shown))))
    return old if _is_shown(old, own, kept) else frame.filled_with(own)


def _is_shown(old: Document, own: Sequence[Unit], kept: Sequence[Unit]) -> bool:
    texts = [unit.text for unit in old.units[: len(own)]]
    is_same = texts == [unit.text for unit in own] and old.units[len(own) :] == list(kept)
    return is_same and not old.section.is_new


def _fitting(entries: Sequence[Entry], room: int, newline: bytes) -> list[Entry]:
    sizes = [_size(_lines(entry.text, newline)) for entry in entries]
    if sum(sizes) <= room:
        return list(entries)
    room -= _size(_lines(overflow_line(len(entries)), newline))
    shown = []
    for entry, size in zip(entries, sizes, strict=True):
        if size <= room:
            room -= size
            shown.append(entry)
    return shown


def _size(data: bytes) -> int:
    return len(data.decode(errors="replace"))


def _lines(text: bytes, newline: bytes) -> bytes:
    return text.replace(b"\n", newline) + newline


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

    @property
    def size(self) -> int:
        """Characters below the heading besides the entries."""
        builder = _Builder(self._newline)
        self._add_kept(builder, has_entries=True)
        return _size(b"".join((*self._lead, *builder.parts, self._tail)))

    def filled_with(self, own: Sequence[Unit]) -> Document:
        """Return the document with ``own`` in the place for the entries."""
        builder = _Builder(self._newline)
        if own or self._runs:
            for line in self._lead:
                builder.add_blank(line)
        for unit in own:
            builder.add_own(unit)
        self._add_kept(builder, has_entries=bool(own))
        body = b"".join(builder.parts) + self._tail
        heading = self._section.heading
        before = self._section.before
        if body and not before.endswith(_LINE_ENDS):
            heading += self._newline
            before += self._newline
        section = replace(self._section, before=before, heading=heading, body=body, is_new=False)
        return Document(before + body + section.after, section, builder.units)

    def _add_kept(self, builder: _Builder, *, has_entries: bool) -> None:
        for number, run in enumerate(self._runs):
            lines = self._section.lines[run[0].start : run[-1].end]
            if number or has_entries:
                builder.add_blank(self._newline)
                if lines[0].startswith((b" ", b"\t")):
                    builder.add_own(Unit(Part.TEXT, 0, 0, _LIST_END))
            builder.add_run(run, b"".join(lines))


class _Builder:
    """Collects the body of a section and, in step with it, the units that it will be read back as."""

    def __init__(self, newline: bytes) -> None:
        self.parts: list[bytes] = []
        self.units: list[Unit] = []
        self._newline = newline
        self._count = 0

    def add_blank(self, line: bytes) -> None:
        """Add a blank line."""
        self.parts.append(line)
        self._count += 1

    def add_own(self, unit: Unit) -> None:
        """Add lines that the server makes."""
        self.parts.append(_lines(unit.text, self._newline))
        start, self._count = self._count, self._count + unit.text.count(b"\n") + 1
        self.units.append(Unit(unit.part, start, self._count, unit.text, unit.item))

    def add_run(self, run: Sequence[Unit], text: bytes) -> None:
        """Add what a person wrote, ``text``, in which the units ``run`` stand."""
        self.parts.append(text if text.endswith(_LINE_ENDS) else text + self._newline)
        offset = self._count - run[0].start
        self.units.extend(unit.moved(offset) for unit in run)
        self._count = self.units[-1].end


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
