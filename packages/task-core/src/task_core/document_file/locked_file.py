"""One JSON file, read when it has changed and replaced under a lock (D1 to D7, C1 to C4).

Bytes that are not understood are left alone (ST-3).
"""

import os
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Self

from task_core.document_file.generations import Generations
from task_core.document_file.source import Source
from task_core.durable import FileChanged, NotPutBack, replace_file, sweep_temporary
from task_core.errors import StoreDamaged, StoreUnreadable, StoreWriteFailed
from task_core.files import FileIdentity, HeldFile, ProcessLock, Wait, describe, identity_of, open_held
from task_core.history.history_file import Stamp
from task_core.models import Clock, day_of
from task_core.warning_list import WarningList

__all__ = ["DocumentFormat", "LockedFile", "Rewritten", "Take"]

_REST_SECONDS: Final = 5.0
"""Seconds since its last change after which a document is assumed to be finished, not half written (ST-5)."""

Take = Callable[[Source | None], None]
"""Takes a document that was read; None is an empty one. If it raises, the document that was read before stays."""


class _State(NamedTuple):
    """One state of a file, edits included that keep its size and its time."""

    identity: FileIdentity
    changed_ns: int
    """the change time, which no program can set"""

    @classmethod
    def of(cls, status: os.stat_result) -> Self:
        return cls(identity_of(status), status.st_ctime_ns)


class Rewritten(NamedTuple):
    """A document as a server writes it."""

    data: bytes
    count: int
    """the number of its records"""
    notes: tuple[str, ...] = ()
    """a sentence for each thing that a person wrote but the server reads differently"""


class DocumentFormat(ABC):
    """The format of one server's document, and the way in which that document is shared."""

    head: bytes = b""
    """the bytes with which every document of this server begins"""
    is_private: bool = True
    """true if only the owner may read a new document (S4); otherwise it gets the access of its folder"""
    noun: str = "task"
    """the word for a record"""

    def lock(self, path: Path) -> ProcessLock:
        """Return the lock of the document that ``path`` leads to."""
        # It belongs to the real file, so that processes that reach the store through links share it.
        return ProcessLock.beside(Path(os.path.realpath(path)))

    @abstractmethod
    def rewrite(self, source: Source | None) -> Rewritten:
        """Return the document as a server would write it; None is a document that does not exist.

        It raises ``StoreDamaged`` if it is not a complete, valid document of this server, or ``StoreNewer``.
        """


