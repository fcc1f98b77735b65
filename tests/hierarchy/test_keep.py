"""``getTask``, ``listTasks``, ``updateTask`` and ``deleteTask`` (HI-2 to HI-4; source: requirements 2.5 to 2.8)."""

from __future__ import annotations

from itertools import product

import pytest
from pydantic import JsonValue

from tests.hierarchy.conftest import Object, ServedTree, dig, ids, tree

TREE = tree("a", tree("b", tree("c"), tree("d")), tree("e"))


@pytest.mark.requirement("R2.5", "HI-2")
async def test_a_task_is_got_with_all_its_subtasks(any_served: ServedTree) -> None:
    await any_served.create(TREE)
    answer = await any_served.call("getTask", id="b")
    assert (dig(answer, "task", "name"), ids(answer, "task", "tasks")) == ("b", ["c", "d"])


@pytest.mark.requirement("R2.6", "HI-2")
async def test_the_list_is_of_the_roots_or_of_the_subtasks_of_one(any_served: ServedTree) -> None:
    await any_served.create(TREE, tree("z"))
    below = {None: "az", "a": "be", "b": "cd", "c": ""}
    for parent, expected in below.items():
        assert ids(await any_served.call("listTasks", parentId=parent), "tasks") == [*expected]


@pytest.mark.requirement("HI-2")
async def test_the_depth_limits_what_is_nested(served: ServedTree) -> None:
    await served.create(TREE)
    (top,) = (dig(await served.call("listTasks", depth=0), "tasks", 0),)
    assert isinstance(top, dict)
    assert (top["subtask_count"], "tasks" in top) == (2, False)
    answer = await served.call("listTasks", depth=1)
    assert [dig(answer, "tasks", 0, "tasks", n, "subtask_count") for n in (0, 1)] == [2, 0]
    everything = await served.call("listTasks")
    assert everything == await served.call("listTasks", depth=2 + 1)
    assert ids(everything, "tasks", 0, "tasks", 0, "tasks") == ["c", "d"]


@pytest.mark.parametrize("depth", [-1, "one", "true", 0.5])
async def test_a_depth_is_a_whole_number_from_0(depth: JsonValue) -> None:
    assert str(await ServedTree(None).refused("listTasks", depth=depth)).startswith("InvalidArguments: ")


UNKNOWN: list[tuple[str, Object]] = [
    ("getTask", {"id": "compil"}),
    ("listTasks", {"parentId": "compil"}),
    ("createTask", {"name": "x", "parentId": "compil"}),
    ("updateTask", {"id": "compil", "name": "x"}),
    ("deleteTask", {"id": "compil"}),
    ("startTask", {"id": "compil"}),
    ("completeTask", {"id": "compil", "resolution": "x"}),
]


@pytest.mark.requirement("R5.4", "ERR-4", "ERR-3")
async def test_an_unknown_id_is_answered_with_near_ones(served: ServedTree) -> None:
    await served.create(tree("a", tree("compile")))
    for tool, arguments in UNKNOWN:
        error = await served.refused(tool, **arguments)
        assert str(error) == "TaskNotFound: No task has the id 'compil'. Did you mean 'compile'?"
        assert error.details == {"id": "compil", "near": ["compile"]}


@pytest.mark.requirement("R2.7", "HI-3")
async def test_an_update_changes_the_fields_that_are_named_and_no_others(any_served: ServedTree) -> None:
    await any_served.create(TREE)
    changes: dict[str, JsonValue] = {
        "name": "B",
        "description": "new",
        "completion_criteria": ["x", "y"],
        "constraints": "z",
        "resolution": "half",
    }
    answer = await any_served.call("updateTask", id="b", **changes)
    before = dig(answer, "task")
    assert isinstance(before, dict)
    assert {name: before[name] for name in changes} == {**changes, "constraints": ["z"]}
    assert (before["status"], ids(before, "tasks")) == ("todo", ["c", "d"])
    answer = await any_served.call("updateTask", id="b", description="other")
    assert answer["task"] == {**before, "description": "other"}
    assert answer == await any_served.call("getTask", id="b")


@pytest.mark.requirement("HI-3")
async def test_null_clears_an_optional_field(served: ServedTree) -> None:
    await served.create(tree("a", description="x", constraints=["y"], completion_criteria=["z"]))
    names = ("description", "constraints", "completion_criteria")
    answer = await served.call("updateTask", id="a", **dict.fromkeys(names))
    assert [dig(answer, "task", name) for name in names] == [None, [], []]


WRONG: list[Object] = [
    {},
    {"name": None},
    {"name": " "},
    {"status": "finished"},
    {"status": None},
    {"status": []},
    {"stauts": "todo"},
]


@pytest.mark.requirement("HI-3", "TOOL-2")
async def test_an_update_that_is_not_right_is_refused(served: ServedTree) -> None:
    await served.create(TREE)
    for arguments in WRONG:
        assert str(await served.refused("updateTask", id="b", **arguments)).startswith("InvalidArguments: "), arguments


