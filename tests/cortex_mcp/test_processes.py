"""No process outlives its call: not if it hangs, is cancelled, or the server ends, and calls run side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import pytest
from mcp.client import Client

from cortex_mcp.runner import ProgramRun, Runner
from cortex_mcp.service import build_environment
from task_core.server.app import TaskServer
from tests.core.listening import until
from tests.cortex_mcp.ctx_fixture import CtxFixture, content_of, is_running
from tests.tool_client import Era

HANGS: list[dict[str, Any]] = [
    {"hang": True},
    {"hang": True, "spawn": "meek"},
    {"hang": True, "spawn": "stubborn", "stubborn": True},
]
"""A program that hangs, one with a child, and one that heeds no SIGTERM, and whose child does not either."""


@pytest.mark.requirement("CX-89")
@pytest.mark.parametrize("behavior", HANGS[1:], ids=["with a child", "stubborn"])
async def test_a_call_that_takes_too_long_ends_all_its_processes(ctx: CtxFixture, behavior: dict[str, Any]) -> None:
    ctx.set_behaviors(tasks_start=behavior)
    result = await ctx.call("start_task", ctx.server(cortex_git_timeout=2.5), task_id=42)
    assert content_of(result)["code"] == "Timeout"
    await until(ctx.is_quiet)


@pytest.mark.requirement("CX-89")
async def test_each_tool_has_the_time_of_its_kind_and_ctx_a_little_less(ctx: CtxFixture) -> None:
    server = ctx.server(cortex_list_timeout=80, cortex_git_timeout=100)
    for tool in ("list_tasks", "get_task_status", "submit_pr", "complete_task"):
        await ctx.call(tool, server)
    assert [call["environment"]["CTX_TIMEOUT"] for call in ctx.calls] == ["75", "75", "95", "95"]
    assert [build_environment(seconds)["CTX_TIMEOUT"] for seconds in (3, 8, 12.5)] == ["1.5", "4", "7.5"]


async def cancel_when(
    server: TaskServer, tool: str, condition: Callable[[], object], mode: Era = "auto", **arguments: object
) -> None:
    """Cancel a call once the condition holds."""
    async with Client(server.sdk, mode=mode) as client, anyio.create_task_group() as tasks:

        async def call() -> None:
            await client.call_tool(tool, arguments)

        tasks.start_soon(call)
        await until(condition)
        tasks.cancel_scope.cancel()


@pytest.mark.requirement("CX-89", "TOOL-7")
@pytest.mark.parametrize(("mode", "behavior"), [("auto", HANGS[1]), ("auto", HANGS[2]), ("legacy", HANGS[0])])
async def test_a_call_that_is_cancelled_leaves_no_process(ctx: CtxFixture, behavior: dict[str, Any], mode: Era) -> None:
    ctx.set_behaviors(tasks_pr=behavior)
    expected = 1 + ("spawn" in behavior)

    def is_under_way() -> bool:
        notes = ctx.notes
        return (
            len(ctx.calls) == 1
            and len(ctx.pids()) == expected + 1
            and ("stubborn" not in behavior or any("stubborn" in it for it in notes))
        )

    await cancel_when(ctx.server(), "submit_pr", is_under_way, mode, commit_message="x")
    await until(ctx.is_quiet)
    assert not any("ended" in it for it in ctx.notes[-1:])


@pytest.mark.requirement("CX-89")
async def test_the_end_of_the_server_ends_every_process_and_answers_at_once(ctx: CtxFixture) -> None:
    ctx.set_behaviors(tasks_done=HANGS[2])
    server = ctx.server()
    expected = 3
    async with Client(server.sdk) as client, anyio.create_task_group() as tasks:

        async def call() -> None:
            content = content_of(await client.call_tool("complete_task", {}))
            assert (content["code"], "the server ends" in content["error"]) == ("CtxFailed", True)

        tasks.start_soon(call)
        await until(lambda: len(ctx.pids()) == expected)
        server.close()
        server.close()
    async with Client(server.sdk) as client:
        assert content_of(await client.call_tool("list_tasks", {}))["code"] == "CtxFailed"
    assert len(ctx.pids()) == expected, "nothing is started any more"
    await until(ctx.is_quiet)


@pytest.mark.requirement("CX-89")
def test_an_event_loop_that_ends_during_the_grace_leaves_the_rest_to_a_process_of_its_own(ctx: CtxFixture) -> None:
    ctx.set_behaviors(tasks_start={"hang": True, "stubborn": True})

    async def main() -> None:
        runner = Runner()
        program = ProgramRun((str(ctx.path), "tasks", "start"), ctx.repository, {"PATH": "/bin:/usr/bin"}, None)
        running = asyncio.create_task(runner.run(program))
        await until(lambda: any("stubborn" in it for it in ctx.notes))
        running.cancel()
        for _ in range(3):
            await asyncio.sleep(0)

    asyncio.run(main())
    (pid,) = ctx.pids()
    assert is_running(pid)
    asyncio.run(until(ctx.is_quiet))


@pytest.mark.requirement("CX-89")
async def test_what_a_program_leaves_behind_on_purpose_delays_no_answer(ctx: CtxFixture) -> None:
    ctx.set_behaviors(
        tasks_list={
            "spawn": "meek",
            "answer": {"success": True, "tasks": [], "total": 0, "next_cursor": None, "message": "No assigned tasks"},
        }
    )
    assert not (await ctx.call("list_tasks")).is_error
    (orphan,) = [it["grandchild"] for it in ctx.notes if "grandchild" in it]
    assert is_running(orphan)
    await anyio.run_process(["kill", str(orphan)])
    await until(ctx.is_quiet)


@pytest.mark.requirement("CX-86")
async def test_calls_that_change_one_repository_wait_for_each_other_and_others_do_not(ctx: CtxFixture) -> None:
    (ctx.repository / "other").mkdir()
    behavior = {"wait_for": "go", "answer": {"success": False, "error": "x", "code": "NoRemote"}}
    ctx.set_behaviors(tasks_done=behavior, tasks_start=behavior, tasks_status=behavior)
    async with Client(ctx.server().sdk) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(partial(client.call_tool, "complete_task", {}))
        await until(lambda: len(ctx.calls) == 1)
        tasks.start_soon(partial(client.call_tool, "start_task", {"task_id": 1}))
        tasks.start_soon(partial(client.call_tool, "complete_task", {"directory": "other"}))
        tasks.start_soon(partial(client.call_tool, "get_task_status", {}))
        await until(lambda: len(ctx.calls) == 3)
        assert not (await client.call_tool("list_tasks", {})).is_error
        running = [tuple(call["argv"][:2]) for call in ctx.calls]
        assert sorted(running) == [("tasks", "done"), ("tasks", "done"), ("tasks", "list"), ("tasks", "status")]
        (ctx.folder / "go").touch()
    assert ("tasks", "start") in [tuple(call["argv"][:2]) for call in ctx.calls]


@pytest.mark.requirement("CX-86", "CX-89")
async def test_a_call_that_is_cancelled_while_it_waits_for_its_turn_is_never_run(ctx: CtxFixture) -> None:
    ctx.set_behaviors(tasks_done={"wait_for": "go", "answer": {"success": False, "error": "x", "code": "NoRemote"}})
    server = ctx.server()
    async with Client(server.sdk) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(partial(client.call_tool, "complete_task", {}))
        await until(lambda: len(ctx.calls) == 1)
        async with anyio.create_task_group() as others:
            others.start_soon(partial(client.call_tool, "start_task", {"task_id": 1}))
            await client.list_tools()
            others.cancel_scope.cancel()
        (ctx.folder / "go").touch()
    assert not (await ctx.call("submit_pr", server)).is_error
    assert [call["argv"][1] for call in ctx.calls] == ["done", "pr"]
