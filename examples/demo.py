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
from pathlib import Path
from typing import Final

from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult
from pydantic import JsonValue
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

SAMPLE: Final = Path(__file__).with_name("HEARTBEAT.md")
REQUEST: Final = "整理会议记录，写成一页摘要\n(keep the names in Japanese: 佐藤さん, 鈴木さん)"

Object = dict[str, JsonValue]


class Show:
    """What the demo prints: calls, answers, and the section."""

    def __init__(self) -> None:
        self._console = Console(soft_wrap=False)

    def title(self, text: str) -> None:
        """Print a heading."""
        self._console.rule(Text(text, "bold"))

    def call(self, tool: str, arguments: Object) -> None:
        """Print a call as it goes to the server."""
        pretty = json.dumps(arguments, ensure_ascii=False, indent=2) if arguments else ""
        self._console.print(Text.assemble((f"{tool} ", "bold cyan"), pretty))

    def answer(self, answer: Object) -> None:
        """Print the fields of an answer that hold something."""
        for name, value in answer.items():
            if value not in (None, [], {}):
                shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                self._console.print(Text.assemble((f"  {name}: ", "green"), shown))
        self._console.print()

    def section(self, title: str, text: str) -> None:
        """Print Markdown as it stands in the file."""
        source = Syntax(text, "markdown", theme="ansi_dark", background_color="default", word_wrap=True)
        self._console.print(Panel(source, title=Text(title), title_align="left"))

    def tasks(self, tasks: list[Object]) -> None:
        """Print a table of tasks."""
        table = Table("id", "status", "request", "ideas", "result")
        for task in tasks:
            ideas = task["ideas"]
            count = str(len(ideas)) if isinstance(ideas, list) else ""
            cells = [task["id"], task["status"], str(task["raw_user_request"]).splitlines()[0], count, task["result"] or ""]
            table.add_row(*(Text(str(cell)) for cell in cells))
        self._console.print(table)


def section_of(file: Path) -> str:
    """Return the section of the tasks in ``file``."""
    raise NotImplementedError
