"""Values that are measured alternately, and their medians."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

__all__ = ["Series", "in_turn", "rounds_of", "timed"]

KeyT = TypeVar("KeyT")
T = TypeVar("T")


@dataclass(frozen=True)
class Series:
    """The values of one thing, in seconds or bytes, in the order of the rounds."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The value in the middle."""
        return median(self.values)

    @property
    def least(self) -> float:
        """The smallest value, which nothing else slowed down."""
        return min(self.values)

    def plus(self, *others: Series) -> Series:
        """Return the sums of the values from the same rounds."""
        return Series(tuple(map(sum, zip(self.values, *(other.values for other in others), strict=True))))

    def minus(self, other: Series) -> Series:
        """Return the differences of the values from the same rounds."""
        return Series(tuple(mine - theirs for mine, theirs in zip(self.values, other.values, strict=True)))


def in_turn(
    works: Mapping[KeyT, Callable[[], float]], rounds: int, *, seconds: float = 60.0, warm_up: int = 1
) -> dict[KeyT, Series]:
    """Return the values that each of ``works`` returns, as ``rounds_of`` carries them out."""
    found = rounds_of(works, rounds, seconds=seconds, warm_up=warm_up)
    return {name: Series(tuple(values)) for name, values in found.items()}


def rounds_of(
    works: Mapping[KeyT, Callable[[], T]], rounds: int, *, seconds: float = 60.0, warm_up: int = 1
) -> dict[KeyT, list[T]]:
    """Carry out ``works`` one after the other in each round (A B C, A B C, …), and return their results.

    The first ``warm_up`` rounds do not count. After so many ``seconds`` no further round begins.
    """
    found: dict[KeyT, list[T]] = {name: [] for name in works}
    deadline = time.monotonic() + seconds
    for number in range(-warm_up, rounds):
        if number > 0 and time.monotonic() > deadline:
            break
        for name, work in works.items():
            result = work()
            if number >= 0:
                found[name].append(result)
    return found


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that ``work`` takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
