"""Turns what a person wrote into HEARTBEAT.md into tasks, in a transaction (HB-12, HB-17)."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from heartbeat_mcp.arguments import Updates
from heartbeat_mcp.mirror import FoundTask, Receipts
from heartbeat_mcp.mirror.document import Document
from heartbeat_mcp.mirror.reading import Reading, describe_reading, read_section
from heartbeat_mcp.models import HeartbeatTask
from heartbeat_mcp.task_rules import TaskMaker, apply_update
from task_core.store import Collection, Transaction

__all__ = ["Intake", "TakenIn"]


class TakenIn(NamedTuple):
    """The part of a file that a transaction took in."""

    message: str = ""
    """The warning about it, or nothing."""
    shown: Mapping[str, bytes] = {}
    """The entries in the file, by the ids of their tasks."""
    bullets: Mapping[str, bytes] = {}
    """The bullets that became tasks, by the ids of these."""


class Intake:
    """Makes tasks of bullets and applies ticks, for the file called ``file`` in warnings."""

    def __init__(self, maker: TaskMaker, file: str) -> None:
        self._maker = maker
        self._file = file

    def read(self, document: Document, tasks: Collection[HeartbeatTask], *, is_recovery: bool = False) -> Reading:
        """Return what the section of ``document`` means beside ``tasks``."""

        def find(task_id: str) -> HeartbeatTask | None:
            return tasks.get(task_id) if task_id in tasks else self._maker.archive.find(task_id)

        receipts = None if document.section.is_new else Receipts.from_fields(tasks.fields)
        return read_section(document.units, receipts, find, self._maker.find_fault, is_recovery=is_recovery)

    def take_in(
        self,
        document: Document,
        work: Transaction[HeartbeatTask],
        is_shown: Callable[[str], bool],
        *,
        is_recovery: bool = False,
    ) -> TakenIn:
        """Add a task for each new bullet or unknown entry and apply what was ticked off.

        ``is_shown`` returns whether the file has an entry with an id, so that no new task gets it.
        """
        reading = self.read(document, work, is_recovery=is_recovery)
        shown, bullets, added = dict(reading.shown), dict[str, bytes](), list[str]()
        for found, text in reading.additions:
            task_id = self._add(found, work, is_shown)
            (shown if found.id else bullets)[task_id] = text
            added.append(task_id)
        for task_id, status in reading.ticks:
            given = Updates.model_validate({"status": status})
            work.replace(apply_update(work.get(task_id), given, append_ideas=False, now=work.next_moment()))
        message = describe_reading(reading, added, self._file, is_recovery=is_recovery)
        return TakenIn(message, shown, bullets)

    def _add(self, found: FoundTask, work: Transaction[HeartbeatTask], is_shown: Callable[[str], bool]) -> str:
        is_free = found.id is not None and found.id not in work and found.id not in self._maker.archive
        task_id = found.id if found.id and is_free else self._maker.new_id(work, is_shown)
        task = self._maker.make_task(found, task_id, work.next_moment())
        work.add(task)
        return task.id
