"""What the server does: plain methods on plain values, without the protocol."""

from collections.abc import Sequence

from notes_mcp.codec import Note
from task_core.store import Selection, Store


class NoteService:
    """The operations on the notes."""

    def __init__(self, store: Store[Note]) -> None:
        self._store = store

    def add(self, text: str) -> Note:
        """Add a note and return it."""
        with self._store.transaction() as notes:  # exclusive between threads and between processes
            note = Note(id=f"note-{len(notes) + 1}", text=text)
            notes.add(note)
        return note  # by now it is on disk

    def find(self, note_id: str) -> Note:
        """Return one note; ``TaskNotFound`` names near ids."""
        with self._store.read() as notes:  # one snapshot, which waits for nobody
            return notes.get(note_id)

    def newest(self, limit: int) -> Sequence[Note]:
        """Return the last notes, the newest first."""
        with self._store.read() as notes:
            return notes.select(Selection(descending=True, limit=limit))
