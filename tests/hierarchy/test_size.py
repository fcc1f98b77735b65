"""Large and deep: 90 levels, hundreds of siblings and a thousand tasks; and small answers (HI-1, S1)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from pydantic import JsonValue

from hierarchy_mcp.models import MAX_LEVELS
from tests.hierarchy.conftest import Object, ServedTree, dig, ids, objects, rows, tree, walk


def chain(levels: int, prefix: str = "L", **bottom: JsonValue) -> Object:
    """Return a tree of so many levels, one task on each, with further fields for the lowest."""
    task = tree(f"{prefix}{levels}", **bottom)
    for level in range(levels - 1, 0, -1):
        task = tree(f"{prefix}{level}", task)
    return task


@pytest.mark.requirement("R1.7", "HI-1")
async def test_every_operation_works_ninety_levels_deep(served: ServedTree) -> None:
    await served.call("createTask", **chain(90))
    assert len(await served.statuses()) == 90
    assert len(list(walk(objects({"x": [dig(await served.call("getTask", id="L1"), "task")]}, "x")))) == 90
    started = await served.call("startTask", id="L1", table=True)
    assert dig(started, "active_task", "id") == "L90"
    assert len(objects(started, "started_tasks")) == 90
    *table, _, left = str(started["hierarchy_summary"]).splitlines()
    shown = [name for name, *_ in rows("\n".join(table))]
    assert (shown, left[:19]) == ([f"L{level}" for level in range(31, 91)], "Tasks not shown: 30")
    await served.call("updateTask", id="L1", status="todo")
    await served.call("updateTask", id="L90", name="the lowest")
    completed = await served.call("completeTask", id="L90", resolution="x", table=True)
    assert ids(completed, "auto_completed_parents") == [f"L{level}" for level in range(89, 0, -1)]
    assert await served.call("deleteTask", id="L2") == {"id": "L2", "deleted": 89}


@pytest.mark.requirement("R1.7", "R4.3")
async def test_the_last_of_ninety_levels_are_made_one_by_one_and_read_again(served: ServedTree) -> None:
    await served.call("createTask", **chain(80))
    parent = "L80"
    for level in range(81, 91):
        await served.call("createTask", name="x", id=f"L{level}", parentId=parent)
        parent = f"L{level}"
    before = await served.call("listTasks")
    served.restart()
    assert await served.call("listTasks") == before
    await served.finish("L90")
    assert set((await served.statuses()).values()) == {"done"}


@pytest.mark.requirement("HI-1", "S1")
@pytest.mark.parametrize("levels", [91, 97])
async def test_one_level_more_is_refused(served: ServedTree, levels: int) -> None:
    error = await served.refused("createTask", **chain(levels))
    assert f"at most {MAX_LEVELS} levels, and this would make {levels}" in str(error)
    assert dig(error.details, "fields", 0, "path") == "tasks"


@pytest.mark.requirement("HI-1", "S1")
async def test_below_the_last_level_nothing_is_created(served: ServedTree) -> None:
    await served.call("createTask", **chain(90))
    error = await served.refused("createTask", name="x", parentId="L90")
    assert "would make 91" in str(error)
    assert dig(error.details, "fields", 0, "path") == "parentId"
    await served.refused("createTask", **chain(2, "x"), parentId="L89")
    await served.call("createTask", **chain(2, "x"), parentId="L88")


@pytest.mark.process
@pytest.mark.requirement("R1.7", "R5.5")
async def test_ninety_levels_pass_over_stdio(tmp_path: Path) -> None:
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "hierarchy_mcp"], env={"FILE_PATH": str(tmp_path / "tasks.json")}
    )
    async with Client(parameters) as client:
        await client.call_tool("createTask", chain(90))
        listed = await client.call_tool("listTasks", {})
        assert len(list(walk(objects(listed.structured_content, "tasks")))) == 90
        refused = await client.call_tool("createTask", chain(91, "x"))
        assert dig(refused.structured_content, "error", "code") == "InvalidArguments"


@pytest.mark.requirement("HI-1", "R2.4")
async def test_five_hundred_siblings_are_worked_on(served: ServedTree) -> None:
    await served.create(tree("a", *(tree(f"t{n}") for n in range(490))))
    for n in range(10):
        await served.call("createTask", name="x", id=f"x{n}", parentId="a", insertIndex=250)
    page = await served.call("listTasks", parentId="a", after="t248", limit=2)
    assert (ids(page, "tasks"), page["left_out"]) == (["t249", "x9"], 249)
    assert dig(await served.call("startTask", id="a"), "active_task", "id") == "t0"
    completed = await served.call("completeTask", id="t0", resolution="x")
    assert dig(completed, "progress_summary", "parents", 0, "remaining_subtasks") == 499
    served.restart()
    assert (await served.call("listTasks", parentId="a"))["left_out"] == 400
    await served.call("deleteTask", id="t1")
    assert len(objects(served.stored[0], "tasks")) == 499


@pytest.mark.requirement("HI-2", "HI-7", "EN-2")
async def test_an_answer_about_a_thousand_tasks_is_small(served: ServedTree) -> None:
    groups = [tree(f"g{n}", *(tree(f"t{n}-{m}") for m in range(32))) for n in range(30)]
    await served.create(tree("a", *groups))
    overview = await served.call("listTasks", depth=0)
    assert dig(overview, "tasks", 0, "subtask_count") == 30
    assert len(json.dumps(overview)) < 1_024
    started = await served.call("startTask", id="a")
    assert (dig(started, "task", "subtask_count"), len(json.dumps(started)) < 10_000) == (30, True)
    completed = await served.call("completeTask", id="t0-0", resolution="x")
    assert dig(completed, "progress_summary", "total_tasks") == 991
    assert len(json.dumps(completed)) < 10_000
    assert await served.call("deleteTask", id="a") == {"id": "a", "deleted": 991}


@pytest.mark.requirement("HI-2", "HI-3")
async def test_an_answer_has_as_many_whole_levels_as_two_hundred_tasks_allow(served: ServedTree) -> None:
    inner = [tree(f"g{n}", *(tree(f"t{n}-{m}") for m in range(99))) for n in range(2)]
    created = await served.call("createTask", **tree("a", *inner[:1], tree("g1", *(tree(f"t{m}") for m in range(98)))))
    assert len(list(walk(objects({"x": [created["task"]]}, "x")))) == 200
    await served.call("createTask", name="one more", id="more", parentId="g1")
    task = dig(await served.call("getTask", id="a"), "task")
    assert [(dig(task, "tasks", n, "id"), dig(task, "tasks", n, "subtask_count")) for n in (0, 1)] == [
        ("g0", 99),
        ("g1", 99),
    ]
    assert len(objects(await served.call("listTasks", parentId="g1"), "tasks")) == 99


@pytest.mark.requirement("HI-2", "HI-3")
async def test_an_answer_has_as_many_whole_levels_as_thirty_kilobytes_allow(served: ServedTree) -> None:
    await served.create(tree("a", *(tree(f"t{n}", description="x" * 9_000) for n in range(4))))
    task = dig(await served.call("getTask", id="a"), "task")
    assert isinstance(task, dict)
    assert (task["subtask_count"], "tasks" in task) == (4, False)
    page = await served.call("listTasks", parentId="a")
    assert (ids(page, "tasks"), page["left_out"]) == (["t0", "t1", "t2"], 1)
    await served.create(tree("long", description="y" * 50_000))
    assert len(str(dig(await served.call("getTask", id="long"), "task", "description"))) == 50_000
    assert ids(await served.call("listTasks", after="a"), "tasks") == ["long"]
