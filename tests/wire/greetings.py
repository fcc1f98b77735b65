"""Records what the SDK answers at first, which a server later answers while the SDK is loading."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any, Final

import anyio
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from task_core.server.app import TaskServer
from task_core.server.app_view import EXTENSION, VIEW_TYPE
from task_core.server.transports.greeting import choose_tools
from task_core.server.transports.wire import Incoming, read_message
from tests.servers import PROGRAMS, ProgramRecord, program_of

Message = dict[str, Any]

PACKAGES: Final = tuple(record.package for record in PROGRAMS)
"""The servers, by the names of their packages."""

METHODS: Final = ("ping", "tools/list")
"""What a client may ask at first and is answered alike at any time; beside them ``server/discover``."""

_EXTRA_TOOLS: Final = "TASK_EXTRA_TOOLS"
"""The setting that adds tools to every server with tasks; ``install --agents`` adds all."""

_CLIENT: Final[Message] = {"name": "greetings", "version": "1"}
_CAPABILITIES: Final[Message] = {}


def package_description(package: str) -> Message:
    """Return the greeting of a package: what its server answers at first.

    ``settings`` are the variables that it knows, and ``choices`` are those that select the tools, each with the places
    in ``tools`` for each value; a tool with several definitions is there several times. ``project``, if there is one,
    is the project without which its tools are others.

    Raises:
        AssertionError: a choice changes more than the tools, or the places do not give them as the server does.
    """
    record = program_of(package)
    variables = [name.upper() for name in record.settings_type.model_fields]
    choices = {name: ["", *values] for name, values in record.choices.items()}
    if _EXTRA_TOOLS in variables:
        choices[_EXTRA_TOOLS] = ["", "all"]
    chosen = [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
    described = [_described(record, values) for values in chosen]
    listed = [answers.pop("tools") for answers in described]
    assert all(answers == described[0] for answers in described)
    tools = _merge(listed)
    places = {
        name: {
            value: _find(tools, [its for its, values in zip(listed, chosen, strict=True) if values[name] == value])
            for value in possible
        }
        for name, possible in choices.items()
    }
    project = {"project": dict(record.settings_type.greets_in)} if record.settings_type.greets_in else {}
    found = {"mcp": version("mcp"), "settings": variables, **project, "choices": places, **described[0], "tools": tools}
    assert [choose_tools(found, values) for values in chosen] == listed
    return found


def _described(record: ProgramRecord, given: Mapping[str, str]) -> Message:
    with _built(record, {name: value for name, value in given.items() if value}) as server:
        return description_of(server.sdk)


def _find(tools: list[Message], lists: Sequence[list[Message]]) -> list[int]:
    """Return the places in ``tools`` of those that are in one of ``lists``."""
    return [place for place, tool in enumerate(tools) if any(tool in its for its in lists)]


def _merge(lists: Sequence[list[Message]]) -> list[Message]:
    """Return every definition once, those of one tool beside each other, in the order of the longest list."""
    merged = list[Message]()
    for name in [tool["name"] for tool in max(lists, key=len)]:
        for tool in (tool for tools in lists for tool in tools if tool["name"] == name):
            if tool not in merged:
                merged.append(tool)
    return merged


@contextmanager
def _built(record: ProgramRecord, given: Mapping[str, str]) -> Iterator[TaskServer]:
    # The first cleaning may still be at work there.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder)
        yield record.build({**record.usual_environment(path), **record.lay_out(path), **given})


def description_of(server: Server[None]) -> Message:
    """Return what a server answers at first, in every version of the protocol.

    Raises:
        AssertionError: versions of one era have different answers, or the eras have different tools.
    """
    handshakes = [_results(server, _handshake(revision)) for revision in HANDSHAKE_PROTOCOL_VERSIONS]
    modern = [_results(server, _enveloped(revision)) for revision in MODERN_PROTOCOL_VERSIONS]
    initialized = [answers["initialize"] for answers in handshakes]
    negotiated = [result.pop("protocolVersion") for result in initialized]
    assert negotiated == list(HANDSHAKE_PROTOCOL_VERSIONS)
    for alike in (handshakes, modern, initialized):
        assert all(answers == alike[0] for answers in alike)
    listed = modern[0]["tools/list"]
    tools = listed.pop("tools")
    assert handshakes[0]["tools/list"] == {"tools": tools}
    assert handshakes[0]["ping"] == {}
    return {
        "list_tool": _list_tool(server),
        "legacy": {"versions": negotiated, "initialize": initialized[0]},
        "modern": {
            "versions": list(MODERN_PROTOCOL_VERSIONS),
            "discover": modern[0]["server/discover"],
            "list": listed,
            "listens": _listens(server),
        },
        "tools": tools,
    }


def _list_tool(server: Server[None]) -> str:
    """Return the tool whose answers clients may show in a view, if there is one."""
    capabilities = {"extensions": {EXTENSION: {"mimeTypes": [VIEW_TYPE]}}}
    request = _enveloped_request(MODERN_PROTOCOL_VERSIONS[-1], "tools/list", {}, capabilities)
    (answer,) = said_by_sdk(server, [json.dumps(request).encode()])
    return next((tool["name"] for tool in answer["result"]["tools"] if "_meta" in tool), "")


def _listens(server: Server[None]) -> list[str] | None:
    """Return the kinds of notifications, other than those of single resources, that a client may listen to."""
    wanted = dict.fromkeys(("toolsListChanged", "promptsListChanged", "resourcesListChanged"), True)
    request = _enveloped_request(MODERN_PROTOCOL_VERSIONS[-1], "subscriptions/listen", {"notifications": wanted})
    (answer,) = said_by_sdk(server, [json.dumps(request).encode()])
    return [*answer["params"]["notifications"]] if "params" in answer else None


def said_by_sdk(server: Server[None], lines: Iterable[bytes]) -> list[Message]:
    """Return what the SDK answers to the lines of one client, in turn."""
    return anyio.run(_converse, server, [*map(read_message, lines)])


def files_in(folder: Path) -> dict[str, str]:
    """Return the variables with which each of the servers keeps its files in ``folder``."""
    return {name: value for record in PROGRAMS for name, value in record.environment(folder).items()}


async def _converse(server: Server[None], messages: list[Any]) -> list[Message]:
    inward, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
    outbox, outward = anyio.create_memory_object_stream[SessionMessage](math.inf)
    answers = []
    async with anyio.create_task_group() as tasks, inward, outward:
        tasks.start_soon(partial(server.run, inbox, outbox, server.create_initialization_options()))
        for message in messages:
            answer = message
            if isinstance(message, Incoming):
                await inward.send(SessionMessage(message.message))
                if not isinstance(message.message, JSONRPCRequest):
                    continue
                answer = (await outward.receive()).message
            answers.append(answer.model_dump(mode="json", by_alias=True, exclude_unset=True))
        inward.close()
    return answers


def _results(server: Server[None], messages: list[Message]) -> dict[str, Message]:
    answers = said_by_sdk(server, (json.dumps(message).encode() for message in messages))
    return {answer["id"]: answer["result"] for answer in answers if "result" in answer}


def _handshake(revision: str) -> list[Message]:
    params = {"protocolVersion": revision, "capabilities": _CAPABILITIES, "clientInfo": _CLIENT}
    return [_request("initialize", params), *map(_request, METHODS)]


def _enveloped(revision: str) -> list[Message]:
    return [_enveloped_request(revision, method, {}) for method in ("server/discover", *METHODS)]


def _enveloped_request(revision: str, method: str, params: Message, capabilities: Message = _CAPABILITIES) -> Message:
    prefix = "io.modelcontextprotocol"
    meta = {
        f"{prefix}/protocolVersion": revision,
        f"{prefix}/clientInfo": _CLIENT,
        f"{prefix}/clientCapabilities": capabilities,
    }
    return _request(method, params | {"_meta": meta})


def _request(method: str, params: Message | None = None) -> Message:
    return {"jsonrpc": "2.0", "id": method, "method": method, "params": params or {}}
