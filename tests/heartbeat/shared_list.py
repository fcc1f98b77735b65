"""A list in a database that servers in several places share, each with a HEARTBEAT.md of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from heartbeat_mcp.arguments import TaskCreate, TaskList, TaskUpdate
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.models import utc_now
from tests.heartbeat.parts import Parts, parts_of
from tests.postgres import list_settings, lose_list

__all__ = ["Place", "Team"]


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

    def place(self, name: str) -> Place:
        """Return a place, with a server that has just started."""
        settings = HeartbeatSettings.model_validate(self.settings(name))
        assert settings.heartbeat_file_path
        return Place(parts_of(settings, utc_now), settings.heartbeat_file_path)

    def lose_list(self) -> None:
        """Remove everything from the database."""
        if self.engine == "postgresql":
            lose_list(self.folder)
            return
        for path in self.folder.glob("tasks.db*"):
            path.unlink()
