"""Every error of every server: its code, its sentence, its details, and how little of the input it repeats."""

import json
from collections.abc import Callable

import pytest
from pydantic import JsonValue

import heartbeat_mcp.errors
import hierarchy_mcp.errors
from heartbeat_mcp.errors import NoHeartbeatFile, PathOutsideWorkspace, ReadOnlyField, ReservedField
from hierarchy_mcp.errors import ExecutionOrder, IncompleteSubtasks
from task_core import errors
from task_core.errors import (
    ECHO_LIMIT,
    FOUND_LIMIT,
    DuplicateId,
    DuplicateKey,
    InternalError,
    InvalidArguments,
    InvalidTransition,
    ResourceNotFound,
    StoreDamaged,
    StoreLocked,
    StoreNewer,
    StoreUnreadable,
    StoreWriteFailed,
    TaskError,
    TaskNotFound,
    UnknownPrompt,
    UnknownTool,
)

OPEN = [{"id": "a1", "name": "Walls", "status": "todo"}, {"id": "a2", "name": "Roof", "status": "in_progress"}]

TABLE: list[tuple[TaskError, str, dict[str, JsonValue]]] = [
    (
        TaskNotFound("cool-aple", ["cool-apple", "cool-maple"]),
        "No task has the id 'cool-aple'. Did you mean 'cool-apple' or 'cool-maple'?",
        {"id": "cool-aple", "near": ["cool-apple", "cool-maple"]},
    ),
    (
        TaskNotFound("x"),
        "No task has the id 'x'. List the tasks to see the ids that exist.",
        {"id": "x", "near": []},
    ),
    (
        InvalidArguments([("title", "Give text, as a JSON string.")]),
        "Correct the arguments and call again: title: Give text, as a JSON string.",
        {"fields": [{"path": "title", "message": "Give text, as a JSON string."}]},
    ),
    (
        InvalidArguments([("a", "one"), ("b", "two"), ("c.0", "three"), ("d", "four")], near=["e"]),
        "Correct the arguments and call again: a: one; b: two; c.0: three (and 1 more).",
        {
            "fields": [
                {"path": "a", "message": "one"},
                {"path": "b", "message": "two"},
                {"path": "c.0", "message": "three"},
                {"path": "d", "message": "four"},
            ],
            "near": ["e"],
        },
    ),
    (
        DuplicateKey(["a", "b", "a"]),
        "Give each key once and call again; given more than once: 'a', 'b'.",
        {"keys": ["a", "b"]},
    ),
    (
        NoHeartbeatFile(),
        "No list was found: neither the client's folder nor one above it in its repository has a HEARTBEAT.md "
        "(a link, a file whose store is a link, the home folder, and a folder that everybody may write to do not "
        "count). Ask the user to create HEARTBEAT.md in the project's folder, start the client in a folder that has "
        "one, or set HEARTBEAT_FILE_PATH, or TASK_STORE for a list without the file.",
        {},
    ),
    (
        ReadOnlyField(["id", "created_at"]),
        "Leave out 'id', 'created_at' and call again: the server sets such fields itself.",
        {"fields": ["id", "created_at"]},
    ),
    (
        ReservedField(["status"]),
        "Leave out 'status' or choose another name: it is a predefined field, not an extra one.",
        {"fields": ["status"]},
    ),
    (
        InvalidTransition("pending", "done", ["in_progress", "canceled"]),
        "A task that is 'pending' cannot become 'done'. From 'pending' it can go to 'in_progress', 'canceled'.",
        {"from": "pending", "to": "done", "allowed": ["in_progress", "canceled"]},
    ),
    (
        InvalidTransition("canceled", "done", []),
        "A task that is 'canceled' cannot become 'done'. 'canceled' is final.",
        {"from": "canceled", "to": "done", "allowed": []},
    ),
    (
        InvalidTransition("todo", "done", ["todo"], "Use completeTask."),
        "A task that is 'todo' cannot become 'done'. Use completeTask.",
        {"from": "todo", "to": "done", "allowed": ["todo"]},
    ),
    (
        ExecutionOrder(OPEN, 2),
        "Complete these tasks first: 'Walls' (a1), 'Roof' (a2).",
        {"blocking": [dict(task) for task in OPEN], "count": 2},
    ),
    (
        IncompleteSubtasks(OPEN[:1], 30),
        "Complete its subtasks first: 'Walls' (a1) and 29 more.",
        {"incomplete": [dict(OPEN[0])], "count": 30},
    ),
    (DuplicateId("a1"), "The id 'a1' is taken. Choose another one, or leave it out.", {"id": "a1"}),
    (
        PathOutsideWorkspace("result_file", "it leads outside the workspace"),
        "Give 'result_file' as a path inside the workspace or an http(s) URL: it leads outside the workspace.",
        {"field": "result_file"},
    ),
    (
        StoreLocked(10.0),
        "The store was locked for 10 seconds, so nothing was changed. Call again in a moment.",
        {"waited": 10.0},
    ),
    (
        StoreWriteFailed("tasks.json", "No space left on device"),
        "Nothing was saved: 'tasks.json' could not be written (No space left on device). "
        "Fix the cause, then call again.",
        {"file": "tasks.json", "cause": "No space left on device"},
    ),
    (
        StoreUnreadable("tasks.json", "Permission denied"),
        "The store 'tasks.json' exists but cannot be read (Permission denied), so it was left untouched. "
        "Ask the user to fix it, then call again.",
        {"file": "tasks.json", "cause": "Permission denied"},
    ),
    (
        StoreDamaged("tasks.json", "'{'", "a list of tasks", 2, 5),
        "The store 'tasks.json' is damaged at line 2, column 5 (found '{', expected a list of tasks), so it was left "
        "untouched. Ask the user to repair it, put an older copy back with the server's command 'restore', or "
        "choose another file; then call again.",
        {"file": "tasks.json", "found": "'{'", "expected": "a list of tasks", "line": 2, "column": 5},
    ),
    (
        StoreDamaged("tasks.db", "'not a database'", "a database of this server"),
        "The store 'tasks.db' is damaged (found 'not a database', expected a database of this server), so it was left "
        "untouched. Ask the user to put back a copy of the database, import an export into a new one, or choose "
        "another file; then call again.",
        {"file": "tasks.db", "found": "'not a database'", "expected": "a database of this server"},
    ),
    (
        StoreNewer("tasks.json", 2, 1),
        "The store 'tasks.json' has format version 2, newer than this server supports (1), so it was left untouched. "
        "Ask the user to update the server.",
        {"file": "tasks.json", "found": 2, "supported": 1},
    ),
    (
        StoreWriteFailed("tasks", "the connection was lost", is_unknown=True),
        "It is unknown whether this was saved in 'tasks' (the connection was lost). List the tasks to see whether it "
        "was, before you repeat the call.",
        {"file": "tasks", "cause": "the connection was lost", "unknown": True},
    ),
    (
        UnknownTool("task_creat", ["task_create"]),
        "Unknown tool 'task_creat'. Did you mean 'task_create'?",
        {"name": "task_creat", "near": ["task_create"]},
    ),
    (UnknownTool("x"), "Unknown tool 'x'. List the tools to see their names.", {"name": "x", "near": []}),
    (
        UnknownPrompt("nexxt", ["next"]),
        "Unknown prompt 'nexxt'. Did you mean 'next'?",
        {"name": "nexxt", "near": ["next"]},
    ),
    (UnknownPrompt("x"), "Unknown prompt 'x'. List the prompts to see their names.", {"name": "x", "near": []}),
    (
        ResourceNotFound("notes://all", ["tasks://list", "tasks://{id}"]),
        "Unknown resource. Read one of these: tasks://list, tasks://{id}.",
        {"uri": "notes://all"},
    ),
    (
        InternalError(was_begun=False),
        "The server failed unexpectedly; nothing was changed. See its log on stderr.",
        {},
    ),
    (
        InternalError(),
        "The server failed unexpectedly; check whether the call changed anything before you repeat it. "
        "See its log on stderr.",
        {},
    ),
]

