"""What a greeting answers is what the SDK would; what is in any doubt it leaves to the SDK (TOOL-6, START-1)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from task_core.server.greeting import Answer, Greeting
from tests.wire.greetings import description_of, said_by_sdk
from tests.wire.line_client import ENVELOPE, INITIALIZE
from tests.wire.toy_server import ToySettings, build

Message = dict[str, Any]

INITIALIZED: Message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
MODERN: Message = {"_meta": ENVELOPE}


def request(method: str, params: object = None, request_id: object = 1) -> Message:
    message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


def line(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode()


def said_by_toy(lines: list[bytes]) -> list[Message]:
    """Return what the SDK answers for the toy."""
    return said_by_sdk(build(ToySettings()).sdk, lines)


DESCRIPTION = description_of(build(ToySettings()).sdk)


def said_by_greeting(lines: list[bytes]) -> list[Message | None]:
    """Return the answers to lines of one client, up to and with the first that the SDK has to give."""
    greeting = Greeting(DESCRIPTION)
    answers: list[Message | None] = []
    for text in lines:
        answer = greeting.answer(text)
        if answer is None:
            return [*answers, None]
        if answer != Answer():
            answers.append(json.loads(answer.line))
            assert answers[-1] is not None
            assert answers[-1]["id"] == answer.request_id
    return answers


@pytest.mark.requirement("START-1")
@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "2026-07-28", "1999-01-01", ""])
def test_a_handshake_in_any_version_is_answered_as_the_sdk_does(version: str) -> None:
    hello = request("initialize", INITIALIZE | {"protocolVersion": version}, "first")
    lines = list(map(line, [hello, INITIALIZED, request("tools/list", {}, 2), request("ping", None, 3)]))
    assert said_by_greeting(lines) == said_by_toy(lines)


@pytest.mark.requirement("START-1")
def test_a_client_without_a_handshake_is_answered_as_the_sdk_does() -> None:
    lines = list(map(line, [request("server/discover", MODERN, 1), request("tools/list", MODERN, 2)]))
    assert said_by_greeting(lines) == said_by_toy(lines)


HELLO = line(request("initialize", INITIALIZE))
DISCOVER = line(request("server/discover", MODERN))


@pytest.mark.requirement("START-1")
@pytest.mark.parametrize(
    ("before", "text"),
    [
        ([], b""),
        ([], b"not JSON"),
        ([], b"\xff"),
        ([], b"[1]"),
        ([], b"[" * 100_000),
        ([], line(INITIALIZED)),
        ([], line(request("tools/list"))),
        ([], line(request("ping"))),
        ([], line(request("initialize"))),
        ([], line(request("initialize", [1]))),
        ([], line(request("initialize", INITIALIZE, None))),
        ([], HELLO.replace(b'"id": 1', b'"id": true')),
        ([], line(request("initialize", INITIALIZE, 1.5))),
        ([], HELLO.replace(b'"id": 1', b'"id": 1, "id": 2')),
        ([], HELLO.replace(b'"test"', b'"\\ud800"')),
        ([], HELLO.replace(b'"2.0"', b'"1.0"')),
        ([], HELLO.replace(b'"id"', b'"more": 1, "id"')),
        ([], HELLO.replace(b'"initialize"', b"7")),
        ([], line(request("initialize", INITIALIZE | {"protocolVersion": 1}))),
        ([], line(request("initialize", INITIALIZE | {"_meta": {}}))),
        ([], line(request("initialize", INITIALIZE | {"clientInfo": {"name": "x"}}))),
        ([], line(request("initialize", INITIALIZE | {"clientInfo": {"name": "x", "version": 1}}))),
        ([], line(request("initialize", INITIALIZE | {"clientInfo": {"name": "x", "version": "1", "icons": "x"}}))),
        ([], line(request("initialize", INITIALIZE | {"clientInfo": "x"}))),
        ([], line(request("initialize", INITIALIZE | {"capabilities": []}))),
        ([], line(request("initialize", INITIALIZE | {"capabilities": {"roots": {"listChanged": 1}}}))),
        ([], line(request("initialize", INITIALIZE | {"capabilities": {"roots": True}}))),
        ([], line(request("initialize", INITIALIZE | {"capabilities": {"sampling": {"tools": 7}}}))),
        ([], line(request("server/discover", {"_meta": {}}))),
        ([], line(request("server/discover", MODERN | {"more": 1}))),
        ([], line(request("server/discover", {"_meta": ENVELOPE | {"more": 1}}))),
        ([], DISCOVER.replace(b"2026-07-28", b"2027-01-01")),
        ([], line(request("tools/call", MODERN))),
        ([HELLO], HELLO),
        ([HELLO], DISCOVER),
        ([HELLO], line(request("tools/list", {"cursor": "x"}))),
        ([HELLO], line(request("tools/call", {"name": "echo"}))),
        ([HELLO], line(request("tools/call"))),
        ([HELLO], line({"jsonrpc": "2.0", "method": "notifications/cancelled"})),
        ([HELLO], line({"jsonrpc": "2.0", "id": 1, "result": {}})),
        ([DISCOVER], HELLO),
        ([DISCOVER], line(INITIALIZED)),
        ([DISCOVER], line(request("tools/list"))),
    ],
)
def test_what_is_not_in_its_plainest_form_or_not_known_is_left_to_the_sdk(before: list[bytes], text: bytes) -> None:
    assert said_by_greeting([*before, text])[len(before) :] == [None]


@pytest.mark.requirement("START-1")
@pytest.mark.parametrize(
    "capabilities",
    [
        {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}, "url": {}}},
        {"experimental": {"x": {}}, "tasks": {"list": {}, "cancel": {}}, "extensions": {"a/b": {}}},
    ],
)
def test_what_known_clients_say_they_can_do_is_plain(capabilities: Message) -> None:
    info = {"name": "é 🙂", "title": "T", "version": "1", "websiteUrl": "https://example.org"}
    lines = [line(request("initialize", INITIALIZE | {"capabilities": capabilities, "clientInfo": info}))]
    assert said_by_greeting(lines) == said_by_toy(lines)


NAMES = ["roots", "sampling", "elicitation", "tasks", "experimental", "extensions", "listChanged", "form", "list", "x"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "a", "2025-06-18"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
    max_leaves=4,
)
CAPABILITIES = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=2)
CLIENT_INFO = st.dictionaries(st.sampled_from(["name", "version", "title", "icons"]), VALUES) | st.just(
    INITIALIZE["clientInfo"]
)
HANDSHAKES = st.fixed_dictionaries(
    {"protocolVersion": st.just("2025-06-18") | VALUES, "capabilities": CAPABILITIES, "clientInfo": CLIENT_INFO}
).map(lambda params: request("initialize", params))
PREFIX = "io.modelcontextprotocol"
ENVELOPES = st.fixed_dictionaries(
    {
        f"{PREFIX}/protocolVersion": st.just("2026-07-28") | VALUES,
        f"{PREFIX}/clientInfo": CLIENT_INFO,
        f"{PREFIX}/clientCapabilities": CAPABILITIES,
    }
)
FOLLOWING = st.builds(
    request,
    st.sampled_from(["tools/list", "server/discover", "ping", "initialize"]),
    st.none() | st.just({}) | st.just(MODERN) | ENVELOPES.map(lambda meta: {"_meta": meta}) | VALUES,
    st.integers(2, 9) | st.just("é"),
)


@pytest.mark.requirement("START-1")
@given(st.tuples(HANDSHAKES | FOLLOWING, FOLLOWING, FOLLOWING))
def test_whatever_a_client_begins_with_no_answer_differs_from_the_sdks(messages: tuple[Message, ...]) -> None:
    lines = list(map(line, messages))
    answers = said_by_greeting(lines)
    if None in answers:
        answers.pop()
    assert said_by_toy(lines)[: len(answers)] == answers
