"""The servers that are measured, their stores with up to a million tasks of some 475 bytes, and the calls they get."""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from pydantic import JsonValue

from benchmarks.wire import Call, Client
from task_core.models import format_timestamp
from task_core.store import ROOTS, Engine, Store
from task_core.store.collection import Node
from task_core.store.sqlite import SqliteDatabase
from tests.servers import ServerRecord, record_of

T = TypeVar("T")

PLAIN: Final = (sys.executable, str(Path(__file__).with_name("plain_server.py")))
"""The command that starts the plain MCPServer."""

ECHO: Final = Call("echo", {"text": "x"})
"""The call of a trivial tool, which the plain server and the toy of the tests have."""

LABELS: Final = {Engine.SQLITE: "SQLite", Engine.JSON: "JSON"}
"""The engines that are measured, as the report calls them."""

GROUP: Final = 50
"""Tasks of a tree, with its root."""

TEXT: Final = "Compare what was said with what was done, and write down 差异 on one page. "
"""The text that requests and descriptions consist of."""

Entry = tuple[dict[str, JsonValue], str]
"""A task and its parent."""


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

    def client(self) -> Client:
        """Start the server over the store; the caller greets it."""
        record = self.subject.record
        environment = record.environment(self.folder, self.engine)
        if self.engine is not Engine.JSON:  # HEARTBEAT.md is measured beside a document
            environment.pop("HEARTBEAT_FILE_PATH", None)
        return Client(record.module_command, {**environment, **self.subject.settings})

    def save(self, count: int) -> None:
        """Make the store with so many tasks, as the server would have left it."""
        codec = self.subject.record.codec
        entries = self.subject.entries(count)
        records = ((codec.kind.record_type.model_validate(item), parent) for item, parent in entries)
        if self.engine is Engine.SQLITE:
            store = Store(SqliteDatabase(self.store, fsync=False), codec.kind, lock_seconds=600)
            with store.transaction() as work:
                work.load(records)
            with store.transaction():
                pass  # by now the log has been put back into the database
            store.close()
        else:
            nodes = [Node(record.id, parent, record.to_json()) for record, parent in records]
            self.store.write_bytes(codec.document(codec.encode(nodes), {}))


@dataclass(frozen=True)
class Bench:
    """One run: the folder of its stores, and whether it is a quick one, which only shows that everything works."""

    folder: Path
    is_quick: bool

    def pick(self, usual: T, quick: T) -> T:
        """Return the value for this kind of run."""
        return quick if self.is_quick else usual

    def place(self, subject: Subject, count: int, engine: Engine = Engine.JSON) -> Place:
        """Return a new store with ``count`` tasks in a folder of its own."""
        place = Place(subject, engine, Path(tempfile.mkdtemp(dir=self.folder)))
        place.save(count)
        return place


def task_id(number: int) -> str:
    """Return the id of a task in a list."""
    return f"task-{number:06d}"


def grouped_id(number: int) -> str:
    """Return the id of a task in a forest: that of its root, and its place below."""
    root, place = divmod(number, GROUP)
    return f"g{root:05d}.{place}" if place else f"g{root:05d}"


def _moment(number: int) -> str:
    return format_timestamp(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number))


def heartbeat_list(count: int, active: int | None = None) -> Iterator[Entry]:
    """Yield tasks of heartbeat-mcp: the last ``active`` are Pending, or all, and the others Complete."""
    for number in range(count):
        moment, is_active = _moment(number), active is None or number >= count - active
        item: dict[str, JsonValue] = {
            "id": task_id(number),
            "status": "Pending" if is_active else "Complete",
            "raw_user_request": f"Request {number}. {TEXT}",
            "ideas": ["read it twice"],
            "result": None if is_active else "done",
            "created_at": moment,
            "updated_at": moment,
            "completed_at": None if is_active else moment,
        }
        yield item, ROOTS


def tasks_v1_list(count: int) -> Iterator[Entry]:
    """Yield tasks of tasks-v1-mcp."""
    for number in range(count):
        item: dict[str, JsonValue] = {
            "id": task_id(number),
            "title": f"Question {number}",
            "description": TEXT * 2,
            "category": "tech",
            "priority": ("low", "medium", "high")[number % 3],
            "tags": ["space", f"tag_{number % 17}"],
            "topic_id": f"space_industry_{number % 1_000}",
            "source": "manual_note",
            "created_at": _moment(number),
            "updated_at": _moment(number),
        }
        yield item, ROOTS


def forest(count: int) -> Iterator[Entry]:
    """Yield trees of ``GROUP`` tasks for hierarchy-mcp, each a root with its subtasks."""
    for number in range(count):
        item: dict[str, JsonValue] = {
            "id": grouped_id(number),
            "name": f"Write part {number}",
            "description": TEXT * 3,
            "completion_criteria": ["a page, no more"],
            "constraints": ["no new source"],
        }
        yield item, grouped_id(number - number % GROUP) if number % GROUP else ROOTS


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
QUIET: Final = (QUIET_HEARTBEAT, HIERARCHY, TASKS_V1)
