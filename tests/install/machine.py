"""The home of a user who has clients, and a project in it, for the commands that install servers there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from task_core.cli.main import run
from task_core.cli.settings import describe_settings
from tests.core.command_line import Ended, command_line
from tests.servers import PROGRAMS, program_of

__all__ = ["COMMAND", "Machine", "snapshot"]

COMMAND: Final = str(Path(sys.executable).with_name("heartbeat-mcp"))
"""The command that is written into the files of clients."""

_VARIABLES: Final = (
    *("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "APPDATA"),
    *("VSCODE_APPDATA", "VSCODE_PORTABLE"),
)


class Machine:
    """A user with an empty home and a project, in which commands run within this process."""

    def __init__(self, folder: Path, captured: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.home = folder / "home"
        self.project = self.home / "project"
        self.data = folder / "data"
        (self.project / ".git").mkdir(parents=True)
        (folder / "bin").mkdir()
        ours = {name for record in PROGRAMS for name, _, _ in describe_settings(record.settings_type)}
        for name in {*ours, *_VARIABLES}:
            patch.delenv(name, raising=False)
        patch.setenv("HOME", str(self.home))
        patch.setenv("XDG_DATA_HOME", str(self.data))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("PATH", str(folder / "bin"))
        patch.chdir(self.project)
        self._captured = captured
        self._patch = patch

    def has(self, *clients: str) -> None:
        """Let clients be installed: the command and the folder of each are there."""
        for client in clients:
            (self.home / f".{client}").mkdir()
            (self.home.parent / "bin" / client).touch(0o755)

    def __call__(self, *words: str, server: str = "heartbeat", answers: str | None = None) -> Ended:
        """Run a command of a server; with ``answers`` its input is a terminal on which they are typed, then Ctrl+D."""
        with self._input(answers) as stdin, command_line():
            self._patch.setattr(sys, "stdin", stdin)
            with pytest.raises(SystemExit) as caught:
                run(program_of(server).program(), words)
        return Ended(int(caught.value.code or 0), *self._captured.readouterr())

    @staticmethod
    @contextmanager
    def _input(answers: str | None) -> Iterator[object]:
        if answers is None:
            with open(os.devnull, encoding="utf-8") as nothing:
                yield nothing
            return
        ours, theirs = os.openpty()
        os.write(ours, f"{answers}\x04".encode())
        with open(theirs, encoding="utf-8") as terminal, open(ours, "rb"):
            yield terminal


def snapshot(folder: Path) -> Mapping[str, bytes | None]:
    """Return what is in every file below a folder, by its path; the content of a folder or a link is None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in folder.rglob("*")
    }
