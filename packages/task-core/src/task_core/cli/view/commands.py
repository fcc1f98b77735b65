"""Carries out ``list``, ``show``, ``next`` and ``watch``, which change nothing."""

import argparse
import gc
import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

from task_core.bootstrap import BadSettings
from task_core.cli.chosen_list import choose_list
from task_core.cli.program import Program
from task_core.cli.settings import ServerSettings
from task_core.cli.view.plain import carry_out, describe_error, format_line, write_json
from task_core.errors import TaskError
from task_core.models import Clock, utc_now
from task_core.store import Engine, StoreSettings
from task_core.text import escape_invisible
from task_core.view import Line, View

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["look_repeatedly", "refuse_memory", "run_view_command", "show_task", "watch_in_place", "write_changes"]

_ABOUT: Final = {
    "list": "Show the tasks. In a pipe, write the id, status, text, note and depth of each, separated by tabs.",
    "show": "Show all fields of one task. In a pipe, write the name and value of each, separated by a tab.",
    "next": "Show the task to work on next by the rules of the server, in the same form as show.",
    "watch": "Show the tasks, and redraw them whenever they change, until Ctrl+C. In a pipe, write a line for each "
    "task that is new, changed or gone.",
}


_PAUSE: Final = 1.0
"""Seconds between two looks."""

_LONG_PAUSE: Final = 5.0
"""Seconds between two looks at tasks that must be listed again to see whether they have changed."""

_Look = list[Line] | str
"""The tasks, or why they cannot be read at present."""


def run_view_command(program: Program, words: Sequence[str]) -> int:
    """Carry out a command that shows tasks and return the exit code, 1 for a failure; raise as ``run_with_options``."""
    command, *rest = words
    options = _parser(program, command).parse_args(rest)
    chosen = choose_list(program, options.client)
    with closing(cast("Any", program.view)(chosen.settings)) as view:
        chosen.announce()
        showing = _Showing(view, chosen.settings, options)
        return carry_out(f"{program.name} {command}", getattr(showing, f"run_{command}"))


def _parser(program: Program, command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"{program.name} {command}", description=_ABOUT[command])
    if command in {"list", "watch"}:
        parser.add_argument("statuses", nargs="*", metavar="STATUS", help="show only tasks with this status")
    if command == "list":
        words = "show only tasks with each of these words in the id, text, description, topic or tags"
        parser.add_argument("--search", metavar="WORDS", help=words)
        parser.add_argument("--all", action="store_true", dest="is_all", help="show archived tasks too")
    if command == "show":
        parser.add_argument("id", metavar="ID", help="the id of the task")
    which = "use the list of this client; doctor shows those that have the server"
    if program.codec:
        parser.add_argument("--client", default="", metavar="CLIENT", help=which)
    parser.set_defaults(client="", search="")
    form = "one JSON object for each change" if command == "watch" else "one JSON document"
    parser.add_argument("--json", action="store_true", dest="is_json", help=f"write {form}")
    return parser


