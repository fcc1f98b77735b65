"""A list or tree of records that threads and processes change in turn, by transactions that share commits (EN-1).

Those that wait for each other share one commit, each behind a savepoint; none is acknowledged before that commit.
"""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import perf_counter
from typing import Final, Generic

from task_core.claims.claim import Claim
from task_core.errors import InternalError, StoreLocked, StoreNewer, TaskError
from task_core.files import LOCK_SECONDS, Wait
from task_core.history.changes import Change, current_origin
from task_core.models import Clock, RecordT, utc_now
from task_core.store.base import Changes, Kind
from task_core.store.claim_register import ClaimRegister
from task_core.store.collection import Collection, ListRow, Session, parse_token
from task_core.store.database import Database
from task_core.store.statements import SQL
from task_core.store.transaction import Transaction
from task_core.warning_list import WarningList

__all__ = ["NEWEST", "Store"]

_MAX_JOINED: Final = 64
"""Maximum transactions in one batch, so that the first of them does not wait long."""

NEWEST: Final = 2**62
"""Above the number of every change."""


class _Batch:
    """Transactions that share one commit."""

    def __init__(self, session: Session, row: ListRow, time: Wait) -> None:
        """Let transactions join until ``time`` is over or the batch is full."""
        self.session = session
        self.row = row
        self.changed: set[str] = set()
        self.joined = 0
        self.loss: TaskError | None = None
        """why the database has rolled back all transactions at once"""
        self.begun = row
        self._time = time
        self._settled = threading.Event()
        self._failure: TaskError | None = None

    @property
    def is_full(self) -> bool:
        return self.loss is not None or self.joined >= _MAX_JOINED or not self._time.remaining

    def undo(self, cause: BaseException) -> None:
        """Undo the current transaction; if the database has rolled back the whole batch, none of it is saved."""
        try:
            self.session.run("ROLLBACK TO SAVEPOINT begun", {})
            self.session.run("RELEASE SAVEPOINT begun", {})
        except TaskError as error:
            self.loss = cause if isinstance(cause, TaskError) else error

    def settle(self, failure: TaskError | None) -> None:
        """Release the waiting transactions: all are saved, or all failed."""
        self._failure = failure
        self._settled.set()

    def wait(self) -> None:
        """Wait until the batch is saved, and raise the transaction's own copy of the error if that failed."""
        self._settled.wait()
        if self._failure:
            raise self._failure.copy()


