"""Settings come from the environment, and a bad one is refused in a sentence that names it (CLI-3)."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import pytest
from pydantic import Field, model_validator
from typing_extensions import override

from task_core.bootstrap import BadSettings
from task_core.cli.settings import (
    StoreServerSettings,
    describe_settings,
    load_settings,
)
from task_core.store import Address, Engine


class Settings(StoreServerSettings):
    """A server's own settings beside the common ones."""

    store_variable = "file_path"

    file_path: Path = Field(default=Path("/home/notes.json"), description="File of the store.")
    size: int = Field(description="How large it is.")
    days: float | None = Field(default=None, ge=0, description="Days to keep.")

    @property
    @override
    def document_path(self) -> Path | None:
        return self.file_path

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.days == 13:
            raise ValueError("DAYS and SIZE do not agree")
        return self


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, _, _ in describe_settings(Settings):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIZE", "5")
    return monkeypatch


def test_what_is_not_set_has_its_default() -> None:
    settings = load_settings(Settings)
    assert (settings.log_level, settings.task_fsync, settings.task_lock_timeout) == ("WARNING", True, 10.0)
    assert (settings.task_store, settings.task_tenant, settings.task_extra_tools) == (None, "", None)
    assert (settings.size, settings.days) == (5, None)


@pytest.mark.parametrize("name", ["LOG_LEVEL", "Log_Level", "log_level"])
def test_names_and_levels_are_matched_without_regard_to_case(environment: pytest.MonkeyPatch, name: str) -> None:
    environment.setenv(name, "debug")
    assert load_settings(Settings).log_level == "DEBUG"


def test_an_empty_variable_counts_as_not_set(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("TASK_LOCK_TIMEOUT", "")
    assert load_settings(Settings).task_lock_timeout == 10.0


@pytest.mark.requirement("CLI-3")
@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("LOG_LEVEL", "LOUD", "Input should be the name of a level"),
        ("TASK_FSYNC", "perhaps", "Input should be a valid boolean, unable to interpret input"),
        ("TASK_LOCK_TIMEOUT", "0", "Input should be greater than 0"),
        ("TASK_LOCK_TIMEOUT", "nan", "Input should be a finite number"),
        ("TASK_LOCK_TIMEOUT", "soon", "Input should be a valid number, unable to parse string as a number"),
        ("DAYS", "-1", "Input should be greater than or equal to 0"),
        ("TASK_EXTRA_TOOLS", "changes, news", "'news' is not a set of tools"),
    ],
)
def test_a_bad_value_is_refused_with_its_name_and_what_was_expected(
    environment: pytest.MonkeyPatch, name: str, value: str, reason: str
) -> None:
    environment.setenv(name, value)
    expected = next(text for variable, text, _ in describe_settings(Settings) if variable == name)
    with pytest.raises(BadSettings) as caught:
        load_settings(Settings)
    assert str(caught.value) == f"{name} is '{value}': {reason}. Expected: {expected}"


@pytest.mark.requirement("CLI-3")
def test_a_missing_variable_is_named_with_what_it_is_for(environment: pytest.MonkeyPatch) -> None:
    environment.delenv("SIZE")
    with pytest.raises(BadSettings, match=r"^Set SIZE: How large it is\.$"):
        load_settings(Settings)


