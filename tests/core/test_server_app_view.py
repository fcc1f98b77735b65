"""The list tool has a view for hosts with MCP Apps, and for every other client nothing is different."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final, Self

import pytest
from mcp.client import Client
from mcp.client.extension import ClientExtension, advertise
from mcp.server import apps
from mcp.shared.exceptions import MCPError
from mcp_types import TextResourceContents
from typing_extensions import override

from task_core.server.app_view import EXTENSION, VIEW_TYPE, read_view, view_uri
from task_core.server.transports.greeting import Greeting
from tests.core.shelf import Shelf
from tests.servers import PROGRAMS, ProgramRecord, record_of
from tests.tool_client import Era
from tests.wire.greetings import description_of, said_by_sdk
from tests.wire.line_client import ENVELOPE, INITIALIZE, LineClient

Message = dict[str, Any]

VIEWS: Final = {"mimeTypes": [VIEW_TYPE]}
BOTH_ERAS: Final = pytest.mark.parametrize("era", ["auto", "legacy"])
EACH_SERVER: Final = pytest.mark.parametrize(
    ("record", "era"),
    [
        *(pytest.param(record, "auto", id=record.name) for record in PROGRAMS),
        pytest.param(record_of("tasks-v1"), "legacy", id="the older era"),
    ],
)

OTHERS: Final[dict[str, list[ClientExtension]]] = {
    "another extension": [advertise("org.example/other", VIEWS)],
    "no type": [advertise(EXTENSION)],
    "another type": [advertise(EXTENSION, {"mimeTypes": ["text/html"]})],
    "a type that is not in a list": [advertise(EXTENSION, {"mimeTypes": VIEW_TYPE})],
}
"""What clients declare that cannot show the view."""


async def listed(record: ProgramRecord, folder: Path, era: Era, declared: list[ClientExtension]) -> Message:
    """Return all that a client of the server sees before it calls a tool."""
    async with Client(record.built(folder).sdk, mode=era, extensions=declared) as client:
        results = [client.server_capabilities, await client.list_tools(), await client.list_resources()]
        results += [await client.list_resource_templates(), await client.list_prompts()]
    seen: Message = {}
    for result in results:
        assert result is not None
        seen |= result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return seen


@EACH_SERVER
async def test_a_host_that_shows_views_finds_that_of_the_list_tool_and_reads_it(
    record: ProgramRecord, era: Era, tmp_path: Path
) -> None:
    async with Client(record.built(tmp_path).sdk, mode=era, extensions=[advertise(EXTENSION, VIEWS)]) as client:
        linked = {tool.name: tool.meta for tool in (await client.list_tools()).tools if tool.meta}
        uri = view_uri(record.list)
        assert linked == {record.list: {"ui": {"resourceUri": uri}}}
        (content,) = (await client.read_resource(uri)).contents
        assert isinstance(content, TextResourceContents)
        assert (content.uri, content.mime_type, content.text) == (uri, VIEW_TYPE, read_view(record.list))
        assert content.meta == {"ui": {"prefersBorder": True}}
        assert client.server_capabilities
        # The handshake of the older era has no place for extensions of a server.
        assert client.server_capabilities.extensions == ({EXTENSION: {}} if era == "auto" else None)


@EACH_SERVER
async def test_beside_the_link_to_the_view_a_host_that_shows_views_sees_what_all_others_see(
    record: ProgramRecord, era: Era, tmp_path: Path
) -> None:
    plain = await listed(record, tmp_path, era, [])
    shown = await listed(record, tmp_path, era, [advertise(EXTENSION, VIEWS)])
    assert shown != plain
    shown.pop("extensions", None)
    for tool in shown["tools"]:
        tool.pop("_meta", None)
    assert shown == plain


@BOTH_ERAS
async def test_for_every_other_client_nothing_is_different(era: Era, tmp_path: Path) -> None:
    record = record_of("tasks-v1")
    plain = await listed(record, tmp_path, era, [])
    assert "extensions" not in plain
    assert "ui" not in json.dumps([tool.get("_meta") for tool in plain["tools"]])
    for name, declared in OTHERS.items():
        assert await listed(record, tmp_path, era, declared) == plain, name


@BOTH_ERAS
async def test_a_server_that_names_no_list_tool_has_no_view(era: Era) -> None:
    shelf = Shelf()
    async with Client(shelf.server.sdk, mode=era, extensions=[advertise(EXTENSION, VIEWS)]) as client:
        assert [tool.meta for tool in (await client.list_tools()).tools] == [None] * 3
        assert client.server_capabilities
        assert client.server_capabilities.extensions is None
        with pytest.raises(MCPError, match="Unknown resource"):
            await client.read_resource(view_uri(""))


def test_the_names_of_the_extension_are_those_of_the_sdk() -> None:
    # The module of the SDK is for its other kind of server, and loads that too.
    assert (EXTENSION, VIEW_TYPE) == (apps.EXTENSION_ID, apps.APP_MIME_TYPE)


def asked(method: str, params: Message, request_id: int) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def opening(era: str, settings: Message) -> list[bytes]:
    """Return what a host sends first that declares the extension with these settings."""
    capabilities = {"extensions": {EXTENSION: settings}}
    meta = {"_meta": ENVELOPE | {"io.modelcontextprotocol/clientCapabilities": capabilities}}
    methods = ("server/discover", "tools/list")
    messages = [asked(method, meta, number) for number, method in enumerate(methods)]
    if era == "legacy":
        hello = asked("initialize", INITIALIZE | {"capabilities": capabilities}, 0)
        messages = [hello, *(asked(method, {}, number) for number, method in enumerate(methods[1:], 1))]
    return [json.dumps(message).encode() for message in messages]


DECLARED: Final[list[Message]] = [VIEWS, {}, {"mimeTypes": ["text/html"]}]
"""Settings of the extension, of which the first show views."""


@pytest.mark.requirement("START-1")
def test_a_host_is_greeted_with_what_the_sdk_would_say(tmp_path: Path) -> None:
    sdk = record_of("tasks-v1").built(tmp_path).sdk
    description = description_of(sdk)
    for era in ("legacy", "modern"):
        for settings in DECLARED:
            greeting, lines = Greeting(description), opening(era, settings)
            answers = [answer.line for answer in map(greeting.answer, lines) if answer]
            assert [json.loads(answer) for answer in answers] == said_by_sdk(sdk, lines)
            assert (b"ui://" in b"".join(answers)) is (settings == VIEWS)


class SilentClient(LineClient):
    """A client that does not introduce itself: the test does."""

    @override
    def __enter__(self) -> Self:
        return self


@pytest.mark.process
@pytest.mark.requirement("START-1")
@pytest.mark.parametrize(
    ("record", "era"), [(record_of("hierarchy"), "legacy"), (record_of("tasks-v1"), "modern")], ids=["legacy", "modern"]
)
def test_a_real_process_links_to_the_view_in_its_first_answers(record: ProgramRecord, era: str, tmp_path: Path) -> None:
    with SilentClient(command=record.module_command, environment=record.environment(tmp_path)) as client:
        client.write(b"".join(line + b"\n" for line in opening(era, VIEWS)))
        tools = client.collect(range(2))[1]["result"]["tools"]
        assert [tool["name"] for tool in tools if "_meta" in tool] == [record.list]


class Outline(HTMLParser):
    """The elements of a page, and the attributes that they have."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements = set[str]()
        self.attributes = set[str]()
        self.feed(page)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes.update(name for name, _ in attrs)


