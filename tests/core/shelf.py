"""A small server with notes on a shelf, shown as resources, and a prompt: what the tests beside the tools share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, Field

from task_core.errors import StoreUnreadable
from task_core.fields import Arguments, OneLine
from task_core.server.app import TaskServer
from task_core.server.overview import Entry, JsonObject, listing, summary
from task_core.server.prompts import Argument, Prompt
from task_core.server.resources import Board
from task_core.store import MemoryStore
from task_core.warning_list import WarningList
from tests.core.notes import Note, add

__all__ = ["Shelf"]


class Name(Arguments):
    """Which note."""

    name: Annotated[OneLine, Field(description="A note.")]


class Done(BaseModel):
    """That it is done."""

    done: bool = True


def _greeting(arguments: Mapping[str, str]) -> str:
    return f"Say hello to {arguments['whom']}."


PROMPTS = (
    Prompt("greet", "Greet", "Be polite.", _greeting, (Argument("whom", "Somebody."),)),
    Prompt("look", "Look around", "See what is there.", lambda _: "Look around."),
)


@dataclass
class Shelf:
    """The notes, the server over them, and what every look at them meets with first."""

    store: MemoryStore[Note] = field(default_factory=MemoryStore)
    trouble: Callable[[], object] = lambda: None
    words: tuple[str, ...] = ("secret",)

    def __post_init__(self) -> None:
        self.server = TaskServer("shelf", title="Shelf", version="1", instructions="", warnings=WarningList())
        self.server.offer(Board(self.records, self.tasks, self.task, self.summary), *PROMPTS)
        self._add_tools()

    def records(self) -> Mapping[str, Note]:
        self.trouble()
        return {note.id: note for note in self.store.read()}

    def tasks(self) -> JsonObject:
        notes = self.records().values()
        return listing([{"id": note.id} for note in notes], len(notes))

    def task(self, note_id: str) -> JsonObject:
        self.trouble()
        return self.store.read().get(note_id).model_dump()

    def summary(self) -> str:
        notes = self.records().values()
        return summary({"kept": len(notes)}, {"All": [Entry(note.id, note.text) for note in notes]}, "look")

    def unreadable(self) -> None:
        """Be in trouble as a store is whose file may not be read."""
        raise StoreUnreadable("notes.json", "Permission denied")

    def broken(self) -> None:
        """Be in trouble as a fault of ours is."""
        raise RuntimeError(*self.words)

    def _add_tools(self) -> None:
        @self.server.tool(title="Put")
        def put(arguments: Name) -> Done:
            """Put a note on the shelf."""
            add(self.store, arguments.name)
            return Done()

        @self.server.tool(title="Rewrite")
        def rewrite(arguments: Name) -> Done:
            """Write a note anew."""
            with self.store.transaction() as notes:
                notes.replace(notes.get(arguments.name).changed(text="new"))
            return Done()

        @self.server.tool(title="Look", read_only=True)
        def look(arguments: Name) -> Done:
            """Look for a note, and change nothing."""
            return Done(done=arguments.name in self.store.read())
