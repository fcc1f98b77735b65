"""Tasks for a person at a terminal: as a table or a tree in the terminal's width.

No text of a task is given to ``rich`` as markup, and whatever could move the cursor or turn text around is escaped.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style

from task_core.text import escape_invisible, pluralize, shorten
from task_core.view import Line

__all__ = ["STATUS_STYLES", "TaskTable", "keep_open", "new_console", "on_one_line", "status_style"]

_GREY: Final = "color(243)"

STATUS_STYLES: Final = {
    **dict.fromkeys(("running", "in_progress"), "bold color(32)"),  # blue
    **dict.fromkeys(("complete", "done"), "color(28)"),  # green
    **dict.fromkeys(("fail", "blocked"), "color(160)"),  # red
    "review": "color(133)",  # magenta
    **dict.fromkeys(("canceled", "cancelled", "deferred"), _GREY),
}
"""Styles of each status, readable on black and on white; any other status looks like text."""


class _Row(NamedTuple):
    """The columns of a task, on one line and safe."""

    id: str
    status: str
    text: str
    note: str
    branch: str = ""


_HEAD: Final = _Row("Id", "Status", "Task", "Note")

_GAP: Final = "  "
"""Between two columns."""

_MIN_TEXT: Final = 12
"""Cells for the text of a task, however narrow the terminal is."""

_AROUND: Final = 3
"""Lines of a screen that show no task: the head, the end of the table, and the one with the cursor."""


_CUT: Final = "…"
"""The end of a text that was cut."""


def new_console(out: TextIO) -> Console:
    """Return a console on the terminal ``out``, in colour unless ``NO_COLOR`` or ``TERM`` says otherwise."""
    return Console(file=out, force_terminal=True, highlight=False, markup=False, emoji=False)


@dataclass(frozen=True)
class TaskTable:
    """The tasks as rows of a table, with the branches of the tree unless ``is_filtered``: then parents may be missing.

    With ``finished`` it fits the screen: tasks with such a status are left out first.
    """

    lines: Sequence[Line]
    is_filtered: bool = False
    finished: Collection[str] | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Yield the rows: each is one line, cut to the width."""
        height = None if self.finished is None else max(options.size.height - _AROUND, 1)
        lines = self.lines
        if height is not None and len(lines) > height:
            lines = keep_open(lines, self.finished or ())
        branches = [""] * len(lines) if self.is_filtered else [*_draw_branches(lines)]
        longest = options.max_width + 1  # no text needs to be read further
        rows = [
            _Row(*map(on_one_line, (it.id, it.status, shorten(it.text, longest), it.note)), branch=branch)
            for it, branch in zip(lines[:height], branches[:height], strict=True)
        ]
        widths = _fit_columns(rows, options.max_width)
        if rows:
            head = _row(_HEAD if widths.note else _HEAD._replace(note=""), widths)
            yield Segment("".join(segment.text for segment in head), Style(bold=True))
        for row in rows:
            yield from _row(row, widths)
        yield Segment(set_cell_size(self._summary(len(rows)), options.max_width).rstrip() + "\n", Style.parse(_GREY))

    def _summary(self, shown: int) -> str:
        counts = Counter(on_one_line(line.status) for line in self.lines)
        statuses = ", ".join(f"{count:,} {status}" for status, count in counts.items())
        more = f"; {len(self.lines) - shown:,} of them not shown" if len(self.lines) > shown else ""
        return f"{pluralize(len(self.lines), 'task')}{': ' if statuses else ''}{statuses}{more}"


class _Widths(NamedTuple):
    """The cells of each column."""

    id: int
    status: int
    text: int
    note: int


def _fit_columns(rows: Sequence[_Row], width: int) -> _Widths:
    head = _HEAD if any(row.note for row in rows) else _HEAD._replace(note="")
    ids, statuses, texts, notes = (
        max(cell_len(row[place]) + (len(row.branch) if place == 2 else 0) for row in (head, *rows))
        for place in range(4)
    )
    ids, statuses = min(ids, max(width // 2, 1)), min(statuses, max(width // 4, 1))
    rest = width - ids - statuses - 2 * len(_GAP)
    notes = min(notes, width // 4) if rest - width // 4 >= _MIN_TEXT else 0
    return _Widths(ids, statuses, max(min(texts, rest - (notes + len(_GAP) if notes else 0)), 1), notes)


def _row(row: _Row, widths: _Widths) -> Iterator[Segment]:
    branch = row.branch
    room = max(widths.text - min(cell_len(row.text), _MIN_TEXT), widths.text // 2)
    if len(branch) > room:  # else the deepest tasks would be branches without a text
        branch = _CUT + branch[len(branch) - max(room - 1, 0) :]
    text = branch + _cut(row.text, widths.text - len(branch))
    yield Segment(set_cell_size(_cut(row.id, widths.id), widths.id) + _GAP)
    status = set_cell_size(_cut(row.status, widths.status), widths.status)
    yield Segment(status, Style.parse(status_style(row.status)))
    if not (row.note and widths.note):
        yield Segment(f"{_GAP}{text}\n")
        return
    yield Segment(_GAP + set_cell_size(text, widths.text) + _GAP)
    yield Segment(_cut(row.note, widths.note) + "\n", Style(italic=True))


def status_style(status: str) -> str:
    """Return how a status is shown, however a server writes it."""
    return STATUS_STYLES.get(status.casefold().replace("-", "_"), "")


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + _CUT if width else ""


def on_one_line(text: str) -> str:
    """Return text on one line, its invisible characters escaped."""
    return escape_invisible(" ".join(text.split()))


def _draw_branches(lines: Sequence[Line]) -> Iterator[str]:
    """Yield for each task, which may be below others, the branches that lead to it."""
    has_next: list[bool] = []
    """by depth, whether a later task is there, seen from the end of the tree"""
    found: list[str] = []
    for line in reversed(lines):
        has_next = [*has_next, *[False] * (line.depth - len(has_next))][: line.depth + 1]
        through = ["│  " if is_next else "   " for is_next in has_next[1 : line.depth]]
        own = ["├─ " if has_next[line.depth :] == [True] else "└─ "] if line.depth else []
        found.append("".join([*through, *own]))
        has_next = [*has_next[: line.depth], True]
    yield from reversed(found)


def keep_open(lines: Sequence[Line], finished: Collection[str]) -> list[Line]:
    """Return the tasks that are not ``finished``, and those that they are below."""
    kept: list[Line] = []
    depth = 0
    for line in reversed(lines):
        if line.status not in finished or line.depth < depth:
            kept.append(line)
            depth = line.depth
    return kept[::-1]
