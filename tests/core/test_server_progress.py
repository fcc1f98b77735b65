"""Progress of a call: only for whom asked, only while it runs, and not too often (TM-80)."""

from __future__ import annotations

import threading
from functools import partial
from typing import Final

import anyio
import pytest
from mcp.client import Client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from task_core.fields import Arguments
from task_core.server.app import TaskServer
from task_core.server.progress import SEND_SECONDS, report_progress
from task_core.warning_list import WarningList
from tests.core.notes import DEADLINE, Note
from tests.wire.line_client import INITIALIZE


class Work:
    """A server whose tool reports two steps and then waits to be released."""

    def __init__(self) -> None:
        self.is_released = threading.Event()
        self.server = TaskServer("work", title="Work", version="1", instructions="", warnings=WarningList())
        self.server.tool(title="Work")(self.work)

    def work(self, _: Arguments) -> Note:
        """Do two of three steps."""
        for done in (1, 2):
            report_progress(done, 3)
        assert self.is_released.wait(DEADLINE)
        return Note(id="done")


MODERN: Final[dict[str, object]] = {
    "io.modelcontextprotocol/protocolVersion": MODERN_PROTOCOL_VERSIONS[-1],
    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HANDSHAKE: Final = [
    JSONRPCRequest(jsonrpc="2.0", id=0, method="initialize", params=INITIALIZE),
    JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized"),
]


@pytest.mark.requirement("TM-80", "TM-90")
@pytest.mark.parametrize(("greeting", "meta"), [([], MODERN), (HANDSHAKE, {})], ids=["modern", "legacy"])
async def test_a_client_that_asks_hears_the_last_report_once_while_the_call_runs(
    greeting: list[JSONRPCMessage], meta: dict[str, object]
) -> None:
    work = Work()
    inward, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](9)
    outbox, outward = anyio.create_memory_object_stream[SessionMessage](9)
    params: dict[str, object] = {"name": "work", "arguments": {}, "_meta": {**meta, "progressToken": 7}}
    async with anyio.create_task_group() as tasks, inward, outward:
        tasks.start_soon(partial(work.server.sdk.run, inbox, outbox, work.server.sdk.create_initialization_options()))
        for message in (*greeting, JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/call", params=params)):
            await inward.send(SessionMessage(message))
        if greeting:
            await outward.receive()
        heard = (await outward.receive()).message
        assert isinstance(heard, JSONRPCNotification)
        assert (heard.method, heard.params) == (
            "notifications/progress",
            {"progressToken": 7, "progress": 2, "total": 3},
        )
        work.is_released.set()
        assert isinstance((await outward.receive()).message, JSONRPCResponse)
        inward.close()


@pytest.mark.requirement("TM-80")
async def test_a_call_whose_client_does_not_ask_reports_to_nobody() -> None:
    work = Work()
    work.is_released.set()
    async with Client(work.server.sdk) as client:
        assert not (await client.call_tool("work", {})).is_error


@pytest.mark.requirement("TM-80")
def test_nobody_hears_more_than_ten_reports_a_second() -> None:
    assert SEND_SECONDS >= 1 / 10
    report_progress(1, 2)  # outside a call
