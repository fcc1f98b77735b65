"""The warnings about HEARTBEAT.md: what happened, what was kept in HEARTBEAT.md.bak, and what to do."""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from heartbeat_mcp.mirror.reading import Reading
from task_core.durable import replace_file
from task_core.files import describe, read_file
from task_core.models import format_timestamp
from task_core.text import escape_invisible, shorten
from task_core.warning_list import WarningList

__all__ = ["CONFLICT", "FAILED", "REMOVED", "FileReports", "keep_section"]

FAILED: Final = "mirror: file"
CONFLICT: Final = "mirror: conflict"
REMOVED: Final = "mirror: removed"
"""Causes of warnings: the file could not be read or written, has merge conflict markers, or was removed."""

_MAX_NAMED: Final = 300
"""Characters of what a person wrote that a warning shows."""


@dataclass(frozen=True)
class FileReports:
    """Warns of what happens to one section of the file called ``name``."""

    name: str
    section: str
    warnings: WarningList

    def report_reading(self, reading: Reading, shown: Container[str]) -> None:
        """Warn of what was overwritten, of missing entries that are ``shown`` again, and of what was not taken in."""
        name = self.name
        if reading.overridden:
            self._say(
                f"Your edit to {_join(reading.overridden)} in {name} was overwritten: the store is authoritative. The "
                f"old section is in {name}.bak. Use task_update to change tasks."
            )
        if missing := [task_id for task_id in reading.missing if task_id in shown]:
            self._say(
                f"Entries that were missing from {name} are back: {_join(missing)}. Perhaps a server ended "
                "before it wrote them; if somebody removed them, use task_update to finish tasks."
            )
        if reading.refused:
            message = f"Lines of {name} cannot become tasks and stay as they are: {_join(reading.refused)}."
            self.warnings.add(f"mirror: {message}", message)

    def report_similar(self, heading: str) -> None:
        """Warn of a heading under which people have tasks, as a new section was added."""
        shown = shorten(escape_invisible(heading), _MAX_NAMED)
        self._say(
            f"{self.name} has the heading '{shown}', but tasks are in a new section, '## {self.section}'. To have "
            f"them under that heading, delete the new section, write '## {shown}' and set HEARTBEAT_SECTION to "
            f"'{shown}'."
        )

    def report_removal(self, outcome: str) -> None:
        """Warn of a file that is gone although the server wrote entries into it (HB-18)."""
        self.warnings.add(
            REMOVED,
            f"{self.name} is gone: it was deleted, or a program took it over, as OpenClaw does from 2026.8.1 on. "
            f"The tasks are safe in the store, and {outcome}. Set AUTO_SYNC_ENABLED=false if nothing reads the file.",
        )

    def report_conflict(self, lines: Sequence[int]) -> None:
        """Warn of merge conflict markers in these lines."""
        named = ", ".join(map(str, lines[:10]))
        message = f"{self.name} has merge conflict markers in line {named}: nothing is taken from it or "
        self.warnings.add(CONFLICT, f"{message}written to it until you resolve the conflict.")

    def report_failure(self, what: str, error: OSError) -> None:
        """Warn of a file that could not be read or written."""
        message = f"{self.name} {what} ({describe(error)}). The tasks are safe in the store; the next call tries again."
        self.warnings.add(FAILED, message)

    def _say(self, message: str) -> None:
        """Warn of something that is reported again when it happens again."""
        self.warnings.add(f"mirror: {message}", message)
        self.warnings.settle(f"mirror: {message}")


def _join(names: Sequence[str]) -> str:
    return shorten(", ".join(names), _MAX_NAMED)


_MAX_SECTIONS: Final = 20

_MAX_BYTES: Final = 2**20

_MARK: Final = re.compile(rb"(?m)^(?=<!-- section of \d{4}-[^\r\n]*Z -->$)")
"""The start of the comment before each section that was kept."""


def keep_section(path: Path, text: bytes, moment: datetime, *, fsync: bool) -> None:
    """Add a section to the file at ``path``; the oldest are dropped if there are too many or they are too large."""
    # Through a link planted here, the text of the section would be written somewhere else (S4).
    if path.is_symlink():
        path.unlink()
    kept: list[bytes] = _MARK.split(read_file(path)[0]) if path.exists() else []
    mark = f"<!-- section of {format_timestamp(moment)} -->\n".encode()
    sections = [section for section in kept if section.strip()]
    sections = [one if one.endswith(b"\n") else one + b"\n" for one in (*sections, mark + text)][-_MAX_SECTIONS:]
    while len(sections) > 1 and sum(map(len, sections)) > _MAX_BYTES:
        del sections[0]
    replace_file(path, b"".join(sections), fsync=fsync).close()
