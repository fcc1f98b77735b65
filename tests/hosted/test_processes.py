"""Hosted servers as processes: on the wire, with an issuer of their own, and to their end (HO-1, HO-2, HO-8)."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from tests.core.notes import wait_until
from tests.hosted.service import Issuer, start_issuer
from tests.ports import free_port
from tests.servers import ServerRecord, record_of
from tests.tool_client import Era
from tests.wire.line_client import ENVELOPE, PATIENCE, LineClient
from tests.wire.served import PUBLIC_URL, Reply, Served, legacy, serving

_numbers = count(1)


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with start_issuer() as started:
        yield started


class Replica(NamedTuple):
    """A hosted server as a process, called by one user."""

    served: Served
    token: str

    def call(self, tool: str, **arguments: str) -> Reply:
        return self.served.post(legacy(tool, json.dumps(arguments))[0], Authorization=f"Bearer {self.token}")

    def is_ready(self) -> bool:
        return self.served.ask("GET", "/readyz").status == 200


@contextmanager
def replica(issuer: Issuer, record: ServerRecord, store: str, user: str = "", **settings: str) -> Iterator[Replica]:
    """Start a replica, called by a user who is new unless one is named."""
    user = user or f"user{next(_numbers)}"
    more = {f"TASK_{name.upper()}": value for name, value in settings.items()}
    names = {
        "TASK_PUBLIC_URL": PUBLIC_URL,
        "TASK_ALLOWED_HOSTS": "127.0.0.1",
        "TASK_STORE": store,
        "TASK_CALLS_BURST": "1000",
    }
    with serving(record.module_command, {"TASK_AUTH_ISSUER": issuer.url, **names, **more}) as served:
        yield Replica(served, issuer.token(user))


class Service(NamedTuple):
    """A hosted server as a process that clients reach under its public URL, and the port of its figures."""

    replica: Replica
    metrics_port: int


@pytest.fixture(scope="module")
def service(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Start a server that several tests call, each as users of its own."""
    port, metrics_port = free_port(), free_port()
    settings = {
        "TASK_AUTH_ISSUER": issuer.url,
        "TASK_PUBLIC_URL": f"http://127.0.0.1:{port}/mcp",
        "TASK_ALLOWED_HOSTS": "127.0.0.1",
        "TASK_STORE": f"sqlite:{tmp_path_factory.mktemp('service') / 'tasks.db'}",
        "TASK_METRICS_PORT": str(metrics_port),
        "TASK_DRAIN_SECONDS": "0",
    }
    with serving(record_of("tasks-v1").module_command, settings, port) as served:
        yield Service(Replica(served, issuer.token("somebody", served.url)), metrics_port)


@pytest.mark.requirement("HO-2", "TOOL-6")
@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_the_sdks_own_client_works_in_both_eras_and_hears_of_changes(
    issuer: Issuer, service: Service, era: Era
) -> None:
    served = service.replica.served
    user = Replica(served, issuer.token(f"user of {era}", served.url))
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {user.token}"}) as http,
        Client(streamable_http_client(served.url, http_client=http), mode=era) as client,
    ):
        assert not (await client.call_tool("create_task", {"title": "a"})).is_error
        listed = await client.call_tool("list_tasks", {})
        assert listed.structured_content
        assert [task["title"] for task in listed.structured_content["tasks"]] == ["a"]
        if era == "auto":
            async with client.listen(resource_subscriptions=["tasks://list"]) as changes:
                user.call("create_task", title="b")
                assert await anext(aiter(changes))


