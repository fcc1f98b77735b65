"""Show the heartbeat server at work: a client session over stdio, on a copy of a HEARTBEAT.md.

``python examples/demo.py`` takes the sample beside this file; ``--file PATH`` takes a copy of your own. The file
itself is never changed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mcp import Client, StdioServerParameters
from pydantic import JsonValue
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Column, Table
from rich.text import Text

from heartbeat_mcp.mirror.section import locate_section

SAMPLE: Final = Path(__file__).with_name("HEARTBEAT.md")
REQUEST: Final = "整理会议记录，写成一页摘要\n(keep the names in Japanese: 佐藤さん、鈴木さん)"

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
        self._console.print(_table(result["tasks"]) if "tasks" in result else _fields(result))
        return result


def _readable(value: JsonValue | Object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _fields(result: Object) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in result.items():
        if value not in (None, [], {}):
            table.add_row(Text(f"  {name}", "green"), Text(_readable(value)))
    return table


def _table(tasks: JsonValue) -> Table:
    names = ("id", "status", "raw_user_request", "ideas")
    table = Table(*(Column(name, overflow="fold") for name in names))
    for task in tasks if isinstance(tasks, list) else []:
        if isinstance(task, dict):
            table.add_row(*(Text(_readable(task[name])) for name in names))
    return table


def show_section(console: Console, file: Path, title: str) -> None:
    """Print the section of the tasks as it stands in ``file``."""
    section, _ = locate_section(file.read_bytes(), "TODO")
    text = (section.heading + section.body).decode(errors="replace")
    markdown = Syntax(text.rstrip(), "markdown", background_color="default", word_wrap=True)
    console.print("\n", Panel(markdown, title=Text(f"{file.name}, the section {title}"), title_align="left"), sep="")


async def work(session: Session) -> None:
    """Do what an agent does in a day: create, update, append, complete, list."""
    first = await session.call("task_create", raw_user_request=REQUEST, ideas=["先列出决定"], priority="high")
    started: JsonValue = {"status": "Running", "raw_reference": "notes/2026-11.md", "result": "初稿完成"}
    await session.call("task_update", task_id=first["id"], updates=started)
    await session.call("task_update", task_id=first["id"], updates={"ideas": ["鈴木さんに確認する"]}, append_ideas=True)
    second = await session.call("task_create", raw_user_request="Book a table for two on Friday")
    await session.call("task_update", task_id=second["id"], updates={"status": "Complete", "result": "19:30"})
    await session.call("task_list", include_completed=True)


async def show(original: Path, console: Console) -> None:
    """Run the session on a copy of ``original`` and print the section before and after."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder).resolve() / original.name
        shutil.copyfile(original, file)
        show_section(console, file, "before")
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "heartbeat_mcp"], env={"HEARTBEAT_FILE_PATH": str(file)}
        )
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            console.print(Text(f"\nConnected; the server has {', '.join(tool.name for tool in tools)}."))
            await work(Session(client, console))
        show_section(console, file, "after")
    console.print(Text(f"\nAll of this was done on a copy; {original} is as it was."))


def main() -> None:
    """Read the options and run the demo."""
    parser = argparse.ArgumentParser(prog="demo", description="A client session with the heartbeat server.")
    parser.add_argument("--file", type=Path, default=SAMPLE, help="a HEARTBEAT.md; the demo works on a copy of it")
    file: Path = parser.parse_args().file
    if not file.is_file():
        parser.error(f"--file {file}: there is no such file")
    asyncio.run(show(file, Console()))


if __name__ == "__main__":
    main()
