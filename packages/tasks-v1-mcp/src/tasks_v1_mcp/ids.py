"""Time-ordered ids: ``task_`` and 12 characters of Crockford's base32 (spec 2, C4)."""

from collections.abc import Container
from datetime import datetime
from random import Random
from typing import Final

from task_core.models import microseconds

__all__ = ["IdMaker"]

_PREFIX: Final = "task_"

_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base32: no I, L, O, U; it sorts like the numbers that it encodes."""

_LENGTH: Final = 12
"""Characters after the prefix: 60 bits, 52 for microseconds (until the year 2112) and 8 random ones."""


class IdMaker:
    """Makes ascending ids, even if the clock steps back or stops."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._last = 0

    def new_id(self, now: datetime, taken: Container[str]) -> str:
        """Return an id that is not ``taken`` and above all earlier ones of this maker; the caller holds the lock."""
        self._last = max(microseconds(now) << 8 | self._rng.getrandbits(8), self._last + 1)
        while (found := _written(self._last)) in taken:
            self._last += 1
        return found


def _written(number: int) -> str:
    shifts = range(5 * (_LENGTH - 1), -1, -5)
    return _PREFIX + "".join(_CROCKFORD[number >> shift & 31] for shift in shifts)
