"""A HEARTBEAT.md on a board, the store beside it, and the processes that keep the two in step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Self

from heartbeat_mcp.archive import Archive
from heartbeat_mcp.intake import RecoverySource
from heartbeat_mcp.mirror.document import read_document
from heartbeat_mcp.mirror.entries import render_entry
from heartbeat_mcp.mirror.items import FoundTask
from heartbeat_mcp.mirror.mirror import Mirror
from heartbeat_mcp.mirror.owner import Owner
from heartbeat_mcp.mirror.reading import read_section
from heartbeat_mcp.mirrored_file import MirroredFile
from heartbeat_mcp.models import KIND, SECTION, HeartbeatStatus, HeartbeatTask
from heartbeat_mcp.passes import TaskFile
from heartbeat_mcp.task_rules import TaskMaker
from task_core.store import MemoryDatabase, Selection, Store, Transaction
from task_core.warning_list import WarningList

START = datetime(2026, 3, 1, 12, tzinfo=UTC)

_SECONDS = count()


def make_task(task_id: str, request: str, **fields: object) -> HeartbeatTask:
    """Return a task as a store holds it, younger than those that were made before."""
    moment = START + timedelta(seconds=next(_SECONDS))
    times = {"created_at": moment, "updated_at": moment}
    return HeartbeatTask.model_validate({"id": task_id, "raw_user_request": request, **times, **fields})


def entry(task: HeartbeatTask) -> str:
    """Return the lines that the section shows of a task."""
    return render_entry(task).decode() + "\n"


def section(*parts: str) -> str:
    """Return a document with these parts in its section."""
    return "# A\n\n## TODO\n" + "".join(parts) + "\n## B\n"


def mirrored(folder: Path, *tasks: HeartbeatTask) -> Board:
    """Return a board on which a process that is gone has mirrored the tasks."""
    board = Board.of(folder, section())
    board.call(board.process(), *tasks)
    assert board.text == section(*map(entry, tasks))
    return board


def found_in(data: str | bytes, *, is_recovery: bool = True) -> list[FoundTask]:
    """Return the tasks of the section of ``data`` as a start without a store finds them, or a call."""
    document = read_document(data.encode() if isinstance(data, str) else data, "TODO")
    reading = read_section(document.units, None, lambda _: None, lambda _: "", is_recovery=is_recovery)
    return [found for found, _ in reading.additions]


@dataclass
class Board:
    """One HEARTBEAT.md, and a store that outlives every process."""

    path: Path
    warnings: WarningList = field(default_factory=WarningList)
    now: datetime = START + timedelta(days=1)

    def __post_init__(self) -> None:
        self.store: Store[HeartbeatTask] = Store(MemoryDatabase(), KIND, clock=self.clock)

    @classmethod
    def of(cls, folder: Path, text: str | bytes, *, is_lost: bool = False) -> Self:
        """Return a board with this text in its file, no file if there is none, and nothing else in ``folder``.

        The store has seen a server before, and holds no task; one that ``is_lost`` is only just made.
        """
        for path in folder.iterdir():
            path.unlink()
        board = cls(folder / "HEARTBEAT.md")
        if text:
            board.save(text)
        if not is_lost:
            with board.store.transaction() as work:
                work.set_fields({SECTION: {}})
        return board

    def save(self, data: bytes | str) -> None:
        """Write the file as a person does."""
        self.path.write_bytes(data.encode() if isinstance(data, str) else data)

    def outlast(self, process: TaskFile) -> None:
        """Let so much time pass that a blank file is meant to be blank (HB-18)."""
        self.call(process)
        self.now += timedelta(seconds=31)

    def clock(self) -> datetime:
        """Return the present moment, one second later at each call, so that the order of tasks is plain."""
        self.now += timedelta(seconds=1)
        return self.now

    @property
    def data(self) -> bytes:
        return self.path.read_bytes()

    @property
    def text(self) -> str:
        return self.data.decode()

    @property
    def tasks(self) -> dict[str, HeartbeatTask]:
        """The tasks in the store by id, the oldest first."""
        with self.store.read() as tasks:
            return {task.id: task for task in tasks.select(Selection())}

    @property
    def receipts(self) -> dict[str, object]:
        """The receipts in the store, by id."""
        with self.store.read() as tasks:
            found = tasks.fields[SECTION]
        assert isinstance(found, dict)
        return {**found}

    @property
    def backup(self) -> Path:
        return self.path.with_name(self.path.name + ".bak")

    def process(
        self,
        *,
        section: str = "TODO",
        max_chars: int = 0,
        may_write: bool = True,
        lock_seconds: float = 5,
        store: str = "tasks.json",
        check_reference: Callable[[str, str], None] = lambda _field, _value: None,
    ) -> TaskFile:
        """Return what keeps file and store in step, as a new process would make it."""
        mirror = Mirror(self.path, self.warnings, section, max_chars, fsync=False, clock=self.clock)
        maker = TaskMaker(Archive(), self.clock, Random(7), check_reference)
        if not may_write:
            return RecoverySource(mirror, self.store, maker)
        owner = Owner(str(self.path.with_name(store)), "", "")
        return MirroredFile(mirror, self.store, maker, owner=owner, lock_seconds=lock_seconds)

    def put(self, *tasks: HeartbeatTask) -> None:
        """Store the tasks as a process does that keeps no file in step."""
        with self.store.transaction() as work:
            _put(work, tasks)

    def call(self, process: TaskFile, *tasks: HeartbeatTask) -> list[HeartbeatTask]:
        """Do what any call does that may change something, storing ``tasks`` in it, and return what was taken in."""
        before = {*self.tasks, *(task.id for task in tasks)}
        with process.transaction() as work:
            _put(work, tasks)
        return [task for task_id, task in self.tasks.items() if task_id not in before]

    def call_and_die(self, *tasks: HeartbeatTask) -> list[HeartbeatTask]:
        """Do what a call does in a process that is killed right after its commit, before the file is written."""
        with self.read_only():
            taken_in = self.call(self.process(), *tasks)
        self.warnings.take()
        return taken_in

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Let nobody write the file within the block."""
        mode = self.path.stat().st_mode
        self.path.chmod(0o444)
        try:
            yield
        finally:
            self.path.chmod(mode)

    def finished(self, task_id: str) -> HeartbeatTask:
        """Return the stored task, completed a minute after it was created."""
        task = self.tasks[task_id]
        moment = task.created_at + timedelta(minutes=1)
        return task.changed(status=HeartbeatStatus.COMPLETE, completed_at=moment, updated_at=moment)

    def finish(self, *task_ids: str) -> None:
        """Complete stored tasks in a process that keeps no file in step."""
        self.put(*map(self.finished, task_ids))

    def remove(self, *task_ids: str) -> None:
        """Take tasks out of the store, as a person may."""
        with self.store.transaction() as work:
            for task_id in task_ids:
                work.remove(task_id)


def _put(work: Transaction[HeartbeatTask], tasks: Iterable[HeartbeatTask]) -> None:
    for task in tasks:
        if task.id in work:
            work.replace(task)
        else:
            work.add(task)
