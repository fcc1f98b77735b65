"""One pass over HEARTBEAT.md under its lock: take in what a person wrote, and write the section (HB-12).

The calls that share the pass have this object, and no other call has one: so whoever does not hold the lock has nothing
to read or to write the file with.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, NamedTuple

from heartbeat_mcp.intake import Intake, TakenIn
from heartbeat_mcp.mirror import Mirror, Receipts
from heartbeat_mcp.mirror.document import ActiveEntries
from heartbeat_mcp.mirror.lock import Ownership
from heartbeat_mcp.models import ACTIVE, SECTION, STORE_ID, HeartbeatTask
from task_core.errors import TaskError
from task_core.store import Selection, Store, Transaction
from task_core.text import pluralize
from task_core.warning_list import WarningList

__all__ = ["SyncParts", "SyncPass", "Unwritten", "note_receipts", "transact"]

_LONG_WAIT: Final = timedelta(minutes=1)
"""The time for which others may hold the file before that is reported (HB-18)."""

_HELD: Final = "mirror: held"
"""Cause of the warning that another program holds the file for long."""

_NOT_SHOWN: Final = "mirror: not shown"
"""Cause of the warning that tasks of an earlier process are not in the file yet."""

_TRIES: Final = 5
"""Attempts to write the section while somebody keeps changing the file."""


class SyncParts(NamedTuple):
    """The parts that the passes of a process work with, one pass after the other."""

    mirror: Mirror
    store: Store[HeartbeatTask]
    intake: Intake
    warnings: WarningList
    ownership: Ownership
    active: ActiveEntries


@dataclass
class Unwritten:
    """The ids that one pass leaves to the next."""

    changed: set[str] = field(default_factory=set)
    """Tasks that changed since the section was last written, and so may have no entry yet."""
    outdated: set[str] = field(default_factory=set)
    """Tasks whose receipts name entries or bullets that the file no longer shows."""
    is_start: bool = True
    """True until the first pass of this process has ended."""


class SyncPass:
    """The knowledge of one pass, from the first look at the file to the write."""

    def __init__(self, parts: SyncParts, unwritten: Unwritten) -> None:
        """Read the file if this store owns its section; the lock of the file is held until ``finish`` returns.

        Raises:
            TaskError: the owner of the section is not known.
        """
        self._parts = parts
        self._mirror = parts.mirror
        self._unwritten = unwritten
        self._receipts = Receipts({})
        self._has_bullets = False
        self._is_ours = parts.ownership.check_section()
        if self._is_ours:
            self._mirror.look()

    def transaction(self) -> AbstractContextManager[Transaction[HeartbeatTask]]:
        """Open a transaction that first takes in what a person wrote, and notes what the file will show."""
        return transact(self._parts.store, self._parts.warnings, self._take_in, self._note)

    def finish(self) -> bool:
        """Write the section, and return whether the file was left as it should be; a failure becomes a warning."""
        if not self._is_ours:
            return True
        try:
            if not self._parts.ownership.has_list():
                with self.transaction():  # the ones of the calls failed before they could claim the list
                    pass
            if self._is_ours:
                self._parts.ownership.record()
                self._show()
                self._report_wait()
        except TaskError as error:
            message = f"{self._mirror.path.name} is not up to date: {error.message}"
            self._parts.warnings.add(f"mirror: {error.code}", message)
            return False
        return True

    @property
    def must_be_repeated(self) -> bool:
        """True if somebody was still writing the file, so that another pass must follow soon (HB-18)."""
        return self._is_ours and self._mirror.is_waiting

    def _take_in(self, work: Transaction[HeartbeatTask]) -> TakenIn:
        self._is_ours = self._is_ours and self._parts.ownership.claim_list(work)
        if not self._is_ours:
            return TakenIn()
        shown, is_recovery = self._mirror.shown, SECTION not in work.fields and not len(work)
        if is_recovery and shown:  # also while serving: the file has all that is left of the tasks
            self._mirror.forget()
        document = self._mirror.look()
        if document is None:
            return TakenIn(shown=shown)
        taken = self._parts.intake.take_in(document, work, self._mirror.holds, is_recovery=is_recovery)
        self._has_bullets = self._has_bullets or bool(taken.bullets)
        is_first = SECTION not in work.fields or self._parts.ownership.is_new_file
        if is_first and taken.bullets:
            self._mirror.keep_section()
            kept = f"The section as it was is in {self._mirror.path.name}.bak."
            return taken._replace(message=f"{taken.message} {kept}")
        return taken

    def _note(self, work: Transaction[HeartbeatTask], taken: TakenIn) -> None:
        if work.changed and STORE_ID not in work.fields:
            work.set_fields({**work.fields, STORE_ID: secrets.token_hex(6)})
            self._parts.ownership.forget()
        if not self._is_ours:
            return
        self._unwritten.changed |= work.changed
        receipts = Receipts.from_fields(work.fields)
        if work.changed and self._mirror.is_known:
            ids = note_receipts(work, taken, self._unwritten.outdated)
            if receipts is None:
                self._unwritten.changed |= ids
        elif work.changed and receipts is None:  # the entries are written later, without a transaction
            work.set_fields({**work.fields, SECTION: {}})
        self._receipts = Receipts.from_fields(work.fields) or Receipts({})

    def _show(self) -> None:
        """Make the section match what is committed."""
        is_sure = False
        for _ in self._try_to_read():
            entries = self._parts.active.current()
            if not entries and self._mirror.shown and not is_sure:  # if the store was lost since, this is the last copy
                is_sure = True
                with self.transaction():
                    pass
                continue
            # If a power cut brought back a bullet whose receipt is gone, it would be taken in a second time.
            if not self._mirror.write(entries, fsync_folder=self._has_bullets):
                if self._mirror.is_written:
                    self._unwritten.changed.clear()
                self._check_receipts()
                return
        self._mirror.wait()

    def _report_wait(self) -> None:
        """Warn of a file that others hold for long, and at a start of tasks that the last process could not show."""
        name, warnings = self._mirror.path.name, self._parts.warnings
        is_start, self._unwritten.is_start = self._unwritten.is_start, False
        if not self._mirror.is_waiting:
            warnings.settle(_HELD)
        elif self._mirror.waited > _LONG_WAIT:
            message = f"Another program has had {name} open for more than a minute, so the file is neither read nor "
            warnings.add(_HELD, f"{message}written. The tasks are safe in the store; close the file there.")
        elif is_start and (hidden := self._count_hidden()):
            cause = "it is blank, or another program is writing it"
            message = f"{name} may not show {pluralize(hidden, 'task')} yet: {cause}. The server updates it as soon as "
            warnings.add(_NOT_SHOWN, f"{message}possible.")

    def _count_hidden(self) -> int:
        """Return how many tasks of earlier processes may not be shown."""
        return len({entry.task_id for entry in self._parts.active.current()} - self._unwritten.changed)

    def _try_to_read(self) -> Iterator[None]:
        """Yield each time that the file is known and nothing in it is left to take in, a few times at most."""
        for _ in range(_TRIES):
            document = self._mirror.look()
            if document is not None:
                with self._parts.store.read() as tasks:
                    reading = self._parts.intake.read(document, tasks)
                if not reading.is_settled:  # written in the meantime, or left by a transaction that failed
                    with self.transaction():
                        pass
                    continue
                # A task that changed since the last write may have no entry yet: nobody removed it.
                reading.missing = [task_id for task_id in reading.missing if task_id not in self._unwritten.changed]
                self._mirror.settle(reading)
            yield

    def _check_receipts(self) -> None:
        """Find receipts of entries that the file no longer shows, and drop those of bullets that it no longer has.

        From now on the same words are a new bullet.
        """
        bullets, shown = self._receipts.find_bullets(), self._mirror.shown
        self._unwritten.outdated = {*bullets, *self._receipts.find_outdated(shown, self._parts.active.ids)}
        if not bullets or not self._mirror.is_current():
            return
        with self._parts.store.transaction() as work:
            receipts = Receipts.from_fields(work.fields) or Receipts({})
            made = {task_id: work.get(task_id) if task_id in work else None for task_id in receipts.find_bullets()}
            after = receipts.build_next(made, shown, None)
            work.set_fields({**work.fields, SECTION: {**after.stored}})


@contextmanager
def transact(
    store: Store[HeartbeatTask],
    warnings: WarningList,
    take_in: Callable[[Transaction[HeartbeatTask]], TakenIn],
    note: Callable[[Transaction[HeartbeatTask], TakenIn], None],
) -> Iterator[Transaction[HeartbeatTask]]:
    """Open a transaction that begins with ``take_in`` and ends with ``note``, and warn of what was taken in."""
    taken = TakenIn()
    try:
        with store.transaction() as work:
            taken = take_in(work)
            store.check(work)
            yield work
            # Before the commit, so that no other call can see these tasks and answer without the warning.
            if taken.message:
                warnings.add(taken.message, taken.message)
            note(work, taken)
    except BaseException:  # KeyboardInterrupt too: nothing was taken in, so drop the warning and raise again
        warnings.withdraw(taken.message)
        raise
    warnings.settle(taken.message)


def note_receipts(work: Transaction[HeartbeatTask], taken: TakenIn, outdated: Iterable[str] = ()) -> set[str]:
    """Note in the receipts the entries that the file has of the changed tasks, and those that it will have.

    Receipts of ``outdated`` ids are renewed too. Return the ids that have new receipts.
    """
    ids = {*work.changed, *outdated}
    receipts = Receipts.from_fields(work.fields)
    if receipts is None:
        receipts = Receipts({})
        ids |= {*taken.shown, *(task.id for task in work.select(Selection(states=ACTIVE)))}
    tasks = {task_id: work.get(task_id) if task_id in work else None for task_id in sorted(ids)}
    after = receipts.build_next(tasks, taken.shown, taken.bullets)
    if SECTION not in work.fields or after.stored != receipts.stored:
        work.set_fields({**work.fields, SECTION: {**after.stored}})
    return ids
