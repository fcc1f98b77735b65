"""Every installation that a document shows is made as it is written, in a home and a copy of the checkout of its own.

The packages that ours need come from an index, so these tests are among the long ones.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.docs.repository import DOCS
from tests.packaging.documents import DOCUMENTS, blocks
from tests.packaging.projects import PROJECTS, ROOT
from tests.packaging.servers import COMMANDS, Entry
from tests.wire.line_client import LineClient

INSTALLERS = ("uv tool install ", "pipx install ", "pip install ", ".venv/bin/pip install ")

BASH = shutil.which("bash") or "bash"

PATIENCE = 300.0
"""Seconds for an installation, on a machine that is busy."""


def lines_that_install() -> list[str]:
    """Return each command that installs something, once, without its comment."""
    shell = [block.text for path in DOCUMENTS for block in blocks(path) if block.language == "sh"]
    lines = [line.partition(" #")[0].strip() for text in shell for line in text.splitlines()]
    return sorted({line for line in lines if line.startswith(INSTALLERS)})


def order_of(line: str) -> tuple[bool, bool, int]:
    """Return what sorts the quick installations first: uv takes a tenth of the time of pip, and pip less than pipx."""
    return not line.startswith("uv"), "git+" not in line, line.count("--preinstall") or -line.count("packages/")


def lines_for_ci() -> set[str]:
    """Return commands that have each way to install and each package once."""
    found, seen = set[str](), set[str]()
    for line in sorted(lines_that_install(), key=order_of):
        parts = {Path(line.split()[0]).name, *re.findall(r"git\+URL|packages/[a-z0-9-]+", line)}
        if parts - seen:
            found.add(line)
        seen |= parts
    return found


def lay_out(folder: Path) -> dict[str, str]:
    """Copy what an installation needs into a folder, and return the environment of a shell there."""
    skipped = shutil.ignore_patterns("__pycache__", "*.egg-info", ".venv", "dist")
    shutil.copytree(ROOT / "packages", folder / "packages", ignore=skipped)
    shutil.copy(ROOT / "pyproject.toml", folder)  # which tells uv where our packages are
    home = folder / "home"
    home.mkdir()
    ours = {name for name in os.environ if name.startswith(("UV_TOOL", "UV_PROJECT", "PIPX_", "XDG_", "VIRTUAL_ENV"))}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    programs = [str(home / ".local" / "bin"), str(folder / ".venv" / "bin"), str(Path(sys.executable).parent)]
    cache = os.environ.get("UV_CACHE_DIR") or str(Path.home() / ".cache" / "uv")
    path = os.pathsep.join([*programs, os.environ["PATH"]])
    # What pip compiles at once is compiled when it is imported.
    return {**kept, "HOME": str(home), "UV_CACHE_DIR": cache, "PATH": path, "PIP_COMPILE": "0"}


def run(line: str, folder: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        [BASH, "-euo", "pipefail", "-c", line],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def programs_of(line: str) -> list[str]:
    """Return the programs that a command puts into place: of what it names, or of the first thing alone."""
    words = [word.strip("'\"").partition("[")[0] for word in line.split() if "packages/" in word]
    named = [PROJECTS[Path(word).name] for word in (words if "pip install" in line else words[:1])]
    return [name for project in named for name in project.table.scripts]


@pytest.mark.long
@pytest.mark.requirement("README-2", "PE-1")
@pytest.mark.parametrize(
    "line",
    [pytest.param(it, marks=() if it in lines_for_ci() else pytest.mark.by_hand) for it in lines_that_install()],
)
def test_an_installation_puts_its_programs_into_place(line: str, tmp_path: Path) -> None:
    environment = lay_out(tmp_path)
    if "pip install" in line:
        run(f"{sys.executable} -m venv .venv", tmp_path, environment)
    if "git+URL" in line:
        commit = "git -c user.name=x -c user.email=x@example.org commit -qm x"
        run(f"git init -q && git add pyproject.toml packages && {commit}", tmp_path, environment)
    run(line.replace("git+URL", f"git+{tmp_path.as_uri()}"), tmp_path, environment)
    for name in programs_of(line):
        place = run(f"command -v {name}", tmp_path, environment).strip()
        assert Path(place).is_relative_to(tmp_path)
        assert run(f"{name} --help", tmp_path, environment)


@pytest.mark.long
def test_a_newcomer_who_follows_the_start_page_sees_the_first_task(tmp_path: Path) -> None:
    environment = lay_out(tmp_path)
    (project := tmp_path / "project").mkdir()
    shown = [block.text for block in blocks(DOCS / "index.md") if block.language == "sh"]
    first = next(text for text in shown if text.startswith("uv tool install ./packages/heartbeat-mcp"))
    second = next(text for text in shown if "--yes" in text)
    run(first, tmp_path, environment)
    run(second, project, environment)
    (entry,) = json.loads((project / ".mcp.json").read_text("utf-8"))["mcpServers"].values()
    server = Entry.model_validate(entry)
    assert Path(server.command).name in COMMANDS
    with LineClient(command=(server.command, *server.args), environment=server.env) as session:
        done = session.request("tools/call", {"name": "task_create", "arguments": {"raw_user_request": "Renew it"}})
    assert not done["result"].get("isError")
    assert "Renew it" in run("heartbeat-mcp list", project, environment)
    assert "Renew it" in (project / "HEARTBEAT.md").read_text("utf-8")


@pytest.mark.requirement("PE-1")
def test_there_is_an_installation_by_each_program() -> None:
    found = lines_that_install()
    assert [start for start in INSTALLERS if not any(line.startswith(start) for line in found)] == []
