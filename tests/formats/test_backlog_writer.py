"""Writer of Backlog.md (MV-6): out and back gives the same tasks, or a report of what differs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from task_formats.backlog import read, write
from task_formats.record import Contents, ForeignTask, Remark, State, Writing
from tests.formats.strategies import TASKS

pytestmark = pytest.mark.requirement("MV-7")

WHOLE = ForeignTask(
    "task-1",
    "Fix: the #1 thing's end",
    "Text\n\n## Own\n\n- [ ] a\n\n## Acceptance Criteria\n\nnot one",
    "active",
    "Doing",
    "critical",
    ("api", "web, old", "yes", "1.10"),
    "task-0",
    ("task-2", "task-3"),
    "2026-01-02T03:04:00Z",
    "2026-01-02T03:04:05.000006Z",
    "2026-01-02T03:04:05Z",
    "2026-01-03",
    ("[x] works\nwith\n\n  code", "[ ] odd", "#1 too", "- dash"),
    ("**Implementation Plan**\n\n1. do", "a note"),
    "Result",
    {
        "assignee": "@sara, @x",
        "ordinal": "1000",
        "references": '["a, b"]',
        "Comments": "author: x\n\nhi",
        "Definition of Done": "- [x] #1 y",
        "own": '{"a": ["b"]}',
        "odd": "[not JSON",
        "milestone": "m-1",
    },
)


def come_back(writing: Writing) -> Contents:
    return read(writing.files)


def test_a_task_with_everything_comes_back() -> None:
    writing = write([WHOLE])
    assert writing.problems == tuple(
        Remark("", f"{name} (1): Backlog.md does not know this field, and drops it when it changes the task.")
        for name in ("completed_date", "odd", "own")
    )
    reading = come_back(writing)
    place = "tasks/task-1 - Fix-the-1-thing-s-end.md"
    assert reading == Contents((replace(WHOLE, place=place),))
    assert [file.name for file in writing.files] == ["config.yml", place]


def test_the_files_are_those_of_the_tool() -> None:
    task = ForeignTask("T-1", "A title", "Text", criteria=("[x] one", "two"), notes=("n",), created="2026-01-02")
    config, file = write([task]).files
    assert config.data.decode() == (
        'project_name: "Exported tasks"\ndefault_status: "To Do"\nstatuses: ["To Do", "Done"]\n'
        'labels: []\ndate_format: "yyyy-mm-dd"\ntask_prefix: "t"\n'
    )
    assert file.data.decode() == (
        "---\nid: T-1\ntitle: A title\nstatus: To Do\nassignee: []\ncreated_date: '2026-01-02'\nlabels: []\n"
        "dependencies: []\n---\n\n## Description\n\n<!-- SECTION:DESCRIPTION:BEGIN -->\nText\n"
        "<!-- SECTION:DESCRIPTION:END -->\n\n## Acceptance Criteria\n<!-- AC:BEGIN -->\n- [x] #1 one\n- [ ] #2 two\n"
        "<!-- AC:END -->\n\n## Implementation Notes\n\n<!-- SECTION:NOTES:BEGIN -->\nn\n<!-- SECTION:NOTES:END -->\n"
    )


@pytest.mark.parametrize(
    ("state", "status", "name", "written"),
    [
        ("open", "", "tasks/task-x - t.md", "To Do"),
        ("open", "Pending", "tasks/task-x - t.md", "Pending"),
        ("open", "Awaiting Merge", "tasks/task-x - t.md", "Awaiting Merge"),
        ("review", "Awaiting Merge", "tasks/task-x - t.md", "Review"),
        ("blocked", "", "tasks/task-x - t.md", "Blocked"),
        ("done", "Complete", "tasks/task-x - t.md", "Complete"),
        ("done", "Awaiting Merge", "completed/task-x - t.md", "Awaiting Merge"),
        ("cancelled", "", "archive/tasks/task-x - t.md", "Cancelled"),
        ("cancelled", "Done", "archive/tasks/task-x - t.md", "Cancelled"),
        ("cancelled", "To Do", "archive/tasks/task-x - t.md", "To Do"),
    ],
)
def test_folder_and_status_say_the_state(state: State, status: str, name: str, written: str) -> None:
    writing = write([ForeignTask("x", "t", state=state, status=status)])
    (task,) = come_back(writing).tasks
    assert (task.place, task.state, task.status) == (name, state, written)


def test_the_last_status_is_one_that_is_done() -> None:
    states: list[tuple[State, str]] = [("done", "Complete"), ("open", "Idea"), ("done", "Closed"), ("active", "")]
    config = write([ForeignTask(f"{n}", "t", state=it, status=word) for n, (it, word) in enumerate(states)]).files[0]
    assert b'default_status: "Idea"\nstatuses: ["Idea", "In Progress", "Complete", "Closed"]\n' in config.data


def test_names_of_files_are_safe_and_differ() -> None:
    tasks = [ForeignTask("../a", "///"), ForeignTask("..-A", "con: é\x00"), ForeignTask("é", "é" * 99)]
    tasks += [ForeignTask("..:A", "con: é\x00"), ForeignTask("漢" * 60, "漢" * 60)]
    assert [file.name for file in write(tasks).files[1:]] == [
        "tasks/task-..-a.md",
        "tasks/task-..-A - con-é.md",
        f"tasks/task-é - {'é' * 60}.md",
        "tasks/task-..-A - con-é-2.md",
        f"tasks/task-{'漢' * 55} - {'漢' * 9}.md",
    ]


def test_what_cannot_be_held_is_reported() -> None:
    task = ForeignTask(
        "1",
        "two\nlines",
        "a\n<!-- SECTION:DESCRIPTION:END -->\nb",
        updated="yesterday",
        due="2026-01-02T03:04:05+02:00",
        notes=("a", "b"),
        criteria=("", "x"),
        rest={"title": "taken", "blank": " ", "nested": '[{"a": 1}]'},
    )
    writing = write([task])
    assert [problem.text.partition(":")[0] for problem in writing.problems] == [
        *("nested (1)", "title", "text", "updated", "criteria", "notes", "title", "nested"),
    ]
    assert {problem.place for problem in writing.problems} == {"", "1"}
    (back,) = come_back(writing).tasks
    assert back.text == "a\n<!--SECTION:DESCRIPTION:END-->\nb"
    assert back.due == "2026-01-02T01:04:05Z"
    assert back.rest["updated_date"] == "yesterday"
    assert Remark("1", "notes: ('a', 'b') is written as ('a\\n\\nb',).") in writing.problems


def test_a_task_whose_id_is_not_kept_is_reported() -> None:
    writing = write([ForeignTask("a  b", "t"), ForeignTask("c", "t" * 99, dependencies=("x" * 99,), priority="low")])
    assert writing.problems == (Remark("a  b", "The task cannot be written."),)


@given(TASKS)
@settings(max_examples=50, deadline=None)
def test_out_and_back_gives_the_same_tasks_or_a_report(tasks: list[ForeignTask]) -> None:
    writing = write(tasks)
    back = {task.id: task for task in come_back(writing).tasks}
    assert back.keys() == {task.id for task in tasks}
    reported = {(problem.place, problem.text.partition(":")[0]) for problem in writing.problems}
    for task in tasks:
        other = back[task.id]
        for name in ("title", "text", "state", "priority", "criteria", "result", "labels", "notes"):
            value = getattr(task, name)
            assert not value or value == getattr(other, name) or (task.id, name) in reported
        assert task.state == other.state
        assert task.title == other.title
    again = write([*back.values()])
    assert {problem.text.partition(":")[0] for problem in again.problems if problem.place} <= {"status"}
    assert {task.id: task for task in come_back(again).tasks} == back
