"""Runs ``install`` and ``uninstall``: adds a server to the files of clients, and removes it again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from functools import partial
from io import TextIOWrapper
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_client_install.clients import CLIENTS, Client, Scope, UserFolders, words_of
from mcp_client_install.console import Console, InstallFailed, Plan
from mcp_client_install.edits.documents import GUIDES, read_entry
from mcp_client_install.files import open_text
from mcp_client_install.options import make_parser, suggest
from mcp_client_install.plans import Addition, plan_guide, plan_install, plan_uninstall
from mcp_client_install.registration import BadSetting, Extras, Installed, Registration
from mcp_client_install.text import BadConfiguration, escape_invisible

if TYPE_CHECKING:
    import argparse

__all__ = ["REPOSITORIES", "Installer", "find_folders", "report_failure", "run"]

_Chosen = Mapping[Path, Sequence[Client]]
"""The files for entries, each with the clients that share it."""

REPOSITORIES: Final = (".git", ".hg", ".svn")
"""Names in the root of a repository."""


def run(registration: Registration, arguments: Sequence[str]) -> int:
    """Carry out ``install`` or ``uninstall``, the first of the ``arguments``, and return the exit code.

    Raises:
        BadSetting: a setting is unknown, or the registration refuses it.
        SystemExit: with 2 for a bad option.
    """
    action, *rest = arguments
    options = make_parser(registration, action).parse_args(rest)

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
    project = _find_repository(Path.cwd(), home) or Path.cwd()
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
        if self._options.commands:
            return int(bool(self._console.carry_out(self._plan_guide(self._registration.commands()))))
        given = self._read_given()
        named = {name: CLIENTS[name] for name in self._options.clients}
        clients = named or {name: it for name, it in CLIENTS.items() if it.is_installed(self._folders)}
        scope = self._choose_scope(clients, given)
        chosen = self._choose_files(clients, scope)
        extras = self._choose_extras(chosen, given)
        places, variables = self._choose_variables(chosen, scope, {**(extras.variables if extras else {}), **given})
        self._registration.check(variables)
        wanted = Installed(scope, self._registration.find_program(), variables)
        additions = self._choose_additions(clients, chosen, wanted, has_extras=extras is not None)
        if self._options.print:
            self._print({path: it for path, it in additions.items() if path in chosen or it.adds_hook})
            return 0
        project = self._find_root(scope)
        plans: dict[Path, Plan] = {path: partial(plan_install, path, it, project) for path, it in additions.items()}
        section, known = self._registration.section(self._server.name), self._registration.extras
        has_guide = bool(section) and self._options.agents_file is not None
        if has_guide:
            section += f" {known.advice}" if known and known.variables.items() <= variables.items() else ""
            plans |= self._plan_guide(section)
        refused = self._console.carry_out(plans)
        written = [path for path in additions if Path(os.path.realpath(path)) not in refused]
        installed = {path: its for path, its in chosen.items() if path in written}
        if installed and not self._options.dry_run:
            for path in (path for name, path in places.items() if variables.get(name) == path):
                Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            hooks = [path for path in written if additions[path].adds_hook and path not in installed]
            self._say_what_is_next(installed, hooks, wanted)
            if extras:
                self._say_what_hooks_need(clients, has_guide=has_guide)
            sys.stdout.writelines(f"{note}\n" for note in self._registration.finish(wanted))
        return int(bool(refused))

    def uninstall(self) -> int:
        """Remove the server from the clients that are named, or from all, and return the exit code."""
        options, folders = self._options, self._folders
        scopes: Sequence[Scope] = [options.scope] if options.scope else ["user", "project"]
        plans: dict[Path, Plan] = {}
        for client in (CLIENTS[name] for name in options.clients or CLIENTS):
            for scope in scopes:
                root = self._find_root(scope)
                for path, it in self._find_files(client, scope).items():
                    plans.setdefault(path, partial(plan_uninstall, it, path, self._server, root))
        has_section = self._registration.section(self._server.name)
        is_for_agents = has_section and (options.agents_file is not None or not options.clients)
        guides = [options.agents_file] if options.agents_file else GUIDES
        for path in (folders.project / name for name in guides if is_for_agents):
            plans[path] = partial(plan_guide, path, self._server, None, folders.project)
        return int(bool(self._console.carry_out(plans)))

    def _find_root(self, scope: Scope) -> Path | None:
        """Return the folder of the project if files of the ``scope`` are in it."""
        return self._folders.project if scope == "project" else None

    def _find_files(self, client: Client, scope: Scope, others: Container[str] | None = None) -> dict[Path, Client]:
        """Return the files of a client for entries and for its hook, with the hook only there.

        A client that runs the hooks of another one, among the ``others`` or installed, has none.
        """
        files = {path: client._replace(hook=None) for path in client.files(scope, self._folders)}
        hooks = client.hook_files(self._server.command) if self._server.hook else None
        is_other = others is not None and self._runs_hooks_of_another(client, others)
        return files | (dict.fromkeys(hooks.files(scope, self._folders), hooks) if hooks and not is_other else {})

    def _choose_additions(
        self, clients: Mapping[str, Client], chosen: Container[Path], wanted: Installed, *, has_extras: bool
    ) -> dict[Path, Addition]:
        additions: dict[Path, Addition] = {}
        for client in clients.values():
            for path, it in self._find_files(client, wanted.scope, others=clients).items():
                variables = wanted.variables if path in chosen else None
                addition = Addition(it, self._server, wanted.program, variables, has_extras and it.hook is not None)
                if path in chosen or it.hook:
                    additions.setdefault(path, addition)
        return additions

    def _runs_hooks_of_another(self, client: Client, others: Container[str]) -> bool:
        name = client.reads_hooks_of
        return bool(name) and (name in others or CLIENTS[name].is_installed(self._folders))

    def _choose_extras(self, chosen: _Chosen, given: Mapping[str, str]) -> Extras | None:
        """Return the server's extras if an option or the answer at a terminal asks for them; asked once."""
        options, extras = self._options, self._registration.extras
        if extras is None or options.agents:
            return extras
        is_silent = options.print or options.dry_run or not self._console.can_ask
        if is_silent or extras.variables.keys() & {*given, *self._read_variables(chosen)}:
            return None
        return extras if self._console.agrees(extras.question) else None

    def _choose_scope(self, clients: Mapping[str, Client], given: Mapping[str, str]) -> Scope:
        """Return the scope of the option, or else ask for it, unless an option or a setting answers the question."""
        options, question, folders = self._options, self._registration.question, self._folders
        is_silent = options.yes or options.print or options.dry_run or not clients
        places = self._registration.places("project", folders.project, given)
        if options.scope or not question or is_silent or not places or given.keys() & places:
            return options.scope or "user"
        if not self._console.can_ask:
            raise InstallFailed("there is no terminal to ask on: pass --yes, and --scope user or --scope project")
        default = 1 if _find_repository(folders.project, folders.home) else 2
        text, *answers = question
        lines = [f"Clients: {', '.join(client.title for client in clients.values())}.", text]
        lines += [f"  {number}) {it}{' [default]' * (number == default)}" for number, it in enumerate(answers, 1)]
        answer = self._console.ask("".join(f"{line}\n" for line in lines) + "1 or 2: ")
        while answer not in {"", "1", "2"}:
            answer = self._console.ask("Type 1 or 2: ")
        return "project" if (answer or str(default)) == "1" else "user"

    def _choose_files(self, clients: Mapping[str, Client], scope: Scope) -> dict[Path, list[Client]]:
        """Return the files of the clients, of which some share one."""
        chosen: dict[Path, list[Client]] = {}
        for name, client in clients.items():
            if path := client.file(scope, self._folders):
                chosen.setdefault(path, []).append(client)
                continue
            why = f"{client.title} has no configuration for one project"
            if self._options.clients and self._options.scope:
                raise InstallFailed(f"{why}: use --scope user")
            words = f"{self._server.command} install {name}" if self._server.words is None else f"--client {name}"
            sys.stderr.write(f"{why}. For all projects: {words} --scope user\n")
        if not chosen:
            raise InstallFailed(f"no client was found: name one of {', '.join(CLIENTS)}")
        return chosen

    def _read_given(self) -> Mapping[str, str]:
        """Return the settings from options, and else from the environment."""
        known = self._registration.settings()
        named = {name if known is None else name.upper(): value for name, value in self._options.set}
        for name in named.keys() - known.keys() if known is not None else ():
            raise BadSetting(f"There is no setting {name}; {suggest(name, known or ())}")
        taken = [name for name in known or () if name not in self._registration.ignored and os.environ.get(name)]
        return {**{name: os.environ[name] for name in taken}, **named}

    def _choose_variables(
        self, chosen: _Chosen, scope: Scope, given: Mapping[str, str]
    ) -> tuple[Mapping[str, str], dict[str, str]]:
        """Return the default places, and the settings to write: those ``given``, as before, or else the default."""
        former = self._read_variables(chosen)
        variables = {**former, **given}
        places = self._registration.places(scope, self._folders.project, variables)
        variables |= {name: former.get(name) or usual for name, usual in places.items() if name not in given}
        for name in self._registration.places("project", self._folders.project, given):
            path = os.path.expanduser(variables.get(name, ""))  # noqa: PTH111 - pathlib raises for an unknown user
            variables[name] = path and os.path.abspath(path)  # noqa: PTH100 - a link stays one
        return places, {name: value for name, value in variables.items() if value or name in former}

    def _read_variables(self, chosen: _Chosen) -> dict[str, str]:
        """Return the settings with which the server is installed in the first of the files that has it."""
        for path, (client, *_) in chosen.items():
            with suppress(OSError, BadConfiguration):  # reported when the change is planned
                entry = read_entry(open_text(path).data, client.suffix, [client.member, self._server.name])
                if self._server.is_started_by(entry):
                    return words_of(entry)[1]
        return {}

    def _plan_guide(self, section: str) -> dict[Path, Plan]:
        """Return the change of the file for agents, which gets the ``section``."""
        project = self._folders.project
        there = [name for name in GUIDES if (project / name).exists()] or GUIDES
        path = project / (self._options.agents_file or there[0])
        return {path: partial(plan_guide, path, self._server, section, project)}

    @staticmethod
    def _print(additions: Mapping[Path, Addition]) -> None:
        for path, addition in additions.items():
            if len(additions) > 1:
                sys.stdout.write(f"{addition.client.title}, {path}:\n")
            sys.stdout.write((addition.make(None) or b"").decode())

    def _say_what_hooks_need(self, clients: Mapping[str, Client], *, has_guide: bool) -> None:
        for client in clients.values():
            if self._runs_hooks_of_another(client, clients):
                other = CLIENTS[client.reads_hooks_of].title
                sys.stdout.write(f"{client.title}: it runs the hooks of {other}, so it has none of its own.\n")
            elif client.hook and client.hook.next_step:
                sys.stdout.write(f"{client.title}: {client.hook.next_step}.\n")
            elif not client.hook and not has_guide:
                how = "install --agents-file lets its agents begin with the server"
                sys.stdout.write(f"{client.title}: it runs nothing at the start of a session; {how}.\n")

    def _say_what_is_next(self, installed: _Chosen, hooks: Sequence[Path], wanted: Installed) -> None:
        is_user = wanted.scope == "user"
        for variable in self._registration.places("project", self._folders.project, {}) if is_user else ():
            if path := wanted.variables.get(variable):
                shown = f"{variable} is {escape_invisible(path)} in all your projects"
                sys.stdout.write(f"{shown}; with --scope project, this one has its own.\n")
        for client in (client for clients in installed.values() for client in clients):
            first = "" if is_user else client.project_step
            steps = f"{client.next_step}; {first}" if first else client.next_step
            sys.stdout.write(f"{client.title}: {steps}.\n")
        if not is_user:
            names = [str(path.relative_to(self._folders.project)) for path in [*installed, *hooks]]
            files = escape_invisible(", ".join(names))
            verb, it = ("has", "it") if len(names) == 1 else ("have", "them")
            sys.stdout.write(f"{files} {verb} paths of this machine: do not commit {it}.\n")


def _find_repository(folder: Path, home: Path) -> Path | None:
    """Return the root of the repository around a folder; a home folder is none."""
    inside = takewhile(lambda place: place != Path(os.path.realpath(home)), [folder, *folder.parents])
    return next((place for place in inside if any(os.path.lexists(place / mark) for mark in REPOSITORIES)), None)
