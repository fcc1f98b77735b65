"""Ids for records: readable pairs of words, time-ordered and random ones (HB-1, C4).

The caller holds the lock of the store, so that what is not taken stays free until the record is added.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Final

from task_core.models import as_utc
from task_core.words import ADJECTIVES, NOUNS

__all__ = ["Taken", "prefixed_id", "readable_id", "short_id"]

Taken = Callable[[str], bool] | Container[str]
"""Says whether an id is in use: a function, or whatever ``in`` works on."""

_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base32: no I, L, O, U; sorts as its numbers do."""

_BASE32: Final = "abcdefghijklmnopqrstuvwxyz234567"
"""The alphabet of RFC 4648 in lower case."""

_PAIRS: Final = len(ADJECTIVES) * len(NOUNS)
"""How many readable ids there are without a number."""

_TRIES: Final = 32
"""Random pairs that are tried before all of them are gone through; they fail only when nearly all are taken."""

_LAST: Final = 100_000
"""The highest number after a pair, and of attempts for an id of another form: an end, should all be taken."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
"""The moment from which a time-ordered id counts."""

_PREFIXED_LENGTH: Final = 12
"""Characters after the prefix: 60 bits, 52 for microseconds (until the year 2112) and 8 at random."""

_SHORT_LENGTH: Final = 8
"""Characters of a short id: 40 random bits."""


def readable_id(taken: Taken, rng: Random) -> str:
    """Return a free ``adjective-noun``, or ``adjective-noun-2``, ``-3``, … when the pairs have run out.

    Raises:
        RuntimeError: every id that was tried is taken.
    """
    return _first_free(_readable(rng), taken)


def prefixed_id(prefix: str, moment: datetime, rng: Random, taken: Taken = ()) -> str:
    """Return ``prefix`` and 12 characters of Crockford base32 that sort by ``moment``, to the microsecond.

    Raises:
        RuntimeError: every id that was tried is taken.
    """
    since = (as_utc(moment) - _EPOCH) // timedelta(microseconds=1)
    first = since << 8 | rng.getrandbits(8)
    return _first_free((prefix + _crockford(first + step) for step in range(_LAST)), taken)


def short_id(taken: Taken, rng: Random) -> str:
    """Return a free id of 8 random characters of lower-case base32.

    Raises:
        RuntimeError: every id that was tried is taken.
    """
    return _first_free(("".join(rng.choices(_BASE32, k=_SHORT_LENGTH)) for _ in range(_LAST)), taken)


def _first_free(candidates: Iterable[str], taken: Taken) -> str:
    is_taken = taken if callable(taken) else taken.__contains__
    for candidate in candidates:
        if not is_taken(candidate):
            return candidate
    raise RuntimeError("every id that was tried is taken")


def _readable(rng: Random) -> Iterator[str]:
    yield from (_pair(rng.randrange(_PAIRS)) for _ in range(_TRIES))
    start = rng.randrange(_PAIRS)
    yield from (_pair(start + step) for step in range(_PAIRS))
    yield from (f"{_pair(start)}-{number}" for number in range(2, _LAST))


def _pair(index: int) -> str:
    adjective, noun = divmod(index % _PAIRS, len(NOUNS))
    return f"{ADJECTIVES[adjective]}-{NOUNS[noun]}"


def _crockford(number: int) -> str:
    shifts = range(5 * (_PREFIXED_LENGTH - 1), -1, -5)
    return "".join(_CROCKFORD[number >> shift & 31] for shift in shifts)
