"""The commands that change tasks, from the same table of actions as the board's buttons (AG-18), or claims (AG-13)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from typing import Any, Final, cast

from pydantic import JsonValue

from task_core.claims.claim import Agent, Claim, NotClaimed, TaskClaimed, describe
from task_core.claims.client_process import ASSIGNED, Holder, find_holder
from task_core.cli.chosen_list import choose_list
from task_core.cli.program import COMMANDS, WRITE_COMMANDS, Program
from task_core.cli.view.commands import refuse_memory, show_task
from task_core.cli.view.plain import carry_out, describe_error, write_json
from task_core.errors import InvalidArguments, TaskError
from task_core.history.changes import COMMAND_LINE, made_by
from task_core.server.app import TaskServer
from task_core.text import escape_invisible, nearest
from task_core.view import Action, BoardActions, View

__all__ = ["describe_commands", "find_commands", "report_claim", "run_write_command"]

_ABOUT: Final = {
    "add": "Add a task, or one for each line of a pipe: all or none.",
    "release": "End the claim on a task, so that other agents may change it.",
    "move": "Move a task with everything below it.",
    "rm": "Remove a task with everything below it. undo brings it back.",
}
"""Descriptions that say more than the list of all commands does."""

_STEPS: Final = {"start": "start", "release": "start", "done": "complete", "cancel": "cancel", "rm": "remove"}
"""The name of the step that a command takes."""

_OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "note": {"text": {"metavar": "TEXT", "help": "the note"}},
    "start": {"--claim": {"action": "store_true", "help": "claim it too, until your client ends or until release"}},
    "release": {"--force": {"action": "store_true", "help": "end the claim of a running agent too"}},
}
"""Options and arguments of a command beside the id of the task, the same for every server."""


def find_commands(actions: BoardActions) -> list[str]:
    """Return the commands that a server with these actions has."""
    return [command for command in WRITE_COMMANDS if _find_action(actions, command)]


def describe_commands(name: str, actions: BoardActions) -> str:
    """Return the section of AGENTS.md on the server ``name``, for agents that only have its commands."""
    takes = {"add": "TEXT", "note": "ID TEXT", "edit": "ID FIELD=VALUE", "move": "ID --below ID", "done": "ID"}
    if _result_field(actions, cast("Action", _find_action(actions, "done"))):
        takes["done"] = "ID --result TEXT"
    known = ", ".join(f"`{command} {takes.get(command, 'ID')}`" for command in find_commands(actions))
    return (
        f"## Tasks\n\nUse the command `{name}` for the tasks of this project. Begin every session with `{name} brief`. "
        f"`list`, `show ID` and `next` show tasks; {known} change them, and `undo --yes` takes back the last change. "
        f"`{name} COMMAND --help` lists the options and fields."
    )


def run_write_command(program: Program, words: Sequence[str]) -> int:
    """Carry out a command that changes tasks, and return its exit code, or raise as ``run_with_options``."""
    command, *rest = words
    actions = cast("Any", program.actions)()
    action = _find_action(actions, command)
    if action is None:
        sys.stderr.write(f"{program.name} has no command '{command}': it has {', '.join(find_commands(actions))}.\n")
        return 2
    parser = _parser(program.name, command, actions, action)
    # Options may also stand between TEXT and FIELD=VALUE, but for -- argparse then has no place.
    options = (parser.parse_args if "--" in rest else parser.parse_intermixed_args)(rest)
    chosen = choose_list(program, options.client)
    settings = chosen.settings.located()
    refuse_memory(settings)
    chosen.announce()
    open_view, server_settings = cast("Any", program.view), settings.model_copy(update=actions.settings)
    with program.serving(server_settings) as server, closing(open_view(settings)) as view:
        writing = _Writing(server, actions, command, options)
        return carry_out(f"{program.name} {command}", partial(_write, writing, parser, view))


def _write(writing: _Writing, parser: argparse.ArgumentParser, view: View) -> None:
    if writing.command == "release":
        _release(writing, view)
        return
    try:
        calls = writing.plan()
    except InvalidArguments as error:
        parser.error(escape_invisible(describe_error(error)))
    for task_id, answer in writing.carry_out(calls):
        if writing.options.is_json:
            write_json(answer, sys.stdout)
        elif writing.command == "rm":
            sys.stdout.write(f"Removed {escape_invisible(task_id)}.\n")
        else:
            show_task(view, task_id, is_json=False)
    if writing.claim:
        report_claim(parser.prog.partition(" ")[0], writing.claim)


def _find_action(actions: BoardActions, command: str) -> Action | None:
    if command in _STEPS:
        return next((step for step in actions.steps if step.name == _STEPS[command]), None)
    return {"add": actions.create, "edit": actions.edit, "note": actions.note, "move": actions.place_below}.get(command)


def _result_field(actions: BoardActions, action: Action) -> str:
    """Return the field that says how a task ended, or nothing if the server has none."""
    can_edit = (actions.edit.tool, actions.edit.inside) == (action.tool, action.inside)
    return next(iter(action.fields), "result" if can_edit and "result" in actions.edit.fields else "")


def _parser(name: str, command: str, actions: BoardActions, action: Action) -> argparse.ArgumentParser:
    fields = ", ".join([*action.fields[command == "add" :], *action.extra])
    about = _ABOUT.get(command) or f"{COMMANDS[command].capitalize()}."
    parser = argparse.ArgumentParser(prog=f"{name} {command}", description=about)
    if command == "add":
        text = "its text; - or none: one task for each line of stdin"
        parser.add_argument("text", nargs="?", metavar="TEXT", help=text)
        if actions.create_below:
            parser.add_argument("--below", metavar="ID", help="make it a subtask of this task")
    else:
        parser.add_argument("id", metavar="ID", help="the id of the task")
    for option, details in _OPTIONS.get(command, {}).items():
        parser.add_argument(option, **details)
    if command in {"add", "edit"}:
        what = f"fields: {fields}; a list is separated by commas or is JSON, and nothing after = clears the field"
        parser.add_argument("values", nargs="*" if command == "add" else "+", metavar="FIELD=VALUE", help=what)
    if command == "done" and _result_field(actions, action):
        # The board asks for it in the same cases.
        parser.add_argument("--result", required=bool(action.fields), metavar="TEXT", help="how it ended")
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
    """Carries out one command through the tools of a server; a call is an action, and what is given for it."""

    def __init__(self, server: TaskServer, actions: BoardActions, command: str, options: argparse.Namespace) -> None:
        self.server: Any = server  # one with a history, and so with claims
        self._actions = actions
        self.command = command
        self.options = options
        self.claim: Claim | None = None
        """the claim that the command has made"""

    def plan(self) -> list[tuple[Action, dict[str, JsonValue]]]:
        """Return the calls, or raise ``InvalidArguments``: what stdin has yet to say must not hold up others."""
        action = cast("Action", _find_action(self._actions, self.command))
        try:
            calls = [*self._add(action)] if self.command == "add" else [self._change(action)]
            json.dumps([given for _, given in calls], ensure_ascii=False).encode()
        except UnicodeError:
            raise InvalidArguments([("TEXT", "give text in UTF-8")]) from None
        return calls

    def carry_out(self, calls: Sequence[tuple[Action, dict[str, JsonValue]]]) -> list[tuple[str, dict[str, Any]]]:
        """Make the changes, all or none, and return the id of each task with the answer of the tool."""
        holder = _find_client() if getattr(self.options, "claim", False) else None
        with made_by(COMMAND_LINE, self.command, holder=holder), self.server.find_history().transaction():
            if holder:
                self.claim = self.server.find_claiming().claim(self.options.id, "", is_forced=False).claim
            answers: list[tuple[str, dict[str, Any]]] = []
            try:
                for action, given in calls:
                    answers.append(self._call(action, given))
            except TaskError:
                if len(calls) > 1:
                    number = f"{len(answers) + 1} of {len(calls)}"
                    sys.stderr.write(f"Nothing was added, because task {number} was refused:\n")
                raise
            return answers

    def _change(self, action: Action) -> tuple[Action, dict[str, JsonValue]]:
        options, given = self.options, dict[str, JsonValue]()
        if self.command == "edit":
            given = self._parse(action, [*action.fields, *action.extra], options.values)
        elif self.command == "note":
            (field,) = action.fields
            given[field] = [options.text] if "array" in self._kinds(action, field) else options.text
        elif self.command == "move":
            action = cast("Action", self._actions.place_on_top) if options.top else action
            given |= {} if options.top else {action.parent: options.below}
            given |= {} if getattr(options, "index", None) is None else {action.index: options.index}
        elif getattr(options, "result", None) is not None:
            given[_result_field(self._actions, action)] = options.result
        return action, {action.task: options.id, **given}

    def _add(self, action: Action) -> Iterator[tuple[Action, dict[str, JsonValue]]]:
        options, given = self.options, dict[str, JsonValue]()
        if self._actions.create_below and options.below:
            action = self._actions.create_below
            given[action.parent] = options.below
        text_field, *others = action.fields
        given |= self._parse(action, [*others, *action.extra], options.values)
        for text in _read_lines() if options.text in (None, "-") else [options.text]:
            yield action, {text_field: text, **given}

    def _parse(self, action: Action, fields: Sequence[str], words: Sequence[str]) -> dict[str, JsonValue]:
        """Return what the ``FIELD=VALUE`` of ``fields`` give, as the tool takes it."""
        found: dict[str, JsonValue] = {}
        for word in words:
            name, mark, value = word.partition("=")
            if not mark or name not in fields or name in found:
                expected = f"give FIELD=VALUE with one of these fields, each once: {', '.join(fields)}"
                raise InvalidArguments([(name, expected)], nearest(name, fields))
            kinds = ("string", "null") if name in action.extra else self._kinds(action, name)
            is_cleared = not value and "null" in kinds
            found[name] = None if is_cleared else _parse_list(name, value) if "array" in kinds else value
        return found

    def _kinds(self, action: Action, field: str) -> Sequence[str]:
        """Return the types in the schema of a field."""
        properties = (self.server.input_schema(action.tool) or {})["properties"]
        schema = (properties[action.inside]["properties"] if action.inside else properties)[field]
        return [kind["type"] for kind in schema.get("anyOf", [schema])]

    def _call(self, action: Action, given: Mapping[str, JsonValue]) -> tuple[str, dict[str, Any]]:
        answer: dict[str, Any] = self.server.find_tool(action.tool).run(action.arguments(given)).content
        inner: Any = answer.get("data", answer)
        task = next((inner[name] for name in ("task", "subtask") if isinstance(inner.get(name), dict)), inner)
        # The task may have another id now, as a subtask has that became a task.
        return str(task.get("id") or task.get("taskId") or self.options.id), answer


def _parse_list(name: str, text: str) -> JsonValue:
    if text.startswith("["):
        try:
            return cast("JsonValue", json.loads(text))
        except ValueError as error:
            raise InvalidArguments([(name, f"give a JSON list, or items separated by commas ({error})")]) from None
    return [item.strip() for item in text.split(",") if item.strip()]


def _read_lines() -> Iterator[str]:
    """Yield the lines of stdin that are not blank; at a terminal, ask for TEXT instead."""
    if sys.stdin.isatty():
        raise InvalidArguments([("TEXT", "give the text of the task, or one task a line in a pipe")])
    lines = [line.strip() for line in sys.stdin]
    if not any(lines):
        raise InvalidArguments([("stdin", "give at least one line")])
    yield from filter(None, lines)


def _find_client() -> Holder:
    """Return the process that the claims of this command are to be attached to."""
    if find_spec("mcp_client_install") is None:
        return Holder(ASSIGNED)
    from task_core.cli.client_entries import CLIENT_NAMES  # noqa: PLC0415 - only where mcp-client-install is

    return find_holder(CLIENT_NAMES)


def report_claim(name: str, claim: Claim) -> None:
    """Write to stderr how long a claim lasts that the program ``name`` has made."""
    if claim.until:
        how = f"until {describe(claim)['until']}, since PostgreSQL shows nobody whether a process runs; start it again "
        how += "with --claim to extend the claim"
    elif claim.process == ASSIGNED:
        how = f"until `{name} release {claim.task}`, since no known client runs this command"
    else:
        how = f"until {claim.holder} ends, or `{name} release {claim.task}`"
    sys.stderr.write(f"Claimed {escape_invisible(claim.task)} {escape_invisible(how)}.\n")


def _release(writing: _Writing, view: View) -> None:
    """End the claim on a task; only by force, that of an agent which this command does not run below."""
    options = writing.options
    held = next((it for it in view.claims() if it.task == options.id and not it.is_ended), None)
    if held is None:
        raise NotClaimed(options.id)
    if not (options.force or held.process in {ASSIGNED, _find_client().process}):
        sys.stderr.write("Give --force to end the claim of an agent that may still work on the task.\n")
        raise TaskClaimed(held, Agent(""), wanted=options.id)
    holder = Holder(held.process)
    with made_by(COMMAND_LINE, "release", held.agent, is_remote=not held.process, holder=holder):
        message = writing.server.find_claiming().release(options.id)
    if options.is_json:
        write_json({"released": options.id} | ({"message": message} if message else {}), sys.stdout)
    else:
        sys.stdout.write(f"Released {escape_invisible(options.id)}. {message}".rstrip() + "\n")
