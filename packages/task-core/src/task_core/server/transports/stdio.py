"""The stdio transport: strict lines in, whole lines out, and an end in time (P1, P3).

It needs no thread where the system can watch a pipe. The SDK's own transport passes every request through three
threads, and does not answer what it cannot parse.
"""

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import anyio
import mcp_types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from typing_extensions import override

from task_core.server.app import TaskServer
from task_core.server.transports import wire
from task_core.server.transports.greeting import NOTHING_HEARD, Heard

__all__ = ["run_stdio"]

_CALLS: Final = 0.9
"""Seconds that calls already read may take at the end; everything together is well under 2 (CLI-5, P3)."""

_MAX_UNANSWERED: Final = 10_000
"""Requests that may wait for their answer before reading pauses, so that a client that never reads is not served."""

_MAX_WAITING: Final = 64 * 1024 * 1024
"""Bytes that these requests, and answers that wait to be written, may have together before reading pauses."""

_PARENT_SECONDS: Final = 1.0
"""Seconds between two checks of the parent."""


def run_stdio(server: TaskServer, heard: Heard = NOTHING_HEARD, parent: int | None = None) -> None:
    """Serve on stdin and stdout until stdin ends, stdout is closed, or SIGTERM, SIGINT or SIGHUP comes.

    If the process with the id ``parent`` is given, the server also ends once that is no longer its parent: somebody
    else may hold the other end of stdin. What was ``heard`` before comes first; its answered requests are not answered
    again.

    What was read by then is still carried out and answered, for 1.4 seconds at most. Streams of notifications end at
    once. Before the last calls are abandoned, ``server`` is closed, which must end their waits.
    """
    anyio.run(_serve, server, heard, parent)


async def _serve(server: TaskServer, heard: Heard, parent: int | None) -> None:
    connection = _Connection(server, heard)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.end_after, wire.stop_signal)
        tasks.start_soon(connection.end_after, connection.sink.closed)
        if parent is not None:
            tasks.start_soon(connection.end_after, partial(_lose_parent, parent))
        tasks.start_soon(connection.write)
        tasks.start_soon(connection.cut, tasks.cancel_scope)
        await server.sdk.run(connection, connection, server.sdk.create_initialization_options())
        await connection.until_answered()
        tasks.cancel_scope.cancel()


async def _lose_parent(parent: int) -> None:
    await anyio.sleep(_PARENT_SECONDS)
    while os.getppid() == parent:  # noqa: ASYNC110 - not every system has an event for it
        await anyio.sleep(_PARENT_SECONDS)


