"""The readers of JSON: Claude Code, GitHub, Task Master (MV-7, MV-8)."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_formats.formats import FORMATS, Unreadable, load, recognise
from task_formats.record import Contents, ForeignTask, SourceFile

CLAUDE: dict[str, object] = {
    "id": "1",
    "subject": "Paint the fence",
    "description": "Two coats",
    "activeForm": "Painting the fence",
    "owner": "me",
    "status": "in_progress",
    "blocks": ["3"],
    "blockedBy": ["2"],
}
TODO = {"content": "Buy paint", "status": "completed", "activeForm": "Buying paint"}
ISSUE = {
    "number": 7,
    "title": "The door sticks",
    "body": "It sticks.",
    "state": "CLOSED",
    "stateReason": "NOT_PLANNED",
    "labels": [{"name": "bug"}, {"name": "priority: high"}],
    "assignees": [{"login": "somebody"}],
    "author": {"login": "other"},
    "milestone": {"title": "spring", "dueOn": "2026-03-01T00:00:00Z"},
    "comments": [{"author": {"login": "a"}, "createdAt": "2026-01-01T00:00:00Z", "body": "Yes."}],
    "parent": {"number": 3},
    "blockedBy": {"nodes": [{"number": 5}]},
    "subIssues": [{"number": 9}],
    "createdAt": "2026-01-02T03:04:05Z",
    "url": "https://github.example/x/y/issues/7",
}
MASTER: dict[str, object] = {
    "id": 1,
    "title": "Build the shed",
    "description": "Of wood",
    "details": "First the floor",
    "testStrategy": "It stands",
    "status": "in-progress",
    "priority": "high",
    "dependencies": [],
    "subtasks": [
        {"id": 1, "title": "Floor", "status": "done", "dependencies": []},
        {"id": 2, "title": "Walls", "status": "P0", "dependencies": [1, "2", 3], "parentTaskId": 1},
    ],
}


def files(*values: object, name: str = "tasks.json") -> list[SourceFile]:
    return [SourceFile(name, json.dumps(value).encode()) for value in values]


def read(name: str, *values: object) -> Contents:
    return FORMATS[name].read(files(*values))


@pytest.mark.requirement("MV-7")
def test_a_task_of_claude_code_keeps_its_text_status_and_what_it_waits_for() -> None:
    found = FORMATS["claude-tasks"].read(files(CLAUDE, name="1.json"))
    rest = {"activeForm": "Painting the fence", "owner": "me", "blocks": "3"}
    assert found.tasks == (
        ForeignTask(
            "1",
            "Paint the fence",
            "Two coats",
            "active",
            "in_progress",
            dependencies=("2",),
            rest=rest,
            place="1.json",
        ),
    )


@pytest.mark.requirement("MV-8")
def test_older_todos_of_claude_code_are_read_and_nothing_else_is_lost() -> None:
    found = read("claude-tasks", [TODO, {"status": "odd", "id": "9"}, 5, {"theme": "dark"}])
    assert [(task.title, task.state) for task in found.tasks] == [("Buy paint", "done"), ("tasks:9", "open")]
    assert found.unknown_statuses == {"odd"}
    assert [problem.place for problem in found.problems] == ["tasks.json:2", "tasks.json:3", "tasks.json:4"]


@pytest.mark.requirement("MV-4")
def test_a_todo_keeps_its_id_when_others_come_before_it_in_its_file_or_in_another_one() -> None:
    def ids(**todos: object) -> set[str]:
        sources = [SourceFile(f"{name}.json", json.dumps(value).encode()) for name, value in todos.items()]
        found = FORMATS["claude-tasks"].read(sources)
        assert not found.problems
        return {task.id for task in found.tasks}

    before = ids(b=[TODO, TODO])
    assert len(before) == 2
    assert before < ids(a=[TODO], b=[{"content": "Sweep", "status": "pending"}, TODO, TODO])


@pytest.mark.requirement("MV-8")
def test_all_lists_of_claude_code_are_read_from_their_folder(tmp_path: Path) -> None:
    for name, number in (("one", 10), ("one", 2), ("two", 2)):
        place = tmp_path / name / f"{number}.json"
        place.parent.mkdir(exist_ok=True)
        place.write_text(json.dumps({**CLAUDE, "id": str(number), "blocks": ["2"], "blockedBy": []}), "utf-8")
        (place.parent / ".lock").touch()
    found = FORMATS["claude-tasks"].read(load("claude-tasks", tmp_path))
    assert [(task.id, task.dependencies) for task in found.tasks] == [
        ("one:2", ("one:2", "one:10")),
        ("one:10", ()),
        ("two:2", ("two:2",)),
    ]
    assert not found.problems
    (one,) = FORMATS["claude-tasks"].read(load("claude-tasks", tmp_path / "two")).tasks
    assert one.id == "2"


@pytest.mark.requirement("MV-7")
def test_an_issue_keeps_people_comments_and_relations() -> None:
    (task,) = read("github", [ISSUE]).tasks
    assert (task.id, task.title, task.text, task.state) == ("7", "The door sticks", "It sticks.", "cancelled")
    assert (task.parent, task.dependencies, task.priority) == ("3", ("5",), "high")
    assert task.labels == ("bug", "priority: high")
    assert task.rest == {
        "assignees": "somebody",
        "author": "other",
        "milestone": "spring",
        "milestone.dueOn": "2026-03-01T00:00:00Z",
        "subIssues": "9",
        "comments": "a 2026-01-01T00:00:00Z\nYes.",
        "url": "https://github.example/x/y/issues/7",
    }


@pytest.mark.requirement("MV-7")
def test_relations_that_only_the_other_issue_names_are_kept() -> None:
    away = {"number": 2, "url": "https://github.example/x/other/issues/2"}
    first: dict[str, object] = {**ISSUE, "number": 1, "parent": None, "blockedBy": [away]}
    first["subIssues"] = {"nodes": [{"number": 2}, {"number": 3}, {"number": 8}]}
    others = [
        {"number": 2, "title": "b", "parent": {"number": 1}},
        {"number": 3, "title": "c", "parent": {"number": 4}},
    ]
    first["blocking"] = [{"number": number} for number in (2, 3, 5)]
    found = read("github", [first, *others, {"number": 5, "parent": 1, "blockedBy": [{"number": 1}, 1]}])
    assert (found.tasks[3].title, [problem.text for problem in found.problems]) == (
        "5",
        ["There is no title; the number is used."],
    )
    assert [(task.id, task.parent, task.dependencies) for task in found.tasks] == [
        ("1", None, ("https://github.example/x/other/issues/2",)),
        ("2", "1", ("1",)),
        ("3", "4", ("1",)),
        ("5", "1", ("1",)),
    ]
    assert found.tasks[0].rest["subIssues"] == "3, 8"


@pytest.mark.requirement("MV-8")
@pytest.mark.parametrize(
    ("field", "value", "kept"),
    [
        ("labels", [{"color": "red"}], '[{"color": "red"}]'),
        ("assignees", [True], "[true]"),
        ("comments", 5, "5"),
        ("comments", [{"author": {"login": "a"}}], '[{"author": {"login": "a"}}]'),
        ("comments", [{"author": "ghost", "body": "No."}], "ghost\nNo."),
        ("author", "somebody", "somebody"),
        ("milestone", {"number": 3}, '{"number": 3}'),
        ("parent", {"id": "I_1"}, '{"id": "I_1"}'),
        ("createdAt", "yesterday", "yesterday"),
    ],
)
def test_a_field_in_another_shape_is_kept_as_it_is(field: str, value: object, kept: str) -> None:
    (task,) = read("github", [{"number": 1, "title": "t", field: value}]).tasks
    assert task.rest == {field: kept}


@pytest.mark.requirement("MV-8")
@pytest.mark.parametrize(
    ("issues", "words"),
    [
        ([{"number": n, "title": "t", "state": "CLOSED"} for n in range(30)], ["30 issues"]),
        ([{"number": 1, "title": "t", "state": "OPEN"}], ["No issue is closed"]),
        ([{"number": 1, "title": "t", "state": "CLOSED"}], []),
    ],
)
def test_a_list_of_issues_that_may_be_a_part_is_reported(issues: list[object], words: list[str]) -> None:
    warnings = read("github", issues).warnings
    assert len(warnings) == len(words)
    assert all(word in text for word, text in zip(words, warnings, strict=True))


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        ({"tasks": [MASTER]}, ["1", "1.1", "1.2"]),
        ({"master": {"tasks": [MASTER], "metadata": {}}}, ["1", "1.1", "1.2"]),
        ({"master": [MASTER]}, ["1", "1.1", "1.2"]),
        (
            {"a": {"tasks": [MASTER]}, "b": {"tasks": [{"id": "HAM-1", "title": "x"}]}},
            ["a:1", "a:1.1", "a:1.2", "b:HAM-1"],
        ),
    ],
)
@pytest.mark.requirement("MV-8")
def test_task_master_is_read_with_tags_and_without(value: object, ids: list[str]) -> None:
    found = read("taskmaster", value)
    assert [task.id for task in found.tasks] == ids
    assert not found.problems


@pytest.mark.requirement("MV-7")
def test_a_task_of_task_master_keeps_its_fields_and_a_dependency_on_a_sibling() -> None:
    task, _, walls = read("taskmaster", {"tasks": [MASTER]}).tasks
    assert (task.notes, task.criteria, task.priority, task.state) == (
        ("First the floor",),
        ("It stands",),
        "high",
        "active",
    )
    assert (walls.parent, walls.dependencies, walls.state) == ("1", ("1.1", "1.2", "3"), "open")


@pytest.mark.requirement("MV-4", "MV-8")
def test_the_ids_of_a_tag_stay_when_another_tag_comes() -> None:
    main, other = {"master": {"tasks": [MASTER]}}, {"next": {"tasks": [{"id": 1, "title": "x"}]}}
    alone = [*read("taskmaster", main).tasks, *read("taskmaster", other).tasks]
    both = read("taskmaster", {**main, **other}).tasks
    assert [task.id for task in both] == [task.id for task in alone] == ["1", "1.1", "1.2", "next:1"]
    assert [task.labels for task in both] == [*[("tag:master",)] * 3, ("tag:next",)]
    assert [task.labels for task in alone] == [*[()] * 3, ("tag:next",)]


@pytest.mark.requirement("MV-8")
def test_subtasks_stay_below_their_own_task_if_its_id_is_repeated() -> None:
    other = {
        "id": "1",
        "title": "Other",
        "subtasks": [{"title": "Roof"}, {"id": 2, "title": "Door", "dependencies": [2, 1]}],
    }
    third = {"id": 1, "title": "Third", "parentTaskId": 4, "parentId": "undefined"}
    found = read("taskmaster", {"tasks": [MASTER, other, third]})
    assert [(task.id, task.parent, task.dependencies) for task in found.tasks[3:]] == [
        ("1-2", None, ()),
        ("1-2.1", "1-2", ()),
        ("1-2.2", "1-2", ("1-2.2", "1-2.1")),
        ("1-3", None, ()),
    ]
    assert found.tasks[-1].rest == {"parentTaskId": "4"}
    assert [problem.place for problem in found.problems] == ["tasks.json:2", "tasks.json:3"]


@pytest.mark.requirement("MV-8")
def test_everything_beside_the_tasks_of_a_tag_is_counted_or_named() -> None:
    metadata = {"created": "2026-01-02"}
    value = {"a": {"tasks": [MASTER], "metadata": metadata, "more": 1}, "b": [MASTER], "metadata": metadata}
    found = read("taskmaster", value)
    assert found.left_out == {"metadata of tags": 2}
    assert [problem.text.partition(":")[0] for problem in found.problems] == ["a.more", "b"]


@pytest.mark.requirement("MV-8")
@pytest.mark.parametrize("name", ["claude-tasks", "github", "taskmaster"])
@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[1]", b"7", b"\xff\xfe{", b'{"message": "Not Found"}', b'{"tasks": 3}', b'{"a": {"tasks": 1}}'],
)
def test_what_is_no_list_of_tasks_is_named(name: str, data: bytes) -> None:
    found = FORMATS[name].read([SourceFile("x.json", data)])
    assert found.problems
    assert all(problem.place.startswith("x.json") for problem in found.problems)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*CLAUDE, *ISSUE, *MASTER]), inner),
    max_leaves=12,
)


@pytest.mark.requirement("MV-8")
@settings(max_examples=50)
@given(JSON, st.sampled_from(["claude-tasks", "github", "taskmaster"]))
def test_no_json_stops_a_reader(value: object, name: str) -> None:
    found = read(name, {"tasks": value} if name == "taskmaster" else value)
    assert all(task.id and task.title for task in found.tasks)
    assert len({task.id for task in found.tasks}) == len(found.tasks)
    places = {it.place for it in (*found.tasks, *found.problems)}
    count = len(value) if isinstance(value, list) else 0
    assert {f"tasks.json:{number}" for number in range(1, count + 1)} <= places


@pytest.mark.requirement("MV-1")
def test_older_todos_of_claude_code_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[]", "utf-8")
    (tmp_path / "b.json").write_text(json.dumps([TODO]), "utf-8")
    assert recognise(tmp_path)[0] == "claude-tasks"


@pytest.mark.requirement("MV-1")
def test_a_folder_without_files_of_the_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="has no files of GitHub: name the file"):
        load("github", tmp_path)


@pytest.mark.requirement("MV-8")
def test_a_file_that_cannot_be_read_is_refused() -> None:
    if (memory := Path("/proc/self/mem")).exists():  # reading its start fails for everybody
        with pytest.raises(Unreadable, match="cannot be read"):
            load("github", memory)
