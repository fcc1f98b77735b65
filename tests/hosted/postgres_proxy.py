"""A proxy between stores and PostgreSQL that reads their messages: it counts them, and cuts or refuses as a test plans.

Steps are numbered over all connections: one before and one after each message of a client, and one before each message
of the server. What belongs to connecting is no step.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from tests.core.notes import open_folder

__all__ = ["Cut", "Fate", "Moment", "Plan", "Proxy", "Refusal", "Step", "cut_at", "open_proxy", "refuse"]

_NAME: Final = ".s.PGSQL.5432"
"""The name of the socket in the folder that an address names."""

_CANCEL: Final = 80877102
"""The code of a request to cancel what another connection does."""

_LATE_SECONDS: Final = 0.1
"""Seconds that a late message takes if nobody connects meanwhile."""


class Moment(Enum):
    """The place of a message when a step is taken."""

    BEFORE = auto()
    """the client has sent it, and the server has not got it"""
    AFTER = auto()
    """the server gets it in any case"""
    ANSWER = auto()
    """the server has sent it, and the client has not got it"""


class Step(NamedTuple):
    """One step: its number, its moment, the letter of the message, and which connection it is on."""

    number: int
    moment: Moment
    kind: str
    text: str
    """the statement that a client's message is about, or what the server says that it did"""
    connection: int


@dataclass(frozen=True)
class Cut:
    """Cut the connection."""

    meanwhile: Callable[[], object] | None = None
    """is done once the server has ended the session, and before the client notices"""
    is_late: bool = False
    """whether the message still reaches the server, a moment after the client has noticed"""


@dataclass(frozen=True)
class Refusal:
    """Answer with an error, as a server would, and let the server see nothing of it."""

    state: str
    is_fatal: bool = False


Fate = Cut | Refusal | None
"""The treatment of a message."""

Plan = Callable[[Step], Fate]
"""Decides the treatment of each step's message."""


class _Message(NamedTuple):
    kind: str
    data: bytes
    """all of it"""

    @property
    def content(self) -> bytes:
        return self.data[5:]


def _messages(stream: BinaryIO) -> Iterator[_Message]:
    """Yield messages until the stream ends; its last piece is dropped if it is no whole message."""
    with suppress(OSError, ValueError):
        while len(head := stream.read(5)) == 5:
            rest = stream.read(struct.unpack_from("!i", head, 1)[0] - 4)
            yield _Message(chr(head[0]), head + rest)


@dataclass
class _Link:
    """One connection of a client, and the one to the server that serves it."""

    client: socket.socket
    server: socket.socket
    is_ready: bool = False
    """whether the server has taken the client in"""
    is_cut: bool = False
    is_refusing: bool = False
    """whether the client's messages are dropped, as a server does after an error"""
    refusal: Refusal | None = None
    """what the server's next answer ends with"""
    answers: int = 0
    """how often the server was ready again"""
    statements: dict[bytes, str] = field(default_factory=dict)
    """what was prepared, by name"""
    text: str = ""
    """the statement that is spoken of"""
    ended: threading.Event = field(default_factory=threading.Event)
    """set once the server has ended the session"""


