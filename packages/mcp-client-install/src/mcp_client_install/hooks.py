"""Hooks of clients: the commands that a client runs at the start of a session, and whose output its model reads."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mcp_client_install.text import Key

__all__ = ["Hook"]


class Hook(NamedTuple):
    """The file in which a client names the commands that it runs at the start of a session, and their form there."""

    client: str
    """The name of the client for the command."""
    user: str
    """The file in the folder of the client, where ``*`` is the name of the server's command."""
    project: str
    """The file in the folder of a project."""
    event: str = "SessionStart"
    """The event, each of whose items is a group of commands, or in a file with a version a command."""
    version: int = 0
    """The version at the beginning of a new file, if there is one."""
    options: Mapping[str, Any] = {"timeout": 10}
    """Further members of a command."""
    folder: Sequence[str] = ()
    """The places of the folder of its file, if it is not the one of the client."""
    next_step: str = ""
    """A further step for the user."""

    @property
    def path(self) -> tuple[str, str]:
        """The place of the list in the file."""
        return "hooks", self.event

    @property
    def head(self) -> bytes | None:
        """The content of a new file before a hook is added."""
        return b'{\n  "version": %d\n}\n' % self.version if self.version else None

    def command(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the command of these ``words``."""
        # Every shell takes a path with slashes on Windows, too; Bash takes no other.
        line = shlex.join([Path(words[0]).as_posix(), *words[1:]])
        if self.client == "copilot-cli":
            return {"type": "command", "bash": line, "powershell": f"& {line}", **self.options}
        return {**({} if self.version else {"type": "command"}), "command": line, **self.options}

    def item(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the item of the event that runs the command of these ``words``."""
        command = self.command(words)
        return command if self.version else {"hooks": [command]}

    def commands(self, item: object) -> Iterator[tuple[tuple[Key, ...], list[str]]]:
        """Yield the words of each command in an item of any origin, after its path there."""
        if self.version:
            yield (), _split(item)
            return
        group = item.get("hooks") if isinstance(item, dict) else None
        for place, command in enumerate(group if isinstance(group, list) else ()):
            yield ("hooks", place), _split(command)


def _split(command: object) -> list[str]:
    """Return the words of the command of a hook of any client."""
    fields = command if isinstance(command, dict) else {}
    try:
        return shlex.split(str(fields.get("command", fields.get("bash", ""))))
    except ValueError:  # a quotation mark without another
        return []
