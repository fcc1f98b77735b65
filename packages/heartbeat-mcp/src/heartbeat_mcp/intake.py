"""Turns what a person wrote into HEARTBEAT.md into tasks, in a transaction (HB-12, HB-17)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

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
from task_core.warning_list import WarningList

__all__ = ["Intake", "RecoverySource"]


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

    def count_additions(self, mirror: Mirror, store: Store[HeartbeatTask]) -> int:
        """Return how many lines of the file would become tasks, as far as that can be read without its lock."""
        with suppress(OSError, TaskError), store.read() as tasks:
            document = read_document(read_file(mirror.path)[0], mirror.section)
            return len(self.read(document, tasks).additions)
        return 0

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
            is_free = found.id and found.id not in work and found.id not in self._maker.archive
            task_id = found.id if found.id and is_free else self._maker.new_id(work, is_shown)
            work.add(self._maker.make_task(found, task_id, work.next_moment()))
            (shown if found.id else bullets)[task_id] = text
            added.append(task_id)
        for task_id, status in reading.ticks.items():
            update_stored(work, work.get(task_id), Updates.model_validate({"status": status}))
        message = describe_reading(reading, added, self._file, is_recovery=is_recovery)
        return TakenIn(message, shown, bullets)


class RecoverySource(TaskFile):
    """Reads HEARTBEAT.md to recover a lost store, and never writes it (HB-13)."""

    def __init__(self, mirror: Mirror, store: Store[HeartbeatTask], maker: TaskMaker, warnings: WarningList) -> None:
        super().__init__(store)
        self._mirror = mirror
        self._warnings = warnings
        self._intake = Intake(maker, mirror.path.name)

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
            return self._intake.take_in(document, work, self._mirror.holds, is_recovery=True)

        def note(work: Transaction[HeartbeatTask], taken: TakenIn) -> None:
            if is_read and work.changed:
                note_receipts(work, taken)

        with transact(self.store, self._warnings, take_in, note) as work:
            yield work
