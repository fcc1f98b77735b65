"""Commands for a store in PostgreSQL: create its tables, and check it (EN-11, DOC-1)."""

from collections.abc import Iterator
from math import inf
from typing import Any, Final, cast

import psycopg

from task_core.doctor import Finding, note, right, wrong
from task_core.errors import TaskError
from task_core.store.base import Kind
from task_core.store.open import StoreSettings
from task_core.store.store import Store
from task_core.text import pluralize
from task_hosted.postgres.dialect import describe
from task_hosted.postgres.engine import PostgresDatabase
from task_hosted.postgres.pool import Pool, PostgresConnection, connect_once
from task_hosted.postgres.schema import migrate, read_role

__all__ = ["check_store", "migrate_database"]

_VITAL: Final = ("fsync", "full_page_writes")
"""Server settings without which a crash of the machine can damage the database."""


def migrate_database(settings: StoreSettings, role: str | None) -> str:
    """Create the tables or bring them up to date, let ``role`` use them, and return what was done.

    It raises ``ConnectionError``, whose message says why, if the server refused; then nothing was changed.
    """
    try:
        with connect_once(settings.address.url) as connection:
            connection.patience = inf  # one statement may rewrite a large table
            before, after = migrate(connection, role)
    except psycopg.Error as error:
        raise ConnectionError(describe(error)) from error
    done = f"the tables are at version {after}" if before == after else f"migrated the tables from {before} to {after}"
    return f"{settings.address}: {done}{f'; {role} may use them' if role else ''}."


def check_store(settings: StoreSettings, kind: Kind[Any]) -> Iterator[Finding]:
    """Check the server, the role, the tables, and what is in them."""
    url = settings.address.url
    try:
        connection = connect_once(url)
    except psycopg.Error as error:
        cure = "Start the server, or correct TASK_STORE; a password belongs in the file that PGPASSFILE names."
        yield wrong(f"{url} cannot be reached: {describe(error)}", cure)
        return
    with connection:
        yield from _check_server(connection)
    pool = cast("Pool", settings.pool)
    try:
        with Store(PostgresDatabase(pool, settings.task_tenant, kind.name), kind).read() as records:
            whose = f"of the tenant '{settings.task_tenant}'" if settings.task_tenant else "without a tenant"
            yield right(f"the list {whose} has {pluralize(len(records), 'task')}")
    except TaskError as error:
        yield wrong(f"every tool answers {error.code}: {error.message}", "Do what the message says, as their owner.")
    finally:
        pool.close()


def _check_server(connection: PostgresConnection) -> Iterator[Finding]:
    role, is_unbound = read_role(connection)
    info = connection.info
    yield right(f"PostgreSQL {info.parameter_status('server_version')} at {info.host}:{info.port}, as {role}")
    if is_unbound:
        yield note(
            f"{role} gets around row-level security, so only the server keeps the tenants apart",
            "Connect as a role that owns nothing: run 'migrate ROLE', and name that role in TASK_STORE.",
        )
    for name in _VITAL:
        ((value,),) = connection.execute("SELECT current_setting(%s)", [name]).fetchall()
        if value == "off":
            danger = "a crash of its machine can damage the whole database"
            yield wrong(f"the server has {name} = off: {danger}", f"Set {name} = on in postgresql.conf.")
