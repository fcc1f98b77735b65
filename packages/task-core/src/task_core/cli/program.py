"""One server as a command, and the commands that servers have: nothing slow is imported before one is called."""

from __future__ import annotations

import os
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from task_core.bootstrap import BadSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from task_core.cli.settings import ServerSettings
    from task_core.doctor import Check
    from task_core.document_file import DocumentFormat
    from task_core.server.app import TaskServer
    from task_core.store import Transaction
    from task_core.store.collection import Node
    from task_core.view import BoardActions, View

__all__ = ["COMMANDS", "WRITE_COMMANDS", "Program", "SideFile", "run_with_options"]

COMMANDS: Final = {
    "install": "add this server to clients",
    "uninstall": "remove it from them",
    "list": "show the tasks",
    "show": "show one task",
    "next": "show the task to work on next",
    "watch": "show the tasks and every change to them",
    "add": "add a task, or one for each line of a pipe",
    "start": "start a task",
    "release": "end the claim on a task",
    "done": "set a task to done",
    "cancel": "cancel a task",
    "note": "add a note to a task",
    "edit": "change fields of a task",
    "move": "move a task, with everything below it",
    "rm": "remove a task, with everything below it",
    "history": "show what was changed, and by whom",
    "undo": "put back what a change replaced",
    "brief": "print what a new session must know",
    "import": "add the tasks of another tool, or read an exported document",
    "export": "write the tasks for another tool, or as one document",
    "doctor": "check the set-up without changing anything",
    "serve": "answer MCP clients on stdio, or over HTTP with --transport http (the default command)",
    "restore": "list the older documents, or put FILE back",
    "migrate": "create or update the tables in PostgreSQL, and let its user ROLE use them",
}
"""The commands, not all of which every server has: first those that people use."""

WRITE_COMMANDS: Final = ("add", "start", "release", "done", "cancel", "note", "edit", "move", "rm")
_VIEW_COMMANDS: Final = ("list", "show", "next", "watch")
_STORE_COMMANDS: Final = ("brief", "history", "undo", "import", "export")

_RUNNERS: Final = {
    **dict.fromkeys(("install", "uninstall"), "registration:run_install"),
    **dict.fromkeys(("history", "undo"), "session_commands:run_history_command"),
    **dict.fromkeys(("import", "export"), "moving.commands:run_move_command"),
    **dict.fromkeys(_VIEW_COMMANDS, "view.commands:run_view_command"),
    **dict.fromkeys(WRITE_COMMANDS, "write_commands:run_write_command"),
    "brief": "session_commands:run_brief_command",
}
"""The commands with options of their own, and the function of each, whose module is imported when it is called."""


class SideFile(Protocol):
    """A file that a server keeps beside its document and moves with it."""

    def path_beside(self, document: Path) -> Path:
        """Return its path for the document at ``document``."""

    def take_out_archived(self, nodes: list[Node]) -> tuple[list[Node], bytes]:
        """Split ``nodes`` into those for the document and the content of the file."""

    def add_archived(self, path: Path, work: Transaction[Any]) -> int:
        """Add the tasks of the file at ``path`` to a new store, and return their number."""


