"""Readers are answered from what is committed, however many writers wait for a lock (TOOL-7, C2)."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import anyio
import anyio.lowlevel
import pytest
from mcp.client import Client

from heartbeat_mcp.arguments import TaskList
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.models import utc_now
from task_core.server.app import TaskServer
from tests.core.listening import until
from tests.core.notes import DEADLINE, in_background, wait_for_turn
from tests.heartbeat.cleaning import clean_ups_ended
from tests.heartbeat.conftest import other_holder
from tests.heartbeat.parts import parts_of
from tests.postgres import hold_list, needs_postgres
from tests.servers import SERVERS, ServerRecord, record_of

THREADS: Final = 40
"""Writing calls that are carried out at a time."""

WRITERS: Final = 64
"""Writing calls that are under way: more than are carried out."""


class Case(NamedTuple):
    """A server, its engine, and what another process holds: a lock beside a file, or the row of a list."""

    record: ServerRecord
    engine: str
    locked: str

    def server(self, folder: Path) -> TaskServer:
        return self.record.built(folder, self.engine, task_lock_timeout=10 * DEADLINE)

    def hold(self, folder: Path) -> AbstractContextManager[None]:
        """Let nobody change the tasks within the block."""
        if self.engine == "postgresql":
            return hold_list(folder)
        return other_holder(folder / f"{self.locked}.lock")


CASES: Final = [
    *(
        pytest.param(
            Case(record, engine, record.store(engine)),
            id=f"{record.name}, {engine}",
            marks=needs_postgres if engine == "postgresql" else (),
        )
        for record in SERVERS
        for engine in record.engines
        if engine != "postgresql" or record.name == "tasks-v1"
    ),
    pytest.param(Case(record_of("heartbeat"), "json", "HEARTBEAT.md"), id="heartbeat, its file"),
]


def waiting_threads() -> int:
    """Return how many threads wait to begin a transaction."""
    return sum(map(_begins_unit, sys._current_frames().values()))  # noqa: SLF001 - nothing public shows where a thread waits


def _begins_unit(frame: FrameType | None) -> bool:
    while frame and frame.f_code.co_qualname not in {
        "Store._take_turn",
        "Store._open_batch",
        "SharedTurn._join",
        "TagStore.transaction",
    }:
        frame = frame.f_back
    return frame is not None


async def call(client: Client, tool: str, **arguments: str) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer
    return answer.structured_content or {}


@pytest.mark.requirement("TOOL-7", "C2")
@pytest.mark.parametrize("case", CASES)
async def test_readers_do_not_wait_behind_writers_that_wait_for_a_lock(tmp_path: Path, case: Case) -> None:
    async with Client(case.server(tmp_path).sdk) as client:
        record = case.record
        first = record.task_id(await call(client, record.create, **{record.text: "first"}))
        done: list[str] = []
        await clean_ups_ended()  # or one waits beside the writers

        async def write(number: int) -> None:
            await call(client, record.create, **{record.text: f"n {number}"})
            done.append(record.create)

        with case.hold(tmp_path), anyio.fail_after(DEADLINE):
            async with anyio.create_task_group() as writers:
                for number in range(WRITERS):
                    writers.start_soon(write, number)
                await until(lambda: waiting_threads() == THREADS)
                read = await call(client, record.get, **record.call(record.get, first))
                page = await call(client, record.list)
                resource = await client.read_resource("tasks://list")
                summary = await client.read_resource("tasks://summary")
                tools = await client.list_tools()
                assert not done
                writers.cancel_scope.cancel()
        await until(lambda: not waiting_threads())  # a cancelled call still ends its work
    assert record.task_id(read) == first
    assert [task["id"] for task in record.unwrap(page)["tasks"]] == [first]
    assert first in str(resource)
    assert "1" in str(summary)
    assert record.get in [tool.name for tool in tools.tools]


@pytest.mark.requirement("TOOL-7", "C2", "HB-12", "HB-13")
async def test_a_list_comes_without_what_a_person_wrote_while_others_hold_the_lock_and_with_it_later(
    tmp_path: Path,
) -> None:
    file = tmp_path / "HEARTBEAT.md"
    async with Client(record_of("heartbeat").built(tmp_path, task_lock_timeout=10 * DEADLINE).sdk) as client:
        await call(client, "task_create", raw_user_request="first")
        with other_holder(tmp_path / "HEARTBEAT.md.lock"), anyio.fail_after(DEADLINE):
            file.write_text(f"{file.read_text('utf-8')}- buy milk\n", "utf-8")
            pages = [await call(client, "task_list") for _ in range(10)]
        assert [len(page["tasks"]) for page in pages] == [1] * 10
        assert sum("were not taken in" in str(page.get("warnings")) for page in pages) == 1
        while len((await call(client, "task_list"))["tasks"]) < len(["first", "buy milk"]):
            await anyio.lowlevel.checkpoint()


@pytest.mark.requirement("TOOL-7", "HB-12")
def test_what_a_person_wrote_is_taken_in_once_for_all_readers_who_come_together(tmp_path: Path) -> None:
    (tmp_path / "HEARTBEAT.md").write_text("## TODO\n- buy milk\n", "utf-8")
    service = parts_of(HeartbeatSettings(heartbeat_file_path=tmp_path / "HEARTBEAT.md"), utc_now).service
    seen: list[list[str]] = []

    def look() -> None:
        seen.append([task.raw_user_request for task in service.list_tasks(TaskList()).tasks])

    with in_background() as start, other_holder(tmp_path / "HEARTBEAT.md.lock"):
        wait_for_turn(*start(look, look, look), line="run.result(")
    assert seen == [["buy milk"]] * 3
