"""The frozen base record, and the time: the clock that everything is given, and timestamps in UTC."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Annotated, Final, NamedTuple, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

__all__ = [
    "DAY_SECONDS",
    "Clock",
    "Columns",
    "Record",
    "Texts",
    "UtcDatetime",
    "as_utc",
    "day_of",
    "format_timestamp",
    "from_microseconds",
    "microseconds",
    "utc_now",
]

Clock = Callable[[], datetime]
"""Returns the present moment, aware and in UTC."""

DAY_SECONDS: Final = 24 * 60 * 60

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    """Return the present moment in UTC, with microseconds; everything else asks a clock that it was given."""
    return datetime.now(UTC)


def as_utc(moment: datetime) -> datetime:
    """Return ``moment`` in UTC, also one without an offset; outside the years 1 to 9999 it is a ``ValueError``."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("in UTC it is outside the years 1 to 9999") from None


def format_timestamp(moment: datetime) -> str:
    """Return ``moment`` as ISO 8601 in UTC with microseconds and ``Z`` (TOOL-5)."""
    return as_utc(moment).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def microseconds(moment: datetime) -> int:
    """Return the whole microseconds from 1970 to ``moment``."""
    return (as_utc(moment) - _EPOCH) // timedelta(microseconds=1)


def from_microseconds(number: int) -> datetime:
    """Return the moment so many microseconds after 1970, in UTC."""
    return _EPOCH + timedelta(microseconds=number)


def day_of(moment: datetime) -> int:
    """Return the day (UTC) of ``moment``, counted from 1970."""
    return int(moment.timestamp() // DAY_SECONDS)


def _as_list(value: object) -> object:
    return () if value is None else [value] if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
"""A list of strings; in a file, a single string and null are accepted too."""

UtcDatetime = Annotated[
    datetime,
    AfterValidator(as_utc),
    PlainSerializer(format_timestamp, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A moment in UTC; written as ISO 8601 with microseconds and ``Z``."""


class Columns(NamedTuple):
    """The values that stores filter, order and count records by (EN-3); a record without one is not in that order."""

    state: str = ""
    facet: str = ""
    """a second state, with few values"""
    rank: int | None = None
    created: int | None = 0
    """microseconds since 1970"""
    updated: int | None = None
    """microseconds since 1970"""
    topic: str = ""
    tags: tuple[str, ...] = ()
    text: Callable[[], str] = str
    """returns the folded text in which words are searched; called only to search it or to store it"""


class Record(BaseModel):
    """A stored item: frozen, identified by its id; fields that it does not know are kept (L2)."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: Annotated[str, Field(min_length=1)]

    @cached_property
    def columns(self) -> Columns:
        """The values that a store filters, orders and counts this record by."""
        return Columns()

    def changed(self, **changes: object) -> Self:
        """Return a copy with ``changes``, which the caller has validated."""
        copy = self.model_copy(update=changes)
        copy.__dict__.pop("columns", None)
        return copy

    def to_json(self) -> bytes:
        """Return the record as compact JSON in UTF-8 on one line."""
        return self.__pydantic_serializer__.to_json(self)


RecordT = TypeVar("RecordT", bound=Record)
"""The type of a server's records."""
