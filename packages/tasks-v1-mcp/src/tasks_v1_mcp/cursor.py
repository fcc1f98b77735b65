"""Cursors: where a page of a list ended, as text that a client hands back (V1-2)."""

from __future__ import annotations

import struct
from base64 import b64decode, urlsafe_b64encode
from datetime import datetime, timedelta, timezone
from hashlib import blake2b
from typing import Final, NamedTuple

from typing_extensions import Self

from task_core.errors import InvalidArguments

__all__ = ["Cursor", "Position"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
"""The moment from which a cursor counts its moments."""

_MICROSECOND: Final = timedelta(microseconds=1)
"""The unit in which a cursor counts its moments."""

_LAYOUT: Final = struct.Struct(">qBqq")
"""The moment of the list, then rank, moment and creation of the last item; its id follows, in UTF-8."""

_SEAL: Final = 6
"""Bytes that bind a cursor to its list and show damage: a slip goes unseen once in 2**48 times."""


class Position(NamedTuple):
    """Where a task stands in an order, which begins with the highest position; no two tasks have the same."""

    rank: int
    """Of the priority, or 0 where the order does not look at it."""
    moment: datetime
    created_at: datetime
    id: str


class Cursor(NamedTuple):
    """The end of a page: all that is left of the list stands below ``position``."""

    as_of: datetime
    """The moment of the list: each task keeps the place that it had then."""
    position: Position

    def to_text(self, question: bytes) -> str:
        """Return the cursor as URL-safe text for the list that answers ``question``."""
        rank, moment, created_at, task_id = self.position
        numbers = _LAYOUT.pack(_count(self.as_of), rank, _count(moment), _count(created_at))
        payload = numbers + task_id.encode()
        return urlsafe_b64encode(_seal(payload, question) + payload).decode().rstrip("=")

    @classmethod
    def from_text(cls, text: str, question: bytes) -> Self:
        """Return the cursor that ``to_text`` made into ``text`` for the same ``question``.

        Raises:
            InvalidArguments: it is damaged, or is not of this list.
        """
        try:
            cursor = cls._read(text)
            if cursor.to_text(question) == text:
                return cursor
        except (ValueError, OverflowError, struct.error):
            pass
        advice = "Give next_cursor of the page before, unchanged, with the same filters and the same order_by"
        raise InvalidArguments([("cursor", f"{advice}; or leave it out to begin anew.")])

    @classmethod
    def _read(cls, text: str) -> Self:
        data = b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)[_SEAL:]
        as_of, rank, moment, created_at = _LAYOUT.unpack_from(data)
        task_id = data[_LAYOUT.size :].decode()
        return cls(_moment(as_of), Position(rank, _moment(moment), _moment(created_at), task_id))


def _seal(payload: bytes, question: bytes) -> bytes:
    return blake2b(payload, digest_size=_SEAL, key=blake2b(question).digest()).digest()


def _count(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _moment(count: int) -> datetime:
    return _EPOCH + count * _MICROSECOND
