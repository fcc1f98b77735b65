"""Reader of Backlog.md: every shape that real projects have."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_formats.backlog import find, read, signs
from task_formats.backlog.front_matter import parse_mapping
from task_formats.record import Contents, ForeignTask, SourceFile

pytestmark = pytest.mark.requirement("MV-7", "MV-8")

CONFIG = 'project_name: "X"\nstatuses: ["To Do", "In Progress", "Awaiting Merge", "Shipped"]\n'

WHOLE = """---
id: task-7.1
title: >-
  A title that
  is folded
status: In Progress
assignee:
  - '@sara'
created_date: '2026-01-02 03:04'
updated_date: 03-02-26
due_date: '2026-05-06 07:08'
completed_date: soon
labels: [api, 'web, old']
dependencies:
  - TASK-7
  - task-99
parent_task_id: TASK-7
priority: High
ordinal: 1.10
references: []
epic: yes
---

Before any heading.

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
Line 1

## A heading of its own
<!-- SECTION:DESCRIPTION:END -->

## Risks

None.

## Acceptance Criteria
<!-- AC:BEGIN -->
- [x] #1 works
  with details
- [ ] #2 is tested
* plain

Later:
<!-- AC:END -->

## Definition of Done
<!-- DOD:BEGIN -->
- [ ] #1 reviewed
<!-- DOD:END -->

## Implementation Plan

1. do

## Implementation Notes

```
## not a heading
```
after

## Comments
<!-- COMMENTS:BEGIN -->
author: @sara

Fine.
<!-- COMMENTS:END -->

## Comments

By hand.

## Final Summary

