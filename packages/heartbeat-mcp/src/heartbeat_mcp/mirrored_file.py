"""Keeps the store and HEARTBEAT.md in step: what a person wrote there becomes tasks, and tasks become entries (HB-12).

One call runs like this, under the lock of the file: look at the file; in one transaction take in what a person wrote,
do what the call is for, and note in the receipts what the file will show; once that is committed, write the section.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from typing_extensions import override

from heartbeat_mcp.intake import Intake, TakenIn
from heartbeat_mcp.mirror import Mirror
from heartbeat_mcp.mirror.document import ActiveEntries
from heartbeat_mcp.mirror.lock import Ownership, SectionLock, SharedPasses
from heartbeat_mcp.mirror.owner import Owner
from heartbeat_mcp.models import SECTION, HeartbeatTask
from heartbeat_mcp.sync_pass import SyncParts, SyncPass, Unwritten, note_receipts, transact
from heartbeat_mcp.task_file import StoreOnly, TaskFile
from heartbeat_mcp.task_rules import TaskMaker
from task_core.errors import StoreLocked, StoreUnreadable, StoreWriteFailed
from task_core.store import Store, Transaction
from task_core.warning_list import WarningList

__all__ = ["MirroredFile", "RecoverySource"]


class MirroredFile(TaskFile):
    """Keeps the store and the section of one file in step, in passes that concurrent calls share."""

    def __init__(
        self,
        mirror: Mirror,
        store: Store[HeartbeatTask],
        maker: TaskMaker,
        warnings: WarningList,
        *,
        owner: Owner,
        lock_seconds: float,
    ) -> None:
        """Wait at most ``lock_seconds`` for other processes; ``owner`` names the store and the file, without the id."""
        lock = SectionLock.beside(Path(os.path.realpath(mirror.path)))
        name = mirror.path.name
        ownership = Ownership(lock, owner, store, warnings, file=name, section=mirror.section)
        active = ActiveEntries(store)
        parts = SyncParts(mirror, store, Intake(maker, name), warnings, ownership, active)
        unwritten = Unwritten()
        self._passes = SharedPasses(lock, lock_seconds, lambda: self._begin(parts, unwritten), self._finish)
        # Only a pass has the mirror itself: these two need no lock.
        self._is_file_current, self._holds = mirror.is_current, mirror.holds
        self._name = name
        self._store = store
        self._warnings = warnings
        self._ownership = ownership
        self._active = active
        self._is_behind = False

    @override
    def is_current(self) -> bool:
        """Return whether there is nothing to take in or to write; it costs one stat."""
        return self._ownership.is_foreign or (not self._is_behind and self._is_file_current())

    @override
    def shows_all(self) -> bool:
        """Return whether the file shows what is in the store now, whoever changed it."""
        return self._ownership.is_foreign or self._active.is_current()

    @override
    def holds(self, task_id: str) -> bool:
        return self._holds(task_id)

    @override
    def close(self) -> None:
        """End every wait for the file and its lock."""
        self._passes.give_up()

    @contextmanager
    @override
    def transaction(self) -> Iterator[Transaction[HeartbeatTask]]:
        """Open a transaction that first takes in what a person wrote; after it the section is written (HB-12).

        A failure with the file is only a warning: it does not fail the call (HB-13), which then leaves the file alone.
        """
        with ExitStack() as stack:
            try:
                sync = stack.enter_context(self._passes.join())
            except (StoreLocked, StoreWriteFailed) as error:
                self._warnings.add("mirror: lock", f"{self._name} was left as it is: {error.message}")
                stack.callback(self._fall_behind)
                yield stack.enter_context(self._store.transaction())
                return
            self._warnings.settle("mirror: lock")
            with sync.transaction() as work:
                yield work

    def _fall_behind(self) -> None:
        self._is_behind = True

    def _begin(self, parts: SyncParts, unwritten: Unwritten) -> SyncPass:
        self._is_behind = False
        return SyncPass(parts, unwritten)

    def _finish(self, sync: SyncPass) -> None:
        """End a pass, and plan another one for once others have finished writing the file."""
        if not sync.finish():
            self._is_behind = True
        if sync.must_be_repeated:
            self._passes.plan(self._sync_again)

    def _sync_again(self) -> None:
        with self._passes.join() as sync, sync.transaction():
            pass


class RecoverySource(StoreOnly):
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

        with transact(self._store, self._warnings, take_in, note) as work:
            yield work
