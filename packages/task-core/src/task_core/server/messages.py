"""Reads one JSON-RPC message strictly: what the SDK would bend, or drop in silence, gets an answer (P1, ERR-3)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    PROTOCOL_VERSION_META_KEY,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import JsonValue, ValidationError

from task_core import strict_json
from task_core.errors import ECHO_LIMIT, DuplicateKey, InvalidArguments, TaskError
from task_core.server.offence import Offence
from task_core.text import shorten

__all__ = ["HEAD", "TAIL", "Incoming", "read_message", "refusal", "too_long"]

HEAD: Final = 65_536
"""Bytes at the start of a bad message in which its id is looked for; more would cost time that it is not worth."""

TAIL: Final = 1_024
"""Bytes at the end of a message that is too long in which its id is looked for: many clients write it last."""

_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]]', re.DOTALL)
"""What opens or closes a level, and strings, which may hold such characters; one without an end takes the rest."""

_ID_VALUE: Final = re.compile(rb'\s*:\s*("[^"\\]{0,200}"|-?\d{1,19})\s*[,}]')
"""What follows the key of an id that can be told: text or an integer, complete."""

_LAST_ID: Final = re.compile(rb',\s*"id"\s*:\s*("[^"\\]{0,200}"|-?\d{1,19})\s*}\s*\Z')
"""An id that is the last member of the outermost object."""

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Half a character, which no answer could repeat."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message for the SDK; a tool call with a fault in its text has it in ``offence``."""

    message: JSONRPCMessage
    offence: Offence | None = None


def read_message(data: bytes) -> Incoming | JSONRPCError | None:
    """Return the message, or the error that answers it, or nothing where JSON-RPC allows no answer."""
    try:
        reading = strict_json.read(data)
    except strict_json.TooDeep as error:
        return refusal(INVALID_REQUEST, f"Send a message that nests less: this one is {error}.", _only(_ids_in(data)))
    except strict_json.NotJson as error:
        return refusal(PARSE_ERROR, f"Send JSON: {error}.", _only(_ids_in(data)))
    if not isinstance(reading.value, dict):
        return refusal(INVALID_REQUEST, "Send one JSON-RPC object at a time; MCP has no batches.")
    if "id" in reading.duplicate_keys and _only(_ids_in(data) | {_id_of(reading.value)}) is None:
        return _refused(DuplicateKey(reading.duplicate_keys), None)
    return _message(reading, reading.value)


def too_long(data: bytes, limit: int) -> JSONRPCError:
    """Return the error for a message of more than ``limit`` bytes, of which ``data`` has at least both ends."""
    last = _LAST_ID.search(data[-TAIL:])
    ids = _ids_in(data) | (_parsed(last[1]) if last else set())
    return refusal(INVALID_REQUEST, f"Send messages of at most {limit:,} bytes.", _only(ids))


def refusal(
    code: int, message: str, request_id: RequestId | None = None, data: dict[str, JsonValue] | None = None
) -> JSONRPCError:
    """Return a JSON-RPC error; without ``request_id`` it says that the id could not be told."""
    error = ErrorData(code=code, message=message) if data is None else ErrorData(code=code, message=message, data=data)
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def _message(reading: strict_json.Reading, value: dict[str, JsonValue]) -> Incoming | JSONRPCError | None:
    method, request_id = value.get("method"), _id_of(value)
    if value.get("jsonrpc") != "2.0":
        return refusal(INVALID_REQUEST, 'Send "jsonrpc": "2.0" in every message.', request_id)
    if "method" not in value and ("result" in value or "error" in value):
        return _response(reading, value)
    if not isinstance(method, str):
        return refusal(INVALID_REQUEST, "Send the name of a method as text.", request_id)
    if "id" not in value:
        return _notification(reading, method, value.get("params"))
    if request_id is None:
        return refusal(INVALID_REQUEST, "Send the id as text or as an integer.")
    return _request(reading, request_id, method, value.get("params"))


def _response(reading: strict_json.Reading, value: dict[str, JsonValue]) -> Incoming | None:
    try:
        return None if _fault(reading) else Incoming(jsonrpc_message_adapter.validate_python(value))
    except ValidationError:
        return None


def _notification(reading: strict_json.Reading, method: str, params: JsonValue) -> Incoming | None:
    if _fault(reading) or not (params is None or isinstance(params, dict)):
        return None
    return Incoming(JSONRPCNotification(jsonrpc="2.0", method=method, params=params))


def _request(
    reading: strict_json.Reading, request_id: RequestId, method: str, params: JsonValue
) -> Incoming | JSONRPCError:
    fault = _fault(reading)
    if not (params is None or isinstance(params, dict)):
        return _refused(InvalidArguments([("params", "Give a JSON object.")]), request_id)
    params = _short(params)
    if fault is None:
        return Incoming(JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, params=params))
    if method != "tools/call":
        return _refused(fault, request_id)
    readable = json.loads(json.dumps(params, ensure_ascii=False).encode("utf-8", "replace"))
    return Incoming(JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, params=readable), Offence(fault))


def _short(params: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
    """Cut the version of the protocol where it is none: the SDK repeats the whole of it in its refusal (TOOL-3)."""
    meta = params.get("_meta") if params else None
    version = meta.get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
    if params is None or not isinstance(meta, dict) or not isinstance(version, str) or len(version) <= ECHO_LIMIT:
        return params
    return {**params, "_meta": {**meta, PROTOCOL_VERSION_META_KEY: shorten(version, ECHO_LIMIT)}}


def _fault(reading: strict_json.Reading) -> TaskError | None:
    if reading.has_lone_surrogate:
        return InvalidArguments([("params", "Leave out the lone surrogate: it is half a character.")])
    return DuplicateKey(reading.duplicate_keys) if reading.duplicate_keys else None


def _refused(fault: TaskError, request_id: RequestId | None) -> JSONRPCError:
    return refusal(INVALID_PARAMS, fault.message, request_id, {"code": fault.code, **fault.details})


def _id_of(value: dict[str, JsonValue]) -> RequestId | None:
    request_id = value.get("id")
    if isinstance(request_id, str) and not _LONE_SURROGATE.search(request_id):
        return request_id
    return request_id if isinstance(request_id, int) and not isinstance(request_id, bool) else None


def _ids_in(data: bytes) -> set[RequestId | None]:
    """Return each id at the top level of the start of ``data``, whether or not the rest is JSON."""
    found: set[RequestId | None] = set()
    depth = 0
    for token in _TOKEN.finditer(data, 0, HEAD):
        text = token.group()
        if text in b"{[":
            depth += 1
        elif text in b"]}":
            depth -= 1
        elif depth == 1 and text == b'"id"' and (value := _ID_VALUE.match(data, token.end())):
            found |= _parsed(value[1])
    return found


def _parsed(data: bytes) -> set[RequestId | None]:
    try:
        return {_id_of({"id": strict_json.read(data).value})}
    except strict_json.NotJson:
        return set()


def _only(ids: set[RequestId | None]) -> RequestId | None:
    return next(iter(ids)) if len(ids) == 1 else None
