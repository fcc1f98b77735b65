"""Copies of damaged stores, kept aside before anything is written in their place (L1, L3)."""

from __future__ import annotations

import re
import secrets
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from task_core.files import write_new

__all__ = ["KEEP_COPIES", "KEEP_DAYS", "keep_aside"]

KEEP_COPIES: Final = 3
"""Damaged copies of one store that stay, the newest ones."""

KEEP_DAYS: Final = 30
"""Days in which no damaged copy is removed, however many there are."""

_STAMP: Final = "%Y%m%dT%H%M%S%fZ"


def keep_aside(path: Path, data: bytes, moment: datetime) -> Path:
    """Write ``data`` durably to ``NAME.corrupt-TIME-RANDOM`` beside ``path`` and return where it is.

    ``moment`` is in UTC. Older copies than the newest ``KEEP_COPIES`` go, but none younger than ``KEEP_DAYS``.

    Raises:
        OSError: the copy could not be made.
    """
    copy = path.with_name(f"{path.name}.corrupt-{moment.strftime(_STAMP)}-{secrets.token_hex(4)}")
    write_new(copy, data)
    _prune(path, moment)
    return copy


def _prune(path: Path, moment: datetime) -> None:
    pattern = re.compile(re.escape(path.name) + r"\.corrupt-(\d{8}T\d{12}Z)-[0-9a-f]{8}")
    with suppress(OSError):
        found = (pattern.fullmatch(entry.name) for entry in path.parent.iterdir())
        copies = sorted((match for match in found if match), key=lambda match: match[1])
        limit = (moment - timedelta(days=KEEP_DAYS)).strftime(_STAMP)
        for match in copies[:-KEEP_COPIES]:
            if match[1] < limit:
                path.with_name(match[0]).unlink()
