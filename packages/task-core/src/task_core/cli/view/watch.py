"""Shows the tasks and every change to them, for as long as somebody watches."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, TextIO

from task_core.cli.view.plain import describe_error, format_line, write_json
from task_core.errors import TaskError
from task_core.models import Clock
from task_core.text import escape_invisible
from task_core.view import Line, View

__all__ = ["Look", "look_repeatedly", "watch_in_place", "write_changes"]

_PAUSE: Final = 1.0
"""Seconds between two looks."""

_LONG_PAUSE: Final = 5.0
"""Seconds between two looks at tasks that must be listed again to see whether they have changed."""

Look = list[Line] | str
"""The tasks, or why they cannot be read at present."""


def look_repeatedly(view: View, statuses: Collection[str], pause: Callable[[float], object]) -> Iterator[Look]:
    """Yield the tasks with ``statuses``, and again whenever they have changed; ``pause`` waits for some seconds.

    It raises a ``TaskError`` if they cannot be read at first.
    """
    last: Look | None = None
    revision: object = None
    while True:
        look = last
        try:
            now = view.revision()
            if not isinstance(last, list) or now is None or now != revision:
                look = [*view.lines(statuses)]
            revision = now
        except TaskError as error:
            if last is None:
                raise
            look = describe_error(error)
        if look is not None and look != last:
            yield look
        last = look
        pause(_PAUSE if revision is not None else _LONG_PAUSE)


def write_changes(looks: Iterable[Look], out: TextIO, err: TextIO, *, is_json: bool = False) -> None:
    """Write a line for each task that is new, changed or gone: that word, then its parts, or JSON."""
    known: dict[str, Line] | None = None
    for look in looks:
        if isinstance(look, str):
            err.write(f"{escape_invisible(look)}\n")
            continue
        found = {line.id: line for line in look}
        for change, line in _compare(found if known is None else known, found):
            if is_json:
                write_json({"change": change, **line.fields()}, out)
            else:
                out.write(format_line(change, *line.fields().values()))
        out.flush()
        known = found


def _compare(known: Mapping[str, Line], found: Mapping[str, Line]) -> Iterator[tuple[str, Line]]:
    for name, line in found.items():
        if name not in known or line.fields() != known[name].fields():
            yield "changed" if name in known else "new", line
    yield from (("gone", line) for name, line in known.items() if name not in found)


def watch_in_place(
    view: View, statuses: Collection[str], out: TextIO, pause: Callable[[float], object], clock: Clock
) -> None:
    """Draw the time and the tasks at each pause, at the same place; it raises as the above.

    The tasks that changed last are marked, and counted beside the time at which the change was seen.
    """
    from rich.console import Group, RenderableType  # noqa: PLC0415 - only a person at a terminal needs what takes time
    from rich.live import Live  # noqa: PLC0415 - as above
    from rich.segment import Segments  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    from task_core.cli.view.terminal import TaskTable, new_console  # noqa: PLC0415 - as above

    console = new_console(out)
    size = console.size
    shown: RenderableType = ""
    drawn: Segments | None = None
    known: dict[str, Line] | None = None
    changed, described = frozenset[str](), ""

    def wait(seconds: float) -> None:
        nonlocal drawn, size
        if drawn is None or console.size != size:
            size = console.size
            drawn = Segments(console.render(shown))
        head = Text(f"{format_time()}{described}", no_wrap=True, overflow="ellipsis")
        live.update(Group(head, drawn), refresh=True)
        pause(seconds)

    def format_time() -> str:
        return f"{clock().astimezone():%H:%M:%S}"

    logging.disable()  # a warning would be written over the tasks
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        for look in look_repeatedly(view, statuses, wait):
            drawn = None
            if isinstance(look, str):
                shown = Text(escape_invisible(look))
                continue
            found = {line.id: line for line in look}
            if changes := [*_compare(found if known is None else known, found)]:
                counts = Counter(change for change, _ in changes)
                changed = frozenset(line.id for _, line in changes)
                words = ", ".join(f"{count:,} {change}" for change, count in counts.items())
                described = f"  {words} at {format_time()}"
            known = found
            shown = TaskTable(look, bool(statuses), view.finished, changed)
