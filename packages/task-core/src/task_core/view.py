"""The tasks of a server as people see them: on the command line, on the board, and as resources.

The module ``view`` of a server describes its tasks once: ``open_view`` opens them for its commands and the board, which
also reads ``ACTIONS`` there, and its resources show the same lines. It imports neither the SDK nor anything else slow.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from task_core.claims.claim import Agent, Claim
from task_core.errors import InvalidArguments, echo
from task_core.history.changes import Change
from task_core.text import nearest

__all__ = ["Action", "BoardActions", "Briefed", "Line", "Section", "View", "WorkState", "match_statuses"]


class Line(NamedTuple):
    """One task in a list, as it is stored: nothing is cut or escaped yet."""

    id: str
    status: str
    text: str
    """the text of the task"""
    note: str = ""
    """a word more, such as its priority if that is not the usual one"""
    depth: int = 0
    """the number of tasks above it in a tree"""
    priority: str = ""
    """its priority, the usual one too"""
    topic: str = ""
    tags: Sequence[str] = ()
    needs: Sequence[str] = ()
    """ids of the tasks that must be finished before it"""
    more: str = ""
    """further text that a search finds, such as the description"""
    created_at: datetime | None = None
    changed_at: datetime | None = None
    remark: str = ""
    """the last note on it, such as its result"""

    def has_words(self, query: str) -> bool:
        """Return whether each word of ``query`` is somewhere in it, in any case."""
        found = "\n".join((self.id, self.text, self.topic, *self.tags, self.more)).casefold()
        return all(map(found.__contains__, query.casefold().split()))

    def fields(self) -> dict[str, str | int]:
        """Return what the commands write of it, by name: id, status, text, note and depth."""
        return {"id": self.id, "status": self.status, "text": self.text, "note": self.note, "depth": self.depth}


class Section(NamedTuple):
    """The first tasks under one heading of a summary, and how many there are in all."""

    entries: Sequence[Line]
    total: int


class View(Protocol):
    """The tasks of one server, read only; everything raises ``TaskError`` where the store cannot be read.

    That of a server with an archive has ``archived`` too, which is like ``lines``, for the tasks in it.
    """

    @property
    def statuses(self) -> Sequence[str]:
        """Return every status that a task can have, in the order of work."""

    @property
    def finished(self) -> Collection[str]:
        """Return the statuses of tasks on which work has ended."""

    def lines(self, statuses: Collection[str] = ()) -> Iterable[Line]:
        """Return the tasks with one of ``statuses``, or all, in the order of the list tool; a tree depth first.

        A word that is no status raises what ``match_statuses`` does.
        """

    def task(self, task_id: str) -> dict[str, JsonValue]:
        """Return one whole task as the tools show it, or raise ``TaskNotFound``, which names near ids."""

    def next(self) -> str | None:
        """Return the id of the task to work on next, by the rules of the server, or None."""

    def revision(self) -> object:
        """Return a value that differs after every change of the tasks; None: only listing them again shows a change."""

    def claims(self) -> Sequence[Claim]:
        """Return the claims on open tasks, the oldest first."""

    def close(self) -> None:
        """Release the store."""


class WorkState(NamedTuple):
    """The state of the work on a list, each part in the order of work."""

    active: Sequence[Line]
    """the first tasks in progress"""
    active_count: int
    ready: Sequence[Line]
    """the first tasks that can be started"""
    ready_count: int
    counts: Mapping[str, int]
    """tasks by status"""
    finished: Collection[str]
    """the statuses of tasks on which work has ended"""
    waiting: Sequence[tuple[Line, str]] = ()
    """the first tasks that cannot be started, each with what it waits for"""
    waiting_count: int = 0


class Briefed(Protocol):
    """The tasks of one server, as a brief needs them."""

    advice: str
    """the tools to call next, in one sentence"""

    def work(self, limit: int) -> WorkState:
        """Return the state of the work, with at most ``limit`` tasks of each sort."""

    def texts(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the texts of the tasks with these ids that exist."""

    def changes(self, task_id: str = "", *, limit: int) -> Sequence[Change]:
        """Return the last changes of one task or of all, newest first."""

    def claims(self) -> Sequence[Claim]:
        """Return the claims on open tasks, the oldest first."""

    def caller(self) -> Agent:
        """Return the agent that calls."""


