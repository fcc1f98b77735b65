"""The commands ``brief``, ``history`` and ``undo``: what a session must know, also as a client's hook takes it.

The brief is that of AG-8, the hooks those of AG-10, and changes are shown and put back as AG-6 says.
"""

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, redirect_stderr, suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final, cast

from platformdirs import user_state_path
from pydantic import JsonValue
from pydantic_core import to_json

from task_core.cli.chosen_list import choose_list, describe_place, find_lists
from task_core.cli.program import Program
from task_core.cli.view.plain import carry_out, describe_error, tolerate_characters, write_json
from task_core.durable import replace_file
from task_core.errors import TaskError
from task_core.history.changes import COMMAND_LINE, Change, Step, made_by
from task_core.models import from_microseconds, microseconds, utc_now
from task_core.server.brief import MAX_BYTES, MIN_BYTES, write_brief
from task_core.server.overview import render_change
from task_core.store.undo import History, find_change
from task_core.text import escape_invisible, shorten
from task_core.view import Briefed

__all__ = ["read_input", "recall", "remember", "run_brief_command", "run_history_command"]

_MAX_SESSIONS: Final = 200
_FAILURES: Final = (AttributeError, OSError, ValueError, TypeError, OverflowError, RecursionError)
"""The errors of a missing stdin, of files, and of unexpected data: none may keep a session from starting."""

_MAX_SHOWN: Final = 60
"""Characters of a value."""

_NO_CHANGES: Final = "No changes are known; with TASK_HISTORY_DAYS=0 none are kept.\n"

_HIDDEN: Final = frozenset({"id", "created_at", "updated_at"})
"""Fields that tell a person nothing about a change."""


def _nested(text: str) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}})


_FORMS: Final[dict[str, Callable[[str], str]]] = {
    "claude-code": str,
    "codex": str,
    "copilot-cli": lambda text: json.dumps({"additionalContext": text}),
    "cursor": lambda text: json.dumps({"additional_context": text}),
    "gemini-cli": _nested,
    "qwen-code": str,
    "vscode": _nested,
}
"""The form in which each client puts the output of a hook into the context of its model."""


def run_brief_command(program: Program, words: Sequence[str]) -> int:
    """Print the brief, and return the exit code: of a hook always 0, because a broken list must not break a session.

    It raises ``BadSettings``, and ``SystemExit`` for a bad option and after ``--help``.
    """
    if not any(word.startswith("--hook") for word in words):
        return _print(program, words)
    with redirect_stderr(io.StringIO()):
        try:
            _print(program, words)
        except BaseException:  # noqa: BLE001 - a bad option or setting too: whatever it is, the session must start
            return 0
    return 0


def _print(program: Program, words: Sequence[str]) -> int:
    options = _brief_parser(program.name).parse_args(words[1:])
    tolerate_characters(sys.stdout)
    if options.hook and not options.client:  # the list of its own client, if that has the server
        found = find_lists(program)
        settings = next((it for it in found if options.hook in it.clients), found[0]).settings
    else:
        settings = choose_list(program, options.client).announce().settings
    with closing(cast("Any", program.view)(settings)) as view:
        try:
            if options.hook:
                _print_for_hook(program, options, view, describe_place(settings))
            else:
                text = write_brief(view, microseconds(utc_now()), since=options.since, limit=options.max_bytes)
                sys.stdout.write(text or f"The list is empty. {view.advice}\n")
        except TaskError as error:
            sys.stderr.write(f"{program.name} brief: {describe_error(error)}\n")
            return 1
    return 0


def _print_for_hook(program: Program, options: argparse.Namespace, view: Briefed, place: str) -> None:
    given = read_input()
    file = user_state_path(program.name, appauthor=False) / "sessions.json"
    session = given.get("session_id") or given.get("sessionId") or f"{options.hook} {given.get('cwd') or Path.cwd()}"
    session = f"{session} {place}"
    last = max((change.number for change in view.changes(limit=1)), default=0)
    shown = recall(file).get(session, last + 1)
    since = options.since or (str(shown) if shown <= last else None)  # a higher one was in a list that is gone
    text = write_brief(view, microseconds(utc_now()), since=since, limit=options.max_bytes)
    if text:
        is_vscode = "hookEventName" in given  # it runs the hooks of others, too
        sys.stdout.write(_FORMS["vscode" if is_vscode else options.hook](text))
        remember(file, session, last)