class LockedFile:
    """The document that ``path`` leads to, wherever its links lead at the time.

    With ``may_start_anew``, a document that only a crash can have left is kept aside and counts as empty: it begins
    as this server writes it and ends in the middle, or is all zero bytes (HB-16). Otherwise it is damaged.
    """

    def __init__(
        self,
        path: Path,
        document_format: DocumentFormat,
        warnings: WarningList,
        clock: Clock,
        *,
        may_start_anew: bool = False,
        fsync: bool = True,
    ) -> None:
        self.guard = threading.RLock()
        """held while a document is taken, so that only one thread reads what many want"""
        self.path = Path()
        """the real file"""
        self._given = path
        self._format = document_format
        self._warnings = warnings
        self._clock = clock
        self._may_start_anew = may_start_anew
        self._fsync = fsync
        self._is_at_work = False
        self._is_loaded = False
        self._is_valid = False
        """true if the file has a whole document, which a generation may be"""
        self._is_closing = False
        self._file: HeldFile | None = None
        self._state: _State | None = None
        self._held_lock: ProcessLock | None = None
        self._follow()

    @property
    def name(self) -> str:
        """The name of the real file."""
        return self.path.name

    @property
    def stamp(self) -> Stamp:
        """The state in which the file was read or written."""
        return Stamp(self._state.identity.size, self._state.identity.mtime_ns) if self._state else Stamp(0, 0)

    def is_current(self) -> bool:
        """Return whether the owner has the document as it is now; it costs one stat (D7)."""
        if not self._is_loaded:
            return False
        try:
            status = os.stat(self._given)
        except FileNotFoundError:
            return self._state is None
        except OSError as error:
            raise StoreUnreadable(self.name, describe(error)) from error
        return _State.of(status) == self._state

    def refresh(self, take: Take) -> None:
        """Let ``take`` have the document if it has changed since; one that is not valid raises a ``TaskError``."""
        if not self.is_current():
            with self.guard:
                # While this process writes, the file stays as it was when the lock was taken.
                if not (self._is_at_work or self.is_current()):
                    self._follow()
                    self._read(take)

    def begin(self, wait: Wait, take: Take) -> None:
        """Take the lock, and let ``take`` have the document if it has changed; ``end`` must follow.

        It raises ``StoreLocked`` if another process holds the lock, and what ``refresh`` raises.
        """
        while self._held_lock is None:
            lock = self._lock
            lock.acquire(wait)
            with self.guard:
                self._follow()
                if lock is self._lock:
                    self._held_lock = lock
                    self._begin_work(take)
                else:  # a link leads to another file now, which has a lock of its own
                    lock.release()

    def replace(self, data: bytes) -> None:
        """Make ``data`` the document after ``begin``; ``StoreWriteFailed`` says whether it is as it was."""
        old = self._file
        try:
            self._file = replace_file(
                self._given,
                data,
                over=old.identity if old else None,
                fsync=self._fsync,
                check=self._check,
                is_private=self._format.is_private,
            )
        except OSError as error:
            self._is_swept = False
            is_unknown = isinstance(error, NotPutBack)
            cause = f"{describe(error)}, and the change could not be undone" if is_unknown else describe(error)
            failure = StoreWriteFailed(self.name, cause, is_unknown=is_unknown)
            failure.is_edited = isinstance(error, FileChanged)
            raise failure from error
        self._is_swept &= not self._file.left_behind
        self._is_valid = True
        self._note_state()
        if moment := self._generations.undated:
            self._generations.date_newest(moment)
        if old is None:
            self._generations.settle_missing()
        else:
            old.close()

    def end(self, undo: Callable[[], None] = lambda: None) -> None:
        """Release the lock, after ``undo``."""
        with self.guard:  # another thread may be reading the document that this one could not read
            undo()
            self._is_at_work = False
        lock, self._held_lock = self._held_lock, None
        assert lock  # noqa: S101 - for the type checker: ``begin`` has taken it
        lock.release()

    def give_up(self) -> None:
        """End every wait for the lock, now and later."""
        self._is_closing = True
        self._lock.give_up()

    def _begin_work(self, take: Take) -> None:
        try:
            if not self._is_swept:
                self._is_swept = sweep_temporary(self.path)
            if not self.is_current():
                self._read(take, may_start_anew=self._may_start_anew)
            self._is_at_work = True
        except BaseException:  # KeyboardInterrupt too: release the lock, then raise again
            self.end()
            raise

    def _follow(self) -> None:
        """Turn to the file that the path leads to now."""
        path = Path(os.path.realpath(self._given))
        if path == self.path:
            return
        self.path = path
        self._lock = self._format.lock(self._given)
        self._generations = Generations(path, self._clock, self._warnings)
        self._is_swept = False
        if self._is_closing:
            self._lock.give_up()

    # Writing

    def _check(self, path: str) -> None:
        """Check at the last moment that the document at ``path`` may be replaced, and keep it as a generation."""
        assert self._held_lock  # noqa: S101 - for the type checker: ``begin`` has taken it
        self._held_lock.check()
        is_checked = sys.platform != "win32" and self._state is not None
        if path != os.fspath(self.path) or (is_checked and _State.of(os.lstat(path)) != self._state):
            raise FileChanged
        if self._generations.kept_on != day_of(self._clock()):
            self._generations.keep(is_valid=self._is_valid)

    def _note_state(self) -> None:
        with suppress(OSError):
            status = os.stat(self.path)
            if self._file and identity_of(status) == self._file.identity:
                self._state = _State.of(status)
                return
        self._is_loaded = False  # somebody has changed it at once: the next call reads it

    # Reading

    def _read(self, take: Take, *, may_start_anew: bool = False) -> None:
        file: HeldFile | None = None
        state: _State | None = None
        self._is_valid = False
        try:
            with suppress(FileNotFoundError):
                file = open_held(self.path)
            if file is None:
                self._generations.note_missing()
                take(None)
            else:
                self._generations.settle_missing()
                status = os.fstat(file.fileno())
                data = file.read()
                state = _State(file.identity, status.st_ctime_ns)
                self._take_data(take, data, file.identity, may_start_anew=may_start_anew)
        except BaseException as error:  # KeyboardInterrupt too: close the new file and keep the old; raised again
            if file:
                file.close()
            if isinstance(error, OSError):
                raise StoreUnreadable(self.name, describe(error)) from error
            raise
        old, self._file, self._state = self._file, file, state
        self._is_loaded = True
        if old:
            old.close()

    def _take_data(self, take: Take, data: bytes, identity: FileIdentity, *, may_start_anew: bool) -> None:
        is_at_rest = abs(self._clock().timestamp() - identity.mtime_ns / 1e9) >= _REST_SECONDS
        if not data.strip():
            is_new = not self._generations.newest.exists()
            if not (is_at_rest and is_new):
                expected = "a document; perhaps another program is writing it"
                advice = f"Call again in {_REST_SECONDS:g} seconds: then an empty file counts as a new store."
                raise StoreDamaged(self.name, "nothing but white space", expected, 1, 1, advice if is_new else "")
            take(None)
            return
        try:
            take(Source(self.name, data))
            self._is_valid = True
        except StoreDamaged as damage:
            head = self._format.head
            is_torn = damage.is_torn and head.startswith(data[: len(head)])
            if not (may_start_anew and is_at_rest and (is_torn or not data.strip(b"\0"))):
                raise
            self._generations.save_damaged_copy(data, damage)
            take(None)
