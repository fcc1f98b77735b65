"""Every block for a shell is run as it is written: by a shell, in a home and a checkout of its own.

A block with the title of a file is written there first, and one with the title ``output`` is compared.

Lines that are not run are those that ``tests/packaging/shown_commands.py`` lists with their reasons; they are looked at
by ``tests/packaging/test_readmes.py``, and the installations are made by ``test_installs.py``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.packaging.documents import DOCUMENTS, blocks, read_command
from tests.packaging.projects import ROOT
from tests.packaging.servers import COMMANDS, at_home
from tests.packaging.shown_commands import PATIENCE, is_run
from tests.servers import PROGRAMS

BASH = shutil.which("bash") or "bash"

SHOWN = {
    shown: path
    for path in reversed(DOCUMENTS)
    if (shown := "\n".join(block.text for block in blocks(path) if block.language == "sh"))
}
"""A document for each sequence of blocks: those in other languages have the same ones."""

LONG: Final = frozenset({"docs/how-to.md", "docs/moving.md"})

each_document = pytest.mark.parametrize(
    "document",
    [
        pytest.param(path, id=name, marks=pytest.mark.long if name in LONG else ())
        for path in SHOWN.values()
        if (name := str(path.relative_to(ROOT)))
    ],
)


def script_of(text: str) -> str:
    """Return a block as a script; a line that is not run says so in its place."""
    lines = text.replace("\\\n", " ").splitlines()
    kept = [
        line if line.strip() and is_run(read_command(line)) else f": {line.partition(' ')[0]} is left out"
        for line in lines
    ]
    return "\n".join(kept)


def lay_out(folder: Path) -> dict[str, str]:
    """Put a checkout with its installed programs into a folder; return the environment of a shell there."""
    (programs := folder / "checkout" / ".venv" / "bin").mkdir(parents=True)
    for path in Path(sys.executable).parent.iterdir():
        (programs / path.name).symlink_to(path)
    (folder / ".venv").symlink_to(programs.parent)
    (folder / "checkout" / "HEARTBEAT.md").write_text("## TODO\n")  # of the project whose folder the reader is in
    environment = at_home(folder)
    for record in PROGRAMS:
        environment |= record.lay_out(folder)
    return {**environment, "PATH": f"{programs}:{environment['PATH']}"}


def run(script: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a script with an input that has ended, so that a server ends too."""
    return subprocess.run(
        [BASH, "-euo", "pipefail", "-c", script.replace("/path/to", str(folder))],
        cwd=folder / "checkout",
        env=environment,
        input="",
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=4 * PATIENCE,
    )


@pytest.mark.requirement("README-2")
@each_document
def test_the_blocks_of_a_document_run_in_their_order(document: Path, tmp_path: Path) -> None:
    environment = lay_out(tmp_path)
    (tmp_path / "workspace").mkdir(exist_ok=True)
    output = ""
    for block in blocks(document):
        if block.language == "sh":
            done = run(script_of(block.text), tmp_path, environment)
            assert done.returncode == 0, f"{block.text}\n{done.stdout}{done.stderr}"
            output = done.stdout
        elif block.title == "output":
            assert output == block.text
        elif block.title:
            home = tmp_path if block.title.startswith("~/") else tmp_path / "checkout"
            path = home / block.title.removeprefix("~/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")


def test_a_command_that_fails_ends_its_block(tmp_path: Path) -> None:
    environment = lay_out(tmp_path)
    assert (
        run(script_of("hierarchy-mcp --no-such-option\nhierarchy-mcp --version"), tmp_path, environment).returncode == 2
    )
    assert run(script_of("docker compose up"), tmp_path, environment).returncode == 0


def test_the_commands_of_every_server_are_run() -> None:
    assert {name for name in COMMANDS if is_run(read_command(f"{name} --version"))} == {*COMMANDS}
    assert not is_run(read_command("TASK_STORE=postgresql://a@b/c tasks-v1-mcp migrate"))
