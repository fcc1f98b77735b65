"""The tools and the commands that show the history and undo a change of it (AG-1 to AG-3, AG-5, AG-6)."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import mcp_types
import pytest
from mcp.client import Client
from pydantic import JsonValue
from typing_extensions import override

from hierarchy_mcp.server import build_server as build_hierarchy
from hierarchy_mcp.settings import HierarchySettings
from task_core.bounds import MAX_ANSWER, size_of
from task_core.cli.main import run
from task_core.cli.program import Program
from tasks_v1_mcp.server import build_server
from tasks_v1_mcp.settings import TasksSettings
from tests.core.command_line import Ended, command_line
from tests.servers import SERVERS, ServerRecord
from tests.tool_client import OpenClient, ToolFailed, call_tool

KEPT_BY_US: Final = [record for record in SERVERS if record.name != "taskmaster"]

each_server = pytest.mark.parametrize("record", KEPT_BY_US, ids=lambda record: record.name)


class Agent:
    """Calls the tools of a server over the document that the commands work on."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.path = folder / "tasks.json"
        values = {"tasks_file_path": self.path, "task_extra_tools": "history", "task_fsync": False, **settings}
        self.client = OpenClient(build_server(TasksSettings.model_validate(values)))

    async def call(self, tool: str, **arguments: JsonValue) -> Any:  # noqa: ANN401 - what a tool answers
        return await self.client.call(tool, arguments)

    async def create(self, title: str, **fields: JsonValue) -> str:
        return (await self.call("create_task", title=title, **fields))["task"]["id"]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


# The sets of tools


async def definitions(record: ServerRecord, folder: Path, **settings: str) -> dict[str, dict[str, Any]]:
    async with Client(record.built(folder, **settings).sdk) as client:
        found = (await client.list_tools()).tools
    return {tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in found}


@pytest.mark.requirement("AG-1", "AG-2")
@each_server
async def test_sets_of_tools_are_added_by_name_and_change_no_other_tool(record: ServerRecord, tmp_path: Path) -> None:
    plain = await definitions(record, tmp_path)
    assert {*plain} == {*record.calls}
    history, claims = {"task_history", "undo_change"}, {"claim_task", "release_task"}
    if record.name == "hierarchy":
        history, claims = {"taskHistory", "undoChange"}, {"claimTask", "releaseTask"}
    for words, added in {
        "": set[str](),
        "changes": {"list_changes"},
        " History ,": history,
        "brief,changes": {"brief", "list_changes"},
        "claims": claims,
        "all": {"list_changes", "brief", *history, *claims},
    }.items():
        found = await definitions(record, tmp_path, TASK_EXTRA_TOOLS=words)
        assert {*found} == {*plain, *added}
        if claims <= {*found}:  # whoever changes a task can say which agent it is
            for name, tool in found.items():
                is_named = tool["inputSchema"]["properties"].pop("agent", None) is not None
                assert is_named is not tool["annotations"]["readOnlyHint"], name
        assert json.dumps({name: found[name] for name in plain}) == json.dumps(plain)


@pytest.mark.requirement("AG-1", "TOOL-4")
@each_server
async def test_the_tools_of_all_sets_cost_a_model_at_most_2000_bytes(record: ServerRecord, tmp_path: Path) -> None:
    found = await definitions(record, tmp_path, TASK_EXTRA_TOOLS="all")
    shown = [  # clients show titles to people only
        {part: tool[part] for part in ("name", "description", "inputSchema")}
        for name, tool in found.items()
        if name not in record.calls
    ]
    assert sum(map(size_of, shown)) <= 2_000


@pytest.mark.requirement("AG-1")
def test_a_set_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="'claim' is not a set of tools"):
        TasksSettings(task_extra_tools="history, claim")


# The tools


@pytest.mark.requirement("AG-3")
async def test_an_entry_names_the_client_with_its_version_and_the_tool(agent: Agent) -> None:
    info = mcp_types.Implementation(name="an agent", version="2.5")
    async with Client(agent.client.server.sdk, client_info=info) as client:
        await client.call_tool("create_task", {"title": "Paint it"})
    (change,) = (await agent.call("task_history"))["changes"]
    assert (change["change"], change["by"], change["tool"]) == (1, "an agent 2.5", "create_task")
    assert change["tasks"][0]["after"]["title"] == "Paint it"
    assert change["at"].endswith("Z")


@pytest.mark.requirement("AG-6")
async def test_pages_show_every_change_once_newest_first(agent: Agent) -> None:
    tasks = [await agent.create(f"Task {number}") for number in range(5)]
    await agent.call("update_task", id=tasks[0], title="New")
    seen: list[int] = []
    page = await agent.call("task_history", limit=2)
    while page["more"]:
        seen += [change["change"] for change in page["changes"]]
        page = await agent.call("task_history", limit=2, after=seen[-1])
    assert [*seen, *(change["change"] for change in page["changes"])] == [6, 5, 4, 3, 2, 1]
    one = await agent.call("task_history", id=tasks[0])
    assert ([change["change"] for change in one["changes"]], one["more"]) == ([6, 1], False)
    assert (await agent.call("task_history", id="nobody"))["changes"] == []


