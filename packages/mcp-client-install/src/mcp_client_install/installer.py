"""Runs ``install`` and ``uninstall``: adds a server to the files of clients, and removes it again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from io import TextIOWrapper
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_client_install.clients import CLIENTS, Client, Scope, UserFolders, words_of
from mcp_client_install.console import Console, InstallFailed, Plan
from mcp_client_install.edits.documents import GUIDES, add_entry, read_entry
from mcp_client_install.files import open_text
from mcp_client_install.options import make_parser, suggest
from mcp_client_install.plans import plan_guide, plan_install, plan_uninstall
from mcp_client_install.registration import BadSetting, Installed, Registration
from mcp_client_install.text import BadConfiguration, escape_invisible

if TYPE_CHECKING:
    import argparse

__all__ = ["REPOSITORIES", "Installer", "find_folders", "report_failure", "run"]

REPOSITORIES: Final = (".git", ".hg", ".svn")
"""Names in the root of a repository."""


def run(registration: Registration, arguments: Sequence[str]) -> int:
    """Carry out ``install`` or ``uninstall``, the first of the ``arguments``, and return the exit code.

    Raises:
        BadSetting: a setting is unknown, or the registration refuses it.
        SystemExit: with 2 for a bad option.
    """
    action, *rest = arguments
    options = make_parser(registration.command, registration.entry, action).parse_args(rest)

    def carry_out() -> int:
        installer = Installer(registration, options)
        return installer.install() if action == "install" else installer.uninstall()

    return report_failure(f"{registration.command} {action}", carry_out)


def report_failure(command: str, carry_out: Callable[[], int]) -> int:
    """Carry out a command, whose name is ``command``, and return its exit code; a failure is one line on stderr."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = carry_out()
        sys.stdout.flush()
    except (InstallFailed, OSError, KeyboardInterrupt) as error:
        sys.stderr.write(f"{command}: {str(error) or 'interrupted'}\n")
        code = 1
    try:
        sys.stdout.flush()
    except OSError:  # the reader is gone or the disk is full
        # What was not written is discarded: the interpreter must not fail over it at exit.
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return code


def find_folders() -> UserFolders:
    """Return the folders of the user and of the current project, or raise ``InstallFailed`` or ``OSError``."""
    try:
        home = Path.home()
    except RuntimeError as error:
        raise InstallFailed("your home folder is not known: set HOME") from error
    project = _find_project(Path.cwd(), Path(os.path.realpath(home)))
    return UserFolders(os.environ, home, project, sys.platform)


class Installer:
    """One run of a command for one server, with the options of the user."""

    def __init__(self, registration: Registration, options: argparse.Namespace) -> None:
        self._registration = registration
        self._options = options
        self._folders = find_folders()
        self._server = registration.server(options.name)
        self._console = Console(options, registration.hide)

    def install(self) -> int:
        """Add the server to the clients that are named or found, and return the exit code."""
        chosen = self._choose_files()
        variables = self._choose_variables(chosen)
        self._registration.check(variables)
        program = self._registration.find_program()
        if self._options.print:
            self._print(chosen, program, variables)
            return 0
        project = self._find_root(self._options.scope)
        plans: dict[Path, Plan] = {
            path: partial(plan_install, clients[0], path, self._server, program, variables, project)
            for path, clients in chosen.items()
        }
        if guide := self._choose_guide():
            section = self._registration.section(self._server.name)
            plans[guide] = partial(plan_guide, guide, self._server, section, self._folders.project)
        refused = self._console.carry_out(plans)
        installed = {path: clients for path, clients in chosen.items() if Path(os.path.realpath(path)) not in refused}
        if installed and not self._options.dry_run:
            self._say_what_is_next(installed, variables)
            notes = self._registration.notes(Installed(self._options.scope, program, variables))
            sys.stdout.writelines(f"{note}\n" for note in notes)
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
        has_section = bool(self._registration.section(self._server.name))
        is_for_agents = has_section and (options.agents_file is not None or not options.clients)
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
        known = self._registration.settings()
        named = {name if known is None else name.upper(): value for name, value in self._options.set}
        for name in named.keys() - known.keys() if known is not None else ():
            raise BadSetting(f"There is no setting {name}; {suggest(name, known or ())}")
        taken = (known or {}).keys() - self._registration.ignored
        around = {name: os.environ[name] for name in known or () if name in taken and os.environ.get(name)}
        former = self._read_variables(chosen)
        variables = {**former, **around, **named}
        for variable, usual in self._registration.questions(variables, self._folders.project):
            if variable not in {**around, **named}:
                default = former.get(variable) or usual
                variables[variable] = self._ask_for(variable, (known or {}).get(variable, ""), default)
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
        has_section = bool(self._registration.section(self._server.name))
        if not has_section or (chosen is None and (not self._console.can_ask or self._options.dry_run)):
            return None
        return path if chosen is not None or self._console.agrees(f"Describe this server in {path}?") else None

    def _print(self, chosen: Mapping[Path, Sequence[Client]], program: str, variables: Mapping[str, str]) -> None:
        words = [program, *self._server.arguments_in(None)]
        for path, (client, *_) in chosen.items():
            if len(chosen) > 1:
                sys.stdout.write(f"{client.title}, {path}:\n")
            where, entry = [client.member, self._server.name], client.entry(words, variables)
            sys.stdout.write(add_entry(None, client.suffix, where, entry).decode())

    def _say_what_is_next(self, installed: Mapping[Path, Sequence[Client]], variables: Mapping[str, str]) -> None:
        is_user = self._options.scope == "user"
        for variable, _ in self._registration.questions({}, self._folders.project) if is_user else ():
            if path := variables.get(variable):
                shown = f"{variable} is {escape_invisible(path)} in all your projects"
                sys.stdout.write(f"{shown}; with --scope project, this one has its own.\n")
        for client in (client for clients in installed.values() for client in clients):
            first = "" if is_user else client.project_step
            steps = f"{client.next_step}; {first}" if first else client.next_step
            sys.stdout.write(f"{client.title}: {steps}.\n")
        if not is_user:
            files = escape_invisible(", ".join(str(path.relative_to(self._folders.project)) for path in installed))
            verb, it = ("has", "it") if len(installed) == 1 else ("have", "them")
            sys.stdout.write(f"{files} {verb} paths of this machine: do not commit {it}.\n")


def _find_project(folder: Path, home: Path) -> Path:
    """Return the repository around a folder, or that itself; the home folder is none."""
    inside = takewhile(lambda place: place != home, [folder, *folder.parents])
    return next((place for place in inside if any(os.path.lexists(place / mark) for mark in REPOSITORIES)), folder)
