"""The acts of hierarchy-mcp."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

from pydantic import JsonValue
from typing_extensions import override

from hierarchy_mcp.arguments import CompleteTask, CreateTask, ListTasks, StartTask, UpdateTask
from hierarchy_mcp.codec import CODEC
from hierarchy_mcp.models import KIND
from hierarchy_mcp.service import HierarchyService
from task_core.store import Store
from task_core.store.document import DocumentDatabase
from task_core.warning_list import WarningList
from tests.acts import LOCK_SECONDS, NOW, Act, Bench, Shown, act_of

__all__ = ["ACTS", "HierarchyBench"]


class HierarchyBench(Bench):
    """The service over a file of nested tasks."""

    store = "tasks.json"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        document = DocumentDatabase(folder / self.store, CODEC, WarningList(), lambda: NOW)
        tasks = Store(document, KIND, clock=lambda: NOW, lock_seconds=LOCK_SECONDS)
        self.service = HierarchyService(tasks, strict_roots=False, rng=Random(7))

    @override
    def shown(self) -> Shown:
        roots = self.service.list_tasks(ListTasks()).model_dump(mode="json")["tasks"]
        shown: Shown = {str(root["name"]): root for root in roots}
        assert len(shown) == len(roots) == len({str(root["id"]) for root in roots})
        return shown

    @override
    def add(self, text: str) -> None:
        self.service.create_task(CreateTask(name=text))

    def create(self, task_id: str, *leaves: str) -> None:
        """Create a root task with leaves."""
        tasks: list[JsonValue] = [{"name": name, "id": name} for name in leaves]
        arguments = {"name": f"name of {task_id}", "id": task_id, "tasks": tasks}
        self.service.create_task(CreateTask.model_validate(arguments))


def usual(folder: Path) -> set[str]:
    """Leave two root tasks, of which one has been begun."""
    bench = HierarchyBench(folder)
    bench.create("house", "plan", "build")
    bench.create("tree", "dig", "plant")
    bench.service.start_task(StartTask(id="house"))
    return {"name of house", "name of tree"}


def half_done(folder: Path) -> set[str]:
    """Leave a root task with one open leaf."""
    texts = usual(folder)
    HierarchyBench(folder).service.complete_task(CompleteTask(id="plan", resolution="drawn"))
    return texts


def create(bench: HierarchyBench) -> None:
    bench.create("boat", "wood", "sail")


def append(bench: HierarchyBench) -> None:
    bench.service.create_task(CreateTask.model_validate({"name": "roof", "parentId": "house"}))


def update(bench: HierarchyBench) -> None:
    bench.service.update_task(UpdateTask(id="tree", description="an oak"))


def move(bench: HierarchyBench) -> None:
    bench.service.update_task(UpdateTask.model_validate({"id": "plant", "parentId": "house", "insertIndex": 1}))


def reopen(bench: HierarchyBench) -> None:
    bench.service.update_task(UpdateTask.model_validate({"id": "house", "status": "todo"}))


def delete(bench: HierarchyBench) -> None:
    bench.service.delete_task("tree")


def start(bench: HierarchyBench) -> None:
    bench.service.start_task(StartTask(id="tree"))


def complete(bench: HierarchyBench) -> None:
    bench.service.complete_task(CompleteTask(id="build", resolution="it stands"))


def show(bench: HierarchyBench) -> None:
    bench.shown()


def get(bench: HierarchyBench) -> None:
    assert bench.service.get_task("house").model_dump(mode="json")["task"]["id"] == "house"


ACTS: Final[list[Act]] = [
    act_of(HierarchyBench, "create", usual, create),
    act_of(HierarchyBench, "append", usual, append),
    act_of(HierarchyBench, "update", usual, update),
    act_of(HierarchyBench, "move", usual, move),
    act_of(HierarchyBench, "reopen", half_done, reopen),
    act_of(HierarchyBench, "delete", usual, delete, deletes="name of tree"),
    act_of(HierarchyBench, "start", usual, start),
    act_of(HierarchyBench, "complete", half_done, complete),
    act_of(HierarchyBench, "list", usual, show, is_reading=True),
    act_of(HierarchyBench, "get", usual, get, is_reading=True),
    act_of(HierarchyBench, "load", usual, show, is_reading=True, is_first=True),
    act_of(HierarchyBench, "load and create", usual, create, is_first=True),
]
"""Every operation, also the first one of a process, which loads."""