@pytest.mark.requirement("AG-6", "TOOL-9")
async def test_a_page_of_huge_changes_and_a_refusal_that_names_them_stay_within_40_kb(agent: Agent) -> None:
    task = await agent.create("Paint it")
    for letter in "abcdefgh":
        await agent.call("update_task", id=task, description=letter * 4_000)
    seen: list[int] = []
    page = {"more": True}
    while page["more"]:
        page = await agent.call("task_history", **({"after": seen[-1]} if seen else {}))
        assert size_of(page) <= MAX_ANSWER
        seen += [change["change"] for change in page["changes"]]
    assert seen == [*range(9, 0, -1)]
    with pytest.raises(ToolFailed) as refused:
        await agent.call("undo_change", change=2)
    assert refused.value.details["conflicts"] == [{"id": task, "field": "description", "now": "h" * 4_000}]


@pytest.mark.requirement("AG-6", "TOOL-9")
async def test_an_entry_of_100_kb_and_its_refusal_are_cut(tmp_path: Path) -> None:
    settings = {"file_path": tmp_path / "tree.json", "task_extra_tools": "history", "task_fsync": False}
    client = OpenClient(build_hierarchy(HierarchySettings.model_validate(settings)))
    await client.call("createTask", {"name": "x", "id": "a", "description": "a" * 90_000})
    await client.call("updateTask", {"id": "a", "description": "b" * 90_000})
    await client.call("updateTask", {"id": "a", "description": "c" * 90_000})
    page = await client.call("taskHistory", {})
    assert (size_of(page) <= MAX_ANSWER, page["changes"][0]["cut"]) == (True, True)
    with pytest.raises(ToolFailed) as refused:
        await client.call("undoChange", {"change": 2})
    assert size_of(refused.value.details) <= MAX_ANSWER
    assert refused.value.details["cut"]
    await client.call("undoChange", {"change": 3})
    assert (await client.call("getTask", {"id": "a"}))["task"]["description"] == "b" * 90_000


@pytest.mark.requirement("AG-6")
async def test_a_change_is_undone_and_the_undo_says_its_own_number(agent: Agent) -> None:
    task = await agent.create("Paint it")
    await agent.call("update_task", id=task, title="Burn it")
    assert await agent.call("undo_change", change=2) == {"undone": 2, "change": 3, "tasks": [task]}
    assert (await agent.call("get_task", id=task))["task"]["title"] == "Paint it"
    assert (await agent.call("undo_change", change=3))["change"] == 4
    assert (await agent.call("get_task", id=task))["task"]["title"] == "Burn it"
    for number in (9, 10**30):
        with pytest.raises(ToolFailed, match="ChangeNotFound: The history has no change"):
            await agent.call("undo_change", change=number)


@pytest.mark.requirement("AG-6")
async def test_a_field_that_was_added_to_a_new_task_keeps_an_undo_from_removing_it(agent: Agent) -> None:
    task_id = await agent.create("Paint it")
    document = json.loads(agent.path.read_text())
    document["tasks"][0]["mine"] = "text"
    agent.path.write_text(json.dumps(document))
    with pytest.raises(ToolFailed) as refused:
        await agent.call("undo_change", change=1)
    assert refused.value.details["conflicts"] == [{"id": task_id, "field": "mine", "now": "text"}]


@pytest.mark.requirement("AG-5")
async def test_without_a_history_the_tools_and_commands_say_so(tmp_path: Path, command: Callable[..., Ended]) -> None:
    agent = Agent(tmp_path, task_history_days="0")
    await agent.create("Paint it")
    assert await agent.call("task_history") == {"changes": [], "more": False}
    with pytest.raises(ToolFailed, match=r"with TASK_HISTORY_DAYS=0 none are kept"):
        await agent.call("undo_change", change=1)
    for words in (["history"], ["undo"], ["undo", "1", "--yes"]):
        assert "TASK_HISTORY_DAYS" in command(*words, TASK_HISTORY_DAYS="0").err
    assert [path.name for path in tmp_path.glob("*history*")] == []


# The commands


class Terminal(io.StringIO):
    """A terminal on which a person has typed something."""

    @override
    def isatty(self) -> bool:
        return True


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    monkeypatch.setenv("TASKS_FILE_PATH", str(tmp_path / "tasks.json"))

    def run_command(*words: str, typed: str | None = None, **environment: str) -> Ended:
        with monkeypatch.context() as patch, command_line():
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.StringIO() if typed is None else Terminal(typed))
            with pytest.raises(SystemExit) as ended:
                run(Program.of("tasks_v1_mcp"), words)
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, *capsys.readouterr())

    return run_command


