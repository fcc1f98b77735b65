"""The commands that change tasks, from the same table of actions as the board's buttons (AG-18)."""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from pydantic import JsonValue

from task_core.cli.chosen_list import choose_list
from task_core.cli.program import Program
from task_core.cli.view.commands import show_task
from task_core.cli.view.plain import describe_error, tolerate_characters, write_json
from task_core.errors import InvalidArguments, TaskError
from task_core.history.changes import COMMAND_LINE, made_by
from task_core.server.app import TaskServer
from task_core.server.faults import RenderedAnswer
from task_core.text import escape_invisible, nearest
from task_core.view import Action, BoardActions

__all__ = ["find_commands", "run_write_command"]

_ABOUT: Final = {
    "add": "Add a task, or one for each line of a pipe: all or none.",
    "start": "Start a task.",
    "done": "Set a task to done.",
    "cancel": "Cancel a task.",
    "note": "Add a note to a task.",
    "edit": "Change fields of a task.",
    "move": "Move a task with everything below it.",
    "rm": "Remove a task with everything below it. undo brings it back.",
}

_STEPS: Final = {"start": "start", "done": "complete", "cancel": "cancel", "rm": "remove"}
"""The name of the step that a command takes."""


def find_commands(actions: BoardActions) -> list[str]:
    """Return the commands that a server with these actions has."""
    return [command for command in _ABOUT if _find_action(actions, command)]


def run_write_command(program: Program, words: Sequence[str]) -> int:
    """Carry out a command that changes tasks, and return the exit code: 1 if it fails.

    It raises ``BadSettings``, and ``SystemExit`` for a bad option and after ``--help``.
    """
    command, *rest = words
    actions = cast("Any", program.actions)()
    action = _find_action(actions, command)
    if action is None:
        known = ", ".join(find_commands(actions))
        sys.stderr.write(f"{program.name} has no command '{command}': it has {known}.\n")
        return 2
    options = _parser(program.name, command, actions, action).parse_args(rest)
    settings, origin, _ = choose_list(program, options.client)
    if origin:
        sys.stderr.write(f"{origin}.\n")
    tolerate_characters(sys.stdout)
    server = program.build(settings.model_copy(update=actions.settings))
    try:
        answers = _Writing(server, actions, command, options).run()
        sys.stderr.writelines(f"{escape_invisible(text)}\n" for text in server.warnings.take())
        for task_id, answer in answers:
            if options.is_json:
                write_json(answer, sys.stdout)
            elif command == "rm":
                sys.stdout.write(f"Removed {escape_invisible(task_id)}.\n")
            else:
                show_task(cast("Any", program.view)(settings), task_id, is_json=False)
    except TaskError as error:
        sys.stderr.write(f"{program.name} {command}: {escape_invisible(describe_error(error))}\n")
        return 1
    finally:
        server.close()
        server.end()
    return 0


def _find_action(actions: BoardActions, command: str) -> Action | None:
    if command in _STEPS:
        return next((step for step in actions.steps if step.name == _STEPS[command]), None)
    return {"add": actions.create, "edit": actions.edit, "note": actions.note, "move": actions.place_below}.get(command)


def _result_field(actions: BoardActions, action: Action) -> str:
    """Return the field that says how a task ended, or nothing if the server has none."""
    can_edit = (actions.edit.tool, actions.edit.inside) == (action.tool, action.inside)
    return next(iter(action.fields), "result" if can_edit and "result" in actions.edit.fields else "")


def _parser(name: str, command: str, actions: BoardActions, action: Action) -> argparse.ArgumentParser:
    fields = ", ".join(action.fields)
    parser = argparse.ArgumentParser(prog=f"{name} {command}", description=_ABOUT[command])
    if command == "add":
        parser.add_argument(
            "text", nargs="?", metavar="TEXT", help="its text; - or none: one task for each line of stdin"
        )
        if actions.create_below:
            parser.add_argument("--below", metavar="ID", help="make it a subtask of this task")
    else:
        parser.add_argument("id", metavar="ID", help="the id of the task")
    if command == "note":
        parser.add_argument("text", metavar="TEXT", help="the note")
    if command in {"add", "edit"}:
        what = f"fields: {fields}; a list is separated by commas or is JSON, and nothing after = clears the field"
        parser.add_argument("values", nargs="*" if command == "add" else "+", metavar="FIELD=VALUE", help=what)
    if command == "done" and _result_field(actions, action):
        parser.add_argument("--result", metavar="TEXT", help="how it ended")
    if command == "move":
        where = parser.add_mutually_exclusive_group(required=True)
        where.add_argument("--below", metavar="ID", help="the task that is to be above it")
        where.add_argument("--top", action="store_true", help="move it to the top level")
        if action.index:
            parser.add_argument("--index", type=int, metavar="N", help="its place there, from 0; default: the last")
    parser.add_argument("--client", default="", help="use the list of this client, if no setting names one")
    parser.add_argument("--json", action="store_true", dest="is_json", help="write the answer of the tool as JSON")
    return parser


