"""The section about a server in AGENTS.md or CLAUDE.md, between two marks by which it is found again."""

import re
from typing import Final

from mcp_client_install.edits.lines import BadConfiguration, append_block, cut_block, decode

__all__ = ["GUIDES", "add_section", "remove_section"]

GUIDES: Final = ("AGENTS.md", "CLAUDE.md")
"""The files that agents read first, in the folder of a project."""


def add_section(data: bytes | None, name: str, body: str) -> bytes:
    """Return the file with a section at its end, or with a new ``body`` of the section that it has.

    ``name``: what the marks of the section name, the server and its entry.

    Raises:
        BadConfiguration: the file is not UTF-8 text, or has only one of the marks.
    """
    text = decode(data)
    section = f"{_begin(name)}\n{body}\n{_end(name)}\n"
    place = _find(text, name)
    if place is None:
        return append_block(text, section).encode()
    is_same = text[slice(*place)].splitlines() == section.splitlines()
    return (text if is_same else append_block(cut_block(text, *place), section)).encode()


def remove_section(data: bytes | None, name: str) -> bytes | None:
    """Return the file without the section, or None if nothing else is in it.

    Raises:
        BadConfiguration: as ``add_section``.
    """
    text = decode(data)
    place = _find(text, name)
    return (cut_block(text, *place) if place else text).encode() or None


def _begin(name: str) -> str:
    return f"<!-- {name}: begin -->"


def _end(name: str) -> str:
    return f"<!-- {name}: end -->"


def _find(text: str, name: str) -> tuple[int, int] | None:
    begin, end = _begin(name), _end(name)
    if (text.count(begin), text.count(end)) == (0, 0):
        return None
    pattern = rf"(?:\A|(?<=[\r\n])){re.escape(begin)}[\s\S]*?{re.escape(end)}[ \t]*(?:\r\n|\n|\r|\Z)"
    found = re.search(pattern, text)
    if found is None or (text.count(begin), text.count(end)) != (1, 1):
        raise BadConfiguration(f"it does not have each of the marks {begin} and {end} once, on lines of their own")
    return found.span()
