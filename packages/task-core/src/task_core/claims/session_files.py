"""Claims in files beside a store: each process that claims has one, which a kernel lock holds while it lives (AG-12).

``NAME.sessions/ID.json`` lists the claims of a session, and its process holds the lock of ``ID.lock``. Whoever can lock
that file knows that the process has ended; the next writer moves its claims to ``ended.json``. The claims of a command
are in a file of the client that it runs below, which has no lock (AG-13). Files are written while the store is locked,
and replaced as a whole, also by others: a claim can be taken over.
"""

import os
import secrets
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from filelock import lock_descriptor
from pydantic_core import to_json

from task_core.claims.claim import Claim, parse_claims
from task_core.claims.client_process import is_attached, is_running
from task_core.durable import replace_file, sweep_temporary
from task_core.errors import StoreUnreadable, StoreWriteFailed
from task_core.files import NEW_FLAGS, READ_FLAGS, FileIdentity, ProcessLock, Wait, close, describe, identify, read_file

__all__ = ["SESSIONS_SUFFIX", "SessionFiles"]

SESSIONS_SUFFIX: Final = ".sessions"
"""The suffix to the name of the store."""

_ENDED: Final = "ended"
"""The file for the claims of all sessions that have ended."""

_LOCK_SECONDS: Final = 5.0
"""Seconds for a lock that nobody else has, except for a moment to find out whether it is held."""


class SessionFiles:
    """The claims on the tasks of one list in the store at ``path``; ``list_name`` tells lists in one file apart."""

    def __init__(self, path: Path, list_name: str = "") -> None:
        self.session = secrets.token_hex(8)
        """the name of this process's session"""
        self._path = path
        self._start = f"{sha256(list_name.encode()).hexdigest()[:8]}-" if list_name else ""
        self.is_untidy = False
        """true if processes that have ended left files, which ``write`` removes"""
        self._lock: ProcessLock | None = None
        self._read_last: FileIdentity | None = None
        self._seen: FileIdentity | None = None

    def read(self) -> list[Claim]:
        """Return the claims of all sessions, oldest first; those of sessions that have ended say so.

        A claim with a deadline outlives the session: its agent calls through another one.
        It raises ``StoreUnreadable`` if a file cannot be read; what is in a damaged one does not count.
        """
        try:
            found = {claim.since: claim for name in self._sessions() for claim in self._read(name)}
        except OSError as error:
            raise StoreUnreadable(self._name, describe(error)) from error
        return [found[since] for since in sorted(found)]

    def write(self, claims: Sequence[Claim]) -> None:
        """Make ``claims`` all that there are; the caller holds the lock of the store.

        It raises ``StoreWriteFailed`` if a file cannot be written.
        """
        # Those that have ended come first, so that a crash leaves them twice rather than nowhere.
        files: dict[str, list[Claim]] = {_ENDED: [claim for claim in claims if claim.is_ended]}
        for claim in claims:
            if not claim.is_ended:
                files.setdefault(claim.kept_by or self.session, []).append(claim)
        try:
            for name in dict.fromkeys([*files, *self._sessions()]):
                self._write(name, files.get(name, []))
            self.is_untidy = False
        except OSError as error:
            raise StoreWriteFailed(self._name, describe(error)) from error

    def is_news(self) -> bool:
        """Return whether another process has changed the claims of this one since they were read or written here."""
        with suppress(OSError):
            return self._lock is not None and self._identify() != self._seen
        return True

    def note_seen(self) -> None:
        """Count what was read last as known."""
        self._seen = self._read_last

    def close(self) -> None:
        """End the session; what it still claims can be taken by anybody."""
        lock, self._lock = self._lock, None
        if lock is not None:
            with suppress(OSError):
                if not self._read(self.session):
                    self._remove(self.session)
            lock.release()

    @property
    def _name(self) -> str:
        return f"{self._path.name}{SESSIONS_SUFFIX}"

    @property
    def _folder(self) -> str:
        return f"{os.path.realpath(self._path)}{SESSIONS_SUFFIX}"

    def _file(self, name: str, suffix: str = ".json") -> Path:
        return Path(self._folder, f"{self._start}{name}{suffix}")

    def _identify(self) -> FileIdentity | None:
        return identify(self._file(self.session))

    def _sessions(self) -> list[str]:
        """Return the names of the sessions that have a file, also of one that was killed before it had written a claim.

        That of ended sessions comes last: others may move claims there while a reader has no lock.
        """
        try:
            with os.scandir(self._folder) as entries:
                files = [entry.name for entry in entries if entry.name.endswith((".json", ".lock"))]
        except (FileNotFoundError, NotADirectoryError):
            return []
        # Only the files of lists in a database have a "-", after the name of the list.
        ours = [file for file in files if file.startswith(self._start) and (self._start or "-" not in file)]
        return sorted(
            {file[len(self._start) : -len(".json")] for file in ours}, key=lambda name: (name == _ENDED, name)
        )

    def _read(self, name: str) -> list[Claim]:
        """Return the claims in a file; one that is gone or damaged has none."""
        is_ended = name == _ENDED
        is_own = name == self.session and self._lock is not None
        if not (is_ended or is_own or self._is_held(name)):
            is_ended = self.is_untidy = True
        try:
            data, identity = read_file(self._file(name))
            found = parse_claims(data)
        except (FileNotFoundError, ValueError):
            return []
        if name == self.session:
            self._read_last = identity
        kept_by = _ENDED if is_ended else name
        return [replace(claim, is_ended=is_ended and not claim.until, kept_by=kept_by) for claim in found]

    def _is_held(self, name: str) -> bool:
        return is_running(name) if is_attached(name) else _is_locked(self._file(name, ".lock"))

    def _write(self, name: str, claims: list[Claim]) -> None:
        if not claims and name != self.session and not _is_locked(self._file(name, ".lock")):
            self._remove(name)
        elif claims != self._read(name):
            Path(self._folder).mkdir(0o700, exist_ok=True)
            if name == self.session:
                self._begin()
            data = to_json([claim.to_json() for claim in claims], indent=1)
            replace_file(self._file(name), data + b"\n", fsync=False).close()
            if name == self.session:
                self._seen = self._read_last = self._identify()

    def _begin(self) -> None:
        """Hold the lock of this session until the process ends."""
        if self._lock is not None:
            try:
                self._lock.check()
            except OSError:
                self._lock.release()  # somebody has removed its file, so it shows nobody that this process lives
            else:
                return
        self._lock = ProcessLock(self._file(self.session, ".lock"))
        self._lock.acquire(Wait(_LOCK_SECONDS))

    def _remove(self, name: str) -> None:
        sweep_temporary(self._file(name))
        for suffix in (".json", ".lock"):
            self._file(name, suffix).unlink(missing_ok=True)


def _is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of the file at ``path``; of no file, none does.

    Those who ask at the same time do not take each other for the holder, except on Windows.
    """
    try:
        descriptor = os.open(path, READ_FLAGS | NEW_FLAGS)
    except FileNotFoundError:
        return False
    try:
        if sys.platform == "win32":
            return not lock_descriptor(descriptor, blocking=False)
        import fcntl  # noqa: PLC0415 - it does not exist on Windows

        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        close(descriptor)
    return False
