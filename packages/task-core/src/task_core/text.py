"""Text for people and models: short forms and near names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["nearest", "shorten"]


def shorten(text: str, limit: int) -> str:
    """Return ``text`` in at most ``limit`` characters; one that is cut ends in ``…``."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    """Return the up to three ``known`` names that are most like ``name``, nearest first (ERR-4)."""
    return get_close_matches(shorten(name, 200), list(known), n=3, cutoff=cutoff)
