"""The sets of tools that the setting ``TASK_EXTRA_TOOLS`` adds to any server (AG-1, AG-2)."""

from collections.abc import Callable, Container
from operator import not_
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field
from pydantic.alias_generators import to_camel

from task_core.bounds import fit, take_fitting
from task_core.claims.claim import describe
from task_core.errors import MAX_NAMED
from task_core.fields import Arguments, AsInteger, PlainLine
from task_core.history.changes import current_origin
from task_core.models import Clock, RecordT, microseconds
from task_core.server.app import TaskServer
from task_core.server.brief import MAX_BYTES, MIN_BYTES, write_brief
from task_core.server.overview import JsonObject, render_change
from task_core.store import Store
from task_core.store.claiming import Claiming
from task_core.store.store import NEWEST
from task_core.store.undo import History
from task_core.view import Briefed

__all__ = [
    "ClaimTask",
    "ReleaseTask",
    "TaskHistory",
    "UndoChange",
    "WorkList",
    "add_brief_tool",
    "add_changes_tool",
    "add_claim_tools",
    "add_extra_tools",
    "add_history_tools",
]


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


class _ListChanges(Arguments):
    since: Annotated[PlainLine | None, Field(description="Token of an earlier answer")] = None
    limit: Annotated[int, Field(ge=1, le=100, description="Page size"), AsInteger] = 20


class _ChangesPage(BaseModel):
    changes: list[JsonObject]
    token: str
    more: bool
    reset: bool


def add_changes_tool(
    server: TaskServer, store: Store[RecordT] | Callable[[], Store[RecordT]], show: Callable[[RecordT], JsonObject]
) -> None:
    """Publish ``list_changes``, what changed while an agent was away, in the order of each task's last change (EN-21).

    It is over ``store``, or what finds it; ``show`` turns a record into its JSON object.
    """

    @server.tool(title="List changes", read_only=True, idempotent=True)
    def list_changes(arguments: _ListChanges) -> _ChangesPage:
        """Return the tasks that changed since a token. On reset, list the tasks again."""
        limit = arguments.limit
        while True:
            found = (store if isinstance(store, Store) else store()).changes(arguments.since, limit)
            shown = [fit(show(it)) if it else {"id": name, "removed": True} for name, it in found.records]
            limit = len(take_fitting(shown))
            if limit == len(shown):
                return _ChangesPage(changes=shown, token=found.token, more=found.more, reset=found.reset)


class _BriefArguments(Arguments):
    max_bytes: Annotated[int, Field(ge=MIN_BYTES, le=20_000, description="At most"), AsInteger] = MAX_BYTES
    since: Annotated[PlainLine | None, Field(description="Change number, or 12h, 7d")] = None


class _BriefAnswer(BaseModel):
    brief: str


def add_brief_tool(server: TaskServer, find: Callable[[], Briefed], clock: Clock) -> None:
    """Publish ``brief`` over the tasks that ``find`` finds, and the resource ``tasks://brief`` (AG-8)."""

    def read(arguments: _BriefArguments, caller: str = "") -> str:
        view, now = find(), microseconds(clock())
        found = write_brief(view, now, since=arguments.since, caller=caller, limit=arguments.max_bytes)
        return found or f"The list is empty. {view.advice}\n"

    @server.tool(title="Brief", read_only=True, idempotent=True)
    def brief(arguments: _BriefArguments) -> _BriefAnswer:
        """Return what a new session must know."""
        return _BriefAnswer(brief=read(arguments, current_origin().by))

    server.read_brief = lambda: read(_BriefArguments())


class TaskHistory(Arguments):
    """Arguments of ``task_history``."""

    id: Annotated[PlainLine | None, Field(description="Only of this task")] = None
    limit: Annotated[int, Field(ge=1, le=100, description="Page size"), AsInteger] = 20
    after: Annotated[int | None, Field(ge=1, description="Last change of the previous page"), AsInteger] = None


class _HistoryPage(BaseModel):
    changes: list[JsonObject]
    more: bool


