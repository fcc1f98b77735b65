"""The database (CX-40): an engine for SQLite or PostgreSQL, transactions to read and to write, and the schema."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from cortex_backend.migrations import REVISIONS, migrate_schema
from cortex_backend.problems import Problem

__all__ = ["CortexDatabase", "DatabaseRefused", "open_database"]

_MIGRATION_LOCK: Final = 0x636F72746578
"""The advisory lock that one process holds while it migrates PostgreSQL."""

_BUSY_MILLISECONDS: Final = 5_000
_RETRY_SECONDS: Final = 0.02
"""The time that SQLite waits for another writer, and the pause between two tries where it does not wait by itself."""

_IS_WRITING: Final = "cortex_is_writing"
"""The execution option of connections whose transaction begins by taking the lock of SQLite."""

_DRIVERS: Final = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgresql+psycopg": "postgresql+psycopg"}
"""The drivers by the beginning of a database URL."""


class DatabaseRefused(Exception):
    """The program cannot start on this database; the message says what to do."""


def _parse_url(address: str) -> URL:
    try:
        url = make_url(address)
        return url.set(drivername=_DRIVERS[url.drivername])
    except (ArgumentError, KeyError):
        raise DatabaseRefused("Give a database URL that begins with sqlite:/// or postgresql://.") from None


def _prepare_file(url: URL) -> None:
    """Create the file of an SQLite database, readable for its owner only, and its folder."""
    if not url.database or url.database == ":memory:":
        raise DatabaseRefused("Give the path of a file in the database URL: sqlite:////path/of/cortex.db.")
    path = Path(url.database)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.chmod(0o600)
    except OSError as error:
        raise DatabaseRefused(f"The database file cannot be created: {error.strerror}. Choose another path.") from None


class CortexDatabase:
    """The database at ``address``, a URL; several processes may use it at once.

    It raises ``DatabaseRefused`` if it cannot be used at all, and the problem ``Unavailable`` if it cannot be reached
    later, all connections are in use for too long, or other writers keep it busy for five seconds.
    """

    def __init__(self, address: str) -> None:
        url = _parse_url(address)
        self.is_sqlite: bool = url.get_backend_name() == "sqlite"
        if self.is_sqlite:
            _prepare_file(url)
        try:
            # The connection to a file cannot be lost.
            is_losable = not self.is_sqlite
            self._engine = create_engine(url, pool_size=10, max_overflow=30, pool_timeout=10, pool_pre_ping=is_losable)
        except ImportError:
            raise DatabaseRefused(
                "PostgreSQL needs its driver: install cortex-tasks-backend with the extra [postgres]."
            ) from None
        self._writing = self._engine.execution_options(**{_IS_WRITING: True})
        if self.is_sqlite:
            event.listen(self._engine, "connect", _set_up_sqlite)
            event.listen(self._engine, "begin", _begin_sqlite)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Yield a session for queries, on one state of the database in SQLite; nothing that it adds is kept."""
        with _as_problem(), Session(self._engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Yield a session whose changes are kept together when the block ends, and dropped when it raises."""
        with _as_problem(), Session(self._writing, expire_on_commit=False) as session, session.begin():
            yield session

    def migrate(self) -> None:
        """Bring the schema up to date; of several processes one does it, and the others wait (CX-40)."""
        with self._connect(self._writing) as connection, connection.begin():
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
            found = _find_revision(connection)
            if found != REVISIONS[-1]:
                migrate_schema(connection, found)

    def check_schema(self) -> None:
        """Raise ``DatabaseRefused`` if the schema is not the one of this program."""
        with self._connect(self._engine) as connection:
            found = _find_revision(connection)
        if found != REVISIONS[-1]:
            raise DatabaseRefused("The database schema is older than this program. Run: cortex-backend migrate.")

    def close(self) -> None:
        """Close all connections that are not in use."""
        self._engine.dispose()

    @contextmanager
    def _connect(self, engine: Engine) -> Iterator[Connection]:
        try:
            with engine.connect() as connection:
                yield connection
        except (DBAPIError, PoolTimeout):
            raise DatabaseRefused("The database cannot be opened. Check its URL, and whether it runs.") from None


def open_database(address: str) -> CortexDatabase:
    """Return the database with the schema of this version; SQLite migrates itself (CX-40)."""
    database = CortexDatabase(address)
    try:
        if database.is_sqlite:
            database.migrate()
        else:
            database.check_schema()
    except BaseException:
        database.close()
        raise
    return database


def _find_revision(connection: Connection) -> str | None:
    """Return the revision of the schema, or None without tables; raise ``DatabaseRefused`` if it is a newer one."""
    found = MigrationContext.configure(connection).get_current_revision()
    if found not in (None, *REVISIONS):
        raise DatabaseRefused("The database schema is newer than this program. Update cortex-tasks-backend.")
    return found


@contextmanager
def _as_problem() -> Iterator[None]:
    try:
        yield
    except (OperationalError, PoolTimeout) as error:
        raise Problem("Unavailable") from error


def _set_up_sqlite(connection: DBAPIConnection, _record: object) -> None:
    connection.isolation_level = None  # the driver would begin transactions by itself, and late
    connection.create_function("lower", 1, _lower, deterministic=True)  # its own knows ASCII only
    cursor = connection.cursor()
    try:
        cursor.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
        _begin_log(cursor)
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
    finally:
        cursor.close()


def _begin_log(cursor: DBAPICursor) -> None:
    """Let the database have a write-ahead log: SQLite does not wait for another writer in a new file by itself."""
    deadline = monotonic() + _BUSY_MILLISECONDS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or monotonic() >= deadline:
                raise
            sleep(_RETRY_SECONDS)
        else:
            return


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and writes later would fail at once when another one wrote in between.
    is_writing = connection.get_execution_options().get(_IS_WRITING, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")
