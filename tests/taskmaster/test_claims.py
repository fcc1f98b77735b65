"""Claims in a Task Master project: of tasks and subtasks, tag by tag (AG-11, AG-12, AG-15)."""

from __future__ import annotations

import errno
from datetime import timedelta
from pathlib import Path

import pytest

from task_core.history.changes import COMMAND_LINE, made_by
from task_core.models import utc_now
from task_core.warning_list import WarningList
from taskmaster_mcp.direct.extras import ProjectClaiming, ProjectHistory
from taskmaster_mcp.direct.registry import ProjectRegistry, Target
from taskmaster_mcp.server import build_server
from taskmaster_mcp.settings import TaskmasterSettings
from tests.core.faults import Fault, watched
from tests.taskmaster.conftest import Object, ServedProject, item, tag
from tests.tool_client import OpenClient, ToolFailed

pytestmark = pytest.mark.requirement("AG-11", "AG-15")


class Member:
    """An agent with a server process of its own, as far as locks can tell."""

    def __init__(self, folder: Path, **settings: str | float) -> None:
        values = {"task_master_project_root": str(folder), "task_master_tools": "all", "task_extra_tools": "all"}
        self.settings = TaskmasterSettings.model_validate({"task_fsync": False, **values, **settings})
        self.server = build_server(self.settings)
        self.call = OpenClient(self.server).call


@pytest.fixture
def team(tmp_path: Path) -> list[Member]:
    project = ServedProject(tmp_path)
    master = tag(
        item(1, status="done"), item(2, subtasks=[item(1), item(2, status="done")]), item(3, priority="low"), item(4, 3)
    )
    project.write({"master": master, "a:b": tag(item(1), item(7))})
    return [Member(project.root), Member(project.root)]


async def test_agents_claim_in_the_order_of_next_task_and_never_the_same(team: list[Member]) -> None:
    one, two = team
    assert (await one.call("claim_task", {}))["claim"]["task"] == "2"
    found = await two.call("claim_task", {})
    assert (found["claim"]["task"], found["task"]["title"]) == ("3", "Title 3")
    held = (await two.call("claim_task", {}))["held"]
    assert [claim["task"] for claim in held] == ["2", "3"]
    assert (await two.call("claim_task", {"tag": "a:b"}))["claim"]["task"] == "1"
    await two.call("release_task", {"id": "1", "tag": "a:b"})
    assert (await one.call("claim_task", {"tag": "a:b", "id": "#7"}))["claim"]["task"] == "7"


async def test_a_claim_stays_if_the_change_that_ends_it_cannot_be_saved(team: list[Member]) -> None:
    one, two = team
    await one.call("claim_task", {"id": "3"})
    with watched(Fault(1, errno.ENOSPC), {"rename_with"}), pytest.raises(ToolFailed, match="Nothing was saved"):
        await one.call("set_task_status", {"id": "3", "status": "cancelled"})
    with pytest.raises(ToolFailed, match="has claimed"):
        await two.call("claim_task", {"id": "3"})
    await one.call("set_task_status", {"id": "3", "status": "cancelled"})


async def test_agents_get_other_tasks_while_one_works_on_the_subtasks_of_its_own(team: list[Member]) -> None:
    one, two = team
    await one.call("claim_task", {"id": "2"})
    await one.call("set_task_status", {"id": "2", "status": "in-progress"})
    assert (await two.call("claim_task", {}))["claim"]["task"] == "3"


async def test_tags_whose_names_begin_alike_have_their_own_claims(tmp_path: Path) -> None:
    project = ServedProject(tmp_path)
    project.write({"a": tag(item(1)), "a:b": tag(item(1), item(7))})
    one, two = Member(project.root), Member(project.root)
    await one.call("claim_task", {"tag": "a:b", "id": "7"})
    one.server.close()
    assert (await two.call("claim_task", {"tag": "a"}))["claim"]["task"] == "1"
    assert [claim["task"] for claim in (await two.call("claim_task", {"tag": "a"}))["held"]] == ["1"]


