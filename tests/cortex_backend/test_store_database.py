"""The database: which can be used, its files, its schema, and what it refuses by itself (CX-40, CX-43)."""

from __future__ import annotations

import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Final

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from cortex_backend import database as database_module
from cortex_backend.database import CortexDatabase, DatabaseRefused
from cortex_backend.migrations import REVISIONS, make_alembic_config, versions
from cortex_backend.models import CounterRow, EventRow
from tests.core.notes import in_background
from tests.cortex_backend.backend_fixture import PreparedData, raises_problem
from tests.cortex_backend.service_fixture import ServiceFixture, open_services
from tests.postgres import PostgresServer

NOWHERE: Final = "postgresql://postgres@/cortex?host=/nonexistent"


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database without tables, of each engine."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/folder/cortex.db"
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        name = server.new_database()
        yield server.url(name)
        server.drop(name)


@pytest.fixture
def services(prepared_copy: tuple[str, PreparedData]) -> Iterator[ServiceFixture]:
    with open_services(prepared_copy) as found:
        yield found


@pytest.mark.requirement("CX-40")
@pytest.mark.parametrize("url", ["", "cortex.db", "mysql://x/y", "sqlite://", "sqlite:///:memory:", "://"])
def test_another_database_is_refused(url: str) -> None:
    with pytest.raises(DatabaseRefused, match="database URL"):
        CortexDatabase(url)


@pytest.mark.requirement("CX-40")
def test_a_file_that_cannot_be_created_or_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("This is not a database, but it is as long as one could be. " * 100, "utf-8")
    with pytest.raises(DatabaseRefused, match="cannot be created"):
        CortexDatabase(f"sqlite:///{tmp_path}/file/cortex.db")
    with closing(CortexDatabase(f"sqlite:///{tmp_path}/file")) as database, pytest.raises(DatabaseRefused):
        database.migrate()


@pytest.mark.requirement("CX-40")
def test_postgresql_without_its_driver_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DatabaseRefused, match=r"\[postgres\]"):
        CortexDatabase(NOWHERE)


@pytest.mark.requirement("CX-40")
def test_a_server_out_of_reach_is_unavailable() -> None:
    with closing(CortexDatabase(NOWHERE)) as database:
        with pytest.raises(DatabaseRefused, match="cannot be opened"):
            database.check_schema()
        with raises_problem("Unavailable"), database.read() as session:
            session.execute(text("SELECT 1"))


@pytest.mark.requirement("CX-43")
def test_the_file_is_for_its_owner_alone_and_so_is_a_new_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path = tmp_path / "new" / "cortex.db"
    for _ in range(2):
        with closing(CortexDatabase(f"sqlite:///{path}")) as database:
            database.migrate()
            with database.write() as session:
                session.add(CounterRow(name=f"x{path.stat().st_mtime_ns}", value=1))
                session.flush()
                modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        assert modes == dict.fromkeys(["cortex.db", "cortex.db-wal", "cortex.db-shm"], 0o600)
        path.chmod(0o644)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


@pytest.mark.requirement("CX-40")
def test_sqlite_is_set_up_for_safety(sqlite_copy: tuple[str, PreparedData]) -> None:
    pragmas = {"foreign_keys": 1, "synchronous": 2, "journal_mode": "wal", "busy_timeout": 5000}
    for pragma, value in pragmas.items():
        with open_services(sqlite_copy) as services, services.reading() as session:
            assert session.execute(text(f"PRAGMA {pragma}")).scalar_one() == value


@pytest.mark.requirement("CX-40")
def test_the_migrations_lead_to_the_tables_of_the_code(empty: str) -> None:
    with closing(CortexDatabase(empty)) as database:
        with pytest.raises(DatabaseRefused, match="cortex-backend migrate"):
            database.check_schema()
        database.migrate()
        database.check_schema()
        with database.write() as session:  # as the first revision was
            session.execute(text("DROP TABLE invitations"))
            session.execute(text("UPDATE alembic_version SET version_num = '0001'"))
        with pytest.raises(DatabaseRefused, match="cortex-backend migrate"):
            database.check_schema()
        database.migrate()
        database.check_schema()
        database.migrate()
        with database.read() as session:
            assert compare_metadata(MigrationContext.configure(session.connection()), EventRow.metadata) == []


@pytest.mark.requirement("CX-40")
def test_the_revisions_that_the_code_knows_are_those_of_the_scripts() -> None:
    scripts = ScriptDirectory.from_config(make_alembic_config()).walk_revisions()
    assert [script.revision for script in scripts] == [*reversed(REVISIONS)]
    (folder,) = versions.__path__
    assert len([*Path(folder).glob("v*.py")]) == len(REVISIONS)


