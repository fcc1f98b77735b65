"""Records what the SDK answers at first, which a server later answers while the SDK is loading."""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Iterable, Mapping
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import anyio
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from task_core.command.settings import ServerSettings, StoreServerSettings
from task_core.early import LOG_LEVELS
from task_core.server.app_view import EXTENSION, VIEW_TYPE
from task_core.server.wire import Incoming, read_message
from tests.servers import PROGRAMS, program_of

Message = dict[str, Any]

PACKAGES: Final = tuple(record.package for record in PROGRAMS)
"""The servers, by the names of their packages."""

METHODS: Final = ("ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list")
"""What a client may ask at first and is answered alike at any time; beside them ``server/discover``."""

_PATTERNS: Final = {
    "log_level": "|".join(LOG_LEVELS),
    "task_store": "(?:json|sqlite):(/.+)",
    **dict.fromkeys(("task_master_project_root", "taskmaster_roots", "taskmaster_tag"), ".+"),
    **dict.fromkeys(("cortex_repo", "cortex_workspace", "cortex_ctx"), "/.+"),
}
"""Values that are good beyond doubt, of settings that every server has."""

_CLIENT: Final[Message] = {"name": "greetings", "version": "1"}
_CAPABILITIES: Final[Message] = {}


def greeting_paths(package: str) -> list[Path]:
    """Return where the package keeps its greetings."""
    folder = Path(str(import_module(package).__file__)).parent
    return [folder / name for name in program_of(package).greetings]


def package_description(package: str, given: Mapping[str, str]) -> Message:
    """Return a greeting of a package: what its server answers at first with the settings that are ``given``.

    ``settings`` are patterns of the settings that it is for, ``any_of`` are settings one of which is needed, unless
    the file that is to be ``found`` in the project is there, and ``not_both`` are two that name the store.
    """
    record = program_of(package)
    settings_of = record.settings_type
    # The first cleaning may still be at work there.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = record.built(Path(folder), **given)
        settings = {name.upper(): _plain_values(name, field) for name, field in settings_of.model_fields.items()}
        settings |= {name: re.escape(value) for name, value in given.items()}
        any_of = [] if stands_alone(settings_of) else ["TASK_STORE", *filter(_is_file, settings)]
        has_store = issubclass(settings_of, StoreServerSettings)
        not_both = ["TASK_STORE", settings_of.store_variable.upper()] if has_store else []
        found = {"found": settings_of.searched} if settings_of.searched else {}
        rules = {"any_of": any_of, **found, "not_both": not_both}
        return {"mcp": version("mcp"), "settings": settings, **rules, **description_of(server.sdk)}


def stands_alone(settings_of: type[ServerSettings]) -> bool:
    """Return whether a server starts without any setting."""
    try:
        settings_of.model_validate({})
    except ValidationError:
        return False
    return not settings_of.searched


def _is_file(name: str) -> bool:
    return name.endswith("FILE_PATH")


def _plain_values(name: str, field: FieldInfo) -> str:
    """Return a pattern of values that are good beyond doubt, where each group is a file whose folder has to exist."""
    if _is_file(name.upper()):
        return "(.+)"
    if name in _PATTERNS:
        return _PATTERNS[name]
    if field.annotation is bool:
        return "true|false"
    if field.annotation in {int, float}:
        return "[1-9][0-9]{0,4}" if field.default else "0|[1-9][0-9]{0,4}"
    return re.escape(field.default or "")


def description_of(server: Server[None]) -> Message:
    """Return what a server answers at first, in every version of the protocol.

    Raises:
        AssertionError: versions of one era have different answers.
    """
    handshakes = [_results(server, _handshake(revision)) for revision in HANDSHAKE_PROTOCOL_VERSIONS]
    modern = [_results(server, _enveloped(revision)) for revision in MODERN_PROTOCOL_VERSIONS]
    initialized = [answers.pop("initialize") for answers in handshakes]
    negotiated = [result.pop("protocolVersion") for result in initialized]
    assert negotiated == list(HANDSHAKE_PROTOCOL_VERSIONS)
    for alike in (handshakes, modern, initialized):
        assert all(answers == alike[0] for answers in alike)
    return {
        "legacy": {"versions": negotiated, "initialize": initialized[0], "answers": handshakes[0]},
        "modern": {"versions": list(MODERN_PROTOCOL_VERSIONS), "answers": modern[0], "listens": _listens(server)},
        "list_tool": _list_tool(server),
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
