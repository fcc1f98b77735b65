"""The settings of heartbeat: what is taken, and how a bad one is refused (CLI-3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartbeat_mcp.errors import NoHeartbeatFile
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.bootstrap import BadSettings
from task_core.cli.settings import load_settings
from task_core.store import Address, Engine


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEARTBEAT_FILE_PATH", str(tmp_path / "HEARTBEAT.md"))
    return tmp_path


def test_everything_but_the_path_of_the_file_has_a_default(folder: Path) -> None:
    settings = load_settings(HeartbeatSettings)
    assert settings.address == Address(Engine.JSON, folder / "heartbeat_state.json")
    assert settings.archive_path == folder / "heartbeat_archive.jsonl"
    assert (settings.task_retention_days, settings.auto_sync_enabled, settings.heartbeat_section) == (7, True, "TODO")


def test_the_archive_is_beside_the_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "elsewhere").mkdir()
    monkeypatch.setenv("HEARTBEAT_STATE_PATH", str(folder / "elsewhere" / "state.json"))
    settings = load_settings(HeartbeatSettings)
    assert settings.address == Address(Engine.JSON, folder / "elsewhere" / "state.json")
    assert settings.archive_path == folder / "elsewhere" / "state_archive.jsonl"


@pytest.mark.usefixtures("folder")
@pytest.mark.requirement("CLI-3")
@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("HEARTBEAT_FILE_PATH", "/no/such/folder/HEARTBEAT.md", "a folder that exists"),
        ("HEARTBEAT_FILE_PATH", "/", "a folder that exists"),
        ("HEARTBEAT_FILE_PATH", "/usr", "this is a folder"),
        ("WORKSPACE_PATH", "/no/such/folder", "a folder that exists"),
        ("TASK_RETENTION_DAYS", "-1", "greater than or equal to 0"),
        ("TASK_RETENTION_DAYS", "nan", "finite"),
        ("TASK_RETENTION_DAYS", "a week", "number"),
        ("AUTO_SYNC_ENABLED", "perhaps", "boolean"),
        ("HEARTBEAT_SECTION", " ## ", "one line of text"),
        ("HEARTBEAT_SECTION", "a\nb", "one line of text"),
        ("HEARTBEAT_MAX_CHARS", "-5", "greater than or equal to 0"),
    ],
)
def test_a_bad_setting_is_named_with_its_value_and_what_was_expected(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, expected: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(BadSettings, match=expected) as caught:
        load_settings(HeartbeatSettings)
    assert f"{variable} is '{value}'" in str(caught.value)


@pytest.mark.requirement("CLI-3")
@pytest.mark.parametrize("name", ["HEARTBEAT.md", "HEARTBEAT.md.bak", "link"])
def test_a_store_that_is_another_file_of_the_server_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (folder / "link").symlink_to(folder / "HEARTBEAT.md")
    monkeypatch.setenv("HEARTBEAT_STATE_PATH", str(folder / name))
    with pytest.raises(BadSettings, match=r"HEARTBEAT_STATE_PATH: .* must be different files"):
        load_settings(HeartbeatSettings)


@pytest.mark.requirement("CLI-3", "HB-7")
def test_a_file_that_would_be_the_archive_of_its_store_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARTBEAT_FILE_PATH", str(folder / "list_archive.jsonl"))
    monkeypatch.setenv("HEARTBEAT_STATE_PATH", str(folder / "list.json"))
    with pytest.raises(BadSettings, match=r"HEARTBEAT_STATE_PATH: .* must be different files"):
        load_settings(HeartbeatSettings)


@pytest.mark.parametrize(
    ("file", "store", "archive"),
    [
        ("HEARTBEAT.md", "heartbeat_state.json", "heartbeat_archive.jsonl"),
        ("heartbeat.MD", "heartbeat_state.json", "heartbeat_archive.jsonl"),
        ("work.md", "work_state.json", "work_state_archive.jsonl"),
        ("link.md", "real_state.json", "real_state_archive.jsonl"),
    ],
)
def test_two_lists_in_one_folder_have_two_stores_and_two_archives(
    folder: Path, monkeypatch: pytest.MonkeyPatch, file: str, store: str, archive: str
) -> None:
    (folder / "link.md").symlink_to("real.md")
    monkeypatch.setenv("HEARTBEAT_FILE_PATH", str(folder / file))
    settings = load_settings(HeartbeatSettings)
    assert (settings.address.path, settings.archive_path) == (folder / store, folder / archive)


@pytest.mark.requirement("EN-17", "EN-19")
@pytest.mark.parametrize(
    ("address", "is_filed"), [("memory:", False), ("sqlite:{}/t.db", False), ("json:{}/t.json", True)]
)
def test_another_store_needs_no_file_and_a_database_has_its_archive_within(
    folder: Path, monkeypatch: pytest.MonkeyPatch, address: str, *, is_filed: bool
) -> None:
    monkeypatch.delenv("HEARTBEAT_FILE_PATH")
    monkeypatch.setenv("TASK_STORE", address.format(folder))
    settings = load_settings(HeartbeatSettings)
    assert settings.address == Address.parse(address.format(folder))
    assert settings.archive_path == (folder / "t_archive.jsonl" if is_filed else None)
    assert (settings.heartbeat_file_path, settings.file) == (None, None)


@pytest.mark.requirement("EN-17", "CLI-3")
def test_two_names_for_the_store_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASK_STORE", f"sqlite:{folder}/t.db")
    monkeypatch.setenv("HEARTBEAT_STATE_PATH", str(folder / "s.json"))
    with pytest.raises(BadSettings, match="TASK_STORE and HEARTBEAT_STATE_PATH both name the store"):
        load_settings(HeartbeatSettings)


@pytest.mark.requirement("CLI-3")
def test_without_a_list_it_is_said_that_one_in_the_home_folder_does_not_count(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEARTBEAT_FILE_PATH")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder)
    (folder / "HEARTBEAT.md").touch()
    with pytest.raises(BadSettings, match=r"\(.*, the home folder, .* do not count\)"):
        load_settings(HeartbeatSettings)
    with pytest.raises(NoHeartbeatFile, match=r"\(.*, the home folder, .* do not count\)"):
        _ = HeartbeatSettings().document_path


@pytest.mark.requirement("HB-8")
@pytest.mark.parametrize("value", ["TODO", "## TODO", " ##TODO ", "# TODO"])
def test_leading_hashes_and_blanks_of_the_section_do_not_count(folder: Path, value: str) -> None:
    settings = HeartbeatSettings(heartbeat_file_path=folder / "HEARTBEAT.md", heartbeat_section=value)
    assert settings.heartbeat_section == "TODO"
