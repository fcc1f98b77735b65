"""The servers that are measured: how each is started over a store of so many tasks, and what it is asked."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from benchmarks.stores import TEXT, forest, grouped_id, heartbeat_list, task_id, tasks_v1_list
from benchmarks.wire import Client
from heartbeat_mcp.models import Task as HeartbeatTask
from hierarchy_mcp.models import Task as HierarchyTask
from task_core.models import Record
from tasks_v1_mcp.models import StoredTask
from tests.wire.line_client import Era

__all__ = [
    "ASYNC_PLAIN",
    "ECHO",
    "HEARTBEAT",
    "NO_MIRROR",
    "PLAIN",
    "QUIET_HEARTBEAT",
    "SUBJECTS",
    "Call",
    "Stores",
    "Subject",
]

PLAIN: Final = (sys.executable, str(Path(__file__).with_name("plain_server.py")))
"""The command that starts the plain MCPServer."""

ASYNC_PLAIN: Final = (*PLAIN, "async")
"""The same with its tool as a coroutine."""

FEW: Final = 50
"""Tasks that are still to be done in the list of an agent that has done all others: as many as a page shows."""


@dataclass(frozen=True)
class Call:
    """A tool and its arguments."""

    tool: str
    arguments: Mapping[str, JsonValue]

    def line(self, client: Client) -> bytes:
        """Return the call as the next line of ``client``."""
        return client.tool_line(self.tool, **self.arguments)


ECHO: Final = Call("echo", {"text": "x"})
"""The call of a trivial tool, which the plain server and the toy of the tests have."""


@dataclass(frozen=True)
class Subject:
    """A server under test."""

    name: str
    module: str
    variable: str
    """The setting that names its file."""
    file: str
    """The file that it names."""
    store: str
    """The document with the tasks."""
    document: Callable[[int], bytes]
    """Makes the document with so many tasks."""
    record: type[Record]
    id_of: Callable[[int], str]
    create: Call
    get: Callable[[str], Call]
    change: Callable[[str, int], Call]
    """Gives the task with this id another value, told by a number."""
    page: Call
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def command(self) -> tuple[str, ...]:
        """The command that starts it."""
        return (sys.executable, "-m", self.module)

    def client(self, folder: Path, era: Era = "legacy", settings: Mapping[str, str] | None = None) -> Client:
        """Start it over the store in ``folder``; the caller greets it."""
        return Client(self.command, {self.variable: str(folder / self.file), **self.settings, **(settings or {})}, era)


class Stores:
    """Folders with a store each, made once for each server and size and then copied."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[tuple[str, int], Path] = {}
        self._copies = 0

    def folder(self) -> Path:
        """Return a new empty folder."""
        self._copies += 1
        folder = self._folder / f"{self._copies:04d}"
        folder.mkdir()
        return folder

    def copy(self, subject: Subject, count: int) -> Path:
        """Return a new folder in which the server has ``count`` tasks and HEARTBEAT.md, if it has one, is in step."""
        key = subject.name, count
        if key not in self._made:
            self._made[key] = self._make(subject, count)
        folder = self.folder()
        shutil.copytree(self._made[key], folder, dirs_exist_ok=True)
        return folder

    def _make(self, subject: Subject, count: int) -> Path:
        folder = self.folder()
        (folder / subject.store).write_bytes(subject.document(count))
        if count:
            with subject.client(folder) as client:
                client.seconds(subject.change(subject.id_of(count - 1), 0).line(client))
        return folder


def _heartbeat(name: str, document: Callable[[int], bytes], **settings: str) -> Subject:
    return Subject(
        name=name,
        module="heartbeat_mcp",
        variable="HEARTBEAT_FILE_PATH",
        file="HEARTBEAT.md",
        store="heartbeat_state.json",
        document=document,
        record=HeartbeatTask,
        id_of=task_id,
        create=Call("task_create", {"raw_user_request": TEXT, "ideas": ["read it twice"]}),
        get=lambda name: Call("task_get", {"task_id": name}),
        change=lambda name, number: Call("task_update", {"task_id": name, "updates": {"result": f"part {number}"}}),
        page=Call("task_list", {}),
        settings={"TASK_RETENTION_DAYS": "36500", **settings},
    )


HEARTBEAT: Final = _heartbeat("heartbeat", lambda count: heartbeat_list(count, count))
"""heartbeat-mcp with every task still to be done, and so in HEARTBEAT.md: the hardest case."""

QUIET_HEARTBEAT: Final = _heartbeat("heartbeat, 50 active", lambda count: heartbeat_list(count, min(count, FEW)))
"""The same with few tasks in HEARTBEAT.md and all others done, as a list comes to be that is worked on."""

NO_MIRROR: Final = {"AUTO_SYNC_ENABLED": "false"}
"""Settings of heartbeat-mcp with which it leaves HEARTBEAT.md alone."""

_HIERARCHY: Final = Subject(
    name="hierarchy",
    module="hierarchy_mcp",
    variable="FILE_PATH",
    file="tasks.json",
    store="tasks.json",
    document=forest,
    record=HierarchyTask,
    id_of=grouped_id,
    create=Call("createTask", {"name": "Write one more part", "description": TEXT * 3}),
    get=lambda name: Call("getTask", {"id": name}),
    change=lambda name, number: Call("updateTask", {"id": name, "resolution": f"part {number}"}),
    page=Call("listTasks", {"parentId": grouped_id(0), "depth": 0}),
)

_TASKS_V1: Final = Subject(
    name="tasks-v1",
    module="tasks_v1_mcp",
    variable="TASKS_FILE_PATH",
    file="tasks.json",
    store="tasks.json",
    document=tasks_v1_list,
    record=StoredTask,
    id_of=task_id,
    create=Call("create_task", {"title": "One more question", "description": TEXT * 2, "tags": ["space"]}),
    get=lambda name: Call("get_task", {"id": name}),
    change=lambda name, number: Call("update_task", {"id": name, "source": f"part {number}"}),
    page=Call("list_tasks", {}),
)

SUBJECTS: Final = (HEARTBEAT, _HIERARCHY, _TASKS_V1)
"""The three servers."""
