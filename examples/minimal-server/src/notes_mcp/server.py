"""The tools of this server, and its notes as resources."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from notes_mcp.codec import CODEC, Note
from notes_mcp.service import NoteService
from notes_mcp.settings import NotesSettings
from task_core.fields import Arguments, AsInteger, LongText, OneLine
from task_core.models import Clock, utc_now
from task_core.server import overview
from task_core.server.app import TaskServer
from task_core.server.extra_tools import add_changes_tool
from task_core.server.resources import TaskResources
from task_core.store import Store, open_store
from task_core.view import Line, Section
from task_core.warning_list import WarningList

__all__ = ["AddNote", "ChangeNote", "GetNote", "ListNotes", "Notes", "build_server"]


class AddNote(Arguments):
    """The arguments of ``add_note``; an unknown one is refused with the nearest name."""

    text: Annotated[LongText, Field(description="What to remember.")]


class ChangeNote(AddNote):
    """The arguments of ``change_note``."""

    id: Annotated[OneLine, Field(description="Id of the note.")]


class GetNote(Arguments):
    """The arguments of ``get_note``."""

    id: Annotated[OneLine, Field(description="Id of the note.")]


class ListNotes(Arguments):
    """The arguments of ``list_notes``."""

    limit: Annotated[int, Field(ge=1, le=100, description="How many notes to return."), AsInteger] = 20


class Notes(BaseModel):
    """An answer with several notes, under the name that every server has for its records."""

    tasks: Sequence[Note]


def build_server(settings: NotesSettings, *, clock: Clock = utc_now) -> TaskServer:
    """Return the server over the store that the settings name: a JSON document, SQLite, or memory."""
    warnings = WarningList()
    store = open_store(settings, CODEC, warnings, clock=clock)
    server = TaskServer(
        "notes-mcp", title="Notes", version="0.1.0", instructions="Short notes.", warnings=warnings, close=store.close
    )
    service = NoteService(store, clock)
    _add_tools(server, service)
    if settings.task_extra_tools:
        add_changes_tool(server, store, _render)
    server.offer(_board(service, store))
    return server


def _add_tools(server: TaskServer, service: NoteService) -> None:
    @server.tool(title="Add note", whole=True)
    def add_note(arguments: AddNote) -> Note:
        """Add a note and return it."""
        return service.add(arguments.text)

    @server.tool(title="Change note", idempotent=True, whole=True)
    def change_note(arguments: ChangeNote) -> Note:
        """Change the text of a note and return it."""
        return service.change(arguments.id, arguments.text)

    @server.tool(title="Get note", read_only=True, idempotent=True, whole=True)
    def get_note(arguments: GetNote) -> Note:
        """Return one note by its id."""
        return service.find(arguments.id)

    @server.tool(title="List notes", read_only=True, idempotent=True)
    def list_notes(arguments: ListNotes) -> Notes:
        """Return the last notes, the newest first."""
        return Notes(tasks=service.newest(arguments.limit)[0])


def _board(service: NoteService, store: Store[Note]) -> TaskResources:
    def newest() -> overview.JsonObject:
        notes, total = service.newest(overview.MAX_LISTED)
        return overview.render_list([_render(note) for note in notes], total)

    def summary() -> str:
        notes, total = service.newest(overview.MAX_SUMMED)
        section = Section([Line(note.id, "kept", note.text) for note in notes], total)
        return overview.render_summary({"kept": total}, {"Newest": section}, "list_notes")

    return TaskResources(store, newest, lambda note_id: _render(service.find(note_id)), summary)


def _render(note: Note) -> overview.JsonObject:
    return note.model_dump(mode="json")
