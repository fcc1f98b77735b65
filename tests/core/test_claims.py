"""Claims: a task belongs to one living agent, and to no other (AG-11 to AG-16)."""

from __future__ import annotations

import errno
import json
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from mcp.client import Client
from mcp_types import Implementation
from pydantic import JsonValue

from heartbeat_mcp.server import build_server as build_heartbeat
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.claims.claim import Agent, Claim
from task_core.claims.session_files import SessionFiles
from task_core.history.changes import BOARD, COMMAND_LINE, OUTSIDE
from tests.core.claim_team import Team
from tests.core.faults import Fault, watched
from tests.tool_client import OpenClient, ToolFailed

ENGINES: Final = ("json", "sqlite")


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


@pytest.mark.requirement("AG-11")
@pytest.mark.parametrize("engine", ENGINES)
async def test_each_agent_gets_another_task_and_the_last_one_hears_who_holds_what(tmp_path: Path, engine: str) -> None:
    team = Team(tmp_path, engine)
    agents = [team.join() for _ in range(3)]
    tasks = {await agents[0].create(f"Part {number}") for number in range(2)}
    first, second, third = [await agent.call("claim_task") for agent in agents]
    assert {first["claim"]["task"], second["claim"]["task"]} == tasks
    assert first["task"]["status"] == "pending"  # the tools of the server change that
    held = [{name: it["claim"][name] for name in ("task", "agent", "since")} for it in (first, second)]
    assert third == {"claim": None, "task": None, "held": held}


@pytest.mark.requirement("AG-11")
async def test_a_claim_ends_when_its_task_is_finished_removed_or_given_up(team: Team) -> None:
    agent, other = team.join(), team.join()
    finished, given_up = await agent.create(), await agent.create()
    for task in (finished, given_up):
        await agent.call("claim_task", id=task)
    assert await agent.call("release_task", id=given_up) == {"released": given_up}
    await agent.call("update_task_status", id=finished, status="canceled")
    await other.call("update_task", id=given_up, title="Mine now")
    with pytest.raises(ToolFailed, match="It is finished: claim another one"):
        await other.call("claim_task", id=finished)
    with pytest.raises(ToolFailed, match="NotClaimed: You hold no claim on"):
        await agent.call("release_task", id=given_up)
    answer = await agent.call("get_task", id=finished)
    assert "warnings" not in answer  # it ended by its own doing


@pytest.mark.requirement("AG-11")
async def test_claiming_again_is_the_same_claim_unless_it_is_for_something_else(team: Team) -> None:
    agent = team.join()
    task = await agent.create()
    first = (await agent.call("claim_task", id=task))["claim"]
    assert (await agent.call("claim_task", id=task))["claim"] == first
    other = (await agent.call("claim_task", id=task, note="the report"))["claim"]
    assert other["note"] == "the report"
    assert other["token"] != first["token"]
    with pytest.raises(ToolFailed, match="No task has the id 'nothing'"):
        await agent.call("claim_task", id="nothing")


@pytest.mark.requirement("AG-12")
@pytest.mark.parametrize("engine", ENGINES)
async def test_a_claim_ends_with_the_process_and_its_task_is_the_first_to_be_claimed(
    tmp_path: Path, engine: str
) -> None:
    team = Team(tmp_path, engine)
    agent, other = team.join(), team.join()
    tasks = [await agent.create(f"Part {number}") for number in range(3)]
    await agent.call("claim_task", id=tasks[0], note="the report")
    team.now += timedelta(days=400)  # however long it says nothing
    with pytest.raises(ToolFailed, match="TaskClaimed"):
        await other.call("claim_task", id=tasks[0])
    agent.end()
    brief = (await other.call("brief"))["brief"]
    assert '(claimed by mcp 0.1.0 since 2026-03-01 12:00 UTC, for "the report"; its process has ended' in brief
    await other.call("update_task", id=tasks[1], title="Another")
    assert team.sessions[-1].endswith("ended.json")
    assert len(team.sessions) == 1
    assert (await other.call("claim_task"))["claim"]["task"] == tasks[0]
    assert [name.endswith("ended.json") for name in team.sessions] == [False]