class _Connection(ObjectReceiveStream[SessionMessage | Exception], ObjectSendStream[SessionMessage]):
    """The client as the SDK sees it: what its lines say comes in, what the server says goes out as lines.

    A line is read when the SDK asks for a message, and one task writes: a queue between them would cost time.
    """

    def __init__(self, server: TaskServer, heard: Heard) -> None:
        self._source, self.sink = map(wire.Channel, wire.claim_standard_streams())
        self._server = server
        self._answered = list(heard.answered)
        self._lines = deque[bytearray]()  # lines that were read but not taken yet
        self._rest = bytearray()  # the beginning of the next line
        self._split(heard.data)
        self._is_cut = False
        self._outgoing: list[bytes] = []  # lines from the server that are not written yet
        self._has_outgoing = asyncio.Event()
        self._answers = 0  # the number of answers among them
        self._unanswered = 0  # the number of requests whose answer is not written yet
        self._waiting = 0  # the bytes of requests without an answer, and of lines that are not written yet
        self._sizes: dict[mcp_types.RequestId | None, int] = {}  # the bytes of each request without an answer
        self._has_room = asyncio.Event()
        self._has_ended = asyncio.Event()

    async def end_after(self, event: Callable[[], Awaitable[None]]) -> None:
        """Read no more lines once ``event`` has happened."""
        await event()
        self._end()

    @override
    async def receive(self) -> SessionMessage | Exception:
        """Return the next message; after the last one, end once calls were answered or had their time."""
        while (line := await self._next_line()) is not None:
            message = None if line.isspace() else self._take(bytes(line))
            if message is not None:
                return message
        if not self._has_ended.is_set():
            self._server.end_streams()
            with anyio.move_on_after(_CALLS):
                await self.until_answered()
            self._server.close()
            with anyio.move_on_after(wire.WAITERS):
                await self.until_answered()
            self._has_ended.set()
        raise anyio.EndOfStream

    @override
    async def send(self, item: SessionMessage) -> None:
        self._say(item.message)

    @override
    async def aclose(self) -> None:
        """Nothing is held that could be let go."""

    async def until_answered(self) -> None:
        """Return once every request has its answer."""
        while self._unanswered:
            await self._wait_for_room()

    async def cut(self, connection: anyio.CancelScope) -> None:
        """Make sure that ``connection`` ends in time once there are no more messages."""
        await self._has_ended.wait()
        await anyio.sleep(0.1)  # for everything else
        connection.cancel()

    async def write(self) -> None:
        """Write what the server says, all that is ready in one go."""
        while await self._has_outgoing.wait():
            self._has_outgoing.clear()
            data, self._outgoing = b"".join(self._outgoing), list[bytes]()
            answers, self._answers = self._answers, 0
            try:
                await self.sink.write(data)
            except OSError:
                self._end()  # nobody listens; calls already read are carried out all the same
            self._make_room(answers, len(data))

    def _end(self) -> None:
        self._is_cut = True
        self._source.end()
        self._has_room.set()  # nothing waits for it any more

    def _make_room(self, requests: int, size: int) -> None:
        self._unanswered -= requests
        self._waiting -= size
        self._has_room.set()

    async def _wait_for_room(self) -> None:
        self._has_room.clear()
        await self._has_room.wait()

    def _say(self, message: mcp_types.JSONRPCMessage) -> None:
        if isinstance(message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
            self._answers += 1
            self._waiting -= self._sizes.pop(message.id, 0)
        if not self._is_repeated(message):
            self._outgoing.append(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            self._waiting += len(self._outgoing[-1])
        self._has_outgoing.set()

    def _is_repeated(self, message: mcp_types.JSONRPCMessage) -> bool:
        # No earlier answer was an error, and a line with a fault is refused even if it repeats an id.
        # The acknowledgement is the first that is said to a listener; a response ends its stream later.
        answered: mcp_types.RequestId | None = None
        acknowledged = "notifications/subscriptions/acknowledged"
        if isinstance(message, mcp_types.JSONRPCResponse):
            answered = message.id
        elif isinstance(message, mcp_types.JSONRPCNotification) and message.method == acknowledged:
            answered = (message.params or {})["_meta"][SUBSCRIPTION_ID_META_KEY]
        if answered not in self._answered:
            return False
        self._answered.remove(answered)
        return True

    async def _next_line(self) -> bytearray | None:
        while (self._unanswered >= _MAX_UNANSWERED or self._waiting >= _MAX_WAITING) and not self._source.has_ended:
            await self._wait_for_room()
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
        # A line that is too long is refused anyway; only its edges may have its id.
        del self._rest[wire.MAX_MESSAGE // 2 : -(wire.MAX_MESSAGE // 2 + 1)]

    def _take(self, line: bytes) -> SessionMessage | None:
        if len(line) > wire.MAX_MESSAGE:
            message = wire.refusal(mcp_types.INVALID_REQUEST, wire.TOO_LONG, wire.find_id(line))
        else:
            message = wire.read_message(line)
        if isinstance(message, wire.Incoming):
            forget = None
            if isinstance(message.message, mcp_types.JSONRPCRequest):
                request_id = message.message.id
                self._unanswered += 1
                self._waiting += len(line)
                self._sizes[request_id] = self._sizes.get(request_id, 0) + len(line)
                forget = partial(self._forget, request_id)
            metadata = ServerMessageMetadata(request_context=message.offence, on_request_unanswered=forget)
            return SessionMessage(message.message, metadata)
        if message is not None:
            self._unanswered += 1
            self._say(message)
        return None

    async def _forget(self, request_id: mcp_types.RequestId) -> None:
        self._make_room(1, self._sizes.pop(request_id, 0))
