"""A server on the pipes of this process: what it answers, what it does not, and its end (P1, P3)."""

from __future__ import annotations

import fcntl
import json
import os
import select
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from pydantic import BaseModel

from task_core.bootstrap import find_parent
from task_core.fields import Arguments
from task_core.server.app import TaskServer
from task_core.server.transports import stdio, wire
from task_core.server.transports.greeting import NOTHING_HEARD, Greeting, Heard, answer_while_loading
from task_core.server.transports.stdio import run_stdio
from task_core.warning_list import WarningList
from tests.core.command_line import command_line
from tests.core.notes import DEADLINE
from tests.core.shelf import Shelf
from tests.wire.greetings import description_of
from tests.wire.line_client import ENVELOPE, INITIALIZE

Message = dict[str, Any]


@contextmanager
def standard_streams(source: int, sink: int) -> Iterator[None]:
    """Let descriptors be stdin and stdout for a while."""
    before = os.dup(0), os.dup(1)
    os.dup2(source, 0)
    os.dup2(sink, 1)
    try:
        with command_line():
            yield
    finally:
        for number, descriptor in enumerate(before):
            os.dup2(descriptor, number)
            os.close(descriptor)


def line(method: str, params: Message, request_id: object = None) -> bytes:
    identified = {} if request_id is None else {"id": request_id}
    return json.dumps({"jsonrpc": "2.0", **identified, "method": method, "params": params}).encode() + b"\n"


def pipe_with(data: bytes) -> int:
    """Return the end of a pipe from which just ``data`` is read."""
    outgoing, incoming = os.pipe()
    os.write(incoming, data)
    os.close(incoming)
    return outgoing


def said(server: TaskServer, data: bytes, heard: Heard = NOTHING_HEARD) -> list[Message]:
    """Return what a server says to a client that says ``data`` and then no more."""
    source = pipe_with(data)
    outgoing, sink = os.pipe()
    with standard_streams(source, sink):
        run_stdio(server, heard)
    answers = os.read(outgoing, 65_536).splitlines()
    for descriptor in (source, outgoing, sink):
        os.close(descriptor)
    return [json.loads(answer) for answer in answers]


class Nothing(Arguments):
    """No arguments."""


class Freed(BaseModel):
    """That a call could end."""

    freed: bool = True


