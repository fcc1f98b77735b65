"""A to-do list that lives: a service over real files, a person who edits them, and what must be true all along."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import JsonValue

from heartbeat_mcp.arguments import TaskCreate, TaskList, TaskUpdate
from heartbeat_mcp.mirror.document import Document, read_document
from heartbeat_mcp.mirror.entries import render_entry
from heartbeat_mcp.mirror.section import Part
from heartbeat_mcp.models import HeartbeatTask
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.models import utc_now
from tests.heartbeat.parts import Parts, parts_of
from tests.postgres import list_settings, lose_list

__all__ = ["RETENTION_DAYS", "Life"]

RETENTION_DAYS = 7
"""How long the service here keeps a finished task, in days."""


def is_shown_as(text: str | None, shown: str | None) -> bool:
    """Whether ``shown`` is ``text``, or a beginning of it that is cut."""
    text, shown = text or "", shown or ""
    return text == shown or (shown.endswith("…") and text.startswith(shown[:-1]))


def survives(task: HeartbeatTask, again: HeartbeatTask) -> bool:
    """Whether ``again`` is ``task`` as its entry describes it."""
    pairs = [
        (task.raw_user_request, again.raw_user_request),
        (task.raw_reference, again.raw_reference),
        (task.result, again.result),
        (task.result_file, again.result_file),
    ]
    ideas, shown = [[idea for idea in one.ideas if idea] for one in (task, again)]
    pairs += zip(ideas, shown, strict=False)
    is_same = (task.id, task.status, len(ideas)) == (again.id, again.status, len(shown))
    return is_same and all(is_shown_as(*pair) for pair in pairs)


@dataclass
class Life:
    """The files of one list, the server over them, and the answers that everybody got."""

    folder: Path
    section: str = "TODO"
    """the name of the section"""
    engine: str = "json"
    """what keeps the store, json, sqlite or postgresql"""
    parts: Parts = field(init=False)
    """of the server that runs"""
    tasks: dict[str, HeartbeatTask] = field(default_factory=dict)
    """every task that was acknowledged or taken in, as it must be"""
    notes: set[str] = field(default_factory=set)
    """words that a person wrote"""
    offset: timedelta = timedelta()
    """how far the clock was put forward"""
    archived: set[str] = field(default_factory=set)
    """ids of tasks that may be in the archive"""

    def __post_init__(self) -> None:
        self.restart()

    # The server

    def restart(self) -> None:
        """Start a new server, as after a kill."""
        values: dict[str, object] = {
            "heartbeat_file_path": self.path,
            "heartbeat_section": self.section,
            "task_fsync": False,
            "task_retention_days": RETENTION_DAYS,
        }
        if self.engine == "sqlite":
            values["task_store"] = f"sqlite:{self.state}"
        if self.engine == "postgresql":
            values |= list_settings(self.folder)
        self.parts = parts_of(HeartbeatSettings.model_validate(values), self.clock)
        self.service, self.warnings = self.parts.service, self.parts.warnings

    def clock(self) -> datetime:
        """Return the time on the clock, which was put forward."""
        return utc_now() + self.offset

    @property
    def path(self) -> Path:
        return self.folder / "HEARTBEAT.md"

    @property
    def state(self) -> Path:
        return self.folder / ("heartbeat_state.json" if self.engine == "json" else "tasks.db")

    def lose_store(self) -> None:
        """Remove the store with all that belongs to it, as somebody does who does not know what it is."""
        if self.engine == "postgresql":
            lose_list(self.folder)
        for end in ("", "-wal", "-shm"):
            self.state.with_name(self.state.name + end).unlink(missing_ok=True)

    def tear_store(self) -> None:
        """Leave the document as a crash left it a minute ago: without its end."""
        self.state.write_bytes(self.state.read_bytes()[:-9])
        torn = self.clock().timestamp() - 60
        os.utime(self.state, (torn, torn))

    # The agent

    def create(self, request: str, **fields: JsonValue) -> HeartbeatTask:
        """Create a task and remember what was acknowledged."""
        task = self.service.create_task(TaskCreate.model_validate({"raw_user_request": request, **fields}))
        assert task.id not in self.tasks
        self.tasks[task.id] = task
        return task

    def update(self, task_id: str, updates: dict[str, JsonValue], *, append: bool = False) -> HeartbeatTask:
        """Update a task and remember what was acknowledged."""
        arguments = {"task_id": task_id, "updates": updates, "append_ideas": append}
        task = self.service.update_task(TaskUpdate.model_validate(arguments))
        self.tasks[task.id] = task
        return task

    def all(self) -> dict[str, HeartbeatTask]:
        """Return every task there is, in the store and the archive, by id."""
        tasks = self.listed(include_archived=True)
        by_id = {task.id: task for task in tasks}
        assert len(by_id) == len(tasks)
        return by_id

    def listed(self, **arguments: JsonValue) -> list[HeartbeatTask]:
        """Return the tasks that ``task_list`` lists, page by page."""
        found: list[HeartbeatTask] = []
        while True:
            after: dict[str, JsonValue] = {"after": found[-1].id} if found else {}
            page = self.service.list_tasks(TaskList.model_validate({**arguments, **after}))
            found += page.tasks
            if not page.left_out:
                return found

    # The person

    def save(self, data: bytes, *notes: str, in_place: bool = False) -> None:
        """Save the file as an editor does; ``notes`` are words that were added."""
        if in_place:
            self.path.write_bytes(data)
        else:
            draft = self.folder / "draft"
            draft.write_bytes(data)
            draft.replace(self.path)
        seconds = self.clock().timestamp()
        os.utime(self.path, (seconds, seconds))
        self.notes.update(notes)

    @property
    def data(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""

    @property
    def document(self) -> Document:
        return read_document(self.data, self.section)

    # What must be true

    def outlast(self) -> None:
        """Let so much time pass that a blank file is meant to be blank (HB-18)."""
        self.all()
        self.offset += timedelta(seconds=31)

    def look(self, *requests: str, ticked: Collection[str] = ()) -> list[HeartbeatTask]:
        """Check that all tasks are as they must be, and return those taken in: one for each of ``requests``.

        Those with the ids ``ticked`` have another status than before.
        """
        found = self.all()
        for task_id in ticked:
            changes = found[task_id].model_dump(include={"status", "updated_at", "completed_at"})
            assert found[task_id].status is not self.tasks[task_id].status
            self.tasks[task_id] = self.tasks[task_id].changed(**changes)
        new = [task for task_id, task in found.items() if task_id not in self.tasks]
        assert sorted(task.raw_user_request for task in new) == sorted(requests)
        lost = self.tasks.keys() - found.keys()
        assert not lost
        for task_id, task in self.tasks.items():
            assert found[task_id].changed(archived=None) == task.changed(archived=None)
        self.tasks.update((task.id, task) for task in new)
        self.check_document()
        return new

    def look_after_loss(self, *requests: str) -> None:
        """Do the same after the store was lost: tasks are as their entries tell, and finished ones may be gone."""
        found = self.all()
        kept = {task_id: task for task_id, task in self.tasks.items() if task_id in found}
        assert all(task.status.is_finished for task_id, task in self.tasks.items() if task_id not in found)
        assert all(survives(task, found[task_id]) for task_id, task in kept.items())
        new = [task for task_id, task in found.items() if task_id not in kept]
        assert sorted(task.raw_user_request for task in new) == sorted(requests)
        self.tasks = {task_id: task.changed(archived=None) for task_id, task in found.items()}
        self.check_document()

    def check_document(self) -> None:
        """Check that the file shows each active task once, and that no word of a person is lost."""
        document = self.document
        active = self.listed()
        shown = [unit.text for unit in document.units if unit.part is Part.ENTRY]
        assert shown == [render_entry(task) for task in active]
        assert not [unit for unit in document.units if unit.part is Part.BULLET]
        self.check_notes()

    def check_notes(self) -> None:
        """Check that every word of a person is still in some file."""
        texts = [path.read_text("utf-8", errors="replace") for path in self.folder.iterdir() if path.is_file()]
        for note in self.notes:
            assert any(note in text for text in texts), note