async def test_a_claim_keeps_others_from_a_task_and_its_subtasks_until_it_is_finished(team: list[Member]) -> None:
    one, two = team
    await one.call("claim_task", {"id": "2"})
    refused_calls: list[tuple[str, Object]] = [
        ("set_task_status", {"id": "2.1", "status": "done"}),
        ("add_subtask", {"id": "2", "title": "More"}),
        ("remove_task", {"id": "2"}),
        ("remove_subtask", {"id": "2.1"}),
        ("move_task", {"from": "3", "to": "2.9"}),
        ("claim_task", {"id": "2.1"}),
    ]
    for tool, arguments in refused_calls:
        with pytest.raises(ToolFailed, match="has claimed 'master:2'") as refused:
            await two.call(tool, arguments)
        assert refused.value.details["reason"] == "TASK_CLAIMED"
    await two.call("set_task_status", {"id": "3", "status": "in-progress"})
    await one.call("set_task_status", {"id": "2", "status": "done"})
    await two.call("update_task", {"id": "2", "details": "Seen by another"})
    with pytest.raises(ToolFailed, match="It is finished: claim another one"):
        await one.call("claim_task", {"id": "2"})
    with pytest.raises(ToolFailed, match="You hold no claim on 'master:2'"):
        await one.call("release_task", {"id": "2"})


@pytest.mark.requirement("AG-12")
async def test_a_task_whose_agent_is_gone_comes_first_and_the_brief_says_so(team: list[Member]) -> None:
    one, two = team
    await one.call("claim_task", {"id": "3", "note": "the last part"})
    one.server.close()
    assert '- 3: "Title 3" (claimed by mcp 0.1.0 since' in (await two.call("brief", {}))["brief"]
    assert (await two.call("claim_task", {}))["claim"]["task"] == "3"
    assert (await two.call("claim_task", {"id": "3"}))["claim"]["task"] == "3"


async def test_a_claim_that_is_taken_over_is_in_the_history(team: list[Member]) -> None:
    one, two = team
    await one.call("claim_task", {"id": "2.1"})
    await two.call("claim_task", {"id": "2", "force": True, "note": "I need the whole"})
    change = (await two.call("task_history", {"limit": 1}))["changes"][0]
    assert [(step["id"], step["what"]) for step in change["tasks"]] == [("2.1", "claimed")]
    with pytest.raises(ToolFailed, match="it took a claim over"):
        await two.call("undo_change", {"change": change["change"]})
    answer = await one.call("next_task", {})
    assert "'master:2.1' has ended" in answer["warnings"][0]


async def test_a_person_is_not_refused_and_the_holder_hears_of_it(team: list[Member]) -> None:
    one, two = team
    await two.call("update_task", {"id": "3", "details": "New"})
    await one.call("claim_task", {"id": "3"})
    registry = ProjectRegistry(one.settings, WarningList(), utc_now)
    with made_by(COMMAND_LINE, "undo"):
        ProjectHistory(Target(registry)).undo(1)
    (warning,) = (await one.call("next_task", {}))["warnings"]
    assert warning == "command line changed 'master:3' (undo), which is claimed here: read it before you go on."


async def test_without_a_history_claims_hold_too(team: list[Member]) -> None:
    one, _ = team
    await one.call("claim_task", {"id": "3"})
    plain = Member(Path(one.settings.task_master_project_root or ""), task_history_days=0, task_extra_tools="")
    with pytest.raises(ToolFailed, match="has claimed 'master:3'"):
        await plain.call("update_task", {"id": "3", "details": "New"})
    await plain.call("update_task", {"id": "4", "details": "New"})


@pytest.mark.requirement("AG-14")
def test_reading_extends_the_claims_of_an_agent_without_a_process(team: list[Member]) -> None:
    now = utc_now()
    target = Target(ProjectRegistry(team[0].settings, WarningList(), lambda: now))
    with made_by("client 1", "claim_task", "ann", is_remote=True):
        claim = ProjectClaiming(target).claim("3", "", is_forced=False).claim
    assert claim
    now += timedelta(minutes=10)
    with made_by("client 1", "get_task", "ann", is_remote=True):
        target.tasks()
    (held,) = target.project.store.find_claims()
    assert held.until - claim.until == 600_000_000
