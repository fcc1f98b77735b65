"""The stores that the board shows: read through the view of the server, and changed with its tools."""

import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from anyio import to_thread
from mcp.client import Client
from mcp_types import CallToolRequestParams, CallToolResult, Implementation, RequestParamsMeta
from pydantic import JsonValue

from task_board.language import choose_language
from task_core.errors import InvalidArguments, TaskError
from task_core.files import identify
from task_core.history.changes import BOARD, Change, made_by
from task_core.server.app import TaskServer, Work
from task_core.server.faults import RenderedAnswer
from task_core.store import Transaction
from task_core.store.base import WatchedStore
from task_core.store.undo import History
from task_core.text import address_people, end_sentence
from task_core.view import Action, BoardActions, Line, View

__all__ = ["BoardStore", "CallOutcome", "Snapshot"]

_CALL: Final = "task-board/call"
"""The member of ``_meta`` with the name of the call."""

_EXPECTED: Final = "task-board/expected"
"""The member of ``_meta`` with the token of the tasks that a call is based on; a refusal names it as a wrong field."""

_NO_LIST: Final = "-0-"
"""The token of a list that does not exist yet, and the end of the one that it has then."""


class CallOutcome(NamedTuple):
    """The outcome of a call."""

    code: str = ""
    """the error's code, if there was an error"""
    message: str = ""
    fields: Mapping[str, str] = {}
    """the fault of each wrong argument, by its name"""
    warnings: Sequence[str] = ()
    change: int = 0
    """the number of the change that it made, if that can be undone"""

    @property
    def is_stale(self) -> bool:
        """True if the call was refused because the tasks had changed."""
        return _EXPECTED in self.fields


