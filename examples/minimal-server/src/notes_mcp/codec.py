"""What a note is, and the document in which the notes are kept."""

from typing import Final

from task_core.models import Record
from task_core.store import Kind, ListCodec


class Note(Record):
    """One note; its id comes from ``Record``."""

    text: str


CODEC: Final = ListCodec(Kind("notes", Note))
