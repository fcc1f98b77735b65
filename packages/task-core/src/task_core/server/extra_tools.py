"""The sets of tools that the setting ``TASK_EXTRA_TOOLS`` adds to any server (AG-1, AG-2)."""

from collections.abc import Callable, Container

from task_core.models import Clock, RecordT
from task_core.server.app import TaskServer
from task_core.server.brief_tool import add_brief_tool
from task_core.server.list_changes import add_changes_tool
from task_core.server.overview import JsonObject
from task_core.server.task_history import add_history_tools
from task_core.store import Store
from task_core.store.undo import History
from task_core.view import Briefed

__all__ = ["add_extra_tools"]


def add_extra_tools(
    server: TaskServer,
    chosen: Container[str],
    store: Store[RecordT] | Callable[[], Store[RecordT]],
    show: Callable[[RecordT], JsonObject],
    find_history: Callable[[], History],
    find_view: Callable[[], Briefed],
    *,
    clock: Clock,
    is_camel_case: bool = False,
) -> None:
    """Publish the ``chosen`` sets over ``store``, or what finds it; ``show`` turns a record into its JSON object."""
    server.find_history = find_history
    if "changes" in chosen:
        add_changes_tool(server, store, show)
    if "history" in chosen:
        add_history_tools(server, lambda _: find_history(), is_camel_case=is_camel_case)
    if "brief" in chosen:
        add_brief_tool(server, find_view, clock)
