"""Lets a change happen only while the tasks are as they were when it was decided on.

The server's own transaction checks this, so that nobody else can come in between, in this process or another.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from mcp_types import CallToolRequestParams
from pydantic import JsonValue

from task_core.errors import InvalidArguments
from task_core.history.changes import BOARD, Change, made_by
from task_core.server.app import TaskServer, Work
from task_core.server.faults import RenderedAnswer
from task_core.store import Transaction
from task_core.store.base import WatchedStore

__all__ = ["CALL", "EXPECTED", "guard_calls"]

CALL: Final = "task-board/call"
"""The member of ``_meta`` with the name of the call."""

EXPECTED: Final = "task-board/expected"
"""The member of ``_meta`` with the token of the tasks that a call is based on; a refusal names it as a wrong field."""

_NO_LIST: Final = "-0-"
"""The token of a list that does not exist yet, and the end of the one that it has then."""


def guard_calls(server: TaskServer, store: WatchedStore, made: dict[JsonValue, Change | None]) -> None:
    """Refuse each call whose ``_meta`` has a token if the tasks have another one when its first transaction begins.

    The last change that a call has made is put into ``made`` under the name of the call.
    """
    here = threading.local()

    def wrap(params: CallToolRequestParams, work: Work) -> Work:
        meta: Mapping[str, Any] = params.meta or {}
        tool = cast("Callable[[], RenderedAnswer]", work)  # no tool of a store is a coroutine

        def guarded() -> RenderedAnswer:
            here.expected, here.first = meta.get(EXPECTED), None
            with made_by(BOARD, params.name) as origin:
                try:
                    answer = tool()
                finally:
                    here.expected = None
            made[meta[CALL]] = origin.change
            return answer

        return guarded

    def check(tasks: Transaction[Any]) -> None:
        expected = getattr(here, "expected", None)
        if expected is None:
            return
        here.first = tasks if here.first is None else here.first
        if tasks is not here.first:
            return  # what the call itself has changed must not refuse it
        # A list gets its id with its first transaction.
        is_same = tasks.token == expected or (expected == _NO_LIST and tasks.token.endswith(_NO_LIST))
        if tasks.changed or not is_same:
            raise InvalidArguments([(EXPECTED, "the tasks have changed meanwhile")])

    server.wrap_change = wrap
    store.check = check