class _Writing:
    """Carries out one command through the tools of a server."""

    def __init__(self, server: TaskServer, actions: BoardActions, command: str, options: argparse.Namespace) -> None:
        self._server = server
        self._actions = actions
        self._command = command
        self._options = options

    def run(self) -> list[tuple[str, dict[str, Any]]]:
        """Make the changes, all or none, and return the id of each task with the answer of the tool."""
        assert self._server.find_history  # noqa: S101 - for the type checker: only a server with one has the commands
        with made_by(COMMAND_LINE, self._command), self._server.find_history().transaction():
            return [self._call(action, given) for action, given in self._plan()]

    def _plan(self) -> Iterator[tuple[Action, dict[str, JsonValue]]]:
        """Yield each call: its action and what is given for it."""
        options, action = self._options, cast("Action", _find_action(self._actions, self._command))
        if self._command == "add":
            yield from self._add(action)
            return
        if self._command == "move" and options.top:
            action = cast("Action", self._actions.place_on_top)
        given: dict[str, JsonValue] = {action.task: options.id}
        if self._command == "edit":
            given |= self._parse(action, options.values)
        elif self._command == "note":
            (field,) = action.fields
            given[field] = [options.text] if self._is_list(action, field) else options.text
        elif getattr(options, "result", None) is not None:
            given[_result_field(self._actions, action)] = options.result
        elif self._command == "move":
            given |= {} if options.top else {action.parent: options.below}
            given |= {} if getattr(options, "index", None) is None else {action.index: options.index}
        yield action, given

    def _add(self, action: Action) -> Iterator[tuple[Action, dict[str, JsonValue]]]:
        options, given = self._options, dict[str, JsonValue]()
        if self._actions.create_below and options.below:
            action = self._actions.create_below
            given[action.parent] = options.below
        given |= self._parse(action, options.values)
        for text in _read_lines() if options.text in (None, "-") else [options.text]:
            yield action, {action.fields[0]: text, **given}

    def _parse(self, action: Action, words: Sequence[str]) -> dict[str, JsonValue]:
        """Return the fields in ``FIELD=VALUE``, as the tool takes them; nothing after the sign is null."""
        found: dict[str, JsonValue] = {}
        for word in words:
            name, mark, value = word.partition("=")
            if not mark or name not in action.fields:
                expected = f"give FIELD=VALUE with one of these fields: {', '.join(action.fields)}"
                raise InvalidArguments([(name, expected)], nearest(name, action.fields))
            found[name] = (_parse_list(name, value) if self._is_list(action, name) else value) if value else None
        return found

    def _is_list(self, action: Action, field: str) -> bool:
        properties = (self._server.input_schema(action.tool) or {})["properties"]
        if action.inside:
            properties = properties[action.inside].get("properties", {})
        return '"array"' in json.dumps(properties.get(field, {}))

    def _call(self, action: Action, given: Mapping[str, JsonValue]) -> tuple[str, dict[str, Any]]:
        tool = self._server.find_tool(action.tool)
        assert tool  # noqa: S101 - for the type checker: the settings of the actions offer their tools
        answer = cast("RenderedAnswer", tool.run(action.arguments(given))).content
        inner: Any = answer.get("data", answer)
        task = next((inner[name] for name in ("task", "subtask") if isinstance(inner.get(name), dict)), inner)
        # The task may have another id now, as a subtask has that became a task.
        return str(task.get("id") or task.get("taskId") or self._options.id), answer


def _parse_list(name: str, text: str) -> JsonValue:
    if text.startswith("["):
        try:
            return cast("JsonValue", json.loads(text))
        except ValueError as error:
            raise InvalidArguments([(name, f"give a JSON list, or items separated by commas ({error})")]) from None
    return [item.strip() for item in text.split(",")]


def _read_lines() -> Iterator[str]:
    """Yield the lines of stdin that are not blank; at a terminal, ask for TEXT instead."""
    if sys.stdin.isatty():
        raise InvalidArguments([("TEXT", "give the text of the task, or one task a line in a pipe")])
    lines = [line.strip() for line in sys.stdin]
    if not any(lines):
        raise InvalidArguments([("stdin", "give at least one line")])
    yield from filter(None, lines)
