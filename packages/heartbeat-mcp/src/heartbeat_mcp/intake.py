"""Turns what a person wrote into HEARTBEAT.md into tasks, in a transaction (HB-12, HB-17)."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from typing_extensions import override

from heartbeat_mcp.arguments import Updates
from heartbeat_mcp.mirror.document import Document, read_document
from heartbeat_mcp.mirror.entries import Receipts
from heartbeat_mcp.mirror.mirror import Mirror
from heartbeat_mcp.mirror.reading import Reading, describe_reading, read_section
from heartbeat_mcp.models import SECTION, HeartbeatTask
from heartbeat_mcp.passes import TakenIn, TaskFile, note_receipts, transact
from heartbeat_mcp.task_rules import TaskMaker, update_stored
from task_core.errors import StoreUnreadable, TaskError
from task_core.files import read_file
from task_core.store import Collection, Store, Transaction

__all__ = ["Intake", "RecoverySource"]


@dataclass(frozen=True)
class Intake:
    """Makes tasks of what is new in a file, and applies ticks."""

    maker: TaskMaker
    mirror: Mirror

    def read(self, document: Document, tasks: Collection[HeartbeatTask], *, is_recovery: bool = False) -> Reading:
        """Return what the section of ``document`` means beside ``tasks``."""

        def find(task_id: str) -> HeartbeatTask | None:
            return tasks.get(task_id) if task_id in tasks else self.maker.archive.find(task_id)

        receipts = None if document.section.is_new else Receipts.from_fields(tasks.fields)
        return read_section(document.units, receipts, find, self.maker.find_fault, is_recovery=is_recovery)

    def count_additions(self, store: Store[HeartbeatTask]) -> int:
        """Return how many lines of the file would become tasks, as far as that can be read without its lock."""
        with suppress(OSError, TaskError), store.read() as tasks:
            document = read_document(read_file(self.mirror.path)[0], self.mirror.section)
            return len(self.read(document, tasks).additions)
        return 0

    def take_in(self, document: Document, work: Transaction[HeartbeatTask], *, is_recovery: bool) -> TakenIn:
        """Add a task for each new bullet or unknown entry and apply what was ticked off."""
        reading = self.read(document, work, is_recovery=is_recovery)
        shown, bullets, added = dict(reading.shown), dict[str, bytes](), list[str]()
        for found, text in reading.additions:
            is_free = found.id and found.id not in work and found.id not in self.maker.archive
            task_id = found.id if found.id and is_free else self.maker.new_id(work, self.mirror.holds)
            work.add(self.maker.make_task(found, task_id, work.next_moment()))
            (shown if found.id else bullets)[task_id] = text
            added.append(task_id)
        for task_id, status in reading.ticks.items():
            update_stored(work, work.get(task_id), Updates.model_validate({"status": status}))
        message = describe_reading(reading, added, self.mirror.path.name, is_recovery=is_recovery)
        return TakenIn(message, shown, bullets)


class RecoverySource(TaskFile):
    """Reads HEARTBEAT.md to recover a lost store, and never writes it (HB-13)."""

    def __init__(self, mirror: Mirror, store: Store[HeartbeatTask], maker: TaskMaker) -> None:
        super().__init__(store)
        self._mirror = mirror
        self._intake = Intake(maker, mirror)

    @contextmanager
    @override
    def transaction(self) -> Iterator[Transaction[HeartbeatTask]]:
        """Open a transaction that first recovers a store that was lost; nobody else has the store meanwhile."""
        is_read = False

        def take_in(work: Transaction[HeartbeatTask]) -> TakenIn:
            nonlocal is_read
            if SECTION in work.fields or len(work):
                return TakenIn()
            self._mirror.forget()
            document = self._mirror.look()
            if document is None and self._mirror.is_waiting:
                reason = "another program is writing it; the tasks are recovered from it"
                raise StoreUnreadable(self._mirror.path.name, reason)
            if document is None:
                return TakenIn()
            is_read = True
            return self._intake.take_in(document, work, is_recovery=True)

        def note(work: Transaction[HeartbeatTask], taken: TakenIn) -> None:
            if is_read and work.changed:
                note_receipts(work, taken)

        with transact(self.store, self._mirror.warnings, take_in, note) as work:
            yield work