@pytest.mark.requirement("HI-3")
async def test_no_update_goes_around_the_order(served: ServedTree) -> None:
    await served.create(TREE)
    for status in ("in_progress", "done"):
        error = await served.refused("updateTask", id="e", status=status, name="not this either")
        assert str(error).startswith("InvalidTransition: ")
        assert "startTask" in str(error)
        assert "completeTask" in str(error)
        assert error.details == {"from": "todo", "to": status, "allowed": ["todo"]}


AGAIN: list[tuple[str, Object]] = [
    ("startTask", {}),
    ("completeTask", {"resolution": "x"}),
    ("updateTask", {"status": "in_progress"}),
    ("updateTask", {"status": "done"}),
]


@pytest.mark.requirement("HI-3", "HI-6", "ERR-1")
async def test_no_error_about_a_done_task_advises_to_open_it_again(served: ServedTree) -> None:
    await served.create(TREE)
    await served.finish("c", "d")
    for (tool, arguments), task_id in product(AGAIN, "bc"):
        error = await served.refused(tool, id=task_id, **arguments)
        assert str(error).endswith("It is already done.")
        assert error.details["allowed"] == []


@pytest.mark.requirement("HI-3")
async def test_todo_opens_a_leaf_again_and_keeps_its_resolution(served: ServedTree) -> None:
    await served.create(TREE)
    await served.finish("c", "d")
    answer = await served.call("updateTask", id="c", status="todo")
    assert (dig(answer, "task", "status"), dig(answer, "task", "resolution")) == ("todo", "c was done")
    assert await served.statuses() == {"a": "todo", "b": "todo", "c": "todo", "d": "done", "e": "todo"}
    await served.call("startTask", id="c")
    await served.call("updateTask", id="c", status="todo", resolution="given up")
    assert (await served.statuses())["c"] == "todo"
    assert dig(await served.call("getTask", id="c"), "task", "resolution") == "given up"


@pytest.mark.requirement("HI-3")
async def test_todo_opens_every_leaf_under_a_parent(any_served: ServedTree) -> None:
    await any_served.create(TREE, tree("other"))
    await any_served.finish("c", "d", "other")
    await any_served.call("updateTask", id="b", resolution="of the parent")
    await any_served.call("startTask", id="e")
    answer = await any_served.call("updateTask", id="a", status="todo")
    statuses = await any_served.statuses()
    assert (statuses.pop("other"), set(statuses.values())) == ("done", {"todo"})
    assert dig(answer, "task", "tasks", 0, "tasks", 0, "resolution") == "c was done"
    assert dig(answer, "task", "tasks", 0, "resolution") == "of the parent"


@pytest.mark.requirement("HI-3")
async def test_todo_changes_nothing_where_all_are_todo(served: ServedTree) -> None:
    await served.create(TREE)
    await served.call("updateTask", id="c", resolution="a note")
    before = await served.call("getTask", id="a"), served.bytes
    assert (await served.call("updateTask", id="a", status="todo"), served.bytes) == before


@pytest.mark.requirement("HI-3")
async def test_an_update_that_says_what_is_so_already_is_not_written(served: ServedTree) -> None:
    await served.create(tree("a", description="x", constraints=["y"]))
    assert served.path is not None
    before = served.path.stat()
    await served.call("updateTask", id="a", description="x", constraints=["y"], resolution=None)
    assert (served.path.stat().st_ino, served.path.stat().st_mtime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
    )


@pytest.mark.requirement("R2.8", "HI-4")
async def test_a_task_is_deleted_with_all_below_it(any_served: ServedTree) -> None:
    await any_served.create(TREE, tree("z"))
    assert await any_served.call("deleteTask", id="b") == {"id": "b", "deleted": 3}
    assert list(await any_served.statuses()) == ["a", "e", "z"]
    assert await any_served.call("deleteTask", id="a") == {"id": "a", "deleted": 2}
    assert list(await any_served.statuses()) == ["z"]
    assert str(await any_served.refused("deleteTask", id="e")).startswith("TaskNotFound: ")


@pytest.mark.requirement("HI-4")
async def test_a_parent_that_loses_its_last_subtask_is_done_if_it_was_done_and_else_todo(served: ServedTree) -> None:
    await served.create(tree("a", tree("b", tree("c")), tree("d", tree("e")), tree("f")))
    await served.finish("c")
    await served.call("startTask", id="e")
    await served.call("deleteTask", id="c")
    await served.call("deleteTask", id="e")
    assert await served.statuses() == {"a": "todo", "b": "done", "d": "todo", "f": "todo"}


@pytest.mark.requirement("HI-4")
async def test_a_parent_is_done_when_its_last_open_subtask_is_deleted(any_served: ServedTree) -> None:
    await any_served.create(TREE)
    await any_served.finish("c")
    await any_served.call("deleteTask", id="d")
    await any_served.call("deleteTask", id="e")
    assert await any_served.statuses() == {"a": "done", "b": "done", "c": "done"}
