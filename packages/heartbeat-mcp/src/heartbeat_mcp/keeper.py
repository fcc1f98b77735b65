"""Keeps the store and HEARTBEAT.md in step: what a person wrote there becomes tasks, and tasks become entries (HB-12).

One call runs like this, under the lock of the file: look at the file; in one transaction take in what a person wrote,
do what the call is for, and note in the receipts what the file will show; once that is committed, write the section.
"""

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from typing_extensions import override

from heartbeat_mcp.arguments import Updates
from heartbeat_mcp.changes import TaskMaker, apply_update
from heartbeat_mcp.mirror import FoundTask, Mirror, Receipts
from heartbeat_mcp.mirror.document import Document
from heartbeat_mcp.mirror.entries import ActiveEntries
from heartbeat_mcp.mirror.lock import Ownership, Rounds, SectionLock
from heartbeat_mcp.mirror.owner import Owner
from heartbeat_mcp.mirror.reading import Reading, describe_reading, read_section
from heartbeat_mcp.models import ACTIVE, SECTION, STORE_ID, HeartbeatTask
from heartbeat_mcp.no_file import NoFile
from task_core.errors import StoreLocked, StoreUnreadable, StoreWriteFailed, TaskError
from task_core.store import Collection, Selection, Store, Transaction
from task_core.warning_list import WarningList

__all__ = ["SectionKeeper"]

_TRIES: Final = 5
"""Attempts to write the section while somebody keeps changing the file."""