def match_statuses(words: Collection[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return the ``known`` statuses that ``words`` name, in any case and joined by ``-`` or ``_``.

    A word that is no status raises ``InvalidArguments``, which names all of them.
    """
    folded = {_fold(status): status for status in reversed(known)}
    for word in words:
        if _fold(word) not in folded:
            expected = f"give one of {', '.join(known)}, not '{echo(word)}'"
            raise InvalidArguments([("status", expected)], nearest(word, known))
    return tuple(dict.fromkeys(folded[_fold(word)] for word in words))


def _fold(status: str) -> str:
    return status.casefold().replace("-", "_")


class Action(NamedTuple):
    """One thing that people can do, and how the tool that does it is called."""

    name: str
    """the name of the action on the board, such as ``start``"""
    tool: str
    task: str = ""
    """the argument with the id of the task"""
    parent: str = ""
    """the argument with the id of the task that is to be above it"""
    index: str = ""
    """the argument with its place among the tasks there, from 0"""
    inside: str = ""
    """the argument that holds the values and fields, if they are not arguments themselves"""
    outside: Mapping[str, JsonValue] = {}
    """arguments beside that one that every call has"""
    values: Mapping[str, JsonValue] = {}
    """arguments that every call has"""
    fields: Sequence[str] = ()
    """the properties of the tool's schema that people fill in, in the order of the form; a task has the same names"""
    extra: Sequence[str] = ()
    """further arguments of an open schema, text or null, which only the commands take"""
    sources: Collection[str] = ()
    """the statuses of the tasks for which it is offered, if not for all"""
    in_order: Collection[str] = ()
    """of these, the statuses for which an open sibling before the task, or before a subtask above it, forbids it"""
    is_for_leaves: bool = False
    """true if it is only offered for tasks without subtasks"""
    status: str = ""
    """the status that the task then has"""
    removes: bool = False
    """true if the task is gone afterwards, so that the board asks first"""
    reopens: bool = False
    """true if finished tasks below it are open afterwards, so that the board asks first if there are any"""

    def arguments(self, given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return the arguments of a call: those that say which task and place, and the fields beside or inside them."""
        where = {self.task, self.parent, self.index} - {""}
        outer = {name: value for name, value in given.items() if name in where}
        inner = {**self.values, **{name: value for name, value in given.items() if name not in where}}
        return {**self.outside, **outer, self.inside: inner} if self.inside else {**inner, **outer}


class BoardActions(NamedTuple):
    """Actions on the board of one server."""

    path: str
    """the setting that names where the tasks are, for ``task-board SERVER=PATH``"""
    create: Action
    edit: Action
    steps: Sequence[Action]
    """actions that change the status of a task, or remove it"""
    poll: Action
    """lists little and changes nothing: it is called before the tasks are shown, for what the server has to say"""
    mirror: str = ""
    """the setting that names the file that the server keeps in step with the tasks, if there is one"""
    settings: Mapping[str, str] = {}
    """settings with which the server offers these tools, if it does not do so anyway"""
    one_line: Collection[str] = ()
    """fields of one line whose schema does not say so"""
    priorities: Sequence[str] = ()
    """every priority, the highest first"""
    create_below: Action | None = None
    """makes a subtask"""
    place_below: Action | None = None
    """moves a task below another one, or to another place among its siblings if it has an ``index``"""
    place_on_top: Action | None = None
    """moves a task to the top level"""
    note: Action | None = None
    """adds a note, its one field, to a task"""
    levels: int = 0
    """the levels that a tree may have, if there is a limit"""

    @property
    def is_tree(self) -> bool:
        """Return whether tasks have subtasks."""
        return self.create_below is not None

    def allows(self, levels: int) -> bool:
        """Return whether a tree may have so many levels."""
        return not self.levels or levels <= self.levels
