"""The commands that change tasks: as the board's buttons do, by the tools of each server (AG-18)."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from tests.core.command_line import Command, Ended, fields
from tests.servers import SERVERS, ServerRecord

pytestmark = pytest.mark.requirement("AG-18")

each_server = pytest.mark.parametrize("record", SERVERS, ids=lambda record: record.name)

COMMANDS = {
    "heartbeat": "add start release done note edit",
    "hierarchy": "add start release done edit move rm",
    "tasks-v1": "add start release done cancel edit",
    "taskmaster": "add start release done cancel note edit move rm",
}


def add(command: Command, record: ServerRecord, text: str = "Paint", *words: str) -> str:
    ended = command(record, "add", text, *words)
    assert (ended.code, ended.err) == (0, "")
    found = fields(ended.out)
    assert text in found.values()
    return found["id"]


@each_server
def test_a_server_has_the_commands_that_it_can_carry_out(command: Command, record: ServerRecord) -> None:
    shown = command(record, "--help").out
    known = COMMANDS[record.name].split()
    every = {name for names in COMMANDS.values() for name in names.split()}
    assert [name for name in every if f"\n                        {name:9}  " in shown and name not in known] == []
    assert [name for name in known if f" {name:9}  " not in shown] == []
    for name in every - {*known}:
        ended = command(record, name, "1", "x")
        assert ended == Ended(2, "", f"{record.program().name} has no command '{name}': it has {', '.join(known)}.\n")
    for name in known:
        assert f"usage: {record.program().name} {name}" in command(record, name, "--help").out


@each_server
def test_a_task_is_added_started_changed_and_done_and_the_history_names_the_command(
    command: Command, record: ServerRecord
) -> None:
    task = add(command, record)
    text = fields(command(record, "show", task).out)
    started = fields(command(record, "start", task).out)
    assert started["status"].lower().replace("-", "_") in {"in_progress", "running"}
    name = next(field for field, value in text.items() if value == "Paint")
    assert fields(command(record, "edit", task, f"{name}=Burn").out)[name] == "Burn"
    result = ["--result", "It is red"] if record.name in {"heartbeat", "hierarchy"} else []
    ended = command(record, "done", task, *result)
    assert fields(ended.out)["status"].lower() in {"done", "complete"}
    assert ("It is red" in ended.out) is bool(result)
    history = command(record, "history").out
    assert f"    created {task}: Paint\n" in history
    authors = [line.split("  ", 2)[2] for line in history.splitlines() if line[0] != " "]
    assert authors == [f"command line {name}" for name in ("done", "edit", "start", "add")]


@each_server
def test_a_pipe_adds_a_task_for_each_line_or_none(command: Command, record: ServerRecord) -> None:
    assert command(record, "add", "-", piped="one\n\n  two \n").code == 0
    texts = [line.split("\t")[2] for line in command(record, "list").out.splitlines()]
    assert sorted(texts) == ["one", "two"]
    assert len([line for line in command(record, "history").out.splitlines() if line[0] != " "]) == 1
    long = "x" * 200_000
    ended = command(record, "add", "-", piped=f"three\n{long}\n")
    assert ended.code == 1
    why = "Nothing was added, because task 2 of 2 was refused:\n"
    assert ended.err.startswith(f"{why}{record.program().name} add: ")
    assert len(command(record, "list").out.splitlines()) == 2
    nothing: list[tuple[str | None, str]] = [(None, "give the text of the task"), ("\n \n", "give at least one line")]
    for piped, expected in nothing:
        assert expected in command(record, "add", piped=piped).err


@each_server
def test_json_is_what_the_tool_answers_and_an_error_is_its_message(command: Command, record: ServerRecord) -> None:
    answer: dict[str, Any] = json.loads(command(record, "add", "Paint", "--json").out)
    assert "Paint" in json.dumps(record.unwrap(answer))
    ended = command(record, "start", "nothing")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"{record.program().name} start: ")
    assert "nothing" in ended.err


@each_server
def test_wrong_usage_is_refused_with_exit_code_2_before_anything_is_changed(
    command: Command, record: ServerRecord
) -> None:
    find_actions = record.program().actions
    assert find_actions
    text = find_actions().create.fields[0]
    for words, expected in (
        (["edit", "1", "colour=red"], "colour: give FIELD=VALUE with one of these fields, each once: "),
        (["edit", "1", "red"], "red: give FIELD=VALUE"),
        (["edit", "1", f"{text}=a", f"{text}=b"], f"{text}: give FIELD=VALUE"),
        (["add", "Paint", f"{text}=Burn"], f"{text}: give FIELD=VALUE"),
        (["add", "caf\udce9"], "TEXT: give text in UTF-8"),
        (["add"], "give the text of the task"),
    ):
        ended = command(record, *words)
        assert (ended.code, ended.out) == (2, "")
        assert expected in ended.err
    assert command(record, "history").out == ""


def record_of(name: str) -> ServerRecord:
    return next(record for record in SERVERS if record.name == name)


def test_a_list_is_separated_by_commas_or_is_json_and_nothing_clears_a_field(command: Command) -> None:
    record = record_of("tasks-v1")
    task = add(command, record, "Paint", "tags=a, b", "description=Long")
    assert json.loads(command(record, "show", task, "--json").out)["tags"] == ["a", "b"]
    command(record, "edit", task, 'tags=["c,d"]', "description=")
    shown = json.loads(command(record, "show", task, "--json").out)
    assert (shown["tags"], shown["description"]) == (["c,d"], None)
    assert "give a JSON list, or items separated by commas" in command(record, "edit", task, "tags=[c").err
    assert fields(command(record, "cancel", task).out)["status"] == "canceled"


@pytest.mark.parametrize("name", ["hierarchy", "taskmaster"])
def test_trees_get_subtasks_and_tasks_move_and_are_removed(command: Command, name: str) -> None:
    record = record_of(name)
    top, other = add(command, record, "Top"), add(command, record, "Other")
    below = fields(command(record, "add", "Below", "--below", top, "description=Long").out)["id"]
    assert "Below" in command(record, "show", top).out
    moved = fields(command(record, "move", below, "--top").out)["id"]
    assert "Below" not in command(record, "show", top).out
    place = ("--index", "0") if name == "hierarchy" else ()
    assert command(record, "move", moved, "--below", other, *place).code == 0
    assert "Below" in command(record, "show", other).out
    assert command(record, "rm", other) == Ended(0, f"Removed {other}.\n", "")
    assert command(record, "show", other).code == 1
    assert command(record, "undo", "--yes").code == 0
    assert "Below" in command(record, "show", other).out
    assert command(record, "move", top).code == 2


@pytest.mark.parametrize(("name", "field"), [("heartbeat", "ideas"), ("taskmaster", "details")])
def test_a_note_is_added_to_those_that_a_task_has(command: Command, name: str, field: str) -> None:
    record = record_of(name)
    task = add(command, record)
    for note in ("first", "second, and more"):
        shown = fields(command(record, "note", task, note).out)[field]
    assert "first" in shown
    assert "second, and more" in shown


def test_a_result_that_the_server_asks_for_is_asked_for_by_the_name_of_the_option(command: Command) -> None:
    ended = command(record_of("hierarchy"), "done", "1")
    assert ended.code == 2
    assert "the following arguments are required: --result" in ended.err


def test_a_text_may_begin_with_a_dash(command: Command) -> None:
    ended = command(record_of("tasks-v1"), "add", "--", "-x", "priority=high")
    assert fields(ended.out)["title"] == "-x"


def test_a_field_that_takes_no_null_is_cleared_by_an_empty_text(command: Command) -> None:
    record = record_of("taskmaster")
    task = add(command, record, "Paint", "details=red")
    assert fields(command(record, "edit", task, "details=").out)["details"] == ""


def test_a_list_in_memory_is_not_changed_as_nobody_would_see_it(command: Command) -> None:
    ended = command(record_of("hierarchy"), "add", "Paint", is_in_memory=True)
    assert ended.code == 2
    assert "Run the command 'install'" in ended.err


class SlowPipe(io.StringIO):
    """Changes the list, as another command does, before its first line comes."""

    def __init__(self, change: Callable[[], object]) -> None:
        super().__init__("Paint\n")
        self._change = change

    @override
    def __iter__(self) -> Iterator[str]:
        self._change()
        return super().__iter__()


class Interrupted(io.StringIO):
    @override
    def __iter__(self) -> Iterator[str]:
        raise KeyboardInterrupt


@each_server
def test_others_change_the_list_while_a_pipe_has_yet_to_say_something(
    command: Command, record: ServerRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASK_LOCK_TIMEOUT", "0.1")
    others: list[int] = []
    pipe = SlowPipe(lambda: others.append(command(record, "add", "Burn").code))
    assert command(record, "add", piped=pipe).code == 0
    assert others == [0]
    ended = command(record, "add", piped=Interrupted())
    assert (ended.code, ended.err) == (1, f"{record.program().name} add: interrupted\n")


def test_a_change_of_heartbeat_is_shown_in_its_file(
    command: Command, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    record = record_of("heartbeat")
    task = add(command, record, "Paint the fence")
    assert f"{task}: Paint the fence" in (tmp_path / "HEARTBEAT.md").read_text()
    (tmp_path / "HEARTBEAT.md").write_text("## TODO\n- buy milk\n")
    assert command(record, "start", task).err == ""  # a process that logs nowhere else shows warnings on stderr
    assert caplog.messages[0].startswith("Lines added to HEARTBEAT.md by hand are now tasks: ")


@pytest.mark.requirement("AG-18")
def test_a_schedule_is_given_and_cleared_by_the_commands(command: Command) -> None:
    record = next(it for it in SERVERS if it.name == "heartbeat")
    task = add(command, record, "Water", "every=1w")
    assert fields(command(record, "show", task).out)["extra_fields"] == '{"every": "1w"}'
    assert fields(command(record, "edit", task, "every=", "due=2999-01-01").out)["extra_fields"] == (
        '{"due": "2999-01-01"}'
    )
    assert "every: give a number" in command(record, "edit", task, "every=often").err
