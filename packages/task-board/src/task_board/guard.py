"""Lets a change happen only while the tasks are as they were when it was decided on.

The server's own transaction checks this, so that nobody else can come in between, in this process or another.
"""

import threading
from collections.abc import Awaitable, Mapping
from itertools import count
from typing import Any, Final, cast

from mcp_types import CallToolRequestParams, RequestParamsMeta

from task_core.errors import InvalidArguments
from task_core.server.app import TaskServer, Work
from task_core.server.faults import RenderedAnswer
from task_core.store import Transaction
from task_core.store.base import WatchedStore

__all__ = ["Guard"]

_KEY: Final = "task-board/expects"
"""The member of ``_meta`` that names the expectation of a call."""

_NO_LIST: Final = "-0-"
"""The token of a list that does not exist yet, and the end of the one that it has then."""


class Guard:
    """Gives the calls of a server a condition: the token of the tasks that they are based on."""

    def __init__(self, server: TaskServer, store: WatchedStore) -> None:
        self._store = store
        self._numbers = count(1)
        self._waiting: dict[int, str] = {}
        self._refused: set[int] = set()
        self._here = threading.local()
        server.wrap_change = self._wrap
        store.check = self._check

    def token(self) -> str:
        """Return a token that differs after every change of the tasks.

        Raises:
            TaskError: the store cannot be read.
        """
        return self._store.changes(None, 0).token

    def expect(self, token: str) -> tuple[int, RequestParamsMeta]:
        """Return a number, and the ``_meta`` with which one call fails unless ``token`` is that of now."""
        number = next(self._numbers)
        self._waiting[number] = token
        return number, cast("RequestParamsMeta", {_KEY: number})

    def settle(self, number: int) -> bool:
        """Forget what a call expected, and return whether it was refused."""
        self._waiting.pop(number, None)
        is_refused = number in self._refused
        self._refused.discard(number)
        return is_refused

    def _wrap(self, params: CallToolRequestParams, work: Work) -> Work:
        meta: Mapping[str, Any] = params.meta or {}
        number = meta.get(_KEY)
        if number is None:
            return work

        def guarded() -> RenderedAnswer:
            self._here.number, self._here.first = number, None
            try:
                answer = work()
            finally:
                self._here.number = None
            if isinstance(answer, Awaitable):
                raise TypeError(f"{params.name} is a coroutine: the board cannot check what its call expects")
            return answer

        return guarded

    def _check(self, tasks: Transaction[Any]) -> None:
        number = getattr(self._here, "number", None)
        if number is None:
            return
        if self._here.first is None:
            self._here.first = tasks
        if tasks is not self._here.first:
            return  # what the call itself has changed must not refuse it
        now, expected = tasks.token, self._waiting.get(number)
        # A list gets its id with its first transaction.
        is_same = now == expected or (expected == _NO_LIST and now.endswith(_NO_LIST))
        if tasks.changed or not is_same:
            self._refused.add(number)
            raise InvalidArguments([("id", "the tasks have changed meanwhile")])
