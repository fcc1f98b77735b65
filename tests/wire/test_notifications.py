"""Changes are reported over the wire: on stdio in both eras, over HTTP in the modern one (RES-6, RES-7)."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.to_thread
import pytest
from mcp.client import Client
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from pydantic import JsonValue

from tests.postgres import list_settings, needs_postgres
from tests.wire.line_client import PATIENCE, LineClient, Message
from tests.wire.served import Served, serving

HIERARCHY = (sys.executable, "-m", "hierarchy_mcp")
"""A server with tasks in memory, which needs no setting."""

LIST = "tasks://list"


def call_and_listen(client: LineClient, count: int, tool: str, **arguments: JsonValue) -> tuple[list[Message], Message]:
    """Call a tool and return the next ``count`` notifications and the result, in whatever order they come."""
    client.write(client.call_line(8, tool, **arguments))
    messages = [client.receive() for _ in range(count + 1)]
    (answer,) = (message for message in messages if "id" in message)
    assert answer["id"] == 8
    return [message for message in messages if "id" not in message], answer["result"]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(HIERARCHY) as running:
        yield running


@pytest.fixture(scope="module")
def legacy() -> Iterator[LineClient]:
    with LineClient("legacy", HIERARCHY) as client:
        yield client


@pytest.fixture(scope="module")
def modern() -> Iterator[LineClient]:
    with LineClient("modern", HIERARCHY) as client:
        yield client


@pytest.mark.requirement("RES-6", "TOOL-6", "EN-20")
def test_on_stdio_a_subscriber_of_the_older_era_hears_of_each_call_that_changes_something(legacy: LineClient) -> None:
    call_and_listen(legacy, 0, "createTask", name="a", id="a")
    assert legacy.request("resources/subscribe", {"uri": LIST})["result"] == {}
    heard, result = call_and_listen(legacy, 2, "createTask", name="b", id="b")
    assert result["structuredContent"]["task"]["id"] == "b"
    assert [(message["method"], message.get("params")) for message in heard] == [
        ("notifications/resources/updated", {"uri": LIST}),
        ("notifications/resources/list_changed", None),
    ]
    assert legacy.request("resources/unsubscribe", {"uri": LIST})["result"] == {}
    call_and_listen(legacy, 0, "deleteTask", id="a")
    assert legacy.request("ping")["result"] == {}  # the next message


@pytest.mark.requirement("RES-6", "TOOL-6", "EN-20")
def test_on_stdio_a_listener_of_the_modern_era_hears_on_its_stream(modern: LineClient) -> None:
    wanted = {"resourcesListChanged": True, "resourceSubscriptions": ["tasks://a"]}
    modern.write(modern.line("subscriptions/listen", {"notifications": wanted}, request_id=7))
    acknowledged = modern.receive()
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert acknowledged["params"]["notifications"] == wanted
    messages, _ = call_and_listen(modern, 2, "createTask", name="a", id="a")
    heard = {message["method"]: message["params"] for message in messages}
    assert heard.keys() == {"notifications/resources/updated", "notifications/resources/list_changed"}
    assert heard["notifications/resources/updated"]["uri"] == "tasks://a"
    assert {params["_meta"]["io.modelcontextprotocol/subscriptionId"] for params in heard.values()} == {7}


def settings(engine: str, folder: Path) -> dict[str, str]:
    store = {"TASK_STORE": f"{engine}:{folder / 'store'}"}
    if engine == "postgresql":
        store = {name.upper(): value for name, value in list_settings(folder).items()}
    return {**store, "TASK_EXTRA_TOOLS": "changes"}


class Pair(NamedTuple):
    """A client over stdio, and one of another process over the same tasks."""

    client: LineClient
    other: LineClient


@pytest.fixture(
    scope="module",
    params=[("legacy", "json"), ("modern", "sqlite"), pytest.param(("modern", "postgresql"), marks=needs_postgres)],
    ids=["json", "sqlite", "postgresql"],
)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    era, engine = request.param
    environment = settings(engine, tmp_path_factory.mktemp("pair"))
    with LineClient(era, HIERARCHY, environment) as client, LineClient("legacy", HIERARCHY, environment) as other:
        yield Pair(client, other)


def answer_to(client: LineClient, method: str, params: Message) -> Message:
    """Return the result of a request, whatever is heard meanwhile."""
    client.write(client.line(method, params, request_id=9))
    result: Message = next(message for message in iter(client.receive, None) if "id" in message)["result"]
    return result


def read_by(client: LineClient, uri: str) -> str:
    text: str = answer_to(client, "resources/read", {"uri": uri})["contents"][0]["text"]
    return text


@pytest.mark.requirement("RES-6", "EN-20", "ST-2")
def test_on_stdio_a_subscriber_hears_what_another_process_changes(pair: Pair) -> None:
    client, other = pair
    other.call("createTask", name="parent", id="parent")
    if client.era == "legacy":
        client.request("resources/subscribe", {"uri": "tasks://parent"})
    else:
        wanted = {"resourceSubscriptions": ["tasks://parent"]}
        client.write(client.line("subscriptions/listen", {"notifications": wanted}))
        client.receive()
    other.call("createTask", name="child", id="child", parentId="parent")
    message = client.receive()
    assert (message["method"], message["params"]["uri"]) == ("notifications/resources/updated", "tasks://parent")
    assert [task["id"] for task in json.loads(read_by(client, "tasks://parent"))["tasks"]] == ["child"]


def changes_since(client: LineClient | Served, token: str | None = None) -> Message:
    """Return what ``list_changes`` answers."""
    call: Message = {"name": "list_changes", "arguments": {} if token is None else {"since": token}}
    if isinstance(client, Served):
        return client.call(call["name"], **call["arguments"])["structuredContent"]
    return answer_to(client, "tools/call", call)["structuredContent"]


def check_changes(client: LineClient | Served, other: LineClient) -> None:
    """Check that a client is given what another process changes."""
    for name in "abc":
        other.call("createTask", name=name, id=name)
    first = changes_since(client)
    assert (first["changes"], first["more"], first["reset"]) == ([], False, False)
    other.call("updateTask", id="b", name="changed")
    other.call("deleteTask", id="a")
    other.call("createTask", name="d", id="d")
    found = changes_since(client, first["token"])
    tasks = {task["id"]: task for task in found["changes"]}
    assert tasks.keys() == {"a", "b", "d"}
    assert (tasks["a"], tasks["b"]["name"]) == ({"id": "a", "removed": True}, "changed")
    assert changes_since(client, found["token"])["changes"] == []


@pytest.mark.requirement("EN-20", "EN-21", "ST-2")
def test_an_agent_that_comes_back_is_given_what_other_processes_changed(pair: Pair) -> None:
    check_changes(pair.client, pair.other)


@pytest.mark.requirement("RES-6", "EN-20", "ST-5")
def test_on_stdio_a_subscriber_hears_what_a_person_changes_in_the_document(tmp_path: Path) -> None:
    environment = settings("json", tmp_path)
    path = tmp_path / "store"
    with LineClient("legacy", HIERARCHY, environment) as client:
        client.call("createTask", name="a", id="a")
        client.request("resources/subscribe", {"uri": "tasks://a"})
        (task,) = json.loads(path.read_bytes())
        path.with_name("edited").write_text(json.dumps([task | {"name": "by hand"}]), "utf-8")
        path.with_name("edited").replace(path)
        assert client.receive()["params"] == {"uri": "tasks://a"}
        assert json.loads(read_by(client, "tasks://a"))["name"] == "by hand"


@pytest.mark.requirement("RES-6", "EN-20", "EN-21", "ST-2")
async def test_over_http_a_listener_and_an_agent_that_comes_back_learn_what_another_process_changes(
    tmp_path: Path,
) -> None:
    environment = settings("sqlite", tmp_path)
    with serving(HIERARCHY, environment) as served, LineClient("legacy", HIERARCHY, environment) as other:
        async with (
            Client(served.url) as client,
            client.listen(resources_list_changed=True, resource_subscriptions=["tasks://x"]) as news,
        ):
            other.call("createTask", name="x", id="x")
            with anyio.fail_after(PATIENCE):
                assert [await anext(news), await anext(news)] == [
                    ResourceUpdated("tasks://x"),
                    ResourcesListChanged(),
                ]
        check_changes(served, other)


@pytest.mark.requirement("EN-20", "EN-21")
@pytest.mark.parametrize("engine", ["json", "sqlite"])
def test_a_token_outlives_the_process_in_a_database_and_is_reset_with_a_document(tmp_path: Path, engine: str) -> None:
    with LineClient("legacy", HIERARCHY, settings(engine, tmp_path)) as client:
        client.call("createTask", name="a", id="a")
        token = changes_since(client)["token"]
        client.call("createTask", name="b", id="b")
    with LineClient("legacy", HIERARCHY, settings(engine, tmp_path)) as client:
        found = changes_since(client, token)
    assert ([task["id"] for task in found["changes"]], found["reset"]) == (
        ([], True) if engine == "json" else (["b"], False)
    )


@pytest.mark.requirement("CLI-5", "P3", "RES-6")
@pytest.mark.parametrize("end", [None, signal.SIGTERM], ids=["end of input", "SIGTERM"])
def test_open_streams_get_their_final_answers_at_the_end(end: signal.Signals | None) -> None:
    acknowledgement, wanted = "notifications/subscriptions/acknowledged", {"resourceSubscriptions": [LIST]}
    with LineClient("modern", HIERARCHY) as client:
        client.write(client.line("subscriptions/listen", {"notifications": {}}, request_id=7))
        assert client.receive()["method"] == acknowledgement
        client.call("listTasks")
        if end is None:  # a stream that is opened when the input has ended ends as well
            client.write(client.line("subscriptions/listen", {"notifications": wanted}, request_id=8))
            client.close_input()
        else:
            client.process.send_signal(end)
        assert client.exit_code() == 0
        messages = client.rest()
    assert [message["method"] for message in messages if "method" in message] == [acknowledgement] * (end is None)
    assert {message["id"] for message in messages if "result" in message} == ({7, 8} if end is None else {7})


@pytest.mark.requirement("CLI-5", "P3", "RES-6")
async def test_over_http_an_open_stream_does_not_keep_the_server_from_ending() -> None:
    with serving(HIERARCHY) as served:
        async with Client(served.url) as client, client.listen(resources_list_changed=True):
            served.process.terminate()
            assert await anyio.to_thread.run_sync(served.process.wait, PATIENCE) == 0


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
def test_an_unknown_resource_is_a_protocol_error_with_its_uri(legacy: LineClient, modern: LineClient) -> None:
    for client in (legacy, modern):
        error = client.request("resources/read", {"uri": "tasks://nobody"})["error"]
        assert (error["code"], error["data"]["code"], error["data"]["uri"]) == (
            -32602,
            "TaskNotFound",
            "tasks://nobody",
        )
