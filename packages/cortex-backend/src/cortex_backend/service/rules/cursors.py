"""Cursors: the key after which a page continues, bound to the list that it is a part of (CX-22)."""

import re
from hashlib import sha256
from typing import Final

from cortex_backend.problems import InvalidCursorProblem

__all__ = ["decode_cursor", "encode_cursor"]

_FORM: Final = re.compile(r"([1-9][0-9]{0,9})-([0-9a-f]{16})")


def encode_cursor(key: int, scope: str) -> str:
    """Return the cursor for what comes after ``key`` in the list that ``scope`` names."""
    return f"{key}-{sha256(f'{key} {scope}'.encode()).hexdigest()[:16]}"


def decode_cursor(cursor: str, scope: str) -> int:
    """Return the key of a cursor.

    Raises:
        InvalidCursorProblem: it is damaged, or is one of another list.
    """
    match = _FORM.fullmatch(cursor)
    if not match or encode_cursor(int(match[1]), scope) != cursor:
        raise InvalidCursorProblem
    return int(match[1])
