"""Layouts of the tasks: columns by status, or a tree, with the parts that are shown."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from task_board.stores import Snapshot
from task_core.view import Line

__all__ = ["PAGE", "Column", "Filters", "Shown", "TreeNode", "find_tone", "lay_out_columns", "lay_out_tree"]

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
    note: str = ""

    @property
    def are_set(self) -> bool:
        """True if some tasks may be left out."""
        return bool(self.query or self.statuses or self.note)

    def match(self, line: Line) -> bool:
        """Return whether a task is shown."""
        if self.statuses and line.status not in self.statuses:
            return False
        if self.note and line.note != self.note:
            return False
        text = f"{line.id}\n{line.text}".casefold()
        return all(word in text for word in self.query.casefold().split())


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
    is_open: bool
    below: "Sequence[TreeNode]"
    """the subtasks that are shown, if it is open"""
    limit: int
    parent: str
    """the id of the task above it"""


def find_tone(status: str) -> str:
    """Return the tone of a status, however a server writes it."""
    return _TONES.get(status.casefold().replace("-", "_"), "waiting")


def lay_out_columns(
    tasks: Snapshot, statuses: Sequence[str], finished: Collection[str], filters: Filters, shown: Shown
) -> list[Column]:
    """Return a column for each status, in the order of work; only those that are asked for."""
    found: dict[str, list[Line]] = {status: [] for status in statuses}
    for line in tasks.lines:
        column = found.setdefault(line.status, [])
        if filters.match(line):
            column.append(line)
    return [
        Column(status, status in finished, lines[: shown.limit(status)], len(lines), shown.limit(status))
        for status, lines in found.items()
        if not filters.statuses or status in filters.statuses
    ]


def lay_out_tree(tasks: Snapshot, filters: Filters, shown: Shown) -> tuple[list[TreeNode], int, int]:
    """Return the nodes of the top level, with what is open below them, and how many are there and may be shown."""
    below = _matching(tasks, filters) if filters.are_set else tasks.below
    is_small = len(tasks.lines) <= _SMALL
    is_search = filters.are_set and sum(map(len, below.values())) <= _MOST_FOUND

    def is_open(line: Line) -> bool:
        if line.id in shown.open or line.id in shown.shut:
            return line.id in shown.open
        return is_search or (is_small and line.depth < _OPEN_LEVELS)

    return _nodes(tasks, below, -1, shown, is_open), len(below.get(-1, ())), shown.limit("")


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


def _nodes(
    tasks: Snapshot, below: Mapping[int, Sequence[int]], place: int, shown: Shown, is_open: Callable[[Line], bool]
) -> list[TreeNode]:
    parent = tasks.lines[place].id if place >= 0 else ""
    nodes: list[TreeNode] = []
    for child in below.get(place, ())[: shown.limit(parent)]:
        line, count = tasks.lines[child], len(below.get(child, ()))
        opened = count > 0 and is_open(line)
        inner = _nodes(tasks, below, child, shown, is_open) if opened else ()
        nodes.append(TreeNode(line, count, opened, inner, shown.limit(line.id), parent))
    return nodes