@pytest.mark.requirement("AG-8")
async def test_a_brief_shows_an_agent_its_own_claims_first_and_as_its_own(team: Team) -> None:
    agent, other = team.join(), team.join()
    tasks = [await agent.create(f"Part {number}") for number in range(3)]
    for one, task in zip((agent, other, agent), tasks, strict=True):
        await one.call("claim_task", id=task)
        await one.call("update_task_status", id=task, status="in_progress")
    assert _holders((await agent.call("brief"))["brief"]) == ["you", "you", "mcp 0.1.0"]
    assert _holders((await other.call("brief"))["brief"]) == ["you", "mcp 0.1.0", "mcp 0.1.0"]


@pytest.mark.requirement("AG-8", "AG-13")
async def test_a_brief_leaves_out_others_before_the_claim_of_its_reader(team: Team) -> None:
    agent = team.join()
    names = [f"agent-{number}" for number in range(12)]
    for name in names:
        await agent.call("claim_task", id=await agent.create(), agent=name)
    brief = (await agent.call("brief", agent=names[6]))["brief"]
    assert _holders(brief.partition("## Claimed")[2])[0] == "you"
    assert "Left out here: " in brief


@pytest.mark.requirement("AG-8")
@pytest.mark.parametrize("name", ["You", "you.", "a-YOU-b"])
async def test_no_agent_passes_for_the_reader_of_a_brief(team: Team, name: str) -> None:
    agent = team.join()
    await agent.call("claim_task", id=await agent.create(), agent=name)
    assert _holders((await agent.call("brief"))["brief"]) == [f'"{name}"']


def _holders(brief: str) -> list[str]:
    return re.findall(r"\(claimed by (.+?) since", brief)


@pytest.mark.requirement("AG-12")
async def test_a_session_that_holds_nothing_leaves_nothing(team: Team) -> None:
    agent = team.join()
    await agent.create()
    assert team.sessions == []
    task = (await agent.call("claim_task"))["claim"]["task"]
    await agent.call("release_task", id=task)
    await agent.call("claim_task")
    await agent.call("update_task_status", id=task, status="canceled")
    assert len(team.sessions) == 1
    agent.end()
    assert team.sessions == []


@pytest.mark.requirement("AG-11")
async def test_the_claim_on_a_finished_task_does_not_come_back_when_a_person_reopens_it(team: Team) -> None:
    agent, other = team.join(), team.join()
    task = await agent.create()
    await agent.call("claim_task")
    await agent.call("update_task_status", id=task, status="canceled")
    team.path.write_text(team.path.read_text().replace('"canceled"', '"pending"'))
    assert (await other.call("claim_task"))["claim"]["task"] == task


@pytest.mark.requirement("AG-11")
async def test_an_agent_is_not_warned_of_the_end_of_what_it_gave_up(team: Team) -> None:
    agent = team.join()
    task = await agent.create()
    await agent.call("claim_task", id=task)
    nothing: dict[str, JsonValue] = {}
    for tool, arguments in (("claim_task", {"note": "the report"}), ("release_task", nothing)):
        await agent.call(tool, id=task, **arguments)
        assert "warnings" not in await agent.call("update_task", id=task, title=tool)


@pytest.mark.requirement("AG-12", "D4")
async def test_a_claim_stays_if_the_change_that_ends_it_cannot_be_saved(team: Team) -> None:
    agent, other = team.join(), team.join()
    task = await agent.create()
    await agent.call("claim_task", id=task)
    with watched(Fault(1, errno.ENOSPC), {"rename_with"}), pytest.raises(ToolFailed, match="StoreWriteFailed"):
        await agent.call("update_task_status", id=task, status="canceled")
    with pytest.raises(ToolFailed, match="TaskClaimed"):
        await other.call("claim_task", id=task)
    assert "warnings" not in await agent.call("update_task_status", id=task, status="canceled")
    with pytest.raises(ToolFailed, match="It is finished"):
        await other.call("claim_task", id=task)


@pytest.mark.requirement("AG-13")
async def test_agents_that_share_a_process_exclude_each_other_by_their_names(team: Team) -> None:
    shared = team.join()
    task = await shared.create()
    token = (await shared.call("claim_task", id=task, agent="ann"))["claim"]["token"]
    assert token.startswith("ann#")
    for agent in (None, "bob"):
        named = {"agent": agent} if agent else dict[str, JsonValue]()
        with pytest.raises(ToolFailed, match="If you are 'ann', give that as 'agent'"):
            await shared.call("update_task", id=task, title="x", **named)
    for name in ("ann", token):
        await shared.call("update_task", id=task, title=name, agent=name)
    with pytest.raises(ToolFailed, match="give a name for yourself"):
        await shared.call("update_task", id=task, title="x", agent="ann and bob")
    change = (await shared.call("task_history", limit=1))["changes"][0]
    assert change["by"] == "mcp 0.1.0 (ann)"


