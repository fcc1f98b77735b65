"""Nested tasks in memory or in a file of their own, and the client that works on them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from pydantic import JsonValue

from hierarchy_mcp.codec import CODEC
from hierarchy_mcp.models import KIND, HierarchyTask
from hierarchy_mcp.server import build_server
from hierarchy_mcp.settings import HierarchySettings
from task_core.document_file.source import Source
from task_core.server.app import TaskServer
from task_core.store import Store
from task_core.store.database import MemoryDatabase
from tests.postgres import ON_POSTGRES, list_settings, share_pool
from tests.tool_client import OpenClient, ToolFailed, call_tool

Object = dict[str, JsonValue]


def tree(task_id: str, *tasks: Object, **fields: JsonValue) -> Object:
    """Return the arguments for a task that has its id as its name too, by default."""
    arguments: Object = {"name": task_id, "id": task_id, **fields}
    return {**arguments, "tasks": [*tasks]} if tasks else arguments


def planted(*trees: JsonValue) -> Store[HierarchyTask]:
    """Return a store in memory with these trees, which may give tasks any status."""
    store = Store(MemoryDatabase(), KIND)
    with store.transaction() as work:
        for block in CODEC.decode(Source("trees", json.dumps(trees).encode())).records.values():
            for task, parent in block:
                work.add(task, parent)
    return store


def dig(value: JsonValue, *keys: str | int) -> JsonValue:
    """Return the value under ``keys``."""
    for key in keys:
        if isinstance(value, dict):
            value = value[str(key)]
        else:
            assert isinstance(value, list)
            value = value[int(key)]
    return value


def objects(value: JsonValue, *keys: str | int) -> list[Object]:
    """Return the objects of the list under ``keys``."""
    found = dig(value, *keys)
    assert isinstance(found, list)
    return [item for item in found if isinstance(item, dict)]


def ids(value: JsonValue, *keys: str | int) -> list[JsonValue]:
    """Return the ids in the list under ``keys``."""
    return [item["id"] for item in objects(value, *keys)]


def walk(tasks: list[Object]) -> Iterator[Object]:
    """Yield each task and all below it, in the order of the tree."""
    for task in tasks:
        yield task
        yield from walk(objects(task, "tasks"))


def rows(table: JsonValue) -> list[list[str]]:
    """Return the cells of the table, below its head; no name in it holds a bar."""
    assert isinstance(table, str)
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


@dataclass
class ServedTree:
    """A set of tasks and the server over it; ``path`` is None where they are not in a document."""

    path: Path | None = None
    settings: dict[str, str] = field(default_factory=dict)
    store: dict[str, str] = field(default_factory=lambda: {"task_store": "memory:"})
    _client: OpenClient | None = None

    @property
    def server(self) -> TaskServer:
        """The server that calls go to."""
        return self.client.server

    @property
    def client(self) -> OpenClient:
        """The client of that server."""
        if self._client is None:
            self._client = OpenClient(self.another())
        return self._client

    def another(self) -> TaskServer:
        """Return a server as a new process would start it."""
        return build_server(
            share_pool(
                HierarchySettings.model_validate(
                    {
                        **({"file_path": self.path} if self.path else self.store),
                        "task_fsync": False,
                        "task_lock_timeout": 0.5,
                        **self.settings,
                    }
                )
            ),
            rng=Random(7),
        )

    def restart(self, **settings: str) -> None:
        """Let calls go to a server that has just started."""
        self.settings = settings
        self._client = OpenClient(self.another())

    async def call(self, tool: str, **arguments: JsonValue) -> Object:
        """Call one tool and return the structured result."""
        return await self.client.call(tool, arguments)

    async def refused(self, tool: str, **arguments: JsonValue) -> ToolFailed:
        """Return the error that the tool answers with, having changed nothing (ERR-2)."""
        before = await self.call("listTasks"), self.bytes
        with pytest.raises(ToolFailed) as caught:
            await self.call(tool, **arguments)
        assert (await self.call("listTasks"), self.bytes) == before
        return caught.value

    async def create(self, *trees: Object) -> None:
        """Create root tasks."""
        for arguments in trees:
            await self.call("createTask", **arguments)

    async def finish(self, *task_ids: str) -> None:
        """Start and complete leaves."""
        for task_id in task_ids:
            await self.call("startTask", id=task_id)
            await self.call("completeTask", id=task_id, resolution=f"{task_id} was done")

    async def statuses(self) -> dict[str, JsonValue]:
        """Return the status of every task, by id and in order."""
        return {str(task["id"]): task["status"] for task in walk(objects(await self.call("listTasks"), "tasks"))}

    @property
    def bytes(self) -> bytes | None:
        """The contents of the file, if there is one."""
        return self.path.read_bytes() if self.path and self.path.exists() else None

    @property
    def stored(self) -> list[Object]:
        """The root tasks in the file, as another program would read them."""
        assert self.path is not None
        return objects(json.loads(self.path.read_text("utf-8")))


async def call(server: TaskServer, tool: str, **arguments: JsonValue) -> Object:
    """Call one tool of ``server`` over a client of its own and return the structured result."""
    return await call_tool(server, tool, arguments)


def serve_on(engine: str, folder: Path) -> ServedTree:
    """Return tasks on this engine, which keeps its files in ``folder``."""
    if engine == "json":
        return ServedTree(folder / "tasks.json")
    if engine == "postgresql":
        return ServedTree(store=list_settings(folder))
    return ServedTree(store={"task_store": "memory:" if engine == "memory" else f"sqlite:{folder}/tasks.db"})


@pytest.fixture
def served(tmp_path: Path) -> ServedTree:
    """Tasks in a document."""
    return serve_on("json", tmp_path)


@pytest.fixture(params=["json", "sqlite", ON_POSTGRES])
def any_served(request: pytest.FixtureRequest, tmp_path: Path) -> ServedTree:
    """Tasks on each engine, for what each tool asks of it."""
    return serve_on(request.param, tmp_path)
