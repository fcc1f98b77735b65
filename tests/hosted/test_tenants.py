"""The servers of the tenants: one each, kept while there is room, and never taken away from somebody (HO-3)."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import weakref
from contextlib import AsyncExitStack

import pytest

from task_core.server.app import TaskServer
from task_hosted.service.limits import Refusal
from task_hosted.service.tenants import Tenants
from tests.core.shelf import Shelf
from tests.hosted.service import Authority, hosting
from tests.servers import ServerRecord, record_of


class Builder:
    """Builds a server for each tenant, and knows for whom."""

    def __init__(self) -> None:
        self.built: list[str] = []
        self.servers: dict[str, TaskServer] = {}
        self.ended: list[str] = []

    def __call__(self, name: str) -> TaskServer:
        self.built.append(name)
        server = self.servers[name] = Shelf().server
        close, end_streams = server.close, server.end_streams
        self.closed = dict.fromkeys(self.servers, False)

        def note_close() -> None:
            self.closed[name] = True
            close()

        def note_end() -> None:
            self.ended.append(name)
            end_streams()

        server.close = note_close
        server.end_streams = note_end
        return server


async def touch(tenants: Tenants, *names: str) -> None:
    for name in names:
        async with tenants.use(name):
            pass


@pytest.mark.requirement("HO-3")
async def test_the_least_recently_used_tenant_makes_room_for_another() -> None:
    build = Builder()
    tenants = Tenants(build, limit=2)
    async with tenants.run():
        await touch(tenants, "ada", "bob", "ada", "eve", "ada")
        assert build.built == ["ada", "bob", "eve"]
        await touch(tenants, "bob")
        assert build.built == ["ada", "bob", "eve", "bob"]


@pytest.mark.requirement("HO-3")
async def test_a_tenant_in_use_is_kept_and_one_too_many_is_refused() -> None:
    build = Builder()
    tenants = Tenants(build, limit=2)
    async with tenants.run(), tenants.use("ada") as first:
        await touch(tenants, "bob", "eve", "bob")
        async with tenants.use("ada") as again, tenants.use("bob"):
            assert again is first
            with pytest.raises(Refusal) as refused:
                await touch(tenants, "eve")
            assert (refused.value.status, refused.value.headers["Retry-After"]) == (503, "30")
        await touch(tenants, "eve")
    assert build.built == ["ada", "bob", "eve", "bob", "eve"]


@pytest.mark.requirement("HO-3")
async def test_requests_of_a_new_tenant_at_once_get_one_server() -> None:
    build = Builder()
    tenants = Tenants(build)
    async with tenants.run(), AsyncExitStack() as stack:
        found = await asyncio.gather(*(stack.enter_async_context(tenants.use("ada")) for _ in range(10)))
    assert build.built == ["ada"]
    assert len({*found}) == 1


@pytest.mark.requirement("HO-3", "HO-8")
async def test_at_the_end_every_server_is_closed_and_streams_that_come_later_end_too() -> None:
    build = Builder()
    tenants = Tenants(build)
    async with tenants.run():
        await touch(tenants, "ada")
        tenants.end_streams()
        assert build.ended == ["ada"]
        await touch(tenants, "bob")
        assert build.ended == ["ada", "bob"]
        tenants.close()
        assert build.closed == {"ada": True, "bob": True}


@pytest.mark.requirement("HO-3")
async def test_all_that_was_kept_for_a_tenant_is_let_go_with_its_server() -> None:
    build = Builder()
    tenants = Tenants(build, limit=1)
    async with tenants.run():
        gc.freeze()  # what is there already need not be searched
        await touch(tenants, "ada")
        server = weakref.ref(build.servers.pop("ada"))
        await touch(tenants, "bob")
        while server():
            await asyncio.sleep(0)
            gc.collect()
        gc.unfreeze()


@pytest.mark.requirement("HO-3", "HO-4")
async def test_a_tenant_costs_no_thread(sqlite: str) -> None:
    async with hosting(record_of("heartbeat"), sqlite) as site:
        await site.create("first")
        await site.texts("first")
        before = {thread for thread in threading.enumerate() if "AnyIO" not in thread.name}
        for number in range(10):
            await site.create(f"user {number}")
            await site.texts(f"user {number}")
        started = {thread for thread in threading.enumerate() if "AnyIO" not in thread.name} - before
    assert len(started) <= 20, "only those that all tenants share"


@pytest.mark.requirement("HO-3")
async def test_a_tenant_finds_its_tasks_after_its_server_was_dropped(tasks_v1: ServerRecord, store: str) -> None:
    authority = Authority()
    async with hosting(tasks_v1, store, authority) as site:
        await site.create("ada", "kept")
    async with hosting(tasks_v1, store, authority) as site:
        assert await site.texts("ada") == ["kept"]


@pytest.mark.requirement("HO-3", "HO-7")
async def test_calls_of_every_tenant_are_noted(
    tasks_v1: ServerRecord, sqlite: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with hosting(tasks_v1, sqlite) as site:
        for user in ("ada", "bob"):
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_tasks"}}
            await site.post(json.dumps(body).encode(), site.authority.token(user), X_Request_Id=f"of-{user}")
    lines = [record.message for record in caplog.records if record.name.startswith("task_hosted")]
    assert [line.partition(" in ")[0] for line in lines] == ["list_tasks: ok"] * 2
    assert [line.rpartition(" ")[2] for line in lines] == ["of-ada", "of-bob"]
