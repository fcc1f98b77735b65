"""The settings, the command, and what the package imports (CX-3, CX-5)."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import requires, version
from pathlib import Path

import pytest

import cortex_mcp.__main__
import cortex_mcp.server
from cortex_mcp.settings import CortexMcpSettings
from task_core.cli.settings import load_settings
from tests.packaging.projects import PROJECTS


@pytest.mark.requirement("CX-3", "CX-1", "CLI-1")
@pytest.mark.parametrize("main", [cortex_mcp.__main__.main, cortex_mcp.server.main], ids=["__main__", "server"])
def test_the_command_knows_its_version(
    main: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["cortex-mcp", "--version"])
    with pytest.raises(SystemExit) as ending:
        main()
    assert (ending.value.code, capsys.readouterr().out) == (0, f"cortex-mcp {version('cortex-tasks-mcp')}\n")


@pytest.mark.requirement("CX-3", "CLI-1")
@pytest.mark.parametrize("module", ["cortex_mcp.__main__", "cortex_mcp.server"])
def test_the_module_and_the_file_are_the_command_too(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["cortex-mcp", "--help"])
    path = str(sys.modules[module].__file__)
    with pytest.raises(SystemExit) as ending:
        runpy.run_path(path, run_name="__main__")
    assert (ending.value.code, "CORTEX_WORKSPACE" in capsys.readouterr().out) == (0, True)


def test_without_settings_it_works_in_the_current_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("CORTEX_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    settings = load_settings(CortexMcpSettings)
    assert (settings.directory, settings.workspace) == (tmp_path, tmp_path.resolve())
    assert (settings.cortex_list_timeout, settings.cortex_git_timeout) == (30.0, 60.0)


@pytest.mark.requirement("CX-2", "CX-1")
def test_it_brings_ctx_in_its_own_version_and_names_no_package_of_strangers() -> None:
    table = PROJECTS["cortex-mcp"].table
    assert table.name == "cortex-tasks-mcp"
    assert f"cortex-tasks-cli=={table.version}" in (requires("cortex-tasks-mcp") or ())
    readme = (PROJECTS["cortex-mcp"].folder / "README.md").read_text("utf-8")
    assert not any(f"install {name}" in readme for name in ("cortex-mcp", "cortex-cli", "ctx"))


@pytest.mark.long
@pytest.mark.requirement("CX-5", "CX-2")
def test_a_started_server_has_loaded_nothing_that_could_read_a_token_or_reach_out() -> None:
    code = (
        "import sys\nfrom cortex_mcp.server import build_server\nfrom cortex_mcp.settings import CortexMcpSettings\n"
        "build_server(CortexMcpSettings())\nprint(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert {"keyring", "jwt", "requests", "cortex_cli", "cortex_backend"}.isdisjoint(done.stdout.split())
