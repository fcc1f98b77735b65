"""Pack each server as an MCP bundle (``.mcpb``) from its manifest and the wheels in ``dist``, and try what came out.

A bundle holds the wheels of the server, the core and what else of ours it requires; everything else is fetched by uv,
which the host of the bundle brings along. The bundles are left in ``dist``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from inspector.inspector_cli import Answer, Inspector, member
from inspector.pinned import FOLDER, node_command
from inspector.report import Part, Report, run

__all__ = ["Manifest", "main", "read_manifest"]

ROOT: Final = FOLDER.parent
DIST: Final = ROOT / "dist"
TOOL: Final = "@anthropic-ai/mcpb/dist/cli/cli.js"

PROJECT: Final = """\
[project]
name = "{name}-bundle"
version = "{version}"
requires-python = "{python}"
dependencies = {requirements}

[tool.uv]
package = false

[tool.uv.sources]
{sources}
"""
"""The setting with which uv installs the bundle's wheels by path: a name alone is looked up in an index too."""

ENTRY_POINT: Final = """\
from {module}.__main__ import main

main()
"""

SETTING: Final = re.compile(r"\$\{user_config\.(\w+)\}")
"""Where a manifest wants the value of a setting."""

SECONDS: Final = 300
"""Seconds that packing or installing a bundle may take."""


@dataclass(frozen=True)
class Manifest:
    """What of a manifest is needed to make the bundle and to start it."""

    folder: Path
    name: str
    version: str
    python: str
    tools: list[tuple[str, str]]
    """Names and descriptions."""
    command: list[str]
    variables: dict[str, str]
    required: list[str]
    """What it requires in exactly its own version: packages of this workspace."""
    defaults: dict[str, str]
    """What the settings are when the user changes none; those that are required have none."""

    @property
    def wheels(self) -> dict[str, str]:
        """The names of the wheels that the bundle holds, by what they install: the server and what it requires."""
        names = (self.name, *self.required)
        return {name: f"{name.replace('-', '_')}-{self.version}-py3-none-any.whl" for name in names}

    @property
    def project(self) -> str:
        """The ``pyproject.toml`` of the bundle."""
        return PROJECT.format(
            name=self.name,
            version=self.version,
            python=self.python,
            requirements=json.dumps([f"{name}=={self.version}" for name in self.wheels]),
            sources="\n".join(f'{name} = {{ path = "wheels/{wheel}" }}' for name, wheel in self.wheels.items()),
        )

    @property
    def files(self) -> set[str]:
        """The paths of all files in the bundle."""
        return {"LICENSE", "README.md", "manifest.json", "pyproject.toml", "server.py"} | {
            f"wheels/{wheel}" for wheel in self.wheels.values()
        }


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest in the folder of a server."""
    document = json.loads((folder / "manifest.json").read_text("utf-8"))
    config = document["server"]["mcp_config"]
    options = document["user_config"].items()
    dependencies = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    return Manifest(
        folder=folder,
        name=document["name"],
        version=document["version"],
        python=document["compatibility"]["runtimes"]["python"],
        tools=[(tool["name"], tool["description"]) for tool in document["tools"]],
        command=[config["command"], *config["args"]],
        variables=config["env"],
        required=[text.partition("==")[0] for text in dependencies if "==" in text.partition(";")[0]],
        defaults={name: _written(option["default"]) for name, option in options if "default" in option},
    )


def _written(default: object) -> str:
    return default if isinstance(default, str) else json.dumps(default)


def add_cases(report: Report, manifest: Manifest) -> None:
    """Pack one server, unpack what came out, and start it as a host would."""
    bundle = DIST / f"{manifest.name}-{manifest.version}.mcpb"
    with tempfile.TemporaryDirectory() as name:
        staged, unpacked = Path(name).resolve() / "staged", Path(name).resolve() / "unpacked"
        stage(manifest, staged)
        report.case("mcpb validate", "exit 0", _run(*node_command(TOOL), "validate", str(staged)))
        report.case("mcpb pack", "exit 0", _run(*node_command(TOOL), "pack", str(staged), str(bundle)))
        answer = _run(*node_command(TOOL), "unpack", str(bundle), str(unpacked))
        found = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
        report.case("mcpb unpack", "exit 0", answer, just_the_files_of_the_bundle=found == manifest.files)
        report.case("uv sync", "exit 0", _run(_uv(), "sync", "--quiet", "--directory", str(unpacked)))
        answer = _installed(manifest, unpacked).run("tools/list")
        report.case("tools/list", "exit 0", answer, as_in_the_manifest=_tools(answer) == manifest.tools)


def _tools(answer: Answer) -> list[tuple[str, str]]:
    tools = member(answer.json, "tools")
    if not isinstance(tools, list):
        return []
    return [(str(member(tool, "name")), str(member(tool, "description"))) for tool in tools]


def stage(manifest: Manifest, folder: Path) -> None:
    """Lay out in ``folder`` what goes into the bundle."""
    (folder / "wheels").mkdir(parents=True)
    for file in ("manifest.json", "README.md", "LICENSE"):
        shutil.copy(manifest.folder / file, folder)
    for wheel in manifest.wheels.values():
        shutil.copy(DIST / wheel, folder / "wheels")
    (folder / "pyproject.toml").write_text(manifest.project, "utf-8")
    (folder / "server.py").write_text(ENTRY_POINT.format(module=manifest.folder.name.replace("-", "_")), "utf-8")


def _installed(manifest: Manifest, folder: Path) -> Inspector:
    """Return the Inspector on an unpacked bundle: the defaults of its settings, and files for those without."""
    command = [part.replace("${__dirname}", str(folder)) for part in manifest.command]
    variables = [
        f"{name}={re.sub(SETTING, lambda key: manifest.defaults.get(key[1], str(folder / key[1])), text)}"
        for name, text in manifest.variables.items()
    ]
    if manifest.name == "taskmaster-mcp":  # without a project it offers one tool more (PE-4)
        (folder / ".taskmaster").mkdir()
        variables.append(f"TASK_MASTER_PROJECT_ROOT={folder}")
    # The Inspector takes no variable that is empty, as that of a setting is which the user leaves alone.
    return Inspector(["env", *variables, _uv(), *command[1:]], {})


def _uv() -> str:
    uv = os.environ.get("HATCH_UV") or shutil.which("uv")
    if uv is None:
        sys.exit("The bundles are tried with uv, which hatch brings along; it was not found.")
    return uv


def _run(*command: str) -> Answer:
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8", timeout=SECONDS)
    return Answer(done.returncode, done.stdout, done.stderr)


def main() -> int:
    """Pack and try the bundles of all servers, print one table, and return the exit code."""
    manifests = [read_manifest(path.parent) for path in sorted(ROOT.glob("packages/*/manifest.json"))]
    return run([Part(manifest.name, partial(add_cases, manifest=manifest)) for manifest in manifests])


if __name__ == "__main__":
    sys.exit(main())
