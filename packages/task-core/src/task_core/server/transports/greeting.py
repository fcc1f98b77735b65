"""Answers a client's first requests while the SDK is still loading, which is nearly all of a start.

The answers were recorded when the server was built, and are the same as the SDK's own. The SDK reads the same
messages later, so that it knows its client; its answers to them are not sent a second time. Only the standard
library is imported here, and as little of it as possible.

A server greets only with settings that ``install`` or an earlier start found valid (CLI-3), since checking them would
mean importing pydantic. For each set of valid settings, the user's cache has an empty file.
"""

from __future__ import annotations

import json
import os
import select
import stat
import sys
import zlib
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from task_core import strict_json
from task_core.bootstrap import find_in_project
from task_core.server.app_view import add_view

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["NOTHING_HEARD", "Answer", "Greeting", "GreetingFile", "Heard", "answer_while_loading", "choose_tools"]

ResultT = TypeVar("ResultT")
_RequestId = str | int

_META: Final = "io.modelcontextprotocol/"
"""The prefix of the keys with which each request of the modern era says who sends it."""

_LISTEN: Final = "subscriptions/listen"
"""The request whose first answer is an acknowledgement; the final one comes when its stream ends."""

_KINDS: Final = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
_FLAGS: Final = ("listChanged", "applyDefaults")
"""The members of capabilities that are true or false."""

_PIPE_SIZE: Final = 65_536
"""Bytes that a pipe usually holds: so many are read at a time, and after as many in either direction the rest is left
to the transport, which waits for nobody."""

_PAGE: Final = 4_096
"""Bytes of a pipe that one answer takes at least: it may not share a page with the next."""


class Heard(NamedTuple):
    """Bytes that were read from stdin before the server started, and the ids of the answered requests in them."""

    data: bytes = b""
    answered: tuple[_RequestId, ...] = ()


NOTHING_HEARD: Final = Heard()
"""The start of a server before which nothing was read."""


class Answer(NamedTuple):
    """A line for the client, and the id of the request that it answers; both are empty if no answer is due."""

    line: bytes = b""
    request_id: _RequestId | None = None


class Greeting:
    """The answers to the first requests of one client: to each that is plain, and whose answer is always the same."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._description = description
        self._era = ""  # the era of the connection, once its first request has decided that
        self._extensions: Mapping[str, Any] | None = None
        """Extensions that the client of the older era declared with its handshake."""

    def answer(self, line: bytes) -> Answer | None:
        """Return the answer to ``line``, or None if the SDK has to give it, and all that follow."""
        message = _parse(line)
        request_id, method, params = message.get("id"), message.get("method"), message.get("params", {})
        if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
            return None
        if "id" not in message:
            return Answer()  # a notification
        if type(request_id) not in {str, int} or not isinstance(params, dict):
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

    def _result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        meta = params.get("_meta", {})
        if "cursor" in params or not isinstance(meta, dict) or type(meta.get("progressToken", "")) not in {str, int}:
            return None
        if method == "initialize":
            return None if self._era else self._initialize(params)
        era = "modern" if f"{_META}protocolVersion" in meta else "legacy"
        if era == "modern":
            self._era = self._era or era
        if era != self._era:
            return None
        if era == "modern":
            return self._modern_result(method, params, meta)
        if method == "ping":
            return {}
        return self._list_tools(self._extensions) if method == "tools/list" else None

    def _initialize(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        asked, capabilities = params.get("protocolVersion"), params.get("capabilities")
        if not (isinstance(asked, str) and _is_plain_client(params.get("clientInfo"), capabilities)):
            return None
        self._era, self._extensions = "legacy", params["capabilities"].get("extensions")
        legacy = self._description["legacy"]
        versions = legacy["versions"]
        return {**legacy["initialize"], "protocolVersion": asked if asked in versions else versions[-1]}

    def _modern_result(self, method: str, params: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any] | None:
        modern, capabilities = self._description["modern"], meta.get(f"{_META}clientCapabilities")
        is_known = meta[f"{_META}protocolVersion"] in modern["versions"] and f"{_META}logLevel" not in meta
        if not (is_known and _is_plain_client(meta.get(f"{_META}clientInfo"), capabilities)):
            return None
        extensions = capabilities.get("extensions")
        if method == "server/discover":
            return add_view(method, modern["discover"], self._description["list_tool"], extensions)
        if method == "tools/list":
            return self._list_tools(extensions) | modern["list"]
        wanted, kinds = params.get("notifications"), modern["listens"]
        if method != _LISTEN or kinds is None or not isinstance(wanted, dict) or not wanted.keys() <= {*_KINDS}:
            return None
        is_plain = all(isinstance(value, bool) for value in wanted.values())
        return {kind: True for kind in kinds if wanted.get(kind)} if is_plain else None

    def _list_tools(self, extensions: Mapping[str, Any] | None) -> dict[str, Any]:
        return add_view("tools/list", {"tools": self._description["tools"]}, self._description["list_tool"], extensions)


class GreetingFile:
    """The greeting of a server for the settings that are given in ``variables``."""

    def __init__(self, path: str, variables: Mapping[str, str]) -> None:
        self._description = _read_description(path)
        """Empty if it is missing, damaged, or made with another version of the SDK: the start is only slower."""
        self._given = given = {name.upper(): value for name, value in variables.items() if value}
        names = given.keys() & {*self._description.get("settings", ())}
        self._choices = {name: given.get(name, "") for name in self._description.get("choices", {})}
        # A checksum, since a setting may hold a password.
        settings = repr([path, self._description.get("legacy"), sorted((name, given[name]) for name in names)])
        home = os.path.expanduser("~")
        folder = f"{os.environ.get('XDG_CACHE_HOME') or f'{home}/.cache'}/mcp-task-core/accepted"
        self._mark = f"{folder}/{zlib.crc32(settings.encode('utf-8', 'surrogatepass')):08x}"

    def greeting(self) -> Greeting | None:
        """Return the greeting if the settings were accepted, and if the server has the project that it needs."""
        is_known = all(value in self._description["choices"][name] for name, value in self._choices.items())
        if not (is_known and self._is_accepted() and self._has_project()):
            return None
        return Greeting({**self._description, "tools": choose_tools(self._description, self._choices)})

    def accept(self) -> None:
        """Remember that the settings are valid."""
        if self._description:
            with suppress(OSError):  # without a place to remember it the next start is slower, too
                os.makedirs(os.path.dirname(self._mark), 0o700, exist_ok=True)
                os.close(os.open(self._mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))

    def reject(self) -> None:
        """Forget that the settings were valid once."""
        with suppress(OSError):
            os.unlink(self._mark)

    def _has_project(self) -> bool:
        project = self._description.get("project")
        if not project:
            return True
        if folder := self._given.get(project["setting"]):
            return os.path.isfile(f"{folder}/{project['file']}")
        return find_in_project(project["file"], borders=project["borders"]) is not None

    def _is_accepted(self) -> bool:
        with suppress(OSError):
            status = os.lstat(self._mark)
            return os.name == "posix" and stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        return False


def choose_tools(description: Mapping[str, Any], choices: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the tools of a server whose settings choose these values, each of which is known."""
    places = [description["choices"][name][value] for name, value in choices.items()]
    return [tool for place, tool in enumerate(description["tools"]) if all(place in its for its in places)]


