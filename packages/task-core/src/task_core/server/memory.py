"""Gives memory back to the system once large requests are done with, which the C library of GNU would keep.

A request of 8 MiB, of which several copies are made, left up to 40 MiB behind, and one of many small values up to 110.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

__all__ = ["Footprint"]

_LARGE: Final = 2**20
"""Bytes from which on a request, or one piece of memory, counts as large."""

_M_MMAP_THRESHOLD: Final = -3
"""A setting of ``malloc.h``: from how many bytes on a piece is taken from the system, to which it goes back at once."""


class Footprint:
    """What large requests leave behind in memory."""

    def __init__(self) -> None:
        self._is_large = False
        self._is_last_large = False

    def note(self, size: int) -> None:
        """Take note of a request of ``size`` bytes before it is read."""
        self._is_last_large = size >= _LARGE
        if self._is_last_large and not self._is_large:
            self._is_large = True
            # Else the limit rises with each large piece that is freed, and the next ones are kept.
            _call_allocator("mallopt", _M_MMAP_THRESHOLD, _LARGE)

    def clear(self) -> None:
        """Give the small pieces back too, once the next request has come: until then the last one is held."""
        if self._is_large and not self._is_last_large:
            self._is_large = False
            _call_allocator("malloc_trim", 0)


def _call_allocator(name: str, *arguments: int) -> None:
    """Call the function of the C library, where that has it."""
    import ctypes  # noqa: PLC0415 - most servers never see a large request

    # Windows has no such library, and libraries other than GNU's have no such function.
    with suppress(OSError, TypeError, AttributeError):
        getattr(ctypes.CDLL(None), name)(*arguments)
