"""What calls leave behind in the memory of a server: nothing that grows with their number (TOOL-3)."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from pydantic import JsonValue

from tests.wire.line_client import TOY, LineClient
from tests.wire.served import serving

MIB: Final = 2**20

LARGE: Final = "x" * (4 * MIB - 2_000)
"""A text that makes a request as large as one may be."""

MANY: Final[list[JsonValue]] = [f"{number:06}" for number in range(199_000)]
"""Nearly as many texts as a request may have."""

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
@pytest.mark.skipif(platform.system() != "Linux", reason="only Linux tells the memory of another process")
@pytest.mark.parametrize(
    ("connect", "value", "calls", "most"),
    [
        pytest.param(on_stdio, "small", 500, 2 * MIB, id="small requests on stdio"),
        pytest.param(over_http, "small", 250, 2 * MIB, id="small requests over HTTP", marks=pytest.mark.long),
        pytest.param(on_stdio, LARGE, 8, 8 * MIB, id="large texts on stdio"),
        pytest.param(over_http, LARGE, 8, 8 * MIB, id="large texts over HTTP", marks=pytest.mark.long),
        pytest.param(on_stdio, MANY, 4, 8 * MIB, id="many texts on stdio"),
    ],
)
def test_memory_does_not_grow_with_the_number_of_calls(
    connect: Callable[[], AbstractContextManager[tuple[int, Send]]], value: JsonValue, calls: int, most: int
) -> None:
    with connect() as (process_id, send):
        sizes = []
        for _ in range(4):
            for _ in range(calls):
                send(value)
            sizes.append(resident(process_id))
        # What the allocator keeps for itself comes once; what is lost is lost in every round.
        assert min(after - before for before, after in pairwise(sizes)) < most
