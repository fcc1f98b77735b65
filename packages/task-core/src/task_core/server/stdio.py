"""The stdio transport: strict lines in, whole lines out, and an end in time (P1, P3).

It needs no thread where the system can watch a pipe. The SDK's own transport passes every request through three
threads, and does not answer what it cannot parse.
"""

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import (
    INVALID_REQUEST,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from task_core.server.app import TaskServer
from task_core.server.greeting import NOTHING_HEARD, Heard
from task_core.server.wire import WAITERS, Channel, Incoming, claim_standard_streams, read_message, refusal, stop_signal

__all__ = ["MAX_LINE", "run_stdio"]

MAX_LINE: Final = 4 * 1024 * 1024
"""Bytes allowed on one line (TOOL-3, P1)."""

_CALLS: Final = 1.1
"""Seconds that calls already read may take at the end; everything together is well under 2 (CLI-5, P3)."""

_MAX_UNANSWERED: Final = 10_000
"""Requests that may wait for their answer before reading pauses, so that a client that never reads is not served."""


def run_stdio(server: TaskServer, heard: Heard = NOTHING_HEARD) -> None:
    """Serve on stdin and stdout until stdin ends, stdout is closed, or SIGTERM, SIGINT or SIGHUP comes.

    What was ``heard`` before comes first; its answered requests are not answered again.

    What was read by then is still carried out and answered, for 1.4 seconds at most. Streams of notifications end at
    once. Before the last calls are abandoned, ``server`` is closed, which must end their waits.
    """
    anyio.run(_serve, server, heard)


async def _serve(server: TaskServer, heard: Heard) -> None:
    # Neither stream has a limit of its own: the number of requests that wait for their answer bounds both.
    to_server, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
    outbox, from_server = anyio.create_memory_object_stream[SessionMessage](math.inf)
    source, sink = map(Channel, claim_standard_streams())
    connection = _Connection(source, sink, to_server, outbox, heard)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.end_after, stop_signal)
        tasks.start_soon(connection.end_after, sink.closed)
        tasks.start_soon(connection.write, from_server)
        tasks.start_soon(connection.read, server, tasks.cancel_scope)
        await server.sdk.run(inbox, outbox, server.sdk.create_initialization_options())
        await connection.unanswered.fall_below(1)
        tasks.cancel_scope.cancel()


class _Connection:
    """The client's side of the server: what its lines say goes in, what the server says comes out as lines."""

    def __init__(
        self,
        source: Channel,
        sink: Channel,
        to_server: MemoryObjectSendStream[SessionMessage | Exception],
        outbox: MemoryObjectSendStream[SessionMessage],
        heard: Heard,
    ) -> None:
        self.unanswered = _Count()
        self._source = source
        self._sink = sink
        self._to_server = to_server
        self._outbox = outbox
        self._heard = heard
        self._answered = list(heard.answered)
        self._reading = anyio.CancelScope()

    async def end_after(self, event: Callable[[], Awaitable[None]]) -> None:
        """Read no more lines once ``event`` has happened."""
        await event()
        self._reading.cancel()

    async def read(self, server: TaskServer, connection: anyio.CancelScope) -> None:
        """Read to the end, wait for the answers, and make sure that ``connection`` then ends in time."""
        with self._to_server:
            with self._reading:
                await self._read_lines()
            server.end_streams()
            with anyio.move_on_after(_CALLS):
                await self.unanswered.fall_below(1)
            server.close()
            with anyio.move_on_after(WAITERS):
                await self.unanswered.fall_below(1)
        await anyio.sleep(0.1)  # for everything else
        connection.cancel()

    async def write(self, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Write what the server says, all that is ready in one go."""
        await self._send(self._heard.unsent)
        async for first in messages:
            waiting = messages.statistics().current_buffer_used
            batch = [first, *(messages.receive_nowait() for _ in range(waiting))]
            news = [item.message for item in batch if not self._is_repeated(item.message)]
            lines = [message.model_dump_json(by_alias=True, exclude_unset=True) for message in news]
            await self._send("\n".join([*lines, ""]).encode())
            answers = [item for item in batch if isinstance(item.message, JSONRPCResponse | JSONRPCError)]
            self.unanswered.change(-len(answers))

    async def _send(self, data: bytes) -> None:
        try:
            await self._sink.write(data)
        except OSError:
            self._reading.cancel()  # nobody listens; calls already read are carried out all the same

    def _is_repeated(self, message: JSONRPCMessage) -> bool:
        # No earlier answer was an error, and a line with a fault is refused even if it repeats an id.
        # The acknowledgement is the first that is said to a listener; a response ends its stream later.
        answered = message.id if isinstance(message, JSONRPCResponse) else _find_request_id(message)
        if answered is None or answered not in self._answered:
            return False
        self._answered.remove(answered)
        return True

    async def _read_lines(self) -> None:
        line = bytearray()
        async for chunk in self._chunks():
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                await self._take(line + end)
                line.clear()
            line += rest
            del line[MAX_LINE + 1 :]  # a line that is too long is refused anyway
        await self._take(line)

    async def _chunks(self) -> AsyncIterator[bytes]:
        yield self._heard.data
        while chunk := await self._source.read():
            yield chunk

    async def _take(self, line: bytearray) -> None:
        if not line or line.isspace():
            return
        is_too_long = len(line) > MAX_LINE
        refused = refusal(INVALID_REQUEST, f"Send messages of at most {MAX_LINE:,} bytes.") if is_too_long else None
        message = refused or read_message(bytes(line))
        if message is None:
            return
        if isinstance(message, Incoming):
            metadata = ServerMessageMetadata(request_context=message.offence, on_request_unanswered=self._forget)
            self._to_server.send_nowait(SessionMessage(message.message, metadata))
        else:
            self._outbox.send_nowait(SessionMessage(message))
        if isinstance(message, JSONRPCError) or isinstance(message.message, JSONRPCRequest):
            self.unanswered.change(+1)
            await self.unanswered.fall_below(_MAX_UNANSWERED)

    async def _forget(self) -> None:
        self.unanswered.change(-1)


def _find_request_id(message: JSONRPCMessage) -> RequestId | None:
    """Return the id of the request that ``message`` acknowledges, if that is what it does."""
    if isinstance(message, JSONRPCNotification) and message.method == "notifications/subscriptions/acknowledged":
        request_id: RequestId = (message.params or {})["_meta"][SUBSCRIPTION_ID_META_KEY]
        return request_id
    return None


class _Count:
    """A number that tasks can wait on."""

    def __init__(self) -> None:
        self.number = 0
        self._changed = anyio.Event()

    def change(self, difference: int) -> None:
        self.number += difference
        self._changed.set()
        self._changed = anyio.Event()

    async def fall_below(self, limit: int) -> None:
        while self.number >= limit:
            await self._changed.wait()
