"""A small server with notes on a shelf, shown as resources, and a prompt: what the tests beside the tools share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, Field
from typing_extensions import override

from task_core.errors import StoreUnreadable
from task_core.fields import Arguments, OneLine
from task_core.server.app import TaskServer
from task_core.server.overview import JsonObject, render_list, render_summary
from task_core.server.prompts import Prompt
from task_core.server.resources import TaskResources
from task_core.store import MemoryDatabase, Selection, Store
from task_core.store.database import Connection
from task_core.view import Line, Section
from task_core.warning_list import WarningList
from tests.core.notes import NOTES, Note, add

__all__ = ["Shelf"]


class Name(Arguments):
    """Which note."""

    name: Annotated[OneLine, Field(description="A note.")]


class Done(BaseModel):
    """That it is done."""

    done: bool = True


PROMPTS = (
    Prompt("greet", "Greet", "Be polite.", "Say hello.", argument="whom", asks="Somebody."),
    Prompt("look", "Look around", "See what is there.", "Look around."),
)


class _Rows(MemoryDatabase):
    """Rows in memory, which raise before or after each read if a test says so."""

    def __init__(self, trouble: Callable[[], object], late_trouble: Callable[[], object]) -> None:
        super().__init__()
        self._trouble = trouble
        self._late_trouble = late_trouble

    @contextmanager
    @override
    def reading(self) -> Iterator[Connection]:
        self._trouble()
        with super().reading() as session:
            yield session
        self._late_trouble()


@dataclass
class Shelf:
    """The notes, the server over them, and what happens before and after each read of them."""

    trouble: Callable[[], object] = lambda: None
    late_trouble: Callable[[], object] = lambda: None
    words: tuple[str, ...] = ("secret",)
    store: Store[Note] = field(init=False)

    def __post_init__(self) -> None:
        self.store = Store(_Rows(lambda: self.trouble(), lambda: self.late_trouble()), NOTES)
        self.server = TaskServer("shelf", title="Shelf", version="1", instructions="", warnings=WarningList())
        self.server.offer(TaskResources(self.store, self.tasks, self.task, self.summary), *PROMPTS)
        self._add_tools()

    def tasks(self) -> JsonObject:
        with self.store.read() as notes:
            return render_list([{"id": note.id} for note in notes.select(Selection())], len(notes))

    def task(self, note_id: str) -> JsonObject:
        with self.store.read() as notes:
            return notes.get(note_id).model_dump()

    def summary(self) -> str:
        with self.store.read() as notes:
            entries = [Line(note.id, "kept", note.text) for note in notes.select(Selection())]
        return render_summary({"kept": len(entries)}, {"All": Section(entries, len(entries))}, "look")

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
            """Write a note again."""
            with self.store.transaction() as notes:
                notes.replace(notes.get(arguments.name).changed(text="new"))
            return Done()

        @self.server.tool(title="Look", read_only=True)
        def look(arguments: Name) -> Done:
            """Look for a note, and change nothing."""
            with self.store.read() as notes:
                return Done(done=arguments.name in notes)
