"""Readable ids: ``adjective-noun``, with a number appended when nearly all pairs are taken (HB-1, C4)."""

from collections.abc import Callable
from random import Random
from typing import Final

from heartbeat_mcp.words import ADJECTIVES, NOUNS

__all__ = ["PAIRS", "readable_id"]

PAIRS: Final = len(ADJECTIVES) * len(NOUNS)
"""The number of ids without a number."""

_TRIES: Final = 32
"""Random pairs that are tried without a number, and then with each number."""


def readable_id(is_taken: Callable[[str], bool], rng: Random, number_taken: int = 0) -> str:
    """Return a free id; the caller holds the lock of the store, so the id stays free.

    ``number_taken`` is how many ids are taken: it decides which number to try first, so that a free id is found as
    quickly among a million as among a thousand.
    """
    attempt = _TRIES * (number_taken // PAIRS)
    while True:
        adjective, noun = rng.choice(ADJECTIVES), rng.choice(NOUNS)
        number = attempt // _TRIES + 1
        found = f"{adjective}-{noun}" if number == 1 else f"{adjective}-{noun}-{number}"
        if not is_taken(found):
            return found
        attempt += 1
