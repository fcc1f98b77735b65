"""A person's tasks in a store of their own, on every engine (EN-5), with a clock that the test moves."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final

import pytest
from pydantic import JsonValue

from task_core.models import Clock
from task_core.server.app import TaskServer
from task_core.store import Engine, Store, open_store
from task_core.store.database import MemoryDatabase
from task_core.warning_list import WarningList
from tasks_v1_mcp.codec import CODEC
from tasks_v1_mcp.models import KIND, StoredTask
from tasks_v1_mcp.server import build_server
from tasks_v1_mcp.service import TaskService
from tasks_v1_mcp.settings import TasksSettings
from tests.postgres import ON_POSTGRES, list_settings, needs_postgres, share_pool
from tests.tool_client import Era, OpenClient

START = datetime(2026, 3, 1, 12, tzinfo=UTC)

Object = dict[str, JsonValue]

KEPT: Final = [
    pytest.param(("auto", Engine.JSON), id="auto-json"),
    pytest.param(("auto", Engine.SQLITE), id="auto-sqlite"),
    pytest.param(("auto", Engine.POSTGRESQL), id="auto-postgresql", marks=needs_postgres),
]
EVERY: Final = [
    *KEPT,
    pytest.param(("auto", Engine.MEMORY), id="auto-memory"),
    pytest.param(("legacy", Engine.JSON), id="legacy-json"),
]


@dataclass
class ServedStore:
    """One store, and a server over it that clients of one era talk to."""

    folder: Path
    era: Era = "auto"
    engine: Engine = Engine.JSON
    now: datetime = START
    step: timedelta = timedelta(seconds=1)
    _client: OpenClient | None = field(default=None)

    def clock(self) -> datetime:
        """Return the present moment, a step later at each call, so that the order of tasks is plain."""
        self.now += self.step
        return self.now

    @property
    def store(self) -> Path:
        """The JSON document."""
        return self.folder / "tasks" / "tasks.json"

    @property
    def place(self) -> dict[str, object]:
        """The settings that name the list."""
        if self.engine is Engine.JSON:
            return {"tasks_file_path": self.store}
        if self.engine is Engine.POSTGRESQL:
            return {**list_settings(self.folder)}
        return {"task_store": "memory:" if self.engine is Engine.MEMORY else f"sqlite:{self.folder / 'tasks.db'}"}

    def stored(self) -> list[Object]:
        """Return the tasks in the document, as another program would read them."""
        tasks: list[Object] = json.loads(self.store.read_text("utf-8"))["tasks"]
        return tasks

    def restart(self, **settings: object) -> TaskServer:
        """Return a server as a new process would start it; calls go to it from now on."""
        values = {**self.place, "task_lock_timeout": 0.2, "task_fsync": False, **settings}
        shared = share_pool(TasksSettings.model_validate(values))
        server = build_server(shared, clock=self.clock, rng=Random(7))
        self._client = OpenClient(server, self.era)
        return server

    async def call(self, tool: str, **arguments: JsonValue) -> Object:
        """Call one tool and return the structured result."""
        if self._client is None:
            self.restart()
        assert self._client
        return await self._client.call(tool, arguments)

    async def task(self, tool: str, **arguments: JsonValue) -> Object:
        """Call a tool that answers with one task and return the task."""
        task = (await self.call(tool, **arguments))["task"]
        assert isinstance(task, dict)
        return task

    async def whole(self) -> JsonValue:
        """Return all of the first hundred tasks."""
        return (await self.call("list_tasks", limit=100, include_description=True))["tasks"]

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


def opened(folder: Path, engine: Engine, clock: Clock = lambda: START) -> Store[StoredTask]:
    """Return a store in ``folder``, as a server opens it."""
    settings = TasksSettings.model_validate({**ServedStore(folder, engine=engine).place, "task_fsync": False})
    if settings.address.path:
        settings.address.path.parent.mkdir(exist_ok=True)
    return open_store(share_pool(settings), CODEC, WarningList(), clock=clock)


def service_over(store: Store[StoredTask]) -> TaskService:
    """Return the service that a server would have over ``store``."""
    return TaskService(store, Random(7))


def service_at(moment: datetime, *tasks: StoredTask) -> TaskService:
    """Return a service whose clock stands still, over a list in memory with these tasks."""
    store = Store(MemoryDatabase(), KIND, clock=lambda: moment)
    put(store, tasks)
    return service_over(store)


def put(store: Store[StoredTask], tasks: Iterable[StoredTask]) -> None:
    """Add ``tasks`` to a store as they are."""
    with store.transaction() as work:
        for task in tasks:
            work.add(task)


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> Era:
    found: Era = request.param
    return found


@pytest.fixture(params=[Engine.MEMORY, Engine.JSON, Engine.SQLITE, ON_POSTGRES], ids=str)
def engine(request: pytest.FixtureRequest) -> Engine:
    return Engine(request.param)


@pytest.fixture
def served(tmp_path: Path) -> ServedStore:
    """Return a server on a JSON document."""
    return ServedStore(tmp_path)


@pytest.fixture(params=EVERY)
def any_served(request: pytest.FixtureRequest, tmp_path: Path) -> ServedStore:
    """Return a server on every engine, and in the older era on one, for one success of each tool."""
    return ServedStore(tmp_path, *request.param)


@pytest.fixture(params=KEPT)
def kept_served(request: pytest.FixtureRequest, tmp_path: Path) -> ServedStore:
    """Return a server whose store outlives it."""
    return ServedStore(tmp_path, *request.param)
