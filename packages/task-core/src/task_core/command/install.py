"""The commands ``install`` and ``uninstall``: they add the server to the files of clients, and remove it again."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from task_core.command.settings import describe_settings, hide_passwords, load_settings
from task_core.command.view.plain import discard_output, tolerate_characters
from task_core.early import REPOSITORIES, BadSettings, find_in_project
from task_core.install.changes import Server, plan_guide, plan_install, plan_uninstall
from task_core.install.clients import CLIENTS, Client, Scope, UserFolders, words_of
from task_core.install.console import Console, InstallFailed, Plan
from task_core.install.documents import add_entry, read_entry
from task_core.install.files import open_text
from task_core.install.guide import GUIDES
from task_core.install.lines import BadConfiguration
from task_core.install.options import make_parser, suggest
from task_core.store import Engine, StoreSettings
from task_core.text import escape_invisible

if TYPE_CHECKING:
    import argparse

    from task_core.command.program import Program

__all__ = ["run_install"]


def run_install(program: Program[Any], arguments: Sequence[str]) -> int:
    """Carry out ``install`` or ``uninstall``, the first of the ``arguments``, and return the exit code.

    Raises:
        BadSettings: a setting is missing or bad.
        SystemExit: with 2 for a bad option.
    """
    action, *rest = arguments
    options = make_parser(program.name, program.entry, action).parse_args(rest)
    tolerate_characters(sys.stdout)
    try:
        setup = _Setup(program, options)
        code = setup.install() if action == "install" else setup.uninstall()
        sys.stdout.flush()
    except (InstallFailed, OSError, KeyboardInterrupt) as error:
        sys.stderr.write(f"{program.name} {action}: {str(error) or 'interrupted'}\n")
        code = 1
    try:
        sys.stdout.flush()
    except OSError:  # the reader is gone or the disk is full
        discard_output(sys.stdout)
    return code


class _Setup:
    """One run of a command: its folders, and the answers of the user."""

    def __init__(self, program: Program[Any], options: argparse.Namespace) -> None:
        self._program = program
        self._options = options
        try:
            home = Path.home()
        except RuntimeError as error:
            raise InstallFailed("your home folder is not known: set HOME") from error
        project = _find_project(Path.cwd(), Path(os.path.realpath(home)))
        self._folders = UserFolders.of(os.environ, home, project, sys.platform)
        self._server = Server(program.name, options.name)
        can_ask = not options.yes and sys.stdin is not None and sys.stdin.isatty()  # None: it is closed
        self._console = Console(can_ask, options.yes, options.dry_run, hide_passwords)

    def install(self) -> int:
        """Add the server to the clients that are named or found, and return the exit code."""
        chosen = self._choose_files()
        variables = self._choose_variables(chosen)
        given = {name.lower(): value for name, value in variables.items() if value}
        settings = load_settings(self._program.settings_type(), has_client=True, given=given)
        command = _find_command(self._program.name)
        if self._options.print:
            self._print(chosen, command, variables)
            return 0
        project = self._find_root(self._options.scope)
        plans: dict[Path, Plan] = {
            path: partial(plan_install, clients[0], path, self._server, command, variables, project)
            for path, clients in chosen.items()
        }
        if guide := self._choose_guide():
            plans[guide] = partial(plan_guide, guide, self._server, self._section(), self._folders.project)
        refused = self._console.carry_out(plans)
        installed = {path: clients for path, clients in chosen.items() if Path(os.path.realpath(path)) not in refused}
        if installed and not self._options.dry_run:
            self._say_what_is_next(installed, variables)
            is_somewhere = not settings.missing
            if isinstance(settings, StoreSettings) and is_somewhere:
                is_somewhere = settings.address.engine is not Engine.MEMORY
            if is_somewhere:
                self._say_how_to_list(command, variables)
        return int(bool(refused))

    def uninstall(self) -> int:
        """Remove the server from the clients that are named, or from all, and return the exit code."""
        options, folders = self._options, self._folders
        scopes: Sequence[Scope] = [options.scope] if options.scope else ["user", "project"]
        plans: dict[Path, Plan] = {}
        for client in (CLIENTS[name] for name in options.clients or CLIENTS):
            for scope in scopes:
                root = self._find_root(scope)
                for path in client.files(scope, folders):
                    plans.setdefault(path, partial(plan_uninstall, client, path, self._server, root))
        is_for_agents = options.agents_file is not None or not options.clients
        guides = [options.agents_file] if options.agents_file else GUIDES
        for path in (folders.project / name for name in guides if is_for_agents):
            plans[path] = partial(plan_guide, path, self._server, None, folders.project)
        return int(bool(self._console.carry_out(plans)))

    def _find_root(self, scope: Scope) -> Path | None:
        """Return the folder of the project if files of the ``scope`` are in it."""
        return self._folders.project if scope == "project" else None

    def _choose_files(self) -> dict[Path, list[Client]]:
        """Return the files of the clients that are named, or else are installed; some share one."""
        named = [CLIENTS[name] for name in dict.fromkeys(self._options.clients)]
        clients = named or [client for client in CLIENTS.values() if client.is_installed(self._folders)]
        chosen: dict[Path, list[Client]] = {}
        for client in clients:
            path = client.file(self._options.scope, self._folders)
            if path:
                chosen.setdefault(path, []).append(client)
            elif named:
                raise InstallFailed(f"{client.title} has no configuration for one project: use --scope user")
        if not chosen:
            raise InstallFailed(f"no client was found: name one of {', '.join(CLIENTS)}")
        return chosen

    def _choose_variables(self, chosen: Mapping[Path, Sequence[Client]]) -> dict[str, str]:
        """Return the settings to write: from an option, from the environment, as before, or else asked for."""
        settings_type = self._program.settings_type()
        known = {name: text for name, text, _ in describe_settings(settings_type)}
        named: dict[str, str] = dict(self._options.set)
        for name in named.keys() - known.keys():
            raise BadSettings(f"There is no setting {name}; {suggest(name, known)}")
        around = {name: os.environ[name] for name in known if name != "LOG_LEVEL" and os.environ.get(name)}
        former = self._read_variables(chosen)
        variables = {**former, **around, **named}
        usual = () if variables.get("TASK_STORE") else settings_type.in_project
        for name, path in usual:
            variable = name.upper()
            if variable not in {**around, **named}:
                default = former.get(variable) or (path and find_in_project(settings_type.searched))
                default = default or str(self._folders.project / path)
                variables[variable] = self._ask_for(variable, known[variable], default)
            if variables[variable]:
                given = os.path.expanduser(variables[variable])  # noqa: PTH111 - pathlib raises for an unknown user
                variables[variable] = os.path.abspath(given)  # noqa: PTH100 - a link stays one
        return {name: value for name, value in variables.items() if value or name in former}

    def _read_variables(self, chosen: Mapping[Path, Sequence[Client]]) -> dict[str, str]:
        """Return the settings with which the server is installed in the first of the files that has it."""
        for path, (client, *_) in chosen.items():
            with suppress(OSError, BadConfiguration):  # reported when the change is planned
                entry = read_entry(open_text(path).data, client.suffix, [client.member, self._server.name])
                if self._server.is_started_by(entry):
                    return words_of(entry)[1]
        return {}

    def _ask_for(self, variable: str, description: str, default: str) -> str:
        options = self._options
        if options.yes or options.print or options.dry_run:
            return default
        if not self._console.can_ask:
            raise InstallFailed(f"{variable} is needed: pass --set {variable}=…, or --yes to take {default}")
        choice = f"Enter for {escape_invisible(default)}, or - to leave it unset"
        meaning, _, _ = description.partition("; default: ")  # that of the server is not the one offered here
        answer = self._console.ask(f"{variable}: {meaning.removesuffix('.')}.\n{choice}: ")
        return "" if answer == "-" else answer or default

    def _choose_guide(self) -> Path | None:
        """Return the file for agents that gets a section, if one is wanted."""
        chosen, project = self._options.agents_file, self._folders.project
        there = [name for name in GUIDES if (project / name).exists()] or GUIDES
        path = project / (chosen or there[0])
        if chosen is None and (not self._console.can_ask or self._options.dry_run):
            return None
        return path if chosen is not None or self._console.agrees(f"Describe this server in {path}?") else None

    def _section(self) -> str:
        """Return what a file for agents says about this server."""
        text = self._program.description()
        for greeting in self._program.greetings[:1]:
            text = json.loads(Path(greeting).read_text("utf-8"))["legacy"]["initialize"]["instructions"]
        name = self._server.name
        return f"## Tasks\n\nUse the tools of the MCP server `{name}` for the tasks of this project. {text}"

    def _print(self, chosen: Mapping[Path, Sequence[Client]], command: str, variables: Mapping[str, str]) -> None:
        for path, (client, *_) in chosen.items():
            if len(chosen) > 1:
                sys.stdout.write(f"{client.title}, {path}:\n")
            where, entry = [client.member, self._server.name], client.entry([command], variables)
            sys.stdout.write(add_entry(None, client.suffix, where, entry).decode())

    def _say_what_is_next(self, installed: Mapping[Path, Sequence[Client]], variables: Mapping[str, str]) -> None:
        is_user = self._options.scope == "user"
        for name, _ in self._program.settings_type().in_project if is_user else ():
            if path := variables.get(name.upper()):
                shown = f"{name.upper()} is {escape_invisible(path)} in all your projects"
                sys.stdout.write(f"{shown}; with --scope project, this one has its own.\n")
        for client in (client for clients in installed.values() for client in clients):
            first = "" if is_user else client.project_step
            steps = f"{client.next_step}; {first}" if first else client.next_step
            sys.stdout.write(f"{client.title}: {steps}.\n")
        if not is_user:
            files = escape_invisible(", ".join(str(path.relative_to(self._folders.project)) for path in installed))
            verb, it = ("has", "it") if len(installed) == 1 else ("have", "them")
            sys.stdout.write(f"{files} {verb} paths of this machine: do not commit {it}.\n")
            settings_type = self._program.settings_type()
            store = getattr(settings_type, "store_variable", "").upper()
            if store and not settings_type.in_project and not {store, "TASK_STORE"} & variables.keys():
                sys.stdout.write(f"All your projects share one list; --set {store}=… gives this one its own.\n")

    def _say_how_to_list(self, command: str, variables: Mapping[str, str]) -> None:
        """Say how to see the tasks: with the settings that name them, if they are not found from the current folder."""
        settings_type, program = self._program.settings_type(), self._program.name
        asked = dict(settings_type.in_project)
        names = dict.fromkeys([*asked, getattr(settings_type, "store_variable", ""), "task_store"])
        given = {name: value for name in names if (value := variables.get(name.upper()))}
        file, folder = find_in_project(settings_type.searched), str(Path.cwd())
        is_found = given == {name: file if path else folder for name, path in asked.items()}
        words = [f"{name.upper()}={shlex.quote(value)}" for name, value in given.items() if not is_found]
        words += [program if shutil.which(program) else shlex.quote(command), "list"]
        sys.stdout.write(f"See the tasks: {escape_invisible(' '.join(words))}\n")


def _find_project(folder: Path, home: Path) -> Path:
    """Return the repository around a folder, or that itself; the home folder is none."""
    inside = takewhile(lambda place: place != home, [folder, *folder.parents])
    return next((place for place in inside if any(os.path.lexists(place / mark) for mark in REPOSITORIES)), folder)


def _find_command(name: str) -> str:
    """Return the path of the installed command: clients do not know the ``PATH`` of a shell."""
    beside = Path(sys.executable).with_name(name)
    places = [Path(sys.argv[0]).absolute(), beside, Path(shutil.which(name) or beside).absolute()]
    for path in (file for place in places for file in (place, place.with_name(f"{place.name}.exe"))):
        if path.name.removesuffix(".exe") == name and path.is_file() and os.access(path, os.X_OK):
            return str(path)
    raise InstallFailed(f"{name} is not installed as a command: install it first, as its README describes")
