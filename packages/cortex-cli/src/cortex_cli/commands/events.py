"""``ctx events``: what happened to the tasks that the user may see, also as it happens (CX-45, CX-51)."""

import os
import threading
import time
from argparse import Namespace
from typing import BinaryIO, Final, NoReturn, cast

from cortex_cli.backend import Backend
from cortex_cli.commands.context import Context
from cortex_cli.commands.parsing import Parser
from cortex_cli.models import EventEnd, TaskEvent
from cortex_cli.output import Outcome, Table, write_json, write_outcome

__all__ = ["add_to"]

_LIMIT: Final = 500

_PAUSE_SECONDS: Final = 2.0
"""Seconds between two questions for new events."""


def add_to(parser: Parser) -> None:
    """Add what the command takes."""
    parser.set_defaults(run=_events)
    parser.add_argument(
        "--after", type=int, metavar="ID", help="show events after this one (default with --follow: now)"
    )
    parser.add_argument("--follow", action="store_true", help="show events as they happen, one a line")


def _end_with(stream: BinaryIO) -> None:
    """End the process when ``stream`` ends; what comes before its end is dropped (CX-92)."""
    raw = getattr(stream, "raw", stream)  # Python aborts at its end if a thread holds the lock of the buffer

    def watch() -> None:
        while raw.read(1024):
            pass
        os._exit(0)  # there is nothing to put back, and a request that is under way cannot be woken

    threading.Thread(target=watch, daemon=True).start()


def _events(context: Context, options: Namespace) -> Outcome:
    backend = context.backend()
    if options.follow:
        _follow(context, backend, options.after)
    events = _list_events(backend, options.after or 0)
    return Outcome({"success": True, "events": events}, table=_table(events))


def _list_events(backend: Backend, after: int) -> list[dict[str, object]]:
    """Return the events after one id, oldest first, as they are: nothing is read in them but the id, an integer."""
    answer = backend.call("GET", "/events", query=[("after", str(after)), ("limit", str(_LIMIT))])
    answer.read_list(TaskEvent, "events")
    return cast("dict[str, list[dict[str, object]]]", answer.value())["events"]


def _table(events: list[dict[str, object]]) -> Table:
    columns = ("id", "at", "kind", "task_id", "from", "to")
    rows = [["" if event.get(name) is None else str(event[name]) for name in columns] for event in events]
    return Table(("ID", "At", "Kind", "Task", "From", "To"), rows)


def _follow(context: Context, backend: Backend, after: int | None) -> NoReturn:
    """Write events until the command is ended, or its standard input is closed."""
    if context.is_json and not context.stdin.isatty():
        _end_with(context.stdin.buffer)
    newest = [("after", str(2**53 - 1)), ("limit", "1")]
    last = backend.call("GET", "/events", query=newest).read(EventEnd).last if after is None else after
    while True:
        for event in _list_events(backend, last):
            last = int(str(event["id"]))
            if context.is_json:
                write_json(event, context.out)
            else:
                write_outcome(Outcome({}, table=_table([event])), (), context.out, context.err)
        time.sleep(_PAUSE_SECONDS)  # polling needs no thread: Ctrl+C ends the pause
