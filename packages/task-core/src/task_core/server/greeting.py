"""Answers a client's first requests while the SDK is still loading, which is nearly all of a start.

The answers were recorded when the server was built, and are the same as the SDK's own. The SDK reads the same
messages later, so that it knows its client; its answers to them are not sent a second time. Only the standard
library is imported here, and as little of it as possible.
"""

from __future__ import annotations

import json
import os
import select
import stat
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["NOTHING_HEARD", "Answer", "Greeting", "Heard", "greet_while"]

ResultT = TypeVar("ResultT")

_META: Final = "io.modelcontextprotocol/"
"""The prefix of the keys with which each request of the modern era says who sends it."""

_CLIENT_INFO: Final = frozenset({"name", "version", "title", "description", "websiteUrl"})
"""The text fields in which a client describes itself."""

_READ_SIZE: Final = 65_536
"""Bytes read at a time (what a pipe holds on Linux); after as many, the rest is left to the transport, which pauses."""


class Heard(NamedTuple):
    """What was read from stdin before the server started, and the ids of the requests in it that are answered."""

    data: bytes = b""
    answered: tuple[str | int, ...] = ()
    unsent: bytes = b""
    """The end of the last answer, if stdout did not take all of it at once."""


NOTHING_HEARD: Final = Heard()
"""What a server begins with if nothing was read before it."""


class Answer(NamedTuple):
    """A line for the client, and the id of the request that it answers; both are empty if no answer is due."""

    line: bytes = b""
    request_id: str | int | None = None


class Greeting:
    """The answers to the first requests of one client.

    A request gets one only if it is certain how the SDK will answer it: it is in its plainest form.
    """

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._legacy: Mapping[str, Any] = description["legacy"]
        self._modern: Mapping[str, Any] = description["modern"]
        self._era: Mapping[str, Any] | None = None

    def answer(self, line: bytes) -> Answer | None:
        """Return the answer to ``line``, or None if the SDK has to give it."""
        message = _parsed(line)
        if message == {"jsonrpc": "2.0", "method": "notifications/initialized"} and self._era is self._legacy:
            return Answer()
        if message.keys() - {"params"} != {"jsonrpc", "id", "method"} or message["jsonrpc"] != "2.0":
            return None
        request_id, result = message["id"], self._result(message["method"], message.get("params", {}))
        if result is None or not _is_id(request_id):
            return None
        text = json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}, separators=(",", ":"))
        return Answer(text.encode() + b"\n", request_id)

    def _result(self, method: object, params: object) -> object:
        if not (isinstance(method, str) and isinstance(params, dict)):
            return None
        if method == "initialize":
            return self._initialized(params) if self._era is None and _is_handshake(params) else None
        if not params:
            return self._legacy["answers"].get(method) if self._era is self._legacy else None
        if self._era is self._legacy or not _is_enveloped(params, self._modern["versions"]):
            return None
        self._era = self._modern
        return self._modern["answers"].get(method)

    def _initialized(self, params: Mapping[str, Any]) -> object:
        self._era = self._legacy
        asked, versions = params["protocolVersion"], self._legacy["versions"]
        return {**self._legacy["initialize"], "protocolVersion": asked if asked in versions else versions[-1]}


def greet_while(work: Callable[[], ResultT], greeting: Greeting) -> tuple[ResultT, Heard]:
    """Do ``work`` and return its result, while a thread answers the first requests; what it read is returned too.

    Stdin is read and stdout written only if both are pipes or sockets, which can be left at any time.
    """
    if not (_is_watchable(0) and _is_watchable(1)):
        return work(), NOTHING_HEARD
    stopped, stop = os.pipe()
    conversation = _Conversation(greeting, stopped)
    thread = Thread(target=conversation.hold, daemon=True)
    thread.start()
    try:
        result = work()
    finally:
        os.close(stop)
        thread.join()
        os.close(stopped)
    return result, conversation.heard()


class _Conversation:
    """Reads and answers until ``stopped`` is closed at its other end, or the SDK has to answer."""

    def __init__(self, greeting: Greeting, stopped: int) -> None:
        self._greeting = greeting
        self._stopped = stopped
        self._data = bytearray()
        self._answered: list[str | int] = []
        self._unsent = b""

    def hold(self) -> None:
        poll = select.poll()
        poll.register(0, select.POLLIN)
        poll.register(self._stopped, select.POLLIN)
        rest = b""
        while self._stopped not in dict(poll.poll()):
            chunk = _read()
            self._data += chunk
            *lines, rest = (rest + chunk).split(b"\n")
            if not (chunk and all(map(self._say, lines)) and len(self._data) <= _READ_SIZE):
                return

    def _say(self, line: bytes) -> bool:
        answer = self._greeting.answer(line)
        if answer is None:
            return False
        if answer.request_id is not None:
            self._answered.append(answer.request_id)
            self._unsent = _send(answer.line)
        return not self._unsent

    def heard(self) -> Heard:
        return Heard(bytes(self._data), tuple(self._answered), self._unsent)


def _read() -> bytes:
    with suppress(OSError):
        return os.read(0, _READ_SIZE)
    return b""


def _send(line: bytes) -> bytes:
    """Write what stdout takes without waiting, announced by poll in steps of ``PIPE_BUF`` bytes; return the rest."""
    poll = select.poll()
    poll.register(1, select.POLLOUT)
    with suppress(OSError):  # nobody reads any more, as the server will find out
        while line and poll.poll(0):
            line = line[os.write(1, line[: select.PIPE_BUF]) :]
    return line


def _is_watchable(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return os.name == "posix" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))


def _parsed(line: bytes) -> dict[str, Any]:
    """Return the object in ``line``, or an empty one if a strict reader might object to it."""
    if b"\\u" in line:
        return {}
    try:
        value = json.loads(line.decode(), object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_refuse)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _refuse(_: str) -> None:
    raise ValueError


def _is_id(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def _is_handshake(params: Mapping[str, Any]) -> bool:
    return (
        params.keys() == {"protocolVersion", "capabilities", "clientInfo"}
        and isinstance(params["protocolVersion"], str)
        and _is_client(params["clientInfo"], params["capabilities"])
    )


def _is_enveloped(params: Mapping[str, Any], versions: list[str]) -> bool:
    meta = params.get("_meta")
    return (
        params.keys() == {"_meta"}
        and isinstance(meta, dict)
        and meta.keys() == {f"{_META}{key}" for key in ("protocolVersion", "clientInfo", "clientCapabilities")}
        and meta[f"{_META}protocolVersion"] in versions
        and _is_client(meta[f"{_META}clientInfo"], meta[f"{_META}clientCapabilities"])
    )


def _is_client(info: object, capabilities: object) -> bool:
    return (
        isinstance(info, dict)
        and {"name", "version"} <= info.keys() <= _CLIENT_INFO
        and all(isinstance(text, str) for text in info.values())
        and isinstance(capabilities, dict)
        and all(_is_capability(name, value) for name, value in capabilities.items())
    )


def _is_capability(name: str, value: object) -> bool:
    if not isinstance(value, dict):
        return False
    if name == "roots":
        return value.keys() <= {"listChanged"} and all(isinstance(flag, bool) for flag in value.values())
    return all(details == {} for details in value.values())
