"""HEARTBEAT.md as a whole: its bytes, its section, and what stands in that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain
from operator import attrgetter
from typing import Final

from heartbeat_mcp.mirror.entries import Entry, Run, overflow_count
from heartbeat_mcp.mirror.folding import FOLD, fold
from heartbeat_mcp.mirror.items import find_ids
from heartbeat_mcp.mirror.section import Section, find_newline, locate_section
from heartbeat_mcp.mirror.units import Part, Unit, read_units

__all__ = ["Document", "read_document"]

_TEXT: Final = attrgetter("text")


@dataclass(frozen=True)
class Document:
    """HEARTBEAT.md as it is, or as it is to be."""

    parts: Sequence[bytes]
    """its bytes; joined only where they are asked for, as that takes as long as to copy the file"""
    section: Section
    """with runs of known entries folded into one line each"""
    units: list[Unit]

    @cached_property
    def data(self) -> bytes:
        """Its bytes as a whole."""
        return b"".join(self.parts)

    def is_just(self, data: bytes) -> bool:
        """Whether ``data`` is what the document is made of."""
        ends = list(accumulate(map(len, self.parts), initial=0))
        return len(data) == ends[-1] and all(map(data.startswith, self.parts, ends))

    @property
    def has_new_bullets(self) -> bool:
        """Whether a person's bullet stands in it that was not taken in."""
        return any(unit.part is Part.BULLET for unit in self.units)

    @property
    def hidden(self) -> int:
        """How many tasks it says that there was no room for (HB-14)."""
        return sum(overflow_count(unit.text) or 0 for unit in self.units if unit.part is Part.OVERFLOW)

    @property
    def body(self) -> bytes:
        """What stands below the heading of the section, as it is in the file."""
        if not any(unit.part is Part.RUN for unit in self.units):
            return self.section.body
        return self.data[len(self.section.before) : len(self.data) - len(self.section.after)]

    @cached_property
    def ids(self) -> frozenset[str]:
        """Every task id in a ``<!-- task_id: … -->`` comment outside the runs, anywhere in the file (C4)."""
        section = self.section
        return find_ids(b"".join((section.before, section.body, section.after)))

    @property
    def size(self) -> int:
        """How many units there are when each entry is counted."""
        return sum(len(unit.run) or 1 for unit in self.units)

    def shows_the_same_as(self, other: Document) -> bool:
        """Whether the two differ in nothing but line ends and blank lines."""
        return self.size == other.size and self._texts() == other._texts()

    def _texts(self) -> list[bytes]:
        return list(chain.from_iterable(map(_TEXT, unit.run or (unit,)) for unit in self.units))


def read_document(data: bytes, name: str, entries: Run | None = None) -> Document:
    """Return the document ``data``, whose section is called ``name``.

    What stands there of ``entries`` is known and not parsed again.
    """
    folded = fold(data, list(entries or ()), find_newline(data))
    if folded.runs:
        section, units = _read(folded.data, name)
        runs = iter(folded.runs)
        units = [_unfolded(unit, runs) for unit in units]
        # A run that is not plainly entries of the section, such as one within a fence, has to be read word by word.
        if next(runs, None) is None:
            return Document((data,), section, units)
    return Document((data,), *_read(data, name))


def _read(data: bytes, name: str) -> tuple[Section, list[Unit]]:
    section, blocks = locate_section(data, name)
    return section, read_units(section.lines, blocks)


def _unfolded(unit: Unit, runs: Iterator[Sequence[Entry]]) -> Unit:
    is_run = unit.part is Part.BULLET and unit.text == FOLD
    return replace(unit, part=Part.RUN, run=Run.of(next(runs))) if is_run else unit
