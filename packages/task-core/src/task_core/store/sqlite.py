"""SQLite: a database in one file on this machine, written and checkpointed under a lock of our own (EN-8).

SQLite 3.7.0 to 3.51.2, which the Pythons in use link, can corrupt a file when two connections write or checkpoint at
the same instant. Readers need no lock. Where our lock does not work, SQLite's does not either: writes are refused.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from task_core.errors import StoreDamaged, StoreNewer, StoreUnreadable, StoreWriteFailed, TaskError
from task_core.files import LOCK_SECONDS, NotRegularFile, ProcessLock, Wait, close, describe, open_new, require_regular
from task_core.store.collection import Collection
from task_core.store.database import Connection, Database, open_in_memory
from task_core.store.migrations import MIGRATIONS

__all__ = ["APPLICATION_ID", "LOG_BYTES", "SqliteDatabase"]

APPLICATION_ID: Final = 0x7461736B
"""The mark of a database of these servers: "task" in ASCII."""

LOG_BYTES: Final = 4 * 2**20
"""Size of the log at which it is written back into the database."""

_IDLE_READERS: Final = 4
"""Connections that are kept open for the next snapshots."""

_Place = tuple[int, int]
"""Device and inode of a file."""


class _FileConnection(Connection):
    """A connection to the file that was at ``place`` when it was opened."""

    def __init__(self, path: Path, place: _Place, options: str = "mode=rw", *, for_writing: bool = False) -> None:
        super().__init__(f"{path.as_uri()}?{options}", path.name, for_writing=for_writing)
        self.place = place
        self.is_lasting = "immutable" not in options

    def version(self) -> int:
        """Return the version of the schema, 0 for an empty database; that of another program or newer raises."""
        self.run("PRAGMA trusted_schema = OFF")
        self.run("PRAGMA wal_autocheckpoint = 0")
        # The tables first: another process may create them between two questions, and everything else with them.
        questions = ("SELECT COUNT(*) FROM sqlite_master", "PRAGMA application_id", "PRAGMA user_version")
        tables, owner, version = (self.run(question)[0][0] for question in questions)
        if owner != APPLICATION_ID and (owner or tables):
            raise StoreDamaged(self._name, "the database of another program", "a database of this server")
        if version > len(MIGRATIONS):
            raise StoreNewer(self._name, version, len(MIGRATIONS))
        return int(version) if tables else 0


class SqliteDatabase(Database):
    """The database at ``path``, which the first write creates."""

    def __init__(self, path: Path, *, fsync: bool = True) -> None:
        # The lock file is beside the real file, so that processes that reach the store through links share it.
        self.path = Path(os.path.realpath(path))
        self.name = self.path.name
        self._fsync = fsync
        self._lock = ProcessLock.beside(self.path)
        self._writer: _FileConnection | None = None
        self._readers: list[_FileConnection] = []
        self._tidy_at = LOG_BYTES

    # Reading

    @contextmanager
    @override
    def reading(self) -> Iterator[Connection]:
        place = self._place()
        reader = self._reader(place) if place else None
        if reader is None:
            yield open_in_memory(self.name)
            return
        try:
            reader.run("BEGIN")
            yield reader
        finally:
            if reader.forget() and reader.is_lasting and len(self._readers) < _IDLE_READERS:
                self._readers.append(reader)
            else:
                reader.close()

    def _reader(self, place: _Place) -> _FileConnection | None:
        with suppress(IndexError):
            while reader := self._readers.pop():
                if reader.place == place:
                    return reader
                reader.close()
        return self._new_reader(place)

    def _new_reader(self, place: _Place) -> _FileConnection | None:
        """Return a new reader, or None if the database is still empty; one of an older schema is migrated first."""
        # If the folder is not writable, a database without a log can still be read, as an immutable one.
        ways = ["mode=rw", "mode=ro", *([] if self._log_size() else ["mode=ro&immutable=1"])]
        while True:
            reader = _FileConnection(self.path, place, ways.pop(0))
            try:
                version = reader.version()
                reader.run("PRAGMA query_only = ON")
                reader.run("PRAGMA cache_size = -512")  # KiB for the pages of one reader
            except StoreUnreadable:
                reader.close()
                if not ways:
                    raise
            except BaseException:  # KeyboardInterrupt too: no other code knows this connection, so close it
                reader.close()
                raise
            else:
                if version == len(MIGRATIONS):
                    return reader
                reader.close()
                if not version:
                    return None
                self._migrate()
                ways = ["mode=rw"]

    def _migrate(self) -> None:
        lock, wait = ProcessLock.beside(self.path), Wait(LOCK_SECONDS)  # the store may hold its own for a transaction
        lock.acquire(wait)
        try:
            self._new_writer(wait).close()
        finally:
            lock.release()

    # Writing

    @override
    def begin(self, wait: Wait) -> Connection:
        self._lock.acquire(wait)
        try:
            writer = self._open_writer(wait)
            writer.run("BEGIN IMMEDIATE")
        except BaseException:  # KeyboardInterrupt too: release the lock, then raise again
            self.end()
            raise
        return writer

    @override
    def commit(self, records: Collection[Any], changed: set[str]) -> None:
        assert self._writer  # noqa: S101 - for the type checker: ``begin`` has opened it
        try:
            self._lock.check()
        except OSError as error:
            raise StoreWriteFailed(self.name, describe(error)) from error
        try:
            self._writer.run("COMMIT")
        except TaskError:
            self._drop_writer()  # its state after a failed sync is not trusted
            raise

    @override
    def end(self) -> None:
        if self._writer and not self._writer.forget():
            self._drop_writer()
        self._lock.release()

    def _open_writer(self, wait: Wait) -> _FileConnection:
        if self._writer and self._writer.place != self._place():
            self._drop_writer()
        if self._writer is None:
            self._writer = self._new_writer(wait)
        self._writer.wait_for(wait)
        return self._writer

    def _new_writer(self, wait: Wait) -> _FileConnection:
        try:
            with suppress(FileExistsError):
                close(open_new(self.path))
            writer = _FileConnection(self.path, _place_of(self.path), for_writing=True)
        except NotRegularFile as error:
            raise StoreUnreadable(self.name, describe(error)) from error
        except OSError as error:
            raise StoreWriteFailed(self.name, describe(error)) from error
        try:
            writer.wait_for(wait)
            version = writer.version()
            if version < len(MIGRATIONS):
                writer.run("PRAGMA journal_mode = WAL")
                writer.run("BEGIN IMMEDIATE")
                writer.migrate(version)
                writer.run(f"PRAGMA application_id = {APPLICATION_ID}")
                writer.run(f"PRAGMA user_version = {len(MIGRATIONS)}")
                writer.run("COMMIT")
            writer.run(f"PRAGMA synchronous = {'FULL' if self._fsync else 'OFF'}")
        except BaseException:  # KeyboardInterrupt too: no other code knows this connection, so close it
            writer.close()
            raise
        return writer

    def _drop_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer:
            writer.close()

    # The log

    @override
    def is_tidying_due(self) -> bool:
        return self._log_size() >= self._tidy_at

    @override
    def tidy(self, wait: Wait) -> None:
        """Write the log back into the database; what a reader still needs of it stays."""
        self._lock.acquire(wait)
        try:
            if self._writer and self._writer.place == self._place():
                self._writer.wait_for(Wait(0))
                self._writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
            self._tidy_at = self._log_size() + LOG_BYTES
        finally:
            self._lock.release()

    def _log_size(self) -> int:
        try:
            return os.stat(f"{self.path}-wal").st_size  # noqa: PTH116 - beside the path, not below it
        except OSError:
            return 0

    # Looking and closing

    def is_outdated(self) -> bool:
        """Return whether an older version wrote the database, so that the next call migrates it."""
        place = self._place()
        if place is None:
            return False
        reader = _FileConnection(self.path, place, "mode=ro")
        try:
            return 0 < reader.version() < len(MIGRATIONS)
        finally:
            reader.close()

    def check(self) -> list[str]:
        """Return the faults that SQLite finds in the file; this takes as long as reading all of it."""
        with self.reading() as reader:
            return [text for (text,) in reader.run("PRAGMA integrity_check(10)") if text != "ok"]

    @override
    def give_up(self) -> None:
        self._lock.give_up()

    @override
    def close(self) -> None:
        with suppress(IndexError):
            while reader := self._readers.pop():
                reader.close()
        with suppress(TaskError):
            if self._writer:
                self.tidy(Wait(0))
        self._drop_writer()

    def _place(self) -> _Place | None:
        """Return the device and inode of the file at the path, or None if it does not exist."""
        try:
            return _place_of(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreUnreadable(self.name, describe(error)) from error


def _place_of(path: Path) -> _Place:
    status = require_regular(path.stat())
    return status.st_dev, status.st_ino