@pytest.mark.requirement("AG-6")
async def test_the_history_is_shown_by_task_and_as_json(agent: Agent, command: Callable[..., Ended]) -> None:
    assert command("history") == Ended(0, "", "No changes are known; with TASK_HISTORY_DAYS=0 none are kept.\n")
    task = await agent.create("Paint it")
    await agent.call("update_task", id=task, title="Burn it", priority="high")
    await agent.create("Other")
    shown = command("history", task).out.splitlines()
    assert [line.split("  ")[0] for line in shown if not line.startswith(" ")] == ["2", "1"]
    assert shown[0].endswith("mcp 0.1.0 update_task")
    assert shown[1:4] == [
        f"    changed {task}",
        '        title: "Paint it" -> "Burn it"',
        '        priority: "medium" -> "high"',
    ]
    assert shown[5] == f"    created {task}: Paint it"
    assert len(command("history", "--limit", "1").out.splitlines()) == 2
    assert len(command("history", "--limit", str(10**30)).out.splitlines()) == 8
    changes = json.loads(command("history", "--json", "--limit", "2").out)["changes"]
    assert changes == (await agent.call("task_history", limit=2))["changes"]


@pytest.mark.requirement("AG-6", "AG-3")
async def test_undo_shows_the_change_and_asks(agent: Agent, command: Callable[..., Ended]) -> None:
    task = await agent.create("Paint it")
    await agent.call("update_task", id=task, title="Burn it")
    for typed, err in ((None, "Nothing was undone: give --yes to undo it.\n"), ("n\n", "Nothing was undone.\n")):
        ended = command("undo", typed=typed)
        assert (ended.code, ended.err.endswith(err)) == (1, True)
        assert '        title: "Paint it" -> "Burn it"\n' in ended.out
    assert command("undo", typed="Y\n").out.endswith("Undone. To take that back: undo 3\n")
    assert (await agent.call("task_history", limit=1))["changes"][0]["by"] == "command line"
    assert (await agent.call("get_task", id=task))["task"]["title"] == "Paint it"
    ended = command("undo", "--yes", "--json", "3")
    assert (ended.code, json.loads(ended.out)) == (0, {"undone": 3, "change": 4, "tasks": [task]})
    refused = command("undo", "3", "--yes")
    assert refused.code == 1
    assert refused.err.startswith("tasks-v1-mcp undo: Change 3 was not undone: something was changed since")
    assert command("undo", "99", "--yes").err.startswith("tasks-v1-mcp undo: The history has no change 99")


@pytest.mark.requirement("AG-6")
def test_an_empty_history_has_nothing_to_undo(command: Callable[..., Ended]) -> None:
    assert command("undo", "--yes") == Ended(1, "", "No changes are known; with TASK_HISTORY_DAYS=0 none are kept.\n")
    assert command("undo", "many").code == 2


@pytest.mark.requirement("AG-6")
async def test_control_characters_of_a_task_do_not_reach_the_terminal(
    agent: Agent, command: Callable[..., Ended]
) -> None:
    task = await agent.create("Paint it")
    await agent.call("update_task", id=task, description="\x1b[2Jgone\u202e")
    agent.path.write_text(agent.path.read_text("utf-8").replace("Paint it", "\\u001b[31mred"), "utf-8")
    await agent.create("x")
    kept = agent.path.with_name("tasks.json.history.jsonl")
    kept.write_text(kept.read_text("utf-8").replace('{"description":', '{"\\u001b[32mgreen":'), "utf-8")
    out = command("history").out
    assert "[32mgreen" in out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "[31mred" in out
    assert "outside" in out


@pytest.mark.requirement("AG-5", "AG-6")
async def test_what_is_not_known_of_a_change_is_said(
    agent: Agent, command: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("task_core.history.changes._MAX_CHANGE", 100)
    monkeypatch.setattr("task_core.history.changes._MAX_NAMED", 0)
    await agent.create("Paint it")
    agent.path.write_text(agent.path.read_text("utf-8").replace("Paint it", "Burn it"), "utf-8")
    await call_tool(Agent(agent.path.parent).client.server, "create_task", {"title": "x"})
    out = command("history").out
    assert "    … and 1 more\n" in out
    assert "    changed while no server was running: what was there before is not known\n" in out


@pytest.mark.requirement("AG-6")
async def test_a_list_of_a_client_is_named(
    agent: Agent, command: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent.create("Paint it")
    monkeypatch.delenv("TASKS_FILE_PATH")
    monkeypatch.chdir(tmp_path)
    entry = {"command": "tasks-v1-mcp", "env": {"TASKS_FILE_PATH": str(agent.path)}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"tasks": entry}}))
    ended = command("history", "--client", "claude-code")
    assert f"{agent.path}: the list of Claude Code, in this project.\n" in ended.err
    assert "Paint it" in ended.out
