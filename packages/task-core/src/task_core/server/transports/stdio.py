"""The stdio transport: strict lines in, whole lines out, and an end in time (P1, P3).

It needs no thread where the system can watch a pipe. The SDK's own transport passes every request through three
threads, and does not answer what it cannot parse.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
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
from typing_extensions import override

from task_core.server.app import TaskServer
from task_core.server.transports.greeting import NOTHING_HEARD, Heard
from task_core.server.transports.wire import (
    WAITERS,
    Channel,
    Incoming,
    claim_standard_streams,
    read_message,
    refusal,
    stop_signal,
)

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
    source, sink = map(Channel, claim_standard_streams())
    connection = _Connection(source, sink, server, heard)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.end_after, stop_signal)
        tasks.start_soon(connection.end_after, connection.sink.closed)
        tasks.start_soon(connection.write)
        tasks.start_soon(connection.cut, tasks.cancel_scope)
        await server.sdk.run(_Inbox(connection), _Outbox(connection), server.sdk.create_initialization_options())
        await connection.unanswered.fall_below(1)
        tasks.cancel_scope.cancel()


class _Connection:
    """The client's side of the server: what its lines say goes in, what the server says comes out as lines."""

    def __init__(self, source: Channel, sink: Channel, server: TaskServer, heard: Heard) -> None:
        self.sink = sink
        self.unanswered = _Count()
        self._source = source
        self._server = server
        self._answered = list(heard.answered)
        self._unsent = heard.unsent
        self._lines = deque[bytes | bytearray]()
        """lines that were read but not taken yet"""
        self._rest = bytearray()
        """the beginning of the next line"""
        self._is_cut = False
        self._split(heard.data)
        self._messages: list[JSONRPCMessage] = []
        """messages from the server that are not written yet"""
        self._has_messages = asyncio.Event()
        self._has_ended = asyncio.Event()

    async def end_after(self, event: Callable[[], Awaitable[None]]) -> None:
        """Read no more lines once ``event`` has happened."""
        await event()
        self._end()

    async def next_message(self) -> SessionMessage | None:
        """Return the next message for the SDK; at the end, once calls were answered or had their time, return None."""
        while (line := await self._next_line()) is not None:
            message = None if line.isspace() else self._take(line)
            if message is not None:
                return message
        if not self._has_ended.is_set():
            self._server.end_streams()
            with anyio.move_on_after(_CALLS):
                await self.unanswered.fall_below(1)
            self._server.close()
            with anyio.move_on_after(WAITERS):
                await self.unanswered.fall_below(1)
            self._has_ended.set()
        return None

    async def cut(self, connection: anyio.CancelScope) -> None:
        """Make sure that ``connection`` ends in time once there are no more messages."""
        await self._has_ended.wait()
        await anyio.sleep(0.1)  # for everything else
        connection.cancel()

    def say(self, message: JSONRPCMessage) -> None:
        """Let the client have a message from the server."""
        self._messages.append(message)
        self._has_messages.set()

    async def write(self) -> None:
        """Write what the server says, all that is ready in one go."""
        await self._send(self._unsent)
        while await self._has_messages.wait():
            self._has_messages.clear()
            batch, self._messages = self._messages, list[JSONRPCMessage]()
            news = [message for message in batch if not self._is_repeated(message)]
            lines = [message.model_dump_json(by_alias=True, exclude_unset=True) for message in news]
            await self._send("\n".join([*lines, ""]).encode())
            self.unanswered.change(-sum(isinstance(message, JSONRPCResponse | JSONRPCError) for message in batch))

    def _end(self) -> None:
        self._is_cut = True
        self._source.end()
        self.unanswered.change(0)  # nothing waits for room any more

    async def _send(self, data: bytes) -> None:
        try:
            await self.sink.write(data)
        except OSError:
            self._end()  # nobody listens; calls already read are carried out all the same

    def _is_repeated(self, message: JSONRPCMessage) -> bool:
        # No earlier answer was an error, and a line with a fault is refused even if it repeats an id.
        # The acknowledgement is the first that is said to a listener; a response ends its stream later.
        if not self._answered:
            return False
        answered = message.id if isinstance(message, JSONRPCResponse) else _find_request_id(message)
        if answered is None or answered not in self._answered:
            return False
        self._answered.remove(answered)
        return True

    async def _next_line(self) -> bytes | bytearray | None:
        while self.unanswered.number >= _MAX_UNANSWERED and not self._source.has_ended:
            await self.unanswered.changed()
        while not self._lines and not self._source.has_ended:
            chunk = await self._source.read()
            self._split(chunk if chunk or self._is_cut else b"\n")  # the last line of a file may lack its end
        return self._lines.popleft() if self._lines else None

    def _split(self, chunk: bytes) -> None:
        first, *others = chunk.split(b"\n")
        self._rest += first
        for other in others:
            if self._rest:
                self._lines.append(self._rest)
            self._rest = bytearray(other)
        del self._rest[MAX_LINE + 1 :]  # a line that is too long is refused anyway

    def _take(self, line: bytes | bytearray) -> SessionMessage | None:
        is_too_long = len(line) > MAX_LINE
        refused = refusal(INVALID_REQUEST, f"Send messages of at most {MAX_LINE:,} bytes.") if is_too_long else None
        message = refused or read_message(bytes(line))
        if isinstance(message, Incoming):
            if isinstance(message.message, JSONRPCRequest):
                self.unanswered.change(+1)
            metadata = ServerMessageMetadata(request_context=message.offence, on_request_unanswered=self._forget)
            return SessionMessage(message.message, metadata)
        if message is not None:
            self.unanswered.change(+1)
            self.say(message)
        return None

    async def _forget(self) -> None:
        self.unanswered.change(-1)


class _Inbox(ObjectReceiveStream[SessionMessage | Exception]):
    """Messages from the client, read when the SDK asks for one, which takes no queue and no other task."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection

    @override
    async def receive(self) -> SessionMessage | Exception:
        message = await self._connection.next_message()
        if message is None:
            raise anyio.EndOfStream
        return message

    @override
    async def aclose(self) -> None:
        """Nothing is held that could be let go."""


class _Outbox(ObjectSendStream[SessionMessage]):
    """Messages to the client; the number of unanswered requests bounds how many wait to be written."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection

    @override
    async def send(self, item: SessionMessage) -> None:
        self._connection.say(item.message)

    @override
    async def aclose(self) -> None:
        """Nothing is held that could be let go."""


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
        self._changed = asyncio.Event()

    def change(self, difference: int) -> None:
        self.number += difference
        self._changed.set()

    async def changed(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def fall_below(self, limit: int) -> None:
        while self.number >= limit:
            await self.changed()
