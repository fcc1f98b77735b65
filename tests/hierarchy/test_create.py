"""``createTask``: one task or a whole tree, all or none (HI-1; source: requirements 1, 2.1 to 2.4 and 6)."""

from __future__ import annotations

import re

import pytest
from pydantic import JsonValue

from tests.hierarchy.conftest import Object, ServedTree, dig, ids, objects, tree, walk

NEW: Object = {
    "description": None,
    "status": "todo",
    "completion_criteria": [],
    "constraints": [],
    "resolution": None,
    "tasks": [],
}


@pytest.mark.requirement("R1.1", "HI-1")
async def test_every_task_gets_a_short_id_of_its_own(served: ServedTree) -> None:
    await served.call("createTask", name="a", tasks=[{"name": "b"}, {"name": "c", "tasks": [{"name": "d"}]}])
    await served.call("createTask", name="e")
    made = await served.statuses()
    assert len(made) == 5
    assert [task_id for task_id in made if not re.fullmatch("[a-z2-7]{8}", task_id)] == []


@pytest.mark.requirement("R1.3", "R1.4", "R6.1", "R6.2")
async def test_a_new_task_has_its_name_and_description_is_todo_and_has_no_subtasks(served: ServedTree) -> None:
    task = dig(await served.call("createTask", name="Release 1.0", description="in spring"), "task")
    assert isinstance(task, dict)
    task_id = task.pop("id")
    assert task == {**NEW, "name": "Release 1.0", "description": "in spring"}
    assert await served.call("listTasks") == {"tasks": [{"id": task_id, **task}]}


@pytest.mark.requirement("R1.2", "R1.6", "R2.1", "R6.5")
async def test_a_task_with_a_parent_is_listed_in_its_tasks(any_served: ServedTree) -> None:
    await any_served.create(tree("a", tree("b")), tree("c"))
    answer = await any_served.call("createTask", name="d", id="d", parentId="b")
    assert answer == {"task": {"id": "d", "name": "d", **NEW}}
    assert ids(await any_served.call("listTasks", parentId="b"), "tasks") == ["d"]
    assert list(await any_served.statuses()) == ["a", "b", "d", "c"]


@pytest.mark.requirement("R1.5", "HI-1")
async def test_a_root_task_comes_with_the_advice_to_create_subtasks_and_then_to_start(served: ServedTree) -> None:
    alone = await served.call("createTask", name="a", id="a")
    advice = "Split it into subtasks with createTask and this task as parentId, then call startTask."
    assert alone["message"] == f"Created root task 'a' (a). {advice}"
    with_subtasks = await served.call("createTask", **tree("b", tree("c"), tree("d")))
    assert "It has 2 subtasks; if you need more, add them" in str(with_subtasks["message"])
    assert "startTask" in str(with_subtasks["message"])
    assert "message" not in await served.call("createTask", name="e", parentId="a")


@pytest.mark.requirement("R2.3", "R2.4", "R1.2", "HI-1")
async def test_the_index_says_where_a_task_goes_and_those_after_it_move_on(any_served: ServedTree) -> None:
    places = [(None, "abcx"), (0, "xabc"), (1, "axbc"), (2, "abxc"), (3, "abcx")]
    for parent in (None, "top"):
        siblings = [tree(name) for name in "abc"]
        await (any_served.create(tree("top", *siblings)) if parent else any_served.create(*siblings))
        for index, expected in places:
            await any_served.call("createTask", name="x", id="x", parentId=parent, insertIndex=index)
            assert ids(await any_served.call("listTasks", parentId=parent), "tasks") == list(expected)
            await any_served.call("deleteTask", id="x")
        for name in "abc" if parent is None else ():
            await any_served.call("deleteTask", id=name)


@pytest.mark.requirement("HI-1")
async def test_an_index_out_of_range_is_refused(served: ServedTree) -> None:
    await served.create(tree("a", tree("b"), tree("c")))
    indexes: list[JsonValue] = [3, -1, 10**30, "one", "-1", 1.5, True]
    for index in indexes:
        error = await served.refused("createTask", name="x", parentId="a", insertIndex=index)
        assert str(error).startswith("InvalidArguments: ")
        assert dig(error.details, "fields", 0, "path") == "insertIndex"


