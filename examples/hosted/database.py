"""The roles, the database and the tables that the servers need."""

from __future__ import annotations

import psycopg
from psycopg import sql

from examples.hosted.layout import NODES, Layout
from examples.hosted.passwords import OWNER, SERVER, SUPERUSER, Passwords
from task_hosted.postgres.connection import PostgresConnection, connect_once
from task_hosted.postgres.schema import migrate

__all__ = ["connect", "prepare_database", "store_url", "takes_writes"]

DATABASE = "tasks"


def store_url(layout: Layout, role: str = SERVER, database: str = DATABASE) -> str:
    """Return the address of the database on whatever node takes writes, without a password."""
    return f"postgresql://{role}@{layout.addresses('postgres', NODES)}/{database}"


def connect(layout: Layout, role: str, database: str) -> PostgresConnection:
    """Return a connection to the node that takes writes, or raise ``psycopg.OperationalError``."""
    return connect_once(f"{store_url(layout, role, database)}?passfile={layout.folder / f'{role}.pgpass'}")


def takes_writes(layout: Layout) -> bool:
    """Return whether a node takes writes."""
    try:
        connect(layout, SUPERUSER, "postgres").close()
    except psycopg.OperationalError:
        return False
    return True


def prepare_database(layout: Layout, passwords: Passwords) -> None:
    """Create the roles and the database unless they exist, and bring the tables up to date.

    Raises:
        psycopg.Error: the database refused; what was done stays, and doing it again goes on from there.
    """
    with connect(layout, SUPERUSER, "postgres") as connection:
        for role, password in ((OWNER, passwords.owner), (SERVER, passwords.server)):
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchall():
                statement = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
                connection.execute(statement.format(sql.Identifier(role), sql.Literal(password)))
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchall():
            statement = sql.SQL("CREATE DATABASE {} OWNER {}")
            connection.execute(statement.format(sql.Identifier(DATABASE), sql.Identifier(OWNER)))
    with connect(layout, OWNER, DATABASE) as connection:
        migrate(connection, SERVER)