@pytest.mark.requirement("CLI-3")
def test_every_bad_variable_has_a_line(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("DAYS", "x")
    environment.setenv("LOG_LEVEL", "x")
    with pytest.raises(BadSettings) as caught:
        load_settings(Settings)
    assert [line.split()[0] for line in str(caught.value).splitlines()] == ["LOG_LEVEL", "DAYS"]


def test_settings_that_do_not_agree_are_refused_in_the_words_of_the_rule(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("DAYS", "13")
    with pytest.raises(BadSettings, match=r"^DAYS and SIZE do not agree$"):
        load_settings(Settings)


@pytest.mark.requirement("S1")
def test_a_long_value_is_shortened(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("DAYS", "x" * 10_000)
    with pytest.raises(BadSettings) as caught:
        load_settings(Settings)
    assert len(str(caught.value)) < 500


def test_each_variable_is_described_with_its_default() -> None:
    assert [(name, default) for name, _, default in describe_settings(Settings)] == [
        ("TASK_STORE", "not set"),
        ("TASK_TENANT", "not set"),
        ("TASK_FSYNC", "default true"),
        ("TASK_HISTORY_DAYS", "default 90"),
        ("TASK_CLAIM_SECONDS", "default 900"),
        ("TASK_LOCK_TIMEOUT", "default 10"),
        ("LOG_LEVEL", "default WARNING"),
        ("TASK_EXTRA_TOOLS", "not set"),
        ("FILE_PATH", "default /home/notes.json"),
        ("SIZE", "required"),
        ("DAYS", "not set"),
    ]


@pytest.mark.requirement("EN-17")
def test_without_an_address_the_store_is_the_document_of_the_path_variable(environment: pytest.MonkeyPatch) -> None:
    assert str(load_settings(Settings).address) == "json:/home/notes.json"
    environment.setenv("FILE_PATH", "/a/b.json")
    assert load_settings(Settings).address == Address(Engine.JSON, Path("/a/b.json"))


@pytest.mark.requirement("EN-17")
def test_without_a_path_the_store_is_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "document_path", None)
    assert load_settings(Settings).address == Address(Engine.MEMORY)


@pytest.mark.requirement("EN-17")
@pytest.mark.parametrize("engine", ["json", "sqlite"])
def test_an_address_names_the_engine_and_the_file(environment: pytest.MonkeyPatch, tmp_path: Path, engine: str) -> None:
    environment.setenv("TASK_STORE", f"{engine}:{tmp_path}/notes")
    assert load_settings(Settings).address == Address(Engine(engine), tmp_path / "notes")
    environment.setenv("TASK_STORE", "memory:")
    assert load_settings(Settings).address == Address(Engine.MEMORY)


@pytest.mark.requirement("EN-17", "CLI-3")
@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("oracle:/notes", "give 'json:/absolute/path'"),
        ("/notes.db", "give 'json:/absolute/path'"),
        ("sqlite:notes.db", "write an absolute path such as '/"),
        ("sqlite:/", "name a file in a folder that exists"),
        ("json:/no/such/folder/notes.json", "name a file in a folder that exists"),
        ("memory:/notes", "give 'json:"),
        ("postgres://me@here/notes", "give 'json:/absolute/path'"),
    ],
)
def test_an_invalid_address_is_refused_with_what_was_expected(
    environment: pytest.MonkeyPatch, address: str, reason: str
) -> None:
    environment.setenv("TASK_STORE", address)
    with pytest.raises(BadSettings) as caught:
        load_settings(Settings)
    assert str(caught.value).startswith(f"TASK_STORE is '{address}': {reason}")


@pytest.mark.requirement("EN-17", "S3")
@pytest.mark.parametrize("password", ["hunter2", "p:w", "a@b"])
def test_no_message_shows_a_password(environment: pytest.MonkeyPatch, password: str) -> None:
    environment.setenv("TASK_STORE", f"postgresql://me:{password}@here/notes")
    with pytest.raises(BadSettings) as caught:
        load_settings(Settings)
    assert password not in str(caught.value)
    assert "TASK_STORE is 'postgresql://me:…@here/notes'" in str(caught.value)


@pytest.mark.requirement("EN-17", "CLI-3")
def test_a_tenant_without_a_database_is_refused(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.setenv("TASK_TENANT", "ann")
    environment.setenv("TASK_STORE", f"sqlite:{tmp_path}/notes.db")
    assert load_settings(Settings).task_tenant == "ann"
    environment.setenv("TASK_STORE", f"json:{tmp_path}/notes.json")
    with pytest.raises(BadSettings, match=r"^TASK_TENANT needs a database: set TASK_STORE"):
        load_settings(Settings)


@pytest.mark.requirement("EN-17", "CLI-3")
def test_an_address_and_a_path_variable_together_are_refused(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.setenv("TASK_STORE", f"sqlite:{tmp_path}/notes.db")
    environment.setenv("FILE_PATH", "/a/b.json")
    with pytest.raises(BadSettings, match=r"^TASK_STORE and FILE_PATH both name the store: set one of them\.$"):
        load_settings(Settings)
