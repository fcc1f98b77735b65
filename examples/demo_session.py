"""A client session that shows each call in a line: the tool, what it is given, and what comes of it."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib import import_module
from inspect import signature
from random import Random
from typing import Final

from mcp import Client, StdioServerParameters
from mcp.server.lowlevel import Server
from pydantic import JsonValue
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from task_core.cli.settings import ServerSettings

__all__ = ["Object", "Session", "fetch", "narrate", "session"]

Object = Mapping[str, JsonValue]

_TOOL: Final = 20
"""Columns of the name of a tool, with the indent before it."""

_GIVEN: Final = 31
"""Columns of what a tool is given; what comes back is behind it, or in the next line if it is long."""

_LONG: Final = 27
"""Columns of what comes back at most, to be in the same line."""

_PLAIN: Final = ("status", "message", "name", "branch")
"""Values that say what they are."""

_MOMENT: Final = datetime(2026, 11, 22, 9, tzinfo=UTC)
"""The time in a recording."""


class Session:
    """A client of a server that shows what it calls and what comes back."""

    def __init__(self, client: Client, console: Console) -> None:
        self._client = client
        self._console = console

    async def call(self, tool: str, given: str, field: Sequence[str], **arguments: JsonValue) -> Object:
        """Call ``tool``, show what was ``given`` and one value of the answer, or its error, and return the answer.

        ``field`` are the names that lead to the value; of a list the length is shown.
        """
        answer = await self._client.call_tool(tool, arguments)
        result: Object = answer.structured_content or {}
        error = result.get("error")
        fault = _fault(error, result) if error else ""
        text = fault or _tell(fetch(result, *field), field[-1])
        outcome = Text.assemble(("✗ ", "bold red") if fault else ("→ ", "bold"), text)
        is_short = outcome.cell_len <= _LONG
        line = Table.grid(padding=(0, 1, 0, 0))
        line.add_column(width=_TOOL)
        line.add_column(width=_GIVEN, no_wrap=True)
        line.add_row(Text(f"  {tool}", "bold"), Text(given), outcome if is_short else "")
        self._console.print(line)
        if not is_short:
            self._console.print(Padding(outcome, (0, 0, 0, 4)))
        return result


def _fault(error: JsonValue, result: Object) -> str:
    known = error if isinstance(error, dict) else {"code": result.get("code"), "message": error}
    return f"{known['code']}: {known['message']}"


def fetch(answer: Object, *names: str) -> JsonValue:
    """Return the value in an answer that the names lead to, or None where there is none."""
    found: JsonValue = {**answer}
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _tell(value: JsonValue, name: str) -> str:
    if isinstance(value, list):
        return f"{len(value)} {name.removesuffix('s') if len(value) == 1 else name}"
    return str(value) if name in _PLAIN else f"{name}: {value}"


def narrate(console: Console, *sentences: str) -> None:
    """Say in plain English what comes next."""
    console.print(Text(" ".join(sentences)))


@asynccontextmanager
async def session(module: str, environment: Mapping[str, str], console: Console) -> AsyncIterator[Session]:
    """Start the server of ``module`` as a client would and yield a session with it.

    For a recording, the server is in this process, and its ids and times are the same in every run.
    """
    quiet = {"LOG_LEVEL": "ERROR", **environment}
    server = StdioServerParameters(command=sys.executable, args=["-m", module], env=quiet)
    async with Client(_repeatable(module, quiet) if console.record else server) as client:
        yield Session(client, console)


def _repeatable(module: str, environment: Mapping[str, str]) -> Server[None]:
    kinds = vars(import_module(f"{module}.settings")).values()
    own = next(kind for kind in kinds if isinstance(kind, type) and kind.__module__ == f"{module}.settings")
    assert issubclass(own, ServerSettings)  # noqa: S101 - for the type checker: every server has settings
    settings = own.model_validate({name.lower(): value for name, value in environment.items()})
    logging.getLogger("task_core").setLevel(environment["LOG_LEVEL"])
    build = import_module(f"{module}.server").build_server
    options: dict[str, object] = {"clock": lambda: _MOMENT, "rng": Random(4)}  # noqa: S311 - no secrets
    taken = signature(build).parameters
    server: Server[None] = build(settings, **{name: it for name, it in options.items() if name in taken}).sdk
    return server
