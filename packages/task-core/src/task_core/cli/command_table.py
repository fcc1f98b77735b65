"""The commands that servers have, and those with options of their own, which are imported when they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from task_core.bootstrap import BadSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from task_core.cli.program import Program

__all__ = [
    "CLIENT_COMMANDS",
    "COMMANDS",
    "MOVE_COMMANDS",
    "SESSION_COMMANDS",
    "STORE_COMMANDS",
    "VIEW_COMMANDS",
    "WRITE_COMMANDS",
    "run_with_options",
]

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

STORE_COMMANDS: Final = ("restore", "migrate")
"""The second is for a database."""

MOVE_COMMANDS: Final = ("import", "export")
CLIENT_COMMANDS: Final = ("install", "uninstall")
SESSION_COMMANDS: Final = ("brief", "history", "undo")
VIEW_COMMANDS: Final = ("list", "show", "next", "watch")
WRITE_COMMANDS: Final = ("add", "start", "release", "done", "cancel", "note", "edit", "move", "rm")


def run_with_options(program: Program, command: str, words: Sequence[str]) -> int:
    """Carry out a command that has options of its own, and return its exit code.

    It raises ``BadSettings``, and ``SystemExit`` for a bad option and after ``--help``.
    """
    if words[0] != command:
        raise BadSettings(f"write {command} before its options: {program.name} {command} …")
    if command in CLIENT_COMMANDS:
        from importlib.util import find_spec  # noqa: PLC0415 - serving does not need it

        if find_spec("mcp_client_install") is None:
            raise BadSettings(f"{command} needs the package mcp-client-install: pip install mcp-client-install")
        from task_core.cli.registration import run_install  # noqa: PLC0415 - serving does not need it

        return run_install(program, words)
    if command in MOVE_COMMANDS:
        from task_core.cli.moving.commands import run_move_command  # noqa: PLC0415 - serving does not need it

        return run_move_command(program, words)
    if command in WRITE_COMMANDS:
        from task_core.cli.write_commands import run_write_command  # noqa: PLC0415 - serving does not need it

        return run_write_command(program, words)
    if command == "brief":
        from task_core.cli.brief_command import run_brief_command  # noqa: PLC0415 - serving does not need it

        return run_brief_command(program, words)
    if command in SESSION_COMMANDS:
        from task_core.cli.history_commands import run_history_command  # noqa: PLC0415 - serving does not need it

        return run_history_command(program, words)
    from task_core.cli.view.commands import run_view_command  # noqa: PLC0415 - serving does not need it

    return run_view_command(program, words)