@pytest.mark.requirement("R2.2", "HI-1")
async def test_criteria_and_constraints_are_kept_and_one_string_is_a_list_of_one(served: ServedTree) -> None:
    answer = await served.call(
        "createTask",
        name="a",
        completion_criteria=["tests pass", "documented"],
        constraints="no new dependency",
        tasks=[{"name": "b", "completion_criteria": "it works"}],
    )
    assert dig(answer, "task", "completion_criteria") == ["tests pass", "documented"]
    assert dig(answer, "task", "constraints") == ["no new dependency"]
    assert dig(answer, "task", "tasks", 0, "completion_criteria") == ["it works"]


@pytest.mark.requirement("R6.3", "R6.4", "R6.6", "R6.8", "R5.6")
async def test_a_whole_tree_is_created_and_returned_at_once(any_served: ServedTree) -> None:
    await any_served.create(tree("top"))
    given = tree("a", tree("b", tree("c", tree("d")), tree("e")), tree("f"))
    answer = await any_served.call("createTask", **given, parentId="top")
    created = list(walk([objects({"tasks": [answer["task"]]}, "tasks")[0]]))
    assert [task["id"] for task in created] == list("abcdef")
    assert {task["status"] for task in created} == {"todo"}
    assert dig(await any_served.call("getTask", id="a"), "task") == answer["task"]
    assert list(await any_served.statuses()) == ["top", *"abcdef"]


@pytest.mark.requirement("R6.7", "HI-1")
async def test_given_ids_are_kept_and_missing_ones_made(served: ServedTree) -> None:
    answer = await served.call("createTask", name="a", id="A.b_c-9", tasks=[{"name": "b"}, tree("x" * 64)])
    first, second = ids(answer, "task", "tasks")
    assert (dig(answer, "task", "id"), second) == ("A.b_c-9", "x" * 64)
    assert re.fullmatch("[a-z2-7]{8}", str(first))


FAILING: list[tuple[Object, str]] = [
    (tree("x", tree("y"), tree("z", tree("y"))), "DuplicateId"),
    (tree("x", tree("y"), tree("b")), "DuplicateId"),
    (tree("a"), "DuplicateId"),
    (tree("x", tree("x")), "DuplicateId"),
    (tree("x", tree("y"), {"name": " "}), "InvalidArguments"),
    (tree("x", tree("y"), {"nam": "z"}), "InvalidArguments"),
    (tree("x", {"name": "y", "status": "done"}), "InvalidArguments"),
    (tree("x", tree("y"), parentId="nobody"), "TaskNotFound"),
    (tree("x", tree("y"), parentId="a", insertIndex=9), "InvalidArguments"),
]


@pytest.mark.requirement("R6.9", "HI-1", "ERR-2", "D6")
async def test_a_create_that_fails_leaves_nothing(served: ServedTree) -> None:
    await served.create(tree("a", tree("b")))
    for arguments, code in FAILING:
        assert str(await served.refused("createTask", **arguments)).startswith(f"{code}: "), arguments
    assert list(await served.statuses()) == ["a", "b"]


@pytest.mark.requirement("R6.9")
async def test_the_id_that_is_taken_is_named(served: ServedTree) -> None:
    await served.create(tree("a", tree("b")))
    assert (await served.refused("createTask", **tree("x", tree("b")))).details == {"id": "b"}


@pytest.mark.requirement("HI-1")
async def test_a_leaf_that_gets_a_subtask_becomes_a_parent_and_keeps_its_resolution(served: ServedTree) -> None:
    await served.create(tree("a", tree("b"), tree("c")))
    await served.finish("b")
    await served.call("createTask", name="d", id="d", parentId="b")
    assert await served.statuses() == {"a": "todo", "b": "todo", "d": "todo", "c": "todo"}
    assert dig(await served.call("getTask", id="b"), "task", "resolution") == "b was done"