@pytest.mark.requirement("AG-13")
async def test_an_agent_without_a_name_can_give_the_token_of_its_claim(team: Team) -> None:
    agent, other = team.join(), team.join()
    task = await agent.create()
    token = (await agent.call("claim_task", id=task))["claim"]["token"]
    await agent.call("update_task", id=task, title="x", agent=token)
    await other.call("claim_task", id=task, force=True, note="it has been silent all day")
    with pytest.raises(ToolFailed, match="ClaimLost"):
        await agent.call("update_task", id=task, title="y", agent=token)


@pytest.mark.requirement("AG-15")
async def test_another_agent_changes_nothing_of_a_claimed_task_but_works_on_beside_it(team: Team) -> None:
    agent, other = team.join(), team.join()
    task = await agent.create()
    await agent.call("claim_task", id=task)
    for tool, arguments in {
        "update_task": {"title": "x"},
        "update_task_status": {"status": "in_progress"},
    }.items():
        with pytest.raises(ToolFailed, match=f"has claimed '{task}'.*nothing was changed") as refused:
            await other.call(tool, id=task, **arguments)
        assert refused.value.details["task"] == task
    with pytest.raises(ToolFailed, match="TaskClaimed"):
        await other.call("release_task", id=task)
    assert (await other.call("get_task", id=task))["task"]["title"] == "Paint the fence"
    await other.call("update_task", id=await other.create(), title="y")
    await agent.call("update_task_status", id=task, status="in_progress")


@pytest.mark.requirement("AG-15")
@pytest.mark.parametrize("by", [COMMAND_LINE, BOARD])
async def test_a_person_is_never_refused_and_the_holder_hears_of_it_once(team: Team, by: str) -> None:
    agent = team.join()
    task = await agent.create()
    await agent.call("claim_task", id=task)
    team.edit(by, task, "Paint the door")
    (warning,) = (await agent.call("get_task", id=task))["warnings"]
    assert warning == f"{by} changed '{task}' (edit), which is claimed here: read it before you go on."
    assert "warnings" not in await agent.call("update_task", id=task, title="Done with it")
    team.edit(by, task, "Paint the wall")
    assert len((await agent.call("get_task", id=task))["warnings"]) == 1


@pytest.mark.requirement("AG-15", "AG-3")
@pytest.mark.parametrize(
    ("name", "version"),
    [(BOARD, ""), ("command", "line"), (OUTSIDE, " "), (f"{BOARD}{' ' * 200}x", "1")],
)
async def test_a_client_that_calls_itself_a_person_is_refused_as_every_agent(
    team: Team, name: str, version: str
) -> None:
    agent, other = team.join(), team.join()
    task = await agent.create()
    await agent.call("claim_task", id=task)
    async with Client(other.client.server.sdk, client_info=Implementation(name=name, version=version)) as client:
        result = await client.call_tool("update_task", {"id": task, "title": "Taken"})
        assert "TaskClaimed" in str(result.content)
        await client.call_tool("create_task", {"title": "Beside it"})
    (change,) = (await agent.call("task_history", limit=1))["changes"]
    assert change["by"].startswith("client ")


@pytest.mark.requirement("AG-15", "AG-3")
async def test_a_claim_is_taken_over_with_a_reason_which_the_history_keeps(team: Team) -> None:
    agent, other = team.join(), team.join()
    task = await agent.create()
    await agent.call("claim_task", id=task)
    with pytest.raises(ToolFailed, match=r"say why you take the task over from 'mcp 0\.1\.0'"):
        await other.call("claim_task", id=task, force=True)
    await other.call("claim_task", id=task, force=True, note="it has been silent all day")
    answer = await agent.call("get_task", id=task)
    assert answer["warnings"] == [
        f"The claim of '{task}' has ended: its task was finished or removed, or somebody took it over."
    ]
    with pytest.raises(ToolFailed, match="TaskClaimed"):
        await agent.call("update_task", id=task, title="x")
    change = (await other.call("task_history", limit=1))["changes"][0]
    assert (change["tool"], change["tasks"][0]["what"]) == ("claim_task", "claimed")
    assert change["tasks"][0]["after"]["note"] == "it has been silent all day"
    with pytest.raises(ToolFailed, match="it took a claim over, which has to be released instead"):
        await other.call("undo_change", change=change["change"])


