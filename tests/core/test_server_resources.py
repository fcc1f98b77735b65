"""Tasks are resources beside the tools: what a client can list, read and complete, and what it is refused (RES)."""

from __future__ import annotations

import json
import threading
from functools import partial
from urllib.parse import quote

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
from task_core.server.overview import LIST_URI, SUMMARY_URI, TASK_URI, parse_task_uri
from task_core.server.resources import TaskResources
from task_core.store import Kind, MemoryDatabase, Store
from task_core.warning_list import WarningList
from tests.core.notes import Note, add, in_background
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
async def test_the_list_of_resources_depends_on_no_task_and_adds_no_tool(shelf: Shelf, mode: str) -> None:
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
    assert listed.text == '{"tasks":[{"id":"roof"},{"id":"walls"}],"total":2,"left_out":0}'
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
async def test_ids_are_offered_that_begin_with_what_was_typed_in_alphabetical_order(shelf: Shelf, mode: str) -> None:
    add(shelf.store, "roofing", "garden", "r%", "Zoë")
    async with Client(shelf.server.sdk, mode=mode) as client:
        answers = [await client.complete(TASK, {"name": "id", "value": typed}) for typed in ("ro", "r%", "Zo", "x", "")]
    assert [answer.completion.values for answer in answers] == [
        ["roof", "roofing"],
        ["r%"],
        ["Zoë"],
        [],
        ["Zoë", "garden", "r%", "roof", "roofing", "walls"],
    ]
    assert [answer.completion.has_more for answer in answers] == [False] * 5


@pytest.mark.requirement("RES-4", "RES-5")
@pytest.mark.parametrize(("count", "has_more"), [(100, False), (101, True)])
async def test_a_hundred_ids_are_offered_at_most(shelf: Shelf, count: int, *, has_more: bool) -> None:
    add(shelf.store, *[f"t{number:03}" for number in range(count)])
    async with Client(shelf.server.sdk) as client:
        completion = (await client.complete(TASK, {"name": "id", "value": "t"})).completion
    assert completion.values == [f"t{number:03}" for number in range(100)]
    assert completion.has_more is has_more


@pytest.mark.requirement("RES-5", "TM-90")
async def test_a_board_whose_records_hold_many_tasks_completes_their_ids_itself() -> None:
    server = TaskServer("ids", title="Ids", version="1", instructions="", warnings=WarningList())
    store = Store(MemoryDatabase(), Kind("many", Note))
    server.offer(TaskResources(store, dict, lambda _: {}, str, lambda typed, limit: [f"{typed}{limit}"]))
    async with Client(server.sdk) as client:
        assert (await client.complete(TASK, {"name": "id", "value": "t"})).completion.values == ["t101"]


@pytest.mark.requirement("RES-5")
@BOTH_ERAS
async def test_the_free_words_of_a_prompt_are_not_completed(shelf: Shelf, mode: str) -> None:
    async with Client(shelf.server.sdk, mode=mode) as client:
        answer = await client.complete(PromptReference(name="greet"), {"name": "whom", "value": ""})
    assert answer.completion.values == []


@pytest.mark.requirement("RES-5", "RES-7")
@BOTH_ERAS
@pytest.mark.parametrize("uri", [LIST_URI, "notes://{id}"])
async def test_what_cannot_be_completed_is_refused(shelf: Shelf, uri: str, mode: str) -> None:
    async with Client(shelf.server.sdk, mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.complete(ResourceTemplateReference(uri=uri), {"name": "id", "value": ""})
    assert (caught.value.code, caught.value.data["code"]) == (INVALID_PARAMS, "ResourceNotFound")


@pytest.mark.requirement("RES-5", "RES-7")
async def test_ids_of_a_store_that_cannot_be_read_are_not_completed(shelf: Shelf) -> None:
    shelf.trouble = shelf.unreadable
    async with Client(shelf.server.sdk) as client:
        with pytest.raises(MCPError) as caught:
            await client.complete(TASK, {"name": "id", "value": ""})
    assert (caught.value.code, caught.value.data["code"]) == (INTERNAL_ERROR, "StoreUnreadable")


@pytest.mark.requirement("RES-1")
@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1))
def test_the_id_of_a_task_can_be_read_from_its_uri(task_id: str) -> None:
    uri = f"tasks://{quote(task_id, safe='')}"
    assert parse_task_uri(uri) == (None if uri in (LIST_URI, SUMMARY_URI) else task_id)


@pytest.mark.requirement("RES-1")
@pytest.mark.parametrize("name", ["list", "summary"])
async def test_a_task_that_is_called_as_another_resource_is_has_a_uri_too(shelf: Shelf, name: str) -> None:
    add(shelf.store, name)
    uri = f"tasks://%{ord(name[0]):02X}{name[1:]}"
    assert json.loads((await read(shelf, uri, "auto")).text)["id"] == name
