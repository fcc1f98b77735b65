"""The neutral records that every reader gives and every writer takes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

__all__ = ["TIMES", "Contents", "ForeignTask", "Priority", "Remark", "SourceFile", "State", "Writing"]

State = Literal["open", "active", "blocked", "deferred", "review", "done", "cancelled"]
Priority = Literal["critical", "high", "medium", "low"]

TIMES: Final = ("created", "updated", "closed", "due")
"""The fields of a task that are times."""


@dataclass(frozen=True, slots=True)
class ForeignTask:
    """One task of another tool.

    ``id`` is unique within one reading: a repeated id has got a suffix, which a problem reports. ``parent`` and
    ``dependencies`` are ids of the same reading, or lead nowhere. Times are ISO 8601: a date, or a date-time with an
    offset (UTC where the source has none).
    """

    id: str
    title: str
    """One line, never blank."""
    text: str = ""
    """The description, Markdown."""
    state: State = "open"
    status: str = ""
    """The status as the source writes it; blank if the source has none."""
    priority: Priority | None = None
    labels: tuple[str, ...] = ()
    parent: str | None = None
    dependencies: tuple[str, ...] = ()
    """The tasks that must be done first."""
    created: str | None = None
    updated: str | None = None
    closed: str | None = None
    due: str | None = None
    criteria: tuple[str, ...] = ()
    """Criteria of acceptance; one that is ticked begins with ``[x] ``."""
    notes: tuple[str, ...] = ()
    """Plans and notes, each Markdown of its own."""
    result: str = ""
    """The summary, resolution or reason of closing."""
    rest: Mapping[str, str] = field(default_factory=dict[str, str])
    """Every other field of the source as text, under the name that it has there."""
    place: str = ""
    """The file that it comes from, with ``:LINE`` where a file has many."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A part of the source that was not read, or not as its author may expect; or what a format cannot hold."""

    place: str
    text: str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file: its path from the chosen one, with ``/``, and its bytes."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Contents:
    """All that one source holds: everything in it is a task, or counted in ``left_out``, or named in ``problems``."""

    tasks: tuple[ForeignTask, ...] = ()
    """In the order of the source."""
    problems: tuple[Remark, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    """The number of records of each kind that are not work (tombstones, machinery, templates)."""
    warnings: tuple[str, ...] = ()
    """Sentences about the source as a whole."""
    unknown_statuses: frozenset[str] = frozenset()
    """Statuses that the reader has no state for; their tasks are open."""


@dataclass(frozen=True, slots=True)
class Writing:
    """Files to write below the chosen path, and what they cannot hold."""

    files: tuple[SourceFile, ...]
    problems: tuple[Remark, ...] = ()