class Store(Generic[RecordT]):
    """Keeps the list of one tenant and kind in a database."""

    batch_seconds: float = 0.1
    """Seconds during which transactions may join a batch; meanwhile every other process waits (C2)."""

    def __init__(
        self,
        database: Database,
        kind: Kind[RecordT],
        *,
        tenant: str = "",
        clock: Clock = utc_now,
        lock_seconds: float = LOCK_SECONDS,
        claims: ClaimRegister | None = None,
    ) -> None:
        """Wait at most ``lock_seconds`` for other transactions and other processes."""
        self.kind = kind
        self.claims = claims or ClaimRegister(WarningList())
        self._database = database
        self._nothing = ListRow(tenant, kind.name, kind.version)
        self._clock = clock
        self._lock_seconds = lock_seconds
        self.check_growth: Callable[[ListRow, ListRow], None] = lambda _before, _after: None
        """called before a transaction is saved; an error that it raises ends it"""
        self.check: Callable[[Transaction[RecordT]], None] = lambda _: None
        """called when a transaction begins, and once it has taken in what people wrote elsewhere; an error that it
        raises ends it (for a change to what was seen before)"""
        self._outer = threading.local()
        self._turn = threading.Lock()
        self._guard = threading.Lock()
        self._waiting = 0
        self._batch: _Batch | None = None

    @contextmanager
    def transaction(self) -> Iterator[Transaction[RecordT]]:
        """Open a transaction that excludes every other one, in this process and in others.

        It is on disk when the block ends, and nothing has changed when the block raises. One that this thread opens
        within another is a part of that one.

        Raises:
            StoreLocked: the lock was held elsewhere for the whole wait.
            StoreWriteFailed: the commit failed.
            TaskError: as ``read``, or that of a check.
        """
        outer: Transaction[RecordT] | None = getattr(self._outer, "transaction", None)
        if outer is not None:
            yield outer
            return
        batch = self._join()
        try:
            batch.session.run("SAVEPOINT begun", {})
            try:
                self._outer.transaction = work = Transaction(self.kind, batch.session, batch.row, self._clock)
                now = partial(self.now, work)
                claims = self.claims.begin(work, now)
                self.check(work)
                yield work
                work.end_call()
                self.claims.end(work, claims, now)
                row = work.finish()
                self.check_growth(batch.row, row)
                if self.keeps_history:
                    self._database.keep(work)
                batch.session.run("RELEASE SAVEPOINT begun", {})
            except BaseException as error:  # KeyboardInterrupt too: nothing of it may be saved; raised again
                batch.undo(error)
                self.claims.undo()
                raise
            batch.row = row
            batch.changed |= work.changed
        finally:
            self._outer.transaction = None
            self._leave(batch)
        batch.wait()

    @contextmanager
    def read(self) -> Iterator[Collection[RecordT]]:
        """Open a snapshot of what is committed, by this process or another; it stays the same throughout the block.

        It raises ``StoreUnreadable``, ``StoreDamaged`` or ``StoreNewer``.
        """
        with self._database.reading() as session:
            records = Collection(self.kind, session, self._list_row(session))
            is_due = self.claims.observe(records, partial(self.now, records))
            yield records
        if is_due:
            with suppress(TaskError), self.transaction():
                pass  # this extends the claims of the agent that reads

    def find_claims(self) -> list[Claim]:
        """Return the claims on open tasks, the oldest first; those whose agent is gone say so."""
        with self.read() as records:
            return self.claims.find(records, partial(self.now, records))

    def now(self, records: Collection[RecordT]) -> int:
        """Return the present moment in microseconds since 1970, on the clock by which claims end."""
        return self._database.now(records, self._clock)

    def changes(self, since: str | None, limit: int) -> Changes[RecordT]:
        """Return what changed after the token ``since``, at most ``limit`` records; without one, only a token."""
        with self._database.reading() as session:
            row = self._list_row(session)
            now = row.token
            list_id, revision, last = parse_token(now if since is None else since)
            # A token without a list is from before the first record, so everything has come since.
            if since is None or list_id not in ("", row.id) or not row.purged <= revision <= row.revision:
                return Changes([], now, reset=since is not None)
            # Without an id, the token is from the end of its revision.
            start = {"revision": revision if last else revision + 1, "id": last, "limit": limit + 1}
            rows = session.run(SQL.CHANGES, row.key | start)
        parse = self.kind.record_type.model_validate_json
        found = [(name, parse(document) if document else None) for _, name, document in rows[:limit]]
        if len(rows) <= limit:
            return Changes(found, now)
        revision, name, _ = rows[limit - 1]
        return Changes(found, f"{row.id}-{revision}-{name}", more=True)

    @property
    def keeps_history(self) -> bool:
        """True if what changes replace is kept."""
        return self._database.history_days > 0

    def history(self, task_id: str = "", before: int = NEWEST, limit: int = 1) -> list[Change]:
        """Return at most ``limit`` changes, of one task or of all, with a number below ``before``, newest first."""
        with self.read() as records:
            return self._database.find_changes(records, task_id, min(before, NEWEST), min(limit, NEWEST), self._clock)

    def can_answer_now(self) -> bool:
        """Return whether ``read`` would neither wait, as to extend a claim, nor read a whole document now."""
        return not current_origin().agent and self._database.can_answer_now()

    def observe(self, note: Callable[[str, float], None]) -> None:
        """Let ``note`` hear what this store does, as ``Database.note`` describes it."""
        self._database.note = note

    def close(self) -> None:
        """Give up every wait for another process, in every thread, now and later, and close the files."""
        self._database.give_up()
        if self._turn.acquire(blocking=False):  # else an unfinished transaction still needs the database
            self._database.close()
            self._turn.release()
        self.claims.close()

    def _list_row(self, session: Session) -> ListRow:
        row = self._nothing.reload(session)
        if row.version > self.kind.version:
            raise StoreNewer(self._database.name, row.version, self.kind.version)
        return row

    def _join(self) -> _Batch:
        wait = Wait(self._lock_seconds)
        self._take_turn(wait)
        if self._batch is None:
            try:
                self._batch = self._open_batch(wait)
            except BaseException:  # KeyboardInterrupt too: let the next one in, then raise again
                self._turn.release()
                raise
        self._batch.joined += 1
        self._database.note("wait", wait.elapsed)
        return self._batch

    def _take_turn(self, wait: Wait) -> None:
        with self._guard:
            self._waiting += 1
        is_ours = self._turn.acquire(timeout=wait.remaining)
        with self._guard:
            self._waiting -= 1
            # Another thread may have passed the turn to this one at the very end of its wait.
            is_ours = is_ours or self._turn.acquire(blocking=False)
        if not is_ours:
            raise StoreLocked(wait.elapsed)

    def _open_batch(self, wait: Wait) -> _Batch:
        session = self._database.begin(wait)
        try:
            row = self._list_row(session)
            if not row.id:
                session.run(SQL.ADD_LIST, row.key | {"id": secrets.token_hex(6), "version": row.version})
                row = self._list_row(session)
            return _Batch(session, row, Wait(self.batch_seconds))
        except BaseException:  # KeyboardInterrupt too: end the transaction, then raise again
            self._database.end()
            raise

    def _leave(self, batch: _Batch) -> None:
        with self._guard:
            if self._waiting and not batch.is_full:
                self._turn.release()  # a waiting thread continues the batch
                return
        self._batch = None
        failure = batch.loss
        try:
            if batch.row is not batch.begun and not failure:
                start = perf_counter()
                self._database.commit(Collection(self.kind, batch.session, batch.row), batch.changed)
                self._database.note("commit", perf_counter() - start)
                self._database.note("transactions", batch.joined)
        except TaskError as error:
            failure = error
        except BaseException:  # KeyboardInterrupt too: the calls that wait fail, then raise again
            failure = InternalError()
            raise
        finally:
            batch.settle(failure)
            self.claims.settle(is_saved=failure is None)
            self._database.end()
            self._end_turn(is_tidying=batch.row is not batch.begun and self._database.is_tidying_due())

    def _end_turn(self, *, is_tidying: bool) -> None:
        with suppress(RuntimeError):  # no thread can be started
            if is_tidying:
                threading.Thread(target=self._tidy, daemon=True).start()
                return
        self._turn.release()

    def _tidy(self) -> None:
        try:
            with suppress(TaskError):
                self._database.tidy(Wait(self._lock_seconds))
        finally:
            self._end_turn(is_tidying=False)
