"""Output of ``ctx``: one line of JSON for programs, tables and sentences for people (CX-51, CX-53)."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TextIO

from cortex_cli.errors import CortexError, escape_invisible

__all__ = ["Outcome", "Table", "write_failure", "write_json", "write_outcome"]


class Table(NamedTuple):
    """Rows for people; the texts are not yet escaped."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]


class Outcome(NamedTuple):
    """Answer of a successful command: ``answer`` for programs; a table, if any, and ``text`` for people."""

    answer: Mapping[str, object]
    text: str = ""
    table: Table | None = None


def write_json(answer: Mapping[str, object], out: TextIO) -> None:
    """Write one object as one line of ASCII, which no terminal, encoding or line reader changes."""
    out.write(json.dumps(answer) + "\n")
    out.flush()


def write_outcome(outcome: Outcome, warnings: Sequence[str], out: TextIO, err: TextIO) -> None:
    """Write for people what a command did; warnings go to ``err``."""
    if outcome.table is not None:
        _write_table(outcome.table, out)
    if outcome.text:
        out.write(_visible(outcome.text) + "\n")
    out.flush()
    _write_warnings(warnings, err)


def write_failure(error: CortexError, warnings: Sequence[str], err: TextIO) -> None:
    """Write for people why a command failed."""
    _write_warnings(warnings, err)
    err.write(f"ctx: {_visible(error.message)}\n")
    for name in ("files", "near", "git", "output"):
        value = error.details.get(name)
        if value:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            err.write(f"  {name}: {_visible(shown)}\n")


def _write_warnings(warnings: Sequence[str], err: TextIO) -> None:
    err.writelines(f"ctx: warning: {_visible(warning)}\n" for warning in warnings)


def _visible(text: str) -> str:
    return "\n".join(map(escape_invisible, text.split("\n")))


def _write_table(table: Table, out: TextIO) -> None:
    rows = [[escape_invisible(cell) for cell in row] for row in table.rows]
    if not out.isatty():
        out.writelines("\t".join(row) + "\n" for row in rows)
        return
    # Only for a person at a terminal: importing rich costs as much as a whole request (CX-97).
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as RichTable  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    grid = RichTable(box=None, pad_edge=False, header_style="bold")
    for header in table.headers:
        grid.add_column(header, overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    is_plain = os.environ.get("CLICOLOR") == "0" or os.environ.get("TERM") == "dumb" or bool(os.environ.get("NO_COLOR"))
    Console(file=out, color_system=None if is_plain else "auto", highlight=False, emoji=False).print(grid)
