"""A to-do list in a folder of its own, with a clock that the test moves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from filelock import FileLock
from mcp.client import Client
from pydantic import JsonValue

from heartbeat_mcp.server import build_server
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.server.app import TaskServer
from tests.core.notes import DEADLINE
from tests.heartbeat.cleaning import clean_ups_ended
from tests.postgres import ON_POSTGRES, hold_list, list_settings, share_pool
from tests.tool_client import ToolFailed

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class Desk:
    """One folder with a HEARTBEAT.md, and the servers that run over it."""

    folder: Path
    engine: str = "json"
    now: datetime = START

    def clock(self) -> datetime:
        """Return the present moment, one second later at each call, so that the order of tasks is plain."""
        self.now += timedelta(seconds=1)
        return self.now

    @property
    def heartbeat(self) -> Path:
        return self.folder / "HEARTBEAT.md"

    @property
    def state(self) -> Path:
        return self.folder / "heartbeat_state.json"

    def hold(self) -> AbstractContextManager[None]:
        """Let nobody change the store within the block, as another process does that changes it."""
        if self.engine == "postgresql":
            return hold_list(self.folder)
        return other_holder(self.folder / ("heartbeat_state.json.lock" if self.engine == "json" else "tasks.db.lock"))

    @property
    def bytes(self) -> bytes | None:
        """The contents of the document, if there is one."""
        return self.state.read_bytes() if self.state.exists() else None

    def stored(self) -> dict[str, dict[str, Any]]:
        """Return the tasks in the store by id, as another program would read them."""
        return {task["id"]: task for task in json.loads(self.state.read_text("utf-8"))["tasks"]}

    def server(self, **settings: str) -> TaskServer:
        """Return a server as a new process would start it, with these settings beside the usual ones."""
        values = {
            "heartbeat_file_path": str(self.heartbeat),
            "task_lock_timeout": "10",
            "task_fsync": "false",
            **self.store,
            **settings,
        }
        return build_server(share_pool(HeartbeatSettings.model_validate(values)), clock=self.clock, rng=Random(7))

    @property
    def store(self) -> dict[str, str]:
        """The settings that name the list, if it is not the document beside HEARTBEAT.md."""
        if self.engine == "json":
            return {}
        if self.engine == "postgresql":
            return list_settings(self.folder)
        return {"task_store": "memory:" if self.engine == "memory" else f"sqlite:{self.folder / 'tasks.db'}"}


_CLIENTS: WeakKeyDictionary[TaskServer, tuple[asyncio.Future[Client], asyncio.Task[None]]] = WeakKeyDictionary()
"""The client of each server, and the task that holds it open: the end of the test's loop cancels it."""


async def client_of(server: TaskServer) -> Client:
    """Return the client of a server, which stays connected until the test ends."""
    if server not in _CLIENTS:
        connected: asyncio.Future[Client] = asyncio.get_running_loop().create_future()

        async def stay() -> None:
            async with Client(server.sdk) as client:
                connected.set_result(client)
                await asyncio.Event().wait()

        _CLIENTS[server] = connected, asyncio.create_task(stay())
    return await _CLIENTS[server][0]


async def call(server: TaskServer, tool: str, **arguments: JsonValue) -> dict[str, Any]:
    """Call one tool and return the structured result, once the clean-up has ended too."""
    try:
        result = await (await client_of(server)).call_tool(tool, arguments)
    finally:
        await clean_ups_ended()
    content: dict[str, Any] | None = result.structured_content
    assert content is not None
    if result.is_error:
        raise ToolFailed(content["error"])
    return content


@contextmanager
def other_holder(lock: Path) -> Iterator[None]:
    """Hold the lock as another process would, through an open file of its own, once a server that ends is done."""
    with FileLock(lock, timeout=DEADLINE, poll_interval=0.01):
        yield


@pytest.fixture(params=["json", "sqlite", ON_POSTGRES])
def each_desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    """A list on each engine."""
    return Desk(tmp_path, request.param)


@pytest.fixture(params=["json", "sqlite"])
def kept_desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    """A list whose archive is a file, and one whose archive is rows of a database."""
    return Desk(tmp_path, request.param)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A list in memory, for what no engine decides."""
    return Desk(tmp_path, "memory")


@pytest.fixture
def stored_desk(tmp_path: Path) -> Desk:
    """A list in a document."""
    return Desk(tmp_path)
