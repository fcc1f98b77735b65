"""The interface by which a server registers its names, settings, places and texts."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from mcp_client_install.clients import Scope
from mcp_client_install.console import InstallFailed
from mcp_client_install.plans import Server

__all__ = ["BadSetting", "Extras", "Installed", "Registration"]


class BadSetting(ValueError):
    """A setting is unknown or bad; the message names it and says what to do."""


class Installed(NamedTuple):
    """A finished installation."""

    scope: Scope
    program: str
    """The absolute path of the program that the clients start."""
    variables: Mapping[str, str]
    """The settings in the entries."""


class Extras(NamedTuple):
    """The part of a server that only some users want, and that costs the others something."""

    question: str
    """The question whether the user wants it."""
    variables: Mapping[str, str]
    """The settings that switch it on."""
    hook: Sequence[str]
    """The arguments with which clients run the server's command at the start of a session, before the client's name.

    What it prints is for the model."""
    advice: str
    """A sentence in AGENTS.md, for clients that run nothing then."""


class Registration:
    """One server as ``install`` and ``uninstall`` know it; a subclass overrides what the server has."""

    command: str
    """The console script that starts the server."""

    entry: str
    """The usual name of its entry in the configuration of a client."""

    question: tuple[str, str, str] | None = None
    """The question for the user that decides the scope, with the answers for one project and for all; None: for all."""

    extras: Extras | None = None
    """The part that ``install --agents`` adds, if there is one."""

    ignored: frozenset[str] = frozenset()
    """Settings that are not taken from the environment of the command."""

    def settings(self) -> Mapping[str, str] | None:
        """Return the description of each setting by its variable; None allows any variable."""
        return {}

    def places(self, scope: Scope, project: Path, variables: Mapping[str, str]) -> Mapping[str, str]:
        """Return the settings that are paths, with their defaults, given the project and the settings that are known.

        Those for ``project`` include the names of those for ``user``. ``install`` makes the folder of each default.
        """
        del scope, project, variables
        return {}

    def check(self, variables: Mapping[str, str]) -> None:
        """Raise ``BadSetting`` if the server would refuse these settings; folders of ``places`` need not exist yet."""

    def hide(self, line: str) -> str:
        """Return a line of a change without the secrets in it."""
        return line

    def section(self, name: str) -> str:
        """Return the section about the server, whose entry has the ``name``, for AGENTS.md; empty: none is offered."""
        return f"## {name}\n\nUse the tools of the MCP server `{name}`."

    def commands(self) -> str:
        """Return the section for agents without MCP, about the server's commands; empty: there are none for them."""
        return ""

    def finish(self, installed: Installed) -> Iterable[str]:
        """Do what is left once the entries are written, and return lines for the user to read."""
        del installed
        return ()

    def server(self, name: str) -> Server:
        """Return the server whose entry has the ``name``."""
        return Server(self.command, name, hook=self.extras.hook if self.extras else ())

    def find_program(self) -> str:
        """Return the path of the program that starts the server: clients do not know the ``PATH`` of a shell.

        It raises ``InstallFailed`` if there is none.
        """
        name = self.command
        beside = Path(sys.executable).with_name(name)
        places = [Path(sys.argv[0]).absolute(), beside, Path(shutil.which(name) or beside).absolute()]
        for path in (file for place in places for file in (place, place.with_name(f"{place.name}.exe"))):
            if path.name.removesuffix(".exe") == name and path.is_file() and os.access(path, os.X_OK):
                return str(path)
        raise InstallFailed(f"{name} is not installed as a command: install it first, as its README describes")
