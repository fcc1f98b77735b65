"""Reader of Shrimp Task Manager: every shape that real lists have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_formats.record import Contents, ForeignTask, SourceFile
from task_formats.shrimp import find, read, signs
from tests.formats.strategies import json_values

pytestmark = pytest.mark.requirement("MV-7", "MV-8")

ID = "8f14e45f-ceea-467f-ab12-0123456789ab"
WHOLE = {
    "id": ID,
    "name": "A name",
    "description": "Text",
    "notes": "A note",
    "status": "completed",
    "dependencies": [{"taskId": "b"}, "c", {"taskId": "b"}],
    "createdAt": "2026-01-02T03:04:05.678Z",
    "updatedAt": "2026-01-02T03:04:06.678Z",
    "completedAt": "2026-01-02T03:04:07.678Z",
    "summary": "Done so",
    "relatedFiles": [{"path": "a.py", "type": "TO_MODIFY", "lineStart": 1}],
    "implementationGuide": "Do",
    "verificationCriteria": "1. one\n2. two",
    "analysisResult": "Long",
    "agent": "x",
}


def source(*tasks: object, name: str = "tasks.json") -> list[SourceFile]:
    return [SourceFile(name, json.dumps({"tasks": tasks}).encode())]


def texts(reading: Contents) -> list[str]:
    return [f"{problem.place} {problem.text}" for problem in reading.problems]


def test_everything_in_a_task_has_a_place() -> None:
    assert read(source(WHOLE)) == Contents(
        (
            ForeignTask(
                ID,
                "A name",
                "Text",
                "done",
                "completed",
                dependencies=("b", "c"),
                created="2026-01-02T03:04:05.678000Z",
                updated="2026-01-02T03:04:06.678000Z",
                closed="2026-01-02T03:04:07.678000Z",
                criteria=("one", "two"),
                notes=("**Implementation guide**\n\nDo", "A note"),
                result="Done so",
                rest={
                    "relatedFiles": '[{"path": "a.py", "type": "TO_MODIFY", "lineStart": 1}]',
                    "analysisResult": "Long",
                    "agent": "x",
                },
                place="tasks.json:1",
            ),
        )
    )


@pytest.mark.parametrize(
    ("status", "state"),
    [("pending", "open"), ("in_progress", "active"), ("blocked", "blocked"), ("completed", "done"), ("odd", "open")],
)
def test_statuses_become_states(status: str, state: str) -> None:
    reading = read(source({"id": "a", "name": "b", "status": status}))
    assert [(task.state, task.status) for task in reading.tasks] == [(state, status)]
    assert reading.unknown_statuses == ({"odd"} if status == "odd" else set())


@pytest.mark.parametrize(
    ("record", "words", "task"),
    [
        (5, "tasks.json:1 This is not a task: an object is expected.", None),
        ({"status": "x"}, "tasks.json:1 This is not a task: it has no id and no name.", None),
        ({"name": "x"}, "tasks.json:1 There is no id; the task gets tasks.json:1.", ("tasks.json:1", "x")),
        ({"id": "x"}, "tasks.json:1 There is no name; the id is used.", ("x", "x")),
        (
            {"id": "x", "name": "y", "createdAt": 5},
            "tasks.json:1 createdAt: '5' is not a date",
            ("x", "y"),
        ),
    ],
)
def test_a_record_that_is_not_right_is_named(record: object, words: str, task: tuple[str, str] | None) -> None:
    reading = read(source(record))
    assert [(each.id, each.title) for each in reading.tasks] == ([task] if task else [])
    assert [each[: len(words)] for each in texts(reading)] == [words]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"tasks": [\n{"id": ', "tasks.json:2 Not valid JSON: "),
        ("5", "tasks.json There is no list of tasks."),
        ('{"tasks": {}}', "tasks.json There is no list of tasks."),
        ('{"tasks": [], "b": 1, "a": 2}', "tasks.json a, b: not read"),
    ],
)
def test_a_file_without_tasks_is_named(text: str, words: str) -> None:
    reading = read([SourceFile("tasks.json", text.encode())])
    assert [each[: len(words)] for each in texts(reading)] == [words]


def test_odd_dependencies_are_kept_as_text() -> None:
    edges = [{"taskId": "b"}, {"name": "c"}, ""]
    (task,) = read(source({"id": "a", "name": "b", "dependencies": edges})).tasks
    assert (task.dependencies, task.rest) == ((), {"dependencies": json.dumps(edges)})


@pytest.mark.parametrize("folder", ["", "data", "shrimp_data_x", ".shrimp"])
def test_cleared_tasks_are_offered(tmp_path: Path, folder: str) -> None:
    data = tmp_path / folder
    (data / "memory").mkdir(parents=True)
    names = ["tasks.json", "memory/tasks_memory_1.json", "memory/tasks_memory_2.json"]
    for name in names:
        (data / name).write_text(json.dumps({"tasks": [WHOLE]}))
    assert find(tmp_path) == [data / name for name in names]
    assert find(data / "tasks.json") == [data / "tasks.json"]
    prefix = f"{folder}/" if folder else ""
    reading = read([SourceFile(prefix + name, (data / name).read_bytes()) for name in names])
    assert (len(reading.tasks), reading.left_out, reading.problems) == (1, {"files in memory": 2}, ())
    warning = f"{prefix}memory has 2 files of cleared tasks; import that folder to have them too."
    assert reading.warnings == (warning,)
    memory = find(data / "memory")
    assert memory == [data / name for name in names[1:]]
    reading = read([SourceFile(file.name, file.read_bytes()) for file in memory])
    assert [task.id for task in reading.tasks] == [ID, f"{ID}-2"]
    assert texts(reading) == [f"tasks_memory_2.json:1 tasks_memory_1.json:1 has the id {ID} too; this task got {ID}-2."]


def test_other_files_are_not_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("")
    assert find(tmp_path) == []


def test_the_signs_are_counted() -> None:
    names = "tasks with name, createdAt and a UUID"
    edges = "dependencies with taskId"
    fields = "implementationGuide, verificationCriteria or relatedFiles"
    assert signs(source({**WHOLE, "dependencies": [{"taskId": "b"}]}, name="x")) == (names, edges, fields)
    assert signs(source({"id": ID, "name": "a", "createdAt": "b", "dependencies": []})) == (names,)
    assert signs(source({"id": 1, "title": "a", "dependencies": [2]})) == signs(source()) == ()
    assert signs(source(WHOLE, name="memory/a.json")) == ()


@given(st.binary(max_size=200), json_values([*WHOLE, "x"]))
@settings(max_examples=50, deadline=None)
def test_no_input_raises(data: bytes, value: object) -> None:
    files = [SourceFile("a.json", data), *source(value, {**WHOLE, "dependencies": value, "status": value})]
    reading = read(files)
    signs(files)
    assert {problem.place for problem in reading.problems} | {task.place for task in reading.tasks} >= {
        *("tasks.json:1", "tasks.json:2")
    }
    assert reading.problems