@dataclass(frozen=True)
class _Showing:
    """Shows tasks on stdout: drawn at a terminal, as lines in a pipe, or as JSON."""

    view: View
    settings: ServerSettings
    options: argparse.Namespace

    def run_list(self) -> None:
        """Show the tasks."""
        statuses, search = self.options.statuses, self.options.search
        lines = self.view.lines(statuses)
        archived = getattr(self.view, "archived", None)
        if self.options.is_all and archived:
            lines = chain(lines, archived(statuses))
        lines = (line for line in lines if line.has_words(search))
        found = False
        if self.options.is_json:
            tasks = [line.fields() for line in lines]
            found = bool(tasks)
            write_json({"tasks": tasks}, sys.stdout)
        elif sys.stdout.isatty():
            from task_core.cli.view.terminal import TaskTable  # noqa: PLC0415 - only a person needs it

            shown = [*lines]
            if found := bool(shown):
                _print(TaskTable(shown, is_filtered=bool(statuses or search)))
        else:
            for line in lines:  # each as soon as it is read: there may be a million
                sys.stdout.write(format_line(*line.fields().values()))
                found = True
        if not found:
            sys.stderr.write(f"{self._explain_nothing()}\n")

    def run_show(self) -> None:
        """Show one task."""
        show_task(self.view, self.options.id, is_json=self.options.is_json)

    def run_next(self) -> None:
        """Show the task to work on next."""
        task_id = self.view.next()
        if task_id is not None:
            show_task(self.view, task_id, is_json=self.options.is_json)
            return
        if self.options.is_json:
            write_json(None, sys.stdout)
        sys.stderr.write("There is no task to work on now.\n")

    def run_watch(self) -> None:
        """Show the tasks and every change to them."""
        if isinstance(self.settings, StoreSettings) and self.settings.address.engine is Engine.MEMORY:
            sys.stderr.write(f"{self._explain_nothing()}\n")
            return
        gc.enable()  # this may take days
        is_json = self.options.is_json
        with suppress(KeyboardInterrupt):  # the usual end
            if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not is_json:
                watch_in_place(self.view, self.options.statuses, sys.stdout, time.sleep, utc_now)
            else:
                looks = look_repeatedly(self.view, self.options.statuses, time.sleep)
                write_changes(looks, sys.stdout, sys.stderr, is_json=is_json)

    def _explain_nothing(self) -> str:
        if isinstance(self.settings, StoreSettings):
            engine, path, _ = self.settings.address
            if engine is Engine.MEMORY:
                return _explain_memory(self.settings)
            if path and not path.exists():
                shown = escape_invisible(str(path))
                return f"There are no tasks: {shown} does not exist yet; the server's first call makes it."
        if self.options.search:
            return "No task has all these words."
        if self.options.statuses:
            return f"No task is {' or '.join(map(escape_invisible, self.options.statuses))}."
        return "There are no tasks."


def refuse_memory(settings: ServerSettings) -> None:
    """Raise ``BadSettings`` if the server keeps its tasks in memory, so that a command has none."""
    with suppress(TaskError):  # without a project, the server raises this and explains it
        if isinstance(settings, StoreSettings) and settings.address.engine is Engine.MEMORY:
            raise BadSettings(_explain_memory(settings))


def _explain_memory(settings: StoreSettings) -> str:
    variable = settings.store_variable.upper()
    return (
        f"No list was found: without {variable}, a server keeps its tasks in memory, and only for as long as it runs. "
        f"Run the command 'install' to add the server to your clients, or set {variable} to the path of a list."
    )


def show_task(view: View, task_id: str, *, is_json: bool) -> None:
    """Write a task to stdout, drawn at a terminal; ``TaskNotFound`` is raised if there is none with this id."""
    task = view.task(task_id)
    if is_json:
        write_json(task, sys.stdout)
    elif sys.stdout.isatty():
        from task_core.cli.view.terminal import render_fields  # noqa: PLC0415 - only a person needs it

        _print(render_fields(task))
    else:
        for name, value in task.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            sys.stdout.write(format_line(name, text))


def _print(shown: "RenderableType") -> None:
    from task_core.cli.view.terminal import new_console  # noqa: PLC0415 - only a person at a terminal needs it

    new_console(sys.stdout).print(shown, crop=False)  # it has the width already


def look_repeatedly(view: View, statuses: Collection[str], pause: Callable[[float], object]) -> Iterator[_Look]:
    """Yield the tasks with ``statuses``, and again whenever they have changed; ``pause`` waits for some seconds.

    It raises a ``TaskError`` if they cannot be read at first.
    """
    last: _Look | None = None
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


def write_changes(looks: Iterable[_Look], out: TextIO, err: TextIO, *, is_json: bool = False) -> None:
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
    from rich.console import Group, RenderableType  # noqa: PLC0415 - rich loads slowly, and a pipe does without it
    from rich.live import Live  # noqa: PLC0415 - rich loads slowly
    from rich.text import Text  # noqa: PLC0415 - rich loads slowly

    from task_core.cli.view.terminal import (  # noqa: PLC0415 - it imports rich, which loads slowly
        TaskTable,
        new_console,
    )

    console = new_console(out)
    shown: RenderableType = ""
    known: dict[str, Line] | None = None
    changed, described = frozenset[str](), ""

    def wait(seconds: float) -> None:
        head = Text(f"{format_time()}{described}", no_wrap=True, overflow="ellipsis")
        live.update(Group(head, shown), refresh=True)
        pause(seconds)

    def format_time() -> str:
        return f"{clock().astimezone():%H:%M:%S}"

    logging.disable()  # a warning would be written over the tasks
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        for look in look_repeatedly(view, statuses, wait):
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
