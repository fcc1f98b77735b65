"""One rule for every path in the settings of every server: absolute, once home folders are expanded (CLI-3)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from heartbeat_mcp.settings import HeartbeatSettings
from hierarchy_mcp.settings import HierarchySettings
from task_core.bootstrap import BadSettings
from task_core.cli.settings import StoreServerSettings, load_settings
from tasks_v1_mcp.settings import TasksSettings

FILES: Final = {
    "HEARTBEAT_FILE_PATH": HeartbeatSettings,
    "HEARTBEAT_STATE_PATH": HeartbeatSettings,
    "FILE_PATH": HierarchySettings,
    "TASKS_FILE_PATH": TasksSettings,
}

each_path: Final = pytest.mark.parametrize(
    ("variable", "settings_type"), [*FILES.items(), ("WORKSPACE_PATH", HeartbeatSettings)]
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home folder, which is the current one too."""
    for name in (*FILES, "WORKSPACE_PATH", "TASK_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HEARTBEAT_FILE_PATH", str(tmp_path / "list.md"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "place").mkdir()
    return tmp_path


@pytest.mark.requirement("CLI-3")
@each_path
def test_a_relative_path_is_refused_with_an_absolute_one_to_write_instead(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, settings_type: type[StoreServerSettings]
) -> None:
    for value in ("place", "./place", "place/../place"):
        monkeypatch.setenv(variable, value)
        with pytest.raises(BadSettings) as refused:
            load_settings(settings_type)
        advice = f"{variable} is '{value}': write an absolute path such as '{home / 'place'}'. Expected: "
        assert str(refused.value).startswith(advice)


@each_path
def test_a_home_folder_is_expanded_once(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, settings_type: type[StoreServerSettings]
) -> None:
    name = "place" if variable == "WORKSPACE_PATH" else "place/file"
    monkeypatch.setenv(variable, f"~/{name}")
    settings = load_settings(settings_type)
    monkeypatch.setenv("HOME", os.devnull)
    monkeypatch.chdir("/")
    assert getattr(settings, variable.lower()) == home / name


@pytest.mark.requirement("CLI-3", "EN-17")
@pytest.mark.parametrize("settings_type", [*dict.fromkeys(FILES.values())], ids=lambda one: one.__name__)
def test_the_path_of_a_store_follows_the_same_rule(
    home: Path, monkeypatch: pytest.MonkeyPatch, settings_type: type[StoreServerSettings]
) -> None:
    monkeypatch.setenv("TASK_STORE", "json:place/file")
    with pytest.raises(BadSettings, match=rf"^TASK_STORE is 'json:place/file': .* '{home}/place/file'"):
        load_settings(settings_type)
    monkeypatch.setenv("TASK_STORE", "json:~/place/file")
    assert str(load_settings(settings_type).address) == f"json:{home}/place/file"
