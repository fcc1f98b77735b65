"""The commands ``history`` and ``undo``: what changed, by whom, and how to put it back (AG-6)."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from task_core.cli.chosen_list import choose_list
from task_core.cli.program import Program
from task_core.cli.view.plain import carry_out, write_json
from task_core.history.changes import COMMAND_LINE, Change, Step, made_by
from task_core.models import from_microseconds
from task_core.server.task_history import render_change
from task_core.store.undo import History, find_change
from task_core.text import escape_invisible, shorten

__all__ = ["run_history_command"]

_MAX_SHOWN: Final = 60
"""Characters of a value."""

_NO_CHANGES: Final = "No changes are known; with TASK_HISTORY_DAYS=0 none are kept.\n"

_HIDDEN: Final = frozenset({"id", "created_at", "updated_at"})
"""Fields that tell a person nothing about a change."""


def run_history_command(program: Program, words: Sequence[str]) -> int:
    """Carry out ``history [ID]`` or ``undo [CHANGE]``, and return the exit code of the process.

    It raises ``BadSettings``, and ``SystemExit`` for a bad option and after ``--help``.
    """
    command, *rest = words
    options = _parser(program.name, command).parse_args(rest)
    settings, origin, _ = choose_list(program, options.client)
    if origin:
        sys.stderr.write(f"{origin}.\n")
    server = program.build(settings.located())

    def work() -> int:
        assert server.find_history  # noqa: S101 - for the type checker: only a server with a history has the commands
        history = server.find_history()
        return _show(history, options) if command == "history" else _undo(history, options)

    try:
        return carry_out(f"{program.name} {command}", work)
    finally:
        server.close()
        server.end()


def _parser(name: str, command: str) -> argparse.ArgumentParser:
    about = {"history": "Show what was changed, the newest change first.", "undo": "Put back what a change replaced."}
    parser = argparse.ArgumentParser(prog=f"{name} {command}", description=about[command])
    if command == "history":
        parser.add_argument("id", nargs="?", default="", metavar="ID", help="show only the changes of this task")
        parser.add_argument("--limit", type=int, default=20, help="changes to show (default: %(default)s)")
    else:
        parser.add_argument("change", nargs="?", type=int, metavar="CHANGE", help="its number; default: the last one")
        parser.add_argument("--yes", action="store_true", dest="is_sure", help="do not ask")
    which = "use the list of this client, if no setting names one; doctor shows those that have the server"
    parser.add_argument("--client", default="", help=which)
    parser.add_argument("--json", action="store_true", dest="is_json", help="write JSON")
    return parser


def _show(history: History, options: argparse.Namespace) -> int:
    changes = history.changes(options.id, limit=max(options.limit, 1))
    if options.is_json:
        write_json({"changes": [render_change(change) for change in changes]}, sys.stdout)
    else:
        sys.stdout.writelines(line for change in changes for line in _lines(change))
    if not changes:
        sys.stderr.write(_NO_CHANGES)
    return 0


def _undo(history: History, options: argparse.Namespace) -> int:
    number = options.change
    if number is None:
        last = history.changes()
        if not last:
            sys.stderr.write(_NO_CHANGES)
            return 1
        number = last[0].number
    if not options.is_json:
        sys.stdout.writelines(_lines(find_change(history, number)))
    if not options.is_sure:
        if not sys.stdin.isatty():
            sys.stderr.write("Nothing was undone: give --yes to undo it.\n")
            return 1
        sys.stderr.write("Undo this change? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            sys.stderr.write("Nothing was undone.\n")
            return 1
    with made_by(COMMAND_LINE, "undo") as origin:
        ids = history.undo(number)
    made = origin.change.number if origin.change else 0
    if options.is_json:
        write_json({"undone": number, "change": made, "tasks": [*ids]}, sys.stdout)
    else:
        sys.stdout.write(f"Undone. To take that back: undo {made}\n" if made else "Undone.\n")
    return 0


def _lines(change: Change) -> Iterator[str]:
    moment = f"{from_microseconds(change.at).astimezone():%Y-%m-%d %H:%M:%S}"
    what = " ".join(filter(None, (change.by, change.tool))) or "unknown"
    yield f"{change.number}  {moment}  {_safe(what)}\n"
    for step in change.steps:
        yield f"    {step.what} {_safe(step.id)}{_describe(step)}\n"
    if change.more:
        yield f"    … and {change.more} more\n"
    if not change.steps:
        yield "    changed while no server was running: what was there before is not known\n"


def _describe(step: Step) -> str:
    if step.what in {"created", "removed"}:
        values, hidden = step.after or step.before, {*_HIDDEN, "status"}
        text = next((value for name, value in values.items() if name not in hidden and isinstance(value, str)), "")
        return f": {_safe(text)}" if text else ""
    names = [name for name in dict.fromkeys([*step.before, *step.after]) if name not in _HIDDEN]
    return "".join(
        f"\n        {_safe(name)}: {_value(step.before, name)} -> {_value(step.after, name)}" for name in names
    )


def _value(values: dict[str, JsonValue], name: str) -> str:
    return _safe(to_json(values[name]).decode()) if name in values else "nothing"


def _safe(text: str) -> str:
    return shorten(escape_invisible(text[: 4 * _MAX_SHOWN]), _MAX_SHOWN)
