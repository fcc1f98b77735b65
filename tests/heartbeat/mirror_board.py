"""A HEARTBEAT.md on a board, tasks as the store would hold them, and the service's part in short."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

from heartbeat_mcp.mirror import FoundTask, Mirror
from heartbeat_mcp.models import Status, Task
from task_core.clock import utc_now
from task_core.store.base import Collection
from task_core.warning_list import WarningList

START = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def make_task(task_id: str, request: str, **fields: object) -> Task:
    """Return a task as the store holds it."""
    times = {"created_at": START, "updated_at": START}
    return Task.model_validate({"id": task_id, "raw_user_request": request, **times, **fields})


def as_task(found: FoundTask, task_id: str) -> Task:
    """Return what the service makes of a task that was found: a finished one is finished now."""
    now = utc_now()  # against the time of the file, which is real
    return make_task(
        found.id or task_id,
        found.raw_user_request,
        status=found.status,
        raw_reference=found.raw_reference,
        ideas=found.ideas,
        result=found.result,
        result_file=found.result_file,
        created_at=now,
        updated_at=now,
        completed_at=now if found.status.is_finished else None,
    )


@dataclass
class Board:
    """One HEARTBEAT.md, and a store that is only a dictionary."""

    path: Path
    tasks: dict[str, Task] = field(default_factory=dict)
    warnings: WarningList = field(default_factory=WarningList)
    made: int = 0

    @classmethod
    def of(cls, folder: Path, text: str | bytes) -> Board:
        """Return a board with this text in its file, and nothing else in ``folder``."""
        for path in folder.iterdir():
            path.unlink()
        board = cls(folder / "HEARTBEAT.md")
        board.save(text.encode() if isinstance(text, str) else text)
        return board

    def save(self, data: bytes) -> None:
        """Write the file as a person did a minute ago: what was written just now is waited for."""
        self.path.write_bytes(data)
        saved = time.time() - 60
        os.utime(self.path, (saved, saved))

    @property
    def data(self) -> bytes:
        return self.path.read_bytes()

    @property
    def text(self) -> str:
        return self.data.decode()

    @property
    def stored(self) -> Collection[Task]:
        return Collection(dict(self.tasks))

    @property
    def backup(self) -> Path:
        return self.path.with_name(self.path.name + ".bak")

    def mirror(self, *, section: str = "TODO", max_chars: int = 0, enabled: bool = True) -> Mirror:
        """Return a mirror as a new process would make it."""
        return Mirror(
            self.path,
            self.warnings,
            section=section,
            max_chars=max_chars,
            enabled=enabled,
            fsync=False,
            settle_seconds=0,
        )

    def put(self, *tasks: Task) -> None:
        """Store the tasks, new ones at the end."""
        self.tasks.update((task.id, task) for task in tasks)

    def commit(self, found: Iterable[FoundTask]) -> list[Task]:
        """Store what was found, as the service does, and return it."""
        taken_in = []
        for one in found:
            self.made += 1
            taken_in.append(as_task(one, f"made-{self.made}"))
        self.put(*taken_in)
        return taken_in

    def call(self, mirror: Mirror, *tasks: Task) -> list[Task]:
        """Do what any call of a tool does, storing ``tasks`` in it, and return what was taken in."""
        taken_in = [] if mirror.is_current() else self.commit(mirror.additions(self.stored))
        self.put(*tasks)
        mirror.write(self.stored)
        return taken_in

    def finish(self, task_id: str) -> None:
        """Complete a stored task, a minute after it was created."""
        now = self.tasks[task_id].created_at + timedelta(minutes=1)
        self.tasks[task_id] = self.tasks[task_id].changed(status=Status.COMPLETE, completed_at=now, updated_at=now)
