"""The command line of a server, and tests that are left out where a program that they need is not installed."""

from __future__ import annotations

import io
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from task_core.cli.main import run
from task_core.cli.program import Program
from tests.core.command_line import Command, Ended, Terminal, command_line
from tests.servers import ServerRecord

# Where only what is quick is tested, with the lowest versions, no browser is driven.
collect_ignore: list[str] = [] if find_spec("playwright") else ["test_app_view_browser.py"]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command of a server on its list in a folder."""

    def run_command(
        record: ServerRecord, *words: str, piped: str | io.StringIO | None = None, is_in_memory: bool = False
    ) -> Ended:
        with monkeypatch.context() as patch, command_line():
            for name, value in ({"TASK_STORE": "memory:"} if is_in_memory else record.environment(tmp_path)).items():
                patch.setenv(name, str(value))
            patch.setattr(sys, "stdin", io.StringIO(piped) if isinstance(piped, str) else piped or Terminal())
            with pytest.raises(SystemExit) as ended:
                run(Program.of(record.package), words)
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, *capsys.readouterr())

    return run_command
