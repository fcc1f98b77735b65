"""The one place that asks what time it is, so that everything else can be given a different clock."""

from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["Clock", "utc_now"]

Clock = Callable[[], datetime]
"""Returns the present moment, aware and in UTC."""


def utc_now() -> datetime:
    """Return the present moment in UTC, with microseconds."""
    return datetime.now(UTC)
