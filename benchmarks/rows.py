"""The result of one measurement: its value, its floor, and whether the target is met."""

from dataclasses import dataclass
from enum import Enum

from benchmarks.series import Series

__all__ = ["Row", "Unit"]


class Unit(Enum):
    """How a value is shown: its name, and how many of it are in a second or in a byte."""

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
    """One measurement of one server.

    With a floor the ratio to it is held against ``limit``, at most it or, for calls a second, at least it. Without
    one the value itself is. Without a limit it is only reported.
    """

    target: int
    what: str
    server: str
    unit: Unit
    measured: Series
    floor: Series | None = None
    limit: float | None = None
    floor_is: str = ""
    """What the floor is, in words."""
    is_difference: bool = False
    """Whether the value is a difference, whose smallest value would show only noise."""

    @property
    def ratio(self) -> float | None:
        """The median of what was measured over that of the floor."""
        return self._over(self.measured.median, self.floor.median) if self.floor else None

    @property
    def least_ratio(self) -> float | None:
        """The same of the smallest values; there is none of differences."""
        return self._over(self.measured.least, self.floor.least) if self.floor and not self.is_difference else None

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None where nothing was asked for."""
        if self.limit is None:
            return None
        found = self.measured.median if self.ratio is None else self.ratio
        return found >= self.limit if self.unit is Unit.CALLS else found <= self.limit

    @property
    def distance(self) -> float:
        """How far the value has come towards its limit; above 1 the target is missed."""
        if not self.limit:
            return self.measured.median
        found = self.measured.median if self.ratio is None else self.ratio
        return self.limit / found if self.unit is Unit.CALLS else found / self.limit

    @property
    def target_shown(self) -> str:
        """The limit in words."""
        if self.limit is None:
            return "reported"
        if self.floor is None:
            return f"at most {self.unit.shown(self.limit)}"
        return f"at {'least' if self.unit is Unit.CALLS else 'most'} {self.limit:g} ×"

    def _over(self, value: float, floor: float) -> float:
        return floor / value if self.unit is Unit.CALLS else value / floor
