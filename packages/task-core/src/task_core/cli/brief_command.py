"""The command ``brief``: what a new session must know, also as a client's hook takes it (AG-8, AG-10)."""

import argparse
import io
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, Final, cast

from platformdirs import user_state_path

from task_core.cli.chosen_list import ChosenList, choose_list, describe_place, find_lists
from task_core.cli.hook_memory import read_input, recall, remember
from task_core.cli.program import Program
from task_core.cli.view.plain import describe_error, tolerate_characters
from task_core.errors import TaskError
from task_core.models import microseconds, utc_now
from task_core.server.brief import MAX_BYTES, MIN_BYTES, write_brief
from task_core.view import Briefed, View

__all__ = ["run_brief_command"]


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
    options = _parser(program.name).parse_args(words[1:])
    tolerate_characters(sys.stdout)
    settings, origin, _ = _choose_list(program, options)
    if origin:
        sys.stderr.write(f"{origin}.\n")
    view: View = cast("Any", program.view)(settings)
    try:
        if options.hook:
            _print_for_hook(program, options, cast("Briefed", view), describe_place(settings))
            return 0
        briefed = cast("Briefed", view)
        text = write_brief(briefed, microseconds(utc_now()), since=options.since, limit=options.max_bytes)
        sys.stdout.write(text or f"The list is empty. {briefed.advice}\n")
    except TaskError as error:
        sys.stderr.write(f"{program.name} brief: {describe_error(error)}\n")
        return 1
    finally:
        view.close()
    return 0


def _choose_list(program: Program, options: argparse.Namespace) -> ChosenList:
    """Return the list to show: to a hook the one of its client, if the client has the server."""
    if options.client or not options.hook:
        return choose_list(program, options.client)
    found = find_lists(program)
    return next((it for it in found if options.hook in it.clients), found[0])


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


def _parser(name: str) -> argparse.ArgumentParser:
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
