"""What large requests leave behind in the memory of a server (TOOL-3)."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

import pytest
from pydantic import JsonValue

from task_core.server.memory import Footprint
from tests.wire.line_client import TOY, LineClient
from tests.wire.served import serving

MIB: Final = 2**20

SIZE: Final = 4 * MIB
"""Bytes of a large request: as many as the HTTP transport takes."""

TEXT: Final = "x" * (SIZE - 2_000)
MANY: Final[list[JsonValue]] = [f"{number:06}" for number in range(SIZE // 12)]

Send = Callable[[JsonValue], object]


@contextmanager
def on_stdio() -> Iterator[tuple[int, Send]]:
    with LineClient() as client:
        yield client.process.pid, lambda text: client.call("echo", text=text)


@contextmanager
def over_http() -> Iterator[tuple[int, Send]]:
    with serving(TOY) as served:
        yield served.process.pid, lambda text: served.call("echo", text=text)


def resident(process_id: int) -> int:
    """Return the bytes of memory that the process has in use."""
    pages = Path(f"/proc/{process_id}/statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.requirement("TOOL-3")
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have habits of their own")
@pytest.mark.parametrize(
    ("connect", "value", "most"),
    [
        pytest.param(on_stdio, TEXT, 4 * MIB, id="one text on stdio"),
        pytest.param(over_http, TEXT, 4 * MIB, id="one text over HTTP"),
        pytest.param(on_stdio, MANY, 24 * MIB, id="many texts on stdio"),
    ],
)
def test_large_requests_leave_little_behind_once_another_has_come(
    connect: Callable[[], AbstractContextManager[tuple[int, Send]]], value: JsonValue, most: int
) -> None:
    with connect() as (process_id, send):
        send("small")
        before = resident(process_id)
        for _ in range(4):
            send(value)
        for _ in range(3):
            send("small")
        assert resident(process_id) - before < most


class Library:
    """A C library that has neither of the two functions."""


@pytest.mark.requirement("TOOL-3")
@pytest.mark.parametrize("found", [ImportError, OSError, TypeError, Library])
def test_where_the_c_library_gives_nothing_back_requests_are_served_all_the_same(
    monkeypatch: pytest.MonkeyPatch, found: type
) -> None:
    def load(_: None) -> object:
        made = found()
        if isinstance(made, Exception):
            raise made
        return made

    monkeypatch.setattr(ctypes, "CDLL", load)
    footprint = Footprint()
    footprint.note(SIZE)
    footprint.note(1)
    footprint.clear(0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What the C library is asked for."""
    calls: list[tuple[str, ...]] = []

    class Noted:
        def __getattr__(self, name: str) -> Callable[..., None]:
            return lambda *arguments: calls.append((name, *map(str, arguments)))

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Noted())
    return calls


SETTING: Final = ("mallopt", "-3", str(MIB))
TRIM: Final = ("malloc_trim", "0")


@pytest.mark.requirement("TOOL-3")
def test_memory_is_given_back_once_and_not_while_the_last_request_is_large(asked: list[tuple[str, ...]]) -> None:
    footprint = Footprint()
    for size in (1, MIB - 1, MIB, SIZE, 1, 1):
        footprint.note(size)
        footprint.clear(0)
    assert asked == [SETTING, TRIM]


@pytest.mark.requirement("TOOL-3")
def test_memory_is_given_back_once_no_large_request_is_at_work(asked: list[tuple[str, ...]]) -> None:
    footprint = Footprint()
    with footprint.during(SIZE):
        with footprint.during(1):
            pass
        assert asked == [SETTING]
    assert asked == [SETTING, TRIM]
