"""Registers a server with mcp-client-install: its settings, its places, and the last lines of ``install``."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_data_path
from typing_extensions import override

from mcp_client_install.clients import Scope
from mcp_client_install.installer import run
from mcp_client_install.registration import BadSetting, Extras, Installed, Registration
from task_core.bootstrap import BadSettings, find_in_project
from task_core.cli.chosen_list import choose_list, describe_place, read_settings
from task_core.cli.client_entries import HOOK, find_own_entries
from task_core.cli.settings import ServerSettings, describe_settings, hide_passwords, load_settings
from task_core.errors import TaskError
from task_core.server.transports.greeting import GreetingFile
from task_core.store import Engine
from task_core.text import escape_invisible

if TYPE_CHECKING:
    from task_core.cli.program import Program

__all__ = ["ProgramRegistration", "run_install"]


def run_install(program: Program, arguments: Sequence[str]) -> int:
    """Carry out ``install`` or ``uninstall``, the first of the ``arguments``, and return the exit code.

    It raises ``BadSettings`` for a missing or bad setting, and exits with 2 for a bad option.
    """
    kept = _find_files(program) if arguments[0] == "uninstall" else []
    try:
        code = run(ProgramRegistration(program), arguments)
    except BadSetting as error:
        raise BadSettings(str(error)) from error
    sys.stdout.writelines(f"Your tasks stay in {escape_invisible(path)}.\n" for path in kept if code == 0)
    return code


def _find_files(program: Program) -> list[str]:
    """Return the files with tasks that the entries of clients name (PE-1)."""
    found: dict[str, None] = {}
    for entry in find_own_entries(program):
        with suppress(BadSettings, TaskError, OSError):  # such an entry has no tasks
            settings = load_settings(program.settings_type(), has_client=True, given=read_settings(entry.variables))
            if not settings.missing and Path(place := describe_place(settings).removeprefix("sqlite:")).is_file():
                found[place] = None
    return [*found]


class ProgramRegistration(Registration):
    """The registration of a program, whose settings type says most of it."""

    ignored = frozenset({"LOG_LEVEL"})

    def __init__(self, program: Program) -> None:
        self.command = program.name
        self.entry = program.entry
        self._program = program
        self._settings_type: type[ServerSettings] = program.settings_type()
        if "TASK_EXTRA_TOOLS" in self.settings():
            advice = "Begin every session with its tool `brief`."
            self.extras = Extras("Several agents or long projects?", {"TASK_EXTRA_TOOLS": "all"}, HOOK, advice)
        if any(path for _, path in self._settings_type.in_project):
            self.question = ("Where should tasks be kept?", "one list for each project", "one list for all projects")

    @override
    def settings(self) -> Mapping[str, str]:
        return {name: text for name, text, _ in describe_settings(self._settings_type)}

    @override
    def places(self, scope: Scope, project: Path, variables: Mapping[str, str]) -> Mapping[str, str]:
        names = () if variables.get("TASK_STORE") else self._settings_type.in_project
        if scope == "user":  # a server finds a project by itself, and may have a default of its own for a file
            folder, fields = user_data_path(self.command, appauthor=False), self._settings_type.model_fields
            return {name.upper(): str(folder / path) for name, path in names if path and fields[name].default is None}
        found = find_in_project(self._settings_type.searched)
        return {name.upper(): (path and found) or str(project / path) for name, path in names}

    @override
    def check(self, variables: Mapping[str, str]) -> None:
        given = {**read_settings(variables)}
        for name, text in self.places("user", Path(), variables).items():
            if variables.get(name) == text and not (path := Path(text)).parent.exists():
                given[name.lower()] = f"{path.anchor}{path.name}"  # install has yet to make its folder
        load_settings(self._settings_type, has_client=True, given=given)

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
    def commands(self) -> str:
        if self._program.actions is None:
            return ""
        from task_core.cli.write_commands import describe_commands  # noqa: PLC0415 - most installs do not need it

        return describe_commands(self.command, self._program.actions())

    @override
    def finish(self, installed: Installed) -> Iterator[str]:
        given = read_settings(installed.variables)
        settings = load_settings(self._settings_type, has_client=True, given=given)
        GreetingFile(self._program.greeting, installed.variables).accept()  # a client may not wait for its first start
        if settings.missing:
            return
        if _place(settings) != f"{Engine.MEMORY}:":
            yield f"See the tasks: {escape_invisible(self._list_command(installed, settings))}"

    def _list_command(self, installed: Installed, settings: ServerSettings) -> str:
        """Return the command that shows the tasks, with the settings that name them if it would not find them here."""
        try:
            is_found = _place(choose_list(self._program).settings) == _place(settings)
        except BadSettings:  # clients have different lists
            is_found = False
        store = getattr(self._settings_type, "store_variable", "")
        names = [name.upper() for name in dict.fromkeys([*dict(self._settings_type.in_project), store, "task_store"])]
        given = {name: value for name in names if (value := installed.variables.get(name)) and not is_found}
        words = [f"{name}={shlex.quote(value)}" for name, value in given.items()]
        words += [self.command if shutil.which(self.command) else shlex.quote(installed.program), "list"]
        return " ".join(words)


def _place(settings: ServerSettings) -> str:
    try:
        return describe_place(settings)
    except TaskError:  # there is no project yet
        return ""