class Program(NamedTuple):
    """One server as a command; each of its functions imports what it needs, and no more.

    ``codec`` and ``side`` are the document and the file beside it that ``export``, ``import`` and ``restore`` work on;
    a server without a store has no ``codec``. ``greeting`` is the path of the answers that are given while the rest is
    loading. ``distribution`` is empty if it has the name of the command. ``has_database`` is whether the store may be
    in a database: only then are there commands that move tasks.
    """

    name: str
    settings_type: Callable[[], type[Any]]
    build: Callable[[Any], TaskServer]
    checks: Callable[[Any], Iterable[Check]]
    codec: Callable[[], DocumentFormat] | None
    side: Callable[[Any], SideFile | None] = lambda _: None
    greeting: str = ""
    view: Callable[[Any], View] | None = None
    actions: Callable[[], BoardActions] | None = None
    distribution: str = ""
    has_database: bool = True

    @classmethod
    def of(cls, package: str) -> Program:
        """Return the program of a package, by convention.

        Its module ``settings`` has one subclass of ``ServerSettings``, ``codec`` has ``CODEC``, and ``server`` has
        ``build_server``. It may have ``doctor.checks``, ``transfer.side_file``, ``view.open_view``, ``greeting.json``;
        the package itself may have ``HAS_STORE = False``, ``HAS_DATABASE = False`` and ``DISTRIBUTION``.
        """
        module = import_module(package)
        folder = os.path.dirname(str(module.__file__))  # noqa: PTH120 - importing pathlib would take time

        def has(part: str) -> bool:
            return os.path.isfile(f"{folder}/{part}.py")  # noqa: PTH113 - as above

        def load(part: str) -> Any:  # noqa: ANN401 - a module
            return import_module(f"{package}.{part}")

        def settings_type() -> type[ServerSettings]:
            from task_core.cli.settings import ServerSettings  # noqa: PLC0415 - it imports pydantic

            own = (it for it in vars(load("settings")).values() if isinstance(it, type))
            return next(it for it in own if it.__module__ == f"{package}.settings" and issubclass(it, ServerSettings))

        def checks(settings: Any) -> Iterable[Check]:  # noqa: ANN401 - the program's own settings
            if has("doctor"):
                return load("doctor").checks(settings)
            from task_core.doctor import store_checks  # noqa: PLC0415 - serving does not need it

            return store_checks(settings, load("codec").CODEC)

        return cls(
            package.replace("_", "-"),
            settings_type,
            build=lambda settings: load("server").build_server(settings),
            checks=checks,
            codec=(lambda: load("codec").CODEC) if getattr(module, "HAS_STORE", True) else None,
            side=lambda settings: load("transfer").side_file(settings) if has("transfer") else None,
            greeting=f"{folder}/greeting.json",
            view=(lambda settings: load("view").open_view(settings)) if has("view") else None,
            actions=(lambda: load("view").ACTIONS) if has("view") and getattr(module, "HAS_STORE", True) else None,
            distribution=getattr(module, "DISTRIBUTION", ""),
            has_database=getattr(module, "HAS_DATABASE", True),
        )

    @property
    def commands(self) -> list[str]:
        """Return the commands with options of their own that it may have."""
        found = ["install", "uninstall", *(_VIEW_COMMANDS if self.view else ())]
        return [*found, *(_STORE_COMMANDS if self.codec else ()), *(WRITE_COMMANDS if self.actions else ())]

    @property
    def entry(self) -> str:
        """The usual name of the server in the configuration of a client."""
        return self.name.removesuffix("-mcp").partition("-")[0]

    def version(self) -> str:
        """Return the version of the distribution, or ``unknown`` if it runs from its folder without being installed."""
        return self._find_metadata("Version") or "unknown"

    def description(self) -> str:
        """Return what the distribution is, in one sentence."""
        summary = self._find_metadata("Summary")
        return f"{summary}." if summary else ""

    def _find_metadata(self, key: str) -> str:
        from importlib.metadata import PackageNotFoundError, metadata  # noqa: PLC0415 - serving does not need it

        try:
            return metadata(self.distribution or self.name)[key]
        except PackageNotFoundError:
            return ""

    @contextmanager
    def serving(self, settings: object) -> Iterator[TaskServer]:
        """Build the server for a command, and end it afterwards."""
        server = self.build(settings)
        try:
            yield server
        finally:
            server.close()
            server.end()


def run_with_options(program: Program, command: str, words: Sequence[str]) -> int:
    """Carry out a command that has options of its own, and return its exit code.

    It raises ``BadSettings``, and ``SystemExit`` for a bad option and after ``--help``.
    """
    if words[0] != command:
        raise BadSettings(f"write {command} before its options: {program.name} {command} …")
    if command in {"install", "uninstall"}:
        from importlib.util import find_spec  # noqa: PLC0415 - serving does not need it

        if find_spec("mcp_client_install") is None:
            raise BadSettings(f"{command} needs the package mcp-client-install: pip install mcp-client-install")
    module, _, function = _RUNNERS[command].partition(":")
    code: int = getattr(import_module(f"task_core.cli.{module}"), function)(program, words)
    return code