@pytest.mark.requirement("CX-40")
def test_of_several_processes_that_migrate_one_does_and_the_others_wait(empty: str) -> None:
    def migrate() -> None:
        with closing(CortexDatabase(empty)) as database:
            database.migrate()
            database.check_schema()

    with in_background() as run:
        run(*([migrate] * 4))


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Another process that is about to write into a new database."""
    with closing(sqlite3.connect(tmp_path / "cortex.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


@pytest.mark.requirement("CX-40")
def test_a_new_database_that_another_process_writes_is_waited_for(
    writer: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "sleep", lambda _: writer.rollback())
    with closing(CortexDatabase(f"sqlite:///{tmp_path}/cortex.db")) as database:
        database.migrate()
        database.check_schema()


@pytest.mark.requirement("CX-40")
@pytest.mark.usefixtures("writer")
def test_a_new_database_that_stays_locked_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "_BUSY_MILLISECONDS", 0)
    with (
        closing(CortexDatabase(f"sqlite:///{tmp_path}/cortex.db")) as database,
        pytest.raises(DatabaseRefused, match="cannot be opened"),
    ):
        database.migrate()


@pytest.mark.requirement("CX-40")
def test_a_check_of_the_schema_waits_for_no_writer(sqlite_copy: tuple[str, PreparedData]) -> None:
    with open_services(sqlite_copy) as services, services.database.write() as session:
        session.execute(text("SELECT 1"))
        services.database.check_schema()


@pytest.mark.requirement("CX-40")
def test_a_newer_schema_is_refused_and_left_as_it_is(services: ServiceFixture) -> None:
    with services.database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for check in (services.database.check_schema, services.database.migrate):
        with pytest.raises(DatabaseRefused, match="newer"):
            check()


FORBIDDEN: Final[list[str]] = [
    "UPDATE tasks SET status = 'OPEN'",
    "UPDATE tasks SET status = 'REVIEW', branch_name = NULL",
    "UPDATE tasks SET type = 'FEATURE'",
    "UPDATE tasks SET priority = 'low'",
    "UPDATE tasks SET title = ''",
    "UPDATE tasks SET version = 0",
    "UPDATE tasks SET id = 0",
    "UPDATE tasks SET pr_forge = 'github'",
    "UPDATE tasks SET pr_forge = 'x', pr_state = 'open'",
    "UPDATE tasks SET pr_forge = 'none', pr_state = 'x'",
    "UPDATE tasks SET assignee_id = 99",
    "UPDATE tasks SET project_id = 99",
    "UPDATE projects SET name = ''",
    "UPDATE projects SET task_count = 100001",
    "UPDATE memberships SET role = 'admin'",
    "UPDATE users SET email = 'x'",
    "INSERT INTO events (id, at, kind, actor) VALUES (999, '2026-11-23 09:00:00', 'deleted', 1)",
    "UPDATE events SET kind = 'edited'",
    "DELETE FROM events",
    "DELETE FROM users",
]


@pytest.mark.requirement("CX-43")
def test_the_database_itself_refuses_what_no_rule_allows(services: ServiceFixture) -> None:
    for statement in FORBIDDEN:
        with pytest.raises(DBAPIError), services.database.write() as session:
            session.execute(text(statement))


@pytest.mark.requirement("CX-40")
def test_moments_come_back_as_they_were_in_utc(services: ServiceFixture) -> None:
    moment = datetime(2026, 11, 23, 23, 30, 0, 123456, tzinfo=timezone(timedelta(hours=-5)))
    with services.database.write() as session:
        session.add_all([CounterRow(name="a", value=1, ends_at=moment), CounterRow(name="b", value=2**40)])
    with services.reading() as session:
        first, second = (session.get_one(CounterRow, name) for name in "ab")
        assert (first.ends_at, second.ends_at, second.value) == (moment, None, 2**40)
        assert first.ends_at is not None
        assert first.ends_at.tzinfo is UTC


@pytest.mark.requirement("CX-22")
def test_lower_case_is_that_of_all_languages_in_sqlite(sqlite_copy: tuple[str, PreparedData]) -> None:
    with open_services(sqlite_copy) as services, services.reading() as session:
        assert session.execute(text("SELECT lower('ÄÖ')")).scalar_one() == "äö"
        assert session.execute(text("SELECT lower(NULL)")).scalar_one() is None


@pytest.mark.requirement("CX-43")
def test_what_a_reader_adds_is_dropped(services: ServiceFixture) -> None:
    with services.reading() as session:
        session.add(CounterRow(name="dropped", value=1))
        session.flush()
    with services.reading() as session:
        assert session.get(CounterRow, "dropped") is None


@pytest.mark.requirement("CX-40")
def test_a_database_that_is_gone_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cortex.db"
    with closing(CortexDatabase(f"sqlite:///{path}")) as database:
        path.unlink()
        path.parent.rmdir()
        with raises_problem("Unavailable"), database.write() as session:
            session.execute(text("SELECT 1"))
