"""The tools ``task_history`` and ``undo_change``: what changed, by whom, and how to put it back (AG-6)."""

from collections.abc import Callable
from typing import Annotated

from pydantic import BaseModel, Field

from task_core.bounds import fit, take_fitting
from task_core.fields import Arguments, AsInteger, PlainLine
from task_core.history.changes import Change, current_origin
from task_core.models import format_timestamp, from_microseconds
from task_core.server.app import TaskServer
from task_core.server.overview import JsonObject
from task_core.store.store import NEWEST
from task_core.store.undo import History

__all__ = ["HistoryPage", "TaskHistory", "UndoChange", "Undone", "add_history_tools", "render_change"]


class TaskHistory(Arguments):
    """Arguments of ``task_history``."""

    id: Annotated[PlainLine | None, Field(description="Only of this task")] = None
    limit: Annotated[int, Field(ge=1, le=100, description="Page size"), AsInteger] = 20
    after: Annotated[int | None, Field(ge=1, description="Last change of the previous page"), AsInteger] = None


class HistoryPage(BaseModel):
    """Changes, the newest first."""

    changes: list[JsonObject]
    more: bool


class UndoChange(Arguments):
    """Arguments of ``undo_change``."""

    change: Annotated[int, Field(ge=1, description="Its number"), AsInteger]


class Undone(BaseModel):
    """The change that was undone, the number of the one that did it, and the tasks of both."""

    undone: int
    change: int
    tasks: list[str]


def render_change(change: Change) -> JsonObject:
    """Return a change as the tools show it; what is too long is cut."""
    moment = format_timestamp(from_microseconds(change.at))
    return fit({"change": change.number, "at": moment, **change.render()}, keep=("change",))


def add_history_tools(
    server: TaskServer,
    find: Callable[[Arguments], History],
    *kinds: type[Arguments],
    is_camel_case: bool = False,
) -> None:
    """Publish the tools over the history that ``find`` finds for a call.

    ``kinds`` are those of the arguments if the server has more than ``TaskHistory`` and ``UndoChange``. Names are in
    camel case if the server's are.
    """

    def task_history(arguments: TaskHistory) -> HistoryPage:
        """List changes, newest first."""
        before, limit = arguments.after or NEWEST, arguments.limit
        found = find(arguments).changes(arguments.id or "", before, limit + 1)
        shown = take_fitting([render_change(change) for change in found[:limit]])
        return HistoryPage(changes=shown, more=len(found) > len(shown))

    def undo_change(arguments: UndoChange) -> Undone:
        """Put back what a change replaced."""
        ids = find(arguments).undo(arguments.change)
        made = current_origin().change
        return Undone(undone=arguments.change, change=made.number if made else 0, tasks=ids)

    for tool, kind in zip((task_history, undo_change), kinds, strict=False):
        tool.__annotations__["arguments"] = kind
    if is_camel_case:
        task_history.__name__, undo_change.__name__ = "taskHistory", "undoChange"
    server.tool(title="Task history", read_only=True, idempotent=True)(task_history)
    server.tool(title="Undo change", destructive=True)(undo_change)
