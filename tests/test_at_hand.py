"""When a task can be looked up at once: in memory, with every file as it was left (SPEED-1, D7)."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from heartbeat_mcp.arguments import TaskCreate as ToDo
from hierarchy_mcp.arguments import CreateTask
from hierarchy_mcp.codec import ForestCodec
from hierarchy_mcp.service import HierarchyService
from task_core.clock import utc_now
from task_core.store import JsonFileStore, ListCodec, MemoryStore
from task_core.warning_list import WarningList
from tasks_v1_mcp.arguments import TaskCreate
from tasks_v1_mcp.models import StoredTask
from tasks_v1_mcp.service import TaskService
from tests.heartbeat.life import Life


def touch(path: Path) -> None:
    """Give a file another identity, as whoever writes it does."""
    os.utime(path, (1, 1))


def hierarchy(path: Path) -> HierarchyService:
    return HierarchyService(JsonFileStore(path, ForestCodec(), WarningList()), strict_roots=False, rng=Random(7))


@pytest.mark.requirement("SPEED-1", "D7")
def test_a_persons_task_is_at_hand_until_another_writes_the_store(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    service = TaskService(JsonFileStore(path, ListCodec(StoredTask), WarningList()), utc_now, Random(7))
    assert service.peek_task("task") is None
    task = service.create_task(TaskCreate(title="a"))
    assert service.peek_task(task.id) == service.get_task(task.id)
    assert service.peek_task("another") is None
    touch(path)
    assert service.peek_task(task.id) is None
    assert service.get_task(task.id) == task
    assert service.peek_task(task.id) == service.get_task(task.id)
    path.unlink()
    assert service.peek_task(task.id) is None


@pytest.mark.requirement("SPEED-1", "D7")
def test_a_to_do_is_at_hand_until_another_writes_the_store_or_the_section(tmp_path: Path) -> None:
    life = Life(tmp_path)
    task = life.service.create_task(ToDo.model_validate({"raw_user_request": "a"}))
    for path in (life.state, life.path):
        assert life.service.peek_task(task.id) == life.service.get_task(task.id)
        touch(path)
        assert life.service.peek_task(task.id) is None
        assert life.service.get_task(task.id) == task
    assert life.service.peek_task("another") is None


@pytest.mark.requirement("SPEED-1", "D7")
def test_a_nested_task_is_at_hand_until_another_writes_the_store(tmp_path: Path) -> None:
    service = hierarchy(tmp_path / "tree.json")
    service.create_task(CreateTask.model_validate({"name": "a", "id": "a", "tasks": [{"name": "b", "id": "b"}]}))
    assert service.peek_task("b") == service.get_task("b")
    assert service.peek_task("c") is None
    touch(tmp_path / "tree.json")
    assert service.peek_task("b") is None
    assert service.get_task("b").model_dump()["task"]["id"] == "b"
    assert service.peek_task("b") == service.get_task("b")


@pytest.mark.requirement("SPEED-1", "TOOL-7")
def test_a_task_of_a_large_tree_is_not_at_hand() -> None:
    service = HierarchyService(MemoryStore(), strict_roots=False, rng=Random(7))
    below = [{"name": str(number), "id": str(number)} for number in range(100)]
    service.create_task(CreateTask.model_validate({"name": "a", "id": "a", "tasks": below}))
    assert service.peek_task("0") is None


@pytest.mark.requirement("SPEED-1", "L1")
def test_nothing_is_at_hand_where_the_store_cannot_be_looked_at(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    service = hierarchy(folder / "tree.json")
    service.create_task(CreateTask(name="a", id="a"))
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_bytes(b"")  # what is below a file cannot be asked for
    assert service.peek_task("a") is None
