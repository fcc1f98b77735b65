"""What a note is, and the document in which the notes are kept."""

from functools import cached_property
from typing import Final

from typing_extensions import override

from task_core.models import Columns, Record, UtcDatetime, microseconds
from task_core.store import Kind, ListCodec

__all__ = ["CODEC", "Note"]


class Note(Record):
    """One note; its id comes from ``Record``."""

    text: str
    created_at: UtcDatetime

    @cached_property
    @override
    def columns(self) -> Columns:
        """What the store orders, filters and counts notes by; ``Selection`` asks for it."""
        return Columns(created=microseconds(self.created_at))


CODEC: Final = ListCodec(Kind("notes", Note))