@pytest.mark.requirement("AG-16")
async def test_agents_that_never_claim_work_as_before(tmp_path: Path) -> None:
    plain = Team(tmp_path, task_extra_tools="")
    agent, other = plain.join(), plain.join()
    task = await agent.create()
    for it in (other, agent):
        await it.call("update_task", id=task, title="x")
    assert plain.sessions == []
    holder = Team(tmp_path).join()
    await holder.call("claim_task", id=task)
    with pytest.raises(ToolFailed, match="TaskClaimed"):
        await agent.call("update_task", id=task, title="y")


@pytest.mark.requirement("AG-11")
async def test_a_list_has_at_most_200_claims(team: Team) -> None:
    agent = team.join()
    tasks = [await agent.create(f"Part {number}") for number in range(2)]
    await agent.call("claim_task", id=tasks[0])
    folder = team.path.with_name("tasks.sessions")
    (file,) = folder.glob("*.json")
    (kept,) = json.loads(file.read_text())
    file.write_text(json.dumps([{**kept, "since": number + 1} for number in range(200)]))
    with pytest.raises(ToolFailed, match="release or finish a task first: 200 are claimed"):
        await agent.call("claim_task", id=tasks[1])
    await agent.call("claim_task", id=tasks[0], note="in place of those that it has")


@pytest.mark.requirement("AG-11")
async def test_the_tasks_of_a_list_are_claimed_in_its_order(tmp_path: Path) -> None:
    settings = HeartbeatSettings(task_store=f"json:{tmp_path / 'tasks.json'}", task_extra_tools="claims")
    client = OpenClient(build_heartbeat(settings))
    tasks = [(await client.call("task_create", {"raw_user_request": text}))["id"] for text in ("one", "two")]
    assert [(await client.call("claim_task", {}))["claim"]["task"] for _ in tasks] == tasks


@pytest.mark.requirement("AG-13")
async def test_agents_exclude_each_other_in_memory_too(tmp_path: Path) -> None:
    shared = Team(tmp_path, task_store="memory:").join()
    task = await shared.create()
    await shared.call("claim_task", agent="ann")
    assert (await shared.call("claim_task", agent="bob"))["held"][0]["agent"] == "ann"
    with pytest.raises(ToolFailed, match="TaskClaimed"):
        await shared.call("update_task", id=task, title="x", agent="bob")
    await shared.call("update_task_status", id=task, status="canceled", agent="ann")


# Files


@pytest.mark.requirement("AG-12")
async def test_what_cannot_be_read_or_written_is_an_error_that_names_the_folder(team: Team) -> None:
    agent = team.join()
    task = await agent.create()
    folder = team.path.with_name("tasks.sessions")
    folder.write_text("not a folder")
    with pytest.raises(ToolFailed, match=r"StoreWriteFailed.*tasks\.sessions"):
        await agent.call("claim_task", id=task)
    folder.unlink()
    await agent.call("claim_task", id=task)
    (file,) = folder.glob("*.json")
    file.unlink()
    file.mkdir()
    with pytest.raises(ToolFailed, match=r"StoreUnreadable.*tasks\.sessions"):
        await agent.call("update_task", id=task, title="x")


@pytest.mark.requirement("AG-12")
def test_a_damaged_file_of_a_session_holds_nothing(tmp_path: Path) -> None:
    files = SessionFiles(tmp_path / "tasks", "tasks-v1 ann")
    files.write([Claim(task="t", since=1, process=files.session, kept_by=files.session)])
    other = SessionFiles(tmp_path / "tasks", "tasks-v1 ann")
    assert [claim.task for claim in other.read()] == ["t"]
    assert SessionFiles(tmp_path / "tasks", "tasks-v1 bob").read() == []
    assert SessionFiles(tmp_path / "tasks").read() == []
    moments = [
        f'[{{"task": "t", "since": {since}, "until": {until}}}]' for since, until in ((10**30, 0), (1, 10**30), (-1, 0))
    ]
    for damaged in ("{", "[{}]", '[{"task": "t", "since": "x"}]', '{"task": 1}', *moments):
        for file in (tmp_path / "tasks.sessions").glob("*.json"):
            file.write_text(damaged)
        assert other.read() == []
    assert files.is_news()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "tasks.sessions").rename(tmp_path / "elsewhere" / "tasks.sessions")
    (tmp_path / "tasks.sessions").write_text("not a folder")
    assert files.is_news()


