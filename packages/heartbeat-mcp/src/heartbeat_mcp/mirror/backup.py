"""HEARTBEAT.md.bak: the last sections with edits that the store overrode (HB-12)."""

import re
from datetime import datetime
from pathlib import Path
from typing import Final

from task_core.durable import replace_file
from task_core.files import read_file
from task_core.models import format_timestamp

__all__ = ["Backup"]

_MAX_SECTIONS: Final = 20

_MAX_BYTES: Final = 2**20

_MARK: Final = re.compile(rb"(?m)^(?=<!-- section of \d{4}-[^\r\n]*Z -->$)")
"""The start of the comment before each section that was kept."""


class Backup:
    """The file beside HEARTBEAT.md that only such sections are written to."""

    def __init__(self, path: Path, *, fsync: bool) -> None:
        self.path = path
        self._fsync = fsync

    def keep(self, text: bytes, moment: datetime) -> None:
        """Add a section; the oldest are dropped if there are too many, or if they are too large together.

        Raises:
            OSError: it was not kept.
        """
        # Through a link planted here, the text of the section would be written somewhere else (S4).
        if self.path.is_symlink():
            self.path.unlink()
        kept: list[bytes] = _MARK.split(read_file(self.path)[0]) if self.path.exists() else []
        mark = f"<!-- section of {format_timestamp(moment)} -->\n".encode()
        sections = [section for section in kept if section.strip()]
        sections = [_end_lines(section) for section in (*sections, mark + text)][-_MAX_SECTIONS:]
        while len(sections) > 1 and sum(map(len, sections)) > _MAX_BYTES:
            del sections[0]
        replace_file(self.path, b"".join(sections), fsync=self._fsync).close()


def _end_lines(section: bytes) -> bytes:
    return section if section.endswith(b"\n") else section + b"\n"
