"""The frozen base record and the timestamps that every server shares."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema
from typing_extensions import Self

__all__ = ["Record", "UtcDatetime", "as_utc", "format_timestamp"]


def as_utc(moment: datetime) -> datetime:
    """Return ``moment`` in UTC; one without an offset is taken as UTC already.

    Raises:
        ValueError: in UTC it lies outside the years 1 to 9999.
    """
    if moment.tzinfo is None:
        return moment.replace(tzinfo=timezone.utc)
    try:
        return moment.astimezone(timezone.utc)
    except OverflowError:
        raise ValueError("in UTC it lies outside the years 1 to 9999") from None


def format_timestamp(moment: datetime) -> str:
    """Return ``moment`` as ISO 8601 in UTC with microseconds and ``Z`` (TOOL-5)."""
    # Half the time of asking isoformat for microseconds: this is most of what it takes to encode a record.
    local = as_utc(moment).isoformat().removesuffix("+00:00")
    return f"{local}Z" if moment.microsecond else f"{local}.000000Z"


UtcDatetime = Annotated[
    datetime,
    AfterValidator(as_utc),
    PlainSerializer(format_timestamp, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A moment in UTC; written as ISO 8601 with microseconds and ``Z``."""


class Record(BaseModel):
    """A stored item: frozen, known by its id, and keeping fields that it does not know (L2)."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: Annotated[str, Field(min_length=1)]

    def changed(self, **changes: object) -> Self:
        """Return a copy with ``changes``, which the caller has validated."""
        return self.model_copy(update=changes)

    def to_json(self) -> bytes:
        """Return the record as compact JSON in UTF-8 on one line."""
        return self.__pydantic_serializer__.to_json(self)
