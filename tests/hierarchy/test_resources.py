"""What is read of nested tasks as resources (RES-1 to RES-7)."""

from __future__ import annotations

import json

import pytest
from mcp.client import Client
from mcp.shared.subscriptions import ResourceUpdated

from tests.hierarchy.conftest import ServedTree, dig, objects, tree, walk
from tests.resource_client import read_json, read_text
from tests.tool_client import Era

BOTH_ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


@pytest.mark.requirement("RES-2")
@BOTH_ERAS
async def test_the_list_has_the_whole_trees_in_short(served: ServedTree, era: Era) -> None:
    await served.create(tree("a", tree("b", description="long"), tree("c")), tree("d"))
    await served.finish("b")
    assert await read_json(served.server, "tasks://list", era) == {
        "tasks": [
            {
                "id": "a",
                "name": "a",
                "status": "todo",
                "tasks": [
                    {"id": "b", "name": "b", "status": "done"},
                    {"id": "c", "name": "c", "status": "todo"},
                ],
            },
            {"id": "d", "name": "d", "status": "todo"},
        ],
        "total": 4,
        "left_out": 0,
    }


@pytest.mark.requirement("RES-4")
@pytest.mark.parametrize(
    ("roots", "below", "shown"),
    [
        pytest.param(10, 9, 100, id="all that there are"),
        pytest.param(10, 10, 10, id="one level"),
        pytest.param(120, 1, 100, id="some of the roots"),
    ],
)
async def test_the_list_has_as_many_levels_as_a_hundred_tasks_allow(
    served: ServedTree, roots: int, below: int, shown: int
) -> None:
    trees = [tree(f"r{root}", *[tree(f"r{root}-{number}") for number in range(below)]) for root in range(roots)]
    assert served.path
    served.path.write_text(json.dumps(trees), "utf-8")
    listed = await read_json(served.server, "tasks://list")
    total = roots * (1 + below)
    assert (listed["total"], listed["left_out"]) == (total, total - shown)
    if total > shown:
        assert listed["tasks"][0] == {"id": "r0", "name": "r0", "status": "todo", "subtask_count": below}
    else:
        assert sum("tasks" in task for task in listed["tasks"]) == roots


@pytest.mark.requirement("RES-4")
async def test_where_a_level_is_left_out_only_a_parent_has_a_count(served: ServedTree) -> None:
    await served.create(tree("a"), tree("b", *(tree(f"b{number}") for number in range(99))))
    listed = await read_json(served.server, "tasks://list")
    short = {"name": "a", "status": "todo"}
    assert listed["tasks"] == [{"id": "a", **short}, {"id": "b", **short, "name": "b", "subtask_count": 99}]
    assert (listed["total"], listed["left_out"]) == (101, 99)


@pytest.mark.requirement("RES-4", "TOOL-9")
async def test_a_level_that_is_too_large_for_an_answer_is_left_out(served: ServedTree) -> None:
    await served.create(tree("a", *({**tree(f"a{number}"), "name": "\N{COMPASS}" * 400} for number in range(90))))
    listed = await read_json(served.server, "tasks://list")
    assert [(task["id"], task["subtask_count"]) for task in listed["tasks"]] == [("a", 90)]
    assert (listed["total"], listed["left_out"]) == (91, 90)


@pytest.mark.requirement("RES-2")
async def test_the_deepest_tree_can_be_listed_and_read(served: ServedTree) -> None:
    deep = tree("t90")
    for level in range(89, 0, -1):
        deep = tree(f"t{level}", deep)
    await served.create(deep)
    assert (await read_json(served.server, "tasks://list"))["left_out"] == 0
    task = await read_json(served.server, "tasks://t1")
    assert sum(1 for _ in walk([task])) == 90


@pytest.mark.requirement("RES-2")
@BOTH_ERAS
async def test_a_task_is_the_one_that_gettask_returns(served: ServedTree, era: Era) -> None:
    await served.create(tree("a", tree("b", completion_criteria=["c"])))
    assert await read_json(served.server, "tasks://b", era) == dig(await served.call("getTask", id="b"), "task")
    assert await read_json(served.server, "tasks://a", era) == dig(await served.call("getTask", id="a"), "task")


@pytest.mark.requirement("RES-3", "RES-4", "S3")
async def test_the_summary_has_counts_the_active_leaf_and_the_leaves_to_come(any_served: ServedTree) -> None:
    await any_served.create(
        tree("a", tree("b"), tree("c", name="`c`"), name="A [1]"), tree("d"), tree("e", tree("f", tree("g")))
    )
    await any_served.finish("b")
    await any_served.call("startTask", id="d")
    assert await read_text(any_served.server, "tasks://summary") == (
        "# Tasks\n\n7 in all: 1 done, 1 in_progress, 5 todo.\n\n"
        "## Active\n- d: d\n\n"
        "## Next\n- c: \\`c\\` (in A \\[1\\])\n- g: g (in f)\n"
    )


@pytest.mark.requirement("RES-6")
async def test_a_listener_to_a_task_is_notified_when_one_below_it_changes(any_served: ServedTree) -> None:
    await any_served.create(tree("a", tree("b"), tree("c")), tree("d"))
    wanted = ["tasks://a", "tasks://c", "tasks://d"]
    async with Client(any_served.server.sdk) as client, client.listen(resource_subscriptions=wanted) as news:
        await client.call_tool("startTask", {"id": "b"})
        assert await anext(news) == ResourceUpdated("tasks://a")
        await client.call_tool("startTask", {"id": "d"})
        assert {await anext(news), await anext(news)} == {ResourceUpdated("tasks://a"), ResourceUpdated("tasks://d")}


@pytest.mark.requirement("RES-1")
async def test_tasks_with_the_names_of_other_resources_can_be_read(served: ServedTree) -> None:
    await served.create(tree("list"), tree("a.b"))
    assert (await read_json(served.server, "tasks://%6Cist"))["name"] == "list"
    assert (await read_json(served.server, "tasks://a.b"))["name"] == "a.b"
    assert [task["id"] for task in objects((await read_json(served.server, "tasks://list"))["tasks"])] == [
        "list",
        "a.b",
    ]


@pytest.mark.requirement("EN-20", "EN-21")
async def test_a_client_that_comes_back_learns_what_changed_and_what_is_gone(any_served: ServedTree) -> None:
    any_served.restart(task_extra_tools="changes")
    await any_served.create(tree("a", tree("b"), tree("c")), tree("d"))
    token = (await any_served.call("list_changes"))["token"]
    await any_served.call("startTask", id="b")
    await any_served.call("deleteTask", id="d")
    answer = await any_served.call("list_changes", since=token)
    changed = objects(answer, "changes")
    assert {str(task["id"]): task.get("status", task.get("removed")) for task in changed} == {
        "a": "in_progress",
        "b": "in_progress",
        "d": True,
    }
    assert "tasks" not in changed[0]
    assert (await any_served.call("list_changes", since=answer["token"]))["changes"] == []
