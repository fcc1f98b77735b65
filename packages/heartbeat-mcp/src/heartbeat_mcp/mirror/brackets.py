"""The bracket before the text of a bullet, and the other marks by which people set a status (HB-12)."""

import re
from typing import Final

from heartbeat_mcp.models import HeartbeatStatus

__all__ = ["parse_status", "read_bracket"]

_BRACKET: Final = re.compile(r"\[([^\[\]]*)\](.*)")

_DONE: Final = ("done", "completed")
"""The words that people write for Complete."""

_MARKS: Final = {"/": HeartbeatStatus.RUNNING, "-": HeartbeatStatus.FAIL, "~": HeartbeatStatus.FAIL}
"""Marks that people make in a box for what they have begun or given up."""

_STRUCK: Final = re.compile(r"~~(?!~).+~~")
"""A text that somebody struck out as a whole."""


def parse_status(name: str) -> HeartbeatStatus | None:
    """Return the status that ``name`` means, in any case, or None."""
    name = name.strip().casefold()
    try:
        return HeartbeatStatus.COMPLETE if name in _DONE else HeartbeatStatus(name)
    except ValueError:
        return None


def read_bracket(content: str) -> tuple[HeartbeatStatus | None, bool, str]:
    """Return the status of a bullet's first line, whether its bracket is a template, and the text."""
    bracket = _BRACKET.fullmatch(content)
    if bracket is None:
        return _read_struck(content), False, content
    inside, rest = bracket[1].strip(), bracket[2]
    is_mark = not rest or rest[0] in " \t"
    if inside in ("", "x", "X") and is_mark:
        text = rest.strip(" \t")
        return HeartbeatStatus.COMPLETE if inside else _read_struck(text), False, text
    if inside in _MARKS and is_mark and rest.strip():
        return _MARKS[inside], False, content  # no status of ours says the same, so the mark stays
    names = re.split(r"[/|,、]", inside)
    if len(names) > 1 and any(map(parse_status, names)):
        return None, True, rest
    status = parse_status(inside)
    if status is None or rest.startswith(("(", "[", ":")):
        return None, False, content
    return status, False, rest.strip(" \t")


def _read_struck(text: str) -> HeartbeatStatus | None:
    return HeartbeatStatus.FAIL if _STRUCK.fullmatch(text) else None
