"""The progress of a long import, for a person at a terminal (MV-2)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from task_core.moving import Arrival

__all__ = ["Watched"]

_PERIOD: Final = 0.5
"""Seconds between two reports; a quick import has none."""


@dataclass(frozen=True)
class Watched(Iterable[Arrival]):
    """Tasks that report on a terminal how many of them are done while somebody goes through them."""

    arrivals: Sequence[Arrival]
    what: str
    """what is done to them, such as ``Importing``"""
    out: TextIO
    clock: Callable[[], float]
    """returns seconds"""

    def __iter__(self) -> Iterator[Arrival]:
        shown, last = "", self.clock()
        for done, arrival in enumerate(self.arrivals):
            now = self.clock()
            if now - last >= _PERIOD and self.out.isatty():
                shown, last = f"{self.what}: {done:,} of {len(self.arrivals):,}", now
                self._write(shown)
            yield arrival
        self._write(" " * len(shown))

    def _write(self, text: str) -> None:
        self.out.write(f"{text}\r" if text else "")  # what is written next begins at the start of the line
        self.out.flush()
