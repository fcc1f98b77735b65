"""The one place that asks what time it is, so that everything else can be given another clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

__all__ = ["Clock", "utc_now"]

Clock = Callable[[], datetime]
"""Returns the present moment, aware and in UTC."""


def utc_now() -> datetime:
    """Return the present moment in UTC, with microseconds."""
    return datetime.now(timezone.utc)
