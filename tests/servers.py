"""The one registry of servers: whatever is done once for each server, in tests, inspector and benchmarks, reads it.

Only the standard library is imported here, so that an environment with nothing but one wheel can read it too.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from typing_extensions import override

    from task_core.cli.program import Program
    from task_core.cli.settings import ServerSettings, StoreServerSettings
    from task_core.server.app import TaskServer
    from task_core.store import Codec
else:

    def override(method: object) -> object:
        """Return the method: the marker itself is not in the standard library of every Python."""
        return method


__all__ = ["MADE", "NEW_TEXT", "PROGRAMS", "SERVERS", "ProgramRecord", "ServerRecord", "program_of", "record_of"]

Arguments = Mapping[str, Any]

MADE: Final = "MADE"
"""Stands for the id of the task that the first call creates."""


NEW_TEXT: Final = "新标题"
"""The text that a task has after the sample call that changes it."""


@dataclass(frozen=True, kw_only=True)
class ProgramRecord:
    """A server as a client meets it, by the name of its package, whether it keeps a store or not."""

    package: str
    calls: Mapping[str, Arguments]
    """A call of every tool; each works after those before it, but ``failing``."""
    list: str
    """The tool that lists tasks, as ``{"tasks": [...]}``; its call returns all if there are 50."""
    distribution: str = ""
    """The name under which it is installed, if that is not its command."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings with which it offers all tools, if it does not offer them anyway."""
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Settings that select its tools, each with its usual values, the default first."""
    world: str = ""
    """The module with ``lay_out``, which puts what the server works with into a folder, and returns the settings."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Settings that name a file or a folder, and its usual name."""
    failing: Mapping[str, str] = field(default_factory=dict)
    """Tools whose call fails in a new process, each with the code of its error."""

    @property
    def command(self) -> str:
        """The command that starts the server, which is also the name of its folder."""
        return self.package.replace("_", "-")

    @property
    def project(self) -> str:
        """The name of its distribution."""
        return self.distribution or self.command

    @property
    def name(self) -> str:
        """The name of the server in reports."""
        return self.command.removesuffix("-mcp")

    @property
    def entry(self) -> str:
        """The name of the server in the configuration of a client."""
        return self.name.partition("-")[0]

    @property
    def module_command(self) -> tuple[str, ...]:
        """The command that starts the server with this Python."""
        return (sys.executable, "-m", self.package)

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the settings of a server with all its tools that works in ``folder``, and prepare that."""
        return {**self.usual_environment(folder), **self.settings, **self.lay_out(folder)}

    def lay_out(self, folder: Path) -> dict[str, str]:
        """Put what the server works with beside its store into ``folder``, and return the settings for that."""
        return import_module(self.world).lay_out(folder) if self.world else {}

    def usual_environment(self, folder: Path) -> dict[str, str]:
        """Return the settings with which a user starts the server, for files in ``folder``."""
        return {variable: str(folder / name) for variable, name in self.paths.items()}

    @property
    def required(self) -> str:
        """The setting without which it does not start."""
        return ""

    def program(self) -> Program:
        """Return the server as a command."""
        from task_core.cli.program import Program  # noqa: PLC0415 - not everywhere the core is installed

        import_module(self.package)
        return Program.of(self.package)

    @property
    def settings_type(self) -> type[ServerSettings]:
        """The class of its settings."""
        return self.program().settings_type()

    def built(self, folder: Path, **settings: object) -> TaskServer:
        """Return the server over its usual files in ``folder``."""
        return self.build({**self.environment(folder), **settings})

    def build(self, values: Mapping[str, object]) -> TaskServer:
        """Return the server with these settings."""
        validated = self.settings_type.model_validate({name.lower(): value for name, value in values.items()})
        return self.program().build(validated)


@dataclass(frozen=True, kw_only=True)
class ServerRecord(ProgramRecord):
    """A server that keeps a store; its first call creates a task.

    Each has ``tasks://list`` and ``tasks://summary``, and ``list_changes`` where ``TASK_EXTRA_TOOLS`` adds it.
    """

    variable: str
    """The setting that names the file of the tasks; it ends in ``FILE_PATH``."""
    file: str
    """The usual name of that file."""
    text: str
    """The argument of the first tool, and the field of a task, with the task's text; the tool needs no other."""
    get: str
    """The tool that returns one task by its id; like those that create or change one, alone or as ``{"task": ...}``."""
    update: str
    """The tool that changes a task; its call gives it the text ``NEW_TEXT``."""
    document: str = ""
    """The path of the store beside ``file``, if it is not that."""
    engines: Sequence[str] = ("json", "sqlite", "postgresql")
    """The engines that can keep the store."""
    envelope: str = ""
    """The member of a structured answer that holds everything else, if there is one."""
    codes: Mapping[str, str] = field(default_factory=dict)
    """Its own codes for errors of the core."""

    @property
    @override
    def required(self) -> str:
        """The setting of its file; some have a default for it."""
        return self.variable

    @property
    def create(self) -> str:
        """The tool that creates a task."""
        return next(iter(self.calls))

    @property
    def id(self) -> str:
        """The argument of ``get``."""
        return next(iter(self.calls[self.get]))

    def call(self, tool: str, task_id: str = "") -> dict[str, Any]:
        """Return the arguments of a call of ``tool`` for the task with this id."""
        return {name: task_id if value == MADE else value for name, value in self.calls[tool].items()}

    def unwrap(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a structured answer without its envelope."""
        return content[self.envelope] if self.envelope else content

    def task_id(self, content: Mapping[str, Any]) -> str:
        """Return the id of the task in a structured answer."""
        found = self.unwrap(content)
        return str(found.get("task", found)["id"])

    def store(self, engine: str = "json") -> str:
        """Return the name of the file that keeps the tasks."""
        return (self.document or self.file) if engine == "json" else "tasks.db"

    @override
    def environment(self, folder: Path, engine: str = "json") -> dict[str, str]:
        """Return the settings of a server with all its tools that keeps its files in ``folder``, and prepare that."""
        self.prepare(folder)
        named = {**self.usual_environment(folder), **self.settings}
        if engine == "json":
            return named
        store = {"TASK_STORE": f"{engine}:{folder / self.store(engine)}"}
        if engine == "postgresql":
            from tests.postgres import list_settings  # noqa: PLC0415 - it needs more than the standard library

            store = {name.upper(): value for name, value in list_settings(folder).items()}
        return {**(named if self.document else {}), **store}

    @override
    def lay_out(self, folder: Path) -> dict[str, str]:
        self.prepare(folder)
        return super().lay_out(folder)

    def prepare(self, folder: Path) -> None:
        """Make the project in ``folder`` that the server works on, if it needs one."""
        if "/" in self.document:
            (folder / self.document).parent.mkdir(parents=True, exist_ok=True)

    @override
    def usual_environment(self, folder: Path) -> dict[str, str]:
        """Return the settings with which a user starts the server, for files in ``folder``."""
        return {self.variable: str(folder / self.file)}

    @property
    @override
    def settings_type(self) -> type[StoreServerSettings]:
        """The class of its settings."""
        return cast("type[StoreServerSettings]", super().settings_type)

    @property
    def codec(self) -> Codec[Any]:
        """The format of its document."""
        codec = self.program().codec
        assert codec, "a server with a store has one"
        return cast("Codec[Any]", codec())  # Task Master's is not one, and nobody asks for its records

    @override
    def built(self, folder: Path, engine: str = "json", **settings: object) -> TaskServer:
        """Return the server over its usual files in ``folder``."""
        return self.build({**self.environment(folder, engine), **settings})


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
        package="taskmaster_mcp",
        variable="TASK_MASTER_PROJECT_ROOT",
        file="workspace",
        document="workspace/.taskmaster/tasks/tasks.json",
        engines=("json",),
        settings={"TASK_MASTER_TOOLS": "all"},
        choices={"TASK_MASTER_TOOLS": ["core", "standard", "all"]},
        envelope="data",
        failing={"get_operation_status": "CORE_FUNCTION_ERROR"},
        codes={"DuplicateKey": "INPUT_VALIDATION_ERROR", "InvalidArguments": "INPUT_VALIDATION_ERROR"},
        text="title",
        list="get_tasks",
        get="get_task",
        update="update_task",
        calls={
            "add_task": {"title": "Beschreibe die Schnittstelle"},
            "get_tasks": {"withSubtasks": True},
            "get_task": {"id": MADE},
            "next_task": {},
            "update_task": {"id": MADE, "title": NEW_TEXT},
            "add_subtask": {"id": MADE, "title": "Lies den Entwurf"},
            "expand_task": {"id": MADE, "subtasks": [{"title": "Schreibe sie auf"}]},
            "update_subtask": {"id": MADE, "prompt": "Der Entwurf ist alt."},
            "set_task_status": {"id": MADE, "status": "in-progress"},
            "parse_prd": {"tasks": [{"title": "Prüfe sie"}], "append": True},
            "add_dependency": {"id": "2", "dependsOn": MADE},
            "validate_dependencies": {},
            "fix_dependencies": {},
            "remove_dependency": {"id": "2", "dependsOn": MADE},
            "update": {"from": MADE, "updates": [{"id": "2", "priority": "high"}]},
            "expand_all": {"expansions": [{"id": "2", "subtasks": [{"title": "Lies sie laut"}]}]},
            "analyze_project_complexity": {
                "analysis": [{"taskId": "2", "complexityScore": 3, "recommendedSubtasks": 2}]
            },
            "complexity_report": {},
            "move_task": {"from": "2", "to": "5"},
            "remove_subtask": {"id": "5.1"},
            "clear_subtasks": {"id": MADE},
            "initialize_project": {},
            "list_tags": {},
            "add_tag": {"name": "entwurf"},
            "copy_tag": {"sourceName": "entwurf", "targetName": "kopie"},
            "rename_tag": {"oldName": "kopie", "newName": "zweite"},
            "use_tag": {"name": "zweite"},
            "delete_tag": {"name": "zweite"},
            "generate": {},
            "cache_stats": {},
            "get_operation_status": {"operationId": "op-0"},
            "remove_task": {"id": MADE},
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
"""Every server with a store, in the order in which reports name them."""

PROGRAMS: Final[tuple[ProgramRecord, ...]] = (
    *SERVERS,
    ProgramRecord(
        package="cortex_mcp",
        distribution="cortex-tasks-mcp",
        world="tests.cortex_mcp.ctx_fixture",
        paths={"CORTEX_REPO": "repository"},
        list="list_tasks",
        calls={
            "list_tasks": {},
            "start_task": {"task_id": 42},
            "get_task_status": {},
            "submit_pr": {"commit_message": "Lies den Entwurf"},
            "complete_task": {},
        },
    ),
)
"""Every server."""


def record_of(name: str) -> ServerRecord:
    """Return the record of the server with this command, package or name; raise ``KeyError`` if it keeps no store."""
    return {key: record for record in SERVERS for key in _names(record)}[name]


def program_of(name: str) -> ProgramRecord:
    """Return the record of any server with this command, package or name; raise ``KeyError`` if there is none."""
    return {key: record for record in PROGRAMS for key in _names(record)}[name]


def _names(record: ProgramRecord) -> tuple[str, ...]:
    return record.command, record.package, record.name
