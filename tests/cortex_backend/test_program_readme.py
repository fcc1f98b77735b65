"""The README of the backend names everything that there is (README-1)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cortex_backend.__main__ import main
from cortex_backend.settings import describe_settings
from tests.cortex_backend.auth_client import open_auth_client
from tests.packaging.projects import PROJECTS

pytestmark = pytest.mark.requirement("README-1")

TEXT = (PROJECTS["cortex-backend"].folder / "README.md").read_text("utf-8")


def test_it_has_every_setting_and_no_other() -> None:
    assert re.findall(r"^\| `([A-Z_]+)` \|", TEXT, re.MULTILINE) == [name for name, _ in describe_settings()]


def test_it_names_every_endpoint_with_each_method(tmp_path: Path) -> None:
    with open_auth_client(tmp_path / "cortex.db") as auth:
        paths = auth.client.get("/openapi.json").json()["paths"]
    rows = [line for line in TEXT.splitlines() if line.startswith("| `") and "/" in line]
    for path, operations in paths.items():
        (place,) = {cell for line in rows for cell in re.findall(rf"[^,;|]*`[A-Z]+ {re.escape(path)}`", line)} or {""}
        named = set(re.findall(r"\b(GET|POST|PUT|PATCH|DELETE)\b", place))
        others = {
            method for line in rows for method, other in re.findall(r"`([A-Z]+) (/[^` ]*)", line) if other == path
        }
        assert {method.upper() for method in operations} <= named | others, path


@pytest.mark.parametrize("command", ["serve", "migrate", "user add", "user disable", "user password", ""])
def test_it_names_every_command_and_option(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    options = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    assert f"`cortex-backend {command}" in TEXT
    assert [option for option in sorted(options) if f"`{option}`" not in TEXT and f"{option}`" not in TEXT] == []
