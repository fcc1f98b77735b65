"""What moves keeps its fields and its meaning, and what cannot be said any more is listed (TM-51 to TM-58)."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from task_core.errors import TaskError, TaskNotFound
from taskmaster_mcp.core.items import TagTasks
from taskmaster_mcp.core.moving import clear_subtasks, convert_to_subtask, convert_to_task, move, remove_items
from taskmaster_mcp.core.tags import move_to_tag
from taskmaster_mcp.errors import (
    BadValue,
    CircularDependency,
    CrossTagConflicts,
    Refused,
)
from tests.taskmaster.conftest import STAMP, Object, item, shape, tag, task_list


def many() -> TagTasks:
    return task_list(
        item(1),
        item(2, 1, "3", subtasks=[item(1, extra="kept"), item(2, 1, "3", "4.6"), item(5, 2)]),
        item(3, subtasks=[]),
        item(4, "2.1", 2, subtasks=[item(6, "2.1"), item(7, "1", "3")]),
        item(9, 4, "4.7"),
    )


BEFORE: Object = shape(many())


@pytest.mark.requirement("TM-52", "TM-53", "TM-54", "TM-55")
@pytest.mark.parametrize(
    ("source", "target", "after", "dropped"),
    [
        pytest.param("3", "3", {}, [], id="nothing"),
        pytest.param("3", "12", {"2": [1, "12"], "2.2": [1, "12", "4.6"], "4.7": ["1", "12"]}, [], id="task to id"),
        pytest.param("2", "12", {"4": ["12.1", 12], "4.6": ["12.1"]}, [], id="task with subtasks to id"),
        pytest.param("1", "5", {"2": [5, "3"], "4.7": ["5", "3"]}, [], id="the numbers of siblings stay"),
        pytest.param(
            "2.1", "2.9", {"2.2": [9, "3", "4.6"], "4": ["2.9", 2], "4.6": ["2.9"]}, [], id="subtask to number"
        ),
        pytest.param(
            "2.1", "3.1", {"2.2": ["3.1", "3", "4.6"], "4": ["3.1", 2], "4.6": ["3.1"]}, [], id="subtask to task"
        ),
        pytest.param("2.2", "3.4", {"2.5": ["3.4"], "3.4": ["2.1", "4.6"]}, [("3.4", "3")], id="from its siblings"),
        pytest.param(
            "2.1", "12", {"2.2": ["12", "3", "4.6"], "4": ["12", 2], "4.6": ["12"]}, [], id="subtask becomes task"
        ),
        pytest.param("2.5", "12", {"12": ["2.2"]}, [], id="sibling becomes dotted"),
        pytest.param(
            "3", "1.1", {"2": [1, "1.1"], "2.2": [1, "1.1", "4.6"], "4.7": ["1", "1.1"]}, [], id="becomes subtask"
        ),
        pytest.param("3", "4.3", {"2": [1, "4.3"], "2.2": [1, "4.3", "4.6"]}, [], id="becomes sibling"),
        pytest.param("1", "4.3", {"2": ["4.3", "3"], "4.7": [3]}, [("4.7", "3")], id="number is caught"),
        pytest.param("9", "4.3", {"4.3": [7], "4.7": ["1"]}, [("4.7", "3"), ("4.3", "4")], id="not on its own task"),
    ],
)
def test_dependencies_say_after_a_move_what_they_said_before(
    source: str, target: str, after: Object, dropped: list[tuple[str, str]]
) -> None:
    tasks = many()
    old = tasks.get(source)
    fields = {
        name: value
        for name, value in old.fields.items()
        if name not in {"id", "dependencies", "subtasks", "parentTaskId"}
    }
    found = move(tasks, source, target)
    assert [(it["id"], it["dependsOn"]) for it in found] == dropped
    moved = tasks.get(target)
    assert fields.items() <= moved.fields.items()
    expected = {}
    for name, value in BEFORE.items():
        renamed = target + name[len(source) :] if name == source or name.startswith(f"{source}.") else name
        expected[renamed] = value
    expected |= after
    assert shape(tasks) == expected
    assert source == target or source not in tasks.index()
    parents = {name.partition(".")[0] for name in (source, target) if "." in name}
    touched = {it.id for it in tasks.items if it in tasks.touched}
    assert touched == {*{target}.difference({source}), *after, *parents}


@pytest.mark.requirement("TM-52")
def test_a_renumbered_task_stands_where_its_number_belongs_and_keeps_its_type() -> None:
    tasks = task_list(item("5", subtasks=[item(1, parentTaskId="5"), item(2)]), item(6), item(8))
    move(tasks, "5", "7")
    assert [task.fields["id"] for task in tasks.tasks] == [6, "7", 8]
    assert tasks.get("7.1").fields["parentTaskId"] == "7"
    assert "parentTaskId" not in tasks.get("7.2").fields
    move(tasks, "6", "99")
    assert [task.id for task in tasks.tasks] == ["7", "8", "99"]


@pytest.mark.requirement("TM-53")
def test_a_subtask_that_moves_to_a_sibling_is_placed_behind_it() -> None:
    tasks = many()
    assert move(tasks, "2.1", "2.5") == []
    assert [it.id for it in tasks.get("2").subtasks] == ["2.2", "2.5", "2.1"]
    assert shape(tasks) == BEFORE


@pytest.mark.requirement("TM-54")
def test_kinds_change_with_their_parent_and_priority() -> None:
    tasks = task_list(item(1, priority="high", subtasks=[item(1, priority=None, parentTaskId=1)]), item(2, subtasks=[]))
    assert convert_to_task(tasks, tasks.get("1.1")) == ("3", [])
    new = tasks.get("3").fields
    assert (new["priority"], new["subtasks"], "parentTaskId" in new) == ("high", [], False)
    assert convert_to_subtask(tasks, tasks.get("2"), tasks.get("1")) == ("1.1", [])
    assert tasks.get("1.1").fields["parentTaskId"] == 1
    assert "subtasks" not in tasks.get("1.1").fields


@pytest.mark.requirement("TM-35", "TM-44")
def test_a_task_that_becomes_a_subtask_takes_no_number_that_it_depends_on() -> None:
    tasks = task_list(item(1, subtasks=[]), item(2), item(3, 1, 2))
    tasks.get("3").fields["dependencies"] = ["2"]
    assert convert_to_subtask(tasks, tasks.get("3"), tasks.get("1")) == ("1.1", [])
    assert tasks.get("1.1").dependencies == ["2"]
    other = task_list(item(1), item(2, subtasks=[]), item(3, 1))
    assert convert_to_subtask(other, other.get("3"), other.get("2")) == ("2.2", [])
    assert other.get("2.2").dependencies == ["1"]
    move(other, "2.2", "7")
    assert other.get("7").dependencies == ["1"]


@pytest.mark.requirement("TM-51", "TM-54")
@pytest.mark.parametrize(
    ("source", "target", "error"),
    [
        ("8", "10", TaskNotFound),
        ("1", "8.1", TaskNotFound),
        ("1", "2", Refused),
        ("1", "2.1", Refused),
        ("2.1", "4.6", Refused),
        ("2", "3.1", Refused),
        ("1", "1.1", BadValue),
        ("9", "2.8", CircularDependency),
    ],
)
def test_a_move_that_cannot_be_is_refused(source: str, target: str, error: type[TaskError]) -> None:
    with pytest.raises(error):
        move(many(), source, target)


def test_a_task_does_not_become_a_subtask_of_itself() -> None:
    tasks = many()
    with pytest.raises(BadValue):
        convert_to_subtask(tasks, tasks.get("1"), tasks.get("1"))


@pytest.mark.requirement("TM-57", "TM-58")
@pytest.mark.parametrize(
    ("ids", "left", "dropped"),
    [
        (["1"], {"2": ["3"], "4.7": ["3"]}, [("2", "1"), ("4.7", "1")]),
        (["2.1"], {"2.2": ["3", "4.6"], "4": [2], "4.6": []}, [("2.2", "2.1"), ("4", "2.1"), ("4.6", "2.1")]),
        (["2", "2.2"], {"4": [], "4.6": []}, [("4", "2.1"), ("4", "2"), ("4.6", "2.1")]),
        (["4"], {"2.2": [1, "3"], "9": []}, [("2.2", "4.6"), ("9", "4"), ("9", "4.7")]),
        (["9", "3"], {"2": [1], "2.2": [1, "4.6"], "4.7": ["1"]}, [("2", "3"), ("2.2", "3"), ("4.7", "3")]),
    ],
)
def test_what_depended_on_a_removed_item_is_listed(
    ids: list[str], left: Object, dropped: list[tuple[str, str]]
) -> None:
    tasks = many()
    items = [tasks.get(name) for name in ids]
    found = remove_items(tasks, items)
    gone = {name for name in BEFORE for it in ids if name == it or name.startswith(f"{it}.")}
    assert shape(tasks) == {name: value for name, value in BEFORE.items() if name not in gone} | left
    assert [(it["id"], it["dependsOn"]) for it in found] == dropped


def test_clearing_removes_subtasks_and_what_points_at_them() -> None:
    tasks = many()
    clear_subtasks(tasks, [tasks.get("2")])
    assert shape(tasks) == {**{name: it for name, it in BEFORE.items() if "2." not in name[:2]}, "4": [2], "4.6": []}


def two_tags() -> tuple[TagTasks, TagTasks]:
    source = task_list(
        item(1), item(2, 1, subtasks=[item(1, "3"), item(2, 1)]), item(3), item(4, 2), item(5), item(6, 77)
    )
    return source, TagTasks("beta", tag(item(5), item(8), item(77)))


@pytest.mark.requirement("TM-56", "TM-92")
@pytest.mark.parametrize(
    ("ids", "options", "moved", "left", "dropped"),
    [
        (["1", "2", "3", "4"], {}, ["1", "2", "3", "4"], ["5", "6"], []),
        (["4"], {"with_dependencies": True}, ["4", "2", "1", "3"], ["5", "6"], []),
        (["4"], {"ignore_dependencies": True}, ["4"], ["1", "2", "3", "5", "6"], [("4", "2")]),
        (["3"], {"ignore_dependencies": True}, ["3"], ["1", "2", "4", "5", "6"], [("2.1", "3")]),
        (["6"], {}, ["6"], ["1", "2", "3", "4", "5"], [("6", "77")]),
    ],
)
def test_tasks_move_to_another_tag_with_what_belongs_to_them(
    ids: list[str], options: dict[str, bool], moved: list[str], left: list[str], dropped: list[tuple[str, str]]
) -> None:
    source, target = two_tags()
    found, lost = move_to_tag(source, target, [source.get(name) for name in ids], STAMP, **options)
    assert [it.id for it in found] == moved
    assert [it.id for it in source.tasks] == left
    assert [it.id for it in target.tasks] == sorted(["5", "8", "77", *moved], key=int)
    assert [(it["id"], it["dependsOn"]) for it in lost] == dropped
    history: JsonValue = [{"fromTag": "master", "toTag": "beta", "timestamp": STAMP}]
    assert all(it.fields["metadata"] == {"moveHistory": history} for it in found)
    again, _ = move_to_tag(target, source, found, STAMP, ignore_dependencies=True)
    assert [len(it.fields["metadata"]["moveHistory"]) for it in again] == [2] * len(again)  # pyrefly: ignore


@pytest.mark.requirement("TM-56", "TM-92")
@pytest.mark.parametrize(
    ("ids", "options", "error", "conflicts"),
    [
        (["2.1"], {}, Refused, None),
        (["5"], {}, Refused, None),
        (["4"], {}, CrossTagConflicts, [("4", "2")]),
        (["1"], {}, CrossTagConflicts, [("2", "1")]),
        (["2"], {"with_dependencies": True}, CrossTagConflicts, [("4", "2")]),
    ],
)
def test_a_move_that_would_tear_dependencies_apart_is_refused(
    ids: list[str], options: dict[str, bool], error: type[TaskError], conflicts: list[tuple[str, str]] | None
) -> None:
    source, target = two_tags()
    with pytest.raises(error) as caught:
        move_to_tag(source, target, [source.get(name) for name in ids], STAMP, **options)
    listed = caught.value.details.get("conflicts")
    assert listed == (conflicts and [{"id": item_id, "dependsOn": target_id} for item_id, target_id in conflicts])
    assert len(source.tasks) == 6
