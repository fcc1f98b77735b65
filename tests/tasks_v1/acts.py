"""The acts of tasks-v1-mcp."""

from pathlib import Path
from random import Random
from typing import Final

from typing_extensions import override

from task_core.store import Store
from task_core.store.document import DocumentDatabase
from task_core.warning_list import WarningList
from tasks_v1_mcp.arguments import CreateTaskArguments, ListTasksArguments, MoveTaskArguments, UpdateTaskArguments
from tasks_v1_mcp.codec import CODEC
from tasks_v1_mcp.models import KIND
from tasks_v1_mcp.service import TaskService
from tests.acts import LOCK_SECONDS, NOW, Act, Bench, Shown, act_of

__all__ = ["ACTS", "TasksBench"]


class TasksBench(Bench):
    """The service over a file of tasks."""

    store = "tasks.json"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        document = DocumentDatabase(folder / self.store, CODEC, WarningList(), lambda: NOW)
        tasks = Store(document, KIND, clock=lambda: NOW, lock_seconds=LOCK_SECONDS)
        self.service = TaskService(tasks, Random(7))

    @override
    def shown(self) -> Shown:
        tasks = self.service.list_tasks(ListTasksArguments(limit=100)).tasks
        shown: Shown = {task.title: task.model_dump(mode="json", exclude={"id"}) for task in tasks}
        assert len(shown) == len(tasks) == len({task.id for task in tasks})
        return shown

    @override
    def add(self, text: str) -> None:
        self.service.create_task(CreateTaskArguments(title=text))

    @property
    def first(self) -> str:
        """The id of a task."""
        return self.service.list_tasks(ListTasksArguments(query="first")).tasks[0].id


def usual(folder: Path) -> set[str]:
    """Leave two tasks."""
    bench = TasksBench(folder)
    bench.add("first")
    bench.add("second")
    return {"first", "second"}


def create(bench: TasksBench) -> None:
    bench.add("new")


def update(bench: TasksBench) -> None:
    bench.service.update_task(UpdateTaskArguments(id=bench.first, description="soon", tags=("a", "b")))


def start(bench: TasksBench) -> None:
    bench.service.update_task_status(MoveTaskArguments.model_validate({"id": bench.first, "status": "in_progress"}))


def show(bench: TasksBench) -> None:
    bench.shown()


def get(bench: TasksBench) -> None:
    assert bench.service.get_task(bench.first).title == "first"


ACTS: Final[list[Act]] = [
    act_of(TasksBench, "create", usual, create),
    act_of(TasksBench, "update", usual, update),
    act_of(TasksBench, "start", usual, start),
    act_of(TasksBench, "list", usual, show, is_reading=True),
    act_of(TasksBench, "get", usual, get, is_reading=True),
    act_of(TasksBench, "load", usual, show, is_reading=True, is_first=True),
    act_of(TasksBench, "load and create", usual, create, is_first=True),
]
"""Every operation, also the first one of a process, which loads."""
