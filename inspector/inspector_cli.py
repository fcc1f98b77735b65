"""The MCP Inspector CLI as a tool for conformance scripts: its installation, its calls, and a table of cases.

The Inspector and a Node new enough for it are pinned in ``package.json``; nothing outside the standard library
is needed on the Python side.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple
from unicodedata import east_asian_width

__all__ = ["Answer", "Case", "Inspector", "Report", "install", "member", "server_command"]

FOLDER: Final = Path(__file__).resolve().parent
STAMP: Final = FOLDER / "node_modules" / ".installed-from"
LAUNCHER: Final = FOLDER / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"

CALL_SECONDS: Final = 60
"""Seconds that one call of the Inspector may take, start of Node and of the server included."""


def install() -> None:
    """Install what ``package-lock.json`` pins, unless just that is installed already."""
    wanted = hashlib.sha256((FOLDER / "package-lock.json").read_bytes()).hexdigest()
    if STAMP.is_file() and STAMP.read_text("utf-8") == wanted:
        return
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("The Inspector is installed by npm, which comes with Node; npm was not found on PATH.")
    # No package of the lock file needs its install script, so none of them runs.
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(command, cwd=FOLDER, check=True, stdin=subprocess.DEVNULL)
    STAMP.write_text(wanted, "utf-8")


def server_command(name: str) -> str:
    """Return the path of the console script ``name`` that is installed beside the running Python."""
    command = shutil.which(name, path=str(Path(sys.executable).parent))
    if command is None:
        sys.exit(f"The console script '{name}' is not installed in this environment.")
    return command


def member(value: object, *keys: str | int) -> object:
    """Return what stands under ``keys`` in a JSON value, or None where the path ends early."""
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
            value = value[key]
        else:
            return None
    return value


@dataclass(frozen=True)
class Answer:
    """What one call of the Inspector gave back."""

    exit_code: int
    printed: str
    log: str

    @property
    def json(self) -> object:
        """The JSON on stdout, or None where there is none."""
        try:
            return json.loads(self.printed)
        except ValueError:
            return None

    @property
    def result(self) -> object:
        """The structured result of the tool that was called."""
        return member(self.json, "structuredContent")

    @property
    def outcome(self) -> str:
        """The exit code, and the code of the tool's error where there is one: ``exit 5 TaskNotFound``."""
        code = member(self.result, "error", "code")
        return f"exit {self.exit_code} {code}" if code else f"exit {self.exit_code}"


class Inspector:
    """Calls one stdio server through the Inspector CLI in one era, a new process of the server for each call."""

    def __init__(self, server: Sequence[str], variables: Mapping[str, str], era: str = "legacy") -> None:
        self.server = server
        self.variables = variables
        self.era = era

    def run(self, *options: str) -> Answer:
        """Return what the Inspector answers to ``options``."""
        node = shutil.which("node", path=str(FOLDER / "node_modules" / ".bin"))
        if node is None:
            sys.exit("There is no pinned Node for this machine; see the optional dependencies in package.json.")
        settings = [part for name, value in self.variables.items() for part in ("-e", f"{name}={value}")]
        done = subprocess.run(
            [node, str(LAUNCHER), "--cli", *settings, "--protocol-era", self.era, *options, "--", *self.server],
            capture_output=True,
            check=False,
            encoding="utf-8",
            env=os.environ | {"MCP_INSPECTOR_SECRET_STORE": "memory"},
            stdin=subprocess.DEVNULL,
            timeout=CALL_SECONDS,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def call(self, tool: str, *arguments: str) -> Answer:
        """Return the answer of ``tool`` to ``name=value`` arguments, converted as the Inspector converts them."""
        given = [part for argument in arguments for part in ("--tool-arg", argument)]
        return self.run("--method", "tools/call", "--tool-name", tool, *given)

    def call_exactly(self, tool: str, arguments: Mapping[str, object]) -> Answer:
        """Return the answer of ``tool`` to ``arguments``, sent just as they are."""
        text = json.dumps(arguments, ensure_ascii=False)
        return self.run("--method", "tools/call", "--tool-name", tool, "--tool-args-json", text)


class Case(NamedTuple):
    """One row of the table."""

    name: str
    expected: str
    got: str
    verdict: str


def _columns(text: str) -> int:
    """Return how many columns of a terminal ``text`` takes."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


@dataclass
class Report:
    """The cases of one conformance run, printed as a table in the end."""

    title: str
    cases: list[Case] = field(default_factory=list)

    def case(self, name: str, expected: str, answer: Answer, **checks: bool) -> None:
        """Add a case: the outcome that is expected, the one that came, and what else must hold, each by its name."""
        wrong = [check.replace("_", " ") for check, holds in checks.items() if not holds]
        got = answer.outcome + "".join(f"; not so: {check}" for check in wrong)
        passed = not wrong and answer.outcome == expected
        self.cases.append(Case(name, expected, got, "pass" if passed else "FAIL"))
        print("." if passed else "F", end="", flush=True)
        if not passed:
            print(f"\n{name}\n{answer.printed}{answer.log}")

    def finish(self) -> int:
        """Print the table and the count of cases; return 1 when a case failed, else 0."""
        table = [Case("case", "expected", "got", ""), *self.cases]
        widths = [max(map(_columns, column)) for column in zip(*table, strict=True)]
        print("\n")
        for row in table:
            cells = (cell + " " * (width - _columns(cell)) for cell, width in zip(row, widths, strict=True))
            print("  ".join(cells).rstrip())
        failed = sum(case.verdict != "pass" for case in self.cases)
        print(f"\n{self.title}: {len(self.cases) - failed} passed, {failed} failed")
        return 1 if failed else 0
