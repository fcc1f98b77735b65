"""The parts of a document as they are written, found by the decoder of the standard library."""

from __future__ import annotations

import json
import re
from typing import Final

__all__ = ["list_members", "list_parts"]

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\r\n]*")


def list_parts(text: str) -> list[tuple[str, str]]:
    """Return each member of an object, or item of a list, as it is written; items have no name."""
    at = _skip_space(text, 0)
    is_object = text[at] == "{"
    at = _skip_space(text, at + 1)
    found: list[tuple[str, str]] = []
    while text[at] not in "]}":
        if text[at] == ",":
            at = _skip_space(text, at + 1)
        name = ""
        if is_object:
            name, at = _DECODER.raw_decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        found.append((name, text[at:end]))
        at = _skip_space(text, end)
    return found


def list_members(text: str) -> dict[str, str]:
    """Return the members of an object by their names, as they are written."""
    return dict(list_parts(text))


def _skip_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    assert space
    return space.end()
