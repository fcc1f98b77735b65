"""Tasks are resources beside the tools: what a client can list, read and complete, and what it is refused (RES)."""

from __future__ import annotations

import json
import threading
from functools import partial

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    PromptReference,
    ReadResourceResult,
    ResourceTemplateReference,
    TextResourceContents,
)

from task_core.server.app import TaskServer
from task_core.server.resources import LIST_URI, SUMMARY_URI, TASK_URI, task_id_in, task_uri
from task_core.warning_list import WarningList
from tests.core.notes import add, in_background
from tests.core.shelf import Shelf

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])

TASK = ResourceTemplateReference(uri=TASK_URI)


@pytest.fixture
def shelf() -> Shelf:
    made = Shelf()
    add(made.store, "walls", "roof")
    return made


def only(result: ReadResourceResult) -> TextResourceContents:
    (content,) = result.contents
    assert isinstance(content, TextResourceContents)
    return content


async def read(shelf: Shelf, uri: str, mode: str) -> TextResourceContents:
    async with Client(shelf.server.sdk, mode=mode) as client:
        return only(await client.read_resource(uri))


async def refusal(shelf: Shelf, uri: str, mode: str) -> MCPError:
    async with Client(shelf.server.sdk, mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
    return caught.value


@pytest.mark.requirement("RES-1")
@BOTH_ERAS
async def test_what_is_listed_depends_on_no_task_and_is_no_tool(shelf: Shelf, mode: str) -> None:
    seen = list[tuple[list[str], list[str]]]()
    for board in (shelf, Shelf()):
        async with Client(board.server.sdk, mode=mode) as client:
            resources = (await client.list_resources()).resources
            templates = (await client.list_resource_templates()).resource_templates
            tools = (await client.list_tools()).tools
        seen.append(([item.uri for item in resources], [item.uri_template for item in templates]))
        assert all(item.title and item.description and item.mime_type for item in (*resources, *templates))
        assert [tool.name for tool in tools] == ["put", "rewrite", "look"]
    assert seen == [([LIST_URI, SUMMARY_URI], [TASK_URI])] * 2


@pytest.mark.requirement("RES-1")
async def test_a_server_without_a_board_has_no_resources() -> None:
    bare = TaskServer("bare", title="Bare", version="1", instructions="", warnings=WarningList())
    async with Client(bare.sdk) as client:
        assert client.server_capabilities
        assert client.server_capabilities.resources is None


@pytest.mark.requirement("RES-2")
@BOTH_ERAS
async def test_the_list_and_a_task_are_json(shelf: Shelf, mode: str) -> None:
    listed = await read(shelf, LIST_URI, mode)
    task = await read(shelf, "tasks://walls", mode)
    assert (listed.uri, listed.mime_type, task.mime_type) == (LIST_URI, "application/json", "application/json")
    assert listed.text == '{"tasks":[{"id":"walls"},{"id":"roof"}],"total":2,"left_out":0}'
    assert json.loads(task.text) == {"id": "walls", "text": ""}


@pytest.mark.requirement("RES-3")
@BOTH_ERAS
async def test_the_summary_is_markdown(shelf: Shelf, mode: str) -> None:
    content = await read(shelf, SUMMARY_URI, mode)
    assert content.mime_type == "text/markdown"
    assert content.text.startswith("# Tasks\n\n2 in all: 2 kept.\n")


@pytest.mark.requirement("RES-7")
@BOTH_ERAS
@pytest.mark.parametrize("uri", ["notes://walls", "tasks://", "tasks:walls", ""])
async def test_an_unknown_uri_is_named_in_the_refusal(shelf: Shelf, uri: str, mode: str) -> None:
    error = await refusal(shelf, uri, mode)
    assert (error.code, error.data) == (INVALID_PARAMS, {"code": "ResourceNotFound", "uri": uri})


@pytest.mark.requirement("RES-7", "ERR-4")
@BOTH_ERAS
async def test_an_unknown_task_comes_with_near_ones(shelf: Shelf, mode: str) -> None:
    error = await refusal(shelf, "tasks://wals", mode)
    assert error.code == INVALID_PARAMS
    assert error.data == {"code": "TaskNotFound", "uri": "tasks://wals", "near": ["walls"]}


@pytest.mark.requirement("RES-7", "TOOL-3", "S1")
@pytest.mark.parametrize("scheme", ["tasks://", "notes://"])
async def test_a_refusal_repeats_at_most_200_characters_of_a_uri(shelf: Shelf, scheme: str) -> None:
    error = await refusal(shelf, scheme + "Ω" * 10_000, "auto")
    assert 0 < (error.message + json.dumps(error.data, ensure_ascii=False)).count("Ω") <= 200


@pytest.mark.requirement("RES-7", "ST-4")
@BOTH_ERAS
@pytest.mark.parametrize("uri", [LIST_URI, SUMMARY_URI, "tasks://walls"])
async def test_a_store_that_cannot_be_read_is_an_error_with_its_code(shelf: Shelf, uri: str, mode: str) -> None:
    shelf.trouble = shelf.unreadable
    error = await refusal(shelf, uri, mode)
    assert (error.code, error.data["code"], error.data["file"]) == (INTERNAL_ERROR, "StoreUnreadable", "notes.json")


@pytest.mark.requirement("RES-7", "ERR-1", "CLI-4")
@BOTH_ERAS
@pytest.mark.parametrize("uri", [LIST_URI, SUMMARY_URI, "tasks://walls"])
async def test_a_fault_of_ours_leaks_nothing(
    shelf: Shelf, uri: str, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    shelf.trouble = shelf.broken
    error = await refusal(shelf, uri, mode)
    assert (error.code, error.data) == (INTERNAL_ERROR, {"code": "InternalError"})
    assert "secret" not in error.message + caplog.text
    assert "Reading a resource failed with RuntimeError" in caplog.text


@pytest.mark.requirement("RES-7", "P1")
@BOTH_ERAS
async def test_half_a_character_in_a_task_costs_one_request_only(shelf: Shelf, mode: str) -> None:
    with shelf.store.transaction() as notes:
        notes.replace(notes.get("roof").changed(text="\ud800"))
    async with Client(shelf.server.sdk, mode=mode) as client:
        with pytest.raises(MCPError):
            await client.read_resource("tasks://roof")
        assert only(await client.read_resource("tasks://walls")).text == '{"id":"walls","text":""}'


@pytest.mark.requirement("TOOL-7")
async def test_a_slow_store_holds_nobody_else_up(shelf: Shelf) -> None:
    together = threading.Barrier(3)
    shelf.trouble = lambda: together.wait(timeout=20)
    async with Client(shelf.server.sdk) as client, anyio.create_task_group() as tasks:
        for uri in (LIST_URI, SUMMARY_URI):
            tasks.start_soon(client.read_resource, uri)
        await client.list_resources()
        with in_background() as start:
            await anyio.to_thread.run_sync(partial(start, together.wait))
    assert not together.broken


@pytest.mark.requirement("RES-5")
@BOTH_ERAS
async def test_ids_that_begin_with_what_was_typed_come_first(shelf: Shelf, mode: str) -> None:
    add(shelf.store, "Roofing", "garden")
    async with Client(shelf.server.sdk, mode=mode) as client:
        answers = [await client.complete(TASK, {"name": "id", "value": typed}) for typed in ("ro", "A", "x", "")]
    found = [(answer.completion.values, answer.completion.total) for answer in answers]
    assert found == [
        (["roof", "Roofing"], 2),
        (["walls", "garden"], 2),
        ([], 0),
        (["walls", "roof", "Roofing", "garden"], 4),
    ]


@pytest.mark.requirement("RES-4", "RES-5")
async def test_a_hundred_ids_are_offered_at_most(shelf: Shelf) -> None:
    add(shelf.store, *[f"t{number}" for number in range(150)])
    async with Client(shelf.server.sdk) as client:
        completion = (await client.complete(TASK, {"name": "id", "value": "t"})).completion
    assert (len(completion.values), completion.total, completion.has_more) == (100, 150, True)


@pytest.mark.requirement("RES-5")
@BOTH_ERAS
async def test_the_free_words_of_a_prompt_are_not_completed(shelf: Shelf, mode: str) -> None:
    async with Client(shelf.server.sdk, mode=mode) as client:
        answer = await client.complete(PromptReference(name="greet"), {"name": "whom", "value": ""})
    assert answer.completion.values == []


@pytest.mark.requirement("RES-5", "RES-7")
@BOTH_ERAS
@pytest.mark.parametrize(
    ("reference", "argument", "code"),
    [
        pytest.param(TASK, "idd", "InvalidArguments", id="argument"),
        pytest.param(ResourceTemplateReference(uri=LIST_URI), "id", "ResourceNotFound", id="uri"),
        pytest.param(PromptReference(name="gret"), "whom", "UnknownPrompt", id="prompt"),
        pytest.param(PromptReference(name="look"), "whom", "InvalidArguments", id="argument of a prompt"),
    ],
)
async def test_what_cannot_be_completed_is_refused(
    shelf: Shelf, reference: ResourceTemplateReference | PromptReference, argument: str, code: str, mode: str
) -> None:
    async with Client(shelf.server.sdk, mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.complete(reference, {"name": argument, "value": ""})
    assert (caught.value.code, caught.value.data["code"]) == (INVALID_PARAMS, code)


@pytest.mark.requirement("RES-5", "RES-7")
async def test_ids_of_a_store_that_cannot_be_read_are_not_completed(shelf: Shelf) -> None:
    shelf.trouble = shelf.unreadable
    async with Client(shelf.server.sdk) as client:
        with pytest.raises(MCPError) as caught:
            await client.complete(TASK, {"name": "id", "value": ""})
    assert (caught.value.code, caught.value.data["code"]) == (INTERNAL_ERROR, "StoreUnreadable")


@pytest.mark.requirement("RES-1")
@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1) | st.sampled_from(["list", "summary"]))
def test_every_id_has_a_uri_of_its_own(task_id: str) -> None:
    uri = task_uri(task_id)
    assert uri not in (LIST_URI, SUMMARY_URI)
    assert uri.isascii()
    assert task_id_in(uri) == task_id


@pytest.mark.requirement("RES-1")
async def test_a_task_that_is_called_list_can_be_read(shelf: Shelf) -> None:
    add(shelf.store, "list")
    assert json.loads((await read(shelf, task_uri("list"), "auto")).text)["id"] == "list"
