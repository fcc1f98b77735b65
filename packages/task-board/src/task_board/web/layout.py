"""Layouts of the tasks: columns by status, or a tree, with the parts that are shown."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from task_board.stores import Snapshot
from task_core.view import Line

__all__ = [
    "ORDERS",
    "PAGE",
    "Column",
    "Filters",
    "Shown",
    "TreeNode",
    "find_tone",
    "lay_out_columns",
    "lay_out_tree",
    "sort_lines",
]

ORDERS: Final = ("priority", "newest", "oldest", "changed")
"""Orders of the tasks of a column, besides that of the server."""

_NEVER: Final = datetime.min.replace(tzinfo=UTC)

PAGE: Final = 50
"""Tasks of one column or below one task that are shown before the user asks for more."""

_MOST: Final = 5_000
"""Tasks that one column can show, however often the user asks."""

_SMALL: Final = 300
"""Tasks of a tree whose first levels are open at first."""

_MOST_FOUND: Final = 2_000
"""Tasks up to which a search opens everything above those that match."""

_OPEN_LEVELS: Final = 2
"""Levels of such a tree that are open at first, which shows one more."""

_TONES: Final = {
    **dict.fromkeys(("running", "in_progress", "review"), "running"),
    **dict.fromkeys(("done", "complete"), "done"),
    **dict.fromkeys(("canceled", "cancelled"), "canceled"),
    "blocked": "blocked",
    "fail": "failed",
}
"""The tone of each status, which the style gives a hue and an icon; any other is waiting."""


class Filters(NamedTuple):
    """A filter of tasks."""

    query: str = ""
    statuses: Collection[str] = ()
    """any of these, or all"""
    priority: str = ""
    topic: str = ""
    tag: str = ""

    @property
    def are_set(self) -> bool:
        """True if some tasks may be left out."""
        return any(self)

    def match(self, line: Line) -> bool:
        """Return whether a task is shown."""
        if self.statuses and line.status not in self.statuses:
            return False
        if self.priority and line.priority != self.priority:
            return False
        if (self.topic and line.topic != self.topic) or (self.tag and self.tag not in line.tags):
            return False
        return not self.query or line.has_words(self.query)


class Shown(NamedTuple):
    """The parts that the user has opened, and the number of tasks in each."""

    limits: Mapping[str, int] = {}
    """tasks by the name of the column, or by the id of the task above them"""
    open: Collection[str] = ()
    """ids of tasks whose subtasks are shown"""
    shut: Collection[str] = ()
    """ids of tasks whose subtasks are not"""

    def limit(self, name: str) -> int:
        """Return how many tasks of a part are shown."""
        return max(PAGE, min(self.limits.get(name, PAGE), _MOST))


class Column(NamedTuple):
    """The tasks with one status."""

    status: str
    is_finished: bool
    lines: Sequence[Line]
    """those that are shown"""
    count: int
    limit: int


class TreeNode(NamedTuple):
    """A task in a tree."""

    line: Line
    count: int
    """the number of subtasks that match"""
    done: int
    """the number of its finished subtasks, of all"""
    total: int
    has_begun: bool
    """true if it waits by its own status, but work below it has begun"""
    is_open: bool
    below: "Sequence[TreeNode]"
    """the subtasks that are shown, if it is open"""
    limit: int
    parent: str
    """the id of the task above it"""


def find_tone(status: str) -> str:
    """Return the tone of a status, however a server writes it."""
    return _TONES.get(status.casefold().replace("-", "_"), "waiting")


def sort_lines(lines: Sequence[Line], order: str, priorities: Sequence[str]) -> Sequence[Line]:
    """Return ``lines`` by a member of ``ORDERS``; otherwise, and of equal ones, in the order of the server."""
    if order == "priority":
        ranks = {priority: rank for rank, priority in enumerate(priorities)}
        return sorted(lines, key=lambda line: ranks.get(line.priority, len(ranks)))
    if order == "changed":
        return sorted(lines, key=lambda line: line.changed_at or _NEVER, reverse=True)
    if order in ORDERS:
        return sorted(lines, key=lambda line: line.created_at or _NEVER, reverse=order == "newest")
    return lines


def lay_out_columns(
    tasks: Snapshot,
    statuses: Sequence[str],
    finished: Collection[str],
    filters: Filters,
    shown: Shown,
    order: str = "",
    priorities: Sequence[str] = (),
) -> list[Column]:
    """Return a column for each status, in the order of work; only those that are asked for."""
    found: dict[str, list[Line]] = {status: [] for status in statuses}
    for line in sort_lines(tasks.lines, order, priorities):
        column = found.setdefault(line.status, [])
        if filters.match(line):
            column.append(line)
    return [
        Column(status, status in finished, lines[: shown.limit(status)], len(lines), shown.limit(status))
        for status, lines in found.items()
        if not filters.statuses or status in filters.statuses
    ]


def lay_out_tree(
    tasks: Snapshot, finished: Collection[str], filters: Filters, shown: Shown
) -> tuple[list[TreeNode], int, int]:
    """Return the nodes of the top level, with what is open below them, and how many are there and may be shown."""
    below = _matching(tasks, filters) if filters.are_set else tasks.below
    is_small = len(tasks.lines) <= _SMALL
    is_search = filters.are_set and sum(map(len, below.values())) <= _MOST_FOUND

    def is_open(line: Line) -> bool:
        if line.id in shown.open or line.id in shown.shut:
            return line.id in shown.open
        return is_search or (is_small and line.depth < _OPEN_LEVELS)

    begun = _begun(tasks)

    def node(place: int, parent: str) -> TreeNode:
        line, children, every = tasks.lines[place], below.get(place, ()), tasks.below.get(place, ())
        opened = bool(children) and is_open(line)
        inner = [node(child, line.id) for child in children[: shown.limit(line.id)]] if opened else []
        done = sum(tasks.lines[child].status in finished for child in every)
        has_begun = place in begun and find_tone(line.status) == "waiting"
        return TreeNode(line, len(children), done, len(every), has_begun, opened, inner, shown.limit(line.id), parent)

    roots = below.get(-1, ())
    return [node(place, "") for place in roots[: shown.limit("")]], len(roots), shown.limit("")


def _begun(tasks: Snapshot) -> Collection[int]:
    """Return the indexes of the tasks below which one does not wait any more."""
    found: set[int] = set()
    for place in range(len(tasks.lines) - 1, -1, -1):
        if place in found or find_tone(tasks.lines[place].status) not in ("waiting", "canceled"):
            found.add(tasks.parents[place])
    return found


def _matching(tasks: Snapshot, filters: Filters) -> Mapping[int, Sequence[int]]:
    """Return what is below what, of the tasks that match and those above them."""
    kept: set[int] = set()
    for place, line in enumerate(tasks.lines):
        if filters.match(line):
            while place >= 0 and place not in kept:
                kept.add(place)
                place = tasks.parents[place]  # noqa: PLW2901 - up to the top level
    found: dict[int, list[int]] = defaultdict(list)
    for place in sorted(kept):
        found[tasks.parents[place]].append(place)
    return found
