"""Tasks for a person at a terminal: as a table or a tree in the terminal's width, or one with all its fields.

No text of a task is given to ``rich`` as markup, and whatever could move the cursor or turn text around is escaped.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from pydantic import JsonValue
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from task_core.text import escape_invisible, pluralize, shorten
from task_core.view import Line

__all__ = ["STATUS_STYLES", "TaskTable", "keep_open", "new_console", "render_fields"]

_GREY: Final = "color(243)"

STATUS_STYLES: Final = {
    **dict.fromkeys(("running", "in_progress"), "bold color(32)"),  # blue
    **dict.fromkeys(("complete", "done"), "color(28)"),  # green
    **dict.fromkeys(("fail", "blocked"), "color(160)"),  # red
    "review": "color(133)",  # magenta
    **dict.fromkeys(("canceled", "cancelled", "deferred"), _GREY),
}
"""Styles of each status, readable on black and on white; any other status looks like text."""

_GAP: Final = "  "
"""Between two columns."""


def new_console(out: TextIO) -> Console:
    """Return a console on the terminal ``out``, in colour unless ``NO_COLOR`` or ``TERM`` says otherwise."""
    return Console(file=out, force_terminal=True, highlight=False, markup=False, emoji=False)


@dataclass(frozen=True)
class TaskTable:
    """The tasks as rows of a table, with the branches of the tree unless ``is_filtered``: then parents may be missing.

    With ``finished`` it fits the screen below a line: tasks with such a status are left out first. With ``changed``
    there is a mark at the tasks with these ids.
    """

    lines: Sequence[Line]
    is_filtered: bool = False
    finished: Collection[str] | None = None
    changed: Collection[str] | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Yield the table, whose rows are one line each, and a line with the numbers."""
        # Four lines of a screen show no task: the time, the head, the end of the table, and the one with the cursor.
        height = None if self.finished is None else max(options.size.height - 4, 1)
        lines = self.lines
        if height is not None and len(lines) > height:
            lines = keep_open(lines, self.finished or ())
        branches = [""] * len(lines) if self.is_filtered else [*_draw_branches(lines)]
        lines = lines[:height]
        width, room = options.max_width, max(options.max_width // 3, 1)
        cells = [[_on_one_line(it) for it in (line.id, line.status, line.note)] for line in lines]
        cells.insert(0, ["Id", "Status", "Note" if any(line.note for line in lines) else ""])
        if self.changed is not None:
            marks = ["  ", *("* " if line.id in self.changed else "  " for line in lines)]
            cells = [[mark + name, *others] for mark, (name, *others) in zip(marks, cells, strict=True)]
        ids, statuses, notes = (
            min(max(map(cell_len, column)), width // share)
            for column, share in zip(zip(*cells, strict=True), (2, 4, 6), strict=True)
        )
        texts = ["Task"]
        for line, branch in zip(lines, branches, strict=False):
            shown = branch if len(branch) <= room else "…" + branch[-room:]  # the deepest tasks have a text too
            texts.append(shown + _on_one_line(shorten(line.text, width + 1)))
        left = max(width - ids - statuses - 2 * len(_GAP) - (notes and notes + len(_GAP)), 1)
        most = min(left, max(map(cell_len, texts)))
        for number, ((name, status, note), text) in enumerate(zip(cells, texts, strict=True) if lines else ()):
            style = Style(bold=True) if number == 0 else Style()
            yield Segment(_fit(name, ids) + _GAP, style)
            yield Segment(_fit(status, statuses), style + Style.parse(_status_style(status)))
            rest = f"{_GAP}{_fit(text, most)}{_GAP}{_fit(note, notes)}"
            yield Segment(rest.rstrip() + "\n", style)
        counts = Counter(_on_one_line(line.status) for line in self.lines)
        counted = ", ".join(f"{count:,} {status}" for status, count in counts.items())
        more = f"; {len(self.lines) - len(lines):,} of them not shown" if len(self.lines) > len(lines) else ""
        summary = f"{pluralize(len(self.lines), 'task')}{': ' if counted else ''}{counted}{more}"
        yield Segment(_fit(summary, width).rstrip() + "\n", Style.parse(_GREY))


def _fit(text: str, width: int) -> str:
    """Return ``text`` in ``width`` cells: cut, or filled with blanks."""
    if cell_len(text) > width:
        text = set_cell_size(text, max(width - 1, 0)) + "…"
    return set_cell_size(text, width)


def _status_style(status: str) -> str:
    """Return how a status is shown, however a server writes it."""
    return STATUS_STYLES.get(status.casefold().replace("-", "_"), "")


def _on_one_line(text: str) -> str:
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


def render_fields(task: Mapping[str, JsonValue]) -> Table:
    """Return the fields of a task that have a value, each with its name; Markdown and markup are shown as they are."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for name, value in task.items():
        if value not in (None, "", [], {}):
            style = _status_style(str(value)) if name == "status" else ""
            grid.add_row(Text(_on_one_line(name)), Text("\n".join(_describe(value)), style))
    return grid


def _describe(value: JsonValue) -> Iterator[str]:
    """Yield the lines that show a value: those of a text, those of the items of a list, or JSON."""
    if isinstance(value, str):
        yield from (escape_invisible(line.expandtabs(4)) for line in value.splitlines())
    elif isinstance(value, list):
        for item in value:
            first, *rest = [*(_describe_subtask(item) if isinstance(item, dict) else _describe(item))] or [""]
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
    else:
        yield escape_invisible(json.dumps(value, ensure_ascii=False))


def _describe_subtask(task: dict[str, JsonValue]) -> Iterator[str]:
    """Yield a line for a task within another, and those within it; anything else is JSON."""
    text = next((task[name] for name in ("title", "name") if name in task), None)
    if not (isinstance(text, str) and "id" in task):
        yield escape_invisible(json.dumps(task, ensure_ascii=False))
        return
    status = f" ({task['status']})" if "status" in task else ""
    yield _on_one_line(f"{task['id']}{status}: {text}")
    for name in ("tasks", "subtasks"):
        below = task.get(name)
        if isinstance(below, list):
            yield from _describe(below)
