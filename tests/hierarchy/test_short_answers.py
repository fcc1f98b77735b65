"""Answers of start and complete are short in a large tree, and a completion may start what is next (PE-19)."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from tests.hierarchy.conftest import ServedTree, dig, ids, rows, tree

pytestmark = pytest.mark.requirement("PE-19")


def names(table: JsonValue) -> list[str]:
    return [row[0] for row in rows(str(table).partition("\n\n")[0])]


async def planted_tree(leaves: int) -> ServedTree:
    """Return a tree with three tasks in ``a``, and a root ``b`` with the given number of leaves."""
    served = ServedTree(None)
    await served.create(tree("a", tree("x", constraints=["small"]), tree("y"), constraints=["quick"]))
    await served.create(tree("b", *(tree(f"b{number}") for number in range(leaves))))
    return served


async def test_up_to_twelve_tasks_are_all_in_the_table() -> None:
    served = await planted_tree(8)
    assert len(names((await served.call("startTask", id="a"))["hierarchy_summary"])) == 12
    step = await served.call("completeTask", id="x", resolution="r")
    assert len(names(dig(step, "progress_summary", "table"))) == 12
    assert ids(step, "progress_summary", "parents") == ["a", "b"]


async def test_of_more_tasks_the_table_has_those_that_changed_and_says_how_to_get_all() -> None:
    served = await planted_tree(9)
    started = await served.call("startTask", id="a")
    assert names(started["hierarchy_summary"]) == ["a", "x"]
    left = "Tasks not shown: 11; listTasks shows them, or ask for all with `table`: true."
    assert str(started["hierarchy_summary"]).splitlines()[-1] == left
    again = await served.call("startTask", id="a")
    assert names(again["hierarchy_summary"]) == ["x"]
    step = await served.call("completeTask", id="x", resolution="r")
    assert (names(dig(step, "progress_summary", "table")), step["next_task_id"]) == (["a", "x"], "y")
    assert dig(step, "progress_summary", "completion_percentage") == 7
    assert ids(step, "progress_summary", "parents") == ["a", "b"]


async def test_all_tasks_are_in_the_table_if_it_is_asked_for() -> None:
    served = await planted_tree(9)
    assert len(names((await served.call("startTask", id="a", table=True))["hierarchy_summary"])) == 13
    step = await served.call("completeTask", id="x", resolution="r", table=True)
    assert len(names(dig(step, "progress_summary", "table"))) == 13
    assert ids(step, "progress_summary", "parents") == ["a", "b"]


async def test_a_completion_may_start_the_next_task() -> None:
    served = await planted_tree(9)
    await served.call("startTask", id="a")
    step = await served.call("completeTask", id="x", resolution="r", start_next=True)
    assert step["message"] == "Completed 'x' (x). Work on 'y' (y) now and call completeTask when it is done."
    assert (step["next_task_id"], dig(step, "active_task", "id")) == ("y", "y")
    assert dig(step, "aggregated_criteria", "constraints") == ["quick"]
    assert names(dig(step, "progress_summary", "table")) == ["a", "x", "y"]
    assert dig(step, "progress_summary", "in_progress_tasks") == 2
    step = await served.call("completeTask", id="y", resolution="r", start_next="true")
    assert ids(step, "auto_completed_parents") == ["a"]
    assert names(dig(step, "progress_summary", "table")) == ["a", "y", "b", "b0"]


async def test_nothing_is_started_beside_an_active_task_or_after_the_last_one() -> None:
    served = ServedTree(None)
    await served.create(tree("a"))
    await served.create(tree("b"))
    await served.call("startTask", id="b")
    step = await served.call("completeTask", id="a", resolution="r", start_next=True)
    assert "still in progress: continue with it" in str(step["message"])
    assert dig(step, "active_task", "id") == "b"
    step = await served.call("completeTask", id="b", resolution="r", start_next=True)
    assert {"active_task", "aggregated_criteria", "next_task_id"} & step.keys() == set()


async def test_a_completion_starts_nothing_unless_it_is_asked_to() -> None:
    served = await planted_tree(1)
    step = await served.call("completeTask", id="x", resolution="r")
    assert "active_task" not in step
    assert dig(await served.call("getTask", id="y"), "task", "status") == "todo"
