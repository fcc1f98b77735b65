"""Text for people: short forms, invisible characters made visible, near names."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

__all__ = ["escape_invisible", "nearest", "shorten"]

_INVISIBLE: Final = re.compile(
    "["
    r"\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction
    r"\u2028\u2029"  # line and paragraph separators
    r"\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"  # zero width
    r"\U000e0000-\U000e007f"  # tags
    r"\ud800-\udfff"  # halves of a character, which UTF-8 cannot write
    "]"
)
"""Characters that are invisible or misleading. The joiners U+200C and U+200D stay: scripts and emoji need them."""


def escape_invisible(text: str) -> str:
    r"""Return ``text`` with control, direction, tag and zero-width characters as ``\u{…}``, line breaks included."""
    return _INVISIBLE.sub(lambda match: f"\\u{{{ord(match.group()):x}}}", text)


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the up to three ``known`` names that are most like ``name``, in any case, nearest first."""
    folded = {other.casefold(): other for other in known}
    return [folded[other] for other in get_close_matches(name.casefold()[:200], list(folded))]


def shorten(text: str, limit: int) -> str:
    """Return ``text`` in at most ``limit`` characters; shortened text ends in ``…``."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
