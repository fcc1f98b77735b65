"""The clients that a server is installed in: their files, the form of an entry or a hook, and the user's next step."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from mcp_client_install.hooks import Hook

__all__ = ["CLIENTS", "Client", "Scope", "UserFolders", "program_of", "words_of"]

Scope = Literal["user", "project"]
"""The projects that a server is for: all projects of the user, or one project, for this user alone."""

_SYSTEM: Final = {
    "darwin": ("~/Library/Application Support",),
    "win32": ("$APPDATA", "~/AppData/Roaming"),
    "linux": ("$XDG_CONFIG_HOME", "~/.config"),
}
"""The places of the folder in which a system keeps the settings of programs; others are like Linux."""


class UserFolders(NamedTuple):
    """The home of a user, the current project, and the variables by which clients find their files."""

    environment: Mapping[str, str]
    home: Path
    project: Path
    platform: str
    """The system, as ``sys.platform`` says."""

    def find(self, places: Sequence[str]) -> Path:
        """Return the first place that has no variable, or whose variable, such as ``$CODEX_HOME``, is set.

        ``~`` is the home, and ``%`` the folder in which the system keeps the settings of programs.
        """
        system = _SYSTEM.get(self.platform, _SYSTEM["linux"])
        bases = {"~": str(self.home), **{f"${name}": value for name, value in self.environment.items() if value}}
        every = (place.replace("%", base).partition("/") for place in places for base in system)
        base, _, rest = next(parts for parts in every if parts[0] in bases)
        return Path(bases[base], rest)


class Client(NamedTuple):
    """A client."""

    title: str
    folder: Sequence[str]
    """The places of its folder for all projects, as ``UserFolders.find`` takes them."""
    user: Sequence[str]
    """The files in that folder that may name its servers: the first that exists counts, else the first."""
    project: Sequence[str]
    """The same files in the folder of a project, if the client has any."""
    next_step: str
    """The next step for the user."""
    mark: str = ""
    """A file or folder in its folder, which exists, and is not empty, if the client is installed; else the folder."""
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
    hook: Hook | None = None
    """Its hook for the start of a session, if it has one."""
    reads_hooks_of: str = ""
    """The name of a client whose hooks it runs too."""

    @property
    def suffix(self) -> str:
        """The suffix of its file, which tells the language."""
        return Path(self.user[0]).suffix

    def is_installed(self, folders: UserFolders) -> bool:
        """Return whether the user seems to have the client."""
        has_program = self.program and shutil.which(self.program, path=folders.environment.get("PATH", ""))
        return bool(has_program) or _is_used(folders.find(self.folder) / self.mark)

    def file(self, scope: Scope, folders: UserFolders) -> Path | None:
        """Return the file that names its servers, or None if it has none for the ``scope``."""
        paths = self.files(scope, folders)
        return next((path for path in paths if os.path.lexists(path)), next(iter(paths), None))

    def files(self, scope: Scope, folders: UserFolders) -> list[Path]:
        """Return all files that may name its servers."""
        if scope == "project":
            return [folders.project / name for name in self.project]
        return [folders.find(self.folder) / name for name in self.user]

    def hook_files(self, command: str) -> Client | None:
        """Return this client with the file for its hook of a server's ``command`` as its only one, if it has a hook."""
        if self.hook is None:
            return None
        names = [name.replace("*", command) for name in (self.hook.user, self.hook.project)]
        return self._replace(folder=self.hook.folder or self.folder, user=names[:1], project=names[1:])

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


_COPILOT_HOOK: Final = Hook(
    "copilot-cli",
    user="hooks/*.json",
    project=".github/hooks/*.json",
    event="sessionStart",
    version=1,
    options={"timeoutSec": 10},
    folder=["$COPILOT_HOME", "~/.copilot"],
)

