"""The one registry of servers: whatever is done once for each server, in tests, inspector and benchmarks, reads it.

Only the standard library is imported here, so that an environment with nothing but one wheel can read it too.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from task_core.command.program import Program
    from task_core.command.settings import ServerSettings
    from task_core.server.app import TaskServer
    from task_core.store import Codec

__all__ = ["MADE", "NEW_TEXT", "SERVERS", "ServerRecord", "record_of"]

Arguments = Mapping[str, Any]

MADE: Final = "MADE"
"""Stands for the id of the task that the first call creates."""


NEW_TEXT: Final = "新标题"
"""The text that a task has after the sample call that changes it."""


@dataclass(frozen=True)
class ServerRecord:
    """A server as a client meets it, by the name of its package.

    Each has ``tasks://list`` and ``tasks://summary``, and ``list_changes`` where ``TASK_EXTRA_TOOLS`` adds it.
    """

    package: str
    variable: str
    """The setting that names the file of the tasks; it ends in ``FILE_PATH``."""
    file: str
    """The usual name of that file."""
    text: str
    """The argument of the first tool, and the field of a task, with the task's text; the tool needs no other."""
    list: str
    """The tool that lists tasks, as ``{"tasks": [...]}``; its call returns all if there are 50."""
    get: str
    """The tool that returns one task by its id; like those that create or change one, alone or as ``{"task": ...}``."""
    update: str
    """The tool that changes a task; its call gives it the text ``NEW_TEXT``."""
    calls: Mapping[str, Arguments]
    """A call of every tool; the first one creates a task, and each works after those before it."""
    document: str = ""
    """The name of the store, if it is not ``file``."""

    @property
    def command(self) -> str:
        """The command that starts the server, which is also the name of its distribution and of its folder."""
        return self.package.replace("_", "-")

    @property
    def name(self) -> str:
        """The name of the server in reports."""
        return self.command.removesuffix("-mcp")

    @property
    def entry(self) -> str:
        """The name of the server in the configuration of a client."""
        return self.name.partition("-")[0]

    @property
    def create(self) -> str:
        """The tool that creates a task."""
        return next(iter(self.calls))

    @property
    def id(self) -> str:
        """The argument of ``get``."""
        return next(iter(self.calls[self.get]))

    @property
    def module_command(self) -> tuple[str, ...]:
        """The command that starts the server with this Python."""
        return (sys.executable, "-m", self.package)

    def call(self, tool: str, task_id: str = "") -> dict[str, Any]:
        """Return the arguments of a call of ``tool`` for the task with this id."""
        return {name: task_id if value == MADE else value for name, value in self.calls[tool].items()}

    def task_id(self, content: Mapping[str, Any]) -> str:
        """Return the id of the task in a structured answer."""
        return str(content.get("task", content)["id"])

    def store(self, engine: str = "json") -> str:
        """Return the name of the file that keeps the tasks."""
        return (self.document or self.file) if engine == "json" else "tasks.db"

    def environment(self, folder: Path, engine: str = "json") -> dict[str, str]:
        """Return the settings of a server that keeps its files in ``folder``."""
        named = {self.variable: str(folder / self.file)}
        if engine == "json":
            return named
        return {**(named if self.document else {}), "TASK_STORE": f"{engine}:{folder / self.store(engine)}"}

    def program(self) -> Program[Any]:
        """Return the server as a command."""
        from task_core.command.program import Program  # noqa: PLC0415 - not everywhere the core is installed

        import_module(self.package)
        return Program.of(self.package)

    @property
    def settings_type(self) -> type[ServerSettings]:
        """The class of its settings."""
        return self.program().settings_type()

    @property
    def codec(self) -> Codec[Any]:
        """The format of its document."""
        return self.program().codec()

    def built(self, folder: Path, engine: str = "json", **settings: object) -> TaskServer:
        """Return the server over its usual files in ``folder``."""
        values = {name.lower(): value for name, value in self.environment(folder, engine).items()}
        return self.program().build(self.settings_type.model_validate({**values, **settings}))


SERVERS: Final = (
    ServerRecord(
        package="heartbeat_mcp",
        variable="HEARTBEAT_FILE_PATH",
        file="HEARTBEAT.md",
        document="heartbeat_state.json",
        text="raw_user_request",
        list="task_list",
        get="task_get",
        update="task_update",
        calls={
            "task_create": {"raw_user_request": "整理邮件", "ideas": ["先看重要的"]},
            "task_get": {"task_id": MADE},
            "task_list": {},
            "task_update": {"task_id": MADE, "updates": {"raw_user_request": NEW_TEXT}},
        },
    ),
    ServerRecord(
        package="hierarchy_mcp",
        variable="FILE_PATH",
        file="hierarchy.json",
        text="name",
        list="listTasks",
        get="getTask",
        update="updateTask",
        calls={
            "createTask": {"name": "リリース"},
            "getTask": {"id": MADE},
            "listTasks": {},
            "updateTask": {"id": MADE, "name": NEW_TEXT},
            "startTask": {"id": MADE},
            "completeTask": {"id": MADE, "resolution": "済み"},
            "deleteTask": {"id": MADE},
        },
    ),
    ServerRecord(
        package="tasks_v1_mcp",
        variable="TASKS_FILE_PATH",
        file="tasks.json",
        text="title",
        list="list_tasks",
        get="get_task",
        update="update_task",
        calls={
            "create_task": {"title": "研究航天产业的成本结构", "tags": ["space"]},
            "list_tasks": {"limit": 100},
            "get_task": {"id": MADE},
            "update_task": {"id": MADE, "title": NEW_TEXT},
            "update_task_status": {"id": MADE, "status": "in_progress"},
        },
    ),
)
"""Every server, in the order in which reports name them."""


def record_of(name: str) -> ServerRecord:
    """Return the record of the server with this command, package or name; raise ``KeyError`` if there is none."""
    names = {key: record for record in SERVERS for key in (record.command, record.package, record.name)}
    return names[name]
