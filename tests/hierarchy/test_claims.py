"""Claims of trees: one active leaf in each claimed root, and one in all that are not (AG-11, AG-15, AG-17)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from hierarchy_mcp.server import build_server
from hierarchy_mcp.settings import HierarchySettings
from tests.tool_client import OpenClient, ToolFailed

pytestmark = pytest.mark.requirement("AG-17")


class Member:
    """An agent with a server process of its own, as far as locks can tell."""

    def __init__(self, folder: Path, **settings: str) -> None:
        values = {"task_store": f"json:{folder / 'trees.json'}", "task_extra_tools": "claims,brief,history"}
        self.server = build_server(HierarchySettings.model_validate({"task_fsync": False, **values, **settings}))
        self.client = OpenClient(self.server)

    async def call(self, tool: str, **arguments: JsonValue) -> Any:  # noqa: ANN401 - what a tool answers
        return await self.client.call(tool, arguments)

    async def active(self) -> list[str]:
        """Return the leaves in progress."""
        roots = (await self.call("listTasks", depth=1))["tasks"]
        return [leaf["id"] for root in roots for leaf in root["tasks"] if leaf["status"] == "in_progress"]


async def plant(agent: Member, *roots: str) -> None:
    """Create roots, each with two leaves."""
    for root in roots:
        leaves: list[JsonValue] = [{"name": leaf, "id": f"{root}{leaf}"} for leaf in "xy"]
        await agent.call("createTask", name=root, id=root, tasks=leaves)


@pytest.fixture
def agents(tmp_path: Path) -> list[Member]:
    return [Member(tmp_path) for _ in range(3)]


async def test_agents_work_at_once_in_the_roots_that_they_claim(agents: list[Member]) -> None:
    one, two, plain = agents
    await plant(one, "a", "b", "c")
    assert [(await agent.call("claimTask"))["claim"]["task"] for agent in (one, two)] == ["a", "b"]
    for agent, root in ((one, "a"), (two, "b"), (plain, "c")):
        await agent.call("startTask", id=root)
    assert await plain.active() == ["ax", "bx", "cx"]
    answer = await one.call("completeTask", id="ax", resolution="done", start_next=True)
    assert answer["active_task"]["id"] == "ay"
    answer = await plain.call("completeTask", id="cx", resolution="done")
    assert answer["next_task_id"] == "cy"
    answer = await plain.call("completeTask", id="cy", resolution="done")
    assert "next_task_id" not in answer
    assert answer["message"] == "Completed 'y' (cy). Others have claimed the rest."
    answer = await one.call("completeTask", id="ay", resolution="done")
    assert answer["message"] == "Completed 'y' (ay). Nothing is left of what you claimed: call claimTask."
    for leaf in ("bx", "by"):
        answer = await two.call("completeTask", id=leaf, resolution="done")
    assert answer["message"] == "Completed 'y' (by). All tasks are done."


async def test_another_process_reads_the_active_leaf_of_each_claimed_root(tmp_path: Path) -> None:
    one, two = Member(tmp_path), Member(tmp_path)
    await plant(one, "a", "b")
    await one.call("claimTask", id="a")
    await one.call("startTask", id="a")
    await two.call("startTask", id="b")
    assert await Member(tmp_path).active() == ["ax", "bx"]
    back = "'x' (ax) went back to todo: outside claimed roots one task is in progress, and another is."
    assert await one.call("releaseTask", id="a") == {"released": "a", "message": back}
    for member in (one, two, Member(tmp_path)):
        assert await member.active() == ["bx"]  # R3.17
    await one.call("claimTask", id="b", force=True, note="the agent has left")
    assert await one.call("releaseTask", id="b") == {"released": "b"}
    assert await two.active() == ["bx"]


@pytest.mark.requirement("AG-11")
async def test_a_leaf_that_is_claimed_by_force_ends_the_work_of_its_root_if_another_root_is_worked_on(
    agents: list[Member],
) -> None:
    one, two, plain = agents
    await plant(one, "a", "b")
    await one.call("claimTask", id="a")
    await one.call("startTask", id="a")
    await plain.call("startTask", id="b")
    answer = await two.call("claimTask", id="ay", force=True, note="only I know this")
    assert answer["message"].startswith("'x' (ax) went back to todo")
    assert await plain.active() == ["bx"]


@pytest.mark.requirement("AG-15")
async def test_a_task_is_completed_also_if_the_next_one_is_claimed_and_the_answer_says_so(agents: list[Member]) -> None:
    one, two, _ = agents
    await plant(one, "a", "b")
    await one.call("claimTask", id="ay")
    await two.call("startTask", id="a")
    answer = await two.call("completeTask", id="ax", resolution="done", start_next=True)
    said = "Completed 'x' (ax). 'y' (ay) comes next, but 'mcp 0.1.0' has claimed it: work on another root."
    assert (answer["message"], answer.get("active_task")) == (said, None)
    assert await two.active() == []
    await one.call("startTask", id="a")
    assert await one.active() == ["ay"]


async def test_without_claims_a_start_sets_the_active_leaf_of_another_root_back(agents: list[Member]) -> None:
    one, two, _ = agents
    await plant(one, "a", "b")
    await one.call("startTask", id="a")
    answer = await two.call("startTask", id="b")
    assert "(ax)" in answer["message"]
    assert await two.active() == ["bx"]


@pytest.mark.requirement("AG-15")
async def test_a_claim_on_a_root_keeps_others_from_everything_below_it(agents: list[Member]) -> None:
    one, two, _ = agents
    await plant(one, "a", "b")
    await one.call("claimTask", id="a")
    for tool, arguments in (
        ("startTask", {"id": "ax"}),
        ("completeTask", {"id": "ax", "resolution": "done"}),
        ("updateTask", {"id": "ay", "name": "new"}),
        ("updateTask", {"id": "bx", "parentId": "a"}),
        ("updateTask", {"id": "ay", "parentId": "b"}),
        ("createTask", {"name": "new", "parentId": "a"}),
        ("deleteTask", {"id": "a"}),
        ("claimTask", {"id": "ay"}),
    ):
        with pytest.raises(ToolFailed, match="has claimed 'a'"):
            await two.call(tool, **arguments)
    await two.call("createTask", name="beside it", id="c")
    await one.call("createTask", name="new", parentId="a")


@pytest.mark.requirement("AG-11")
async def test_a_claim_below_keeps_others_from_claiming_or_deleting_what_is_above(agents: list[Member]) -> None:
    one, two, _ = agents
    await plant(one, "a")
    await one.call("claimTask", id="ay")
    with pytest.raises(ToolFailed, match="has claimed 'ay', which is above or below 'a'"):
        await two.call("claimTask", id="a")
    with pytest.raises(ToolFailed, match="has claimed 'ay'"):
        await two.call("deleteTask", id="a")
    assert (await two.call("claimTask"))["claim"] is None
    await two.call("startTask", id="ax")  # beside it
    await one.call("claimTask", id="ay", force=True)
    await two.call("claimTask", id="a", force=True, note="the whole is mine")
    with pytest.raises(ToolFailed, match="has claimed 'a', which is above or below 'ay'"):
        await one.call("updateTask", id="ay", name="new")


@pytest.mark.requirement("AG-11")
async def test_a_root_in_which_somebody_works_is_not_given_away(agents: list[Member]) -> None:
    one, two, plain = agents
    await plant(one, "a", "b")
    await plain.call("startTask", id="a")
    assert (await one.call("claimTask"))["claim"]["task"] == "b"
    one.server.close()
    brief = (await two.call("brief"))["brief"]
    assert '- b: "b" (claimed by mcp 0.1.0 since' in brief
    assert "its process has ended, so anybody may claim it" in brief
    assert (await two.call("claimTask"))["claim"]["task"] == "b"


@pytest.mark.requirement("AG-11")
async def test_where_roots_have_an_order_only_the_first_open_one_can_be_claimed(tmp_path: Path) -> None:
    one, two = Member(tmp_path, root_order="strict"), Member(tmp_path, root_order="strict")
    await plant(one, "a", "b")
    assert (await one.call("claimTask"))["claim"]["task"] == "a"
    assert (await two.call("claimTask"))["claim"] is None


async def test_an_undo_may_not_bring_a_second_active_leaf_back_into_the_same_root(agents: list[Member]) -> None:
    one, two, _ = agents
    await plant(one, "a", "b")
    await one.call("claimTask", id="a")
    await one.call("startTask", id="a")
    await one.call("updateTask", id="a", status="todo")
    change = (await one.call("taskHistory", limit=1))["changes"][0]["change"]
    await two.call("startTask", id="b")
    await one.call("undoChange", change=change)  # each root has one
    assert await one.active() == ["ax", "bx"]