class Proxy:
    """Leads to the server with this socket, and lets ``plan`` decide about every step."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.folder = folder
        self.plan: Plan = _pass
        self.exchanges = 0
        """how often clients have waited for an answer"""
        self.statements: list[str] = []
        """what clients have let the server carry out"""
        self.hear: Callable[[str, str, bytes], object] = lambda *_: None
        """hears each message of a client: its letter, the statement that it is about, and its content"""
        self.connections = 0
        """how many clients have connected"""
        self.running = threading.Event()
        """cleared while the server is as good as frozen: it takes clients, and says nothing"""
        self.running.set()
        self._server = server / _NAME
        self._numbers = count(1)
        self._guard = threading.Lock()
        self._links: list[_Link] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / _NAME))
        self._listener.listen(64)

    def url(self, address: str) -> str:
        """Return the address that leads to the same database through this proxy."""
        return address.replace(str(self._server.parent), str(self.folder))

    def forget(self) -> None:
        """Pass everything on, and count from nothing again."""
        self.running.set()
        with self._guard:
            self.plan = _pass
            self._numbers = count(1)
            self.exchanges = 0
            self.statements.clear()

    def run(self) -> None:
        """Serve clients until ``close``."""
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def close(self) -> None:
        """Take no more clients, and end every connection."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()

    def cut_all(self) -> None:
        """End every connection."""
        with self._guard:
            links = [*self._links]
            self._links.clear()
        for link in links:
            _end(link.client)
            _end(link.server)

    def _serve(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(str(self._server))
        except OSError:
            client.close()
            return
        link = _Link(client, server)
        with self._guard:
            self._links.append(link)
        threading.Thread(target=self._pass_answers, args=(link,), daemon=True).start()
        with client.makefile("rb") as stream:
            start = stream.read(8)
            length, code = struct.unpack("!ii", start) if len(start) == 8 else (8, 0)
            self._forward(server, start + stream.read(length - 8))
            if code != _CANCEL:
                for message in _messages(stream):
                    self._pass_on(link, message)
                if not link.is_cut:
                    _end(server)
            link.ended.wait()
        client.close()
        server.close()

    def _pass_on(self, link: _Link, message: _Message) -> None:
        """Pass a message of the client on to the server."""
        if link.is_cut:
            return
        if not link.is_ready or message.kind == "X":
            self._forward(link.server, message.data)
            return
        _note(link, message)
        self.hear(message.kind, link.text, message.content)
        if not link.is_refusing and self._is_stopped(link, message):
            return
        if message.kind in "SQ":
            self.exchanges += 1
            link.is_refusing = False
        if not link.is_refusing:
            fate = self._decide(link, Moment.AFTER, message, link.text)
            if isinstance(fate, Cut):
                link.is_cut = True  # before the server can answer: the client would go on
            self._forward(link.server, message.data)
            if isinstance(fate, Cut):
                self._cut(link, fate)

    def _is_stopped(self, link: _Link, message: _Message) -> bool:
        """Return whether the server must not get this message, or not yet."""
        fate = self._decide(link, Moment.BEFORE, message, link.text)
        if isinstance(fate, Cut):
            self._cut(link, fate, message.data if fate.is_late else b"")
        elif isinstance(fate, Refusal):
            self._refuse(link, fate)
        elif message.kind in "EQ":
            self.statements.append(link.text)
        return isinstance(fate, Cut)

    def _pass_answers(self, link: _Link) -> None:
        """Pass what the server says on to the client."""
        with link.server.makefile("rb") as stream:
            for message in _messages(stream):
                if link.is_cut:
                    continue
                if not link.is_ready:
                    link.is_ready = message.kind == "Z"
                    self._forward(link.client, message.data)
                else:
                    self._pass_answer(link, message)
        link.ended.set()
        if not link.is_cut:
            _end(link.client)

    def _pass_answer(self, link: _Link, message: _Message) -> None:
        data = self._end_answer(link, message.data) if message.kind == "Z" else message.data
        text = message.content[:-1].decode() if message.kind == "C" else ""
        if isinstance(fate := self._decide(link, Moment.ANSWER, message, text), Cut):
            link.is_cut = True  # this thread has to read on, until the server has ended the session
            threading.Thread(target=self._cut, args=(link, fate), daemon=True).start()
            return
        self._forward(link.client, data)

    def _end_answer(self, link: _Link, data: bytes) -> bytes:
        link.answers += 1
        refusal, link.refusal = link.refusal, None
        return _error(refusal) + b"Z\0\0\0\5E" if refusal else data

    def _refuse(self, link: _Link, refusal: Refusal) -> None:
        if refusal.is_fatal:
            link.is_cut = True
            self._forward(link.client, _error(refusal))
            _end(link.server)
            _end(link.client)
        else:
            link.is_refusing, link.refusal = True, refusal

    def _cut(self, link: _Link, fate: Cut, late: bytes = b"") -> None:
        link.is_cut = True
        if late:
            _end(link.client)
            self._wait_for_another(link)
            self._forward(link.server, late)
        with suppress(OSError):
            link.server.shutdown(socket.SHUT_WR)
        link.ended.wait()
        if fate.meanwhile:
            fate.meanwhile()
        _end(link.client)

    def _wait_for_another(self, link: _Link) -> None:
        """Return once a later connection had an answer to what it asked, or after a moment."""
        later = self._links.index(link) + 1
        end = threading.Event()
        for _ in range(20):
            if any(other.answers for other in self._links[later:]) or end.wait(_LATE_SECONDS / 20):
                return

    def _decide(self, link: _Link, moment: Moment, message: _Message, text: str) -> Fate:
        with self._guard:
            number = next(self._numbers)
        return self.plan(Step(number, moment, message.kind, text, id(link)))

    def _forward(self, target: socket.socket, data: bytes) -> None:
        self.running.wait()
        with suppress(OSError):
            target.sendall(data)


def _pass(_step: Step) -> Fate:
    return None


def _end(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


def _note(link: _Link, message: _Message) -> None:
    """Keep in mind which statement the client speaks of."""
    if message.kind == "P":
        name, text, _ = message.content.split(b"\0", 2)
        link.text = link.statements[name] = text.decode()
    elif message.kind == "B":
        _, name, _ = message.content.split(b"\0", 2)
        link.text = link.statements[name]
    elif message.kind == "Q":
        link.text = message.content[:-1].decode()
    elif message.kind == "S":
        link.text = ""


def _error(refusal: Refusal) -> bytes:
    severity = b"FATAL" if refusal.is_fatal else b"ERROR"
    fields = {b"S": severity, b"V": severity, b"C": refusal.state.encode(), b"M": b"planned by a test"}
    content = b"".join(code + value + b"\0" for code, value in fields.items()) + b"\0"
    return b"E" + struct.pack("!i", len(content) + 4) + content


def cut_at(number: int, cut: Cut | None = None, *, kinds: str = "") -> tuple[Plan, list[Step]]:
    """Return a plan that cuts once, at this step among those of ``kinds``, and the list that will hold the step."""
    done: list[Step] = []
    numbers = count(1)

    def plan(step: Step) -> Fate:
        if done or (kinds and step.kind not in kinds) or next(numbers) < number:
            return None
        done.append(step)
        return cut or Cut()

    return plan, done


def refuse(text: str, refusal: Refusal, *, passed: int = 0, times: int = 1) -> tuple[Plan, list[Step]]:
    """Return a plan that refuses statements with ``text``, after some that are ``passed`` on, and the list of them."""
    done: list[Step] = []
    numbers = count()

    def plan(step: Step) -> Fate:
        if step.moment is not Moment.BEFORE or step.kind not in "EQ" or text not in step.text:
            return None
        if not passed <= next(numbers) < passed + times:
            return None
        done.append(step)
        return refusal

    return plan, done


@contextmanager
def open_proxy(server: Path) -> Iterator[Proxy]:
    """Yield a proxy to the server with its socket in this folder; after the block nothing of it is left."""
    with open_folder() as folder:
        proxy = Proxy(folder, server)
        threading.Thread(target=proxy.run, daemon=True).start()
        try:
            yield proxy
        finally:
            proxy.close()
