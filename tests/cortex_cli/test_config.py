"""The settings of ``ctx``: where they are, what they may be, and how they are written (CX-55)."""

from __future__ import annotations

import json
import os
import stat
from math import inf
from pathlib import Path

import pytest

from cortex_cli.config import ConfigFile, config_folder, deadline_of, parse_setting, server_origin, write_private
from cortex_cli.errors import CortexError, InvalidUsage
from cortex_cli.models import Settings


@pytest.mark.requirement("CX-55")
@pytest.mark.parametrize(
    ("environment", "platform", "folder"),
    [
        ({"CTX_CONFIG_DIR": "/named", "XDG_CONFIG_HOME": "/xdg"}, "linux", "/named"),
        ({"XDG_CONFIG_HOME": "/xdg"}, "linux", "/xdg/cortex"),
        ({}, "linux", "~/.config/cortex"),
        ({"XDG_CONFIG_HOME": "/xdg"}, "darwin", "~/Library/Application Support/cortex"),
        ({"APPDATA": "/roaming"}, "win32", "/roaming/cortex"),
        ({}, "win32", "~/AppData/Roaming/cortex"),
    ],
    ids=str,
)
def test_the_files_are_where_the_system_keeps_such_files(
    environment: dict[str, str], platform: str, folder: str
) -> None:
    assert config_folder(environment, platform) == Path(folder).expanduser()


@pytest.mark.requirement("CX-89")
def test_the_time_of_a_command_is_a_positive_number() -> None:
    assert deadline_of({}).limit(1e6) == 1e6
    assert deadline_of({"CTX_TIMEOUT": "2.5"}).limit(inf) <= 2.5
    for value in ("0", "-1", "nan", "inf", "soon"):
        with pytest.raises(InvalidUsage, match="CTX_TIMEOUT"):
            deadline_of({"CTX_TIMEOUT": value})


@pytest.mark.requirement("CX-61", "CX-64")
@pytest.mark.parametrize(
    "url", ["http://example.org", "https://u:secret@h", "https://h/tasks", "https://h?a=b", "https://h#a"]
)
def test_a_server_is_an_origin_and_nothing_else(url: str) -> None:
    with pytest.raises(InvalidUsage) as caught:
        server_origin(url, "--url")
    assert "secret" not in caught.value.message


@pytest.mark.requirement("CX-55")
def test_a_setting_has_the_type_of_its_default() -> None:
    assert parse_setting("url", "https://H/") == "https://h:443"
    assert parse_setting("default_project", "12") == 12
    assert parse_setting("delete_local_on_done", "false") is False
    assert parse_setting("delete_remote_on_done", "true") is True


@pytest.mark.requirement("CX-55")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("url", "http://example.org"),
        ("default_project", "0"),
        ("default_project", "2147483648"),
        ("default_project", "9" * 5000),
        ("default_project", "٣"),
        ("delete_local_on_done", "no"),
    ],
    ids=lambda value: value[:20],
)
def test_a_value_that_a_setting_cannot_have_is_refused(key: str, value: str) -> None:
    with pytest.raises(InvalidUsage):
        parse_setting(key, value)


@pytest.mark.requirement("CX-55")
def test_an_unknown_setting_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidUsage, match="Did you mean 'default_project'") as caught:
        parse_setting("default_projekt", "1")
    assert caught.value.details["near"] == ["default_project"]
    with pytest.raises(InvalidUsage, match="Use one of: url, "):
        parse_setting("zzz", "1")


@pytest.mark.requirement("CX-55")
def test_a_missing_file_has_the_defaults_and_a_change_is_kept(tmp_path: Path) -> None:
    config = ConfigFile(tmp_path / "new")
    assert config.settings() == Settings()
    config.change("default_project", 3)
    config.change("delete_remote_on_done", value=True)
    config.change("default_project", None)
    assert config.settings() == Settings(delete_remote_on_done=True)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["config.json"]
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "config.json").stat().st_mode) == 0o600


@pytest.mark.requirement("CX-55")
@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"colour": 1}',
        '{"url": "http://example.org"}',
        '{"default_project": "3"}',
        '{"delete_local_on_done": "true"}',
    ],
    ids=lambda content: content[:40],
)
def test_a_damaged_file_is_an_error_and_stays_as_it_is(content: str, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(CortexError, match="config") as caught:
        ConfigFile(tmp_path).settings()
    assert (caught.value.code, caught.value.exit_code) == ("InvalidArguments", 2)
    assert file.read_text("utf-8") == content


@pytest.mark.requirement("CX-55")
def test_a_wrong_setting_can_be_removed(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"default_project": "3"}), encoding="utf-8")
    ConfigFile(tmp_path).change("default_project", None)
    assert ConfigFile(tmp_path).settings() == Settings()


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").mkdir()
    with pytest.raises(CortexError, match="cannot be read"):
        ConfigFile(tmp_path).settings()


@pytest.mark.requirement("CX-55")
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_file_as_it_was(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    file = tmp_path / "config.json"
    write_private(file, {"a": 1})
    monkeypatch.setattr(os if call == "fsync" else Path, call, fail)
    with pytest.raises(CortexError, match="No space left on device"):
        write_private(file, {"a": 2})
    assert json.loads(file.read_bytes()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [file]