CALLER_WRITES: dict[str, Callable[[str], TaskError]] = {
    "TaskNotFound": TaskNotFound,
    "InvalidArguments": lambda text: InvalidArguments([(text, "This argument does not exist.")] * 60),
    "DuplicateKey": lambda text: DuplicateKey([f"{number}{text}" for number in range(60)]),
    "ReadOnlyField": lambda text: ReadOnlyField([text] * 60),
    "ReservedField": lambda text: ReservedField([text] * 60),
    "InvalidTransition": lambda text: InvalidTransition("todo", text, ["done"]),
    "DuplicateId": DuplicateId,
    "UnknownTool": UnknownTool,
    "UnknownPrompt": UnknownPrompt,
    "ResourceNotFound": lambda text: ResourceNotFound(text, ["tasks://list"]),
}
"""The errors that repeat what the caller wrote, made from one text of his."""


@pytest.mark.requirement("ERR-1", "ERR-3")
@pytest.mark.parametrize(
    ("error", "message", "details"), TABLE, ids=[f"{n}-{row[0].code}" for n, row in enumerate(TABLE)]
)
def test_an_error_says_what_to_do_and_carries_its_details(
    error: TaskError, message: str, details: dict[str, JsonValue]
) -> None:
    assert error.message == str(error) == message
    assert error.details == details
    assert error.code == type(error).__name__
    assert json.loads(json.dumps(error.details)) == error.details


