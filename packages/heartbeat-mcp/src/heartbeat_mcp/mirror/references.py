"""Link reference definitions (CommonMark 0.31, section 4.7): lines of a paragraph that are not part of its text."""

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["count_definition_lines"]

_MOST_LABEL: Final = 999
"""Characters that a link label may have (CommonMark 0.31, section 6.3)."""

_MOST_NESTED: Final = 32
"""Levels of parentheses in a destination that the reference implementation accepts."""

_LABEL: Final = re.compile(rb"\[((?:\\[\s\S]|[^\\\[\]])*)\]:[ \t]*\n?[ \t]*")
_DESTINATION: Final = re.compile(rb"<(?:\\.|[^\\<>\n])*>|[^\x00-\x20\x7f<][^\x00-\x20\x7f]*")
_TITLE: Final = re.compile(
    rb"""[ \t]*(?:[ \t]|\n)[ \t]*"""
    rb"""("(?:\\[\s\S]|[^\\"])*"|'(?:\\[\s\S]|[^\\'])*'|\((?:\\[\s\S]|[^\\()])*\))"""
    rb"""[ \t]*(?:\n|\Z)"""
)
_LINE_END: Final = re.compile(rb"[ \t]*(?:\n|\Z)")
_PARENTHESIS: Final = re.compile(rb"\\.|[()]")


def count_definition_lines(lines: Sequence[bytes]) -> int:
    """Return how many of the first ``lines`` of a paragraph are link reference definitions.

    The lines have no line ends and no leading blanks.
    """
    text = b"\n".join(lines)
    position = 0
    while position < len(text) and (end := _definition_end(text, position)) is not None:
        position = end
    return len(lines) if position == len(text) else text.count(b"\n", 0, position)


def _definition_end(text: bytes, position: int) -> int | None:
    label = _LABEL.match(text, position)
    if label is None or not label[1].strip() or len(label[1]) > _MOST_LABEL:
        return None
    destination = _DESTINATION.match(text, label.end())
    if destination is None or not _is_balanced(destination[0]):
        return None
    end = _TITLE.match(text, destination.end()) or _LINE_END.match(text, destination.end())
    return None if end is None else end.end()


def _is_balanced(destination: bytes) -> bool:
    if destination.startswith(b"<"):
        return True
    depth = 0
    for found in _PARENTHESIS.finditer(destination):
        depth += {b"(": 1, b")": -1}.get(found[0], 0)
        if not 0 <= depth <= _MOST_NESTED:
            return False
    return depth == 0
