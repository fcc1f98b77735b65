"""What ``doctor`` of a server reports in a folder that it must leave as it is."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from task_core.cli.doctor import run_doctor
from task_core.cli.program import Program
from task_core.cli.settings import describe_settings
from tests.core.command_line import command_line
from tests.untouched import untouched

__all__ = ["Report", "report"]


class Report(NamedTuple):
    """The exit code and the lines that were printed."""

    code: int
    lines: list[str]

    def of(self, subject: str, level: str) -> list[str]:
        """Return what was said of a subject at this level, without the cures."""
        head = f"  {level:<7}{subject:<13}"
        return [line.removeprefix(head) for line in self.lines if line.startswith(head)]

    @property
    def faults(self) -> list[str]:
        """What is wrong, each with its subject."""
        return [" ".join(line.split()[1:]) for line in self.lines if line.startswith("  WRONG")]


def report(package: str, folder: Path, environment: Mapping[str, str]) -> Report:
    """Return what ``doctor`` prints with these variables and no others; nothing in ``folder`` may change by it."""
    import_module(package)
    program = Program.of(package)
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, command_line(), untouched(folder), contextlib.redirect_stdout(output):
        for variable, _, _ in describe_settings(program.settings_type()):
            patch.delenv(variable, raising=False)
        for variable, value in environment.items():
            patch.setenv(variable, value)
        code = run_doctor(program, "1")
    return Report(code, output.getvalue().splitlines())