REACHING_OUT: Final = re.compile(
    r"https?:|data:|url\(|@import|\bimport\b|fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|Worker|Storage|cookie"
)
"""What in a page may fetch, send or keep something."""

MARKUP_FROM_TEXT: Final = re.compile(
    r"innerHTML|outerHTML|insertAdjacent|document\.write|DOMParser|eval|Function\(|\son[a-z]+="
)
"""What may turn the text of a task into elements or code."""


def test_the_page_refers_to_nothing_outside_of_itself() -> None:
    page = read_view("list_tasks")
    outline = Outline(page)
    assert not outline.attributes & {"src", "srcset", "href", "action", "data", "style", "background", "poster"}
    assert not outline.elements & {"link", "img", "iframe", "object", "embed", "base", "form", "svg"}
    assert REACHING_OUT.findall(page) == []


def test_the_page_has_no_way_to_read_text_as_markup() -> None:
    page = read_view("list_tasks")
    assert MARKUP_FROM_TEXT.findall(page) == []
    assert page.count("default-src 'none'") == 1


@pytest.mark.parametrize("record", PROGRAMS, ids=[record.name for record in PROGRAMS])
def test_the_page_names_the_tool_that_it_calls(record: ProgramRecord) -> None:
    assert f'<body data-tool="{record.list}">' in read_view(record.list)
