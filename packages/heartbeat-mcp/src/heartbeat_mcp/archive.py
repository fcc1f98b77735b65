"""The archive: finished tasks that cleaning moved out of the store, one JSON object a line (HB-7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import ValidationError

from heartbeat_mcp.models import Task
from task_core.files import FileIdentity, append_file, describe, identify, read_file
from task_core.warning_list import WarningList

__all__ = ["Archive"]


class Archive:
    """An append-only file of tasks, read only when its content is asked for; the caller holds the store's lock."""

    def __init__(self, path: Path, warnings: WarningList, *, fsync: bool = True) -> None:
        self._path = path
        self._warnings = warnings
        self._fsync = fsync
        self._identity: FileIdentity | None = None
        self._tasks: Mapping[str, Task] = {}
        self._ends_whole = True

    def tasks(self) -> Mapping[str, Task]:
        """Return the archived tasks by id, each in its last form, in the order they were archived.

        A file that cannot be read, or a line that is no task, becomes a warning.
        """
        try:
            if identify(self._path) != self._identity:
                self._load()
        except FileNotFoundError:
            self._identity, self._tasks, self._ends_whole = None, {}, True
        except OSError as error:
            self._warnings.add(
                "archive", f"{self._path.name} cannot be read ({describe(error)}); the tasks in it are not shown."
            )
        else:
            self._warnings.settle("archive")
        return self._tasks

    def append(self, tasks: Iterable[Task]) -> None:
        """Append those of ``tasks`` that are not archived in this very form yet, durably.

        Raises:
            OSError: none of them was appended.
        """
        archived = self.tasks()
        lines = [task.to_json() + b"\n" for task in tasks if archived.get(task.id) != task]
        if lines:
            # A line that a power cut tore must not swallow the next one.
            start = b"" if self._ends_whole else b"\n"
            append_file(self._path, start + b"".join(lines), fsync=self._fsync)

    def _load(self) -> None:
        data, identity = read_file(self._path)
        tasks: dict[str, Task] = {}
        bad = 0
        for line in data.splitlines():
            try:
                task = Task.model_validate_json(line)
            except ValidationError:
                bad += bool(line.strip())
                continue
            tasks[task.id] = task
        if bad:
            self._warnings.add(
                f"archive lines: {bad}", f"{self._path.name}: {bad} lines are no tasks and were passed over."
            )
        self._identity, self._tasks, self._ends_whole = identity, tasks, data.endswith(b"\n") or not data
