"""The bytes of a transport: in and out without blocking the event loop, and read strictly as JSON-RPC messages.

What the SDK would alter, or silently drop, gets an answer here (P1, ERR-3).
"""

import asyncio
import json
import os
import re
import select
import signal
import stat
import sys
from dataclasses import dataclass
from typing import Final

import anyio
import anyio.to_thread
import mcp_types
from pydantic import JsonValue, ValidationError

from task_core import strict_json
from task_core.errors import ECHO_LIMIT, DuplicateKey, InvalidArguments, TaskError
from task_core.text import shorten

__all__ = ["WAITERS", "Channel", "Incoming", "claim_standard_streams", "read_message", "refusal", "stop_signal"]

WAITERS: Final = 0.2
"""Seconds that calls waiting for the store get at the end to answer that they gave up (CLI-5, P3)."""

_READ_SIZE: Final = 65_536
"""Bytes that are read at a time: the capacity of a pipe on Linux."""

_MAX_CONTAINERS: Final = 50_000
"""Lists and objects in a message: a million would keep the event loop and its garbage collector busy for ten seconds.
A tree of 10,000 tasks with three lists each fits."""

_MAX_VALUES: Final = 200_000
"""Values in a message, which is about as many as there are commas."""

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""A lone surrogate, which no answer could repeat."""


class Channel:
    """One end of a pipe or socket, or a terminal; it is watched if the system can do that, else threads wait for it.

    A watched descriptor stays in blocking mode: non-blocking mode belongs to the open file, which a parent or a shell
    may share, and would outlive this process. Poll announces room for ``PIPE_BUF`` bytes, so as many are written.
    """

    def __init__(self, descriptor: int) -> None:
        mode = os.fstat(descriptor).st_mode
        is_watchable = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
        self._is_watched = is_watchable and os.name == "posix"
        self._descriptor = descriptor
        # Its own limiter: calls that wait for the store must not keep the next line from being read.
        self._thread = anyio.CapacityLimiter(1)
        self._thread_wait: anyio.CancelScope | None = None
        self.has_ended = False
        """true once there is nothing more to read"""
        self._chunk: bytes | None = None
        """bytes that were read before anybody asked for them"""
        self._wait: asyncio.Future[None] | None = None
        """the wait for something to read; between two of them the event loop goes on watching"""
        self._is_observed = False

    async def read(self) -> bytes:
        """Return some bytes, or none at the end."""
        if self.has_ended:
            return b""
        chunk = await (self._read_watched() if self._is_watched else self._read_in_thread())
        self.has_ended = self.has_ended or not chunk
        return chunk

    def end(self) -> None:
        """Let there be nothing more to read, as if the other end had been closed."""
        self.has_ended = True
        if self._wait and not self._wait.done():
            self._wait.set_result(None)
        if self._thread_wait:
            self._thread_wait.cancel()

    async def _read_in_thread(self) -> bytes:
        with anyio.CancelScope() as self._thread_wait:
            return await anyio.to_thread.run_sync(
                os.read, self._descriptor, _READ_SIZE, limiter=self._thread, abandon_on_cancel=True
            )
        return b""

    async def _read_watched(self) -> bytes:
        if self._chunk is None:
            loop = asyncio.get_running_loop()
            if not self._is_observed:
                loop.add_reader(self._descriptor, self._take_in)
                self._is_observed = True
            self._wait = loop.create_future()
            try:
                await self._wait
            finally:
                self._wait = None
        chunk, self._chunk = self._chunk, None
        return chunk or b""

    def _take_in(self) -> None:
        if self._chunk is None:
            try:
                self._chunk = os.read(self._descriptor, _READ_SIZE)
            except OSError:
                self._chunk = b""
        if self._wait is None or not self._chunk:  # nobody asks for more, or there is none
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._is_observed = False
        if self._wait and not self._wait.done():
            self._wait.set_result(None)

    async def write(self, data: bytes) -> None:
        """Write all of ``data``; an ``OSError`` means that nobody reads it any more."""
        rest = memoryview(data)
        while rest:
            if self._is_watched:
                if not self._has(select.POLLOUT):
                    await anyio.wait_writable(self._descriptor)
                written = os.write(self._descriptor, rest[: select.PIPE_BUF])
            else:
                written = await anyio.to_thread.run_sync(
                    os.write, self._descriptor, rest, limiter=self._thread, abandon_on_cancel=True
                )
            rest = rest[written:]

    async def closed(self) -> None:
        """Return once nobody reads what is written here any more; unless the descriptor is watched, never return."""
        if self._is_watched:
            await anyio.wait_readable(self._descriptor)
        if not (self._is_watched and self._has(0)):
            await anyio.sleep_forever()  # it was input, on a socket or terminal that goes both ways

    def _has(self, events: int) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, events)
        return bool(poll.poll(0))


def claim_standard_streams() -> tuple[int, int]:
    """Return stdin and stdout under new numbers, which only the caller knows (CLI-4).

    From then on descriptor 0 reads as empty, and whatever writes to 1, such as ``print``, writes to stderr.
    This is not undone: what libraries still hold in buffers when the process ends must not reach the client.
    """
    source, sink = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return source, sink


async def stop_signal() -> None:
    """Return once the process has received SIGTERM, SIGINT or SIGHUP; on Windows, never."""
    if sys.platform == "win32":  # pragma: no cover - SIGINT ends the event loop there, the others do not exist
        await anyio.sleep_forever()
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        await anext(aiter(signals))


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message for the SDK; ``offence`` is the fault in the text of a tool call, if it has one."""

    message: mcp_types.JSONRPCMessage
    offence: TaskError | None = None


