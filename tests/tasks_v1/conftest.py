"""A person's tasks in a folder of their own, with a clock that the test moves."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random

import pytest
from pydantic import JsonValue

from task_core.server.app import TaskServer
from tasks_v1_mcp.models import StoredTask
from tasks_v1_mcp.server import build_server
from tasks_v1_mcp.settings import TasksSettings
from tests.tool_client import Era, call_tool

START = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)

Object = dict[str, JsonValue]


@dataclass
class Desk:
    """One store, and a server over it that clients of one era talk to."""

    folder: Path
    era: Era = "auto"
    now: datetime = START
    step: timedelta = timedelta(seconds=1)
    _server: TaskServer | None = field(default=None)

    def clock(self) -> datetime:
        """Return the present moment, a step later at each call, so that the order of tasks is plain."""
        self.now += self.step
        return self.now

    @property
    def store(self) -> Path:
        return self.folder / "tasks" / "tasks.json"

    def stored(self) -> list[Object]:
        """Return the tasks in the store, as another program would read them."""
        tasks: list[Object] = json.loads(self.store.read_text("utf-8"))["tasks"]
        return tasks

    def restart(self) -> TaskServer:
        """Return a server as a new process would start it; calls go to it from now on."""
        settings = TasksSettings.model_validate({"tasks_file_path": self.store, "task_lock_timeout": 0.2})
        self._server = build_server(settings, clock=self.clock, rng=Random(7))
        return self._server

    async def call(self, tool: str, **arguments: JsonValue) -> Object:
        """Call one tool over a client of its own and return the structured result."""
        server = self._server or self.restart()
        return await call_tool(server, tool, arguments, self.era)

    async def task(self, tool: str, **arguments: JsonValue) -> Object:
        """Call a tool that answers with one task and return the task."""
        task = (await self.call(tool, **arguments))["task"]
        assert isinstance(task, dict)
        return task

    async def titles(self, **arguments: JsonValue) -> list[JsonValue]:
        """Return the titles that ``list_tasks`` answers with, in order."""
        return titles(await self.call("list_tasks", **arguments))


def titles(page: Object) -> list[JsonValue]:
    """Return the titles on a page, in order."""
    tasks = page["tasks"]
    assert isinstance(tasks, list)
    return [task["title"] for task in tasks if isinstance(task, dict)]


def make_task(number: int, **fields: object) -> StoredTask:
    """Return a task that was made ``number`` seconds after the start."""
    moment = START + timedelta(seconds=number)
    values = {"id": f"task_{number:012d}", "title": f"t{number}", "created_at": moment, "updated_at": moment}
    return StoredTask.model_validate(values | fields)


@pytest.fixture(params=["auto", "legacy"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    return Desk(tmp_path, request.param)
