"""A ledger of the changes that the clients of a failover made, kept outside every database (HO-10).

Each change writes a word of its own that stays: a new task with it, or, once for each task, its title.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

__all__ = ["Attempt", "Fate", "Tally", "tally"]


class Fate(Enum):
    """The answer to a client."""

    ACKNOWLEDGED = auto()
    REFUSED = auto()
    """An error that says that nothing was changed."""
    UNKNOWN = auto()
    """No answer, or one that leaves open whether the change was made."""


@dataclass
class Attempt:
    """One change that was sent, in seconds of one clock."""

    word: str
    sent: float
    settled: float = 0.0
    fate: Fate = Fate.UNKNOWN
    reason: str = ""
    """why it was not acknowledged"""
    was_seen: bool | None = None
    """of an unknown one: whether its client found it when it looked, after another change of its own"""


@dataclass
class Tally:
    """The outcome of all clients' changes; the lists name the words of changes that contradict an answer."""

    acknowledged: int = 0
    present: int = 0
    """acknowledged, and found exactly once"""
    refused: int = 0
    unknown: int = 0
    carried_out: int = 0
    """unknown, and found"""
    lost: list[str] = field(default_factory=list)
    """acknowledged, and not found"""
    doubled: list[str] = field(default_factory=list)
    """found more than once"""
    denied: list[str] = field(default_factory=list)
    """refused, and found"""
    reversed: list[str] = field(default_factory=list)
    """unknown, and at the end not as their client saw it"""

    @property
    def is_sound(self) -> bool:
        """Return whether every answer was true."""
        return not (self.lost or self.doubled or self.denied or self.reversed)


def tally(attempts: Iterable[Attempt], found: Mapping[str, int]) -> Tally:
    """Compare what was answered with how often each word was found in the end."""
    result = Tally()
    for attempt in attempts:
        count = found.get(attempt.word, 0)
        if count > 1:
            result.doubled.append(attempt.word)
        if attempt.fate is Fate.ACKNOWLEDGED:
            result.acknowledged += 1
            result.present += count == 1
            if not count:
                result.lost.append(attempt.word)
        elif attempt.fate is Fate.REFUSED:
            result.refused += 1
            if count:
                result.denied.append(attempt.word)
        else:
            result.unknown += 1
            result.carried_out += count > 0
            if attempt.was_seen is not None and attempt.was_seen != bool(count):
                result.reversed.append(attempt.word)
    return result
