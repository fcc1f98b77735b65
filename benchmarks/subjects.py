"""The servers that are measured: the start of each over a store, and the calls that it gets."""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from benchmarks.stores import TEXT, Entry, forest, grouped_id, heartbeat_list, task_id, tasks_v1_list
from benchmarks.wire import Client
from task_core.store import Engine
from tests.servers import ServerRecord, record_of
from tests.wire.line_client import Era

__all__ = [
    "ECHO",
    "HIERARCHY",
    "LABELS",
    "PLAIN",
    "QUIET_HEARTBEAT",
    "SUBJECTS",
    "TASKS_V1",
    "Call",
    "Place",
    "Subject",
]

PLAIN: Final = (sys.executable, str(Path(__file__).with_name("plain_server.py")))
"""The command that starts the plain MCPServer."""


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
    record: ServerRecord
    entries: Callable[[int], Iterator[Entry]]
    """Makes so many tasks, parents first."""
    id_of: Callable[[int], str]
    create: Call
    get: Callable[[str], Call]
    page: Call
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """A store of a server, in a folder of its own."""

    subject: Subject
    engine: Engine
    folder: Path

    @property
    def store(self) -> Path:
        """The document or the database."""
        return self.folder / self.subject.record.store(self.engine)

    def client(self, era: Era = "legacy") -> Client:
        """Start the server over the store; the caller greets it."""
        record = self.subject.record
        environment = record.environment(self.folder, self.engine)
        if self.engine is not Engine.JSON:  # HEARTBEAT.md is measured beside a document
            environment.pop("HEARTBEAT_FILE_PATH", None)
        return Client(record.module_command, {**environment, **self.subject.settings}, era)


HEARTBEAT: Final = Subject(
    name="heartbeat",
    record=record_of("heartbeat"),
    entries=heartbeat_list,
    id_of=task_id,
    create=Call("task_create", {"raw_user_request": TEXT, "ideas": ["read it twice"]}),
    get=lambda name: Call("task_get", {"task_id": name}),
    page=Call("task_list", {"limit": 20}),
    settings={"TASK_RETENTION_DAYS": "36500"},
)
"""heartbeat-mcp with every task still open, and so in HEARTBEAT.md: the hardest case."""

QUIET_HEARTBEAT: Final = replace(HEARTBEAT, name="heartbeat, 50 active", entries=partial(heartbeat_list, active=50))
"""The same with few tasks in HEARTBEAT.md and all others done, as in a list that has been used for a while."""

HIERARCHY: Final = Subject(
    name="hierarchy",
    record=record_of("hierarchy"),
    entries=forest,
    id_of=grouped_id,
    create=Call("createTask", {"name": "Write one more part", "description": TEXT * 3}),
    get=lambda name: Call("getTask", {"id": name}),
    page=Call("listTasks", {"depth": 0, "limit": 20}),
)
"""hierarchy-mcp with trees of many tasks."""

TASKS_V1: Final = Subject(
    name="tasks-v1",
    record=record_of("tasks-v1"),
    entries=tasks_v1_list,
    id_of=task_id,
    create=Call("create_task", {"title": "One more question", "description": TEXT * 2, "tags": ["space"]}),
    get=lambda name: Call("get_task", {"id": name}),
    page=Call("list_tasks", {"limit": 20}),
)

SUBJECTS: Final = (HEARTBEAT, HIERARCHY, TASKS_V1)
"""The three servers."""

LABELS: Final = {Engine.SQLITE: "SQLite", Engine.JSON: "JSON"}
"""The engines that are measured, as the report calls them."""
