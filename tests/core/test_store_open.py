"""One setting chooses the engine of a store, and one place makes it (EN-17)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import Field
from typing_extensions import override

from task_core.bootstrap import BadSettings
from task_core.cli.settings import StoreServerSettings, load_settings
from task_core.doctor import store_checks
from task_core.store import Address, Engine, ListCodec, Selection, Store, open_store
from task_core.store.sqlite import SqliteDatabase
from task_core.warning_list import WarningList
from tests.core.notes import NOTES, Note, add, stored_ids

pytestmark = pytest.mark.requirement("EN-17")


class NoteSettings(StoreServerSettings):
    """The settings of a server whose document may be named or is in memory."""

    store_variable: ClassVar[str] = "notes_path"

    notes_path: Path | None = Field(default=None, description="The document.")

    @property
    @override
    def document_path(self) -> Path | None:
        return self.notes_path


def opened(address: str, tenant: str = "") -> Store[Note]:
    return open_store(NoteSettings(task_store=address, task_tenant=tenant), ListCodec(NOTES), WarningList())


def ids(store: Store[Note]) -> list[str]:
    with store.read() as notes:
        return [note.id for note in notes.select(Selection())]


@pytest.mark.parametrize(("engine", "other"), [("json", "sqlite"), ("sqlite", "json")])
def test_an_address_names_engine_and_file(tmp_path: Path, engine: str, other: str) -> None:
    path = tmp_path / ("notes.db" if engine == "sqlite" else "notes.json")
    address = f"{engine}:{path}"
    assert Address.parse(address) == (Engine(engine), path, "")
    assert str(Address.parse(address)) == address
    store = opened(address)
    assert list(tmp_path.iterdir()) == []
    add(store, "a")
    store.close()
    assert stored_ids(path) == ids(opened(address)) == ["a"]
    assert ids(opened(f"{other}:{tmp_path / 'another'}")) == []


def test_a_store_in_memory_is_a_new_one_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = opened("memory:")
    add(store, "a")
    assert (ids(store), ids(opened("memory:")), str(Address.parse("memory:"))) == (["a"], [], "memory:")
    assert list(tmp_path.iterdir()) == []


def test_in_a_database_each_tenant_has_a_list_of_its_own(tmp_path: Path) -> None:
    address = f"sqlite:{tmp_path / 'notes.db'}"
    add(opened(address, "ann"), "a")
    assert [ids(opened(address, tenant)) for tenant in ("", "ann", "Ann")] == [[], ["a"], []]


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Address.parse("sqlite:~/notes.db") == (Engine.SQLITE, tmp_path / "notes.db", "")
    assert NoteSettings(task_store="sqlite:~/notes.db").task_store == f"sqlite:{tmp_path / 'notes.db'}"


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("", "give 'json:/absolute/path', 'sqlite:/absolute/path', 'postgresql://user@host/database' or 'memory:'"),
        ("notes.db", "give 'json:"),
        ("SQLITE:/notes.db", "give 'json:"),
        ("redis:/notes", "give 'json:"),
        ("postgresql://ann:secret@host/db", "leave the password out, and put it in the file that PGPASSFILE names"),
        ("postgresql://ann:secret@a,b/db?target_session_attrs=any", "leave the password out"),
        ("postgresql://ann@host/db?password=secret", "leave the password out"),
        ("postgresql:/db", "give postgresql://user@host/database"),
        ("postgresql://host/db?pooler=session", "with \\?pooler=transaction behind such a pooler"),
        ("postgresql://[host/db", "give postgresql://user@host/database"),
        ("postgres://ann:secret@host/db", "give 'json:/absolute/path'"),
        ("memory:/notes", "or 'memory:'"),
        ("sqlite:", "give 'json:"),
        ("sqlite:notes.db", "an absolute path such as '/.*/notes.db'"),
        ("json:~nobody has this name/notes.json", "an absolute path such as '/path/to/it'"),
        ("json:/", "a file in a folder"),
        ("json:/no/such/folder/notes.json", "a folder that exists"),
    ],
)
def test_an_address_that_names_no_store_is_refused_with_the_forms_that_there_are(
    monkeypatch: pytest.MonkeyPatch, address: str, reason: str
) -> None:
    if not address.startswith("postgresql:"):
        with pytest.raises(ValueError, match=reason) as caught:
            Address.parse(address)
        assert "secret" not in str(caught.value)
    if address:
        monkeypatch.setenv("TASK_STORE", address)
        with pytest.raises(BadSettings, match=reason) as refused:
            load_settings(NoteSettings)
        assert "TASK_STORE is " in str(refused.value)
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "memory:"),
        ({"NOTES_PATH": "{folder}/n.json"}, "json:{folder}/n.json"),
        ({"TASK_STORE": "json:{folder}/n.json"}, "json:{folder}/n.json"),
        ({"TASK_STORE": "sqlite:{folder}/n.db", "TASK_TENANT": "ann"}, "sqlite:{folder}/n.db"),
        ({"TASK_STORE": "postgresql://ann@a,b/db?pooler=transaction"}, "postgresql://ann@a,b/db?pooler=transaction"),
        ({"TASK_STORE": "postgresql:///db", "TASK_TENANT": "ann"}, "postgresql:///db"),
        ({"TASK_STORE": "memory:"}, "memory:"),
        ({"TASK_STORE": "", "NOTES_PATH": "{folder}/n.json"}, "json:{folder}/n.json"),
    ],
)
def test_settings_name_one_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(folder=tmp_path))
    settings = load_settings(NoteSettings)
    assert str(settings.address) == expected.format(folder=tmp_path)
    assert settings.task_tenant == variables.get("TASK_TENANT", "")


class BareSettings(StoreServerSettings):
    """The settings of a server without a document of its own."""

    store_variable: ClassVar[str] = ""


def test_a_server_without_a_document_keeps_its_tasks_in_memory() -> None:
    assert str(load_settings(BareSettings).address) == "memory:"


def test_two_settings_that_both_name_a_store_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASK_STORE", f"sqlite:{tmp_path}/n.db")
    monkeypatch.setenv("NOTES_PATH", f"{tmp_path}/n.json")
    with pytest.raises(BadSettings, match="TASK_STORE and NOTES_PATH both name the store: set one of them"):
        load_settings(NoteSettings)


def test_doctor_says_that_an_older_database_will_be_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    assert not SqliteDatabase(path).is_outdated()  # there is none yet
    older = opened(f"sqlite:{path}")
    add(older, "a")
    older.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")
    checks = store_checks(NoteSettings(task_store=f"sqlite:{path}"), ListCodec(NOTES))
    texts = [finding.text for check in checks for finding in check.look()]
    assert "notes.db was written by an older version, and is brought up to date by the next call" in texts
