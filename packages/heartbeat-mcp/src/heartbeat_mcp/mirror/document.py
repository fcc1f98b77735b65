"""HEARTBEAT.md as it was read: its bytes, its section, and the units of the section."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Self

from heartbeat_mcp.mirror.items import find_ids
from heartbeat_mcp.mirror.section import Section, locate_section
from heartbeat_mcp.mirror.units import Unit, read_units

__all__ = ["Document", "read_document"]

_CONFLICT: Final = re.compile(rb"^(?:<{7}|>{7})(?: .*)?\r?$", re.MULTILINE)
"""A line with which a merge marks the start or the end of a conflict; a line of ``=`` alone may be a heading."""

_HEADING: Final = re.compile(rb"(?:[^\S\n]*\S[^\n]*\n)*?={7}\r?(?:\n|\Z)")
"""What a merge makes of the end of a section: two marks with a paragraph or nothing between them are a heading."""


@dataclass(frozen=True)
class Document:
    """HEARTBEAT.md at one moment."""

    data: bytes
    section: Section
    units: Sequence[Unit]

    @cached_property
    def ids(self) -> frozenset[str]:
        """Every task id in a ``<!-- task_id: … -->`` comment, anywhere in the file (C4)."""
        return find_ids(self.data)

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
        """Whether there is text outside the section."""
        section = self.section
        return bool(section.before.removesuffix(section.heading).strip() or section.after.strip())

    def written(self) -> Self:
        """Return the document as it is once the section is in it and all its units are known."""
        return replace(self, section=replace(self.section, is_new=False))


def read_document(data: bytes, name: str) -> Document:
    """Return the document ``data``, whose section is called ``name``."""
    section, blocks = locate_section(data, name)
    return Document(data, section, read_units(section.lines, blocks))
