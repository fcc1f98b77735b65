"""The result of one measurement: its value, its floor, and whether the target is met."""

from dataclasses import dataclass
from enum import Enum

from benchmarks.series import Series

__all__ = ["Row", "Unit"]


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
    """One measurement of one server.

    With a floor, the limit is that of the ratio to it: at most the limit or, for calls a second, at least. Without a
    floor, it is that of the value itself. Without a limit, the value is only reported.
    """

    target: int
    what: str
    server: str
    unit: Unit
    measured: Series
    floor: Series | None = None
    limit: float | None = None
    floor_is: str = ""
    """The floor in words."""
    is_difference: bool = False
    """True if the value is a difference, whose smallest value would show only noise."""

    @property
    def ratio(self) -> float | None:
        """The median of what was measured over that of the floor."""
        return self._over(self.measured.median, self.floor.median) if self.floor else None

    @property
    def least_ratio(self) -> float | None:
        """The same ratio of the smallest values; a difference has none."""
        return self._over(self.measured.least, self.floor.least) if self.floor and not self.is_difference else None

    @property
    def is_met(self) -> bool | None:
        """True if the target is met; None without a limit."""
        return None if self.limit is None else self._found >= self.limit if self._is_rate else self._found <= self.limit

    @property
    def distance(self) -> float:
        """The part of the limit that is used up; above 1 the target is missed."""
        if not self.limit:
            return self.measured.median
        return self.limit / self._found if self._is_rate else self._found / self.limit

    @property
    def target_shown(self) -> str:
        """The limit in words."""
        if self.limit is None:
            return "reported"
        if self.floor is None:
            return f"at most {self.unit.shown(self.limit)}"
        return f"at {'least' if self._is_rate else 'most'} {self.limit:g} ×"

    @property
    def _is_rate(self) -> bool:
        return self.unit is Unit.CALLS

    @property
    def _found(self) -> float:
        return self.measured.median if self.ratio is None else self.ratio

    def _over(self, value: float, floor: float) -> float:
        return floor / value if self._is_rate else value / floor
