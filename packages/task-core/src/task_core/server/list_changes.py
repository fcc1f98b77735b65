"""The tool ``list_changes``, which a setting adds to any server: what changed while an agent was away (EN-21)."""

from collections.abc import Callable
from typing import Annotated

from pydantic import BaseModel, Field

from task_core.bounds import fit, take_fitting
from task_core.fields import Arguments, AsInteger, PlainLine
from task_core.models import RecordT
from task_core.server.app import TaskServer
from task_core.server.overview import JsonObject
from task_core.store import Store

__all__ = ["ChangesPage", "ListChanges", "add_changes_tool"]


class ListChanges(Arguments):
    """Arguments of ``list_changes``."""

    since: Annotated[PlainLine | None, Field(description="Token of an earlier answer")] = None
    limit: Annotated[int, Field(ge=1, le=100, description="Page size"), AsInteger] = 20


class ChangesPage(BaseModel):
    """Changed tasks, in the order of the last change of each."""

    changes: list[JsonObject]
    token: str
    more: bool
    reset: bool


def add_changes_tool(
    server: TaskServer, store: Store[RecordT] | Callable[[], Store[RecordT]], show: Callable[[RecordT], JsonObject]
) -> None:
    """Publish ``list_changes`` over ``store``, or what finds it; ``show`` turns a record into its JSON object."""

    @server.tool(title="List changes", read_only=True, idempotent=True)
    def list_changes(arguments: ListChanges) -> ChangesPage:
        """Return the tasks that changed since a token. On reset, list the tasks again."""
        limit = arguments.limit
        while True:
            found = (store if isinstance(store, Store) else store()).changes(arguments.since, limit)
            shown = [fit(show(it)) if it else {"id": name, "removed": True} for name, it in found.records]
            limit = len(take_fitting(shown))
            if limit == len(shown):
                return ChangesPage(changes=shown, token=found.token, more=found.more, reset=found.reset)
