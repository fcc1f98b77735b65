"""Ids as they are stored: numbers, decimals and text, of tasks, of subtasks and in dependencies (TM-23, TM-34)."""

import re
from typing import Final

from pydantic import JsonValue

from taskmaster_mcp.errors import LimitExceeded

__all__ = ["REFERENCE", "check_number", "read_number", "read_text"]

REFERENCE: Final = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,15}))?")
"""A dependency as it is stored: a number, or the id of a subtask."""

_NUMBER: Final = re.compile(r"(?:[0-9]+\.)*([0-9]{1,15})")
"""The stored id of a subtask; the last number counts, since some versions stored ``"5.2"``."""

_MAX_NUMBER: Final = 10**15 - 1
"""The highest number of an item that is read, and so the highest that is made."""


def check_number(number: int) -> int:
    """Return the number of a new item, or raise ``LimitExceeded`` if nothing could read it."""
    if number > _MAX_NUMBER:
        raise LimitExceeded("The number of a task or subtask", _MAX_NUMBER, number)
    return number


def read_text(stored: JsonValue) -> str:
    """Return a stored id as text; number or text make no difference. What cannot be an id is empty."""
    if isinstance(stored, bool) or not isinstance(stored, int | float | str):
        return ""
    is_whole = isinstance(stored, float) and stored.is_integer()
    return str(int(stored) if is_whole else stored).strip()


def read_number(stored: JsonValue, *, is_subtask: bool) -> int | None:
    """Return the number that a stored id has, or None."""
    if isinstance(stored, float):  # such as 5.2, the second subtask of 5
        stored = read_text(stored)
    if isinstance(stored, bool) or not isinstance(stored, int | str):
        return None
    if isinstance(stored, int):
        return stored if 0 <= stored <= _MAX_NUMBER else None
    found = _NUMBER.fullmatch(stored.strip())
    return int(found[1]) if found and (is_subtask or "." not in stored) else None
