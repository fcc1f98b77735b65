"""Carries out ``import`` and ``export``, over a document of our own or the files of another tool (MV-1 to MV-6)."""

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import EllipsisType
from typing import Any, Final, TextIO, cast, get_args

from task_core.cli.chosen_list import choose_list
from task_core.cli.commands import run_store_command
from task_core.cli.moving.plan import ForeignList, Plan, as_json, describe_plan, describe_problems, make_plan
from task_core.cli.program import Program
from task_core.cli.view.commands import refuse_memory
from task_core.cli.view.plain import carry_out, write_json
from task_core.durable import replace_file
from task_core.files import describe
from task_core.history.changes import COMMAND_LINE, made_by
from task_core.moving import Arrival, Mover
from task_core.server.app import TaskServer
from task_core.text import escape_invisible, pluralize
from task_formats.arranging import give_ids_back
from task_formats.formats import FORMATS, WRITABLE, Unreadable, load, recognise
from task_formats.record import State

__all__ = ["Watched", "run_move_command"]

_ABOUT: Final = {
    "import": "Add the tasks of another tool, after a preview; importing again adds only what is new. Without --from, "
    "read the JSON document PATH, as export writes it, into an empty store.",
    "export": "Write the tasks in the form of another tool, to a new file or folder. Without --to, write them as the "
    "JSON document of this server, to stdout if no PATH is given.",
}


def run_move_command(program: Program, words: Sequence[str]) -> int:
    """Carry out ``import`` or ``export``, and return the exit code, 1 if it fails, or raise as ``run_with_options``."""
    command, *rest = words
    parser = _parser(program.name, command, has_document=program.has_database)
    options = parser.parse_args(rest)
    name = f"{program.name} {command}"
    settings = choose_list(program, options.client).announce().settings
    if options.format in (None, "json"):
        if not program.has_database:
            parser.error(f"name the format: --{'from' if command == 'import' else 'to'} FORMAT")
        if command == "import" and (options.is_dry or options.map or options.source or options.is_json):
            parser.error("--dry-run, --map, --source and --json need the format of another tool: --from FORMAT")
        return run_store_command(program, settings, command, options.path and str(options.path))
    if options.path is None:
        parser.error(f"name the path to {command} {'from' if command == 'import' else 'to'}")
    settings = settings.located()
    refuse_memory(settings)
    work = _import if command == "import" else _export
    with program.serving(settings) as server:
        try:
            return carry_out(name, lambda: work(server, options))
        except Unreadable as error:
            sys.stderr.write(f"{name}: {escape_invisible(str(error))}\n")
            return 1


def _parser(name: str, command: str, *, has_document: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"{name} {command}", description=_ABOUT[command])
    parser.add_argument("path", nargs="?", type=Path, metavar="PATH", help="the file or folder")
    own = ("json",) if has_document else ()
    if command == "import":
        known = ("auto", *FORMATS, *own)
        parser.add_argument("--from", dest="format", choices=known, metavar="FORMAT", help=f"one of {', '.join(known)}")
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            metavar="STATUS=STATE",
            help=f"the state for a status of your own: {', '.join(get_args(State))}",
        )
        parser.add_argument(
            "--source",
            type=_source_name,
            default="",
            metavar="NAME",
            help="a name for the source, if another one has the same ids: letters, digits, '.', '_' or '-'",
        )
        parser.add_argument("--yes", action="store_true", dest="is_sure", help="do not ask")
        parser.add_argument("--dry-run", action="store_true", dest="is_dry", help="only show what would be done")
    else:
        known = (*WRITABLE, *own)
        parser.add_argument("--to", dest="format", choices=known, metavar="FORMAT", help=f"one of {', '.join(known)}")
    parser.add_argument("--client", default="", help="use the list of this client, if no setting names one")
    parser.add_argument("--json", action="store_true", dest="is_json", help="write the report as JSON")
    return parser


def _import(server: TaskServer, options: argparse.Namespace) -> int:
    mapping = dict(map(_parse_mapping, options.map))
    name, signs, files = recognise(options.path) if options.format == "auto" else (options.format, (), None)
    known = FORMATS[name]
    reading = known.read(load(name, options.path) if files is None else files)
    if unused := mapping.keys() - {task.status.casefold() for task in reading.tasks}:
        raise Unreadable(f"--map: no task there has the status {' or '.join(sorted(unused))}")
    source = ForeignList(name, known.title, reading, mapping, options.source)
    mover: Mover[Any] = cast("Any", server.find_mover)()
    is_kept = options.is_sure and not options.is_dry
    with made_by(COMMAND_LINE, f"import --from {name}") as origin:
        plan = _add(source, mover, is_kept=is_kept)
    if not options.is_json:
        lines = (escape_invisible(line) for line in describe_plan(plan, source, mover.home, signs))
        sys.stdout.writelines(f"{line}\n" for line in lines)
    if not (is_kept or options.is_dry) and plan.arrivals and _is_wanted(options, len(plan.arrivals)):
        is_kept = True
        with made_by(COMMAND_LINE, f"import --from {name}") as origin:
            plan = _add(source, mover, is_kept=True)  # what is new now: others may have changed the list meanwhile
    number = origin.change.number if is_kept and origin.change else None
    if options.is_json:
        done = {"imported": len(plan.arrivals), "change": number} if is_kept else {}
        write_json(as_json(plan, source, mover.home, signs) | done, sys.stdout)
    elif number:
        how = _say_how_to_undo(server, number)
        sys.stdout.write(f"Imported {pluralize(len(plan.arrivals), 'task')}. {how}\n")
    else:
        sys.stdout.write(f"Nothing was imported{'' if plan.arrivals else ': nothing is new'}.\n")
    return 0 if is_kept or options.is_dry or not plan.arrivals else 1


