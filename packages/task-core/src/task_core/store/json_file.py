"""The engine with one JSON document, replaced atomically and shared by many processes.

Under the lock: compare the file's identity with what was last read, read again if it differs, apply the units of
work, write once, and only then swap the state in memory and answer. ``guides: D1 to D7, C1 to C4, L1 to L3``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, Generic, TypeVar

from task_core.clock import Clock, utc_now
from task_core.errors import InternalError, StoreLocked, StoreNewer, StoreUnreadable, StoreWriteFailed, TaskError
from task_core.files import (
    FileIdentity,
    FolderNotSynced,
    HeldFile,
    describe,
    identify,
    open_held,
    replace_file,
    replace_held,
    sweep_temporary,
)
from task_core.models import Record
from task_core.store.aside import keep_aside
from task_core.store.base import Collection, Store, Transaction
from task_core.store.batch import Batch, Turn
from task_core.store.encoding import Codec, Damaged, Decoded, Newer
from task_core.store.lines import Lines
from task_core.store.lock import ProcessLock, Wait
from task_core.warning_list import WarningList

__all__ = ["LOCK_SECONDS", "JsonFileStore"]

RecordT = TypeVar("RecordT", bound=Record)

LOCK_SECONDS: Final = 10.0
"""How long a unit of work waits for other processes before it gives up, in seconds (C2)."""

_SETTLE_SECONDS: Final = 0.1
"""How long what looks damaged must stay as it is, in seconds: longer than an editor takes to write a file."""

_MOST_FAULTS: Final = 3
"""Faults of one document that a warning tells; of more it tells the number."""


@dataclass(frozen=True)
class _State(Generic[RecordT]):
    """What one state of the file holds."""

    held: Decoded[RecordT] = field(default_factory=Decoded)
    file: HeldFile | None = None
    """None: there is no file."""
    is_saved: bool = True
    """False: the records were recovered and must reach the disk with the next save."""

    @property
    def records(self) -> Mapping[str, RecordT]:
        return self.held.records

    @property
    def identity(self) -> FileIdentity | None:
        return self.file.identity if self.file else None


@dataclass(frozen=True)
class _Unusable:
    """Why there is nothing to read: the file is missing (it is None), blank or damaged."""

    reason: str
    data: bytes = b""
    file: HeldFile | None = None

    @property
    def is_blank(self) -> bool:
        return not self.data.strip()


class JsonFileStore(Store[RecordT]):
    """Keeps records in the JSON document at ``path``.

    ``recover`` gives the records to start from when there is no document, and when a damaged one is not the very file
    that this process last read whole. ``on_commit`` is called with the committed records after each save, and after
    units of work that changed nothing, while the lock is still held; it must not raise.
    """

    batch_seconds: float = 0.1
    """How long units of work may join a batch, in seconds: meanwhile every other process waits (C2)."""

    def __init__(
        self,
        path: Path,
        codec: Codec[RecordT],
        warnings: WarningList,
        *,
        recover: Callable[[], Sequence[RecordT]] = tuple,
        on_commit: Callable[[Collection[RecordT]], None] = lambda _: None,
        clock: Clock = utc_now,
        lock_seconds: float = LOCK_SECONDS,
        fsync: bool = True,
    ) -> None:
        # The lock file stands beside the real file, so that all who reach the store through links share it.
        self._path = Path(os.path.realpath(path))
        self._codec = codec
        self._warnings = warnings
        self._recover = recover
        self._on_commit = on_commit
        self._clock = clock
        self._lock_seconds = lock_seconds
        self._fsync = fsync
        self._lock = ProcessLock(self._path.with_name(self._path.name + ".lock"))
        self._turn = Turn()
        self._batch: Batch[RecordT] | None = None
        self._base: _State[RecordT] = _State()
        self._state: _State[RecordT] | None = None
        self._kept_aside: tuple[HeldFile, str] | None = None
        self._is_swept = False

    @contextmanager
    def transaction(self) -> Iterator[Transaction[RecordT]]:
        """Open a unit of work; those that wait for each other in this process share one save."""
        batch = self._join()
        work = batch.unit()
        try:
            yield work
            batch.take(work, self._codec.encode)
        except BaseException:
            batch.drop(work)
            self._leave(batch)
            raise
        self._leave(batch)
        batch.wait()

    def read(self) -> Collection[RecordT]:
        """Return what is committed now; a store that is there is read without waiting for any lock (D5)."""
        found = self._look()
        if isinstance(found, _State):
            return Collection(found.records)
        try:
            with self.transaction() as recovered:
                return Collection(recovered.records)
        except (StoreLocked, StoreWriteFailed):
            if not found.is_blank:
                raise
            return Collection(_by_id(self._recover()))

    def peek(self) -> Collection[RecordT] | None:
        """Return what is committed now if the file is the one that was last read or written; it costs one stat."""
        known = self._state
        try:
            return Collection(known.records) if known and known.identity == identify(self._path) else None
        except OSError:
            return None

    def close(self) -> None:
        """Give up waiting for the lock, in every thread."""
        self._lock.give_up()

    # Turns and batches

    def _join(self) -> Batch[RecordT]:
        wait = Wait(self._lock_seconds)
        self._turn.take(wait)
        if self._batch is None:
            try:
                self._batch = self._open_batch(wait)
            except BaseException:
                self._turn.leave()
                raise
        return self._batch

    def _open_batch(self, wait: Wait) -> Batch[RecordT]:
        self._lock.acquire(wait)
        try:
            self._sweep()
            found = self._look_until_settled(wait)
            self._base = found if isinstance(found, _State) else self._recovered(found)
            return Batch(self._base.records, Wait(self.batch_seconds))
        except BaseException:
            self._lock.release()
            raise

    def _leave(self, batch: Batch[RecordT]) -> None:
        if not batch.is_full and self._turn.leave_if_wanted():
            return
        self._batch = None
        failure: Callable[[], TaskError] | None = InternalError
        try:
            failure = self._save(batch)
            if failure is None:
                self._on_commit(Collection(batch.records))
        finally:
            batch.settle(failure)
            self._lock.release()
            # Only now: this may close the file that was replaced, and while the system deletes it syncing takes longer.
            self._base = _State()
            self._turn.leave()

    def _save(self, batch: Batch[RecordT]) -> Callable[[], TaskError] | None:
        """Write what the batch changed and return what makes the error of each of its units, or None."""
        if batch.changes or not self._base.is_saved:
            try:
                self._state = self._write(self._base, batch)
            except OSError as error:
                self._is_swept = False
                return partial(StoreWriteFailed, self._path.name, describe(error))
        return None

    # Writing

    def _write(self, old: _State[RecordT], batch: Batch[RecordT]) -> _State[RecordT]:
        lines = self._encode(old, batch)
        kept = old.held.kept
        try:
            file = replace_held(self._path, self._codec.pieces(lines, kept), over=old.identity, fsync=self._fsync)
        except FolderNotSynced:
            self._put_back(old)
            raise
        return _State(Decoded(batch.records, kept, lines=lines), file)

    def _encode(self, old: _State[RecordT], batch: Batch[RecordT]) -> Lines:
        known = old.held.lines
        if known is None:
            known = Lines.of({record_id: self._codec.encode(record) for record_id, record in old.records.items()})
        return known.changed((change.id, change.line) for change in batch.changes)

    def _put_back(self, old: _State[RecordT]) -> None:
        """Undo a replacement whose durability is unknown, so that a failed call has changed nothing (ERR-2)."""
        try:
            if old.file is None:
                self._path.unlink()
            else:
                with suppress(FolderNotSynced):
                    replace_file(self._path, old.file.read(), fsync=self._fsync)
        except OSError as error:
            cause = f"{error.strerror}, and the change could not be taken back: list the tasks to see what stands"
            raise OSError(error.errno, cause) from error

    def _sweep(self) -> None:
        if not self._is_swept:
            self._is_swept = sweep_temporary(self._path)

    # Reading

    def _look_until_settled(self, wait: Wait) -> _State[RecordT] | _Unusable:
        """Look until what is unusable stays so: an editor that writes in place leaves it torn for a moment (ST-3)."""
        found = self._look()
        while isinstance(found, _Unusable) and found.file and wait.remaining:
            time.sleep(_SETTLE_SECONDS)
            before, found = found.file, self._look()
            if found.file and found.file.identity == before.identity:
                break
        return found

    def _look(self) -> _State[RecordT] | _Unusable:
        """Return the state of the file, read again only if its identity changed (D7)."""
        known = self._state
        try:
            if known is not None and known.identity == identify(self._path):
                return known
            file = open_held(self._path)
            data = file.read()
        except FileNotFoundError:
            return _Unusable("missing")
        except OSError as error:
            raise StoreUnreadable(self._path.name, describe(error)) from error
        if not data.strip():
            return _Unusable("blank", data, file)
        found = self._decode(file, data)
        # A reader waits for nobody, so a writer may have come to know a later state than this one.
        if isinstance(found, _State) and self._state is known:
            self._state = found
        return found

    def _decode(self, file: HeldFile, data: bytes) -> _State[RecordT] | _Unusable:
        try:
            decoded = self._codec.decode(data, self._state.held if self._state else None)
        except Newer as error:
            raise StoreNewer(self._path.name, error.found, error.supported) from error
        except Damaged as error:
            return _Unusable(str(error), data, file)
        if decoded.faults:
            text = " ".join(decoded.faults[:_MOST_FAULTS])
            untold = len(decoded.faults) - _MOST_FAULTS
            more = f" {untold} more faults." if untold > 0 else ""
            self._warnings.add(f"store faults: {text}", f"{self._path.name}: {text}{more}")
        return _State(decoded, file)

    # Recovery

    def _recovered(self, found: _Unusable) -> _State[RecordT]:
        """Return what to go on from when the file is missing, blank or damaged, and keep its bytes first (L1)."""
        last = self._state
        if found.file is None:
            records = _by_id(self._recover())
            if records:
                told = f"{self._path.name} was not there; {len(records)} tasks were recovered."
                self._warnings.add(f"store missing: {self._clock()}", told)
                return _State(Decoded(records), is_saved=False)
            self._state = _State()
            return self._state
        kept_as = "it held nothing" if found.is_blank else f"its bytes are kept in {self._keep(found, found.file)}"
        # Another file than the one last read may be a later state of another process, which memory would undo.
        if last is None or last.identity is None or last.identity[:2] != found.file.identity[:2]:
            last = _State(Decoded(_by_id(self._recover())))
        self._warnings.add(
            f"store unusable: {kept_as}",
            f"{self._path.name} was unusable ({found.reason}); {kept_as}. {len(last.records)} tasks were recovered.",
        )
        return replace(last, file=found.file, is_saved=False)

    def _keep(self, found: _Unusable, file: HeldFile) -> str:
        """Copy what was found aside, once, and return the name of the copy."""
        if self._kept_aside is None or self._kept_aside[0].identity != file.identity:
            try:
                copy = keep_aside(self._path, found.data, self._clock())
            except OSError as error:
                cause = f"{found.reason}, and no copy could be kept: {describe(error)}"
                raise StoreUnreadable(self._path.name, cause) from error
            self._kept_aside = file, copy.name
        return self._kept_aside[1]


def _by_id(records: Iterable[RecordT]) -> Mapping[str, RecordT]:
    return {record.id: record for record in records}
