"""What a greeting answers is what the SDK would; what is in any doubt it leaves to the SDK (TOOL-6, START-1)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

import task_core
from task_core.cli.program import Program
from task_core.server.transports.greeting import Answer, Greeting, GreetingFile
from tests.core.shelf import Shelf
from tests.servers import SERVERS, ServerRecord
from tests.wire.greetings import description_of, said_by_sdk
from tests.wire.line_client import ENVELOPE, INITIALIZE
from tests.wire.toy_server import ToySettings, build

Message = dict[str, Any]

PREFIX = "io.modelcontextprotocol"
INITIALIZED: Message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
MODERN: Message = {"_meta": ENVELOPE}
LISTS: Message = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


def test_without_a_description_nothing_is_greeted_or_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = GreetingFile(str(tmp_path / "missing.json"), {})
    file.accept()
    assert file.greeting() is None
    assert [*tmp_path.iterdir()] == []


def test_a_server_greets_from_the_second_start_with_the_same_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = Program.of("heartbeat_mcp").greeting
    assert GreetingFile(path, {}).greeting() is None
    GreetingFile(path, {}).accept()
    assert GreetingFile(path, {}).greeting() is not None
    assert GreetingFile(path, {"HEARTBEAT_SECTION": "Other"}).greeting() is None


def request(method: str, params: object = None, request_id: object = 1) -> Message:
    message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


@pytest.mark.requirement("START-1", "AG-1")
@pytest.mark.parametrize("record", SERVERS, ids=lambda record: record.name)
def test_a_server_greets_with_the_tools_that_its_settings_choose(
    record: ServerRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    settings = {**record.environment(tmp_path), "TASK_EXTRA_TOOLS": "all"}
    (tmp_path / record.store()).touch()  # without its project, Task Master greets nobody
    file = GreetingFile(record.program().greeting, settings)
    file.accept()
    greeting = file.greeting()
    assert greeting
    asked = [request("initialize", INITIALIZE), request("tools/list")]
    lines = [json.dumps(message).encode() for message in asked]
    greeted = [answer.line for line in lines if (answer := greeting.answer(line))]
    assert [json.loads(line) for line in greeted] == said_by_sdk(record.build(settings).sdk, lines)


def deep(levels: int) -> Message:
    """Return a value that nests: twice as many levels, as there are lists in it too."""
    value: Message = {}
    for _ in range(levels):
        value = {"y": [value]}
    return value


def line(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode()


def said_by_toy(lines: list[bytes]) -> list[Message]:
    """Return what the SDK answers for the toy."""
    return said_by_sdk(build(ToySettings()).sdk, lines)


DESCRIPTION = description_of(build(ToySettings()).sdk)


@pytest.mark.requirement("START-1")
def test_no_path_object_delays_the_first_answer() -> None:
    folder = Path(task_core.__path__[0]).parent
    module = "task_core.server.transports.greeting"
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); import {module}; print(*sys.modules)"
    # Without site, which may import more, and does where coverage is measured.
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, check=True, encoding="utf-8")
    assert "pathlib" not in done.stdout.split()


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
        ([], line(request("tools/list"))),
        ([], line(request("initialize"))),
        ([], line(request("initialize", [1]))),
        ([], line(request("initialize", INITIALIZE, None))),
        ([], HELLO.replace(b'"id": 1', b'"id": true')),
        ([], line(request("initialize", INITIALIZE, 1.5))),
        ([], HELLO.replace(b'"id": 1', b'"id": 1, "id": 2')),
        ([], HELLO.replace(b'"test"', b'"\\ud800"')),
        ([], HELLO.replace(b'"2.0"', b'"1.0"')),
        ([], HELLO.replace(b'"initialize"', b"7")),
        ([], line(request("initialize", INITIALIZE | {"protocolVersion": 1}))),
        ([], line(request("initialize", INITIALIZE | {"clientInfo": {"name": "x"}}))),
        ([], line(request("initialize", INITIALIZE | {"clientInfo": {"name": "x", "version": 1}}))),
        ([], line(request("initialize", INITIALIZE | {"clientInfo": {"name": "x", "version": "1", "icons": "x"}}))),
        ([], line(request("initialize", INITIALIZE | {"clientInfo": "x"}))),
        ([], line(request("initialize", INITIALIZE | {"capabilities": []}))),
        ([], line(request("initialize", INITIALIZE | {"capabilities": {"roots": {"listChanged": 1}}}))),
        ([], line(request("initialize", INITIALIZE | {"capabilities": {"roots": True}}))),
        ([], line(request("initialize", INITIALIZE | {"capabilities": {"sampling": {"tools": 7}}}))),
        ([], line(request("initialize", INITIALIZE | {"_meta": {"progressToken": 1.5}}))),
        ([], line(request("initialize", INITIALIZE | {"capabilities": {"experimental": {"x": 1}}}))),
        ([], line(request("initialize", INITIALIZE | {"capabilities": {"own": 7}}))),
        ([], line(request("initialize", INITIALIZE | {"clientInfo": {"name": "x", "version": "1", "icons": []}}))),
        ([], line(request("initialize", INITIALIZE | {"capabilities": {"extensions": {"x": deep(60)}}}))),
        ([], HELLO.replace(b'"capabilities": {}', b'"capabilities": {"experimental": {"x": {"y": NaN}}}')),
        ([], HELLO.replace(b'"capabilities": {}', b'"capabilities": {"experimental": {"x": {"y": 1e999}}}')),
        ([], line(request("server/discover", {"_meta": {}}))),
        ([], line(request("server/discover", {"_meta": ENVELOPE | {"progressToken": True}}))),
        ([], DISCOVER.replace(b"2026-07-28", b"2027-01-01")),
        ([], line(request("tools/call", MODERN))),
        ([HELLO], HELLO),
        ([HELLO], DISCOVER),
        ([HELLO], line(request("tools/list", {"cursor": "x"}))),
        ([HELLO], line(request("tools/list", {"_meta": []}))),
        ([HELLO], line(request("tools/list", []))),
        ([HELLO], line(request("subscriptions/listen", {"notifications": {}}))),
        ([DISCOVER], line(request("subscriptions/listen", MODERN))),
        ([DISCOVER], line(request("subscriptions/listen", MODERN | {"notifications": {"toolsListChanged": 1}}))),
        (
            [DISCOVER],
            line(request("subscriptions/listen", MODERN | {"notifications": {"resourceSubscriptions": ["x"]}})),
        ),
        ([], line(request("ping"))),
        ([DISCOVER], line(request("ping"))),
        ([DISCOVER], line(request("subscriptions/listen", MODERN | {"notifications": {"own": True}}))),
        ([], line(request("initialize", INITIALIZE | {"capabilities": {"extensions": {"x": 1}}}))),
        ([], line(request("initialize", INITIALIZE | {"capabilities": {"extensions": []}}))),
        ([HELLO], line(request("tools/call", {"name": "echo"}))),
        ([HELLO], line(request("tools/call"))),
        ([HELLO], line({"jsonrpc": "2.0", "id": 1, "result": {}})),
        ([DISCOVER], HELLO),
        ([DISCOVER], line(request("tools/list"))),
    ],
)
def test_what_is_malformed_or_has_no_answer_that_is_always_the_same_is_left_to_the_sdk(
    before: list[bytes], text: bytes
) -> None:
    assert said_by_greeting([*before, text])[len(before) :] == [None]


FIRST = {"legacy": "ping", "modern": "server/discover"}
CLIENTS: list[Message] = [
    {
        "info": {"title": "T", "websiteUrl": "https://example.org", "description": "é 🙂"},
        "capabilities": {"extensions": {"a/b": {"c": [1.5]}}, "roots": {"listChanged": True}},
    },
    {"capabilities": {"elicitation": {"form": {"applyDefaults": True}, "url": {}}, "experimental": {"x": {}}}},
    {"capabilities": {"tasks": {"list": {}, "cancel": {}, "requests": {"sampling": {"createMessage": {}}}}}},
    {"meta": {"progressToken": 0, "example.org/trace": ["x"]}},
]
"""What clients say of themselves, beside or instead of what is always there."""


@pytest.mark.requirement("START-1")
@pytest.mark.parametrize("said", CLIENTS, ids=[*map(str, range(len(CLIENTS)))])
@pytest.mark.parametrize("version", [HANDSHAKE_PROTOCOL_VERSIONS[-1], "2026-07-28"])
def test_whatever_a_first_request_may_carry_is_answered_as_the_sdk_does(version: str, said: Message) -> None:
    who = {
        "protocolVersion": version,
        "clientInfo": INITIALIZE["clientInfo"] | said.get("info", {}),
        "capabilities": said.get("capabilities", {}),
    }
    meta: Message = said.get("meta", {})
    opening, era = [request("initialize", {**who, "_meta": meta})], "legacy"
    if version not in HANDSHAKE_PROTOCOL_VERSIONS:
        names = ("protocolVersion", "clientInfo", "clientCapabilities")
        meta = meta | {f"{PREFIX}/{name}": who[key] for name, key in zip(names, who, strict=True)}
        opening, era = opening[:0], "modern"
    requests = [request(method, {"_meta": meta, "more": 1}, method) for method in ("tools/list", FIRST[era])]
    lines = [*map(line, [*opening, INITIALIZED, *requests])]
    answers = said_by_greeting(lines)
    assert answers == said_by_toy(lines)
    assert len(answers) == len(opening) + len(requests)


@pytest.mark.requirement("START-1")
@pytest.mark.parametrize("before", [[HELLO], [DISCOVER]])
@pytest.mark.parametrize("name", ["initialized", "cancelled", "roots/list_changed", "progress", "anything"])
def test_a_notification_is_left_unanswered_and_the_next_request_is_not(before: list[bytes], name: str) -> None:
    news = line({"jsonrpc": "2.0", "method": f"notifications/{name}", "params": {"requestId": 99}})
    following = line(request("tools/list", MODERN, 2) if before == [DISCOVER] else request("ping", None, 2))
    answers = said_by_greeting([*before, news, following])
    assert answers == said_by_toy([*before, news, following])
    assert len(answers) == len(before) + 1


@pytest.mark.requirement("START-1", "RES-6")
@pytest.mark.parametrize(
    ("wanted", "is_certain"),
    [
        ({}, True),
        ({"toolsListChanged": True}, True),
        ({"resourcesListChanged": True, "promptsListChanged": False}, True),
        ({"resourcesListChanged": 1}, False),
        ({"resourceSubscriptions": ["tasks://list"]}, False),
        (None, False),
    ],
)
def test_a_client_that_listens_to_lists_is_acknowledged_as_by_the_sdk(wanted: Message | None, is_certain: bool) -> None:
    hello = line(request("subscriptions/listen", MODERN | {"notifications": wanted}, "stream"))
    answer = Greeting(description_of(Shelf().server.sdk)).answer(hello)
    assert (answer is not None) is is_certain
    if answer is not None:
        assert answer.request_id == "stream"
        assert [json.loads(answer.line)] == said_by_sdk(Shelf().server.sdk, [hello])


def enveloped(token: int, capabilities: Message, name: str) -> Message:
    said = {f"{PREFIX}/clientInfo": {"name": name, "version": "1"}, f"{PREFIX}/clientCapabilities": capabilities}
    return {"_meta": ENVELOPE | said | {"progressToken": token}}


QWEN: Message = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}}, "roots": {}}
CODEX: Message = {"experimental": {"codex/auth-change": {}}, "elicitation": {"form": {}, "url": {}}}
COPILOT: Message = {"sampling": {}, "elicitation": {"form": {}, "url": {}}}
OPENINGS: dict[str, list[Message]] = {
    "Codex": [
        request("initialize", INITIALIZE | {"capabilities": CODEX}, 0),
        INITIALIZED,
        request("tools/list", {"_meta": {"progressToken": 0}}, 1),
    ],
    "Copilot CLI and Claude Code": [
        request("server/discover", enveloped(0, COPILOT, "copilot-cli"), 0),
        request("subscriptions/listen", enveloped(1, COPILOT, "copilot-cli") | {"notifications": LISTS}, 1),
        request("tools/list", enveloped(2, COPILOT, "copilot-cli"), 2),
    ],
    "Qwen Code": [
        request("initialize", INITIALIZE | {"capabilities": QWEN}, 0),
        INITIALIZED,
        request("tools/list", {}, 2),
        request("tools/list", None, 3),
    ],
}
"""What clients send before they call a tool."""


@pytest.mark.requirement("START-1")
@pytest.mark.parametrize("client", OPENINGS)
def test_nothing_that_a_real_client_opens_with_waits_for_the_sdk(client: str) -> None:
    greeting = Greeting(description_of(Shelf().server.sdk))
    lines = [*map(line, OPENINGS[client])]
    answers = [answer.line for answer in map(greeting.answer, lines) if answer is not None]
    assert len(answers) == len(lines)
    assert [json.loads(answer) for answer in answers if answer] == said_by_sdk(Shelf().server.sdk, lines)


NAMES = ["roots", "sampling", "elicitation", "tasks", "experimental", "extensions", "listChanged", "form", "list", "x"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "a", "2025-06-18"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
    max_leaves=4,
)
METAS = st.dictionaries(st.sampled_from(["progressToken", f"{PREFIX}/logLevel", "x"]), VALUES, max_size=2)
CAPABILITIES = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=2)
CLIENT_INFO = st.dictionaries(st.sampled_from(["name", "version", "title", "icons"]), VALUES) | st.just(
    INITIALIZE["clientInfo"]
)
HANDSHAKES = st.fixed_dictionaries(
    {"protocolVersion": st.just("2025-06-18") | VALUES, "capabilities": CAPABILITIES, "clientInfo": CLIENT_INFO},
    optional={"_meta": METAS | VALUES},
).map(lambda params: request("initialize", params))
ENVELOPES = st.fixed_dictionaries(
    {
        f"{PREFIX}/protocolVersion": st.just("2026-07-28") | VALUES,
        f"{PREFIX}/clientInfo": CLIENT_INFO,
        f"{PREFIX}/clientCapabilities": CAPABILITIES,
    }
)
ENVELOPED = st.builds(lambda envelope, more: envelope | more, ENVELOPES, METAS)
FOLLOWING = st.builds(
    request,
    st.sampled_from(["tools/list", "server/discover", "ping", "prompts/list", "initialize"]),
    st.none()
    | st.just({})
    | st.just(MODERN)
    | st.builds(lambda *parts: {"_meta": parts[0] | parts[1]}, ENVELOPES, METAS)
    | METAS.map(lambda meta: {"_meta": meta})
    | VALUES,
    st.integers(2, 9) | st.just("é"),
)


@pytest.mark.requirement("START-1")
@settings(max_examples=25)
@given(st.tuples(HANDSHAKES | FOLLOWING, FOLLOWING, FOLLOWING))
def test_whatever_a_client_begins_with_no_answer_differs_from_the_sdks(messages: tuple[Message, ...]) -> None:
    lines = list(map(line, messages))
    answers = said_by_greeting(lines)
    if None in answers:
        answers.pop()
    assert said_by_toy(lines)[: len(answers)] == answers
