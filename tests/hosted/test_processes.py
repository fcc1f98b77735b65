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
from tests.postgres import needs_postgres, store_url
from tests.servers import ServerRecord
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


@pytest.mark.requirement("HO-2", "TOOL-6")
@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_the_sdks_own_client_works_in_both_eras_and_hears_of_changes(
    issuer: Issuer, tasks_v1: ServerRecord, sqlite: str, era: Era
) -> None:
    with replica(issuer, tasks_v1, sqlite, drain_seconds="0") as served:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {served.token}"}) as http,
            Client(streamable_http_client(served.served.url, http_client=http), mode=era) as client,
        ):
            assert not (await client.call_tool("create_task", {"title": "a"})).is_error
            listed = await client.call_tool("list_tasks", {})
            assert listed.structured_content
            assert [task["title"] for task in listed.structured_content["tasks"]] == ["a"]
            if era == "auto":
                async with client.listen(resource_subscriptions=["tasks://list"]) as changes:
                    served.call("create_task", title="b")
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
async def test_a_client_without_a_token_finds_the_issuer_and_gets_one(
    issuer: Issuer, tasks_v1: ServerRecord, sqlite: str
) -> None:
    port = free_port()
    url, memory = f"http://127.0.0.1:{port}/mcp", Memory()
    settings = {
        "TASK_AUTH_ISSUER": issuer.url,
        "TASK_PUBLIC_URL": url,
        "TASK_ALLOWED_HOSTS": "127.0.0.1",
        "TASK_STORE": sqlite,
        "TASK_DRAIN_SECONDS": "0",
    }
    with serving(tasks_v1.module_command, settings, port):
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
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_is_announced_to_proxies_while_calls_are_served_and_a_second_one_ends_the_wait(
    issuer: Issuer, tasks_v1: ServerRecord, sqlite: str, number: signal.Signals
) -> None:
    with replica(issuer, tasks_v1, sqlite, drain_seconds="600") as served:
        assert served.is_ready()
        served.served.process.send_signal(number)
        wait_until(lambda: not served.is_ready())
        assert served.served.ask("GET", "/livez").status == 200
        created = served.call("create_task", title="late")
        assert (created.status, created.json["result"]["isError"]) == (200, False)
        served.served.process.send_signal(number)
        assert served.served.process.wait(2.0) == 0
        assert served.served.log() == ""


@needs_postgres
@pytest.mark.requirement("HO-8")
def test_no_call_fails_behind_a_proxy_while_one_replica_ends(issuer: Issuer, tasks_v1: ServerRecord) -> None:
    with ExitStack() as stack:
        start = partial(replica, issuer, tasks_v1, store_url(), "ada", calls_per_second="1000")
        both = [stack.enter_context(start(drain_seconds=seconds)) for seconds in ("600", "0")]
        ready = [*both]

        def create(count: int) -> int:
            return sum(ready[0].call("create_task", title="a").status == 200 for _ in range(count))

        with ThreadPoolExecutor() as pool:
            calls = [pool.submit(create, 60) for _ in range(4)]
            both[0].call("list_tasks")
            both[0].served.process.terminate()
            wait_until(lambda: not both[0].is_ready())
            ready[:] = both[1:]
            assert [call.result() for call in calls] == [60] * 4
        both[0].served.process.terminate()
        assert both[0].served.process.wait(PATIENCE) == 0
        assert both[1].call("list_tasks").json["result"]["structuredContent"]["total"] == 240


@pytest.mark.requirement("HO-8", "P3")
def test_without_a_drain_the_end_takes_less_than_2_seconds_and_streams_get_their_final_answer(
    issuer: Issuer, tasks_v1: ServerRecord, sqlite: str
) -> None:
    with replica(issuer, tasks_v1, sqlite, drain_seconds="0") as served:
        with served.served.connection(listen_request(served)) as stream:
            received = stream.recv(10_000)
            assert received.startswith(b"HTTP/1.1 200")
            served.served.process.terminate()
            while part := stream.recv(10_000):
                received += part
        assert served.served.process.wait(2.0) == 0
    last = re.findall(rb"data: (.*)\r", received)[-1]
    assert json.loads(last)["id"] == 1
    assert "result" in json.loads(last)


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


@pytest.mark.requirement("HO-7", "CLI-4", "S4")
def test_at_info_there_is_one_line_for_each_call_without_text_and_tokens(
    issuer: Issuer, record: ServerRecord, sqlite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG_LEVEL", "INFO")
    with replica(issuer, record, sqlite, drain_seconds="0") as served:
        served.call(record.create, **{record.text: "a secret"})
        served.call(record.get, **{record.id: "a secret"})
        served.served.process.terminate()
        served.served.process.wait(PATIENCE)
        log = served.served.log()
    lines = [line.partition(" INFO ")[2] for line in log.splitlines() if "uvicorn" not in line]
    said = r"task_core\.server\.hosted\.calls: (\w+): (\w+) in [\d.]+ ms, request [0-9a-f]{16}"
    matches = [re.fullmatch(said, line) for line in lines]
    assert [found and found.groups() for found in matches] == [(record.create, "ok"), (record.get, "TaskNotFound")]
    assert "secret" not in log
    assert served.token not in log


@pytest.mark.requirement("HO-7")
def test_figures_are_published_on_a_port_of_their_own(issuer: Issuer, tasks_v1: ServerRecord, sqlite: str) -> None:
    port = free_port()
    with replica(issuer, tasks_v1, sqlite, metrics_port=str(port), drain_seconds="0") as served:
        served.call("create_task", title="a")
        figures = httpx2.get(f"http://127.0.0.1:{port}/metrics").text
        assert 'tasks_calls_total{code="ok",tool="create_task"} 1.0' in figures
        served.served.process.terminate()
        assert served.served.process.wait(2.0) == 0


@pytest.mark.requirement("HO-1", "START-4")
def test_a_server_on_stdio_loads_nothing_of_this(record: ServerRecord, tmp_path: Path) -> None:
    command = (sys.executable, "-X", "importtime", "-m", record.package)
    settings = {**record.environment(tmp_path), "TASK_AUTH_ISSUER": "https://issuer.example.com"}
    with LineClient("legacy", command, settings) as client:
        assert client.call(record.list)["isError"] is False
        loaded = set(re.findall(r"\| +(\S+)$", client.log, re.MULTILINE))
    assert "task_core.server.app" in loaded
    assert not {name for name in loaded if name.startswith(("task_core.server.hosted", "task_core.server.asgi"))}
    assert not loaded & {"jwt", "httpx2", "cryptography", "prometheus_client", "task_core.command.hosting"}
