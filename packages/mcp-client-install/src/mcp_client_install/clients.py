"""The clients that a server is installed in: their files, the form of an entry, and the next step for the user."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

__all__ = ["CLIENTS", "Client", "Scope", "UserFolders", "program_of", "words_of"]

Scope = Literal["user", "project"]
"""The projects that a server is for: all projects of the user, or one project, for this user alone."""


class UserFolders(NamedTuple):
    """The folders in which clients keep their files."""

    home: Path
    project: Path
    config: Path
    """The folder in which this system keeps the settings of programs."""
    xdg: Path
    claude: Path
    codex: Path
    copilot: Path
    path: str | None = None
    """The folders of programs, in the form of ``PATH``."""

    @classmethod
    def of(cls, environment: Mapping[str, str], home: Path, project: Path, platform: str) -> UserFolders:
        """Return the folders of a user, whose ``platform`` is as ``sys.platform`` says."""

        def given(variable: str, otherwise: Path) -> Path:
            return Path(environment.get(variable) or otherwise)

        xdg = given("XDG_CONFIG_HOME", home / ".config")
        config = {
            "darwin": home / "Library" / "Application Support",
            "win32": given("APPDATA", home / "AppData" / "Roaming"),
        }.get(platform, xdg)
        claude, codex = given("CLAUDE_CONFIG_DIR", home), given("CODEX_HOME", home / ".codex")
        copilot = given("COPILOT_HOME", home / ".copilot")
        return cls(home, project, config, xdg, claude, codex, copilot, environment.get("PATH"))


class Client(NamedTuple):
    """A client, whose paths begin with the name of a field of ``UserFolders`` in braces."""

    title: str
    user: Sequence[str]
    """The files that may name its servers for all projects: the first that exists counts, else the first."""
    project: Sequence[str]
    """The same files for one project, if the client has any."""
    detection_paths: Sequence[str]
    """Files and folders; one of them exists, and is not empty, if the client is installed."""
    next_step: str
    """The next step for the user."""
    program: str = ""
    """Its command, if it has one."""
    member: str = "mcpServers"
    """The object that has an entry for each server."""
    transport: str = ""
    """The transport that an entry names, if any."""
    has_command_list: bool = False
    """True if the command and its arguments are one list, and the variables are called ``environment``."""
    project_step: str = ""
    """A further step if the server is for one project."""

    @property
    def suffix(self) -> str:
        """The suffix of its file, which tells the language."""
        return Path(self.user[0]).suffix

    def is_installed(self, folders: UserFolders) -> bool:
        """Return whether the user seems to have the client."""
        is_there = any(_is_used(_fill(path, folders)) for path in self.detection_paths)
        return is_there or bool(self.program and shutil.which(self.program, path=folders.path))

    def file(self, scope: Scope, folders: UserFolders) -> Path | None:
        """Return the file that names its servers, or None if it has none for the ``scope``."""
        paths = self.files(scope, folders)
        return next((path for path in paths if os.path.lexists(path)), next(iter(paths), None))

    def files(self, scope: Scope, folders: UserFolders) -> list[Path]:
        """Return all files that may name its servers."""
        return [_fill(path, folders) for path in (self.user if scope == "user" else self.project)]

    def entry(self, command: Sequence[str], variables: Mapping[str, str]) -> dict[str, Any]:
        """Return the entry that starts ``command`` with these ``variables``."""
        transport = {"type": self.transport} if self.transport else {}
        if self.has_command_list:
            return {**transport, "command": [*command], "environment": {**variables}}
        return {**transport, "command": command[0], "args": [*command[1:]], "env": {**variables}}


def words_of(entry: object) -> tuple[list[str], dict[str, str]]:
    """Return the words of the command in an entry of any client, and its variables."""
    fields = entry if isinstance(entry, dict) else {}
    found = [*_list(fields.get("command")), *_list(fields.get("args"))]
    variables = fields.get("env", fields.get("environment"))
    named = variables.items() if isinstance(variables, dict) else ()
    return [str(word) for word in found], {name: value for name, value in named if isinstance(value, str)}


def program_of(word: str) -> str:
    """Return the program that a word of a command names, without its folder and version."""
    return re.split(r"@|==|\[", re.split(r"[\\/]", word)[-1])[0].removesuffix(".exe").replace("_", "-")


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [value] if value else []


def _is_used(path: Path) -> bool:
    """Return whether there is a file, or a folder with something in it: an empty one may be all that is left."""
    try:
        return any(path.iterdir())
    except OSError:  # not a folder, or one that may not be read
        return os.path.lexists(path)


def _fill(path: str, folders: UserFolders) -> Path:
    base, _, rest = path.partition("/")
    folder: Path = getattr(folders, base.strip("{}"))
    return folder / rest


CLIENTS: Final[Mapping[str, Client]] = {
    "claude-code": Client(
        "Claude Code",
        user=["{claude}/.claude.json"],
        project=["{project}/.mcp.json"],
        detection_paths=["{claude}/.claude.json", "{home}/.claude"],
        program="claude",
        transport="stdio",
        next_step="start claude; /mcp shows whether it is connected",
        project_step="approve the server when claude asks",
    ),
    "claude-desktop": Client(
        "Claude Desktop",
        user=["{config}/Claude/claude_desktop_config.json"],
        project=[],
        detection_paths=["{config}/Claude"],
        next_step="quit Claude Desktop and open it again",
    ),
    "cursor": Client(
        "Cursor",
        user=["{home}/.cursor/mcp.json"],
        project=["{project}/.cursor/mcp.json"],
        detection_paths=["{home}/.cursor"],
        program="cursor",
        transport="stdio",
        next_step="open Cursor Settings, Tools & MCP, and switch the server on",
    ),
    "vscode": Client(
        "VS Code",
        user=["{config}/Code/User/mcp.json"],
        project=["{project}/.vscode/mcp.json"],
        detection_paths=["{config}/Code"],
        program="code",
        member="servers",
        transport="stdio",
        next_step='run "MCP: List Servers" from the Command Palette, and start the server',
    ),
    "codex": Client(
        "Codex",
        user=["{codex}/config.toml"],
        project=["{project}/.codex/config.toml"],
        detection_paths=["{codex}"],
        program="codex",
        member="mcp_servers",
        next_step="start codex; /mcp shows the server",
        project_step="trust the project when codex asks",
    ),
    "gemini-cli": Client(
        "Gemini CLI",
        user=["{home}/.gemini/settings.json"],
        project=["{project}/.gemini/settings.json"],
        detection_paths=["{home}/.gemini"],
        program="gemini",
        next_step="start gemini in a folder that you trust; /mcp shows the server",
    ),
    "opencode": Client(
        "OpenCode",
        user=["{xdg}/opencode/opencode.json", "{xdg}/opencode/opencode.jsonc"],
        project=["{project}/opencode.json", "{project}/opencode.jsonc"],
        detection_paths=["{xdg}/opencode"],
        program="opencode",
        member="mcp",
        transport="local",
        has_command_list=True,
        next_step="start opencode; opencode mcp list shows the server",
    ),
    "copilot-cli": Client(
        "Copilot CLI",
        user=["{copilot}/mcp-config.json"],
        project=["{project}/.mcp.json"],
        detection_paths=["{copilot}"],
        program="copilot",
        transport="stdio",
        next_step="start copilot; /mcp show lists the server",
        project_step="trust the folder when copilot asks",
    ),
    "qwen-code": Client(
        "Qwen Code",
        user=["{home}/.qwen/settings.json"],
        project=["{project}/.qwen/settings.json"],
        detection_paths=["{home}/.qwen"],
        program="qwen",
        next_step="start qwen; /mcp shows the server",
    ),
}
"""The clients by their names on the command line, in the order in which they are checked."""
