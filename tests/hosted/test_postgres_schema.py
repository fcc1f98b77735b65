"""The tables in PostgreSQL: made once, whoever makes them, and used only if they are those of this version (EN-11)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import psycopg
import pytest

from task_core.errors import StoreNewer, StoreUnreadable, StoreWriteFailed
from tests.core.engines import Card
from tests.core.ledger import begin, check, count_up, open_one
from tests.core.notes import DEADLINE, in_background
from tests.postgres import SERVER_ROLE, needs_postgres, new_pool, shared_server, store_url

if TYPE_CHECKING:
    from task_hosted.postgres import Pool
    from task_hosted.postgres.connection import PostgresConnection

pytestmark = [needs_postgres, pytest.mark.requirement("EN-11", "EN-13")]


@pytest.fixture
def database() -> Iterator[str]:
    """The name of an empty database."""
    store_url()  # which makes the role of a server
    name = shared_server().new_database()
    yield name
    shared_server().drop(name)


def connect(database: str, user: str = "postgres") -> PostgresConnection:
    from task_hosted.postgres.connection import connect_once  # noqa: PLC0415 - it needs the driver

    return connect_once(shared_server().store_url(user, database))


def migrated(connection: PostgresConnection, role: str | None = SERVER_ROLE) -> tuple[int, int]:
    from task_hosted.postgres.schema import migrate  # noqa: PLC0415 - it needs the driver

    return migrate(connection, role)


@pytest.fixture
def served(database: str) -> Iterator[Pool]:
    """Connections of a server to that database."""
    pool = new_pool(shared_server().store_url(SERVER_ROLE, database))
    yield pool
    pool.close()


@pytest.mark.parametrize("number", [2, 8])
def test_of_many_who_make_the_tables_at_once_one_makes_them_and_nobody_fails(database: str, number: int) -> None:
    made: list[tuple[int, int]] = []
    together = threading.Barrier(number)
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(database)) for _ in range(number)]

        def work(connection: PostgresConnection) -> None:
            together.wait(DEADLINE)
            made.append(migrated(connection))

        with in_background() as start:
            start(*(lambda connection=connection: work(connection) for connection in connections))
    latest = made[0][1]
    assert sorted(made) == [(0, latest), *[(latest, latest)] * (number - 1)]


def test_tables_that_exist_are_left_as_they_are_and_another_role_may_use_them_too(database: str, served: Pool) -> None:
    with connect(database) as owner:
        before, latest = migrated(owner, None)
        assert (before, latest) == (0, latest)
        with pytest.raises(StoreWriteFailed, match=r"permission denied .*: run the server's command"):
            count_up(open_one(served, "t"), "a")
        for _ in range(2):
            assert migrated(owner) == (latest, latest)
    begin(open_one(served, "t"))
    check(open_one(served, "t"), set())


def test_who_owns_no_table_makes_and_changes_none(database: str) -> None:
    with connect(database) as owner, connect(database, SERVER_ROLE) as role:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            migrated(role)
        migrated(owner)
        for statement in (
            "UPDATE schema SET version = 1",
            "ALTER TABLE records DISABLE ROW LEVEL SECURITY",
            "DROP POLICY own_tenant ON records",
            "TRUNCATE records",
            "CREATE TABLE more (id INTEGER)",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                role.execute(statement.encode())


def test_a_server_that_starts_before_the_tables_are_made_says_what_to_do_and_works_once_they_are(
    database: str, served: Pool
) -> None:
    store = open_one(served, "t")
    with pytest.raises(StoreUnreadable, match="run the server's command 'migrate'"):
        begin(store)
    with pytest.raises(StoreUnreadable, match="run the server's command 'migrate'"):
        check(store, set())
    with connect(database) as owner:
        migrated(owner)
    begin(store)
    check(store, set())


def test_tables_of_a_newer_version_are_not_touched(database: str, served: Pool) -> None:
    with connect(database) as owner:
        _, latest = migrated(owner)
        owner.execute("UPDATE schema SET version = version + 1")
        for work in (lambda: migrated(owner), lambda: begin(open_one(served, "t"))):
            with pytest.raises(StoreNewer) as caught:
                work()
            assert (caught.value.details["found"], caught.value.details["supported"]) == (latest + 1, latest)


def test_once_a_probe_finds_tables_of_a_newer_version_nothing_is_written_into_them(database: str, served: Pool) -> None:
    store = open_one(served, "t")
    with connect(database) as owner:
        migrated(owner)
        begin(store)
        owner.execute("UPDATE schema SET version = version + 1")
    for work in (served.probe, lambda: count_up(store, "a")):
        with pytest.raises(StoreNewer):
            work()


def test_tables_of_an_older_version_are_brought_up_to_date_with_what_they_hold(database: str, served: Pool) -> None:
    from task_core.store.migrations import MIGRATIONS  # noqa: PLC0415 - as below
    from task_hosted.postgres.dialect import translate  # noqa: PLC0415 - it needs the driver

    with connect(database) as owner:
        for statement in MIGRATIONS[0]:
            owner.execute(translate(statement).encode())
        owner.execute("CREATE TABLE schema (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)")
        owner.execute("INSERT INTO schema (id, version) VALUES (1, 1)")
        owner.execute(f"GRANT SELECT ON schema TO {SERVER_ROLE}")
        owner.execute("INSERT INTO lists VALUES ('t', 'cards', 'x', 1, 1, 0, '{}')")
        card = Card(id="ledger", rank=0, text="Käse")
        owner.execute(
            "INSERT INTO records (tenant, kind, id, revision, document, position) VALUES ('t', 'cards', %s, 1, %s, 1)",
            [card.id, card.to_json().decode()],
        )
        with pytest.raises(StoreUnreadable, match="run the server's command 'migrate'"):
            begin(open_one(served, "t"))
        migrated(owner)
    with open_one(served, "t").read() as cards:
        assert (len(cards), cards.row("ledger").size) == (1, len(card.to_json()))
