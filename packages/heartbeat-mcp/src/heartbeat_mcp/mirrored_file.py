"""Keeps the store and HEARTBEAT.md in step: what a person wrote there becomes tasks, and tasks become entries (HB-12).

A call makes one pass under the lock of the file, which it takes before that of the store: look at the file; in one
transaction take in what a person wrote, do what the call is for, and note in the receipts what the file will show; once
that is committed, write the section. Calls that wait for each other share a pass, and so a commit and a write (EN-9).
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from math import inf
from pathlib import Path
from typing import Final

from typing_extensions import override

from heartbeat_mcp.intake import Intake
from heartbeat_mcp.mirror.access import Ownership, SectionLock
from heartbeat_mcp.mirror.document import ActiveEntries
from heartbeat_mcp.mirror.entries import Receipts
from heartbeat_mcp.mirror.mirror import Mirror
from heartbeat_mcp.mirror.owner import Owner
from heartbeat_mcp.models import SECTION, STORE_ID, HeartbeatTask
from heartbeat_mcp.passes import PassTimer, SharedTurn, TakenIn, TaskFile, drop_bullets, note_receipts, transact
from heartbeat_mcp.task_rules import TaskMaker
from task_core.errors import StoreLocked, StoreWriteFailed, TaskError
from task_core.files import Wait
from task_core.store import Store, Transaction
from task_core.text import pluralize

__all__ = ["MirroredFile"]

_LONG_WAIT: Final = timedelta(minutes=1)
"""The time for which others may hold the file before that is reported (HB-18)."""


class MirroredFile(TaskFile):
    """Keeps the store and the section of one file in step."""

    def __init__(
        self,
        mirror: Mirror,
        store: Store[HeartbeatTask],
        maker: TaskMaker,
        *,
        owner: Owner,
        lock_seconds: float,
    ) -> None:
        """Wait at most ``lock_seconds`` for other calls; ``owner`` names the store and the file, without the id."""
        super().__init__(store)
        self._lock = SectionLock.beside(Path(os.path.realpath(mirror.path)))
        self._lock_seconds = lock_seconds
        self._turn = SharedTurn(self._begin, self._finish)
        self.mirror = mirror
        self.intake = Intake(maker, mirror)
        self.warnings = mirror.warnings
        self.ownership = Ownership(self._lock, owner, store, mirror.warnings, mirror.path.name, mirror.section)
        self.active = ActiveEntries(store, maker.clock)
        self.changed: set[str] = set()
        """Tasks that changed since the section was last written, and so may have no entry yet."""
        self.outdated: set[str] = set()
        """Tasks whose receipts name entries or bullets that the file no longer shows."""
        self.is_start = True
        """True until the first pass of this process has ended."""
        self._is_behind = False
        self._timer = PassTimer(self._sync_again)

    @override
    def is_current(self) -> bool:
        """Return whether nobody has changed the file or the store since the last pass, and that left nothing to do."""
        if self.ownership.is_foreign:
            return True
        return not self._is_behind and self.mirror.is_current() and self.active.is_current()

    @override
    def holds(self, task_id: str) -> bool:
        return self.mirror.holds(task_id)

    @override
    def close(self) -> None:
        """End every wait for the lock, now and later, and begin no more passes without a call."""
        self._lock.give_up()
        self._timer.close()

    @contextmanager
    @override
    def transaction(self) -> Iterator[Transaction[HeartbeatTask]]:
        """Open a transaction that first takes in what a person wrote; after it the section is written (HB-12).

        A failure with the file is only a warning: it does not fail the call (HB-13), which then leaves the file alone.
        """
        with ExitStack() as stack:
            try:
                sync = stack.enter_context(self._turn.take(self._lock_seconds))
            except (StoreLocked, StoreWriteFailed) as error:
                message = f"{self.mirror.path.name} was left as it is: {error.message}"
                if not self.mirror.is_current() and (count := self.intake.count_additions(self.store)):
                    message += f" In it, {pluralize(count, 'line')} added by hand cannot become tasks until then."
                self.warnings.add("mirror: lock", message)
                self._is_behind = True
                yield stack.enter_context(self.store.transaction())
                return
            self.warnings.settle("mirror: lock")
            with sync.transaction() as work:
                yield work

    def _begin(self, wait: Wait) -> "_Pass":
        """Take the lock of the file, if that is possible in time, and look at the file."""
        self._lock.acquire(wait)
        try:
            return _Pass(self)
        except BaseException:  # KeyboardInterrupt too: let others in, then raise again
            self._lock.release()
            raise

    def _finish(self, sync: "_Pass") -> None:
        self._is_behind = True  # until it has finished
        try:
            self._is_behind = not sync.finish()
            self._plan(sync)
        finally:
            self._lock.release()

    def _plan(self, sync: "_Pass") -> None:
        if sync.must_be_repeated:
            self._timer.plan()
        elif (left := self.active.seconds) < inf:
            self._timer.plan(left)

    def _sync_again(self) -> None:
        try:
            with self._turn.take(self._lock_seconds) as sync, sync.transaction():
                pass
        except TaskError:
            self._timer.plan()


class _Pass:
    """The knowledge of one pass, from the first look at the file to the write; only who holds the lock has one."""

    def __init__(self, file: MirroredFile) -> None:
        """Read the file if this store owns its section; raise ``TaskError`` if its owner is not known."""
        self._file = file
        self._mirror = file.mirror
        self._receipts = Receipts({})
        self._has_bullets = False
        self._is_committed = False
        self._is_start = file.is_start
        self._is_ours = file.ownership.check_section()
        if self._is_ours:
            self._mirror.look()

    @contextmanager
    def transaction(self) -> Iterator[Transaction[HeartbeatTask]]:
        """Open a transaction that first takes in what a person wrote, and notes what the file will show."""
        with transact(self._file.store, self._file.warnings, self._take_in, self._note) as work:
            yield work
        self._is_committed = True

    def finish(self) -> bool:
        """Write the section, and return whether nothing is left to do; a failure becomes a warning."""
        is_shown = True
        try:
            if self._is_ours and not self._is_committed and self._file.ownership.owner.file:
                with self.transaction():  # the one of the call failed before it could claim the list
                    pass
            if self._is_ours:
                self._file.ownership.record()
                is_shown = self._show()
                self._report_wait()
        except TaskError as error:
            message = f"{self._mirror.path.name} is not up to date: {error.message}"
            self._file.warnings.add(f"mirror: {error.code}", message)
            return False
        return is_shown

    @property
    def must_be_repeated(self) -> bool:
        """True if somebody was still writing the file, so that another pass must follow soon (HB-18)."""
        return self._is_ours and self._mirror.is_waiting

    def _take_in(self, work: Transaction[HeartbeatTask]) -> TakenIn:
        self._is_ours = self._is_ours and self._file.ownership.claim_list(work)
        if not self._is_ours:
            return TakenIn()
        shown, is_recovery = self._mirror.shown, SECTION not in work.fields and not len(work)
        if is_recovery and shown:  # also while serving: the file has all that is left of the tasks
            self._mirror.forget()
        document = self._mirror.look()
        if document is None:
            return TakenIn(shown=shown)
        is_start, self._is_start = self._is_start, False  # the next call of this pass finds receipts of this one
        if is_start and self._mirror.is_missing and not self._file.ownership.is_new_file:
            receipts = Receipts.from_fields(work.fields)
            if receipts and receipts.stored:
                self._mirror.reports.report_removal("the file is created again")
        taken = self._file.intake.take_in(document, work, is_recovery=is_recovery)
        self._has_bullets = self._has_bullets or bool(taken.bullets)
        is_first = SECTION not in work.fields or self._file.ownership.is_new_file
        if is_first and taken.bullets:
            self._mirror.keep()
            kept = f"The section as it was is in {self._mirror.path.name}.bak."
            return taken._replace(message=f"{taken.message} {kept}")
        return taken

    def _note(self, work: Transaction[HeartbeatTask], taken: TakenIn) -> None:
        if work.changed and STORE_ID not in work.fields:
            work.set_fields({**work.fields, STORE_ID: secrets.token_hex(6)})
            self._file.ownership.forget()
        if not self._is_ours:
            return
        self._file.changed |= work.changed
        receipts = Receipts.from_fields(work.fields)
        if work.changed and self._mirror.is_known:
            ids = note_receipts(work, taken, self._file.outdated)
            if receipts is None:
                self._file.changed |= ids
        elif work.changed and receipts is None:  # the entries are written later, without a transaction
            work.set_fields({**work.fields, SECTION: {}})
        self._receipts = Receipts.from_fields(work.fields) or Receipts({})

    def _show(self) -> bool:
        """Make the section match what is committed, and return whether nobody has changed the store meanwhile."""
        is_sure = False
        for _ in self._try_to_read():
            entries = self._file.active.current()
            if not entries and self._mirror.shown and not is_sure:  # if the store was lost since, this is the last copy
                is_sure = True
                with self.transaction():
                    pass
                continue
            # If a power cut brought back a bullet whose receipt is gone, it would be taken in a second time.
            if not self._mirror.write(entries, fsync_folder=self._has_bullets):
                if self._mirror.is_written:
                    self._file.changed.clear()
                self._check_receipts()
                return self._file.active.current() == entries
        self._mirror.wait()
        return False

    def _report_wait(self) -> None:
        """Warn of a file that others hold for long, and at a start of tasks that the last process could not show."""
        name, warnings = self._mirror.path.name, self._file.warnings
        is_start, self._file.is_start = self._file.is_start, False
        if not self._mirror.is_waiting:
            warnings.settle("mirror: held")
        elif self._mirror.waited > _LONG_WAIT:
            message = f"Another program has had {name} open for more than a minute, so the file is neither read nor "
            warnings.add("mirror: held", f"{message}written. The tasks are safe in the store; close the file there.")
        elif is_start and (hidden := {task.task_id for task in self._file.active.current()} - self._file.changed):
            cause = "it is blank, or another program is writing it"
            message = f"{name} may not show {pluralize(len(hidden), 'task')} yet: {cause}. The server updates it as "
            warnings.add("mirror: not shown", f"{message}soon as possible.")

    def _try_to_read(self) -> Iterator[None]:
        """Yield each time that the file is known and nothing in it is left to take in, a few times at most."""
        for _ in range(5):
            document = self._mirror.look()
            if document is not None:
                with self._file.store.read() as tasks:
                    reading = self._file.intake.read(document, tasks)
                if not reading.is_settled:  # written in the meantime, or left by a transaction that failed
                    with self.transaction():
                        pass
                    continue
                # A task that changed since the last write may have no entry yet: nobody removed it.
                reading.missing = [task_id for task_id in reading.missing if task_id not in self._file.changed]
                self._mirror.settle(reading)
            yield

    def _check_receipts(self) -> None:
        """Find receipts of entries that the file no longer shows, and let the words of earlier bullets be new ones."""
        bullets, shown = self._receipts.find_bullets(), self._mirror.shown
        self._file.outdated = {*bullets, *self._receipts.find_outdated(shown, self._file.active.ids)}
        if bullets and self._mirror.is_current():
            drop_bullets(self._file.store, shown)
