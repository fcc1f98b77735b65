"""A change happens only while the tasks are as they were when it was decided on, and every refusal is an error."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import cast

import pytest
from mcp.server.lowlevel import Server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, RequestParamsMeta, TextContent

from task_board.guard import EXPECTED
from task_core.server.faults import RenderedAnswer
from tests.board.board_client import BoardClient, open_board, said


def test_a_change_in_a_store_without_a_list_is_not_mistaken_for_one_in_between(tmp_path: Path) -> None:
    with open_board(tmp_path, "tasks-v1", engine="sqlite") as board:
        response = board.act("start", id="1")
        assert said(response).startswith("No task has the id '1'.")


def test_a_tool_that_is_a_coroutine_is_refused_since_it_would_not_be_checked(columns: BoardClient) -> None:
    async def change() -> RenderedAnswer:
        raise AssertionError

    coroutine = change()

    def work() -> Awaitable[RenderedAnswer]:
        return coroutine

    params = CallToolRequestParams(name="change", _meta=cast("RequestParamsMeta", {EXPECTED: "a token"}))
    with pytest.raises(TypeError, match="change is a coroutine"):
        columns.store.server.wrap_change(params, work)()
    coroutine.close()


async def test_an_error_without_a_structure_is_an_error_too(tmp_path: Path) -> None:
    async def list_tools(*_: object) -> ListToolsResult:
        return ListToolsResult(tools=[])

    async def call_tool(*_: object) -> CallToolResult:
        return CallToolResult(content=[TextContent(text="Broken."), TextContent(text="Sorry.")], is_error=True)

    with open_board(tmp_path, "tasks-v1") as board:
        board.store.server.sdk = Server("broken", on_list_tools=list_tools, on_call_tool=call_tool)
        async with AsyncExitStack() as stack:
            await board.store.start(stack)
            outcome = await board.store.say()
    assert (outcome.code, outcome.message) == ("Error", "Broken.\nSorry.")
