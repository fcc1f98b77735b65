"""Changes are told over the wire: on stdio in both eras, over HTTP in the modern one (RES-6, RES-7)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import anyio
import pytest
from mcp.client import Client
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from pydantic import JsonValue

from tests.wire.line_client import PATIENCE, Era, LineClient, Message
from tests.wire.served import Served, serving

HIERARCHY = (sys.executable, "-m", "hierarchy_mcp")
"""A server with tasks in memory, which needs no setting."""

LIST = "tasks://list"


def told_until_answer(client: LineClient, tool: str, **arguments: JsonValue) -> tuple[list[Message], Message]:
    """Call a tool and return the notifications that came before its answer, and its result."""
    line = client.line("tools/call", {"name": tool, "arguments": arguments})
    client.write(line)
    told = []
    while "id" not in (message := client.receive()):
        told.append(message)
    assert message["id"] == json.loads(line)["id"]
    return told, message["result"]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(HIERARCHY) as running:
        yield running


@pytest.mark.requirement("RES-6", "TOOL-6")
def test_on_stdio_a_subscriber_of_the_older_era_is_told_before_the_answer() -> None:
    with LineClient("legacy", HIERARCHY) as client:
        assert told_until_answer(client, "createTask", name="a", id="a")[0] == []
        assert client.request("resources/subscribe", {"uri": LIST})["result"] == {}
        told, result = told_until_answer(client, "createTask", name="b", id="b")
        assert result["structuredContent"]["task"]["id"] == "b"
        assert [(message["method"], message.get("params")) for message in told] == [
            ("notifications/resources/updated", {"uri": LIST}),
            ("notifications/resources/list_changed", None),
        ]
        assert client.request("resources/unsubscribe", {"uri": LIST})["result"] == {}
        assert told_until_answer(client, "deleteTask", id="a")[0] == []


@pytest.mark.requirement("RES-6", "TOOL-6")
def test_on_stdio_a_listener_of_the_modern_era_is_told_on_its_stream() -> None:
    with LineClient("modern", HIERARCHY) as client:
        wanted = {"resourcesListChanged": True, "resourceSubscriptions": ["tasks://a"]}
        client.write(client.line("subscriptions/listen", {"notifications": wanted}, request_id=7))
        acknowledged = client.receive()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"]["notifications"] == wanted
        client.write(client.call_line(8, "createTask", name="a", id="a"))
        messages = [client.receive() for _ in range(3)]
        told = {message["method"]: message["params"] for message in messages if "method" in message}
        assert [message["id"] for message in messages if "id" in message] == [8]
        assert told.keys() == {"notifications/resources/updated", "notifications/resources/list_changed"}
        assert told["notifications/resources/updated"]["uri"] == "tasks://a"
        assert {params["_meta"]["io.modelcontextprotocol/subscriptionId"] for params in told.values()} == {7}


@pytest.mark.requirement("CLI-5", "P3", "RES-6")
def test_an_open_stream_does_not_keep_the_server_from_ending() -> None:
    client = LineClient("modern", HIERARCHY)
    with client:
        client.write(client.line("subscriptions/listen", {"notifications": {}}, request_id=7))
        client.receive()
        client.close_input()
        assert client.exit_code() == 0
        assert [message["id"] for message in client.rest()] == [7]


@pytest.mark.requirement("RES-6", "TOOL-6")
async def test_over_http_a_listener_hears_what_another_client_changed(served: Served) -> None:
    async with (
        Client(served.url) as one,
        Client(served.url) as other,
        one.listen(resources_list_changed=True, resource_subscriptions=[LIST]) as news,
    ):
        await other.call_tool("createTask", {"name": "a"})
        with anyio.fail_after(PATIENCE):
            assert [await anext(news), await anext(news)] == [ResourceUpdated(LIST), ResourcesListChanged()]


@pytest.mark.requirement("RES-6", "TOOL-6")
async def test_over_http_the_older_era_is_promised_no_notifications(served: Served) -> None:
    async with Client(served.url, mode="legacy") as client:
        assert client.server_capabilities
        resources = client.server_capabilities.resources
        assert resources
        assert (resources.subscribe, resources.list_changed) == (False, False)
    body = {"jsonrpc": "2.0", "id": 7, "method": "resources/subscribe", "params": {"uri": LIST}}
    assert served.post(json.dumps(body).encode()).json["error"]["code"] == -32601


@pytest.mark.requirement("RES-7", "ERR-3")
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_an_unknown_resource_is_a_protocol_error_with_its_uri(era: Era) -> None:
    with LineClient(era, HIERARCHY) as client:
        error = client.request("resources/read", {"uri": "tasks://nobody"})["error"]
    assert (error["code"], error["data"]["code"], error["data"]["uri"]) == (-32602, "TaskNotFound", "tasks://nobody")
