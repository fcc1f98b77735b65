"""One task for a person at a terminal: every field that has a value, each text as it is and safe."""

import json
from collections.abc import Iterator, Mapping

from pydantic import JsonValue
from rich.table import Table
from rich.text import Text

from task_core.cli.view.terminal import on_one_line, status_style
from task_core.text import escape_invisible

__all__ = ["render_fields"]


def render_fields(task: Mapping[str, JsonValue]) -> Table:
    """Return the fields of a task that have a value, each with its name; Markdown and markup are shown as they are."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for name, value in task.items():
        if value not in (None, "", [], {}):
            style = status_style(str(value)) if name == "status" else ""
            grid.add_row(Text(on_one_line(name)), Text("\n".join(_describe(value)), style))
    return grid


def _describe(value: JsonValue) -> Iterator[str]:
    """Yield the lines that show a value: those of a text, those of the items of a list, or JSON."""
    if isinstance(value, str):
        yield from (escape_invisible(line.expandtabs(4)) for line in value.splitlines())
    elif isinstance(value, list):
        for item in value:
            first, *rest = [*(_describe_subtask(item) if isinstance(item, dict) else _describe(item))] or [""]
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
    else:
        yield escape_invisible(json.dumps(value, ensure_ascii=False))


def _describe_subtask(task: dict[str, JsonValue]) -> Iterator[str]:
    """Yield a line for a task within another, and those within it; anything else is JSON."""
    text = next((task[name] for name in ("title", "name") if name in task), None)
    if not (isinstance(text, str) and "id" in task):
        yield escape_invisible(json.dumps(task, ensure_ascii=False))
        return
    status = f" ({task['status']})" if "status" in task else ""
    yield on_one_line(f"{task['id']}{status}: {text}")
    for name in ("tasks", "subtasks"):
        below = task.get(name)
        if isinstance(below, list):
            yield from _describe(below)
