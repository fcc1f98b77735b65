"""Moves by ``updateTask``, pages of ``listTasks``, and what the messages tell besides (HI-1 to HI-3)."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from tests.hierarchy.conftest import Object, ServedTree, dig, ids, objects, tree
from tests.hierarchy.test_size import chain

TREE = tree("a", tree("b", tree("c"), tree("d")), tree("e"))


MOVES: list[tuple[Object, Object]] = [
    ({"id": "b", "parentId": "z"}, {"a": {"e": {}}, "z": {"y": {}, "b": {"c": {}, "d": {}}}}),
    ({"id": "b", "parentId": "z", "insertIndex": 0}, {"a": {"e": {}}, "z": {"b": {"c": {}, "d": {}}, "y": {}}}),
    ({"id": "b", "parentId": None}, {"a": {"e": {}}, "z": {"y": {}}, "b": {"c": {}, "d": {}}}),
    ({"id": "c", "parentId": None, "insertIndex": 1}, {"a": {"b": {"d": {}}, "e": {}}, "c": {}, "z": {"y": {}}}),
    ({"id": "z", "parentId": "c"}, {"a": {"b": {"c": {"z": {"y": {}}}, "d": {}}, "e": {}}}),
    ({"id": "z", "insertIndex": 0}, {"z": {"y": {}}, "a": {"b": {"c": {}, "d": {}}, "e": {}}}),
    ({"id": "c", "insertIndex": 1}, {"a": {"b": {"d": {}, "c": {}}, "e": {}}, "z": {"y": {}}}),
    ({"id": "d", "parentId": "", "insertIndex": 0}, {"a": {"b": {"d": {}, "c": {}}, "e": {}}, "z": {"y": {}}}),
    ({"id": "b", "parentId": "a"}, {"a": {"e": {}, "b": {"c": {}, "d": {}}}, "z": {"y": {}}}),
]


@pytest.mark.requirement("HI-3", "EN-4")
async def test_a_task_moves_with_all_below_it_to_its_final_place(any_served: ServedTree) -> None:
    for arguments, expected in MOVES:
        await any_served.create(TREE, tree("z", tree("y")))
        answer = await any_served.call("updateTask", **arguments)
        roots = objects(await any_served.call("listTasks"), "tasks")
        # As a text, so that the order counts, too.
        assert str(in_short(roots)) == str(expected)
        assert answer["task"] == dig(await any_served.call("getTask", id=arguments["id"]), "task")
        for root in roots:
            await any_served.call("deleteTask", id=root["id"])


def in_short(tasks: list[Object]) -> dict[str, JsonValue]:
    return {str(task["id"]): in_short(objects(task, "tasks")) for task in tasks}


@pytest.mark.requirement("HI-3", "HI-8", "R3.16", "R3.18")
async def test_a_move_keeps_statuses_and_resolutions_and_parents_follow(any_served: ServedTree) -> None:
    await any_served.create(TREE, tree("z", tree("y")))
    await any_served.finish("c")
    await any_served.call("startTask", id="d")
    answer = await any_served.call("updateTask", id="b", parentId="z", name="B")
    assert (dig(answer, "task", "name"), dig(answer, "task", "tasks", 0, "resolution")) == ("B", "c was done")
    assert await any_served.statuses() == {
        "a": "todo",
        "e": "todo",
        "z": "in_progress",
        "y": "todo",
        "b": "in_progress",
        "c": "done",
        "d": "in_progress",
    }
    await any_served.call("updateTask", id="c", parentId="e")
    assert (await any_served.statuses())["e"] == (await any_served.statuses())["a"] == "done"
    await any_served.call("updateTask", id="c", parentId=None)
    assert (await any_served.statuses())["e"] == "done"


FAILING: list[tuple[Object, str, str]] = [
    ({"id": "a", "parentId": "a"}, "InvalidArguments", "parentId"),
    ({"id": "a", "parentId": "d"}, "InvalidArguments", "parentId"),
    ({"id": "e", "parentId": "b", "insertIndex": 3}, "InvalidArguments", "insertIndex"),
    ({"id": "c", "insertIndex": 2}, "InvalidArguments", "insertIndex"),
    ({"id": "c", "parentId": "nobody"}, "TaskNotFound", ""),
    ({"id": "nobody", "parentId": None}, "TaskNotFound", ""),
    ({"id": "c", "parentId": None, "status": "done"}, "InvalidTransition", ""),
    ({"id": "c", "parentId": ""}, "InvalidArguments", "arguments"),
]


@pytest.mark.requirement("HI-3", "ERR-2")
async def test_a_move_that_cannot_be_leaves_all_as_it_was(served: ServedTree) -> None:
    await served.create(TREE)
    for arguments, code, path in FAILING:
        error = await served.refused("updateTask", **arguments)
        assert str(error).startswith(f"{code}: "), arguments
        assert not path or error.paths == [path]


@pytest.mark.requirement("HI-3", "R1.7")
async def test_a_move_makes_no_tree_deeper_than_ninety_levels(served: ServedTree) -> None:
    await served.call("createTask", **chain(88))
    await served.create(TREE, tree("x", tree("y")))
    error = await served.refused("updateTask", id="a", parentId="L88")
    assert "would make 91" in str(error)
    await served.call("updateTask", id="x", parentId="L88")
    assert await served.call("deleteTask", id="L1") == {"id": "L1", "deleted": 90}


@pytest.mark.requirement("HI-3")
async def test_a_reopening_keeps_the_resolutions_until_their_tasks_are_completed_again(served: ServedTree) -> None:
    await served.create(TREE)
    for leaf in "cd":
        await served.call("completeTask", id=leaf, resolution=f"did {leaf}")
    await served.call("updateTask", id="b", resolution="of the parent")
    answer = await served.call("updateTask", id="a", status="todo")
    assert answer["message"] == "Kept 2 resolutions: completeTask replaces them."
    assert "message" not in await served.call("updateTask", id="a", status="todo")
    assert set((await served.statuses()).values()) == {"todo"}
    started = await served.call("startTask", id="a")
    assert dig(started, "active_task", "id") == "c"
    step = await served.call("completeTask", id="c", resolution="did it better")
    assert dig(step, "progress_summary", "completed_tasks") == 1
    kept = {name: dig(await served.call("getTask", id=name), "task", "resolution") for name in "bcd"}
    assert kept == {"b": "of the parent", "c": "did it better", "d": "did d"}
    answer = await served.call("updateTask", id="c", status="todo")
    assert answer["message"] == "Kept 1 resolution: completeTask replaces them."


@pytest.mark.requirement("HI-1")
async def test_the_answer_names_an_active_or_done_leaf_that_gets_its_first_subtask(served: ServedTree) -> None:
    await served.create(tree("a"), tree("b"))
    await served.finish("a")
    await served.call("startTask", id="b")
    rest = "It has a subtask now, so it is todo until all its subtasks are done."
    answer = await served.call("createTask", name="x", id="x", parentId="a")
    assert answer["message"] == f"'a' (a) was done. {rest}"
    assert (await served.call("createTask", name="y", parentId="b"))["message"] == f"'b' (b) was in progress. {rest}"
    assert "message" not in await served.call("createTask", name="z", parentId="b")
    assert "message" not in await served.call("createTask", name="z", parentId="x")


@pytest.mark.requirement("HI-1", "HI-3")
async def test_a_move_below_a_leaf_reports_what_it_did_to_the_leaf(served: ServedTree) -> None:
    await served.create(*map(tree, "abcdef"))
    await served.finish("a", "b", "c")
    await served.call("startTask", id="d")
    rest = "until all its subtasks are done."
    moved = {
        ("e", "a"): f"'a' (a) was done. It has a subtask now, so it is todo {rest}",
        ("d", "b"): f"'b' (b) was done. It has a subtask now, so it is in progress {rest}",
        ("e", "d"): f"'d' (d) was in progress. It has a subtask now, so it is todo {rest}",
        ("c", "a"): None,
        ("b", "c"): f"'c' (c) was done. It has a subtask now, so it is todo {rest}",
        ("f", "b"): None,
    }
    for (task, parent), message in moved.items():
        assert (await served.call("updateTask", id=task, parentId=parent)).get("message") == message
    answer = await served.call("createTask", name="g", parentId="")
    assert "Created root task 'g'" in str(answer["message"])


@pytest.mark.requirement("HI-2", "EN-3")
@pytest.mark.parametrize("parent", [None, "a"])
async def test_pages_show_every_task_once_and_count_the_rest(served: ServedTree, parent: str | None) -> None:
    names = [f"t{number}" for number in range(7)]
    leaves = [tree(name) for name in names]
    await (served.create(tree("a", *leaves)) if parent else served.create(*leaves))
    shown: list[JsonValue] = []
    left: list[JsonValue] = []
    after: JsonValue = None
    while not left or left[-1]:
        page = await served.call("listTasks", parentId=parent, limit=3, after=after)
        shown += ids(page, "tasks")
        left.append(page.get("left_out", 0))
        after = shown[-1]
    assert (shown, left) == (names, [4, 1, 0])
    assert await served.call("listTasks", parentId=parent, after="t6") == {"tasks": []}


@pytest.mark.requirement("HI-2")
async def test_a_page_goes_on_only_after_a_task_that_is_listed(served: ServedTree) -> None:
    await served.create(TREE)
    assert (await served.refused("listTasks", parentId="a", after="c")).paths == ["after"]
    assert (await served.refused("listTasks", after="b")).paths == ["after"]
    assert str(await served.refused("listTasks", after="nobody")).startswith("TaskNotFound: ")