@pytest.mark.requirement("ERR-3")
def test_every_error_class_is_in_the_table() -> None:
    modules = (errors, heartbeat_mcp.errors, hierarchy_mcp.errors)
    public = {name for module in modules for name in module.__all__ if isinstance(getattr(module, name), type)}
    assert {error.code for error, _, _ in TABLE} == public - {"TaskError"}


@pytest.mark.requirement("TOOL-3", "S1")
@pytest.mark.parametrize("make", CALLER_WRITES.values(), ids=CALLER_WRITES.keys())
@pytest.mark.parametrize("length", [1, 60, 100_000])
def test_an_error_repeats_at_most_200_characters_of_the_input(make: Callable[[str], TaskError], length: int) -> None:
    error = make("Ω" * length)
    assert 0 < (error.message + json.dumps(error.details, ensure_ascii=False)).count("Ω") <= ECHO_LIMIT


@pytest.mark.requirement("TOOL-3", "S1")
@pytest.mark.parametrize("make", [TaskNotFound, DuplicateId, UnknownTool], ids=["task", "id", "tool"])
def test_one_name_stays_within_the_limit_even_with_the_message_said_twice(make: Callable[[str], TaskError]) -> None:
    error = make("Ω" * 1_000)
    assert (2 * error.message + json.dumps(error.details, ensure_ascii=False)).count("Ω") <= ECHO_LIMIT


@pytest.mark.requirement("ERR-1", "S3")
@pytest.mark.parametrize("make", CALLER_WRITES.values(), ids=CALLER_WRITES.keys())
def test_what_is_repeated_is_visible_and_can_be_written_as_utf_8(make: Callable[[str], TaskError]) -> None:
    error = make("a\n\u202e\ud800\U000e0041")
    whole = error.message + json.dumps(error.details, ensure_ascii=False)
    assert whole.encode("utf-8").decode("utf-8").isprintable()


@pytest.mark.requirement("TOOL-3")
def test_arguments_past_the_limit_are_counted() -> None:
    error = InvalidArguments([(f"argument_number_{number:03}", "Leave it out.") for number in range(50)])
    fields = error.details["fields"]
    assert isinstance(fields, list)
    assert error.details["more"] == 50 - len(fields) == 43
    assert error.message.endswith("argument_number_002: Leave it out (and 47 more).")


@pytest.mark.requirement("ERR-1")
@pytest.mark.parametrize("reason", ["Did you mean 'tags'?", "Leave it out.", "leave it out"])
def test_a_reason_ends_in_one_mark(reason: str) -> None:
    assert InvalidArguments([("tag", reason)]).message.endswith(f"tag: {reason}" + "." * (reason == "leave it out"))


@pytest.mark.requirement("ERR-1")
def test_a_long_reason_is_cut() -> None:
    [field] = InvalidArguments([("a", "b" * 1_000)]).details["fields"]  # pyrefly: ignore  # JsonValue is a list here
    assert field == {"path": "a", "message": "b" * 199 + "…"}


@pytest.mark.requirement("ERR-1")
def test_many_long_task_names_are_cut_in_the_message_and_whole_in_the_details() -> None:
    tasks = [{"id": str(number), "name": "n" * 500, "status": "todo"} for number in range(50)]
    error = ExecutionOrder(tasks, 50)
    assert len(error.message) < 300
    assert error.details["blocking"] == tasks


@pytest.mark.requirement("ST-3", "S3")
def test_an_error_repeats_at_most_100_visible_characters_of_a_damaged_store() -> None:
    error = StoreDamaged("a\n.json", "\u202eΩ\0" * 1_000, "a task", 1, 1)
    found = error.details["found"]
    assert isinstance(found, str)
    assert len(found) <= FOUND_LIMIT
    assert error.message.isprintable()
    assert str(error.details["file"]) == "a\\u{a}.json"


def test_a_copy_of_an_error_is_the_same_error_for_another_caller() -> None:
    error = StoreDamaged("a.json", "'x'", "a task", 1, 2)
    copy = error.copy()
    assert (type(copy), copy.message, copy.details, copy.args) == (
        type(error),
        error.message,
        error.details,
        error.args,
    )
    assert copy is not error


def test_an_error_that_looks_something_up_is_a_lookup_error() -> None:
    assert isinstance(TaskNotFound("x"), LookupError)
