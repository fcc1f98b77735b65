"""Settings come from the environment, and a bad one is refused in a sentence that names it (CLI-3)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import Field, model_validator
from typing_extensions import Self

from task_core.server.early import BadSettings
from task_core.server.settings import ServerSettings, described, load_settings


class Settings(ServerSettings):
    """A server's own settings beside the common ones."""

    file_path: Path = Field(description="File of the store.")
    days: float | None = Field(default=None, ge=0, description="Days to keep.")

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.days == 13:
            raise ValueError("DAYS and FILE_PATH do not agree")
        return self


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("LOG_LEVEL", "TASK_FSYNC", "TASK_LOCK_TIMEOUT", "DAYS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FILE_PATH", "/a/b")
    return monkeypatch


def test_what_is_not_set_has_its_default() -> None:
    settings = load_settings(Settings)
    assert (settings.log_level, settings.task_fsync, settings.task_lock_timeout) == ("WARNING", True, 10.0)
    assert (settings.file_path, settings.days) == (Path("/a/b"), None)


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
    ],
)
def test_a_bad_value_is_refused_with_its_name_and_what_was_expected(
    environment: pytest.MonkeyPatch, name: str, value: str, reason: str
) -> None:
    environment.setenv(name, value)
    expected = next(text for variable, text, _ in described(Settings) if variable == name)
    with pytest.raises(BadSettings) as caught:
        load_settings(Settings)
    assert str(caught.value) == f"{name} is '{value}': {reason}. Expected: {expected}"


@pytest.mark.requirement("CLI-3")
def test_a_missing_variable_is_named_with_what_it_is_for(environment: pytest.MonkeyPatch) -> None:
    environment.delenv("FILE_PATH")
    with pytest.raises(BadSettings, match=r"^Set FILE_PATH: File of the store\.$"):
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
    with pytest.raises(BadSettings, match=r"^DAYS and FILE_PATH do not agree$"):
        load_settings(Settings)


@pytest.mark.requirement("S1")
def test_a_long_value_is_shortened(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("DAYS", "x" * 10_000)
    with pytest.raises(BadSettings) as caught:
        load_settings(Settings)
    assert len(str(caught.value)) < 500


def test_each_variable_is_described_with_its_default() -> None:
    assert list(described(Settings))[1:] == [
        ("TASK_FSYNC", "Whether a change is on the disk before it is answered.", "default true"),
        ("TASK_LOCK_TIMEOUT", "Seconds to wait for a store that another process holds.", "default 10"),
        ("FILE_PATH", "File of the store.", "required"),
        ("DAYS", "Days to keep.", "not set"),
    ]
