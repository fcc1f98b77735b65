"""``startTask``: which leaf, in which order, and what comes with it (HI-5; source: requirement 3)."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from tests.hierarchy.conftest import ServedTree, dig, rows, tree
from tests.tool_client import ToolFailed

TREE = tree("a", tree("b", tree("c"), tree("d")), tree("e"))


@pytest.mark.requirement("R3.1", "R3.18", "HI-5")
async def test_a_started_leaf_and_all_above_it_are_in_progress(any_served: ServedTree) -> None:
    await any_served.create(TREE)
    answer = await any_served.call("startTask", id="c")
    statuses = await any_served.statuses()
    assert [name for name, status in statuses.items() if status == "in_progress"] == ["a", "b", "c"]
    assert dig(answer, "active_task", "id") == "c"
    assert answer["started_tasks"] == [{"id": name, "name": name, "status": "in_progress"} for name in "abc"]


@pytest.mark.requirement("R3.4", "R3.5", "HI-5")
async def test_a_start_goes_down_to_the_first_open_leaf(served: ServedTree) -> None:
    await served.create(TREE)
    await served.finish("c")
    answer = await served.call("startTask", id="a")
    assert dig(answer, "active_task", "id") == "d"
    assert (dig(answer, "task", "id"), dig(answer, "task", "status")) == ("a", "in_progress")
    statuses = await served.statuses()
    assert [name for name, status in statuses.items() if status == "in_progress"] == ["a", "b", "d"]


@pytest.mark.requirement("R3.2", "HI-5")
async def test_criteria_and_constraints_are_those_of_the_leaf_and_all_above_outermost_first(served: ServedTree) -> None:
    await served.create(
        tree(
            "a",
            tree("b", tree("c", completion_criteria=["c1", "c2"]), tree("d", constraints=["no"]), constraints=["b"]),
            completion_criteria=["a1"],
            constraints=["a"],
        )
    )
    answer = await served.call("startTask", id="b")
    assert answer["active_task"] == {
        "id": "c",
        "name": "c",
        "description": None,
        "completion_criteria": ["c1", "c2"],
        "constraints": [],
    }
    assert answer["aggregated_criteria"] == {"completion_criteria": ["a1", "c1", "c2"], "constraints": ["a", "b"]}


@pytest.mark.requirement("R3.3", "R3.10", "HI-5", "P2")
@pytest.mark.parametrize(
    ("task_id", "blocking"),
    [("d", ["c"]), ("e", ["b"]), ("g", ["b", "e", "f0"])],
    ids=["leaf", "after a parent", "deep"],
)
async def test_a_task_cannot_be_started_before_the_tasks_above_it(
    served: ServedTree, task_id: str, blocking: list[str]
) -> None:
    await served.create(tree("a", tree("b", tree("c"), tree("d")), tree("e"), tree("f", tree("f0"), tree("g"))))
    error = await served.refused("startTask", id=task_id)
    assert str(error).startswith("ExecutionOrder: Complete these tasks first: ")
    entries: list[JsonValue] = [{"id": name, "name": name, "status": "todo"} for name in blocking]
    assert error.details == {"blocking": entries, "count": len(blocking)}
    assert all(f"'{name}'" in str(error) for name in blocking)


@pytest.mark.requirement("R3.10", "HI-5")
async def test_the_place_among_the_siblings_decides_the_order(served: ServedTree) -> None:
    await served.create(tree("a", tree("b"), tree("c")))
    await served.call("createTask", name="first", id="first", parentId="a", insertIndex=0)
    assert dig(await served.call("startTask", id="a"), "active_task", "id") == "first"
    assert str(await served.refused("startTask", id="b")).startswith("ExecutionOrder: ")


@pytest.mark.requirement("HI-5")
async def test_root_tasks_are_independent_unless_their_order_is_strict(served: ServedTree) -> None:
    await served.create(tree("a"), tree("b", tree("c")))
    await served.call("startTask", id="b")
    await served.call("updateTask", id="b", status="todo")
    served.restart(root_order="strict")
    error = await served.refused("startTask", id="b")
    assert error.details == {"blocking": [{"id": "a", "name": "a", "status": "todo"}], "count": 1}
    await served.finish("a")
    await served.call("startTask", id="b")


@pytest.mark.requirement("R3.17", "HI-5", "HI-8")
async def test_only_one_leaf_is_in_progress_and_the_message_names_the_one_that_went_back(
    any_served: ServedTree,
) -> None:
    await any_served.create(TREE, tree("other", tree("x", name="Write the x")))
    await any_served.call("startTask", id="x")
    answer = await any_served.call("startTask", id="c")
    assert "'Write the x' (x), which was in progress, went back to todo." in str(answer["message"])
    statuses = await any_served.statuses()
    assert (statuses["other"], statuses["x"], statuses["c"]) == ("todo", "todo", "in_progress")
    changed = [name for name, _, _, mark, *_ in rows(answer["hierarchy_summary"]) if mark == "✓"]
    assert changed == ["a", "b", "c", "other", "Write the x"]


@pytest.mark.requirement("R3.17", "HI-5")
async def test_a_parent_that_is_in_progress_already_is_not_among_the_started(served: ServedTree) -> None:
    await served.create(tree("a", tree("b", tree("c")), tree("d")))
    await served.call("startTask", id="c")
    await served.call("createTask", name="n", id="n", parentId="b", insertIndex=0)
    answer = await served.call("startTask", id="n")
    assert answer["started_tasks"] == [{"id": "n", "name": "n", "status": "in_progress"}]
    assert (await served.statuses())["c"] == "todo"


@pytest.mark.requirement("HI-5")
@pytest.mark.parametrize("task_id", ["a", "b", "c"])
async def test_starting_what_is_active_changes_nothing(served: ServedTree, task_id: str) -> None:
    await served.create(TREE)
    await served.call("startTask", id="a")
    await served.call("createTask", name="n", id="n", parentId="a", insertIndex=0)
    before = await served.call("listTasks"), served.bytes
    answer = await served.call("startTask", id=task_id if task_id != "a" else "b")
    assert (answer["started_tasks"], dig(answer, "active_task", "id")) == ([], "c")
    assert "nothing changed" in str(answer["message"])
    assert (await served.call("listTasks"), served.bytes) == before


@pytest.mark.requirement("HI-5")
async def test_a_done_task_cannot_be_started(served: ServedTree) -> None:
    await served.create(TREE)
    await served.finish("c", "d")
    for task_id in ("c", "b"):
        error = await served.refused("startTask", id=task_id)
        assert str(error).startswith("InvalidTransition: ")
        assert str(error).endswith("It is already done.")
        assert error.details == {"from": "done", "to": "in_progress", "allowed": []}


@pytest.mark.requirement("R3.6", "R3.14", "HI-5", "HI-7")
async def test_a_start_shows_every_task_in_the_table_and_each_once(served: ServedTree) -> None:
    await served.create(TREE, tree("z"))
    answer = await served.call("startTask", id="b")
    assert rows(answer["hierarchy_summary"]) == [
        ["a", "-", "in_progress", "✓", "0/2", "0%"],
        ["b", "a", "in_progress", "✓", "0/2", "0%"],
        ["c", "b", "in_progress", "✓", "-", "0%"],
        ["d", "b", "todo", "-", "-", "0%"],
        ["e", "a", "todo", "-", "-", "0%"],
        ["z", "-", "todo", "-", "-", "0%"],
    ]
    task = answer["task"]
    assert isinstance(task, dict)
    assert (task["subtask_count"], "tasks" in task) == (2, False)


@pytest.mark.requirement("TOOL-2")
@pytest.mark.parametrize("arguments", [{}, {"id": ""}, {"id": None}, {"id": ["a"]}, {"id": "a", "now": True}], ids=str)
async def test_a_start_needs_an_id_and_nothing_else(arguments: dict[str, JsonValue]) -> None:
    with pytest.raises(ToolFailed, match=r"^InvalidArguments: "):
        await ServedTree(None).call("startTask", **arguments)
