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
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import anyio
import anyio.to_thread
import mcp_types
from pydantic import JsonValue, ValidationError

from task_core import strict_json
from task_core.bootstrap import Interrupt
from task_core.errors import ECHO_LIMIT, DuplicateKey, InvalidArguments, TaskError
from task_core.text import shorten

__all__ = [
    "MAX_MESSAGE",
    "TOO_LONG",
    "WAITERS",
    "Channel",
    "Incoming",
    "claim_standard_streams",
    "find_id",
    "read_message",
    "refusal",
    "stop_signal",
]

MAX_MESSAGE: Final = 4 * 1024 * 1024
"""Bytes that a message may have on any transport: the limit of the SDK's own servers (TOOL-3, P1)."""

TOO_LONG: Final = f"Send messages of at most {MAX_MESSAGE:,} bytes."

WAITERS: Final = 0.4
"""Seconds that calls waiting for the store get at the end to answer that they gave up (CLI-5, P3)."""

_READ_SIZE: Final = 65_536
"""Bytes that are read at a time: the capacity of a pipe on Linux."""

_MAX_CONTAINERS: Final = 50_000
"""Lists and objects in a message: a million would keep the event loop and its garbage collector busy for ten seconds.
A tree of 10,000 tasks with three lists each fits."""

_MAX_VALUES: Final = 200_000
"""Values in a message, which is about as many as there are commas."""

_EDGE: Final = 4_096
"""Bytes at the beginning and at the end of a message in which its id is sought if the message cannot be read."""

_STRING: Final = rb'"(?:[^"\\]|\\.)*+"'
_ID: Final = rb'"id"\s*:\s*(-?\d{1,1000}|' + _STRING + rb")\s*"
_MEMBER: Final = _STRING + rb"\s*:\s*(?:[\w.+-]++|" + _STRING + rb")\s*"
_ID_AT_START: Final = re.compile(rb"\s*\{\s*(?:" + _MEMBER + rb",\s*)*" + _ID + rb"[,}]", re.DOTALL)
_ID_AT_END: Final = re.compile(rb"[{,]\s*" + _ID + rb"(?:,\s*" + _MEMBER + rb")*\}\s*\Z", re.DOTALL)
"""The id of a message, with nothing but plain members before or behind it."""

_ANSWER: Final = re.compile(rb"\s*\{\s*(?:" + _MEMBER + rb",\s*)*\"(?:result|error)\"\s*:", re.DOTALL)
"""The beginning of an answer, which no answer is due to: its id is one of the server's."""