def _read_description(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            description = json.load(file)
        # ``importlib.metadata`` takes far longer; nothing here raises if a folder is missing.
        folder = next((it for it in sys.path if os.path.isfile(f"{it}/mcp/__init__.py")), "")
        is_installed = os.path.isdir(f"{folder}/mcp-{description['mcp']}.dist-info")
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return description if is_installed else {}


def answer_while_loading(work: Callable[[], ResultT], greeting: Greeting) -> tuple[ResultT, Heard]:
    """Do ``work`` and return its result, while a thread answers the first requests; what it read is returned too.

    Stdin is read and stdout written only if both are pipes or sockets, which can be left at any time, and if stdout
    takes each answer whole: in non-blocking mode it would take what it has room for.
    """
    if not (_is_watchable(0) and _is_watchable(1) and os.get_blocking(1)):
        return work(), NOTHING_HEARD
    stopped, stop = os.pipe()
    data, answered = bytearray(), list[_RequestId]()
    thread = Thread(target=_converse, args=(greeting, stopped, data, answered), daemon=True)
    thread.start()
    try:
        result = work()
    finally:
        os.close(stop)
        thread.join()
        os.close(stopped)
    return result, Heard(bytes(data), tuple(answered))


def _converse(greeting: Greeting, stopped: int, data: bytearray, answered: list[_RequestId]) -> None:
    """Read and answer until ``stopped`` is closed at its other end, or the SDK has to answer."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(stopped, select.POLLIN)
    rest, sent = b"", 0
    with suppress(OSError):  # the client has left, as the server will find out
        while stopped not in dict(poll.poll()) and len(data) <= _PIPE_SIZE:
            chunk = os.read(0, _PIPE_SIZE)
            data += chunk
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                answer = greeting.answer(line)
                sent += -(-len(answer.line) // _PAGE) * _PAGE if answer else 0
                if answer is None or sent > _count_room():
                    return
                if answer.request_id is not None:
                    answered.append(answer.request_id)
                    os.write(1, answer.line)
            if not chunk:  # pragma: no cover - in a process: tests/wire/test_greetings.py
                return


def _count_room() -> int:
    """Return how many bytes stdout takes before anybody reads; more would block the process, and so its end (P3)."""
    import fcntl  # noqa: PLC0415 - it does not exist on Windows

    with suppress(AttributeError, OSError):  # another system than Linux, or a socket
        return fcntl.fcntl(1, fcntl.F_GETPIPE_SZ)  # less than usual for a user with very many pipes
    return _PIPE_SIZE


def _is_watchable(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return os.name == "posix" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))


def _parse(line: bytes) -> dict[str, Any]:
    """Return the object in ``line``, or an empty one if a strict reader objects to it."""
    try:
        reading = strict_json.read(line, max_depth=50)  # the SDK may not read many more levels
    except strict_json.NotJson:
        return {}
    is_sound = isinstance(reading.value, dict) and not reading.duplicate_keys and not reading.has_lone_surrogate
    return cast("dict[str, Any]", reading.value) if is_sound else {}


def _is_plain_client(info: object, capabilities: object) -> bool:
    """Return whether a client introduces itself by texts, and declares what it can do by objects and flags."""
    if not (isinstance(info, dict) and isinstance(capabilities, dict)):
        return False
    is_named = info.keys() >= {"name", "version"} and "icons" not in info
    extensions = capabilities.get("extensions", {})  # whose members may hold anything
    is_open = isinstance(extensions, dict) and all(isinstance(member, dict) for member in extensions.values())
    texts = all(isinstance(value, str) for value in info.values())
    return is_named and texts and is_open and _is_plain({**capabilities, "extensions": {}})


def _is_plain(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(member, bool) if name in _FLAGS else _is_plain(member) for name, member in value.items()
    )