@pytest.mark.requirement("AG-12")
def test_claims_through_a_link_to_a_store_are_beside_the_store(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "tasks").touch()
    (tmp_path / "link").symlink_to("real/tasks")
    (tmp_path / "folder").symlink_to("real")
    files = SessionFiles(tmp_path / "link")
    files.write([Claim(task="t", since=1, kept_by=files.session)])
    for way in ("real/tasks", "folder/tasks", "link"):
        assert [claim.task for claim in SessionFiles(tmp_path / way).read()] == ["t"]
    assert {path.name for path in tmp_path.iterdir()} == {"real", "link", "folder"}


@pytest.mark.requirement("AG-12")
async def test_at_most_100_claims_of_ended_processes_are_kept_the_last_ones(team: Team) -> None:
    agent, other = team.join(), team.join()
    task = await agent.create()
    files = SessionFiles(team.path)
    files.write([Claim(task=task, since=it, kept_by=files.session) for it in range(1, 121)])
    files.close()
    await other.create("Paint the door")
    assert [claim.since for claim in files.read()] == [*range(21, 121)]


@pytest.mark.requirement("AG-12", "D3")
@pytest.mark.parametrize("engine", ENGINES)
async def test_the_next_change_removes_what_killed_processes_left(tmp_path: Path, engine: str) -> None:
    team = Team(tmp_path, engine)
    agent, other = team.join(), team.join()
    await agent.call("claim_task", id=await agent.create())
    folder = team.path.with_name("tasks.sessions")
    there = {file.name for file in folder.iterdir()}
    start = "" if engine == "json" else f"{next(iter(there)).partition('-')[0]}-"
    litter = {f"{start}0123456789abcdef.lock", f".{start}ended.json.0123456789abcdef.tmp"}
    foreign = {".0123-ended.json.0123456789abcdef.tmp", "0123-0123456789abcdef.lock", "notes.txt"}
    for name in litter | foreign:
        folder.joinpath(name).touch()
    await other.create()
    assert {file.name for file in folder.iterdir()} == there | foreign


@pytest.mark.requirement("AG-12")
def test_a_session_that_is_used_again_holds_its_lock_again(tmp_path: Path) -> None:
    files, other = SessionFiles(tmp_path / "tasks"), SessionFiles(tmp_path / "tasks")
    claim = Claim(task="t", since=1, kept_by=files.session)
    for _ in range(2):
        files.write([claim])
        assert [it.is_ended for it in (*files.read(), *other.read())] == [False, False]
        files.close()
        assert [it.is_ended for it in (*files.read(), *other.read())] == [True, True]


@pytest.mark.requirement("AG-12")
@pytest.mark.parametrize("pattern", ["*", "*.lock"])
async def test_a_process_whose_files_somebody_removed_holds_what_it_claims_afterwards(team: Team, pattern: str) -> None:
    agent, other = team.join(), team.join()
    task = await agent.create()
    await agent.call("claim_task")
    folder = team.path.with_name("tasks.sessions")
    for file in folder.glob(pattern):
        file.unlink()
    if pattern == "*":
        folder.rmdir()
    await agent.call("claim_task", id=task, note="again")
    with pytest.raises(ToolFailed, match="TaskClaimed"):
        await other.call("update_task", id=task, title="x")


def test_an_agent_holds_its_own_claims_only() -> None:
    claim = Claim(task="t", since=1, process="p", agent="ann")
    assert Agent("p", "ann").holds(claim)
    assert not any(Agent(*who).holds(claim) for who in (("p", ""), ("q", "ann"), ("", "ann")))


@pytest.mark.requirement("AG-12")
def test_on_windows_the_lock_of_a_session_is_tried_as_its_holder_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, other = SessionFiles(tmp_path / "tasks"), SessionFiles(tmp_path / "tasks")
    files.write([Claim(task="t", since=1, kept_by=files.session)])
    monkeypatch.setattr(sys, "platform", "win32")
    assert [claim.is_ended for claim in other.read()] == [False]
    files.close()
    assert [claim.is_ended for claim in other.read()] == [True]