<!-- SECTION:FINAL_SUMMARY:BEGIN -->
Done so.
<!-- SECTION:FINAL_SUMMARY:END -->
"""


def sources(**files: str) -> list[SourceFile]:
    names = {"config": "backlog/config.yml", "root": "backlog.config.yml"}
    return [SourceFile(names.get(name, name.replace("__", "/") + ".md"), text.encode()) for name, text in files.items()]


def task_file(front: str, body: str = "") -> list[SourceFile]:
    return [SourceFile("tasks/task-1 - A-name.md", f"---\n{front}\n---\n{body}".encode())]


def texts(reading: Contents) -> list[str]:
    return [f"{problem.place} {problem.text}" for problem in reading.problems]


def test_everything_in_a_file_has_a_place() -> None:
    seven = "---\nid: task-7\ntitle: Seven\nstatus: Shipped\n---\n"
    reading = read(sources(config=CONFIG, backlog__tasks__7=seven, backlog__tasks__epics__71=WHOLE))
    first, task = reading.tasks
    assert (first.id, first.state, first.place) == ("task-7", "done", "backlog/tasks/7.md")
    text = "Before any heading.\n\nLine 1\n\n## A heading of its own\n\n## Risks\n\nNone."
    assert task == ForeignTask(
        "task-7.1",
        "A title that is folded",
        f"{text}\n\n## Acceptance Criteria\n\nLater:\n\n## Comments\n\nBy hand.",
        "active",
        "In Progress",
        "high",
        ("api", "web, old"),
        "task-7",
        ("task-7", "task-99"),
        "2026-01-02T03:04:00Z",
        "2026-02-03",
        None,
        "2026-05-06T07:08:00Z",
        ("[x] works\nwith details", "is tested", "plain"),
        ("**Implementation Plan**\n\n1. do", "```\n## not a heading\n```\nafter"),
        "Done so.",
        {
            "assignee": "@sara",
            "completed_date": "soon",
            "ordinal": "1.10",
            "epic": "yes",
            "Definition of Done": "- [ ] #1 reviewed",
            "Comments": "author: @sara\n\nFine.",
        },
        "backlog/tasks/epics/71.md",
    )
    assert texts(reading) == ["backlog/tasks/epics/71.md completed_date: 'soon' is not a date; it is kept as text."]


@pytest.mark.parametrize(
    ("place", "status", "state"),
    [
        ("tasks", "To Do", "open"),
        ("tasks", "", "open"),
        ("tasks", "In-Progress", "active"),
        ("tasks", "shipped", "done"),
        ("tasks", "Completed", "done"),
        ("tasks", "Skipped", "cancelled"),
        ("tasks", "Draft", "deferred"),
        ("tasks", "Awaiting Merge", "open"),
        ("drafts", "To Do", "deferred"),
        ("drafts", "Done", "done"),
        ("completed", "In Progress", "done"),
        ("archive/tasks", "Done", "done"),
        ("archive/tasks", "Awaiting Merge", "cancelled"),
        ("archive/drafts", "", "cancelled"),
    ],
)
def test_folder_and_status_give_the_state(place: str, status: str, state: str) -> None:
    file = SourceFile(f"backlog/{place}/x.md", f"---\nid: T-1\ntitle: x\nstatus: '{status}'\n---\n".encode())
    reading = read([*sources(config=CONFIG), file])
    assert [(task.state, task.status) for task in reading.tasks] == [(state, status)]
    assert reading.unknown_statuses == ({"Awaiting Merge"} if (place, status) == ("tasks", "Awaiting Merge") else set())
    assert reading.problems == ()


@pytest.mark.parametrize(
    ("statuses", "status", "state"),
    [
        ("[Idea, Live]", "idea", "open"),
        ("[Idea, Live]", "live", "done"),
        ("[To Do, Done, Canceled]", "Canceled", "cancelled"),
        ("To Do, Live", "Live", "done"),
    ],
)
def test_the_configuration_says_which_statuses_are_first_and_last(statuses: str, status: str, state: str) -> None:
    root = f"backlog_directory: docs/backlog\nstatuses: {statuses}\n"
    files = sources(root=root, docs__backlog__tasks__a=f"---\nid: 1\ntitle: x\nstatus: {status}\n---\n")
    reading = read(files)
    assert [task.state for task in reading.tasks] == [state]
    assert not reading.unknown_statuses


@pytest.mark.parametrize(
    ("front", "task", "words"),
    [
        ("id: 1\ntitle: a: b\nstatus: x", ("1", "a: b", "x"), ":3 The YAML is not valid; it is read as title: 'a: b'"),
        ("id: 1\ntitle: 'it's'\nstatus: x", ("1", "it's", "x"), ":3 The YAML is not valid; it is read as title: "),
        ('id: 1\ntitle: a\nstatus: "a "b""', ("1", "a", 'a "b"'), ":4 The YAML is not valid"),
        ("id: 1\ntitle: fix #3 now", ("1", "fix #3 now", ""), ":3 Backlog.md takes what follows the # for a comment"),
        ("id: 1\ntitle: a\ntitle: b", ("1", "b", ""), ":4 title is given more than once; 'a' is not read."),
        ("title: no id", ("task-1", "no id", ""), " There is no id; the task gets task-1."),
        ("id: 5", ("5", "5", ""), " There is no title; the id is used."),
        ("id: {a: [1]}\ntitle: b", ('{"a": ["1"]}', "b", ""), ""),
        ("id: 1\ntitle: [WIP] a", ("1", "[WIP] a", ""), ":3 The YAML is not valid; it is read as title: '[WIP] a'"),
    ],
)
def test_front_matter_that_is_not_right_is_repaired_and_reported(front: str, task: tuple[str, ...], words: str) -> None:
    reading = read(task_file(front))
    assert [(task.id, task.title, task.status) for task in reading.tasks] == [task]
    assert len(reading.problems) == bool(words)
    assert all(text.startswith(f"tasks/task-1 - A-name.md{words}") for text in texts(reading))


@pytest.mark.parametrize(
    ("value", "assignee"),
    [("@x", "@x"), ("[@x, 'y']", "@x, y"), ("\n  - @x\n  - y", "@x, y"), ("{a: @x}", None), ("|\n  @x", "@x")],
)
def test_names_that_begin_with_an_at_sign_are_read(value: str, assignee: str | None) -> None:
    reading = read(task_file(f"id: 1\ntitle: a\nassignee: {value}"))
    assert [task.rest.get("assignee") for task in reading.tasks] == ([assignee] if assignee else [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# A list\n", ":1 The file has no front matter."),
        ("", ":1 The file has no front matter."),
        ("---\nid: 1\ntitle: a\n", ":1 The front matter has no end (---)."),
        ("---\n- a\n---\n", ":2 The YAML has no keys."),
        ("---\n---\n", ":2 The YAML has no keys."),
        ("---\nid: 1\n\ttitle: a\n---\n", ":3 The YAML is not valid: "),
        ("---\nid: \x07\n---\n", ":2 The YAML is not valid: "),
        ("---\nid: &a [*a]\n---\n", ":2 The YAML is not readable: it has aliases (*name)."),
        ("---\nname: a skill\n---\n", " This is not a task: it has no id and no title."),
    ],
)
def test_a_file_that_is_not_a_task_is_named(text: str, words: str) -> None:
    reading = read([SourceFile("a.md", text.encode())])
    assert reading.tasks == ()
    assert [each[: len(words) + 4] for each in texts(reading)] == [f"a.md{words}"]


def test_yaml_that_is_too_deep_is_named() -> None:
    for value in ("[" * 60 + "]" * 60, "[" * 900 + "]" * 900, "{a: " * 5000):
        reading = read(task_file(f"id: {value}"))
        assert (reading.tasks, len(reading.problems)) == ((), 1)
        assert " The YAML is not " in texts(reading)[0]


@pytest.mark.parametrize(
    "text",
    [
        f"---\nid: 1{' ' * 100_000}#\ntitle: a\n---\n",
        f"---\nid: 1\ntitle: a: b{' ' * 100_000}c\n---\n",
        "---\nid: 1\ntitle: a\n---\n" + "```a\n## b\n" * 20_000,
        "---\nid: 1\ntitle: a\n---\n" + f"## Acceptance Criteria\n- {' ' * 100_000}\n",
    ],
    ids=["blanks before a comment", "blanks in a broken line", "fences", "an empty item"],
)
def test_long_lines_do_not_hold_the_reader_up(text: str) -> None:
    assert [task.id for task in read([SourceFile("a.md", text.encode())]).tasks] == ["1"]


@pytest.mark.parametrize(
    ("body", "notes"),
    [
        ("~~~~ a\n## b\n~~~\n## c\n  ~~~~~ \n## d", "~~~~ a\n## b\n~~~\n## c\n  ~~~~~"),
        ("```\n## b\n``` c\n", "```"),
        ("a ``` b\n## c", "a ``` b"),
    ],
)
def test_a_heading_in_a_fence_is_text(body: str, notes: str) -> None:
    (task,) = read(task_file("id: 1\ntitle: a", f"## Implementation Notes\n{body}")).tasks
    assert task.notes == (notes,)


def test_marks_line_ends_and_invalid_bytes_do_no_harm() -> None:
    data = b"\xef\xbb\xbf---\r\nid: 1\r\ntitle: a\r\n---\r\n\r\n## Description\r\n\r\nb\xff\r\n"
    reading = read([SourceFile("a.md", data)])
    assert [(task.id, task.text) for task in reading.tasks] == [("1", "b\\xff")]
    assert texts(reading) == ["a.md:8 Bytes that are not UTF-8, the first one here, became \\xNN."]


def test_a_section_without_an_end_ends_at_the_next_heading() -> None:
    body = "\n## Implementation Notes\n\n<!-- SECTION:NOTES:BEGIN -->\nn\n\n## Own\n\no\n\n## Final Summary\n\n"
    reading = read(task_file("id: 1\ntitle: a", f"{body}<!-- SECTION:FINAL_SUMMARY:BEGIN -->\nr\n"))
    (task,) = reading.tasks
    assert (task.notes, task.text, task.result) == (("n",), "## Own\n\no", "r")
    assert [each.partition(" - A-name.md:")[2].partition(" ")[2] for each in texts(reading)] == [
        f"{title} has no end marker; it is read up to the next heading."
        for title in ("Implementation Notes", "Final Summary")
    ]
    assert [problem.place.rpartition(":")[2] for problem in reading.problems] == ["6", "15"]


def test_sections_that_occur_twice_are_both_kept() -> None:
    titles = ("Final Summary", "Implementation Notes", "Description", "Definition of Done", "Acceptance Criteria")
    body = "".join(f"## {title}\n- [X] {number}{title[0]}\n" for number in "12" for title in titles)
    (task,) = read(task_file("id: 1\ntitle: a", body)).tasks
    assert (task.result, task.notes, task.text, task.criteria, task.rest) == (
        "- [X] 1F\n\n- [X] 2F",
        ("- [X] 1I", "- [X] 2I"),
        "- [X] 1D\n\n- [X] 2D",
        ("[x] 1A", "[x] 2A"),
        {"Definition of Done": "- [X] 1D\n\n- [X] 2D"},
    )


def test_repeated_ids_get_a_suffix_and_relations_lead_to_the_first() -> None:
    fronts = ["id: task-1\ntitle: a", "id: TASK-1\ntitle: b\ndependencies: [1, 2]", "id: task-1.2\ntitle: c"]
    reading = read([SourceFile(f"{n}.md", f"---\n{front}\n---\n".encode()) for n, front in enumerate(fronts)])
    assert [(task.id, task.parent, task.dependencies) for task in reading.tasks] == [
        ("task-1", None, ()),
        ("TASK-1-2", None, ("task-1", "2")),
        ("task-1.2", "task-1", ()),
    ]
    assert texts(reading) == ["1.md 0.md has the id TASK-1 too; this task got TASK-1-2."]


def test_what_is_not_a_task_is_counted() -> None:
    names = ["docs__a", "decisions__a", "milestones__m-1", "archive__milestones__m-2"]
    reading = read(sources(**{f"backlog__{name}": "x" for name in names}))
    assert reading == Contents(left_out={"documents": 1, "decisions": 1, "milestones": 2})


def test_a_configuration_that_is_broken_is_reported() -> None:
    reading = read([SourceFile("config.yml", b"a: {\n"), SourceFile("config.yaml", b"\xff: a")])
    assert [each[:36] for each in texts(reading)] == ["config.yml:2 The YAML is not valid: "]


def make(root: Path, *names: str) -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("backlog_directory: 'docs/own'\n" if name == "backlog.config.yml" else "x")


@pytest.mark.parametrize("folder", ["backlog", ".backlog", "docs/own", ""])
def test_the_files_of_a_project_are_found(tmp_path: Path, folder: str) -> None:
    root = tmp_path / folder
    names = ["config.yml", "tasks/task-2 - a.md", "tasks/task-10 - b.md", "tasks/epics/task-3.md", "drafts/draft-1.md"]
    make(root, *names, "completed/task-1.md", "archive/tasks/task-0.md", "docs/doc-1.md", "README.md", "tasks/a.txt")
    settings = [] if folder != "docs/own" else ["backlog.config.yml"]
    make(tmp_path, *settings)
    found = [file.relative_to(tmp_path).as_posix() for file in find(tmp_path)]
    order = [*names[:1], names[3], *names[1:3], names[4], "completed/task-1.md", "archive/tasks/task-0.md"]
    assert found == [*settings, *(f"{folder}/{name}".lstrip("/") for name in [*order, "docs/doc-1.md"])]
    assert [file.name for file in find(root / "tasks")] == ["task-3.md", "task-2 - a.md", "task-10 - b.md"]
    assert find(root / "README.md") == [root / "README.md"]
    assert find(root / "config.yml") == []


@pytest.mark.parametrize("place", ["/etc", "../x", "missing"])
def test_a_folder_outside_the_project_is_not_searched(tmp_path: Path, place: str) -> None:
    (tmp_path / "backlog.config.yml").write_text(f"backlog_directory: {place}\n")
    assert find(tmp_path) == []


def test_the_signs_are_counted() -> None:
    task = "---\nid: task-1\ntitle: a\nstatus: b\n---\n"
    one, two = "front matter with id, title and status", "a file that is named for its id"
    assert signs(sources(config=CONFIG, **{"backlog__docs__a": "x", "backlog__tasks__TASK-1 - a": task})) == (
        "a configuration with project_name and statuses",
        one,
        two,
    )
    assert signs(sources(a="x", b=task, c="x")) == (one,)
    assert signs(sources(README="---\ntitle: a\n---\n")) == ()
    assert signs(sources(a="---\nid:\ntitle: a\nstatus: b\n---\n")) == (one,)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a: b c\nd: 'e: #'\n", {"a": "b c", "d": "e: #"}),
        ("a:\n  - b\n  - 'c'\nd: []\ne:\n- f-1\ng: \n", {"a": ["b", "c"], "d": [], "e": ["f-1"], "g": ""}),
        ("a: 2026-01-02 03:04\nb: ''  \n", {"a": "2026-01-02 03:04", "b": ""}),
    ],
)
def test_all_values_of_front_matter_are_text(text: str, values: dict[str, object]) -> None:
    assert parse_mapping(text, []) == values


@given(st.lists(st.tuples(st.sampled_from(["tasks/a", "docs/b", "config.yml", "c"]), st.binary(max_size=200))))
@settings(max_examples=50)
def test_no_bytes_raise(contents: list[tuple[str, bytes]]) -> None:
    account_for([SourceFile(f"{n}/{name}", data) for n, (name, data) in enumerate(contents)])


@given(st.lists(st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 9), st.text(max_size=6)), max_size=6))
@settings(max_examples=50)
def test_no_change_of_a_file_raises(edits: list[tuple[int, int, str]]) -> None:
    text = WHOLE
    for start, length, new in edits:
        text = text[:start] + new + text[start + length :]
    account_for([SourceFile("tasks/a.md", text.encode("utf-8", "surrogatepass"))])


def account_for(files: list[SourceFile]) -> None:
    reading = read(files)
    signs(files)
    named = {task.place for task in reading.tasks} | {problem.place.partition(":")[0] for problem in reading.problems}
    others = [file.name for file in files if file.name not in named and not file.name.endswith("config.yml")]
    assert len(others) == sum(reading.left_out.values())
    assert len({task.id.casefold() for task in reading.tasks}) == len(reading.tasks)
    assert all(task.title and task.title == " ".join(task.title.split()) for task in reading.tasks)