class Holder:
    """A server whose tool begins and does not end until it may."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.server = TaskServer("holder", title="Holder", version="1", instructions="", warnings=WarningList())

        @self.server.tool(title="Hold")
        def hold(_: Nothing) -> Freed:
            """Wait."""
            self.begun.set()
            return Freed(freed=self.may_end.wait(DEADLINE))


HELLO = line("initialize", INITIALIZE, "hello") + line("notifications/initialized", {})
HOLD: Message = {"name": "hold", "arguments": {}}


def test_a_client_that_says_nothing_gets_no_answer_and_the_server_ends() -> None:
    source, (outgoing, sink) = pipe_with(b""), os.pipe()
    with standard_streams(source, sink):
        run_stdio(Shelf().server)
    os.set_blocking(outgoing, False)
    with pytest.raises(BlockingIOError):  # a copy of the other end is still open
        os.read(outgoing, 1)
    for descriptor in (source, outgoing, sink):
        os.close(descriptor)


@pytest.mark.requirement("P1", "ERR-3")
def test_a_line_is_refused_or_passed_over_and_the_next_is_answered() -> None:
    lines = [b"\n", b" \n", b"not JSON\n", b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}\n', line("ping", {}, 2)]
    answers = said(Shelf().server, HELLO + b"".join(lines))
    assert [answer.get("id") for answer in answers if "result" in answer] == ["hello", 2]
    assert [answer["error"]["code"] for answer in answers if "error" in answer] == [-32700]


@pytest.mark.requirement("P1", "ERR-3")
def test_a_line_that_is_too_long_is_refused_with_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_MESSAGE", 1_000)
    lines = [line("ping", {"x": "x" * 5_000}, 1), line("ping", {"x": "x" * 900}, 2)]
    answers = said(Shelf().server, HELLO + b"".join(lines))
    assert {answer["id"]: answer.get("error", {}).get("code") for answer in answers} == {
        "hello": None,
        1: -32600,
        2: None,
    }


@pytest.mark.requirement("P1", "TOOL-7")
def test_a_cancelled_call_makes_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "_MAX_UNANSWERED", 3)
    holder, data = Holder(), HELLO
    for number in range(3):
        data += line("tools/call", HOLD, number) + line("notifications/cancelled", {"requestId": number})
    data += b"".join(line("ping", {}, number) for number in range(3, 9))
    answers = said(holder.server, data)
    holder.may_end.set()
    assert [answer["id"] for answer in answers] == ["hello", *range(3, 9)]


@pytest.mark.requirement("P1", "TOOL-7")
def test_reading_goes_on_once_fewer_calls_wait_for_their_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "_MAX_UNANSWERED", 3)
    holder = Holder()
    holder.may_end.set()
    answers = said(holder.server, HELLO + b"".join(line("tools/call", HOLD, number) for number in range(10)))
    assert {answer["id"] for answer in answers} == {"hello", *range(10)}


class Counter:
    """A server whose calls go on until so many are under way, and which remembers the most at a time."""

    def __init__(self, enough: int) -> None:
        self.most = 0
        calls, lock, may_end = set[int](), threading.Lock(), threading.Event()
        self.server = TaskServer("counter", title="", version="1", instructions="", warnings=WarningList())

        @self.server.tool(title="Count")
        def count(_: Nothing) -> Freed:
            """Count."""
            with lock:
                calls.add(threading.get_ident())
                self.most = max(self.most, len(calls))
                if len(calls) == enough:
                    may_end.set()
            freed = may_end.wait(DEADLINE)
            with lock:
                calls.remove(threading.get_ident())
            return Freed(freed=freed)


@pytest.mark.requirement("P1", "S1")
def test_reading_pauses_while_the_requests_without_an_answer_have_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "_MAX_WAITING", 5_000)
    counter = Counter(enough=3)
    calls = [line("tools/call", {"name": "count", "arguments": {}, "more": "x" * 2_000}, number) for number in range(9)]
    answers = said(counter.server, HELLO + b"".join(calls))
    assert {answer["id"] for answer in answers} == {"hello", *range(9)}
    assert counter.most == 3


@pytest.mark.requirement("P3")
def test_a_server_whose_parent_is_gone_ends_though_its_input_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "_PARENT_SECONDS", 0.01)
    outgoing, incoming = os.pipe()
    answers, sink = os.pipe()
    os.write(incoming, HELLO)
    with standard_streams(outgoing, sink):
        run_stdio(Shelf().server, parent=os.getpid())  # which is the parent of others only
    assert json.loads(os.read(answers, 65_536))["id"] == "hello"
    for descriptor in (outgoing, incoming, answers, sink):
        os.close(descriptor)


@pytest.mark.requirement("P3")
def test_a_client_that_reads_nothing_does_not_keep_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "_CALLS", 0)
    source, (outgoing, sink) = pipe_with(HELLO), os.pipe()
    os.set_blocking(sink, False)
    with suppress(BlockingIOError):
        while os.write(sink, b"x"):
            pass
    os.set_blocking(sink, True)
    with standard_streams(source, sink):
        run_stdio(Shelf().server)
    assert set(os.read(outgoing, 1_000_000)) == {ord("x")}
    for descriptor in (source, outgoing, sink):
        os.close(descriptor)


@pytest.mark.requirement("P3")
def test_calls_of_a_client_that_has_left_are_carried_out() -> None:
    holder = Holder()
    holder.may_end.set()
    source, (outgoing, sink) = pipe_with(b""), os.pipe()
    os.close(outgoing)
    with standard_streams(source, sink):
        run_stdio(holder.server, Heard(HELLO + line("tools/call", HOLD, 1)))
    os.close(source)
    os.close(sink)
    assert holder.begun.is_set()


@pytest.mark.requirement("START-1", "RES-6")
def test_a_stream_that_was_acknowledged_before_is_not_acknowledged_again() -> None:
    listen = line("subscriptions/listen", {"_meta": ENVELOPE, "notifications": {"toolsListChanged": True}}, "stream")
    answers = said(Shelf().server, b"", Heard(b"not JSON\n" + listen, ("stream",)))
    assert answers[0]["error"]["code"] == -32700
    assert [answer.get("id") for answer in answers[1:]] == ["stream"]


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(
    ("parent", "session", "found"),
    [(7, 1, 7), (7, os.getpid(), None), (1, 1, None), (0, 1, None)],
    ids=["a child", "a session of its own", "below the first process", "in a container"],
)
def test_a_server_watches_its_parent_unless_it_has_its_own_session_or_a_system_for_a_parent(
    parent: int, session: int, found: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getppid", lambda: parent)
    monkeypatch.setattr(os, "getsid", lambda _: session)
    assert find_parent() == found


@pytest.mark.requirement("START-1")
def test_nobody_is_greeted_whose_stdin_cannot_be_left_at_any_time() -> None:
    with open(os.devnull, "r+b") as nothing, standard_streams(nothing.fileno(), nothing.fileno()):
        assert answer_while_loading(lambda: "loaded", Greeting(GREETING)) == ("loaded", NOTHING_HEARD)


@pytest.mark.requirement("START-1")
def test_a_silent_client_does_not_delay_the_start() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, standard_streams(ours.fileno(), ours.fileno()):
        assert answer_while_loading(lambda: "loaded", Greeting(GREETING)) == ("loaded", NOTHING_HEARD)


def end_threads_after(before: list[threading.Thread]) -> None:
    """Wait for the threads that have begun since."""
    for thread in threading.enumerate():
        if thread not in before:
            thread.join(DEADLINE)


@pytest.mark.requirement("START-1")
def test_a_client_is_answered_until_it_says_what_only_the_sdk_can_answer() -> None:
    ours, theirs = socket.socketpair()
    theirs.settimeout(DEADLINE)
    before = threading.enumerate()

    def load() -> Message:
        theirs.sendall(HELLO)
        answer: Message = json.loads(theirs.makefile("rb").readline())
        theirs.sendall(b"not JSON\n")
        end_threads_after(before)
        return answer

    with ours, theirs, standard_streams(ours.fileno(), ours.fileno()):
        answer, heard = answer_while_loading(load, Greeting(GREETING))
    assert answer["id"] == "hello"
    assert heard == Heard(HELLO + b"not JSON\n", ("hello",))


@pytest.mark.requirement("START-1", "P3")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how large a pipe is to be")
def test_what_a_small_pipe_may_not_hold_is_left_to_the_sdk() -> None:
    source, (outgoing, sink) = pipe_with(HELLO + line("ping", {}, 1) + line("ping", {}, 2)), os.pipe()
    fcntl.fcntl(sink, fcntl.F_SETPIPE_SZ, select.PIPE_BUF)
    before = threading.enumerate()

    def load() -> str:
        end_threads_after(before)
        return "loaded"

    with standard_streams(source, sink):
        _, heard = answer_while_loading(load, Greeting(GREETING))
    assert heard.answered == ("hello",)
    for descriptor in (source, outgoing, sink):
        os.close(descriptor)


@pytest.mark.requirement("START-1")
def test_a_client_whose_connection_broke_has_said_nothing() -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(b"what nobody reads")
    theirs.close()
    before = threading.enumerate()

    def load() -> str:
        end_threads_after(before)
        return "loaded"

    with ours, standard_streams(ours.fileno(), ours.fileno()):
        assert answer_while_loading(load, Greeting(GREETING)) == ("loaded", NOTHING_HEARD)


@pytest.mark.requirement("START-1")
def test_nobody_is_greeted_on_a_stdout_that_may_take_half_an_answer() -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    before = threading.enumerate()

    def load() -> str:
        theirs.sendall(HELLO + b"not JSON\n")  # after which a greeting would end
        end_threads_after(before)
        return "loaded"

    with ours, theirs, standard_streams(ours.fileno(), ours.fileno()):
        assert answer_while_loading(load, Greeting(GREETING)) == ("loaded", NOTHING_HEARD)


GREETING = description_of(Shelf().server.sdk)