def read_message(data: bytes) -> Incoming | mcp_types.JSONRPCError | None:
    """Return the message, or the error that answers it, or None where JSON-RPC allows no answer."""
    if not (_is_small(data) or _is_small(_without_strings(data))):
        limits = f"{_MAX_CONTAINERS:,} lists and objects, and {_MAX_VALUES:,} values"
        return refusal(mcp_types.INVALID_REQUEST, f"Send a message of fewer parts: at most {limits}.")
    try:
        reading = strict_json.read(data)
    except strict_json.TooDeep as error:
        return refusal(mcp_types.INVALID_REQUEST, f"Send a message that nests less: this one is {error}.")
    except strict_json.NotJson as error:
        return refusal(mcp_types.PARSE_ERROR, f"Send JSON: {error}.")
    if not isinstance(reading.value, dict):
        return refusal(mcp_types.INVALID_REQUEST, "Send one JSON-RPC object at a time; MCP has no batches.")
    if "id" in reading.duplicate_keys:
        return _refuse(DuplicateKey(reading.duplicate_keys), None)
    return _message(reading, reading.value)


def _is_small(data: bytes) -> bool:
    return data.count(b"[") + data.count(b"{") <= _MAX_CONTAINERS and data.count(b",") < _MAX_VALUES


def _without_strings(data: bytes) -> bytes:
    return b"".join(data.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')[::2])


def refusal(
    code: int, message: str, request_id: mcp_types.RequestId | None = None, data: dict[str, JsonValue] | None = None
) -> mcp_types.JSONRPCError:
    """Return a JSON-RPC error; without ``request_id`` it says that the id is unknown."""
    error = mcp_types.ErrorData(code=code, message=message, **({} if data is None else {"data": data}))
    return mcp_types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def _message(reading: strict_json.JsonReading, value: dict[str, JsonValue]) -> Incoming | mcp_types.JSONRPCError | None:
    method, request_id = value.get("method"), _id_of(value)
    if value.get("jsonrpc") != "2.0":
        return refusal(mcp_types.INVALID_REQUEST, 'Send "jsonrpc": "2.0" in every message.', request_id)
    if "method" not in value and ("result" in value or "error" in value):
        return _response(reading, value)
    if not isinstance(method, str):
        return refusal(mcp_types.INVALID_REQUEST, "Send the name of a method as text.", request_id)
    if "id" not in value:
        return _notification(reading, method, value.get("params"))
    if request_id is None:
        return refusal(mcp_types.INVALID_REQUEST, "Send the id as text or as an integer.")
    return _request(reading, request_id, method, value.get("params"))


def _response(reading: strict_json.JsonReading, value: dict[str, JsonValue]) -> Incoming | None:
    try:
        return None if _fault(reading) else Incoming(mcp_types.jsonrpc_message_adapter.validate_python(value))
    except ValidationError:
        return None


def _notification(reading: strict_json.JsonReading, method: str, params: JsonValue) -> Incoming | None:
    if _fault(reading) or not (params is None or isinstance(params, dict)):
        return None
    return Incoming(mcp_types.JSONRPCNotification(jsonrpc="2.0", method=method, params=params))


def _request(
    reading: strict_json.JsonReading, request_id: mcp_types.RequestId, method: str, params: JsonValue
) -> Incoming | mcp_types.JSONRPCError:
    fault = _fault(reading)
    if not (params is None or isinstance(params, dict)):
        return _refuse(InvalidArguments([("params", "Give a JSON object.")]), request_id)
    params = _short(params)
    if fault is None:
        return Incoming(mcp_types.JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, params=params))
    if method != "tools/call":
        return _refuse(fault, request_id)
    readable = json.loads(json.dumps(params, ensure_ascii=False).encode("utf-8", "replace"))
    return Incoming(mcp_types.JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, params=readable), fault)


def _short(params: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
    """Shorten an invalid protocol version: the SDK repeats the whole of it in its refusal (TOOL-3)."""
    meta = params.get("_meta") if params else None
    version = meta.get(mcp_types.PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
    if params is None or not isinstance(meta, dict) or not isinstance(version, str) or len(version) <= ECHO_LIMIT:
        return params
    return {**params, "_meta": {**meta, mcp_types.PROTOCOL_VERSION_META_KEY: shorten(version, ECHO_LIMIT)}}


def _fault(reading: strict_json.JsonReading) -> TaskError | None:
    if reading.has_lone_surrogate:
        return InvalidArguments([("params", "Leave out the lone surrogate: it is half a character.")])
    return DuplicateKey(reading.duplicate_keys) if reading.duplicate_keys else None


def _refuse(fault: TaskError, request_id: mcp_types.RequestId | None) -> mcp_types.JSONRPCError:
    return refusal(mcp_types.INVALID_PARAMS, fault.message, request_id, {"code": fault.code, **fault.details})


def _id_of(value: dict[str, JsonValue]) -> mcp_types.RequestId | None:
    request_id = value.get("id")
    if isinstance(request_id, str) and not _LONE_SURROGATE.search(request_id):
        return request_id
    return request_id if isinstance(request_id, int) and not isinstance(request_id, bool) else None
