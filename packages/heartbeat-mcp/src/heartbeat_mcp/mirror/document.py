"""HEARTBEAT.md as a whole: its bytes, its section, and what stands in that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from heartbeat_mcp.mirror.entries import overflow_count
from heartbeat_mcp.mirror.section import Section, locate_section
from heartbeat_mcp.mirror.units import Part, Unit, read_units
from heartbeat_mcp.models import Task

__all__ = ["Document", "read_document"]


@dataclass(frozen=True)
class Document:
    """HEARTBEAT.md as it is, or as it is to be."""

    data: bytes
    section: Section
    units: list[Unit]
    changed_at: datetime | None = None
    """when the file was last changed, in UTC; None for one that is not written yet"""

    @property
    def has_new_bullets(self) -> bool:
        """Whether a person's bullet stands in it that was not taken in."""
        return any(unit.part is Part.BULLET for unit in self.units)

    @property
    def hidden(self) -> int:
        """How many tasks it says that there was no room for (HB-14)."""
        return sum(overflow_count(unit.text) or 0 for unit in self.units if unit.part is Part.OVERFLOW)

    def is_older_than(self, task: Task) -> bool:
        """Whether nothing was written into the file since ``task`` was created."""
        return self.changed_at is not None and self.changed_at < task.created_at


def read_document(data: bytes, name: str) -> Document:
    """Return the document ``data``, whose section is called ``name``."""
    section, blocks = locate_section(data, name)
    return Document(data, section, read_units(section.lines, blocks))
