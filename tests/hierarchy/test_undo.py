"""Undo in a tree of tasks: what it brings back, and the rules that it does not break (AG-3, AG-6, AG-7)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.hierarchy.conftest import ServedTree, dig, objects, serve_on, tree
from tests.tool_client import ToolFailed


@pytest.fixture
def served(tmp_path: Path) -> ServedTree:
    found = serve_on("memory", tmp_path)
    found.settings = {"task_extra_tools": "history"}
    return found


async def last(served: ServedTree) -> dict[str, JsonValue]:
    return objects(await served.call("taskHistory", limit=1), "changes")[0]


async def undo(served: ServedTree) -> None:
    """Undo the last change."""
    await served.call("undoChange", change=(await last(served))["change"])


async def refuse(served: ServedTree, number: int) -> str:
    """Return why a change is not undone, which changes nothing."""
    before = await served.call("listTasks")
    with pytest.raises(ToolFailed) as refused:
        await served.call("undoChange", change=number)
    assert await served.call("listTasks") == before
    return str(refused.value)


@pytest.mark.requirement("AG-3", "AG-7")
async def test_a_reopened_tree_is_one_entry_that_names_every_leaf_and_its_resolutions_come_back(
    served: ServedTree,
) -> None:
    leaves = [f"leaf{number}" for number in range(20)]
    await served.create(tree("root", *map(tree, leaves)))
    await served.finish(*leaves)
    before = await served.call("listTasks")
    await served.call("updateTask", id="root", status="todo")
    change = await last(served)
    assert change["tool"] == "updateTask"
    assert {step["id"] for step in objects(change, "tasks")} == {"root", *leaves}
    assert {dig(step, "before", "status") for step in objects(change, "tasks")} == {"done"}
    await undo(served)
    assert await served.call("listTasks") == before
    assert dig(await served.call("getTask", id="leaf7"), "task", "resolution") == "leaf7 was done"


@pytest.mark.requirement("AG-7")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("deleteTask", {"id": "house"}),
        ("deleteTask", {"id": "roof"}),
        ("updateTask", {"id": "walls", "status": "todo"}),
        ("updateTask", {"id": "house", "status": "todo"}),
        ("updateTask", {"id": "walls", "name": "new", "description": "new"}),
        ("updateTask", {"id": "walls", "description": None}),
        ("updateTask", {"id": "walls", "completion_criteria": [], "constraints": []}),
        ("updateTask", {"id": "walls", "resolution": "another"}),
        ("updateTask", {"id": "walls", "parentId": "garden"}),
        ("startTask", {"id": "roof"}),
    ],
)
async def test_what_a_call_replaced_or_removed_comes_back(
    served: ServedTree, tool: str, arguments: dict[str, JsonValue]
) -> None:
    walls = tree("walls", description="of brick", completion_criteria=["dry"], constraints=["cheap"])
    await served.create(tree("house", walls, tree("roof", description="of tin")), tree("garden"))
    await served.finish("walls")
    before = await served.call("listTasks")
    await served.call(tool, **arguments)
    assert await served.call("listTasks") != before
    await undo(served)
    assert await served.call("listTasks") == before


@pytest.mark.requirement("AG-6")
async def test_a_second_active_leaf_is_refused(served: ServedTree) -> None:
    await served.create(tree("a"), tree("b"))
    await served.call("startTask", id="a")
    await served.call("updateTask", id="a", status="todo")
    undone = (await last(served))["change"]
    await served.call("startTask", id="b")
    assert isinstance(undone, int)
    assert "only one task may be in progress, not 'a', 'b'" in await refuse(served, undone)


@pytest.mark.requirement("AG-6")
async def test_the_status_of_the_tasks_above_follows(served: ServedTree) -> None:
    await served.create(tree("root", tree("mid", tree("a"), tree("b"))))
    await served.call("deleteTask", id="a")
    removed = (await last(served))["change"]
    await served.finish("b")
    assert (await served.statuses())["root"] == "done"
    await served.call("undoChange", change=removed)
    assert await served.statuses() == {"root": "todo", "mid": "todo", "a": "todo", "b": "done"}
    await undo(served)
    assert await served.statuses() == {"root": "done", "mid": "done", "b": "done"}


@pytest.mark.requirement("AG-6")
async def test_a_tree_that_would_become_too_deep_or_has_no_parent_is_refused(served: ServedTree) -> None:
    await served.create(tree("root", tree("p", tree("deep0"))))
    for number in range(1, 50):
        await served.call("createTask", name="x", id=f"deep{number}", parentId=f"deep{number - 1}")
    await served.call("deleteTask", id="deep0")
    removed = (await last(served))["change"]
    assert isinstance(removed, int)
    chain = [f"up{number}" for number in range(40)]
    for above, name in zip(["", *chain], chain, strict=False):
        await served.call("createTask", name="x", id=name, **({"parentId": above} if above else {}))
    await served.call("updateTask", id="p", parentId=chain[-1])
    assert "a tree has at most 90 levels" in await refuse(served, removed)
    await served.call("deleteTask", id="p")
    assert "first 'p', which is now: the task is gone" in await refuse(served, removed)
    await undo(served)
    await served.call("updateTask", id="p", parentId=chain[-2])
    await served.call("undoChange", change=removed)
    assert len(await served.statuses()) == len(["root", *chain, "p"]) + 50