_ID_KEY: Final = re.compile(rb'[{,]\s*"id"\s*:')
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""A lone surrogate, which no answer could repeat."""


class Channel:
    """One end of a pipe or socket, or a terminal, which the event loop watches; or a file, which keeps nobody waiting.

    A watched descriptor stays in blocking mode: non-blocking mode belongs to the open file, which a parent or a shell
    may share, and would outlive this process. Poll announces room for ``PIPE_BUF`` bytes, so as many are written.
    On Windows nothing can be watched, so a thread waits.
    """

    def __init__(self, descriptor: int) -> None:
        mode = os.fstat(descriptor).st_mode
        is_watchable = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
        self._is_watched = is_watchable and os.name == "posix"
        self._descriptor = descriptor
        self.has_ended = False
        """True once there is nothing more to read."""
        self._wait: asyncio.Future[None] | None = None  # the wait for something to read
        self._thread_wait: anyio.CancelScope | None = None

    async def read(self) -> bytes:
        """Return some bytes, or none at the end."""
        if self._is_watched and not self.has_ended:
            loop = asyncio.get_running_loop()
            self._wait = loop.create_future()
            loop.add_reader(self._descriptor, self._wake)
            try:
                await self._wait
            finally:
                loop.remove_reader(self._descriptor)
        chunk = b"" if self.has_ended else await self._read()
        self.has_ended = not chunk
        return chunk

    async def _read(self) -> bytes:
        with suppress(OSError):  # the terminal was closed, or the connection was reset
            if sys.platform != "win32":
                if not self._is_watched:
                    await asyncio.sleep(0)  # a file is always readable, and others must run between two parts of it
                return os.read(self._descriptor, _READ_SIZE)
            with anyio.CancelScope() as self._thread_wait:  # pragma: no cover - on Windows only
                return await anyio.to_thread.run_sync(os.read, self._descriptor, _READ_SIZE, abandon_on_cancel=True)
        return b""

    def end(self) -> None:
        """Let there be nothing more to read, as if the other end had been closed."""
        self.has_ended = True
        self._wake()
        if self._thread_wait:  # pragma: no cover - on Windows only
            self._thread_wait.cancel()

    def _wake(self) -> None:
        if self._wait and not self._wait.done():
            self._wait.set_result(None)

    async def write(self, data: bytes) -> None:
        """Write all of ``data``; an ``OSError`` means that nobody reads it any more."""
        rest = memoryview(data)
        while rest:
            if self._is_watched and not self._has(select.POLLOUT):
                await anyio.wait_writable(self._descriptor)
            if sys.platform != "win32":
                rest = rest[os.write(self._descriptor, rest[: select.PIPE_BUF] if self._is_watched else rest) :]
            else:  # pragma: no cover - on Windows only
                rest = rest[await anyio.to_thread.run_sync(os.write, self._descriptor, rest, abandon_on_cancel=True) :]

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
    """Return once SIGTERM, SIGINT or SIGHUP arrives; on Windows, never.

    Return at once if SIGTERM or SIGHUP arrived during the start, and Python dropped the exception.
    """
    if sys.platform == "win32":  # pragma: no cover - SIGINT ends the event loop there, the others do not exist
        await anyio.sleep_forever()
    earlier = signal.getsignal(signal.SIGTERM)
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        if not (isinstance(earlier, Interrupt) and earlier.has_come):
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
        return refusal(mcp_types.INVALID_REQUEST, f"Send a message of fewer parts: at most {limits}.", find_id(data))
    try:
        reading = strict_json.read(data)
    except strict_json.TooDeep as error:
        return refusal(
            mcp_types.INVALID_REQUEST, f"Send a message that nests less: this one is {error}.", find_id(data)
        )
    except strict_json.NotJson as error:
        bare = _without_strings(data)
        is_whole = bare.count(b"{") == bare.count(b"}")  # else its end may be that of the parameters
        return refusal(mcp_types.PARSE_ERROR, f"Send JSON: {error}.", find_id(data, is_whole=is_whole))
    if not isinstance(reading.value, dict):
        return refusal(mcp_types.INVALID_REQUEST, "Send one JSON-RPC object at a time; MCP has no batches.")
    if "id" in reading.duplicate_keys:
        return _refuse(DuplicateKey(reading.duplicate_keys), None)
    return _message(reading, reading.value)


def find_id(data: bytes, *, is_whole: bool = True) -> mcp_types.RequestId | None:
    """Return the id of a request that is refused unread, if it is plain at one of its edges.

    Without an id, the client's call would hang. Unless ``data`` ``is_whole``, only its beginning counts. The id of what
    looks like an answer is not used: the client could have a request with the same id.
    """
    start, end = data[:_EDGE], data[-_EDGE:] if is_whole else b""
    keys = [*_ID_KEY.finditer(end)][-4:]  # of thousands, each would cost a look at all that follows
    matches = [_ID_AT_START.match(start), *(_ID_AT_END.match(end, key.start()) for key in keys)]
    found = {match[1] for match in matches if match}
    if len(found) == 1 and not _ANSWER.match(start):
        with suppress(ValueError):
            return _id_of({"id": json.loads(found.pop())})
    return None


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
        return _pass_on(reading, value)
    if not isinstance(method, str):
        return refusal(mcp_types.INVALID_REQUEST, "Send the name of a method as text.", request_id)
    if "id" not in value:
        return _pass_on(reading, value)
    if request_id is None:
        return refusal(mcp_types.INVALID_REQUEST, "Send the id as text or as an integer.")
    return _request(reading, request_id, method, value.get("params"))


def _pass_on(reading: strict_json.JsonReading, value: dict[str, JsonValue]) -> Incoming | None:
    """Return an answer or a notification, unless it is faulty."""
    with suppress(ValidationError):
        return None if _fault(reading) else Incoming(mcp_types.jsonrpc_message_adapter.validate_python(value))
    return None


def _request(
    reading: strict_json.JsonReading, request_id: mcp_types.RequestId, method: str, params: JsonValue
) -> Incoming | mcp_types.JSONRPCError:
    fault = _fault(reading)
    if not (params is None or isinstance(params, dict)):
        return _refuse(InvalidArguments([("params", "Give a JSON object.")]), request_id)
    meta, key = (params or {}).get("_meta"), mcp_types.PROTOCOL_VERSION_META_KEY
    if isinstance(meta, dict) and isinstance(version := meta.get(key), str):
        meta[key] = shorten(version, ECHO_LIMIT)  # the SDK repeats the whole of an invalid one (TOOL-3)
    if fault is None:
        return Incoming(mcp_types.JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, params=params))
    if method != "tools/call":
        return _refuse(fault, request_id)
    readable = json.loads(json.dumps(params, ensure_ascii=False).encode("utf-8", "replace"))
    return Incoming(mcp_types.JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, params=readable), fault)


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
