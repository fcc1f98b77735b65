"""Values that are measured alternately, and the result of one measurement with its floor and its target."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

KeyT = TypeVar("KeyT")
T = TypeVar("T")


class Unit(Enum):
    """A unit: its name, and how many of it are in a second or in a byte."""

    MILLISECONDS = "ms", 1e3
    MICROSECONDS = "µs", 1e6
    CALLS = "calls/s", 1.0
    """The value is seconds for each call."""
    MEBIBYTES = "MiB", 1 / 2**20

    def shown(self, value: float) -> str:
        """Return the value with its unit."""
        name, scale = self.value
        number = 1 / value if self is Unit.CALLS else value * scale
        digits = 0 if abs(number) >= 100 else 1 if abs(number) >= 10 else 2
        return f"{number:,.{digits}f} {name}"


@dataclass(frozen=True)
class Row:
    """One measurement of one server, in seconds or bytes.

    With a floor, the limit is that of the ratio to it: at most the limit or, for calls a second, at least. Without a
    floor, it is that of the value itself.
    """

    target: int
    what: str
    server: str
    unit: Unit
    measured: float
    floor: float | None
    limit: float
    floor_is: str = ""
    """The floor in words."""

    @property
    def ratio(self) -> float | None:
        """The value over its floor."""
        if self.floor is None:
            return None
        return self.floor / self.measured if self.unit is Unit.CALLS else self.measured / self.floor

    @property
    def used(self) -> float:
        """The part of the limit that is used up; above 1 the target is missed."""
        found = self.measured if self.ratio is None else self.ratio
        return self.limit / found if self.unit is Unit.CALLS else found / self.limit

    @property
    def target_shown(self) -> str:
        """The limit in words."""
        if self.floor is None:
            return f"at most {self.unit.shown(self.limit)}"
        return f"at {'least' if self.unit is Unit.CALLS else 'most'} {self.limit:g} ×"


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