CLIENTS: Final[Mapping[str, Client]] = {
    "claude-code": Client(
        "Claude Code",
        folder=["$CLAUDE_CONFIG_DIR", "~"],
        user=[".claude.json"],
        project=[".mcp.json"],
        mark=".claude.json",
        program="claude",
        transport="stdio",
        next_step="start claude; /mcp shows whether it is connected",
        project_step="approve the server when claude asks",
        hook=Hook(
            "claude-code",
            user="settings.json",
            project=".claude/settings.local.json",  # the other one is for everyone in the project
            folder=["$CLAUDE_CONFIG_DIR", "~/.claude"],
        ),
    ),
    "claude-desktop": Client(
        "Claude Desktop",
        folder=["%/Claude"],
        user=["claude_desktop_config.json"],
        project=[],
        next_step="quit Claude Desktop and open it again",
    ),
    "cursor": Client(
        "Cursor",
        folder=["~/.cursor"],
        user=["mcp.json"],
        project=[".cursor/mcp.json"],
        program="cursor",
        transport="stdio",
        next_step="open Cursor Settings, Tools & MCP, and switch the server on",
        hook=Hook(
            "cursor", user="hooks.json", project=".cursor/hooks.json", event="sessionStart", version=1, options={}
        ),
    ),
    "vscode": Client(
        "VS Code",
        folder=["$VSCODE_PORTABLE/user-data", "$VSCODE_APPDATA/Code", "%/Code"],
        user=["User/mcp.json"],
        project=[".vscode/mcp.json"],
        program="code",
        member="servers",
        transport="stdio",
        next_step='run "MCP: List Servers" from the Command Palette, and start the server',
        hook=_COPILOT_HOOK,
        reads_hooks_of="claude-code",
    ),
    "codex": Client(
        "Codex",
        folder=["$CODEX_HOME", "~/.codex"],
        user=["config.toml"],
        project=[".codex/config.toml"],
        program="codex",
        member="mcp_servers",
        next_step="start codex; /mcp shows the server",
        project_step="trust the project when codex asks",
        hook=Hook(
            "codex",
            user="hooks.json",
            project=".codex/hooks.json",
            next_step="type /hooks and trust the new hook, which does not run before",
        ),
    ),
    "gemini-cli": Client(
        "Gemini CLI",
        folder=["$GEMINI_CLI_HOME/.gemini", "~/.gemini"],
        user=["settings.json"],
        project=[".gemini/settings.json"],
        program="gemini",
        next_step="start gemini in a folder that you trust; /mcp shows the server",
        hook=Hook("gemini-cli", user="settings.json", project=".gemini/settings.json", options={"timeout": 10_000}),
    ),
    "opencode": Client(
        "OpenCode",
        folder=["$XDG_CONFIG_HOME/opencode", "~/.config/opencode"],
        user=["opencode.json", "opencode.jsonc"],
        project=["opencode.json", "opencode.jsonc"],
        program="opencode",
        member="mcp",
        transport="local",
        has_command_list=True,
        next_step="start opencode; opencode mcp list shows the server",
    ),
    "copilot-cli": Client(
        "Copilot CLI",
        folder=["$COPILOT_HOME", "~/.copilot"],
        user=["mcp-config.json"],
        project=[".mcp.json"],
        program="copilot",
        transport="stdio",
        next_step="start copilot; /mcp show lists the server",
        project_step="trust the folder when copilot asks",
        hook=_COPILOT_HOOK,
    ),
    "qwen-code": Client(
        "Qwen Code",
        folder=["$QWEN_HOME", "~/.qwen"],
        user=["settings.json"],
        project=[".qwen/settings.json"],
        program="qwen",
        next_step="start qwen; /mcp shows the server",
        # Versions up to 0.15 take a time in milliseconds, later ones in seconds; without one each waits a minute.
        hook=Hook("qwen-code", user="settings.json", project=".qwen/settings.json", options={}),
    ),
}
"""The clients by their names on the command line, in the order in which they are checked."""
