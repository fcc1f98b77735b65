"""Reads what a server answers at first, and remembers the settings with which it has started.

A server greets only with settings that were valid at an earlier start (CLI-3): only then can it be sure without
importing what validates them. An empty file in the user's cache stands for each set of valid settings.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from contextlib import suppress
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

from task_core.bootstrap import find_in_project
from task_core.server.transports.greeting import Greeting

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GreetingFile"]


class GreetingFile:
    """The greeting of a server for the settings that are given in ``variables``."""

    def __init__(self, path: str, variables: Mapping[str, str]) -> None:
        self._description = _read(path)
        """Empty if it is missing, damaged, or made with another version of the SDK: the start is only slower."""
        self._given = given = {name.upper(): value for name, value in variables.items() if value}
        names = given.keys() & {*self._description.get("settings", ())}
        self._choices = {name: given.get(name, "") for name in self._description.get("choices", {})}
        # A checksum, since a setting may hold a password.
        settings = repr([path, self._description.get("legacy"), sorted((name, given[name]) for name in names)])
        self._mark = f"{_cache_folder()}/{zlib.crc32(settings.encode('utf-8', 'surrogatepass')):08x}"

    def greeting(self) -> Greeting | None:
        """Return the greeting if the server has started with these settings before, and has the project it needs."""
        choices: dict[str, dict[str, list[str]]] = self._description.get("choices", {})
        is_known = all(chosen in choices[name] for name, chosen in self._choices.items())
        if not (is_known and self._is_accepted() and self._has_project()):
            return None
        tools = self._description["tools"]
        for name, chosen in self._choices.items():  # pragma: no cover - in a process: tests/wire/test_greetings.py
            tools = [tool for tool in tools if tool["name"] in choices[name][chosen]]
        return Greeting({**self._description, "tools": tools})

    def accept(self) -> None:
        """Remember that the settings are valid."""
        if self._description:
            with suppress(OSError):  # without a place to remember it the next start is slower, too
                os.makedirs(os.path.dirname(self._mark), 0o700, exist_ok=True)  # noqa: PTH103, PTH120 - as below
                os.close(os.open(self._mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))

    def reject(self) -> None:
        """Forget that the settings were valid once."""
        with suppress(OSError):
            os.unlink(self._mark)  # noqa: PTH108 - importing pathlib would take time

    def _has_project(self) -> bool:
        project = self._description.get("project")
        if not project:
            return True
        if folder := self._given.get(project["setting"]):
            return os.path.isfile(f"{folder}/{project['file']}")  # noqa: PTH113 - never raises
        return find_in_project(project["file"], borders=project["borders"]) is not None

    def _is_accepted(self) -> bool:
        try:
            status = os.lstat(self._mark)
        except OSError:
            return False
        return os.name == "posix" and S_ISREG(status.st_mode) and status.st_uid == os.geteuid()


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - importing pathlib would take time
            description = json.load(file)
        return description if _is_installed("mcp", description["mcp"]) else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def _is_installed(package: str, version: str) -> bool:
    """Return whether the package that would be imported is of this version; ``importlib.metadata`` takes far longer."""
    where = (folder for folder in sys.path if os.path.isfile(f"{folder}/{package}/__init__.py"))  # noqa: PTH113 - never raises
    return os.path.isdir(f"{next(where, '')}/{package}-{version}.dist-info")  # noqa: PTH112 - never raises


def _cache_folder() -> str:
    home = os.path.expanduser("~")  # noqa: PTH111 - importing pathlib would take time
    return f"{os.environ.get('XDG_CACHE_HOME') or f'{home}/.cache'}/mcp-task-core/accepted"