class SectionKeeper(NoFile):
    """Keeps the store and the section of one file in step; without ``may_write`` it only recovers a lost store."""

    def __init__(
        self,
        mirror: Mirror,
        store: Store[HeartbeatTask],
        maker: TaskMaker,
        warnings: WarningList,
        *,
        owner: Owner,
        lock_seconds: float,
        may_write: bool = True,
    ) -> None:
        """Wait at most ``lock_seconds`` for other processes; ``owner`` names the store and the file, without the id."""
        super().__init__(store)
        self._mirror = mirror
        self._name = mirror.path.name
        self._maker = maker
        self._warnings = warnings
        lock = SectionLock.beside(Path(os.path.realpath(mirror.path)))
        self._ownership = Ownership(lock, owner, store, warnings, self._name)
        self._rounds = Rounds(lock, lock_seconds)
        self._active = ActiveEntries(store)
        self._may_write = may_write
        self._is_locked = False
        self._is_behind = False
        self._is_recovering = False
        self._shown: Mapping[str, bytes] = {}
        self._bullets: dict[str, bytes] = {}
        self._changed: set[str] = set()
        self._outdated: set[str] = set()
        self._receipts = Receipts({})

    @override
    def is_current(self) -> bool:
        """Return whether there is nothing to take in or to write; it costs one stat."""
        if not self._may_write or self._ownership.is_foreign:
            return True
        return not self._is_behind and self._mirror.is_current()

    @override
    def shows_all(self) -> bool:
        """Return whether the file shows what is in the store now, whoever changed it."""
        return not self._may_write or self._ownership.is_foreign or self._active.is_current()

    @override
    def holds(self, task_id: str) -> bool:
        return self._may_write and self._mirror.holds(task_id)

    @override
    def close(self) -> None:
        """End every wait for the file and its lock."""
        self._rounds.give_up()

    @contextmanager
    @override
    def transaction(self) -> Iterator[Transaction[HeartbeatTask]]:
        """Open a transaction that first takes in what a person wrote; after it the section is written (HB-12).

        A failure with the file is only a warning: it does not fail the call (HB-13).
        """
        is_left_alone = False
        with ExitStack() as stack:
            if self._may_write:
                try:
                    stack.enter_context(self._round())
                    self._warnings.settle("mirror: lock")
                except (StoreLocked, StoreWriteFailed) as error:
                    self._warnings.add("mirror: lock", f"{self._name} was left as it is: {error.message}")
                    is_left_alone = True
            try:
                with self._transaction() as work:
                    yield work
            finally:
                self._is_behind = self._is_behind or is_left_alone

    @contextmanager
    def _round(self) -> Iterator[None]:
        """Take part in a round of calls: the first looks at the file, and the last writes it before any has ended."""
        if self._rounds.join():
            with self._rounds.opening():
                self._begin()
        try:
            yield
        finally:
            if self._rounds.leave():
                with self._rounds.closing():
                    self._end()

    @contextmanager
    def _transaction(self) -> Iterator[Transaction[HeartbeatTask]]:
        message = ""
        try:
            with self._store.transaction() as work:
                message = self._take_in(work)
                self._store.check(work)
                yield work
                # Before the commit, so that no other call can see these tasks and answer without the warning.
                if message:
                    self._warnings.add(message, message)
                self._note(work)
        except BaseException:  # KeyboardInterrupt too: nothing was taken in, so drop the warning and raise again
            self._warnings.withdraw(message)
            raise
        self._warnings.settle(message)

    def _begin(self) -> None:
        self._is_locked = self._ownership.check_section()
        if self._is_locked:
            self._mirror.look()
        self._bullets.clear()
        self._is_behind = False

    def _look_again(self) -> None:
        with self._round(), self._transaction():
            pass

    def _end(self) -> None:
        """Write the section, or plan another round for once others have finished writing the file."""
        if not self._is_locked:
            return
        try:
            if self._ownership.has_list():
                self._ownership.record()
                self._show()
        except TaskError as error:
            self._is_behind = True
            self._warnings.add(f"mirror: {error.code}", f"{self._name} is not up to date: {error.message}")
        finally:
            self._is_locked = False
        if self._mirror.is_waiting:
            self._rounds.plan(self._look_again)

    def _take_in(self, work: Transaction[HeartbeatTask]) -> str:
        """Turn what a person added into tasks, apply what was ticked off, and return the warning about it."""
        self._is_locked = self._is_locked and self._ownership.claim_list(work)
        self._shown = self._mirror.shown
        is_lost = SECTION not in work.fields and not len(work)
        self._is_recovering = is_lost and not self._may_write
        if is_lost and self._shown:  # also while serving: the file has all that is left of the tasks
            self._mirror.forget()
        document = self._mirror.look() if self._is_locked or self._is_recovering else None
        if document is None and self._is_recovering and self._mirror.is_waiting:
            raise StoreUnreadable(self._name, "another program is writing it; the tasks are recovered from it")
        if document is None:
            return ""
        reading = self._read(document, work, is_recovery=is_lost)
        self._shown = reading.shown
        added = [self._add(work, found, text) for found, text in reading.additions]
        for task_id, status in reading.ticks:
            given = Updates.model_validate({"status": status})
            work.replace(apply_update(work.get(task_id), given, append_ideas=False, now=work.next_moment()))
        return describe_reading(reading, added, self._name, is_recovery=is_lost)

    def _add(self, work: Transaction[HeartbeatTask], found: FoundTask, text: bytes) -> str:
        is_free = found.id is not None and found.id not in work and found.id not in self._maker.archive
        task_id = found.id if found.id and is_free else self._maker.new_id(work, self.holds)
        task = self._maker.make_task(found, task_id, work.next_moment())
        work.add(task)
        if found.id is None:
            self._bullets[task.id] = text
        else:
            self._shown = {**self._shown, task.id: text}
        return task.id

    def _read(self, document: Document, tasks: Collection[HeartbeatTask], *, is_recovery: bool = False) -> Reading:
        def find(task_id: str) -> HeartbeatTask | None:
            return tasks.get(task_id) if task_id in tasks else self._maker.archive.find(task_id)

        receipts = None if document.section.is_new else Receipts.from_fields(tasks.fields)
        return read_section(document.units, receipts, find, self._maker.find_fault, is_recovery=is_recovery)

    def _note(self, work: Transaction[HeartbeatTask]) -> None:
        """Note in the receipts what the file shows of the changed tasks, and what it will show."""
        is_known = (self._is_locked or self._is_recovering) and self._mirror.is_known
        receipts = Receipts.from_fields(work.fields)
        if self._may_write:
            self._changed |= work.changed
        self._receipts = receipts or Receipts({})
        if not work.changed:
            return
        if self._may_write and STORE_ID not in work.fields:
            work.set_fields({**work.fields, STORE_ID: secrets.token_hex(6)})
            self._ownership.forget()
        if not is_known:
            if self._is_locked and receipts is None:  # the entries are written later, without a transaction
                work.set_fields({**work.fields, SECTION: {}})
            return
        ids = {*work.changed, *self._outdated}
        if receipts is None:
            receipts = Receipts({})
            ids |= {*self._shown, *(task.id for task in work.select(Selection(states=ACTIVE)))}
            self._changed |= ids
        tasks = {task_id: work.get(task_id) if task_id in work else None for task_id in sorted(ids)}
        self._receipts = after = receipts.build_next(tasks, self._shown, self._bullets)
        if SECTION not in work.fields or after.stored != receipts.stored:
            work.set_fields({**work.fields, SECTION: {**after.stored}})

    def _show(self) -> None:
        """Make the section match what is committed."""
        is_sure = False
        for _ in range(_TRIES):
            document = self._mirror.look()
            if document is not None:
                with self._store.read() as tasks:
                    reading = self._read(document, tasks)
                if not reading.is_settled:  # written in the meantime, or left by a transaction that failed
                    with self._transaction():
                        continue
                # A task that changed since the last write may have no entry yet: nobody removed it.
                reading.missing = [task_id for task_id in reading.missing if task_id not in self._changed]
                self._mirror.settle(reading)
            entries = self._active.current()
            if not entries and self._mirror.shown and not is_sure:  # if the store was lost since, this is the last copy
                is_sure = True
                with self._transaction():
                    continue
            # If a power cut brought back a bullet whose receipt is gone, it would be taken in a second time.
            if not self._mirror.write(entries, fsync_folder=bool(self._bullets)):
                if self._mirror.is_written:
                    self._changed.clear()
                self._check_receipts()
                return
        self._mirror.wait()

    def _check_receipts(self) -> None:
        """Find receipts of entries that the file no longer shows, and drop those of bullets that it no longer has.

        From now on the same words are a new bullet.
        """
        bullets = self._receipts.find_bullets()
        self._outdated = {*bullets, *self._receipts.find_outdated(self._mirror.shown, self._active.ids)}
        if not bullets or not self._mirror.is_current():
            return
        self._bullets.clear()
        with self._store.transaction() as work:
            receipts = Receipts.from_fields(work.fields) or Receipts({})
            made = {task_id: work.get(task_id) if task_id in work else None for task_id in receipts.find_bullets()}
            after = receipts.build_next(made, self._mirror.shown, None)
            work.set_fields({**work.fields, SECTION: {**after.stored}})
