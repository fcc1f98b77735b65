"""The tasks of a server as people see them: on the command line, on the board, and as resources.

The module ``view`` of a server describes its tasks once: ``open_view`` opens them for its commands and the board, which
also reads ``ACTIONS`` there, and its resources show the same lines. It imports neither the SDK nor anything else slow.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from task_core.errors import InvalidArguments, echo
from task_core.text import nearest

__all__ = ["Line", "Section", "View", "match_statuses"]


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


class Section(NamedTuple):
    """The first tasks under one heading of a summary, and how many there are in all."""

    entries: Sequence[Line]
    total: int


class View(Protocol):
    """The tasks of one server, read only; everything raises ``TaskError`` where the store cannot be read."""

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
        """Return a value that differs after every change of the tasks, whoever made it; as cheap as the store allows.

        It is None if only listing the tasks again shows a change.
        """

    def close(self) -> None:
        """Release the store."""


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
