"""The acts of heartbeat-mcp."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from pydantic import JsonValue
from typing_extensions import override

from heartbeat_mcp.arguments import TaskCreate, TaskList, TaskUpdate
from heartbeat_mcp.models import HeartbeatStatus, HeartbeatTask
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.errors import TaskNotFound
from tests.acts import LOCK_SECONDS, NOW, Bench, Shown, act_of, files_in, lay_out
from tests.heartbeat.parts import parts_of

__all__ = ["ACTS", "HeartbeatBench"]

BEFORE: Final = "# Agent\n\n## TODO\n"

AFTER: Final = "\n## Notes\nkeep me\n"

DAMAGED: Final = b'{\n"version": 1,\n"tasks": [\n{"id"'

OLD: Final = NOW - timedelta(days=30)


class HeartbeatBench(Bench):
    """The service over a store, an archive and HEARTBEAT.md."""

    store = "heartbeat_state.json"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        values = {"heartbeat_file_path": folder / "HEARTBEAT.md", "task_lock_timeout": LOCK_SECONDS}
        settings = HeartbeatSettings.model_validate(values)
        self.parts = parts_of(settings, _now)
        self.service, self.warnings = self.parts.service, self.parts.warnings

    @property
    @override
    def kept(self) -> set[str]:
        return super().kept | {"HEARTBEAT.md", "HEARTBEAT.md.lock", "heartbeat_archive.jsonl"}

    @override
    def shown(self) -> Shown:
        everything = self.service.list_tasks(TaskList(include_archived=True)).tasks
        shown = {task.raw_user_request: _plain(task) for task in everything}
        assert len(shown) == len(everything) == len({task.id for task in everything})
        return shown

    @override
    def add(self, text: str) -> None:
        self.service.create_task(TaskCreate.model_validate({"raw_user_request": text}))

    @override
    def check(self) -> None:
        active = [task.id for task in self.service.list_tasks(TaskList()).tasks]
        text = (self.folder / "HEARTBEAT.md").read_text("utf-8")
        assert re.findall("<!-- task_id: (.*) -->", text) == active
        assert text.startswith(BEFORE)
        assert text.endswith(AFTER)
        assert self.parts.mirror.is_current()
        # A line that could be neither finished nor taken back is reported, and passed over. One whose task was not
        # removed from the store before a kill is there a second time.
        lines = {*(self.folder / "heartbeat_archive.jsonl").read_bytes().splitlines()}
        assert 0 < len([*self.parts.archive.tasks()]) == sum(line.endswith(b"}") for line in lines)

    def update(self, text: str, **updates: JsonValue) -> None:
        """Change the task with this text."""
        (task_id,) = (task.id for task in self.service.list_tasks(TaskList()).tasks if task.raw_user_request == text)
        arguments = {"task_id": task_id, "updates": updates, "append_ideas": "ideas" in updates}
        self.service.update_task(TaskUpdate.model_validate(arguments))

    def get(self, text: str) -> None:
        """Get the task with this id, or a warning that says why it is not found."""
        try:
            assert self.service.get_task(text).raw_user_request
        except TaskNotFound:
            assert "archive.jsonl cannot be read" in " ".join(self.warnings.take())


def _now() -> datetime:
    return NOW


def _plain(task: HeartbeatTask) -> JsonValue:
    """Return what counts of a task: it may be archived or not, and a new one may have any id.

    Moments are shown to the millisecond, since each transaction has a microsecond of its own.
    """
    is_new = not task.raw_user_request.startswith("text of ")
    shown = task.model_dump(mode="json", exclude={"archived", "id"} if is_new else {"archived"})
    return {name: value[:23] if name.endswith("_at") and value else value for name, value in shown.items()}


def _task(task_id: str, **fields: object) -> HeartbeatTask:
    return HeartbeatTask(id=task_id, raw_user_request=f"text of {task_id}", created_at=OLD, updated_at=OLD).changed(
        **fields
    )


def _finished(task_id: str) -> HeartbeatTask:
    return _task(task_id, status=HeartbeatStatus.COMPLETE, completed_at=OLD)


def _begin_with(folder: Path, *tasks: HeartbeatTask) -> set[str]:
    """Put a store, an archive and a HEARTBEAT.md into an empty folder, as a server would leave them."""
    archived = _finished("long-gone")
    (folder / "HEARTBEAT.md").write_text(BEFORE + AFTER, "utf-8")
    lay_out(folder, files_in(folder))
    bench = HeartbeatBench(folder)
    with bench.parts.file.transaction() as work:
        work.add(archived)
        for task in tasks:
            work.add(task)
        bench.parts.archive.move([archived], work)
    return {task.raw_user_request for task in (archived, *tasks)}


def usual(folder: Path) -> set[str]:
    """Leave two active tasks."""
    return _begin_with(
        folder, _task("cool-apple", ideas=("first",)), _task("wild-coral", status=HeartbeatStatus.RUNNING)
    )


def with_old(folder: Path) -> set[str]:
    """Leave tasks that are due for the archive."""
    return _begin_with(folder, _task("cool-apple"), _finished("calm-star"), _finished("deep-river"))


def without_store(folder: Path) -> set[str]:
    """Leave HEARTBEAT.md alone to go by."""
    texts = usual(folder)
    (folder / "heartbeat_state.json").unlink()
    return texts


def damaged(folder: Path) -> set[str]:
    """Leave a store that cannot be read as one."""
    texts = usual(folder)
    (folder / "heartbeat_state.json").write_bytes(DAMAGED)
    return texts


def with_line(folder: Path) -> set[str]:
    """Leave a line that a person has added."""
    texts = usual(folder)
    path = folder / "HEARTBEAT.md"
    path.write_text(path.read_text("utf-8").replace(AFTER, "- by hand: buy milk\n" + AFTER), "utf-8")
    return texts | {"by hand: buy milk"}


def create(bench: HeartbeatBench) -> None:
    bench.add("new")


def append(bench: HeartbeatBench) -> None:
    bench.update("text of cool-apple", ideas=["second"])


def start(bench: HeartbeatBench) -> None:
    bench.update("text of cool-apple", status="Running")


def complete(bench: HeartbeatBench) -> None:
    bench.update("text of wild-coral", status="Complete", result="done")


def show(bench: HeartbeatBench) -> None:
    bench.shown()


def get(bench: HeartbeatBench) -> None:
    bench.get("cool-apple")


def get_archived(bench: HeartbeatBench) -> None:
    bench.get("long-gone")


def clean(bench: HeartbeatBench) -> None:
    bench.service.clean()


ACTS: Final = [
    act_of(HeartbeatBench, "create", usual, create),
    act_of(HeartbeatBench, "append", usual, append),
    act_of(HeartbeatBench, "start", usual, start),
    act_of(HeartbeatBench, "complete", usual, complete),
    act_of(HeartbeatBench, "list", usual, show, is_reading=True),
    act_of(HeartbeatBench, "get", usual, get, is_reading=True),
    act_of(HeartbeatBench, "get archived", usual, get_archived, is_reading=True, is_first=True),
    act_of(HeartbeatBench, "load", usual, show, is_reading=True, is_first=True),
    act_of(HeartbeatBench, "clean", with_old, clean, is_reading=True, is_first=True),
    act_of(HeartbeatBench, "clean and create", with_old, create, is_first=True),
    act_of(HeartbeatBench, "take in and create", with_line, create, is_first=True),
    act_of(HeartbeatBench, "recover and create", without_store, create, is_first=True),
    act_of(HeartbeatBench, "recover and list", without_store, show, is_reading=True, is_first=True),
    act_of(HeartbeatBench, "keep aside and create", damaged, create, is_first=True),
]
"""Every operation, also the first one of a process, which loads, recovers, takes in and cleans."""
