"""What goes through a channel, and what it makes of an end that has gone (P3)."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import anyio
import pytest

from task_core.server.transports.wire import Channel
from tests.core.listening import let_others_run
from tests.core.notes import DEADLINE

MUCH = os.urandom(1_000_000)


async def all_of(source: Channel, size: int) -> bytes:
    """Read until so many bytes have come."""
    data = b""
    with anyio.fail_after(DEADLINE):
        while len(data) < size:
            data += await source.read()
    return data


@pytest.mark.requirement("P3")
async def test_a_terminal_that_was_closed_is_the_end_of_the_input() -> None:
    controller, terminal = os.openpty()
    source = Channel(controller)
    os.close(terminal)
    assert await source.read() == b""
    os.close(controller)


@pytest.mark.requirement("TOOL-7")
async def test_more_than_a_pipe_holds_goes_through_while_the_other_end_reads() -> None:
    outgoing, incoming = os.pipe()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Channel(incoming).write, MUCH)
        assert await all_of(Channel(outgoing), len(MUCH)) == MUCH
    os.close(outgoing)
    os.close(incoming)


@pytest.mark.requirement("TOOL-7")
async def test_what_cannot_be_watched_is_written_and_read_all_the_same(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    channel = Channel(descriptor)
    await channel.write(MUCH)
    os.lseek(descriptor, 0, os.SEEK_SET)
    assert await all_of(channel, len(MUCH)) == MUCH
    assert await channel.read() == b""
    os.close(descriptor)


@pytest.mark.requirement("P3")
async def test_a_pipe_that_nobody_reads_any_more_is_closed_and_refuses_what_is_written() -> None:
    outgoing, incoming = os.pipe()
    sink = Channel(incoming)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sink.closed)
        os.close(outgoing)
    with pytest.raises(BrokenPipeError):
        await sink.write(b"x")
    os.close(incoming)


@pytest.mark.requirement("P3")
async def test_input_on_a_socket_that_goes_both_ways_is_not_its_end() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"x")
        with anyio.move_on_after(0) as scope:
            await Channel(ours.fileno()).closed()
        assert scope.cancelled_caught


@pytest.mark.requirement("P3")
async def test_closing_a_file_is_never_reported_by_the_channel(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    with anyio.move_on_after(0) as scope:
        await Channel(descriptor).closed()
    assert scope.cancelled_caught
    os.close(descriptor)


@pytest.mark.requirement("P3")
async def test_nothing_is_read_after_the_end() -> None:
    outgoing, incoming = os.pipe()
    os.write(incoming, b"x")
    source = Channel(outgoing)
    source.end()
    assert await source.read() == b""
    os.close(outgoing)
    os.close(incoming)


@pytest.mark.requirement("P3")
async def test_the_end_ends_a_wait_for_input() -> None:
    outgoing, incoming = os.pipe()
    source = Channel(outgoing)
    reading = asyncio.create_task(source.read())
    await anyio.wait_all_tasks_blocked()
    source.end()
    assert await reading == b""
    os.close(outgoing)
    os.close(incoming)


@pytest.mark.requirement("P1")
async def test_what_came_for_a_cancelled_read_is_not_lost() -> None:
    outgoing, incoming = os.pipe()
    source = Channel(outgoing)
    reading = asyncio.create_task(source.read())
    await anyio.wait_all_tasks_blocked()
    reading.cancel()
    os.write(incoming, b"a")
    with pytest.raises(asyncio.CancelledError):
        await reading
    await let_others_run(10)
    assert await source.read() == b"a"
    os.close(outgoing)
    os.close(incoming)