def _brief_parser(name: str) -> argparse.ArgumentParser:
    about = "Print what a new session must know: work in progress, what comes next, what changed."
    parser = argparse.ArgumentParser(prog=f"{name} brief", description=about)
    parser.add_argument("--max-bytes", type=_bound, default=MAX_BYTES, help="the most to print (default: %(default)s)")
    since = "the number of a change, or a duration such as 12h or 7d; default: 24h, or for a hook what it showed last"
    parser.add_argument("--since", metavar="CHANGE|DURATION", help=since)
    hook = "format it for this client's session-start hook; print nothing if the list is empty"
    parser.add_argument("--hook", choices=[*_FORMS], metavar="CLIENT", help=f"{hook}: {', '.join(_FORMS)}")
    which = "use the list of this client; doctor shows those that have the server"
    parser.add_argument("--client", default="", metavar="CLIENT", help=which)
    return parser


def _bound(text: str) -> int:
    if not (text.isdecimal() and int(text) >= MIN_BYTES):
        raise argparse.ArgumentTypeError(f"give a number of bytes from {MIN_BYTES} on")
    return int(text)


def read_input(seconds: float = 0.2) -> dict[str, Any]:
    """Return the JSON object on the stdin of a hook, or an empty one; wait at most so long for a client to close it."""
    data = bytearray()

    def read() -> None:
        while len(data) < 1_000_000 and (chunk := os.read(descriptor, 65_536)):
            data.extend(chunk)

    with suppress(*_FAILURES):
        descriptor = sys.stdin.fileno()
        if not os.isatty(descriptor):
            reader = Thread(target=read, daemon=True)
            reader.start()
            reader.join(seconds)
        return dict(json.loads(bytes(data)))
    return {}


def recall(file: Path) -> dict[str, int]:
    """Return the number of the last change that each session was shown, the latest session last."""
    with suppress(*_FAILURES):
        return {session: int(number) for session, number in json.loads(file.read_bytes()).items()}
    return {}


def remember(file: Path, session: str, number: int) -> None:
    """Keep that a session was shown the changes up to a number."""
    others = [pair for pair in recall(file).items() if pair[0] != session]
    with suppress(*_FAILURES):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = json.dumps(dict([*others, (session, number)][-_MAX_SESSIONS:])).encode()
        replace_file(file, data, fsync=False).close()


def run_history_command(program: Program, words: Sequence[str]) -> int:
    """Carry out ``history [ID]`` or ``undo [CHANGE]`` and return the exit code, or raise as ``run_with_options``."""
    command, *rest = words
    options = _history_parser(program.name, command).parse_args(rest)
    run = _show_changes if command == "history" else _undo
    settings = choose_list(program, options.client).announce().settings
    with program.serving(settings.located()) as server:
        return carry_out(f"{program.name} {command}", lambda: run(cast("Any", server.find_history)(), options))


def _history_parser(name: str, command: str) -> argparse.ArgumentParser:
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


def _show_changes(history: History, options: argparse.Namespace) -> int:
    changes = history.changes(options.id, limit=max(options.limit, 1))
    if options.is_json:
        write_json({"changes": [render_change(change) for change in changes]}, sys.stdout)
    else:
        sys.stdout.writelines(line for change in changes for line in _change_lines(change))
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
        sys.stdout.writelines(_change_lines(find_change(history, number)))
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


def _change_lines(change: Change) -> Iterator[str]:
    moment = f"{from_microseconds(change.at).astimezone():%Y-%m-%d %H:%M:%S}"
    what = " ".join(filter(None, (change.by, change.tool))) or "unknown"
    yield f"{change.number}  {moment}  {_safe(what)}\n"
    for step in change.steps:
        yield f"    {step.what} {_safe(step.id)}{_describe_step(step)}\n"
    if change.more:
        yield f"    … and {change.more} more\n"
    if not change.steps:
        yield "    changed while no server was running: what was there before is not known\n"


def _describe_step(step: Step) -> str:
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
