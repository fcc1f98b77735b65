"""Readable ids: ``adjective-noun``, with a number behind where nearly all pairs are taken (HB-1, C4)."""

from collections.abc import Callable
from random import Random
from typing import Final

from heartbeat_mcp.words import ADJECTIVES, NOUNS

__all__ = ["PAIRS", "readable_id"]

PAIRS: Final = len(ADJECTIVES) * len(NOUNS)
"""How many ids there are without a number."""

_TRIES: Final = 32
"""Random pairs that are tried without a number, and then with each number."""


def readable_id(is_taken: Callable[[str], bool], rng: Random, number_taken: int = 0) -> str:
    """Return a free id; the caller holds the lock of the store, so that it stays free.

    ``number_taken`` is how many ids there are: it says which number to try first, so that among a million a free one is
    found as quickly as among a thousand.
    """
    attempt = _TRIES * (number_taken // PAIRS)
    while True:
        adjective, noun = rng.choice(ADJECTIVES), rng.choice(NOUNS)
        number = attempt // _TRIES + 1
        found = f"{adjective}-{noun}" if number == 1 else f"{adjective}-{noun}-{number}"
        if not is_taken(found):
            return found
        attempt += 1
