"""Registers a server with mcp-client-install: its settings, its questions, and the last lines of ``install``."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from mcp_client_install.console import InstallFailed
from mcp_client_install.entries import ClientEntry, find_entries
from mcp_client_install.installer import find_folders, run
from mcp_client_install.plans import Server
from mcp_client_install.registration import BadSetting, Installed, Question, Registration
from task_core.bootstrap import BadSettings, find_in_project
from task_core.cli.settings import ServerSettings, describe_settings, hide_passwords, load_settings
from task_core.store import Engine, StoreSettings
from task_core.text import escape_invisible

if TYPE_CHECKING:
    from task_core.cli.program import Program

__all__ = ["OwnEntry", "ProgramRegistration", "find_own_entries", "run_install"]


OwnEntry = ClientEntry
"""An entry of a client that starts this server."""


def run_install(program: Program, arguments: Sequence[str]) -> int:
    """Carry out ``install`` or ``uninstall``, the first of the ``arguments``, and return the exit code.

    It raises ``BadSettings`` for a missing or bad setting, and exits with 2 for a bad option.
    """
    try:
        return run(ProgramRegistration(program), arguments)
    except BadSetting as error:
        raise BadSettings(str(error)) from error


def find_own_entries(program: Program) -> list[OwnEntry]:
    """Return the entries of clients that start ``program``, for this project first; none without a home folder."""
    try:
        return [*find_entries(Server(program.name, program.entry), find_folders())]
    except (InstallFailed, OSError):
        return []


class ProgramRegistration(Registration):
    """The registration of a program, whose settings type says most of it."""

    ignored = frozenset({"LOG_LEVEL"})

    def __init__(self, program: Program) -> None:
        self.command = program.name
        self.entry = program.entry
        self._program = program
        self._settings_type: type[ServerSettings] = program.settings_type()
        self._settings: ServerSettings | None = None

    @override
    def settings(self) -> Mapping[str, str]:
        return {name: text for name, text, _ in describe_settings(self._settings_type)}

    @override
    def questions(self, variables: Mapping[str, str], project: Path) -> Sequence[Question]:
        asked = () if variables.get("TASK_STORE") else self._settings_type.in_project
        found = find_in_project(self._settings_type.searched)
        return [Question(name.upper(), (path and found) or str(project / path)) for name, path in asked]

    @override
    def check(self, variables: Mapping[str, str]) -> None:
        given = {name.lower(): value for name, value in variables.items() if value}
        self._settings = load_settings(self._settings_type, has_client=True, given=given)

    @override
    def hide(self, line: str) -> str:
        return hide_passwords(line)

    @override
    def section(self, name: str) -> str:
        text = self._program.description()
        if (greeting := Path(self._program.greeting)).is_file():
            text = json.loads(greeting.read_text("utf-8"))["legacy"]["initialize"]["instructions"]
        return f"## Tasks\n\nUse the tools of the MCP server `{name}` for the tasks of this project. {text}"

    @override
    def notes(self, installed: Installed) -> Iterator[str]:
        store = getattr(self._settings_type, "store_variable", "").upper()
        is_shared = store and not self._settings_type.in_project
        if installed.scope == "project" and is_shared and not {store, "TASK_STORE"} & installed.variables.keys():
            yield f"All your projects share one list; --set {store}=… gives this one its own."
        settings = self._settings
        if settings is None or settings.missing:
            return
        if not (isinstance(settings, StoreSettings) and settings.address.engine is Engine.MEMORY):
            yield f"See the tasks: {escape_invisible(self._list_command(installed))}"

    def _list_command(self, installed: Installed) -> str:
        """Return the command that shows the tasks, with the settings that name them if it would not find them here."""
        asked = dict(self._settings_type.in_project)
        names = dict.fromkeys([*asked, getattr(self._settings_type, "store_variable", ""), "task_store"])
        given = {name: value for name in names if (value := installed.variables.get(name.upper()))}
        file, folder = find_in_project(self._settings_type.searched), str(Path.cwd())
        is_found = given == {name: file if path else folder for name, path in asked.items()}
        words = [f"{name.upper()}={shlex.quote(value)}" for name, value in given.items() if not is_found]
        words += [self.command if shutil.which(self.command) else shlex.quote(installed.program), "list"]
        return " ".join(words)
