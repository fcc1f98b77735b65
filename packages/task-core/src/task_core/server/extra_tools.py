"""The sets of tools that the setting ``TASK_EXTRA_TOOLS`` adds to any server (AG-1, AG-2)."""

from collections.abc import Callable, Container
from typing import NamedTuple

from task_core.models import Clock, RecordT
from task_core.server.app import TaskServer
from task_core.server.brief_tool import add_brief_tool
from task_core.server.claim_tools import add_claim_tools
from task_core.server.list_changes import add_changes_tool
from task_core.server.overview import JsonObject
from task_core.server.task_history import add_history_tools
from task_core.store import Store
from task_core.store.claiming import Claiming
from task_core.store.undo import History
from task_core.view import Briefed

__all__ = ["WorkList", "add_extra_tools"]


class WorkList(NamedTuple):
    """A list of tasks as the sets of tools need it."""

    history: History
    view: Briefed
    claiming: Claiming


def add_extra_tools(
    server: TaskServer,
    chosen: Container[str],
    store: Store[RecordT] | Callable[[], Store[RecordT]],
    show: Callable[[RecordT], JsonObject],
    find: Callable[[], WorkList],
    *,
    clock: Clock,
    is_camel_case: bool = False,
) -> None:
    """Publish the ``chosen`` sets over ``store``, or what finds it; ``show`` turns a record into its JSON object.

    ``find`` returns the same list as other parts see it.
    """
    server.find_history, server.find_claiming = lambda: find().history, lambda: find().claiming
    if "changes" in chosen:
        add_changes_tool(server, store, show)
    if "history" in chosen:
        add_history_tools(server, lambda _: find().history, is_camel_case=is_camel_case)
    if "brief" in chosen:
        add_brief_tool(server, lambda: find().view, clock)
    if "claims" in chosen:  # last: it changes the tools that are there
        add_claim_tools(server, lambda _: find().claiming, is_camel_case=is_camel_case)
