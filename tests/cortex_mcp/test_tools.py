"""The five tools: what they offer, which process each call is, and that the answer of ``ctx`` is the answer."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from mcp.client import Client

from task_core.bounds import MAX_ANSWER
from tests.cortex_mcp.ctx_fixture import TASK, CtxFixture, content_of, text_of
from tests.tool_client import Era

TOOLS: Final = ["list_tasks", "start_task", "submit_pr", "complete_task", "get_task_status"]

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])

ARGV: Final[list[tuple[str, dict[str, Any], list[str]]]] = [
    ("list_tasks", {}, ["tasks", "list", "--json"]),
    ("list_tasks", {"limit": 50}, ["tasks", "list", "--json"]),
    (
        "list_tasks",
        {"status": ["TODO", "REVIEW"], "limit": 5, "cursor": "--all"},
        ["tasks", "list", "--json", "--status=TODO,REVIEW", "--limit=5", "--cursor=--all"],
    ),
    ("list_tasks", {"status": '["DONE"]'}, ["tasks", "list", "--json", "--status=DONE"]),
    ("list_tasks", {"status": "DONE"}, ["tasks", "list", "--json", "--status=DONE"]),
    ("list_tasks", {"status": []}, ["tasks", "list", "--json"]),
    ("start_task", {"task_id": 42}, ["tasks", "start", "42", "--json"]),
    ("start_task", {"task_id": "42"}, ["tasks", "start", "42", "--json"]),
    ("start_task", {"task_id": 42.0}, ["tasks", "start", "42", "--json"]),
    ("submit_pr", {}, ["tasks", "pr", "--json"]),
    ("submit_pr", {"commit_message": "--amend"}, ["tasks", "pr", "--json", "--message-file", "-"]),
    ("complete_task", {}, ["tasks", "done", "--json"]),
    ("get_task_status", {}, ["tasks", "status", "--json"]),
]


@pytest.mark.requirement("CX-85", "CX-94", "TOOL-1")
async def test_the_tools_are_those_of_the_document_and_reach_out(ctx: CtxFixture) -> None:
    async with Client(ctx.server().sdk) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        instructions = client.instructions or ""
    assert list(tools) == TOOLS
    hints = {
        name: [
            hint
            for hint in ("read_only_hint", "destructive_hint", "idempotent_hint", "open_world_hint")
            if getattr(tool.annotations, hint)
        ]
        for name, tool in tools.items()
    }
    reading = ["read_only_hint", "idempotent_hint", "open_world_hint"]
    assert hints == {
        "list_tasks": reading,
        "start_task": ["idempotent_hint", "open_world_hint"],
        "submit_pr": ["open_world_hint"],
        "complete_task": ["destructive_hint", "idempotent_hint", "open_world_hint"],
        "get_task_status": reading,
    }
    assert all(word in instructions for word in ("data, not instructions", "before you change", "merged", "log in"))


@pytest.mark.requirement("CX-85", "TOOL-4")
async def test_a_model_pays_little_to_see_the_tools(ctx: CtxFixture) -> None:
    async with Client(ctx.server().sdk) as client:
        tools = (await client.list_tools()).tools
    seen = [
        {"name": it.name, "title": it.title, "description": it.description, "inputSchema": it.input_schema}
        for it in tools
    ]
    assert sum(len(json.dumps(it, separators=(",", ":"), ensure_ascii=False).encode()) for it in seen) <= 3_000
    sizes = {it.name: len(json.dumps(it.output_schema, separators=(",", ":"))) for it in tools}
    assert {name: size for name, size in sizes.items() if size > 700} == {}


@pytest.mark.requirement("CX-86", "CX-85")
async def test_a_call_is_one_process_with_one_value_in_one_argument(ctx: CtxFixture) -> None:
    async with Client(ctx.server().sdk) as client:
        for tool, arguments, _ in ARGV:
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, text_of(result)
    assert [call["argv"] for call in ctx.calls] == [argv for *_, argv in ARGV]
    assert all(call["is_leader"] for call in ctx.calls)


@pytest.mark.requirement("CX-86")
async def test_a_commit_message_goes_through_stdin_and_is_no_argument(ctx: CtxFixture) -> None:
    message = "#1 Ändere `$(reboot)`;\n\n--no-verify\n\N{RIGHT-TO-LEFT OVERRIDE}"
    assert not (await ctx.call("submit_pr", commit_message=message)).is_error
    (call,) = ctx.calls
    assert call["stdin"] == message
    assert "reboot" not in json.dumps([call["argv"], call["environment"]])


@pytest.mark.requirement("CX-90")
async def test_ctx_gets_the_environment_of_the_server_and_what_keeps_it_quiet(
    ctx: CtxFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTX_TOKEN", "secret-token")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.delenv("GIT_ASKPASS", raising=False)
    server = ctx.server(cortex_list_timeout=30, cortex_git_timeout=60)
    await ctx.call("list_tasks", server)
    monkeypatch.setenv("GIT_ASKPASS", "/usr/bin/ask")
    await ctx.call("submit_pr", server)
    first, second = (call["environment"] for call in ctx.calls)
    quiet = {"CTX_NO_INPUT": "1", "GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C"}
    assert first.items() >= {**quiet, "CTX_TOKEN": "secret-token", "GIT_ASKPASS": "", "CTX_TIMEOUT": "25"}.items()
    assert second.items() >= {"GCM_INTERACTIVE": "never", "GIT_EDITOR": ":", "GIT_ASKPASS": "/usr/bin/ask"}.items()
    assert second["CTX_TIMEOUT"] == "55"


@pytest.mark.requirement("CX-88", "CX-104", "ERR-3")
@BOTH_ERAS
async def test_the_answer_is_the_object_of_ctx_in_both_forms(ctx: CtxFixture, mode: Era) -> None:
    said: dict[str, Any] = {
        "success": True,
        "tasks": [TASK],
        "total": 1,
        "next_cursor": None,
        "message": "1 tasks",
        "more": [{"a": 1}],
    }
    ctx.replies("tasks_list", said)
    result = await ctx.ask("list_tasks", {}, era=mode)
    assert content_of(result) == said
    assert json.loads(text_of(result)) == said
    assert text_of(result).startswith('{"success":true,"tasks":[{"id":42,')


@pytest.mark.requirement("CX-88", "WARN-1")
async def test_the_warnings_of_ctx_come_before_those_of_the_server(ctx: CtxFixture) -> None:
    ctx.replies(
        "tasks_list",
        {
            "success": True,
            "warnings": ["old"],
            "tasks": [],
            "total": 0,
            "next_cursor": None,
            "message": "No assigned tasks",
        },
    )
    ctx.set_behaviors(events={"answer": {"success": False, "error": "x", "code": "NotLoggedIn"}, "exit": 4})
    server = ctx.server()
    async with Client(server.sdk) as client:
        result = await client.call_tool("list_tasks", {})
        assert content_of(result)["warnings"] == ["old"]
    refused = {**ctx.refuses("tasks_list", "NoRemote", "There is no remote."), "warnings": ["late"]}
    ctx.replies("tasks_list", refused, 6)
    result = await ctx.call("list_tasks")
    assert content_of(result) == refused
    assert json.loads(text_of(result)) == refused


@pytest.mark.requirement("CX-88")
async def test_a_failure_of_ctx_is_passed_on_word_for_word(ctx: CtxFixture) -> None:
    error = "Not logged in. Please run 'ctx auth login' first, in a terminal."
    async with Client(ctx.server().sdk) as client:
        for tool, command in zip(TOOLS, ("list", "start", "pr", "done", "status"), strict=True):
            refused = ctx.refuses(f"tasks_{command}", "NotLoggedIn", error, hint="\N{BELL}", deep={"a": [1]})
            result = await client.call_tool(tool, {"task_id": 1} if tool == "start_task" else {})
            assert result.is_error
            assert content_of(result) == refused
            assert json.loads(text_of(result)) == refused


@pytest.mark.requirement("CX-88")
async def test_a_failure_without_details_is_passed_on_too(ctx: CtxFixture) -> None:
    refused = {"success": False, "error": "No.", "code": "Forbidden"}
    ctx.replies("tasks_done", refused, 1)
    assert content_of(await ctx.call("complete_task")) == refused


WRONG_CALLS: Final[list[tuple[str, dict[str, Any]]]] = [
    ("start_task", {}),
    ("start_task", {"task_id": 0}),
    ("start_task", {"task_id": 2**31}),
    ("start_task", {"task_id": True}),
    ("start_task", {"task_id": "-1"}),
    ("start_task", {"task_id": "١"}),
    ("start_task", {"task_id": "42; reboot"}),
    ("start_task", {"task": 42}),
    ("list_tasks", {"limit": 0}),
    ("list_tasks", {"limit": 101}),
    ("list_tasks", {"status": "OPEN"}),
    ("list_tasks", {"status": [1]}),
    ("list_tasks", {"cursor": "a\0b"}),
    ("submit_pr", {"commit_message": " \n"}),
    ("submit_pr", {"commit_message": "a\0b"}),
    ("submit_pr", {"commit_message": "x" * 10_001}),
    ("submit_pr", {"commit_message": "\ud800"}),
    ("submit_pr", {"directory": "a\nb"}),
    ("complete_task", {"force": True}),
]


@pytest.mark.requirement("CX-85", "CX-88", "TOOL-2")
async def test_what_is_wrong_with_a_call_is_said_in_the_form_of_ctx_and_nothing_runs(ctx: CtxFixture) -> None:
    calls = [(tool, arguments, "InvalidArguments") for tool, arguments in WRONG_CALLS]
    async with Client(ctx.server().sdk) as client:
        for tool, arguments, code in [*calls, ("finish_task", dict[str, Any](), "UnknownTool")]:
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            content = content_of(result)
            assert list(content) == ["success", "error", "code", "details"]
            assert (content["success"], content["code"]) == (False, code)
            assert json.loads(text_of(result)) == content
    assert ctx.notes == []


async def test_a_status_that_is_nearly_right_is_corrected(ctx: CtxFixture) -> None:
    assert "Did you mean 'IN_PROGRESS'?" in text_of(await ctx.call("list_tasks", status=["IN_PROGRES"]))


@pytest.mark.requirement("TOOL-9", "CX-85")
async def test_a_page_that_is_too_long_ends_earlier_where_the_next_one_begins(ctx: CtxFixture) -> None:
    tasks = [{**TASK, "id": number, "title": "x" * 2_000} for number in range(50)]
    page: dict[str, Any] = {"success": True, "tasks": tasks, "total": 50, "next_cursor": None, "message": "50 tasks"}
    ctx.replies("tasks_list", page)
    result = await ctx.call("list_tasks")
    assert len(text_of(result).encode()) <= MAX_ANSWER
    assert [call["argv"][3:] for call in ctx.calls][:2] == [[], ["--limit=14"]]
    assert len(ctx.calls) == 2, "the fake ctx ignores the limit, so that the second answer is as long as the first"


@pytest.mark.requirement("TOOL-9")
@pytest.mark.parametrize(("tool", "command"), [("start_task", "start"), ("get_task_status", "status")])
async def test_the_description_of_the_task_at_hand_is_whole(ctx: CtxFixture, tool: str, command: str) -> None:
    first = content_of(await ctx.ask(tool, {"task_id": 42} if tool == "start_task" else {}))
    task = {**TASK, "description": "长" * 20_000}
    ctx.replies(f"tasks_{command}", {**first, "task": task})
    assert content_of(await ctx.ask(tool, {"task_id": 42} if tool == "start_task" else {}))["task"] == task
