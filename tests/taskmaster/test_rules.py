"""The rules of dependencies, status and the next task, as tables of small projects (TM-33 to TM-49)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic import JsonValue

from task_core.errors import TaskError, TaskNotFound
from taskmaster_mcp.core.creating import add_note, add_subtask, add_task, find_free_number, merge_metadata, set_fields
from taskmaster_mcp.core.graph import add_dependency, drop_dependencies, find_issues, fix_dependencies
from taskmaster_mcp.core.items import ProjectItem, TagTasks, format_stamp
from taskmaster_mcp.core.moving import convert_to_task
from taskmaster_mcp.core.status import choose_next, describe_next_step, find_blocked, set_status
from taskmaster_mcp.core.tags import move_to_tag, note_new_name
from taskmaster_mcp.errors import (
    AmbiguousDependency,
    CircularDependency,
    LimitExceeded,
    Refused,
    SubtaskNotFound,
)
from tests.taskmaster.conftest import NOW, STAMP, Object, item, shape, task_list

DONE = {"status": "done"}
STARTED = {"status": "in-progress"}
BARE: Object = {"id": 1}


@pytest.mark.requirement("TM-40", "TM-92")
@pytest.mark.parametrize(
    ("tasks", "found"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param([item(1, **DONE)], None, id="all done"),
        pytest.param([item(1), item(2, priority="high")], "2", id="priority"),
        pytest.param([item(1, priority="high"), item(2, priority="critical")], "2", id="critical first"),
        pytest.param([item(1, priority="low"), item(2, priority="odd")], "2", id="odd priority is medium"),
        pytest.param([item(1, **DONE), item(2, 1), item(3)], "3", id="fewest dependencies"),
        pytest.param([item(2), item(1)], "1", id="lowest id"),
        pytest.param([item(10), item("9")], "9", id="ids are numbers"),
        pytest.param([item(1), item(2, 1, priority="high")], "1", id="waits"),
        pytest.param([item(1, status="cancelled"), item(2, "1")], "2", id="cancelled satisfies"),
        pytest.param([item(1, status="completed"), item(2, 1)], "2", id="completed satisfies"),
        pytest.param([item(1, status="deferred"), item(2, 1)], None, id="deferred does not"),
        pytest.param([item(1, 7)], None, id="missing blocks"),
        pytest.param([item(1, **STARTED), item(2, priority="high")], "2", id="in-progress task itself waits its turn"),
        pytest.param([item(1, priority="high"), item(2, **STARTED, subtasks=[item(1)])], "2.1", id="subtask first"),
        pytest.param([item(1, **STARTED, subtasks=[item(1, **DONE), item(2, 1)])], "1.2", id="sibling done"),
        pytest.param([item(1, **STARTED, subtasks=[item(2, 1), item(1)])], "1.1", id="sibling open"),
        pytest.param([item(1, **STARTED, subtasks=[item(1), item(2, priority="high")])], "1.2", id="own priority"),
        pytest.param(
            [item(1, **STARTED, subtasks=[BARE]), item(2, **STARTED, priority="high", subtasks=[BARE])],
            "2.1",
            id="priority of the task",
        ),
        pytest.param([item(1, subtasks=[item(1)]), item(2)], "1", id="subtasks of pending tasks wait"),
        pytest.param(
            [item(1, **STARTED, subtasks=[item(1, "3")]), item(3, priority="high")], "3", id="subtask waits for a task"
        ),
        pytest.param([item(1, **STARTED, subtasks=[item(1, **STARTED)])], "1.1", id="subtask in progress"),
        pytest.param([item(1, status="review"), item(2, status="blocked")], None, id="other words are not open"),
    ],
)
def test_the_next_task_follows_priority_dependencies_and_id(tasks: list[Object], found: str | None) -> None:
    ready = choose_next(task_list(*tasks))
    assert (ready.id if ready else None) == found


@pytest.mark.requirement("TM-41")
def test_what_is_blocked_says_what_it_waits_for_and_what_to_do_is_one_sentence() -> None:
    tasks = task_list(
        item(1, 2, 9), item(2, 1, subtasks=[item(1, 2), item(2, **DONE)]), *(item(n, 1) for n in range(3, 9))
    )
    assert choose_next(tasks) is None
    assert find_blocked(tasks)[:3] == [
        {"id": "1", "waitsFor": ["2", "9"]},
        {"id": "2", "waitsFor": ["1"]},
        {"id": "3", "waitsFor": ["1"]},
    ]
    assert len(find_blocked(tasks)) == 5
    assert describe_next_step(None).startswith("Nothing is ready")
    started = task_list(item(1, **STARTED, subtasks=[item(1)]))
    assert describe_next_step(started.get("1")).startswith("Go on with task 1;")
    assert describe_next_step(started.get("1.1")).startswith("Set subtask 1.1 to 'in-progress' with set_task_status")


@pytest.mark.requirement("TM-34")
@pytest.mark.parametrize(
    ("stored", "of_task", "of_subtask"),
    [
        (1, "1", "5.1"),
        ("1", "1", "5.1"),
        (3, "3", "3"),
        ("3", "3", "3"),
        ("5.1", "5.1", "5.1"),
        ("3.1", "3.1", "3.1"),
        (3.1, "3.1", "3.1"),
        (1.0, "1", "5.1"),
        (" 03 ", "3", "3"),
        ("01", "1", "5.1"),
        (True, "", ""),
        (None, "", ""),
        ("x", "x", "x"),
    ],
    ids=repr,
)
def test_a_stored_dependency_means_a_sibling_or_a_task(stored: JsonValue, of_task: str, of_subtask: str) -> None:
    tasks = task_list(item(3, subtasks=[item(1)]), item(5, subtasks=[item(1), item("5.2")]))
    assert tasks.get("5").resolve(stored) == of_task
    assert tasks.get("5.2").resolve(stored) == of_subtask


@pytest.mark.requirement("TM-34")
def test_ids_that_are_not_numbers_are_compared_as_they_are_stored() -> None:
    form = [item("form"), item("submit", "form"), item("last", "API-7", "form.x", "login.form")]
    tasks = task_list(item("login", subtasks=form), item("API-7"), item(3.1), item(4, 3.1, subtasks=[item(4.1)]))
    assert shape(tasks)["login.last"] == ["API-7", "form.x", "login.form"]
    targets = {it.id: it.targets for it in tasks.items if it.dependencies}
    assert targets == {
        "login.submit": ["login.form"],
        "login.last": ["API-7", "form.x", "login.form"],
        "4": ["3.1"],
    }
    assert [it.id for it in tasks.items][-2:] == ["4", "4.1"]
    assert [(it.type, it.target) for it in fix_dependencies(tasks)] == [("missing", "form.x")]
    assert tasks.next_number() == 5
    assert task_list(item(6.5)).next_number() == 7


@pytest.mark.requirement("TM-34")
@pytest.mark.parametrize("to_text", [int, str])
def test_a_number_means_a_task_if_its_sibling_waits_for_the_subtask(to_text: type[int | str]) -> None:
    subtasks = [item(1, to_text(2)), item(2, to_text(1))]
    tasks = task_list(item(1), item(2), item(3, 1, 2, subtasks=subtasks))
    assert (tasks.get("3.1").targets, tasks.get("3.2").targets) == (["2"], ["3.1"])
    assert [it.type for it in find_issues(tasks) if it.type != "ambiguous"] == []
    assert fix_dependencies(tasks) == []


@pytest.mark.requirement("TM-34", "TM-61")
def test_where_no_reading_is_free_of_cycles_nothing_is_removed() -> None:
    tasks = task_list(item(2, 3), item(3, subtasks=[item(1, 2), item(2, 1)]))
    before = shape(tasks)
    assert [(it.type, it.id, it.is_repairable) for it in find_issues(tasks)] == [("ambiguous", "3.1", False)]
    assert (fix_dependencies(tasks), shape(tasks)) == ([], before)


@pytest.mark.requirement("TM-35", "TM-59")
@pytest.mark.parametrize(
    ("source", "target", "stored"),
    [
        ("login.submit", "login.form", ["form"]),
        ("login.submit", "API-7", ["API-7"]),
        ("4", "login.form", ["login.form"]),
        ("4", "3.1", ["3.1"]),
    ],
)
def test_a_dependency_on_an_id_that_is_not_a_number_is_stored_as_that_id(
    source: str, target: str, stored: list[JsonValue]
) -> None:
    login = item("login", subtasks=[item("form"), item("submit")])
    tasks = task_list(login, item("API-7"), item(3.1), item(4))
    assert add_dependency(tasks, tasks.get(source), target)
    assert (tasks.get(source).dependencies, tasks.get(source).targets) == (stored, [target])


@pytest.mark.requirement("TM-35", "TM-59")
@pytest.mark.parametrize(
    ("source", "target", "stored"),
    [
        ("1", "2", [2]),
        ("1", "2.1", ["2.1"]),
        ("2.2", "2.1", [1]),
        ("2.2", "3", ["3"]),
        ("2.2", "3.1", ["3.1"]),
        ("4", "1", ["x", "2.10", 3, "2.1", 1]),
    ],
)
def test_a_new_dependency_is_stored_as_the_file_says_it(source: str, target: str, stored: list[JsonValue]) -> None:
    tasks = task_list(
        item(1), item(2, subtasks=[item(1), item(2)]), item(3, subtasks=[item(1)]), item(4, "x", "2.10", 3, "2.1")
    )
    assert add_dependency(tasks, tasks.get(source), target)
    assert tasks.get(source).dependencies == stored
    assert not add_dependency(tasks, tasks.get(source), target)


def test_in_a_tag_of_text_ids_a_dependency_is_text() -> None:
    tasks = task_list(item("1"), item("2"))
    add_dependency(tasks, tasks.get("2"), "1")
    assert tasks.get("2").dependencies == ["1"]


def test_a_dependency_on_a_text_id_that_a_sibling_has_too_is_refused() -> None:
    tasks = task_list(item("login", subtasks=[item("form"), item("submit")]), item("form"))
    with pytest.raises(AmbiguousDependency, match=r"login\.form"):
        add_dependency(tasks, tasks.get("login.submit"), "form")
    assert tasks.get("login.submit").dependencies == []


@pytest.mark.requirement("TM-35", "TM-36", "TM-92")
@pytest.mark.parametrize(
    ("source", "target", "error", "path"),
    [
        ("1", "1", Refused, None),
        ("2.1", "2.1", Refused, None),
        ("1", "2", CircularDependency, ["1", "2", "1"]),
        ("1", "3", CircularDependency, ["1", "3", "2", "1"]),
        ("2", "2.1", CircularDependency, ["2", "2.1", "2"]),
        ("2.1", "2", CircularDependency, ["2.1", "2", "2.1"]),
        ("2.1", "3", CircularDependency, ["2.1", "3", "2", "2.1"]),
        ("2.1", "2.2", CircularDependency, ["2.1", "2.2", "2.1"]),
        ("4.2", "1", AmbiguousDependency, None),
    ],
)
def test_what_could_never_be_done_is_refused(
    source: str, target: str, error: type[TaskError], path: list[str] | None
) -> None:
    tasks = task_list(
        item(1), item(2, 1, subtasks=[item(1), item(2, 1)]), item(3, 2), item(4, subtasks=[item(1), item(2)])
    )
    before = shape(tasks)
    with pytest.raises(error) as caught:
        add_dependency(tasks, tasks.get(source), target)
    assert caught.value.details.get("path") == path
    assert shape(tasks) == before


@pytest.mark.requirement("TM-35")
def test_a_new_subtask_takes_no_number_that_a_sibling_uses_for_a_task() -> None:
    tasks = task_list(item(1), item(2, subtasks=[item(1, "3")]), item(3), item(4), item(5))
    assert find_free_number(tasks, tasks.get("2")) == 2
    tasks = task_list(item(1, subtasks=[item(1, "2", "3")]), item(2), item(3))
    added = add_subtask(tasks, tasks.get("1"), {"title": "new"}, ["1", "2"])
    assert (added.id, added.fields["dependencies"]) == ("1.4", [1, "2"])
    assert tasks.get("1.1").targets == ["2", "3"]
    other = add_subtask(tasks, tasks.get("3"), {"title": "x"}, ["2"])
    assert (other.id, other.targets) == ("3.1", ["2"])


def test_a_new_subtask_that_would_close_a_cycle_is_refused() -> None:
    tasks = task_list(item(1, 2), item(2, subtasks=[]), item(3))
    with pytest.raises(CircularDependency):
        add_subtask(tasks, tasks.get("2"), {"title": "x"}, ["1"])
    with pytest.raises(TaskNotFound):
        add_subtask(tasks, tasks.get("3"), {"title": "x"}, ["9"])


@pytest.mark.requirement("TM-43", "TM-45", "TM-58")
def test_no_task_is_left_without_a_description_since_task_master_lists_no_tag_with_one() -> None:
    tasks = task_list(item(1, subtasks=[{"id": 1, "title": "Part"}]))
    assert add_task(tasks, {"title": "New", "description": " "}).fields["description"] == "New"
    set_fields(tasks, tasks.get("1"), {"description": ""})
    assert tasks.get("1").fields["description"] == "Title 1"
    new_id, _ = convert_to_task(tasks, tasks.get("1.1"))
    assert tasks.get(new_id).fields["description"] == "Part"
    sub = add_subtask(tasks, tasks.get("1"), {"title": "x"})
    assert sub.fields["description"] == ""


@pytest.mark.requirement("TM-23")
@pytest.mark.parametrize(
    ("stored", "as_task", "as_subtask"),
    [(1.0, "1", "7.1"), ("1.2", "1.2", "7.2"), (10**15, "1000000000000000", "7.1000000000000000"), (-1, "-1", "7.-1")],
)
def test_a_stored_id_is_read_as_a_number_where_it_is_one(stored: JsonValue, as_task: str, as_subtask: str) -> None:
    tasks = task_list({"id": stored}, item(7, subtasks=[{"id": stored}]))
    assert [found.id for found in tasks.items] == [as_task, "7", as_subtask]


@pytest.mark.requirement("TM-23", "TM-87")
def test_no_id_is_made_that_nothing_could_read() -> None:
    highest = 10**15 - 1
    tasks = task_list(item(1, subtasks=[item(highest)]), item(highest))
    with pytest.raises(LimitExceeded):
        add_task(tasks, {"title": "x"})
    with pytest.raises(LimitExceeded):
        add_subtask(tasks, tasks.get("1"), {"title": "x"})


@pytest.mark.requirement("TM-18", "TM-22")
@pytest.mark.parametrize(
    ("field", "value", "change"),
    [
        ("details", {"a": 1}, lambda tasks, task: add_note(tasks, task, "note", STAMP)),
        ("details", ["step 1"], lambda tasks, task: set_fields(tasks, task, {"details": "new"})),
        ("metadata", "mine", lambda tasks, task: merge_metadata(tasks, task, {"a": 1})),
        ("metadata", ["mine"], lambda tasks, task: move_to_tag(tasks, TagTasks("b", {}), [task], STAMP)),
        ("metadata", {"moveHistory": "x"}, lambda tasks, task: move_to_tag(tasks, TagTasks("b", {}), [task], STAMP)),
        ("dependencies", "2,3", lambda tasks, task: add_dependency(tasks, task, "2")),
        ("subtasks", {"a": {"id": 1}}, lambda tasks, task: add_subtask(tasks, task, {"title": "x"})),
    ],
)
def test_a_stored_value_of_another_type_is_kept_and_named(
    field: str, value: JsonValue, change: Callable[[TagTasks, ProjectItem], object]
) -> None:
    tasks = task_list({**item(1), field: value}, item(2))
    is_found = field != "metadata" or not isinstance(value, dict)
    assert [found.type for found in find_issues(tasks)] == ["odd-value"] * is_found
    task = tasks.get("1")
    with pytest.raises(Refused) as caught:
        change(tasks, task)
    assert caught.value.reason == "INVALID_TASKS_FILE"
    assert str(caught.value.details["field"]).startswith(field)
    assert task.fields[field] == value


@pytest.mark.requirement("TM-18", "TM-24")
def test_metadata_of_a_tag_that_is_a_note_stays() -> None:
    tasks = TagTasks("x", {"tasks": [], "metadata": "a note"})
    add_task(tasks, {"title": "x"})
    tasks.finish(lambda: NOW)
    assert tasks.value["metadata"] == "a note"
    assert note_new_name(tasks.value, "x", STAMP)["metadata"] == "a note"


def test_what_is_no_text_is_shown_as_it_is_written() -> None:
    assert task_list({"id": 1, "details": ["don't", True]}).get("1").text("details") == '["don\'t", true]'


@pytest.mark.requirement("TM-87")
def test_an_item_takes_no_more_dependencies_than_the_limit() -> None:
    tasks = task_list(item(1, *range(2, 202)), *(item(number) for number in range(2, 210)))
    with pytest.raises(LimitExceeded):
        add_dependency(tasks, tasks.get("1"), "205")


@pytest.mark.requirement("TM-87")
def test_a_tag_and_a_task_take_no_more_than_their_limit() -> None:
    tasks = task_list(*({"id": number} for number in range(5_000)))
    with pytest.raises(LimitExceeded):
        add_task(tasks, {"title": "x"})
    with pytest.raises(LimitExceeded):
        move_to_tag(task_list(item(6_000)), tasks, [ProjectItem({"id": 6_000})], STAMP)
    tasks.tasks[0].fields["subtasks"] = [item(1)]
    with pytest.raises(LimitExceeded):
        convert_to_task(tasks, tasks.get("0.1"))
    full = task_list(item(1, subtasks=[{"id": number} for number in range(200)]))
    with pytest.raises(LimitExceeded):
        add_subtask(full, full.get("1"), {"title": "x"})


def near_of(error: TaskError) -> list[JsonValue]:
    near = error.details["near"]
    assert isinstance(near, list)
    return near


@pytest.mark.requirement("TM-33")
def test_an_unknown_id_comes_with_those_that_are_near() -> None:
    tasks = task_list(item(1, subtasks=[item(1), item(2)]), item(12), item(13))
    with pytest.raises(TaskNotFound) as task:
        tasks.get("14")
    assert set(near_of(task.value)) == {"1", "12", "13"}
    with pytest.raises(SubtaskNotFound) as subtask:
        tasks.get("1.3")
    assert set(near_of(subtask.value)) == {"1.1", "1.2"}
    with pytest.raises(SubtaskNotFound):
        tasks.get("12.1")
    with pytest.raises(TaskNotFound):
        tasks.get("7.1")


@pytest.mark.requirement("TM-48", "TM-49", "TM-92")
@pytest.mark.parametrize(
    ("asked", "word", "after"),
    [
        (["1"], "done", {"1": "done", "1.1": "done", "1.2": "deferred"}),
        (["1"], "in-progress", {"1": "in-progress"}),
        (["1"], "cancelled", {"1": "cancelled"}),
        (["1.1"], "done", {"1": "in-progress", "1.1": "done"}),
        (["1.1", "1.2"], "done", {"1": "done", "1.1": "done", "1.2": "done"}),
        (["1.1"], "in-progress", {"1": "in-progress", "1.1": "in-progress"}),
        (["1.1"], "review", {"1.1": "review"}),
        (["1.2"], "pending", {"1.2": "pending"}),
        (["2.1"], "pending", {"2": "pending", "2.1": "pending"}),
        (["2.1", "2"], "blocked", {"2": "blocked", "2.1": "blocked"}),
        (["2.1", "2"], "done", {}),
        (["3"], "done", {"3": "done"}),
    ],
)
def test_a_task_closes_its_subtasks_and_follows_them(asked: list[str], word: str, after: dict[str, str]) -> None:
    tasks = task_list(
        item(1, subtasks=[item(1), item(2, status="deferred")]),
        item(2, **DONE, subtasks=[item(1, **DONE)]),
        item(3, **STARTED),
    )
    before = {found.id: found.status for found in tasks.items}
    changes = set_status(tasks, [tasks.get(name) for name in asked], word)
    assert {found.id: found.status for found in tasks.items} == before | after
    assert {found.id for found in tasks.touched} == {name for name in after if before[name] != after[name]}
    assert [(it.item.id, it.old, it.new) for it in changes.asked] == [(name, before[name], word) for name in asked]
    assert tasks.is_changed is bool(tasks.touched)


@pytest.mark.requirement("TM-60", "TM-61", "TM-92")
@pytest.mark.parametrize(
    ("tasks", "issues", "after"),
    [
        ([item(1), item(2, 1)], [], {}),
        ([item(1, 1)], [("self", "1", "1")], {"1": []}),
        ([item(1, 9)], [("missing", "1", "9")], {"1": []}),
        ([item(1), item(2, 1, "1")], [("duplicate", "2", "1")], {"2": [1]}),
        ([item(1, 2), item(2, 1)], [("circular", "1", "2"), ("circular", "2", "1")], {"2": []}),
        ([item(1, subtasks=[item(2), item(1, "1")])], [("self", "1.1", "1.1")], {"1.1": []}),
        ([item(1, "1.1", subtasks=[item(1)])], [("contained", "1", "1.1")], {"1": []}),
        ([item(3, subtasks=[item(1, 3)])], [("contained", "3.1", "3")], {"3.1": []}),
        ([item(1), item(2, subtasks=[item(1), item(2, "1")])], [("ambiguous", "2.2", "2.1")], {}),
        ([item(1), item(2, subtasks=[item(1), item(2, 1)])], [], {}),
        (
            [item(1, subtasks=[item(1, "2.1")]), item(2, subtasks=[item(1, "1.1")])],
            [("circular", "1.1", "2.1"), ("circular", "2.1", "1.1")],
            {"2.1": []},
        ),
        ([item(1, 2), item(2, subtasks=[item(1, "1.1")]), item(3)], [("missing", "2.1", "1.1")], {"2.1": []}),
    ],
)
def test_what_is_wrong_is_found_and_repaired_and_nothing_else(
    tasks: list[Object], issues: list[tuple[str, str, str]], after: Object
) -> None:
    found = task_list(*tasks)
    before = shape(found)
    assert [(it.type, it.id, it.target) for it in find_issues(found)] == issues
    removed = fix_dependencies(found)
    assert shape(found) == before | after
    assert {it.type for it in removed} == {kind for kind, *_ in issues} - {"ambiguous"}
    assert [it.type for it in find_issues(found) if it.type != "ambiguous"] == []
    assert found.is_changed is bool(after)
    assert fix_dependencies(found) == []


def test_a_cycle_over_a_subtask_is_one_too() -> None:
    tasks = task_list(item(1, 2), item(2, subtasks=[item(1, "1")]))
    tasks.get("2.1").fields["dependencies"] = ["1"]
    tasks.get("2.1").fields["id"] = 4
    assert [(it.type, it.id) for it in find_issues(tasks)] == [("circular", "1"), ("circular", "2.4")]
    fix_dependencies(tasks)
    assert find_issues(tasks) == []


def test_dropping_and_setting_what_is_so_already_changes_nothing() -> None:
    tasks = task_list(item(1), item(2, 1))
    assert drop_dependencies(tasks, lambda _, target: target == "7") == []
    set_fields(tasks, tasks.get("1"), {"title": "Title 1"})
    tasks.finish(lambda: NOW)
    assert not tasks.is_changed
    assert "updatedAt" not in tasks.get("1").fields


def test_a_moment_has_milliseconds_in_utc() -> None:
    assert format_stamp(NOW.replace(microsecond=123_999)) == "2026-03-01T12:00:00.123Z"
    assert TagTasks("x", {"tasks": 5}).tasks == []
