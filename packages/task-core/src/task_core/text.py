"""Text for people and models: short forms, one-line forms, invisible characters made visible, near names."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from heapq import nsmallest
from typing import Final

__all__ = ["escape_invisible", "nearest", "one_line", "shorten"]

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
"""What a reader cannot see or is misled by (S3). The joiners U+200C and U+200D stay: scripts and emoji need them."""

_LONGEST_NAME: Final = 200
"""Characters of a name that are compared: ids are shorter, and comparing costs the square of the length."""

_FEW: Final = 200
"""Names that are compared with care; of more, those that share the most pieces with the name are chosen first."""

_PIECES: Final = 10
"""Pieces of a name that are looked for: enough for a typo to spoil only some."""


def shorten(text: str, limit: int) -> str:
    """Return ``text`` in at most ``limit`` characters, one or more; text that is cut ends in ``…``."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def one_line(text: str) -> str:
    """Return ``text`` with every run of blanks and line breaks as one blank, none at its ends."""
    return " ".join(text.split())


def escape_invisible(text: str) -> str:
    r"""Return ``text`` with control, bidi, tag and zero-width characters as ``\u{…}``, line breaks included (S3).

    A backslash stays as it is; who wants to read the text back escapes it first.
    """
    return _INVISIBLE.sub(lambda match: f"\\u{{{ord(match.group()):x}}}", text)


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    """Return the up to three ``known`` names that are most like ``name``, in any case, nearest first (ERR-4).

    Names less alike than ``cutoff``, from 0 to 1, are left out. Equally near ones stand in reverse alphabetical order.
    """
    folded = {other.casefold(): other for other in known}
    wanted = shorten(name, _LONGEST_NAME).casefold()
    return [folded[other] for other in get_close_matches(wanted, _likely(wanted, list(folded)), n=3, cutoff=cutoff)]


def _likely(name: str, known: list[str]) -> list[str]:
    if len(known) <= _FEW:
        return known
    shared: Counter[str] = Counter()
    for piece in _pieces(name):
        holders = [other for other in known if piece in other]
        if len(holders) <= len(known) // 8:
            shared.update(holders)
    return nsmallest(_FEW, shared, key=lambda other: (-shared[other], abs(len(other) - len(name))))


def _pieces(name: str) -> Iterable[str]:
    size = max(2, len(name) // _PIECES)
    step = max(1, math.ceil((len(name) - size) / (_PIECES - 1)))
    return dict.fromkeys(name[start : start + size] for start in range(0, max(1, len(name) - size + 1), step))
