"""Gives memory back to the system once large requests are done with, which the C library of GNU would keep.

A request of 8 MiB, of which several copies are made, left up to 40 MiB behind, and one of many small values up to 110.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
        self._at_work = 0

    @contextmanager
    def during(self, size: int) -> Iterator[None]:
        """Do both: take note of a request of ``size`` bytes, and clear up after the block that deals with it."""
        self.note(size)
        self._at_work += 1
        try:
            yield
        finally:
            self._at_work -= 1
            self.clear(self._at_work)

    def note(self, size: int) -> None:
        """Take note of a request of ``size`` bytes before it is parsed."""
        self._is_last_large = size >= _LARGE
        if self._is_last_large and not self._is_large:
            self._is_large = True
            # Else the limit rises with each large piece that is freed, and the next ones are kept.
            _call_allocator("mallopt", _M_MMAP_THRESHOLD, _LARGE)

    def clear(self, at_work: int) -> None:
        """Give the small pieces back too, once 0 requests are ``at_work`` and the last one, still held, was small."""
        if self._is_large and not self._is_last_large and not at_work:
            self._is_large = False
            _call_allocator("malloc_trim", 0)


def _call_allocator(name: str, *arguments: int) -> None:
    """Call the function of the C library, where that has it."""
    # Not every Python has the module, Windows no such library, and libraries other than GNU's no such function.
    with suppress(ImportError, MemoryError, OSError, TypeError, AttributeError):
        import ctypes  # noqa: PLC0415 - most servers never see a large request

        getattr(ctypes.CDLL(None), name)(*arguments)