class UndoChange(Arguments):
    """Arguments of ``undo_change``."""

    change: Annotated[int, Field(ge=1, description="Its number"), AsInteger]


class _Undone(BaseModel):
    undone: int
    change: int
    """the number of the change that did it"""
    tasks: list[str]


def add_history_tools(
    server: TaskServer, find: Callable[[Arguments], History], *kinds: type[Arguments], is_camel_case: bool = False
) -> None:
    """Publish ``task_history`` and ``undo_change`` over the history that ``find`` finds for a call (AG-6).

    ``kinds`` are those of the arguments if the server has more than ``TaskHistory`` and ``UndoChange``. Names are in
    camel case if the server's are.
    """

    def task_history(arguments: TaskHistory) -> _HistoryPage:
        """List changes, newest first."""
        before, limit = arguments.after or NEWEST, arguments.limit
        found = find(arguments).changes(arguments.id or "", before, limit + 1)
        shown = take_fitting([render_change(change) for change in found[:limit]])
        return _HistoryPage(changes=shown, more=len(found) > len(shown))

    def undo_change(arguments: UndoChange) -> _Undone:
        """Put back what a change replaced."""
        ids = find(arguments).undo(arguments.change)
        made = current_origin().change
        return _Undone(undone=arguments.change, change=made.number if made else 0, tasks=ids)

    _adapt((task_history, undo_change), kinds, is_camel_case=is_camel_case)
    server.tool(title="Task history", read_only=True, idempotent=True)(task_history)
    server.tool(title="Undo change", destructive=True)(undo_change)


class ClaimTask(Arguments):
    """Arguments of ``claim_task``."""

    id: Annotated[PlainLine | None, Field(description="Default: the first free one")] = None
    note: Annotated[PlainLine | None, Field(description="What for")] = None
    force: Annotated[bool, Field(description="Take it over; say why in note")] = False


class _ClaimAnswer(BaseModel):
    claim: JsonObject | None = None
    task: JsonObject | None = None
    held: list[JsonObject] = []
    """the claims of others if nothing is free"""
    message: Annotated[str, Field(exclude_if=not_)] = ""


class ReleaseTask(Arguments):
    """Arguments of ``release_task``."""

    id: Annotated[PlainLine, Field(description="Task")]


class _Released(BaseModel):
    released: str
    message: Annotated[str, Field(exclude_if=not_)] = ""
    """the effect on other tasks"""


def add_claim_tools(
    server: TaskServer, find: Callable[[Arguments], Claiming], *kinds: type[Arguments], is_camel_case: bool = False
) -> None:
    """Publish ``claim_task`` and ``release_task`` over what claims the tasks for a call (AG-11).

    Other tools that change tasks get an ``agent``. ``kinds`` and ``is_camel_case`` are as for ``add_history_tools``.
    """

    def claim_task(arguments: ClaimTask) -> _ClaimAnswer:
        """Hold a task: others cannot change it."""
        found = find(arguments).claim(arguments.id or "", arguments.note or "", is_forced=arguments.force)
        if found.claim is None:
            return _ClaimAnswer(held=[describe(claim) for claim in found.others][:MAX_NAMED])
        claim: JsonObject = {**describe(found.claim), "token": found.claim.token}
        return _ClaimAnswer(claim=claim, task=found.task, message=found.message)

    def release_task(arguments: ReleaseTask) -> _Released:
        """Give up a claim."""
        return _Released(released=arguments.id, message=find(arguments).release(arguments.id))

    _adapt((claim_task, release_task), kinds, is_camel_case=is_camel_case)
    server.tool(title="Claim task", whole=True)(claim_task)
    server.tool(title="Release task")(release_task)
    server.name_agents()


def _adapt(
    tools: tuple[Callable[..., BaseModel], ...], kinds: tuple[type[Arguments], ...], *, is_camel_case: bool
) -> None:
    for tool, kind in zip(tools, kinds, strict=False):
        tool.__annotations__["arguments"] = kind
    if is_camel_case:
        for tool in tools:
            tool.__name__ = to_camel(tool.__name__)
