"""The tables in PostgreSQL: those of every engine, with row-level security between tenants (EN-11, EN-13)."""

from contextlib import suppress
from typing import Any, Final

import psycopg
from psycopg import sql

from task_core.errors import StoreNewer
from task_core.store.migrations import MIGRATIONS
from task_hosted.postgres.dialect import translate

__all__ = ["TABLES", "VERSION", "migrate", "read_role", "read_version"]

TABLES: Final = ("lists", "records", "tags", "counts", "calls", "commits", "history")
"""The tables whose rows each belong to a tenant."""


def _wall_off(*tables: str) -> list[str]:
    """Return the statements for row-level security: none reads or writes rows of another tenant (HO-3)."""
    return [
        statement
        for table in tables
        for statement in (
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
            f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
            f"CREATE POLICY own_tenant ON {table} USING (tenant = current_setting('app.tenant', true))",
        )
    ]


_OWN: Final = {2: _wall_off(*TABLES[:-1]), 3: _wall_off(TABLES[-1])}
"""The statements that only PostgreSQL runs, after the migration to each version."""

_RACES: Final = (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateObject, psycopg.errors.DuplicateTable)
"""Errors for the loser when two sessions create the same table."""

VERSION: Final = len(MIGRATIONS)
"""The schema version that this code requires."""


def read_version(connection: psycopg.Connection[Any]) -> int:
    """Return the version of the schema, 0 if there is none; raise ``psycopg.Error`` if it cannot be read."""
    try:
        rows = connection.execute("SELECT version FROM schema WHERE id = 1").fetchall()
    except psycopg.errors.UndefinedTable:
        return 0
    return int(rows[0][0]) if rows else 0


def read_role(connection: psycopg.Connection[Any]) -> tuple[str, bool]:
    """Return the role of a connection, and whether it bypasses row-level security."""
    asked = "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
    ((role, is_superuser, is_exempt),) = connection.execute(asked).fetchall()
    return role, is_superuser or is_exempt


def migrate(connection: psycopg.Connection[Any], role: str | None = None) -> tuple[int, int]:
    """Bring the tables up to date, let ``role`` use them, and return the versions before and after.

    Of several that do this at once, each waits for the one before it.

    Raises:
        StoreNewer: a newer version made the tables.
        psycopg.Error: nothing was changed.
    """
    with suppress(*_RACES):
        connection.execute("CREATE TABLE IF NOT EXISTS schema (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)")
    with connection.transaction():
        connection.execute("INSERT INTO schema (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING")
        ((version,),) = connection.execute("SELECT version FROM schema WHERE id = 1 FOR UPDATE").fetchall()
        if version > VERSION:
            raise StoreNewer(connection.info.dbname, version, VERSION)
        for number in range(version + 1, VERSION + 1):
            for statement in (*MIGRATIONS[number - 1], *_OWN.get(number, ())):
                connection.execute(translate(statement))
            connection.execute("UPDATE schema SET version = %(version)s WHERE id = 1", {"version": number})
        if role is not None:  # none of these rights bypasses row-level security
            for rights in (
                f"SELECT, INSERT, UPDATE, DELETE ON {', '.join(TABLES)}",
                "SELECT ON schema",
            ):
                connection.execute(sql.SQL(f"GRANT {rights} TO {{}}").format(sql.Identifier(role)))
    return version, VERSION
