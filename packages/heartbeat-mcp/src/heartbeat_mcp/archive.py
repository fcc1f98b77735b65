"""The archive: finished tasks that the clean-up moved out of the list (HB-7, EN-19)."""

import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError
from pydantic_core import from_json
from typing_extensions import override

from heartbeat_mcp.models import ARCHIVED, HeartbeatTask
from task_core.errors import TaskNotFound
from task_core.files import describe, identify, require_regular
from task_core.history.history_file import append_lines
from task_core.store import Collection, Transaction
from task_core.text import nearest
from task_core.warning_list import WarningList

__all__ = ["Archive", "ArchiveFile", "mark_archived"]

_NEIGHBOURS: Final = 100
"""Ids on each side of an unknown one that are compared with it."""

_ID_START: Final = b'{"id":"'
"""The start of a line that the server wrote."""


class Archive:
    """The archive of a list in a database: its tasks stay there, marked; the caller holds the lock of the store."""

    facets: tuple[str, ...] = ("",)
    """The facets of the tasks in the store that are not archived; empty for all of them."""

    def __contains__(self, task_id: object) -> bool:
        """Return whether an archived task outside the store has the id."""
        return False

    def tasks(self) -> Iterator[HeartbeatTask]:
        """Yield the archived tasks outside the store, each in its last form, in the order of archiving."""
        return iter(())

    def near(self, task_id: str) -> list[str]:  # noqa: ARG002 - the archive in a file uses it
        """Return up to three ids of archived tasks outside the store that are like this one."""
        return []

    def move(self, tasks: Sequence[HeartbeatTask], work: Transaction[HeartbeatTask]) -> None:
        """Take finished tasks out of the list, or none of them if this raises ``OSError``."""
        for task in tasks:
            work.replace(mark_archived(task))

    def find(self, task_id: str) -> HeartbeatTask | None:
        """Return the archived task outside the store that has this id."""
        return next((task for task in self.tasks() if task.id == task_id), None) if task_id in self else None

    def find_any(self, task_id: str, tasks: Collection[HeartbeatTask]) -> HeartbeatTask:
        """Return the task with this id in ``tasks`` or, marked, in the archive, or raise ``TaskNotFound`` (HB-5)."""
        if task_id in tasks:
            return tasks.get(task_id)
        archived = self.find(task_id)
        if archived is None:
            raise TaskNotFound(task_id, nearest(task_id, [*tasks.near(task_id), *self.near(task_id)]))
        return mark_archived(archived)


class ArchiveFile(Archive):
    """The archive of a document: a file beside it with one JSON object a line, to which lines are only added.

    Only the ids are kept in memory, and each byte of the file is read once for them.
    """

    facets = ()

    def __init__(self, path: Path, warnings: WarningList, *, fsync: bool = True) -> None:
        self._path = path
        self._warnings = warnings
        self._fsync = fsync
        self._lock = threading.Lock()  # calls ask beside the one that has the lock of the store
        self._ids: set[str] = set()
        self._place: tuple[int, int] | None = None
        self._read_to = 0
        self._appended: set[bytes] = set()

    @override
    def __contains__(self, task_id: object) -> bool:
        with self._lock:
            return task_id in self._read_ids()

    @override
    def near(self, task_id: str) -> list[str]:
        with self._lock:
            ids = sorted(self._read_ids())
        place = bisect_left(ids, task_id)
        return nearest(task_id, ids[max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS])

    @override
    def tasks(self) -> Iterator[HeartbeatTask]:
        """Yield the tasks; a file that cannot be read, or a line that is not a task, becomes a warning."""
        found: dict[str, HeartbeatTask] = {}
        bad = 0
        for line in self._lines(0):
            if task := _parse(line):
                found[task.id] = task
            else:
                bad += bool(line.strip())
        if bad:
            message = f"{self._path.name}: {bad} lines are not tasks and were skipped."
            self._warnings.add("archive lines", message)
        else:
            self._warnings.settle("archive lines")
        yield from found.values()

    @override
    def move(self, tasks: Sequence[HeartbeatTask], work: Transaction[HeartbeatTask]) -> None:
        # After a failed save, the next one moves the same tasks again; their lines are in the file already.
        every = [task.to_json() for task in tasks]
        if lines := [line for line in every if line not in self._appended]:
            data = b"".join(line + b"\n" for line in lines)
            append_lines(self._path, lambda _: data, fsync=self._fsync)
        self._appended = {*every}
        for task in tasks:
            work.remove(task.id)

    def _read_ids(self) -> set[str]:
        try:
            found = identify(self._path)
        except OSError as error:
            self._warn(error)
            return self._ids
        place = (found.device, found.inode) if found else None
        if place != self._place or (found and found.size < self._read_to):
            self._ids, self._place, self._read_to = set(), place, 0
        for line in self._lines(self._read_to):
            if not (line.endswith(b"\n") or _parse(line)):
                break  # another process is still writing it
            self._read_to += len(line)
            if task_id := _read_id(line):
                self._ids.add(task_id)
        return self._ids

    def _lines(self, start: int) -> Iterator[bytes]:
        """Yield the lines from the byte ``start`` on, with their ends."""
        try:
            require_regular(self._path.stat())  # opening a FIFO would wait for a writer
            with self._path.open("rb") as file:
                file.seek(start)
                yield from file
        except FileNotFoundError:
            return
        except OSError as error:
            self._warn(error)
        else:
            self._warnings.settle("archive")

    def _warn(self, error: OSError) -> None:
        message = f"{self._path.name} cannot be read ({describe(error)}); the tasks in it are not shown."
        self._warnings.add("archive", message)


def mark_archived(task: HeartbeatTask) -> HeartbeatTask:
    """Return the task as answers show one that is archived."""
    return task.changed(**{ARCHIVED: True})


def _parse(line: bytes) -> HeartbeatTask | None:
    try:
        return HeartbeatTask.model_validate_json(line)
    except ValidationError:
        return None


def _read_id(line: bytes) -> str:
    """Return the id of the task in a line, or nothing."""
    end = line.find(b'"', len(_ID_START))
    if line.startswith(_ID_START) and b"\\" not in line[:end]:
        return line[len(_ID_START) : end].decode(errors="replace")
    try:
        found = from_json(line)
    except ValueError:
        return ""
    task_id = found.get("id") if isinstance(found, dict) else None
    return task_id if isinstance(task_id, str) else ""
