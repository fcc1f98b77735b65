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

from task_core.server.app_view import add_view

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["NOTHING_HEARD", "Answer", "Greeting", "Heard", "answer_while_loading"]

ResultT = TypeVar("ResultT")

_META: Final = "io.modelcontextprotocol/"
"""The prefix of the keys with which each request of the modern era says who sends it."""

_LISTEN: Final = "subscriptions/listen"
"""The request whose first answer is an acknowledgement; the final one comes when its stream ends."""

_ID: Final = (str, int)
_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_TEXT: Final = (str, ...)
_OBJECT: Final = ({}, ...)
_OBJECTS: Final = ({...: {}}, ...)

_ICON: Final = {"src": str, "mimeType": _TEXT, "sizes": ([str], ...), "theme": ("light", "dark", ...)}
_CLIENT_INFO: Final = {
    "name": str,
    "version": str,
    **dict.fromkeys(("title", "description", "websiteUrl"), _TEXT),
    "icons": ([_ICON], ...),
}
_REQUESTS: Final = {"elicitation": ({"create": _OBJECT}, ...), "sampling": ({"createMessage": _OBJECT}, ...)}
_CAPABILITIES: Final = {
    "roots": ({"listChanged": (bool, ...)}, ...),
    "sampling": ({"context": _OBJECT, "tools": _OBJECT}, ...),
    "elicitation": ({"form": _OBJECT, "url": _OBJECT}, ...),
    "tasks": ({"list": _OBJECT, "cancel": _OBJECT, "requests": (_REQUESTS, ...)}, ...),
    "experimental": _OBJECTS,
    "extensions": _OBJECTS,
}
_PLAIN: Final = {"_meta": ({"progressToken": (*_ID, ...)}, ...), "cursor": ...}
_HANDSHAKE: Final = {**_PLAIN, "protocolVersion": str, "clientInfo": _CLIENT_INFO, "capabilities": _CAPABILITIES}
_ENVELOPED: Final = {
    "_meta": {
        "progressToken": (*_ID, ...),
        f"{_META}protocolVersion": str,
        f"{_META}clientInfo": (_CLIENT_INFO, ...),
        f"{_META}clientCapabilities": _CAPABILITIES,
        f"{_META}logLevel": (*_LEVELS, ...),
    },
    "cursor": ...,
}
_KINDS: Final = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
_WANTED: Final = {"notifications": {**dict.fromkeys(_KINDS, (bool, ...)), "resourceSubscriptions": ...}}
"""Shapes of what the SDK reads in a request; see ``_fits``. It ignores every other member."""

_MOST_BRACKETS: Final = 100
"""A line with more of them may nest deeper than the SDK reads."""

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
    """The answers to the first requests of one client: of every well-formed one whose answer is always the same."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._legacy: Mapping[str, Any] = description["legacy"]
        self._modern: Mapping[str, Any] = description["modern"]
        self._list_tool: str = description["list_tool"]
        self._extensions: Mapping[str, Any] | None = None
        """What the client of the older era declared, with its handshake."""
        self._is_modern: bool | None = None
        """The era of the connection, which the first request decides."""
        self._answers: Mapping[str, Any] = {"ping": {}}

    def answer(self, line: bytes) -> Answer | None:
        """Return the answer to ``line``, or None if the SDK has to give it."""
        message = _parse(line)
        request_id, method, params = message.get("id"), message.get("method"), message.get("params", {})
        if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
            return None
        if "id" not in message:
            return Answer()  # a notification
        if not (_fits(request_id, _ID) and isinstance(params, dict)):
            return None
        result = self._result(method, params)
        if result is None:
            return None
        said = {"id": request_id, "result": result}
        if method == _LISTEN:
            meta = {f"{_META}subscriptionId": request_id}
            said = {
                "method": "notifications/subscriptions/acknowledged",
                "params": {"notifications": result, "_meta": meta},
            }
        text = json.dumps({"jsonrpc": "2.0", **said}, separators=(",", ":"))
        return Answer(text.encode() + b"\n", request_id)

    def _result(self, method: str, params: Mapping[str, Any]) -> object:
        if method == "initialize":
            return self._answer_initialize(params)
        meta = params.get("_meta")
        is_modern = isinstance(meta, dict) and f"{_META}protocolVersion" in meta
        if self._is_modern is None:
            self._is_modern = is_modern
            self._answers = self._modern["answers"] if is_modern else self._answers
        if is_modern is not self._is_modern or not _fits(params, _ENVELOPED if is_modern else _PLAIN):
            return None
        if is_modern and meta[f"{_META}protocolVersion"] not in self._modern["versions"]:
            return None
        if method == _LISTEN:
            return self._select_honored(params)
        extensions = meta[f"{_META}clientCapabilities"].get("extensions") if is_modern else self._extensions
        return add_view(method, self._answers[method], self._list_tool, extensions) if method in self._answers else None

    def _answer_initialize(self, params: Mapping[str, Any]) -> object:
        if self._is_modern or self._answers is self._legacy["answers"] or not _fits(params, _HANDSHAKE):
            return None
        self._is_modern, self._answers = False, self._legacy["answers"]
        self._extensions = params["capabilities"].get("extensions")
        asked, versions = params["protocolVersion"], self._legacy["versions"]
        return {**self._legacy["initialize"], "protocolVersion": asked if asked in versions else versions[-1]}

    def _select_honored(self, params: Mapping[str, Any]) -> object:
        if not (self._is_modern and self._modern["listens"] is not None and _fits(params, _WANTED)):
            return None
        return {kind: True for kind in self._modern["listens"] if params["notifications"].get(kind)}


def answer_while_loading(work: Callable[[], ResultT], greeting: Greeting) -> tuple[ResultT, Heard]:
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


def _parse(line: bytes) -> dict[str, Any]:
    """Return the object in ``line``, or an empty one if a strict reader might object to it."""
    if line.count(b"{") + line.count(b"[") > _MOST_BRACKETS:
        return {}
    try:
        value = json.loads(line.decode(), object_pairs_hook=_refuse_duplicates)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # fails at a lone surrogate, too
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _fits(value: object, shape: object) -> bool:
    """Return whether ``value`` is what ``shape`` says.

    A shape is a type; a value; a tuple of shapes, one of which fits; a list with the shape of each item; or an object
    with shapes of members, of which that under ``...`` is the shape of all. ``...`` fits a missing member.
    """
    if isinstance(shape, tuple):
        return any(_fits(value, one) for one in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(item, shape[0]) for item in value)
    if isinstance(shape, dict):
        names = value if ... in shape else shape
        return isinstance(value, dict) and all(
            _fits(value.get(name, ...), shape.get(name, shape.get(...))) for name in names
        )
    return type(value) is shape if isinstance(shape, type) else bool(value == shape)
