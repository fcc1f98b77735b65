"""The tools of this server."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from notes_mcp.codec import CODEC, Note
from notes_mcp.service import NoteService
from notes_mcp.settings import NotesSettings
from task_core.fields import Arguments, LongText, OneLine
from task_core.server.app import TaskServer
from task_core.store import open_store
from task_core.warning_list import WarningList


class AddNote(Arguments):
    """The arguments of ``add_note``; an unknown one is refused with the nearest name."""

    text: Annotated[LongText, Field(description="What to remember.")]


class GetNote(Arguments):
    """The arguments of ``get_note``."""

    id: Annotated[OneLine, Field(description="Id of the note.")]


class ListNotes(Arguments):
    """The arguments of ``list_notes``."""

    limit: Annotated[int, Field(ge=1, le=100, description="How many notes to return.")] = 20


class Notes(BaseModel):
    """An answer with several notes."""

    notes: Sequence[Note]


def build_server(settings: NotesSettings) -> TaskServer:
    """Return the server over the store that the settings name: a JSON document, SQLite, or memory."""
    warnings = WarningList()
    store = open_store(settings, CODEC, warnings)
    service = NoteService(store)
    server = TaskServer(
        "notes-mcp", title="Notes", version="0.1.0", instructions="Short notes.", warnings=warnings, close=store.close
    )

    @server.tool(title="Add note")
    def add_note(arguments: AddNote) -> Note:
        """Add a note and return it."""
        return service.add(arguments.text)

    @server.tool(title="Get note", read_only=True, idempotent=True)
    def get_note(arguments: GetNote) -> Note:
        """Return one note by its id."""
        return service.find(arguments.id)

    @server.tool(title="List notes", read_only=True, idempotent=True)
    def list_notes(arguments: ListNotes) -> Notes:
        """Return the last notes, the newest first."""
        return Notes(notes=service.newest(arguments.limit))

    return server
