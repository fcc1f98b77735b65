"""What every part of the measurements needs: the stores, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from benchmarks.subjects import Stores

__all__ = ["Bench"]

T = TypeVar("T")


@dataclass(frozen=True)
class Bench:
    """One run: the stores, and whether it is a quick one, which is for seeing that everything works."""

    stores: Stores
    is_quick: bool

    def pick(self, usual: T, quick: T) -> T:
        """Return the value for this kind of run."""
        return quick if self.is_quick else usual
