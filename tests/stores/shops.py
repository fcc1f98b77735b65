"""The three servers seen from their stores: the same few things asked of each, so that one table serves all."""

from __future__ import annotations

import asyncio
import atexit
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final, TypeVar

import pytest
from pydantic import JsonValue

import heartbeat_mcp.server
import hierarchy_mcp.server
import tasks_v1_mcp.server
from heartbeat_mcp.settings import HeartbeatSettings
from hierarchy_mcp.settings import HierarchySettings
from task_core.cli.settings import StoreServerSettings
from task_core.server.app import TaskServer
from tasks_v1_mcp.settings import TasksSettings
from tests.servers import ServerRecord, record_of
from tests.tool_client import OpenClient

__all__ = ["SHOPS", "WORK", "Object", "Shop", "each_shop", "litter"]

Object = dict[str, JsonValue]

SettingsT = TypeVar("SettingsT", bound=StoreServerSettings)

MOMENT: Final = "2026-03-01T12:00:00.000000Z"
"""When every task of these tests was made."""


class Caller:
    """Keeps the client of the last server that was called: its first call takes longer than all that follow."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._client: OpenClient | None = None

    def call(self, server: TaskServer, tool: str, arguments: Object) -> Object:
        """Call one tool and return the structured result."""
        return self._runner.run(self._call(server, tool, arguments))

    def close(self) -> None:
        """End the client."""
        if self._client:
            self._runner.run(self._client.close())
        self._runner.close()

    async def _call(self, server: TaskServer, tool: str, arguments: Object) -> Object:
        if self._client is None or self._client.server is not server:
            if self._client:
                await self._client.close()
            self._client = OpenClient(server)
        return await self._client.call(tool, arguments)


CALLER: Final = Caller()
atexit.register(CALLER.close)


@dataclass(frozen=True)
class Shop:
    """One server: how it is made over a store, and what its tasks look like."""

    record: ServerRecord
    stamped: tuple[str, ...]
    """The fields that hold a moment."""
    variable: str
    """The environment variable that names the store."""
    build: Callable[[Path], TaskServer]

    @property
    def name(self) -> str:
        """The name of the server."""
        return self.record.name

    @property
    def text(self) -> str:
        """The field of a task that holds its text."""
        return self.record.text

    @property
    def has_roots(self) -> bool:
        """Whether the document is a bare array."""
        return self.name == "hierarchy"

    def task(self, task_id: JsonValue, text: JsonValue = "t", **fields: JsonValue) -> Object:
        """Return a task as a person may write it into the store."""
        return {"id": task_id, self.text: text, **dict.fromkeys(self.stamped, MOMENT), **fields}

    def document(self, *tasks: JsonValue, **fields: JsonValue) -> JsonValue:
        """Return a document; ``fields`` are beside the tasks, if the format has room for them."""
        return list(tasks) if self.has_roots else {"version": 1, "tasks": list(tasks), **fields}

    def data(self, *tasks: JsonValue, **fields: JsonValue) -> bytes:
        """Return the document as UTF-8."""
        return json.dumps(self.document(*tasks, **fields), ensure_ascii=False).encode()

    def tasks_in(self, document: JsonValue) -> list[JsonValue]:
        """Return what is in the place of the tasks in a document, or nothing if it has no such place."""
        found = document.get("tasks") if isinstance(document, dict) and not self.has_roots else document
        return found if isinstance(found, list) else []

    def call(self, server: TaskServer, tool: str, **arguments: JsonValue) -> Object:
        """Call one tool and return the structured result."""
        return CALLER.call(server, tool, arguments)

    def texts(self, server: TaskServer) -> list[str]:
        """Return the texts that the server lists, in alphabetical order."""
        return self.texts_in(self.ask(server))

    def texts_in(self, answer: Object) -> list[str]:
        """Return the texts of the tasks in an answer, in alphabetical order."""
        tasks = answer["tasks"]
        assert isinstance(tasks, list)
        return sorted(str(task[self.text]) for task in tasks if isinstance(task, dict))

    def ask(self, server: TaskServer) -> Object:
        """Return what the server answers when it is asked for all tasks, on however many pages."""
        answer = self.call(server, self.record.list)
        tasks = answer["tasks"]
        assert isinstance(tasks, list)
        while tasks and self.has_roots and answer.pop("left_out", 0):
            last = tasks[-1]
            assert isinstance(last, dict)
            page = self.call(server, self.record.list, after=last["id"])
            assert isinstance(page["tasks"], list)
            tasks += page["tasks"]
            answer |= {name: value for name, value in page.items() if name != "tasks"}
        return answer

    def create(self, server: TaskServer, text: str) -> Object:
        """Create a task."""
        return self.call(server, self.record.create, **{self.text: text})


WORK: Final[dict[str, tuple[tuple[str, Object], ...]]] = {
    "heartbeat": (
        ("task_list", {"include_archived": True, "days_to_keep_completed": 0}),
        ("task_list", {"include_completed": True, "days_to_keep_completed": 1e9}),
        ("task_get", {"task_id": "ID"}),
        (
            "task_update",
            {"task_id": "ID", "updates": {"result": "x", "ideas": "y", "mood": None}, "append_ideas": True},
        ),
        ("task_update", {"task_id": "ID", "updates": {"status": "Complete", "extra_fields": {"k": 1}}}),
    ),
    "hierarchy": (
        ("listTasks", {"depth": 1}),
        ("getTask", {"id": "ID"}),
        ("startTask", {"id": "ID"}),
        ("completeTask", {"id": "ID", "resolution": "x"}),
        ("createTask", {"name": "below", "parentId": "ID", "insertIndex": 0}),
        ("updateTask", {"id": "ID", "status": "todo", "constraints": ["x"]}),
        ("deleteTask", {"id": "ID"}),
    ),
    "tasks-v1": (
        ("list_tasks", {"limit": 1, "order_by": "priority_desc", "include_description": True}),
        ("list_tasks", {"limit": 1, "order_by": "updated_at_desc", "cursor": "CURSOR"}),
        ("list_tasks", {"query": "o", "tags_any": ["x"], "status": ["pending", "done"], "priority": 1}),
        ("get_task", {"id": "ID"}),
        ("update_task", {"id": "ID", "priority": 3, "tags": ["y"], "description": None}),
        ("list_tasks", {"limit": 1, "order_by": "priority_desc", "cursor": "CURSOR", "include_description": True}),
        ("update_task_status", {"id": "ID", "status": "canceled"}),
    ),
}
"""Calls of every tool for one task, whose id stands for ``ID``; ``CURSOR`` is what the first call gave."""


def _heartbeat(path: Path) -> TaskServer:
    files = {"heartbeat_file_path": path.with_name("HEARTBEAT.md"), "heartbeat_state_path": path}
    options = _fast(HeartbeatSettings, auto_sync_enabled=False, **files)
    return heartbeat_mcp.server.build_server(options, rng=Random(7))


def _hierarchy(path: Path) -> TaskServer:
    return hierarchy_mcp.server.build_server(_fast(HierarchySettings, file_path=path), rng=Random(7))


def _tasks_v1(path: Path) -> TaskServer:
    return tasks_v1_mcp.server.build_server(_fast(TasksSettings, tasks_file_path=path), rng=Random(7))


def _fast(settings_type: type[SettingsT], **values: object) -> SettingsT:
    return settings_type.model_validate({"task_fsync": False, "task_lock_timeout": 0.5, **values})


STAMPS: Final = ("created_at", "updated_at")

SHOPS: Final = (
    Shop(record_of("heartbeat"), STAMPS, "HEARTBEAT_STATE_PATH", _heartbeat),
    Shop(record_of("hierarchy"), (), "FILE_PATH", _hierarchy),
    Shop(record_of("tasks-v1"), STAMPS, "TASKS_FILE_PATH", _tasks_v1),
)

each_shop: Final = pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.name)
"""Runs a test with each of the three servers."""


OWN_SUFFIXES: Final = (".lock", ".history.jsonl")
"""Suffixes of the files beside every document: its lock and its history."""


def litter(path: Path) -> list[Path]:
    """Return what lies beside the store, its lock and its history, in order."""
    return sorted(set(path.parent.iterdir()) - {path, *(path.with_name(path.name + it) for it in OWN_SUFFIXES)})