class Memory:
    """Keeps what the SDK's client learns of the issuer."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@pytest.mark.requirement("HO-2")
async def test_a_client_without_a_token_finds_the_issuer_and_gets_one(issuer: Issuer, service: Service) -> None:
    url, memory = service.replica.served.url, Memory()
    secret = "not looked at"  # noqa: S105 - the issuer asks for none
    auth = ClientCredentialsOAuthProvider(
        url, memory, "ada", secret, "client_secret_post", "tasks:read tasks:write", issuer=issuer.url
    )
    async with (
        httpx2.AsyncClient(auth=auth) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        assert not (await client.call_tool("create_task", {"title": "a"})).is_error
    assert memory.tokens


@pytest.mark.requirement("HO-8", "CLI-5")
def test_no_call_fails_behind_a_proxy_while_one_replica_ends_and_a_second_signal_ends_its_wait(
    issuer: Issuer, tasks_v1: ServerRecord, sqlite: str
) -> None:
    with ExitStack() as stack:
        start = partial(replica, issuer, tasks_v1, sqlite, "ada", calls_per_second="1000")
        both = [stack.enter_context(start(drain_seconds=seconds)) for seconds in ("600", "0")]
        ready = [*both]

        def create(count: int) -> int:
            return sum(ready[0].call("create_task", title="a").status == 200 for _ in range(count))

        with ThreadPoolExecutor() as pool:
            calls = [pool.submit(create, 30) for _ in range(4)]
            assert both[0].is_ready()
            both[0].served.process.terminate()
            wait_until(lambda: not both[0].is_ready())
            ready[:] = both[1:]
            assert [call.result() for call in calls] == [30] * 4
        assert both[0].served.ask("GET", "/livez").status == 200
        assert both[0].call("create_task", title="late").json["result"]["isError"] is False
        both[0].served.process.send_signal(signal.SIGHUP)
        assert both[0].served.process.wait(PATIENCE) == 0
        assert both[0].served.log() == ""
        assert both[1].call("list_tasks").json["result"]["structuredContent"]["total"] == 121


@pytest.mark.requirement("HO-8", "P3", "HO-7", "CLI-4", "S4")
def test_without_a_drain_streams_get_their_final_answer_and_the_log_has_one_line_for_each_call_without_its_text(
    issuer: Issuer, tasks_v1: ServerRecord, sqlite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG_LEVEL", "INFO")
    with replica(issuer, tasks_v1, sqlite, drain_seconds="0") as served:
        served.call("create_task", title="a secret")
        served.call("get_task", id="a secret")
        with served.served.connection(listen_request(served)) as stream:
            received = stream.recv(10_000)
            assert received.startswith(b"HTTP/1.1 200")
            served.served.process.terminate()
            while part := stream.recv(10_000):
                received += part
        assert served.served.process.wait(PATIENCE) == 0
        log = served.served.log()
    last = re.findall(rb"data: (.*)\r", received)[-1]
    assert json.loads(last)["id"] == 1
    assert "result" in json.loads(last)
    lines = [line.partition(" INFO ")[2] for line in log.splitlines() if "uvicorn" not in line]
    said = r"task_hosted\.service\.tool_calls: (\w+): (\w+) in [\d.]+ ms, request [0-9a-f]{16}"
    matches = [re.fullmatch(said, line) for line in lines]
    assert [found and found.groups() for found in matches] == [("create_task", "ok"), ("get_task", "TaskNotFound")]
    assert "secret" not in log
    assert served.token not in log


def listen_request(served: Replica) -> bytes:
    params = {"notifications": {"resourcesListChanged": True}, "_meta": ENVELOPE}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params})
    head = [
        "POST /mcp HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {served.token}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: subscriptions/listen",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*head, "", body]).encode()


@pytest.mark.requirement("HO-7")
def test_figures_are_published_on_a_port_of_their_own(service: Service) -> None:
    service.replica.call("get_task", id="unknown")
    figures = httpx2.get(f"http://127.0.0.1:{service.metrics_port}/metrics").text
    assert 'tasks_calls_total{code="TaskNotFound",tool="get_task"} 1.0' in figures


@pytest.mark.requirement("HO-1", "START-4")
def test_a_server_on_stdio_loads_nothing_of_this(tasks_v1: ServerRecord, tmp_path: Path) -> None:
    command = (sys.executable, "-X", "importtime", "-m", tasks_v1.package)
    settings = {**tasks_v1.environment(tmp_path), "TASK_AUTH_ISSUER": "https://issuer.example.com"}
    with LineClient("legacy", command, settings) as client:
        assert client.call(tasks_v1.list)["isError"] is False
        loaded = set(re.findall(r"\| +(\S+)$", client.log, re.MULTILINE))
    assert "task_core.server.app" in loaded
    assert not {name for name in loaded if name.startswith(("task_hosted", "task_core.server.transports.asgi"))}
    assert not loaded & {"jwt", "httpx2", "cryptography", "prometheus_client", "psycopg"}
