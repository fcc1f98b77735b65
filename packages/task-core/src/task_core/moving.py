"""The tasks of a server as ``import --from`` and ``export --to`` need them (MV-1, MV-6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from task_core.models import as_utc

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from task_formats.record import ForeignTask, Priority, State

__all__ = ["ORIGIN", "Arrival", "Home", "Imported", "Mover", "read_moment"]

WorkT = TypeVar("WorkT")
"""The transaction of a server."""

ORIGIN: Final = "origin"
"""The field with the origin of an imported task, where a server has no other place for it."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A task of another tool, as a server adds it."""

    task: ForeignTask
    """with a title and a text that the server's fields can hold"""
    origin: str
    """``FORMAT:ID``, its id in the source (MV-4)"""
    rest: Mapping[str, str]
    """what the server has no field for; it is in the text already, unless the server has a place for it"""


class Imported(NamedTuple):
    """A task that was imported before."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Home:
    """The places that the tasks of one server have for what others' tasks hold."""

    statuses: Mapping[State, str]
    """the status for each state that has one; tasks with another one are open"""
    held: Collection[str]
    """the fields of ``ForeignTask``, beside title and text, that have a place of their own"""
    priorities: Mapping[Priority, str]
    """the priority for each, empty if there is none"""
    max_title: int
    """characters of a title"""
    max_text: int
    """characters of a text"""
    keeps_rest: bool = False
    """true if what has no field is kept beside the text"""

    def status(self, state: State) -> str:
        """Return the status of tasks in ``state``."""
        return self.statuses.get(state, self.statuses["open"])

    def keeps_status(self, state: State) -> bool:
        """Return whether no other state has the same status, which then says all of it."""
        named = [*self.statuses.values()].count(self.status(state))
        return state in {"open", "done"} or (state in self.statuses and named == 1)

    def keeps_priority(self, priority: Priority | None) -> bool:
        """Return whether the server's priority says as much."""
        return priority is None or self.priorities.get(priority) == priority


class Mover(Protocol[WorkT]):
    """The tasks of one server, which everything but ``tasks`` works on in a transaction; it raises ``TaskError``."""

    home: Home
    path: Path | None
    """the file of the store; None if it is in a database server"""

    def transaction(self) -> AbstractContextManager[WorkT]:
        """Open a transaction of the server."""

    def imported(self, work: WorkT, /) -> Mapping[str, Imported]:
        """Return the tasks that were imported before, by their origins."""

    def settle(self, work: WorkT, tasks: Sequence[ForeignTask], /) -> tuple[list[ForeignTask], list[str]]:
        """Return the new ``tasks`` as the rules of the server allow them, in its order, and what was changed."""

    def add(self, work: WorkT, arrivals: Iterable[Arrival], ids: Mapping[str, str], /) -> list[str]:
        """Add tasks, parents first, and return what could not be added as it was.

        ``arrivals`` can be gone through more than once. ``ids`` has those of tasks that are there already, by their
        ids in the source.
        """

    def tasks(self) -> list[ForeignTask]:
        """Return all tasks, parents first, each with its origin in ``rest`` if it has one."""


def read_moment(text: str | None, latest: datetime) -> datetime | None:
    """Return the moment that an ISO 8601 date or date-time names, at most ``latest``, or None for none."""
    try:
        return min(as_utc(datetime.fromisoformat(text)), latest) if text else None
    except ValueError:
        return None
