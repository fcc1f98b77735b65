"""A client session that shows what it calls and what comes back, for the parts of the demo."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from mcp import Client, StdioServerParameters
from pydantic import JsonValue
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

__all__ = ["Object", "Session", "session"]

Object = Mapping[str, JsonValue]


class Session:
    """A client of the server that shows what it sends and what comes back."""

    def __init__(self, client: Client, console: Console) -> None:
        self._client = client
        self._console = console

    async def call(self, tool: str, **arguments: JsonValue) -> Object:
        """Call ``tool``, print the call and the fields of the answer that hold something, and return the answer."""
        self._console.print(Text.assemble("\n", (tool, "bold cyan"), " ", _readable(arguments)))
        answer = await self._client.call_tool(tool, arguments)
        result: Object = answer.structured_content or {}
        self._show(result)
        return result

    def _show(self, result: Object) -> None:
        tasks = result.get("tasks")
        self._console.print(_table(tasks) if isinstance(tasks, list) else _fields(result))
        for table in _markdown_tables(result):
            self._console.print(Markdown(table))


def _readable(value: JsonValue | Object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _fields(result: Object) -> Table:
    table = Table.grid(padding=(0, 2))
    task = result.get("task")
    shown = {**task, **result} if isinstance(task, dict) else result
    for name, value in shown.items():
        if value not in (None, [], {}) and name not in {"task", "tasks", *_TABLES}:
            table.add_row(Text(f"  {name}", "green"), Text(_readable(value)))
    return table


_TABLES = ("hierarchy_summary", "progress_summary")


def _markdown_tables(result: Object) -> list[str]:
    found = [result.get(name) for name in _TABLES]
    texts = [part.get("table") if isinstance(part, dict) else part for part in found]
    return [text for text in texts if isinstance(text, str)]


def _table(tasks: list[JsonValue]) -> Table:
    rows = [task for task in tasks if isinstance(task, dict)]
    names = [name for name in _COLUMNS if any(name in row for row in rows)]
    table = Table(*names)
    for row in rows:
        table.add_row(*(Text(_readable(row.get(name, ""))) for name in names))
    return table


_COLUMNS = (
    "id",
    "status",
    "raw_user_request",
    "ideas",
    "title",
    "priority",
    "topic_id",
    "tags",
    "name",
    "subtask_count",
)


@asynccontextmanager
async def session(module: str, environment: Mapping[str, str], console: Console) -> AsyncIterator[Session]:
    """Start the server of ``module`` as a client would, say which tools it has, and yield a session with it."""
    server = StdioServerParameters(command=sys.executable, args=["-m", module], env=dict(environment))
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        console.print(Text(f"\nConnected; the server has {', '.join(tool.name for tool in tools)}."))
        yield Session(client, console)
