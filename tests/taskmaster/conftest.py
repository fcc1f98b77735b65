"""Projects with tasks of all forms, and the client that works on them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import JsonValue

from task_core.server.app import TaskServer
from taskmaster_mcp.core.items import TagTasks
from taskmaster_mcp.server import build_server
from taskmaster_mcp.settings import TaskmasterSettings
from tests.tool_client import OpenClient, ToolFailed

Object = dict[str, Any]

NOW: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
"""What the clock says unless a test sets it."""

STAMP: Final = "2026-03-01T12:00:00.000Z"


def item(
    number: JsonValue, *dependencies: JsonValue, subtasks: list[Object] | None = None, **fields: JsonValue
) -> Object:
    """Return a task, or a subtask if it is put into one."""
    found: Object = {"id": number, "title": f"Title {number}", "description": f"Description {number}"}
    found |= {"status": "pending", "dependencies": [*dependencies], "priority": "medium", **fields}
    return found if subtasks is None else {**found, "subtasks": subtasks}


def tag(*tasks: Object, **metadata: JsonValue) -> Object:
    """Return a tag with these tasks."""
    old = {"created": "2025-01-01T00:00:00.000Z", "updated": "2025-01-01T00:00:00.000Z", "description": "Old"}
    return {"tasks": [*tasks], "metadata": {**old, **metadata}}


LARGE: Final = {
    name: tag(
        *(
            item(
                number,
                *([number - 1, str(number - 1), f"{number - 1}.1"][number % 3 : number % 3 + 1] if number > 1 else []),
                details='Zeile – «text» "quoted" \\ \u2028 \U0001f600\n' * 40,
                subtasks=[item(sub, *([sub - 1] if sub > 1 else []), parentId="undefined") for sub in range(1, 6)],
                complexity={"score": 7},
            )
            for number in range(1, tasks + 1)
        ),
        extra=[1, 1.5, None],
    )
    for name, tasks in (("master", 90), ("loop", 60), ("tdd", 32))
}
"""As large as the largest project that is known: 182 tasks, 910 subtasks, in several tags."""


def task_list(*tasks: Object) -> TagTasks:
    """Return a tag to be changed by the rules alone."""
    return TagTasks("master", tag(*tasks))


def named(arguments: Mapping[str, object]) -> Object:
    """Return arguments by their names, which may be words of Python with ``_`` behind them here."""
    return {name.removesuffix("_"): value for name, value in arguments.items()}


def shape(tasks: TagTasks) -> Object:
    """Return the stored dependencies of every item by its id, in the order of the file."""
    return {found.id: found.dependencies for found in tasks.items}


@dataclass
class ServedProject:
    """A project in a folder, and a server with all tools that works on it."""

    root: Path
    tools: str = "all"
    options: Object = field(default_factory=dict)
    clock: Callable[[], datetime] = lambda: NOW

    def __post_init__(self) -> None:
        self.server = self.another()
        self._clients: dict[object, OpenClient] = {}

    @property
    def client(self) -> OpenClient:
        """The client of the server in this event loop: opening one for each call takes longer than the calls."""
        key = (self.server, asyncio.get_running_loop())
        return self._clients.setdefault(key, OpenClient(self.server))

    def another(self, **options: object) -> TaskServer:
        """Return one more server on the project."""
        values = {
            "task_master_tools": self.tools,
            "task_master_project_root": str(self.root),
            "task_fsync": False,
            **self.options,
            **options,
        }
        return build_server(TaskmasterSettings.model_validate(values), clock=self.clock)

    @property
    def path(self) -> Path:
        return self.root / ".taskmaster" / "tasks" / "tasks.json"

    @property
    def document(self) -> Object:
        found: Object = json.loads(self.path.read_bytes())
        return found

    @property
    def files(self) -> dict[str, bytes]:
        """Every file of the project, but what is kept of earlier days."""
        found = {str(path.relative_to(self.root)): path.read_bytes() for path in self.root.rglob("*") if path.is_file()}
        return {name: data for name, data in found.items() if ".json.bak" not in name}

    def write(self, text: str | bytes | Object) -> None:
        """Make this the tasks file, laid out as Task Master does."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, dict):
            text = json.dumps(text, indent=2, ensure_ascii=False)
        self.path.write_bytes(text.encode() if isinstance(text, str) else text)

    def put(self, name: str, value: object) -> Path:
        """Write another file of the project as JSON."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), "utf-8")
        return path

    async def call(self, tool: str, **arguments: object) -> Object:
        """Return the data that a tool answers; ``from_`` is the argument ``from``."""
        return (await self.answer(tool, **arguments))["data"]

    async def answer(self, tool: str, **arguments: object) -> Object:
        """Return the whole answer of a tool."""
        return await self.client.call(tool, named(arguments))

    async def failed(self, tool: str, **arguments: object) -> tuple[str, Object]:
        """Return code and details of a call that fails and changes no file."""
        before = self.files
        result = await self.client.result(tool, named(arguments))
        content: Object = result.structured_content or {}
        assert result.is_error, content
        assert self.files == before
        assert content["fromCache"] is False
        error = content["error"]
        details = error["details"]
        return details.get("reason", error["code"]), {"code": error["code"], "message": error["message"], **details}


@pytest.fixture
def project(tmp_path: Path) -> ServedProject:
    """A project with the tag ``master`` of three tasks, and a server with all tools."""
    served = ServedProject(tmp_path)
    served.write(
        {
            "master": tag(
                item(1, status="done"),
                item(2, 1, subtasks=[item(1, status="done"), item(2, 1)], status="in-progress"),
                item(3, 2, priority="high"),
            )
        }
    )
    return served


__all__ = [
    "LARGE",
    "NOW",
    "STAMP",
    "Object",
    "ServedProject",
    "ToolFailed",
    "item",
    "named",
    "shape",
    "tag",
    "task_list",
]