@pytest.mark.requirement("HI-1", "HI-8")
async def test_an_active_leaf_that_gets_a_subtask_is_active_no_longer(served: ServedTree) -> None:
    await served.create(tree("a"))
    await served.call("startTask", id="a")
    await served.call("createTask", name="b", id="b", parentId="a")
    assert await served.statuses() == {"a": "todo", "b": "todo"}


WRONG: list[tuple[Object, str]] = [
    ({}, "name"),
    ({"name": ""}, "name"),
    ({"name": " \t"}, "name"),
    ({"name": "two\nlines"}, "name"),
    ({"name": "x" * 501}, "name"),
    ({"name": None}, "name"),
    ({"name": 5}, "name"),
    ({"name": "a", "description": 5}, "description"),
    ({"name": "a", "constraints": ["x"] * 201}, "constraints"),
    ({"name": "a", "completion_criteria": [1]}, "completion_criteria.0"),
    ({"name": "a", "id": "has blanks"}, "id"),
    ({"name": "a", "id": "x" * 65}, "id"),
    ({"name": "a", "id": "x\n"}, "id"),
    ({"name": "a", "id": ""}, "id"),
    ({"name": "a", "parentID": "x"}, "parentID"),
    ({"name": "a", "tasks": {"name": "b"}}, "tasks"),
    ({"name": "a", "tasks": "buy milk"}, "tasks"),
    ({"name": "a", "tasks": ["buy milk"]}, "tasks.0"),
    ({"name": "a", "tasks": [{"name": "b", "tasks": [{"name": ""}]}]}, "tasks.0.tasks.0.name"),
    ({"name": "a", "tasks": [{"name": "b", "parentId": "c"}]}, "tasks.0.parentId"),
    ({"name": "a", "tasks": [{"name": "b"}] * 10_001}, "tasks"),
]


@pytest.mark.requirement("R5.2", "TOOL-2", "TOOL-3", "HI-1")
async def test_an_argument_that_is_not_right_is_named(served: ServedTree) -> None:
    for arguments, path in WRONG:
        error = await served.refused("createTask", **arguments)
        assert str(error).startswith("InvalidArguments: ")
        assert path in [field["path"] for field in objects(error.details, "fields")]


@pytest.mark.requirement("TOOL-2")
async def test_subtasks_may_arrive_as_json_text_at_every_level(served: ServedTree) -> None:
    inner = '[{"name": "c", "id": "c"}]'
    await served.call("createTask", name="a", id="a", tasks=[{"name": "b", "id": "b", "tasks": inner}])
    await served.call("createTask", name="d", id="d", tasks='["{\\"name\\": \\"e\\", \\"id\\": \\"e\\"}"]')
    assert list(await served.statuses()) == list("abcde")


@pytest.mark.requirement("TOOL-3")
async def test_a_repeated_key_in_json_text_is_refused(served: ServedTree) -> None:
    error = await served.refused("createTask", name="a", tasks='[{"name": "b", "name": "c"}]')
    assert str(error).startswith("DuplicateKey: ")


@pytest.mark.requirement("TOOL-2")
async def test_null_means_the_same_as_leaving_out(served: ServedTree) -> None:
    names = ("description", "tasks", "constraints", "parentId", "insertIndex", "id")
    nothing: dict[str, JsonValue] = dict.fromkeys(names)
    await served.call("createTask", name="a", completion_criteria=None, **nothing)
    assert list((await served.statuses()).values()) == ["todo"]


@pytest.mark.requirement("TOOL-2")
async def test_text_that_looks_like_json_stays_text(served: ServedTree) -> None:
    answer = await served.call("createTask", name="123", description='{"a": 1}', constraints="null")
    assert (dig(answer, "task", "name"), dig(answer, "task", "description")) == ("123", '{"a": 1}')
    assert dig(answer, "task", "constraints") == ["null"]