class Snapshot:
    """The tasks at one moment, depth first, and how they are nested."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self.parents: list[int] = []
        """for each line the index of the one above it, or -1"""
        self.below: dict[int, list[int]] = {-1: []}
        """the indexes of the lines right below one; -1 for the top level"""
        self.places: dict[str, int] = {}
        """the index of each task by its id; of two with one id, the first"""
        path: list[int] = []
        for place, line in enumerate(lines):
            del path[line.depth :]
            parent = path[-1] if path else -1
            path.append(place)
            self.parents.append(parent)
            self.below.setdefault(parent, []).append(place)
            self.places.setdefault(line.id, place)

    def line(self, task_id: str) -> Line | None:
        """Return the line of a task, if it is there."""
        place = self.places.get(task_id)
        return None if place is None else self.lines[place]

    def above(self, task_id: str) -> list[Line]:
        """Return the tasks above one, the topmost first."""
        found: list[Line] = []
        place = self.parents[self.places[task_id]] if task_id in self.places else -1
        while place >= 0:
            found.append(self.lines[place])
            place = self.parents[place]
        return found[::-1]

    def waits_for(self, line: Line, finished: Collection[str]) -> list[Line]:
        """Return the tasks that a task needs and that are not ``finished``; none once it is finished itself."""
        if line.status in finished:
            return []
        return [task for task in map(self.line, line.needs) if task and task.status not in finished]


_CLIENT: Final = Implementation(name=BOARD, version="")


@dataclass
class BoardStore:
    """One store and the server that keeps it; every reading method raises ``TaskError`` if it cannot be read."""

    key: str
    """its name in addresses"""
    place: str
    """the place of the tasks, for people"""
    document: Path | None
    """the file of the tasks, if they are in one"""
    mirror: Path | None
    """the file that the server keeps in step with them, if there is one"""
    actions: BoardActions
    view: View
    server: TaskServer
    store: WatchedStore
    _client: Client = field(init=False)

    def __post_init__(self) -> None:
        self._calls = count()
        self._made: dict[JsonValue, Change | None] = {}
        _guard_calls(self.server, self.store, self._made)
        self._has_history = False
        self.schemas: Mapping[str, Mapping[str, Any]] = {}
        """the input schema of each tool"""
        self._turn = threading.Lock()
        self._known: tuple[object, Snapshot] | None = None

    async def start(self, stack: AsyncExitStack) -> None:
        """Serve its tools within this process until ``stack`` ends."""
        self._client = await stack.enter_async_context(Client(self.server.sdk, client_info=_CLIENT))
        tools = (await self._client.list_tools()).tools
        self.schemas = {tool.name: tool.input_schema for tool in tools}

    def close(self) -> None:
        """End every wait for the store, and release it."""
        self.server.close()
        self.server.end()
        self.view.close()

    @property
    def is_missing(self) -> bool:
        """True if the tasks should be in a file that does not exist."""
        return self.document is not None and not os.path.exists(self.document)  # noqa: PTH110 - pathlib raises errors

    def fingerprint(self) -> object:
        """Return a value that differs whenever the page must show something else."""
        try:
            return self.view.revision(), self.is_missing, self._mirror_state
        except TaskError as error:
            return error.code, error.message

    @property
    def _mirror_state(self) -> object:
        try:
            return self.mirror and identify(self.mirror)
        except OSError:
            return None

    def tasks(self) -> Snapshot:
        """Return the tasks as they are now; they are read again only after a change."""
        with self._turn:
            revision = self.view.revision()
            if self._known is None or self._known[0] != revision:
                self._known = (revision, Snapshot([*self.view.lines()]))
            return self._known[1]

    async def call(self, action: Action, arguments: Mapping[str, JsonValue], token: str | None = None) -> CallOutcome:
        """Call the tool of an action, only while ``token`` is that of the tasks, if it is given."""
        call = str(next(self._calls))
        meta = cast("RequestParamsMeta", {_CALL: call} | ({} if token is None else {_EXPECTED: token}))
        outcome = _outcome(await self._client.call_tool(action.tool, action.arguments(arguments), meta=meta))
        change = self._made.pop(call, None)
        is_kept = change and await to_thread.run_sync(self.find_history)
        return outcome._replace(change=change.number) if change and is_kept else outcome

    def find_history(self) -> History | None:
        """Return the history of the tasks; None if none is kept, or nothing has been changed yet."""
        history = self.server.find_history() if self.server.find_history else None
        self._has_history = self._has_history or bool(history and history.changes())
        return history if self._has_history else None

    async def say(self) -> CallOutcome:
        """Return an error or warnings that the server has now."""
        return await self.call(self.actions.poll, {})

    async def token(self) -> str:
        """Return the token of the tasks as they are now."""
        return (await to_thread.run_sync(self.store.changes, None, 0)).token


def _guard_calls(server: TaskServer, store: WatchedStore, made: dict[JsonValue, Change | None]) -> None:
    """Let a change happen only while the tasks are as they were when it was decided on.

    A call whose ``_meta`` has a token is refused if the tasks have another one when its first transaction begins: the
    server's own transaction checks it, so nobody else can come in between, in this process or another. The last
    change that a call has made is put into ``made`` under the name of the call.
    """
    here = threading.local()

    def wrap(params: CallToolRequestParams, work: Work) -> Work:
        meta: Mapping[str, Any] = params.meta or {}
        tool = cast("Callable[[], RenderedAnswer]", work)  # no tool of a store is a coroutine

        def guarded() -> RenderedAnswer:
            here.expected, here.first = meta.get(_EXPECTED), None
            with made_by(BOARD, params.name) as origin:
                try:
                    answer = tool()
                finally:
                    here.expected = None
            made[meta[_CALL]] = origin.change
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
            raise InvalidArguments([(_EXPECTED, "the tasks have changed meanwhile")])

    server.wrap_change = wrap
    store.check = check


def _outcome(result: CallToolResult) -> CallOutcome:
    content: dict[str, Any] = result.structured_content or {}
    warnings = [address_people(str(text)) for text in content.get("warnings", ())]
    if not result.is_error:
        return CallOutcome(warnings=warnings)
    error = content["error"]
    found = error.get("details", {}).get("fields", ())
    fields = {str(entry["path"]).rpartition(".")[2]: address_people(str(entry["message"])) for entry in found}
    labels = {name: choose_language("").find("field", name) for name in fields}
    said = "; ".join(f"{labels[name]}: {why}" if labels[name] else why for name, why in fields.items())
    message = end_sentence(said[:1].upper() + said[1:]) if said else address_people(str(error["message"]))
    return CallOutcome(str(error["code"]), message, fields, warnings)
