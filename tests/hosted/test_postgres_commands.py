"""The commands over a store in PostgreSQL: its tables, its move to and from other engines, and ``doctor`` (EN-11)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from task_core.cli.commands import CommandFailed, Commands
from task_core.doctor import Level, store_checks
from task_core.errors import StoreUnreadable
from task_core.store import ListCodec, open_store
from task_core.warning_list import WarningList
from tests.core.notes import NOTES, Note, in_background, wait_until
from tests.core.test_store_open import NoteSettings
from tests.postgres import SERVER_ROLE, needs_postgres, postgres_server, shared_server, store_url

pytestmark = [needs_postgres, pytest.mark.requirement("EN-11", "EN-17", "EN-18", "N2")]

CODEC = ListCodec(NOTES)


@pytest.fixture
def database() -> Iterator[str]:
    """The name of an empty database."""
    name = shared_server().new_database()
    yield name
    shared_server().drop(name)


def settings_of(url: str, tenant: str = "") -> NoteSettings:
    return NoteSettings(task_store=url, task_tenant=tenant, task_lock_timeout=5)


def commands(url: str, tenant: str = "") -> Commands:
    return Commands(settings_of(url, tenant), CODEC)


def looked_at(url: str) -> list[tuple[Level, str]]:
    """Return what ``doctor`` finds."""
    return [
        (finding.level, finding.text) for check in store_checks(settings_of(url), CODEC) for finding in check.look()
    ]


def add(url: str) -> None:
    store = open_store(settings_of(url), CODEC, WarningList())
    try:
        with store.transaction() as notes:
            notes.add(Note(id="a"))
    finally:
        store.close()


def test_the_tables_are_made_once_by_their_owner_for_the_role_of_a_server(
    database: str, capfd: pytest.CaptureFixture[str]
) -> None:
    store_url()  # which makes the role
    owner, served = (shared_server().store_url(user, database) for user in ("postgres", SERVER_ROLE))
    with pytest.raises(StoreUnreadable, match="run the server's command 'migrate'"):
        add(served)
    for said in (f"migrated the tables from 0 to 3; {SERVER_ROLE} may use them.", "the tables are at version 3"):
        commands(owner).run("migrate", SERVER_ROLE)
        assert said in capfd.readouterr().err
    add(served)
    assert (Level.RIGHT, "the list without a tenant has 1 task") in looked_at(served)


def test_a_migration_may_take_longer_than_a_statement_of_a_server(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from task_hosted.postgres.connection import PostgresConnection, connect_once  # noqa: PLC0415 - it needs the driver

    owner = shared_server().store_url("postgres", database)
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND now() - query_start > '0.5 s'"
    commands(owner).run("migrate", None)
    with in_background() as start, connect_once(owner) as other, connect_once(owner) as observer, other.transaction():
        other.execute("UPDATE schema SET version = version")
        observer.patience = other.patience = 15
        monkeypatch.setattr(PostgresConnection, "patience", 0.2)
        start(lambda: commands(owner).run("migrate", None))
        wait_until(lambda: observer.execute(waiting).fetchall())


def test_whoever_may_not_make_tables_is_told_so_and_so_is_whoever_reaches_no_server(database: str) -> None:
    store_url()
    for url, said in (
        (shared_server().store_url(SERVER_ROLE, database), "permission denied for schema public"),
        (shared_server().store_url("postgres", "nothing"), 'database "nothing" does not exist'),
        ("postgresql://nobody@/x?host=/no/such/folder", "No such file or directory"),
    ):
        with pytest.raises(CommandFailed, match=said):
            commands(url).run("migrate", None)


def test_only_postgresql_is_migrated_by_a_command(tmp_path: Path) -> None:
    for address in (f"sqlite:{tmp_path / 'notes.db'}", "memory:"):
        with pytest.raises(CommandFailed, match="needs no migration: it is brought up to date when it is used"):
            commands(address).run("migrate", None)
    assert os.listdir(tmp_path) == []


def test_a_document_goes_into_a_list_of_one_tenant_and_comes_out_with_the_same_bytes(tmp_path: Path) -> None:
    document, copy = tmp_path / "notes.json", tmp_path / "copy.json"
    notes = [Note(id=f"n{number}", text=f"{number}: Käse\0\x01😀").to_json() for number in range(300)]
    document.write_bytes(CODEC.document({str(number): note for number, note in enumerate(notes)}, {"owner": "Zoë\0"}))
    there = commands(store_url(), str(tmp_path).ljust(500, "x"))  # a tenant of a hosted server has up to 500 bytes
    there.run("import", str(document))
    with pytest.raises(CommandFailed, match="is not empty: import into a new store"):
        there.run("import", str(document))
    there.run("export", str(copy))
    assert copy.read_bytes() == document.read_bytes()
    with pytest.raises(CommandFailed, match="keeps no older documents"):
        there.run("restore", None)


def test_doctor_reports_the_server_the_role_and_the_list() -> None:
    (level, server), *unsafe, whole = looked_at(store_url())
    assert (level, whole) == (Level.RIGHT, (Level.RIGHT, "the list without a tenant has 0 tasks"))
    assert f", as {SERVER_ROLE}" in server
    danger = "a crash of its machine can damage the whole database"
    assert unsafe == [  # as the tests have set them
        (Level.WRONG, f"the server has {name} = off: {danger}") for name in ("fsync", "full_page_writes")
    ]


def test_doctor_reports_what_is_wrong_and_changes_nothing(database: str) -> None:
    server = shared_server()
    owner = server.store_url("postgres", database)
    assert "cannot be reached" in dict(looked_at(server.store_url("postgres", "nothing")))[Level.WRONG]
    found = dict(looked_at(owner))
    assert found[Level.NOTE] == "postgres gets around row-level security, so only the server keeps the tenants apart"
    assert "its tables are missing or outdated: run the server's command 'migrate'" in found[Level.WRONG]
    commands(owner).run("migrate", None)
    refused = dict(looked_at(server.store_url(SERVER_ROLE, database)))[Level.WRONG]
    assert "[42501]: run the server's command 'migrate' with the name of this role" in refused


def test_doctor_finds_nothing_wrong_with_a_server_that_is_set_as_it_should_be() -> None:
    with postgres_server({"listen_addresses": ""}) as server:
        found = looked_at(server.store_url("postgres", "template1"))
    assert [text for level, text in found if level is Level.WRONG and "the server has" in text] == []
