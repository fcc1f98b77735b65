"""Reader and writer of Beads (MV-6): every shape that real exports have."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_formats.beads import find, read, signs, write
from task_formats.record import Contents, ForeignTask, Remark, SourceFile
from tests.formats.strategies import TASKS, json_values

pytestmark = pytest.mark.requirement("MV-7", "MV-8")

WHOLE = {
    "_type": "issue",
    "id": "bd-a1b.2",
    "title": "A title",
    "description": "Text",
    "design": "So",
    "acceptance_criteria": "- [x] one\n- two",
    "notes": "A note",
    "status": "closed",
    "priority": 4,
    "issue_type": "bug",
    "created_at": "2026-01-02T03:04:05.123456789-08:00",
    "updated_at": "2026-01-02T03:04:05+00:00",
    "closed_at": "2026-01-02T03:04:05Z",
    "due_at": "soon",
    "close_reason": "Fixed",
    "labels": ["api", "web, old"],
    "assignee": "",
    "estimated_minutes": 30,
    "metadata": {"a": [1]},
    "comments": [{"author": "x", "text": "hi"}],
    "dependencies": [
        {"issue_id": "bd-a1b.2", "depends_on_id": "bd-a1b", "type": "parent-child", "created_by": "x"},
        {"issue_id": "bd-a1b.2", "depends_on_id": "bd-9", "type": "blocks"},
        {"issue_id": "bd-a1b.2", "depends_on_id": "bd-8", "type": "related", "created_at": "2026-01-02T03:04:05Z"},
        {"issue_id": "bd-7", "depends_on_id": "bd-8", "type": "blocks"},
    ],
}


def export(*lines: object, name: str = "issues.jsonl") -> list[SourceFile]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return [SourceFile(name, text.encode())]


def issue(**fields: object) -> dict[str, object]:
    return {"id": "bd-1", "title": "t", "status": "open", "created_at": "2026-01-02T03:04:05Z"} | fields


def texts(reading: Contents) -> list[str]:
    return [f"{problem.place} {problem.text}" for problem in reading.problems]


def test_everything_in_an_issue_has_a_place() -> None:
    reading = read(export(WHOLE))
    edges = WHOLE["dependencies"]
    assert isinstance(edges, list)
    assert reading.tasks == (
        ForeignTask(
            "bd-a1b.2",
            "A title",
            "Text",
            "done",
            "closed",
            "low",
            ("api", "web, old"),
            "bd-a1b",
            ("bd-9",),
            "2026-01-02T03:04:05.123456-08:00",
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05Z",
            None,
            ("[x] one", "two"),
            ("**Design**\n\nSo", "A note"),
            "Fixed",
            {
                "priority": "4",
                "issue_type": "bug",
                "due_at": "soon",
                "estimated_minutes": "30",
                "metadata": '{"a": [1]}',
                "comments": '[{"author": "x", "text": "hi"}]',
                "dependencies": json.dumps(edges[2:]),
            },
            "issues.jsonl:1",
        ),
    )
    assert texts(reading) == ["issues.jsonl:1 due_at: 'soon' is not a date; it is kept as text."]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("open", "open"),
        ("in_progress", "active"),
        ("hooked", "active"),
        ("blocked", "blocked"),
        ("deferred", "deferred"),
        ("pinned", "open"),
        ("closed", "done"),
        ("", "open"),
        ("triage", "open"),
    ],
)
def test_statuses_become_states(status: str, state: str) -> None:
    reading = read(export(issue(status=status)))
    assert [(task.state, task.status) for task in reading.tasks] == [(state, status)]
    assert reading.unknown_statuses == ({"triage"} if status == "triage" else set())


def test_what_is_not_work_is_counted() -> None:
    kinds = ["event", "event", "message", "agent", "molecule", "convoy"]
    others = [issue(status="tombstone"), issue(is_template=True), {"_type": "memory", "key": "k"}]
    reading = read(export(*(issue(issue_type=kind) for kind in kinds), *others, issue(issue_type="epic")))
    assert reading.left_out == {
        "event": 2,
        "message": 1,
        "agent": 1,
        "molecule": 1,
        "convoy": 1,
        "tombstone": 1,
        "template": 1,
        "memory": 1,
    }
    assert [task.rest for task in reading.tasks] == [{"issue_type": "epic"}]


@pytest.mark.parametrize(
    ("fields", "relations"),
    [
        ({"dependencies": [{"id": "bd-2", "type": "blocks"}]}, (None, ("bd-2",), "")),
        ({"dependencies": [{"id": "bd-2", "dependency_type": "parent-child"}]}, ("bd-2", (), "")),
        ({"dependencies": ["bd-2", " ", "bd-2"], "blocked_by": ["bd-3"]}, (None, ("bd-3", "bd-2"), "")),
        ({"blocked_by": "bd-3, bd-4", "parent": "bd-5"}, ("bd-5", ("bd-3", "bd-4"), "")),
        ({"dependencies": [{"type": "blocks"}, 5]}, (None, (), '[{"type": "blocks"}, 5]')),
        ({"dependencies": "bd-2"}, (None, ("bd-2",), "")),
        ({"dependencies": {}}, (None, (), "")),
    ],
)
def test_relations_are_read_in_every_form(fields: dict[str, object], relations: tuple[object, ...]) -> None:
    (task,) = read(export(issue(**fields))).tasks
    assert (task.parent, task.dependencies, task.rest.get("dependencies", "")) == relations


def test_a_second_parent_is_kept_beside_the_first_and_reported() -> None:
    edges = [{"depends_on_id": name, "type": "parent-child"} for name in ("bd-2", "bd-3", "bd-2")]
    reading = read(export(issue(dependencies=edges)))
    assert [(task.parent, task.rest) for task in reading.tasks] == [("bd-2", {"dependencies": json.dumps(edges[1:2])})]
    assert texts(reading) == ["issues.jsonl:1 bd-1 has a second parent, bd-3; the first one counts."]


@pytest.mark.parametrize(
    ("priority", "read_as", "rest"),
    [
        *((number, word, {}) for number, word in enumerate(["critical", "high", "medium", "low"])),
        (4, "low", {"priority": "4"}),
        ("P1", "high", {}),
        (None, None, {}),
        (9, None, {"priority": "9"}),
    ],
)
def test_priorities_are_read(priority: object, read_as: str | None, rest: dict[str, str]) -> None:
    (task,) = read(export(issue(priority=priority))).tasks
    assert (task.priority, task.rest) == (read_as, rest)


@pytest.mark.parametrize(
    ("line", "words", "task"),
    [
        ('{"id": "bd-1", "tit', ":2 Not valid JSON: ", None),
        ("<<<<<<< HEAD", ":2 Not valid JSON: ", None),
        ("null", ":2 null is not an issue.", None),
        ("5", ":2 5 is not an issue.", None),
        ('{"status": "open"}', ":2 This is not a task: it has no id and no title.", None),
        ('{"title": "a"}', ":2 There is no id; the task gets issues.jsonl:2.", ("issues.jsonl:2", "a")),
        ('{"id": 5, "title": " "}', ":2 There is no title; the id is used.", ("5", "5")),
        (
            '{"id": "bd-1", "title": "a\\nb"}',
            ":2 issues.jsonl:1 has the id bd-1 too; this task",
            ("bd-1-2", "a b"),
        ),
    ],
)
def test_a_line_that_is_not_right_is_named(line: str, words: str, task: tuple[str, str] | None) -> None:
    reading = read(export(issue(), line, "", "\t"))
    assert [(each.id, each.title) for each in reading.tasks[1:]] == ([task] if task else [])
    assert [each[: len("issues.jsonl") + len(words)] for each in texts(reading)] == [f"issues.jsonl{words}"]


@pytest.mark.parametrize("indent", [None, 2])
def test_one_json_document_is_read_too(indent: int | None) -> None:
    reading = read(export(json.dumps([issue(), issue(id="bd-2")], indent=indent)))
    assert [(task.id, task.place) for task in reading.tasks] == [
        ("bd-1", "issues.jsonl[0]"),
        ("bd-2", "issues.jsonl[1]"),
    ]
    assert [task.id for task in read(export(json.dumps(issue(), indent=2))).tasks] == ["bd-1"]
    assert texts(read(export("[\n{]")))[0].startswith("issues.jsonl:2 Not valid JSON: ")


def test_marks_line_ends_and_invalid_bytes_do_no_harm() -> None:
    data = b'\xef\xbb\xbf{"id": "bd-1", "title": "a"}\r\n{"id": "bd-2", "title": "\xff"}\r\n'
    reading = read([SourceFile("issues.jsonl", data)])
    assert [task.id for task in reading.tasks] == ["bd-1"]
    assert [problem.place for problem in reading.problems] == ["issues.jsonl:2", "issues.jsonl:2"]


def test_a_database_beside_the_export_makes_it_perhaps_stale(tmp_path: Path) -> None:
    folder = tmp_path / ".beads"
    (folder / "dolt" / "db" / ".dolt").mkdir(parents=True)
    issues, state = folder / "issues.jsonl", folder / "dolt" / "db" / ".dolt" / "repo_state.json"
    issues.write_text(json.dumps(issue()))
    assert find(tmp_path) == find(folder) == find(issues) == [issues]
    state.write_text("{}")
    assert find(tmp_path) == find(folder) == find(issues) == [issues, state]
    reading = read([SourceFile(file.name, file.read_bytes()) for file in find(folder)])
    assert len(reading.tasks) == 1
    assert reading.warnings == (
        "issues.jsonl comes from a database and may be out of date: `bd export -o issues.jsonl` updates it.",
    )
    assert reading.problems == ()


def test_other_lists_are_found(tmp_path: Path) -> None:
    for name in ("beads.jsonl", "x.json"):
        (tmp_path / name).write_text("")
    assert find(tmp_path) == find(tmp_path / "beads.jsonl") == [tmp_path / "beads.jsonl"]
    assert find(tmp_path / "x.json") == [tmp_path / "x.json"]
    assert find(tmp_path / "missing") == []


def test_the_signs_are_counted() -> None:
    name, fields, kinds = (
        "the name of its list of issues",
        "issues with title, status and an id such as bd-a1b",
        "issues with issue_type or created_at",
    )
    memory = {"_type": "memory"}
    assert signs(export(issue(), memory, "{half")) == (name, fields, kinds)
    assert signs(export(issue(), name="out.json")) == (fields, kinds)
    assert signs(export(issue(id=5), name="out.json")) == (kinds,)
    assert signs(export({"id": "a-1", "title": "t", "status": "open"}, name="x.jsonl")) == (fields,)
    assert signs(export(issue(), 5)) == signs(export(memory)) == (name,)


def test_an_issue_with_everything_comes_back() -> None:
    (task,) = read(export({**WHOLE, "due_at": "2026-01-02T03:04:05Z"})).tasks
    writing = write([task])
    assert writing.problems == ()
    assert [file.name for file in writing.files] == [""]
    assert read(writing.files).tasks == (replace(task, place=":1"),)
    written = json.loads(writing.files[0].data)
    assert (written["priority"], written["estimated_minutes"], written["metadata"]) == (4, 30, {"a": [1]})


def test_an_issue_is_one_that_bd_import_accepts() -> None:
    task = ForeignTask("a", "t", state="done", status="Complete", updated="2026-01-02", criteria=("All is well.",))
    writing = write([task, ForeignTask("b", "u", state="active", status="hooked")])
    assert [json.loads(line) for line in writing.files[0].data.splitlines()] == [
        {
            "id": "a",
            "title": "t",
            "acceptance_criteria": "All is well.",
            "status": "closed",
            "priority": 2,
            "issue_type": "task",
            "updated_at": "2026-01-02T00:00:00Z",
            "closed_at": "2026-01-02T00:00:00Z",
        },
        {"id": "b", "title": "u", "status": "hooked", "priority": 2, "issue_type": "task"},
    ]
    assert writing.problems == (Remark("a", "updated: '2026-01-02' is written as '2026-01-02T00:00:00Z'."),)


def test_what_cannot_be_held_is_reported() -> None:
    rest = {"metadata": '{"a": 1}', "ordinal": "5", "estimated_minutes": "long", "comments": "[", "owner": "x"}
    task = ForeignTask(
        "a", "é" * 251, state="cancelled", closed="soon", notes=("n", "**Design**\n\nd"), rest=rest, criteria=("a", "")
    )
    writing = write([task, ForeignTask("b", "t", closed="2026-01-02T03:04:05Z", state="review", status="own")])
    assert [f"{problem.place} {problem.text.partition(':')[0]}" for problem in writing.problems] == [
        "a The title has more than 500 bytes; shorten it for bd import.",
        *(f"a {name}" for name in ("state", "closed", "criteria", "notes")),
        *(f"a {name}" for name in ("metadata", "ordinal", "estimated_minutes", "comments")),
        *(f"b {name}" for name in ("state", "status", "closed")),
    ]
    assert json.loads(writing.files[0].data.splitlines()[0])["metadata"] == {
        "ordinal": "5",
        "estimated_minutes": "long",
        "comments": "[",
        "a": 1,
    }


@given(TASKS)
@settings(max_examples=50, deadline=None)
def test_out_and_back_gives_the_same_tasks_or_a_report(tasks: list[ForeignTask]) -> None:
    writing = write(tasks)
    back = read(writing.files)
    assert back.problems == ()
    reported = {(problem.place, problem.text.partition(":")[0]) for problem in writing.problems}
    assert [task.id for task in back.tasks] == [task.id for task in tasks]
    for task, other in zip(tasks, back.tasks, strict=True):
        for name in ("title", "text", "state", "priority", "criteria", "result", "labels", "notes", "parent"):
            value = getattr(task, name)
            assert not value or value == getattr(other, name) or (task.id, name) in reported
        assert (task.title, task.text, task.labels, task.parent) == (
            other.title,
            other.text,
            other.labels,
            other.parent,
        )
    again = write(back.tasks)
    assert again.problems == ()
    assert read(again.files).tasks == back.tasks


@given(st.binary(max_size=200), json_values([*WHOLE, "x"]))
@settings(max_examples=50, deadline=None)
def test_no_input_raises(data: bytes, value: object) -> None:
    files = [SourceFile("a.jsonl", data), *export(value, {**WHOLE, "labels": value, "dependencies": [value]}, name="b")]
    reading = read(files)
    signs(files)
    read([*files, SourceFile("metadata.json", data)])
    assert len(reading.tasks) + len(reading.problems) + sum(reading.left_out.values()) >= 1


@given(st.integers(0, 900), st.integers(0, 9), st.text(max_size=6))
@settings(max_examples=50)
def test_no_change_of_a_line_raises(start: int, length: int, new: str) -> None:
    text = json.dumps(WHOLE)
    reading = read(export(text[:start] + new.replace("\n", "") + text[start + length :]))
    assert reading.tasks or reading.problems or reading.left_out
