"""The servers on HTTP: two processes on one store behave as one, and what is refused changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from mcp.client import Client

from tests.servers import NEW_TEXT, ServerRecord, record_of
from tests.wire.line_client import PATIENCE
from tests.wire.served import Served, Spell, legacy, modern, serving


class Pair(NamedTuple):
    """Two processes of one server on one store."""

    record: ServerRecord
    servers: list[Served]
    file: Path

    def create(self, number: int) -> str:
        """Create a task by one of the two, in turn."""
        result = self.servers[number % 2].call(self.record.create, **{self.record.text: f"task {number}"})
        return self.record.task_id(result["structuredContent"])

    def listed(self) -> list[dict[str, str]]:
        """Return the id and the text of every task, in the order in which both processes list them."""
        tool, arguments = self.record.list, self.record.call(self.record.list)
        answers = [server.call(tool, **arguments)["structuredContent"] for server in self.servers]
        lists = [self.record.unwrap(answer)["tasks"] for answer in answers]
        first, second = [[(task["id"], task[self.record.text]) for task in tasks] for tasks in lists]
        assert first == second
        return [dict(zip(("id", "text"), task, strict=True)) for task in first]


@pytest.fixture(scope="module", params=[record_of("heartbeat")], ids=["heartbeat"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    record: ServerRecord = request.param
    folder = tmp_path_factory.mktemp(record.name)
    with ExitStack() as stack:
        environment = record.environment(folder)
        servers = [stack.enter_context(serving(record.module_command, environment)) for _ in range(2)]
        yield Pair(record, servers, folder / record.file)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.requirement("HTTP-1", "ST-2", "C1")
def test_writers_through_two_ports_lose_nothing(pair: Pair) -> None:
    before = len(pair.listed())
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(pair.create, range(40)))
    assert len(set(made)) == 40
    assert {task["id"] for task in pair.listed()} >= set(made)
    assert len(pair.listed()) == before + 40


@pytest.mark.sample
@pytest.mark.requirement("HTTP-1", "ST-2")
def test_what_one_port_has_answered_the_other_knows_at_once(pair: Pair) -> None:
    for number in range(4):
        task_id = pair.create(number)
        other = pair.servers[(number + 1) % 2]
        changed = other.call(pair.record.update, **pair.record.call(pair.record.update, task_id))
        assert not changed["isError"]
        assert {"id": task_id, "text": NEW_TEXT} in pair.listed()


@pytest.mark.requirement("TOOL-6", "CLI-1")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_clients_of_both_eras_work_on_the_same_tasks(pair: Pair, mode: str) -> None:
    async with Client(pair.servers[0].url, mode=mode) as client:
        result = await client.call_tool(pair.record.create, {pair.record.text: f"from {mode}"})
        assert not result.is_error
    assert f"from {mode}" in {task["text"] for task in pair.listed()}


@pytest.mark.requirement("HTTP-2", "CLI-2", "ERR-2")
@pytest.mark.parametrize("era", [legacy, modern])
@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        pytest.param("Host", "evil.example", 421, id="a name that leads here"),
        pytest.param("Origin", "http://evil.example", 403, id="a page from elsewhere"),
        pytest.param("Origin", "null", 403, id="a page without an origin"),
        pytest.param("Content_Type", "text/plain", 400, id="a form that needs no preflight"),
    ],
)
def test_what_a_page_from_elsewhere_can_send_changes_nothing(
    pair: Pair, era: Spell, name: str, value: str, status: int
) -> None:
    before = contents(pair.file.parent)
    body, headers = era(pair.record.create, json.dumps({pair.record.text: "foreign"}))
    assert pair.servers[0].post(body, **{**headers, name: value}).status == status
    assert contents(pair.file.parent) == before


@pytest.mark.requirement("HTTP-2", "HTTP-3")
@pytest.mark.parametrize(("origin", "is_allowed"), [("http://evil.example", False), ("http://localhost:3000", True)])
def test_only_pages_of_this_machine_are_given_leave_to_call(pair: Pair, origin: str, *, is_allowed: bool) -> None:
    names = "content-type,mcp-protocol-version"
    asked = {"Access_Control_Request_Method": "POST", "Access_Control_Request_Headers": names}
    preflight = pair.servers[0].ask("OPTIONS", Origin=origin, **asked)
    body, headers = legacy(pair.record.list, json.dumps(pair.record.call(pair.record.list)))
    call = pair.servers[0].post(body, **headers, Origin=origin)
    for reply in (preflight, call):
        leave = origin if is_allowed else None
        assert (reply.status, reply.headers.get("access-control-allow-origin")) == (200 if is_allowed else 403, leave)
    assert preflight.headers.get("access-control-allow-headers") == (names if is_allowed else None)


@pytest.mark.requirement("TOOL-3", "ERR-2", "ERR-3")
@pytest.mark.parametrize("era", [legacy, modern])
@pytest.mark.parametrize(
    ("arguments", "outcome"),
    [
        pytest.param('{"TEXT":"a","TEXT":"b"}', "DuplicateKey", id="a key twice"),
        pytest.param('{"TEXT":"a","ideas":[{"b":1,"b":2}]}', "DuplicateKey", id="a key twice further down"),
        pytest.param('{"TEXT":"\\ud800"}', "InvalidArguments", id="a lone surrogate"),
        pytest.param('{"TEXT":NaN}', -32700, id="NaN"),
        pytest.param('{"TEXT":-Infinity}', -32700, id="Infinity"),
        pytest.param('{"TEXT":"a"', -32700, id="no JSON"),
        pytest.param('{"TEXT":"\xff"}', -32700, id="no UTF-8"),
    ],
)
def test_text_that_is_refused_on_stdio_is_refused_here(
    pair: Pair, era: Spell, arguments: str, outcome: str | int
) -> None:
    before = contents(pair.file.parent)
    body, headers = era(pair.record.create, arguments.replace("TEXT", pair.record.text))
    reply = pair.servers[0].post(body.decode().encode("latin-1"), **headers)
    error = reply.json.get("error") or reply.json["result"]["structuredContent"]["error"]
    code = pair.record.codes.get(outcome, outcome) if isinstance(outcome, str) else outcome
    assert (reply.status, error["code"]) == (200 if isinstance(outcome, str) else 400, code)
    assert contents(pair.file.parent) == before


LIMIT: Final = 4 * 1024 * 1024
HEAD: Final = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.requirement("HTTP-5", "TOOL-3")
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"Content-Length: %d\r\n\r\n" % (LIMIT + 1), id="announced"),
        pytest.param(b"Content-Length: 99999999999999999999\r\n\r\n", id="announced as endless"),
        pytest.param(
            b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % (LIMIT + 1) + b" " * (LIMIT + 1), id="sent unannounced"
        ),
    ],
)
def test_a_body_of_more_than_4_mib_is_refused_before_it_has_ended(pair: Pair, sent: bytes) -> None:
    with pair.servers[0].connection(HEAD + sent) as connection:
        assert connection.recv(12) == b"HTTP/1.1 413"


@pytest.mark.requirement("HTTP-5")
def test_a_body_of_4_mib_is_taken(pair: Pair) -> None:
    body, headers = legacy(pair.record.list, "{}")
    assert pair.servers[0].post(body.ljust(LIMIT), **headers).status == 200


def test_each_process_reports_its_health(pair: Pair) -> None:
    for server in pair.servers:
        health = server.ask("GET", "/healthz")
        assert (health.status, health.json) == (200, {"ok": True})


@pytest.mark.sample
@pytest.mark.requirement("HTTP-4", "CLI-5", "P3")
def test_a_server_with_half_a_request_ends_in_time_and_in_silence(tmp_path: Path) -> None:
    record = record_of("tasks-v1")
    with (
        serving(record.module_command, record.environment(tmp_path)) as served,
        served.connection(HEAD + b"Content-Length: 9\r\n\r\n{"),
    ):
        kept = record.task_id(served.call(record.create, **{record.text: "kept"})["structuredContent"])
        served.process.terminate()
        assert served.process.wait(PATIENCE) == 0
        assert served.log() == ""
    assert kept in b"".join(contents(tmp_path).values()).decode()
