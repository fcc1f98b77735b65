"""Bodies of the grammar over HTTP: each gets the answer that is due, with a fitting status, and the server lives on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.wire.grammar import ECHO, Line, key_of, lines
from tests.wire.line_client import PATIENCE, Message
from tests.wire.served import Served, serving
from tests.wire.test_stdio_fuzz import SERVER


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(SERVER) as server:
        yield server


@pytest.fixture(scope="module")
def connection(served: Served) -> Iterator[HTTPConnection]:
    """Yield one connection, so that a body which is not read to its end would spoil the next request."""
    kept = HTTPConnection(served.address, timeout=PATIENCE)
    yield kept
    kept.close()


def posted(connection: HTTPConnection, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    connection.request(
        "POST", "/mcp", body, {"Content-Type": "application/json", "Accept": "application/json"} | headers
    )
    response = connection.getresponse()
    return response.status, response.read()


ODD_HEADERS = st.dictionaries(
    st.sampled_from(["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Accept", "Last-Event-ID"]),
    st.sampled_from(
        ["2026-07-28", "2025-06-18", "1999-01-01", "tools/call", "echo", "", "*/*", "text/html", ECHO * 150]
    ),
    max_size=2,
)


@pytest.mark.requirement("P1", "P2", "ERR-3", "TOOL-3", "TOOL-6")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(line=lines(), headers=ODD_HEADERS)
def test_every_body_gets_the_answer_that_is_due(
    connection: HTTPConnection, line: Line, headers: dict[str, str]
) -> None:
    status, body = posted(connection, line.data, headers)
    assert status < 500
    if body.startswith(b"{"):
        check_answer(line, json.loads(body), is_plain=not headers)
    else:
        assert status in {202, 400, 404, 405, 406}
        assert not line.ids or headers
    assert posted(connection, b'{"jsonrpc":"2.0","id":7,"method":"tools/list"}', {})[0] == 200


def check_answer(line: Line, answer: Message, *, is_plain: bool) -> None:
    allowed = line.keys | (set() if is_plain else {"null"})
    assert key_of(answer["id"]) in allowed or not line.ids
    assert ("error" in answer) != ("result" in answer)
    if "error" in answer:
        assert ECHO * 201 not in json.dumps(answer["error"])
