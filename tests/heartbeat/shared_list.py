"""A list in a database that servers in several places share, each with a HEARTBEAT.md of its own."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from heartbeat_mcp.arguments import TaskCreate, TaskList, TaskUpdate
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.models import utc_now
from tests.heartbeat.parts import Parts, parts_of
from tests.postgres import connect_as_owner, list_settings, lose_list, name_tenant

__all__ = ["Hours", "Place", "Team"]

OVER = "UPDATE lists SET leased = leased - 61000000 WHERE tenant = {}"
"""Lets a minute pass, and a second."""


class Hours:
    """A monotonic clock that the test moves; whoever looks at it can be interrupted."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.interrupt: Callable[[], None] = lambda: None

    def __call__(self) -> float:
        self.interrupt()
        return self.now


@dataclass
class Place:
    """A folder with a HEARTBEAT.md, and the server over it."""

    parts: Parts
    file: Path

    @property
    def text(self) -> str:
        return self.file.read_text("utf-8")

    def write(self, line: str) -> None:
        """Add a line to the section as a person does."""
        self.file.write_text(f"{self.text}{line}\n", "utf-8")

    def create(self, request: str) -> str:
        """Create a task and return its id."""
        return self.parts.service.create_task(TaskCreate.model_validate({"raw_user_request": request})).id

    def finish(self, task_id: str) -> None:
        """Complete a task, with a result."""
        updates = {"status": "Complete", "result": "done"}
        self.parts.service.update_task(TaskUpdate.model_validate({"task_id": task_id, "updates": updates}))

    def listed(self) -> list[str]:
        """Return the requests of the tasks that are not finished."""
        return [task.raw_user_request for task in self.parts.service.list_tasks(TaskList()).tasks]

    def warned(self) -> list[str]:
        """Return the warnings since the last time."""
        return self.parts.warnings.take()


@dataclass
class Team:
    """A list in a database that servers in several places share."""

    folder: Path
    engine: str

    @property
    def store(self) -> dict[str, str]:
        """The settings that name the list."""
        if self.engine == "postgresql":
            return list_settings(self.folder)
        return {"task_store": f"sqlite:{self.folder / 'tasks.db'}"}

    def settings(self, name: str) -> dict[str, str]:
        """Return the settings of a server in a place."""
        (self.folder / name).mkdir(exist_ok=True)
        return {"heartbeat_file_path": str(self.folder / name / "HEARTBEAT.md"), "task_fsync": "false", **self.store}

    def place(self, name: str, timer: Callable[[], float] = time.monotonic) -> Place:
        """Return a place, with a server that has just started."""
        settings = HeartbeatSettings.model_validate(self.settings(name))
        assert settings.heartbeat_file_path
        return Place(parts_of(settings, utc_now, timer), settings.heartbeat_file_path)

    def lose_list(self) -> None:
        """Remove everything from the database."""
        if self.engine == "postgresql":
            lose_list(self.folder)
            return
        for path in self.folder.glob("tasks.db*"):
            path.unlink()

    def let_lease_end(self) -> None:
        """Let a minute pass in which no server does anything."""
        if self.engine == "postgresql":
            with connect_as_owner() as connection:
                connection.execute(OVER.format("%s").encode(), [name_tenant(self.folder)])
            return
        with closing(sqlite3.connect(self.folder / "tasks.db")) as connection, connection:
            connection.execute(OVER.format("''"))
