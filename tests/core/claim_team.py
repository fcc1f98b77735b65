"""Agents on one list, each with a server process of its own, as far as locks can tell."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

from pydantic import JsonValue

from task_core.history.changes import made_by
from task_core.store import open_store
from task_core.warning_list import WarningList
from tasks_v1_mcp.arguments import UpdateTaskArguments
from tasks_v1_mcp.codec import CODEC
from tasks_v1_mcp.server import build_server
from tasks_v1_mcp.service import TaskService
from tasks_v1_mcp.settings import TasksSettings
from tests.tool_client import OpenClient

__all__ = ["NOON", "Member", "Team"]

NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Team:
    """Agents on one list, each with a server process of its own, as far as locks can tell."""

    def __init__(self, folder: Path, engine: str = "json", **settings: str) -> None:
        self.now = NOON
        self.path = folder / "tasks"
        values = {
            "task_store": f"{engine}:{self.path}",
            "task_extra_tools": "claims,history,brief",
            "task_fsync": False,
        }
        self.settings = TasksSettings.model_validate({**values, **settings})

    def join(self) -> Member:
        """Return one more agent."""
        server = build_server(self.settings, clock=lambda: self.now, rng=Random(len(self.sessions)))
        return Member(OpenClient(server), server.close)

    def edit(self, by: str, task: str, title: str) -> None:
        """Let a person give a task another title, a minute later."""
        self.now += timedelta(minutes=1)
        store = open_store(self.settings, CODEC, WarningList(), clock=lambda: self.now)
        with made_by(by, "edit"):
            TaskService(store, Random(1)).update_task(UpdateTaskArguments.model_validate({"id": task, "title": title}))

    @property
    def sessions(self) -> list[str]:
        """The names of the files of sessions."""
        folder = self.path.with_name(f"{self.path.name}.sessions")
        return sorted(file.name for file in folder.glob("*.json")) if folder.is_dir() else []


class Member:
    def __init__(self, client: OpenClient, end: Callable[[], None]) -> None:
        self.client = client
        self.end = end
        """ends its process"""

    async def call(self, tool: str, **arguments: JsonValue) -> Any:  # noqa: ANN401 - what a tool answers
        return await self.client.call(tool, arguments)

    async def create(self, title: str = "Paint the fence") -> str:
        return (await self.call("create_task", title=title))["task"]["id"]
