"""What the server does: plain methods on plain values, without the protocol."""

import secrets
from collections.abc import Sequence

from notes_mcp.codec import Note
from task_core.models import Clock
from task_core.store import Selection, Store

__all__ = ["NoteService"]


class NoteService:
    """The operations on the notes."""

    def __init__(self, store: Store[Note], clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def add(self, text: str) -> Note:
        """Add a note and return it."""
        with self._store.transaction() as notes:  # exclusive between threads and between processes
            note = Note(id=f"note-{secrets.token_hex(4)}", text=text, created_at=self._clock())
            notes.add(note)
        return note  # by now it is on disk

    def change(self, note_id: str, text: str) -> Note:
        """Give a note another text and return it; ``TaskNotFound`` names near ids."""
        with self._store.transaction() as notes:
            note = notes.get(note_id).changed(text=text)  # records are frozen
            notes.replace(note)
        return note

    def find(self, note_id: str) -> Note:
        """Return one note; ``TaskNotFound`` names near ids."""
        with self._store.read() as notes:  # one snapshot, which waits for nobody
            return notes.get(note_id)

    def newest(self, limit: int) -> tuple[Sequence[Note], int]:
        """Return the last notes, the newest first, and how many there are."""
        with self._store.read() as notes:
            return notes.select(Selection(descending=True, limit=limit)), len(notes)