@dataclass(frozen=True)
class Watched(Iterable[Arrival]):
    """Tasks that report on a terminal how many of them are done while somebody goes through them."""

    arrivals: Sequence[Arrival]
    what: str
    """what is done to them, such as ``Importing``"""
    out: TextIO
    clock: Callable[[], float]
    """returns seconds"""

    def __iter__(self) -> Iterator[Arrival]:
        shown, last = "", self.clock()
        for done, arrival in enumerate(self.arrivals):
            now = self.clock()
            if now - last >= 0.5 and self.out.isatty():
                shown, last = f"{self.what}: {done:,} of {len(self.arrivals):,}", now
                self._write(shown)
            yield arrival
        self._write(" " * len(shown))

    def _write(self, text: str) -> None:
        self.out.write(f"{text}\r" if text else "")  # what is written next begins at the start of the line
        self.out.flush()


class _GivenUp(Exception):
    """Ends a transaction so that nothing of it stays."""


def _add(source: ForeignList, mover: Mover[Any], *, is_kept: bool) -> Plan:
    """Import the tasks, and give it all up in the end unless it ``is_kept``: what cannot be done, fails then too."""
    found: list[Plan] = []
    with suppress(_GivenUp), mover.transaction() as work:
        plan = make_plan(source, mover, work)
        watched = Watched(plan.arrivals, "Importing" if is_kept else "Checking", sys.stderr, time.monotonic)
        notes = mover.add(work, watched, plan.present)
        found.append(replace(plan, notes=[*plan.notes, *notes]))
        if not is_kept:
            raise _GivenUp
        for path, text in plan.files.items():
            _write(path, text.encode("utf-8", "replace"))
    return found[0]


def _write(path: Path, data: bytes, *, over: EllipsisType | None = ...) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data, over=over).close()
    except OSError as error:
        raise Unreadable(f"{error.filename or path} cannot be written: {describe(error)}") from error


def _is_wanted(options: argparse.Namespace, count: int) -> bool:
    if options.is_json or not sys.stdin.isatty():
        sys.stderr.write("Give --yes to import them.\n")
        return False
    sys.stdout.flush()
    sys.stderr.write(f"Import {pluralize(count, 'task')}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _say_how_to_undo(server: TaskServer, number: int) -> str:
    history: Any = server.find_history
    kept = history().changes(before=number + 1, limit=1)  # others may have made later ones
    if not (kept and kept[0].number == number):
        return "No history is kept, so undo cannot take this back."
    if not kept[0].is_whole:
        return "They are too large for undo to take back: remove the ones that you do not want."
    return f"To take that back: undo {number}"


def _export(server: TaskServer, options: argparse.Namespace) -> int:
    if os.path.lexists(options.path):
        raise Unreadable(f"{options.path} already exists: move it away, or name another one")
    mover: Mover[Any] = cast("Any", server.find_mover)()
    # A word that says no more than the state is left to the format.
    found = [replace(it, status="") if it.status == mover.home.status(it.state) else it for it in mover.tasks()]
    tasks = give_ids_back(found, options.format)
    writing = FORMATS[options.format].write(tasks)
    for file in writing.files:
        _write(options.path / file.name if file.name else options.path, file.data, over=None)
    if options.is_json:
        problems = [{"place": it.place, "text": it.text} for it in writing.problems]
        write_json({"exported": len(tasks), "format": options.format, "problems": problems}, sys.stdout)
        return 0
    lines = describe_problems(f"What {FORMATS[options.format].title} has no place for", writing.problems)
    sys.stdout.writelines(f"{escape_invisible(line)}\n" for line in lines)
    sys.stdout.write(f"Exported {pluralize(len(tasks), 'task')} to {options.path}.\n")
    return 0


def _source_name(text: str) -> str:
    if not re.fullmatch(r"[\w.-]{0,40}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"expected up to 40 letters, digits, '.', '_' or '-', not '{text}'")
    return text


def _parse_mapping(word: str) -> tuple[str, State]:
    status, mark, state = word.rpartition("=")
    if not mark or state not in get_args(State):
        raise Unreadable(f"--map {word}: give STATUS=STATE with one of {', '.join(get_args(State))}")
    return status.casefold(), cast("State", state)
