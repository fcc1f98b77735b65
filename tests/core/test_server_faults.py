"""A refusal has one form, whoever refuses, and repeats little of what the client sent (ERR-3, TOOL-3)."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    CallToolResult,
    JSONRPCError,
    JSONRPCRequest,
    Request,
)
from pydantic import JsonValue
from starlette.requests import Request as HttpRequest

from task_core.errors import (
    DuplicateKey,
    InternalError,
    InvalidArguments,
    ResourceNotFound,
    StoreLocked,
    TaskError,
    TaskNotFound,
    UnknownPrompt,
)
from task_core.server.app import TaskServer
from task_core.server.faults import SCOPE_KEY, as_mcp_error, find_offence
from task_core.warning_list import WarningList
from tests.core.shelf import Shelf

FAULT = DuplicateKey(["a"])


class Anything(Request[dict[str, Any], str]):
    """A request as a client of another make may send it."""

    method: str


async def answer(method: str, params: dict[str, JsonValue]) -> CallToolResult | MCPError:
    """Return what a request is answered, whatever its parameters are."""
    async with Client(Shelf().server.sdk, mode="legacy") as client:
        try:
            return await client.session.send_request(Anything(method=method, params=params), CallToolResult)
        except MCPError as error:
            return error


@pytest.mark.requirement("ERR-3")
async def test_a_method_that_is_not_served_is_named() -> None:
    server = TaskServer("bare", title="Bare", version="1", instructions="", warnings=WarningList())
    async with Client(server.sdk) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_resources()
    assert (caught.value.error.code, caught.value.error.data) == (METHOD_NOT_FOUND, "resources/list")


@pytest.mark.requirement("ERR-3", "P2")
@pytest.mark.parametrize(
    ("params", "paths"),
    [
        pytest.param({}, ["name"], id="nothing"),
        pytest.param({"name": 5}, ["name"], id="a number for the name"),
        pytest.param({"name": "look", "arguments": []}, ["arguments"], id="a list for the arguments"),
        pytest.param({"name": None, "arguments": "x"}, ["name", "arguments"], id="both"),
    ],
)
async def test_a_malformed_call_is_answered_as_a_failed_call(params: dict[str, JsonValue], paths: list[str]) -> None:
    result = await answer("tools/call", params)
    assert isinstance(result, CallToolResult)
    assert result.is_error
    error = result.structured_content["error"]
    assert (error["code"], [entry["path"] for entry in error["details"]["fields"]]) == ("InvalidArguments", paths)


@pytest.mark.requirement("ERR-3")
@pytest.mark.parametrize("params", [{}, {"uri": 5}], ids=["missing", "of a wrong type"])
async def test_malformed_parameters_of_another_request_have_the_code_of_ours(params: dict[str, JsonValue]) -> None:
    error = await answer("resources/read", params)
    assert isinstance(error, MCPError)
    assert (error.code, error.data["code"]) == (INVALID_PARAMS, "InvalidArguments")


@pytest.mark.requirement("ERR-3")
async def test_a_request_before_the_handshake_is_refused_with_the_code_of_ours() -> None:
    to_server, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    outbox, from_server = anyio.create_memory_object_stream[SessionMessage](1)
    server = Shelf().server.sdk
    async with anyio.create_task_group() as tasks, to_server, from_server:
        tasks.start_soon(partial(server.run, inbox, outbox, server.create_initialization_options()))
        await to_server.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/list")))
        message = (await from_server.receive()).message
        tasks.cancel_scope.cancel()
    assert isinstance(message, JSONRPCError)
    assert (message.error.code, message.error.data) == (INVALID_PARAMS, {"code": "InvalidArguments"})


@pytest.mark.requirement("TOOL-3", "S1")
async def test_a_method_that_is_not_served_is_repeated_in_part_only() -> None:
    error = await answer("Ω" * 10_000, {})
    assert isinstance(error, MCPError)
    assert error.code == METHOD_NOT_FOUND
    assert 0 < str(error.error.model_dump()).count("Ω") <= 200


@pytest.mark.requirement("ERR-3")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidArguments([("a", "b")]), INVALID_PARAMS),
        (ResourceNotFound("a:b", ["tasks://list"]), INVALID_PARAMS),
        (TaskNotFound("a", ["b"]), INVALID_PARAMS),
        (UnknownPrompt("a", ["b"]), INVALID_PARAMS),
        (StoreLocked(1.0), INTERNAL_ERROR),
        (InternalError(), INTERNAL_ERROR),
    ],
    ids=lambda value: getattr(value, "code", None),
)
def test_the_number_of_an_error_says_who_can_fix_it(error: TaskError, code: int) -> None:
    told = as_mcp_error(error)
    assert (told.code, told.message, told.data) == (code, error.message, {"code": error.code, **error.details})


@pytest.mark.requirement("P1")
def test_a_fault_in_the_text_is_found_where_each_transport_left_it() -> None:
    over_http = HttpRequest({"type": "http", SCOPE_KEY: FAULT})
    sound = HttpRequest({"type": "http", SCOPE_KEY: None})
    assert (find_offence(FAULT), find_offence(over_http)) == (FAULT, FAULT)
    assert (find_offence(None), find_offence(sound), find_offence(HttpRequest({"type": "http"}))) == (None, None, None)
