"""Records the statements that a call of a replica sends to the database."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

from benchmarks.hosted.database import Site
from benchmarks.hosted.replicas import calls_of, post, serve_replicas
from tests.hosted.postgres_proxy import Proxy, open_proxy
from tests.hosted.service import Issuer

__all__ = ["Asked", "Exchange", "Recorder", "Recording", "record_calls", "recording"]

_WARM_UP: Final = 3
"""Calls before those that are recorded: the first ones make the list and look at the tables."""

_ENDS: Final = "SQ"
"""The messages after which a client waits for the answers: Sync, and a plain query."""

_NUMBER: Final = 20
"""The type of whole numbers; psycopg sends them as texts, and leaves the type of everything else open."""


class Asked(NamedTuple):
    """One statement as the database gets it, with the values of its parameters: ``$1`` is the first."""

    text: str
    values: tuple[str | int | None, ...] = ()


Exchange = tuple[Asked, ...]
"""Statements that go to the server in one exchange."""


class Recording(NamedTuple):
    """The statements of two calls of one operation, which differ only in values that are new each time."""

    first: Sequence[Exchange]
    second: Sequence[Exchange]


class Recorder:
    """Hears what one client at a time sends."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self._open: list[Asked] = []
        self._types: dict[str, tuple[int, ...]] = {}

    def hear(self, kind: str, text: str, content: bytes) -> None:
        """Take in a message of the client."""
        if kind == "P":
            self._types[text] = _read_types(content)
        elif kind == "B":
            self._open.append(Asked(" ".join(text.split()), _read_values(content, self._types[text])))
        elif kind == "Q":
            self._open.append(Asked(" ".join(text.split())))
        if kind in _ENDS and self._open:
            self.exchanges.append(tuple(self._open))
            self._open.clear()

    def during(self, work: Callable[[], object]) -> list[Exchange]:
        """Return what the client sends while ``work`` goes on."""
        self.exchanges.clear()
        work()
        return [*self.exchanges]


def _read_types(content: bytes) -> tuple[int, ...]:
    """Return the types of the parameters in a message that prepares a statement; 0 where the server decides."""
    rest = content.split(b"\0", 2)[2]
    (count,) = struct.unpack_from("!h", rest)
    return struct.unpack_from(f"!{count}i", rest, 2)


def _read_values(content: bytes, types: Sequence[int]) -> tuple[str | int | None, ...]:
    """Return the parameters in a message that binds them."""
    rest = content.split(b"\0", 2)[2]
    (count,) = struct.unpack_from("!h", rest)
    start = 4 + 2 * count
    values: list[str | int | None] = []
    for number in range(struct.unpack_from("!h", rest, start - 2)[0]):
        (length,) = struct.unpack_from("!i", rest, start)
        text = rest[start + 4 : start + 4 + max(length, 0)].decode()
        is_number = number < len(types) and types[number] == _NUMBER
        values.append(None if length < 0 else int(text) if is_number else text)
        start += 4 + max(length, 0)
    return tuple(values)


@contextmanager
def recording(site: Site) -> Iterator[tuple[Recorder, Proxy]]:
    """Yield a way to the server of ``site``, and what hears the messages on it."""
    recorder = Recorder()
    with open_proxy(site.server.sockets) as proxy:
        proxy.hear = recorder.hear
        yield recorder, proxy


def record_calls(site: Site, issuer: Issuer, user: str, operation: str) -> Recording:
    """Return what an operation sends, as a replica carries it out for ``user``, whose list has tasks.

    Now and then a create forgets old commits; that is left out.
    """
    token = issuer.token(user)
    with recording(site) as (recorder, proxy), serve_replicas(proxy.url(site.url), issuer, 1) as (replica,):
        calls = [calls_of(operation, range(number, number + 1))[0] for number in range(1, _WARM_UP + 6)]
        found = [recorder.during(partial(post, replica, call, token)) for call in calls]
    usual = min(map(_length, found))
    first, second, *_ = (exchanges for exchanges in found[_WARM_UP:] if _length(exchanges) == usual)
    return Recording(first, second)


def _length(exchanges: Sequence[Exchange]) -> int:
    return sum(map(len, exchanges))
