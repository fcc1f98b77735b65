"""HEARTBEAT.md.bak: the last sections with edits that the store overrode (HB-12)."""

import re
from datetime import datetime
from pathlib import Path
from typing import Final

from task_core.durable import replace_file
from task_core.files import read_file
from task_core.models import format_timestamp

__all__ = ["keep_section"]

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
