"""``completeTask``: what it finishes, what it refuses, and what comes next (HI-6; source: requirement 3)."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from tests.hierarchy.conftest import ServedTree, dig, ids, rows, tree

TREE = tree("a", tree("b", tree("c"), tree("d")), tree("e"))


@pytest.mark.requirement("R3.7", "HI-6")
async def test_a_completed_leaf_is_done_and_keeps_its_resolution(served: ServedTree) -> None:
    await served.create(TREE)
    await served.call("startTask", id="c")
    answer = await served.call("completeTask", id="c", resolution="compiled with -O2")
    task = dig(answer, "task")
    assert isinstance(task, dict)
    assert (task["id"], task["status"], task["resolution"]) == ("c", "done", "compiled with -O2")
    assert "tasks" not in task
    assert await served.statuses() == {"a": "todo", "b": "todo", "c": "done", "d": "todo", "e": "todo"}
    assert dig(await served.call("getTask", id="c"), "task", "resolution") == "compiled with -O2"


@pytest.mark.requirement("R3.16", "HI-6")
async def test_parents_whose_subtasks_are_all_done_are_done_the_nearest_first(any_served: ServedTree) -> None:
    await any_served.create(tree("a", tree("b", tree("c")), tree("d")), tree("x", tree("y", tree("z"))))
    answer = await any_served.call("completeTask", id="c", resolution="x")
    assert answer["auto_completed_parents"] == [{"id": "b", "name": "b"}]
    answer = await any_served.call("completeTask", id="d", resolution="x")
    assert ids(answer, "auto_completed_parents") == ["a"]
    answer = await any_served.call("completeTask", id="z", resolution="x")
    assert ids(answer, "auto_completed_parents") == ["y", "x"]


@pytest.mark.requirement("R3.15", "HI-6", "HI-8")
async def test_a_task_with_open_subtasks_cannot_be_completed(any_served: ServedTree) -> None:
    await any_served.create(TREE)
    await any_served.finish("c")
    await any_served.call("startTask", id="d")
    error = await any_served.refused("completeTask", id="b", resolution="x")
    assert str(error) == "IncompleteSubtasks: Complete its subtasks first: 'd' (d)."
    error = await any_served.refused("completeTask", id="a", resolution="x")
    assert error.details == {
        "incomplete": [{"id": "b", "name": "b", "status": "in_progress"}, {"id": "e", "name": "e", "status": "todo"}],
        "count": 2,
    }


@pytest.mark.requirement("HI-6", "R3.10")
async def test_a_todo_leaf_may_be_completed_when_it_could_be_started(served: ServedTree) -> None:
    await served.create(TREE)
    error = await served.refused("completeTask", id="d", resolution="x")
    assert str(error).startswith("ExecutionOrder: ")
    assert ids(error.details, "blocking") == ["c"]
    await served.call("completeTask", id="c", resolution="x")
    assert (await served.statuses())["c"] == "done"


@pytest.mark.requirement("HI-6")
async def test_the_active_leaf_may_always_be_completed(served: ServedTree) -> None:
    await served.create(TREE)
    await served.call("startTask", id="c")
    await served.call("createTask", name="n", id="n", parentId="b", insertIndex=0)
    await served.call("completeTask", id="c", resolution="x")
    assert (await served.statuses())["c"] == "done"


@pytest.mark.requirement("HI-6", "R3.8")
async def test_another_leaf_that_is_active_stays_so_and_comes_next(served: ServedTree) -> None:
    await served.create(TREE, tree("z"))
    await served.call("startTask", id="z")
    answer = await served.call("completeTask", id="c", resolution="x")
    assert answer["next_task_id"] == "z"
    assert "still in progress" in str(answer["message"])
    assert (await served.statuses())["z"] == "in_progress"


@pytest.mark.requirement("HI-6")
async def test_a_done_task_cannot_be_completed_again(served: ServedTree) -> None:
    await served.create(TREE)
    await served.finish("c", "d")
    for task_id in ("c", "b"):
        error = await served.refused("completeTask", id=task_id, resolution="x")
        assert str(error) == "InvalidTransition: A task that is 'done' cannot become 'done'. It is already done."
        assert error.details == {"from": "done", "to": "done", "allowed": []}


@pytest.mark.requirement("HI-6", "TOOL-2")
async def test_a_resolution_says_something(served: ServedTree) -> None:
    await served.create(TREE)
    wrong: list[JsonValue] = ["", " \n", None, 5]
    for resolution in wrong:
        error = await served.refused("completeTask", id="c", resolution=resolution)
        assert str(error).startswith("InvalidArguments: ")
        assert dig(error.details, "fields", 0, "path") == "resolution"


@pytest.mark.requirement("R3.8", "HI-6")
async def test_the_next_task_is_the_first_in_the_same_root_then_after_it_then_from_the_first(
    any_served: ServedTree,
) -> None:
    await any_served.create(tree("a"), tree("b", tree("c"), tree("d")), tree("e"))
    following: list[JsonValue] = []
    for task_id in ("c", "d", "e", "a"):
        answer = await any_served.call("completeTask", id=task_id, resolution="x")
        following.append(answer.get("next_task_id"))
    assert following == ["d", "e", "a", None]


@pytest.mark.requirement("R3.8", "HI-6")
async def test_with_a_strict_order_the_first_open_root_comes_next() -> None:
    served = ServedTree(None, {"root_order": "strict"})
    await served.create(tree("a"), tree("b", tree("c"), tree("d")))
    await served.finish("a", "c")
    await served.call("updateTask", id="a", status="todo")
    await served.call("createTask", name="n", id="n", parentId="b")
    assert str(await served.refused("completeTask", id="d", resolution="x")).startswith("ExecutionOrder: ")
    answer = await served.call("completeTask", id="a", resolution="x")
    assert answer["next_task_id"] == "d"


@pytest.mark.requirement("R3.9", "HI-6")
async def test_when_nothing_is_left_the_message_says_that_all_tasks_are_done(served: ServedTree) -> None:
    await served.create(tree("a", tree("b")), tree("c"))
    answer = await served.call("completeTask", id="b", resolution="x")
    assert "all tasks" not in str(answer["message"]).lower()
    answer = await served.call("completeTask", id="c", resolution="x")
    assert str(answer["message"]).endswith("All tasks are done.")
    assert "next_task_id" not in answer
    assert dig(answer, "progress_summary", "completion_percentage") == 100


@pytest.mark.requirement("R3.11", "R3.12", "R3.13", "HI-6", "HI-7")
async def test_a_completion_shows_the_same_table_and_the_counts(served: ServedTree) -> None:
    await served.create(TREE)
    await served.finish("c")
    await served.call("startTask", id="d")
    answer = await served.call("completeTask", id="d", resolution="x")
    summary = answer["progress_summary"]
    assert isinstance(summary, dict)
    assert rows(summary.pop("table")) == [
        ["a", "-", "todo", "✓", "1/2", "50%"],
        ["b", "a", "done", "✓", "2/2", "100%"],
        ["c", "b", "done", "-", "-", "100%"],
        ["d", "b", "done", "✓", "-", "100%"],
        ["e", "a", "todo", "-", "-", "0%"],
    ]
    assert summary == {
        "total_tasks": 5,
        "completed_tasks": 3,
        "in_progress_tasks": 0,
        "todo_tasks": 2,
        "completion_percentage": 60,
        "parents": [
            {"id": "a", "name": "a", "completed_subtasks": 1, "remaining_subtasks": 1, "completion_percentage": 50},
            {"id": "b", "name": "b", "completed_subtasks": 2, "remaining_subtasks": 0, "completion_percentage": 100},
        ],
    }


@pytest.mark.requirement("R3.11", "HI-7")
async def test_a_start_and_a_completion_have_tables_of_the_same_form(served: ServedTree) -> None:
    await served.create(TREE)
    started = await served.call("startTask", id="a")
    completed = await served.call("completeTask", id="c", resolution="x")
    tables = [str(started["hierarchy_summary"]), str(dig(completed, "progress_summary", "table"))]
    assert [table.splitlines()[:2] for table in tables] == [
        [
            "| Task Name | Parent Task | Status | Status Changed | Subtasks | Progress |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
    ] * 2


@pytest.mark.requirement("R5.3", "HI-6")
async def test_a_project_is_worked_through_by_following_what_comes_next(served: ServedTree) -> None:
    await served.create(tree("a", tree("b", tree("c"), tree("d", tree("e"), tree("f"))), tree("g")), tree("h"))
    done: list[JsonValue] = []
    following: JsonValue = "a"
    while following:
        leaf = dig(await served.call("startTask", id=following), "active_task", "id")
        done.append(leaf)
        following = (await served.call("completeTask", id=leaf, resolution="x")).get("next_task_id")
    assert done == ["c", "e", "f", "g", "h"]
    assert set((await served.statuses()).values()) == {"done"}
