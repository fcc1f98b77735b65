"""Observes one event from the clients: the fate of every change, and the longest gap without one (HO-10)."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from examples.hosted.cluster import is_complete, wait_until
from examples.hosted.database import DATABASE, connect
from examples.hosted.layout import Layout
from examples.hosted.passwords import SUPERUSER
from examples.hosted.services import is_serving
from task_hosted.postgres.connection import PostgresConnection
from tests.failover.channels import Channel
from tests.failover.events import Event, Stage
from tests.failover.ledger import Fate, Tally, tally
from tests.failover.load import Load

__all__ = ["BEFORE", "BIN", "MAX_GAP", "Observation", "Timing", "count_words", "observe"]

BIN: Final = 0.5
"""Seconds of one number in ``Observation.rate``."""

BEFORE: Final = 3.0
"""Seconds before an event at which these numbers begin."""

_WHOLE: Final = 180.0
"""Seconds after which everything should be whole again."""


MAX_GAP: Final = 30.0
"""The most seconds in which no change may be acknowledged."""


@dataclass(frozen=True)
class Timing:
    """The duration of the load, in seconds."""

    before: float = 4.0
    during: float = 30.0
    """longer than Patroni waits for a primary"""
    after: float = 4.0
    """once everything is whole again"""


@dataclass
class Observation:
    """One event as clients saw it; seconds count from its beginning."""

    name: str
    through: str
    """how they reached their tasks"""
    tally: Tally
    gap: float
    """the longest time in which no change at all was acknowledged, in seconds"""
    slowest: float
    """the longest time that an acknowledged change took, in seconds"""
    rate: list[int]
    """changes that were acknowledged in each half second, from ``BEFORE`` seconds before the event"""
    ended: float
    """when the event ended"""
    reasons: dict[str, int]
    """why changes were not acknowledged, and how often"""

    @property
    def is_sound(self) -> bool:
        """Return whether every answer was true, and changes were soon acknowledged again."""
        return self.tally.is_sound and self.gap <= MAX_GAP


def observe(
    stage: Stage, event: Event, through: str, connect_client: Callable[[int], Channel], timing: Timing, name: str
) -> Observation:
    """Let an event happen under load, wait until everything is whole again, and return what was seen.

    ``name`` begins the words that no other load uses.
    """
    pause = time.sleep
    layout = stage.deployment.layout
    with Load(name, connect_client) as load:
        pause(timing.before)
        began = time.monotonic()
        undo = event.begin(stage)
        pause(timing.during)
        undo()
        ended = time.monotonic() - began
        wait_until(lambda: _is_whole(layout, through), f"the recovery after '{event.name}'", _WHOLE)
        pause(timing.after)
        whole = time.monotonic() - began
    attempts = load.attempts
    with connect(layout, SUPERUSER, DATABASE) as connection:
        found = count_words(connection)
    moments = (attempt.settled - began for attempt in attempts if attempt.fate is Fate.ACKNOWLEDGED)
    times = sorted(moment for moment in moments if moment <= whole)
    return Observation(
        name=event.name,
        through=through,
        tally=tally(attempts, found),
        gap=_longest_gap(times),
        slowest=max(attempt.settled - attempt.sent for attempt in attempts if attempt.fate is Fate.ACKNOWLEDGED),
        rate=_rate(times),
        ended=round(ended, 2),
        reasons=dict(Counter(_shorten(attempt.reason) for attempt in attempts if attempt.reason)),
    )


def count_words(connection: PostgresConnection) -> Counter[str]:
    """Return how many tasks have each word as their title or tag, as the database itself has them."""
    rows = connection.execute("SELECT document FROM records WHERE document IS NOT NULL").fetchall()
    documents = [json.loads(document) for (document,) in rows]
    return Counter(word for document in documents for word in (document["title"], *document["tags"]))


def _rate(moments: list[float]) -> list[int]:
    counts = Counter(int((moment + BEFORE) / BIN) for moment in moments if moment >= -BEFORE)
    return [counts[number] for number in range(max(counts, default=0) + 1)]


def _longest_gap(moments: list[float]) -> float:
    return max((later - earlier for earlier, later in pairwise(moments) if later > 0), default=0.0)


def _is_whole(layout: Layout, through: str) -> bool:
    return is_complete(layout) and (through == "store" or is_serving(layout))


def _shorten(reason: str) -> str:
    """Return ``reason`` without its figures, so that equal reasons count as one."""
    return re.sub(r"\d+\.\d+ seconds", "some seconds", reason)
