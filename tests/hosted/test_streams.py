"""Streams of notifications: of one tenant, on any replica, within their limits, and no longer than their token."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from types import SimpleNamespace
from typing import Final

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from task_hosted.service import endpoint
from tests.core.listening import Clock, let_others_run, until
from tests.hosted.service import Authority, Site, hosting
from tests.servers import ServerRecord

LEEWAY_SECONDS: Final = 30
"""Most seconds that clocks may differ (HO-2)."""


@asynccontextmanager
async def two_replicas(record: ServerRecord, store: str) -> AsyncIterator[list[Site]]:
    authority = Authority()
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(hosting(record, store, authority, streams=2)) for _ in range(2)]


@pytest.fixture
async def pair(tasks_v1: ServerRecord, store: str) -> AsyncIterator[list[Site]]:
    """Yield two replicas on each engine."""
    async with two_replicas(tasks_v1, store) as opened:
        yield opened


@pytest.fixture
async def sites(tasks_v1: ServerRecord, sqlite: str) -> AsyncIterator[list[Site]]:
    """Yield two replicas."""
    async with two_replicas(tasks_v1, sqlite) as opened:
        yield opened


@pytest.mark.requirement("HO-3", "HO-5", "EN-20")
async def test_news_of_another_replica_comes_with_the_next_look_and_none_of_another_tenant(
    pair: list[Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = await pair[0].create("ada")
    clock = Clock.put_into(asyncio.get_running_loop(), monkeypatch)
    async with pair[0].listening("ada", f"tasks://{mine}") as ada, pair[0].listening("bob") as bob:
        token = pair[1].authority.token("ada")
        await pair[1].call(token, "update_task", id=mine, title="changed elsewhere")
        await let_others_run()
        assert ada.changed == []
        await clock.move(1.0)
        await until(lambda: f"tasks://{mine}" in ada.changed)
        await pair[0].call(token, "update_task", id=mine, title="changed here")
        await until(lambda: ada.changed.count(f"tasks://{mine}") == 2)
        await clock.move(1.0)
        await let_others_run()
        assert bob.changed == []


@pytest.mark.requirement("HO-4")
async def test_a_stream_too_many_is_refused_until_one_has_ended(sites: list[Site]) -> None:
    site = sites[0]
    async with site.listening("ada") as first, site.listening("ada") as second:
        assert (first.status, second.status, site.hosted.limits.streams) == (200, 200, 2)
        async with site.listening("ada") as third, site.listening("bob") as other:
            assert (third.status, other.status) == (429, 200)
        second.leave()
        await until(lambda: site.hosted.limits.streams == 1)
        async with site.listening("ada") as fourth:
            assert fourth.status == 200
    assert site.hosted.limits.streams == 0


@pytest.mark.requirement("HO-2")
async def test_a_stream_ends_with_its_token(sites: list[Site], monkeypatch: pytest.MonkeyPatch) -> None:
    token = token_with(5.0, sites[0], monkeypatch)
    clock = Clock.put_into(asyncio.get_running_loop(), monkeypatch)
    async with sites[0].listening("ada", token=token) as listener:
        assert (listener.status, listener.is_ended) == (200, False)
        await clock.move(5.0)
        await until(lambda: listener.is_ended)
        await until(lambda: sites[0].hosted.limits.streams == 0)


@pytest.mark.requirement("HO-2")
async def test_a_stream_takes_a_token_that_never_expires(sites: list[Site]) -> None:
    token = sites[0].authority.token(exp=10**400)
    async with sites[0].listening("ada", token=token) as listener:
        assert (listener.status, listener.is_ended) == (200, False)


@pytest.mark.requirement("HO-2")
async def test_a_token_that_expires_before_its_stream_begins_is_refused(
    sites: list[Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sites[0].listening("ada", token=token_with(0.0, sites[0], monkeypatch)) as listener:
        assert listener.status == 401
    assert sites[0].hosted.limits.streams == 0


def token_with(seconds: float, site: Site, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a token of which so many seconds are left once it has been verified, by the clock that ends streams."""
    expires = int(time.time()) + 600
    monkeypatch.setattr(endpoint, "time", SimpleNamespace(time=lambda: expires + LEEWAY_SECONDS - seconds))
    return site.authority.token(exp=expires)


@pytest.mark.requirement("HO-8", "P3")
async def test_at_the_end_a_stream_gets_its_final_answer(sites: list[Site]) -> None:
    async with sites[0].listening("ada") as listener:
        sites[0].hosted.end_streams()
        await until(lambda: listener.is_ended)
        assert listener.messages[-1]["id"] == 1
        assert "result" in listener.messages[-1]
        async with sites[0].listening("bob") as late:
            await until(lambda: late.is_ended)
            assert "result" in late.messages[-1]


@pytest.mark.requirement("HO-2")
async def test_a_stream_needs_the_scope_to_read(sites: list[Site]) -> None:
    async with sites[0].listening("ada", token=sites[0].authority.token(scope="tasks:write")) as listener:
        assert listener.status == 403


@pytest.mark.requirement("RES-6")
@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")  # the older era is what this is about
async def test_a_client_of_the_older_era_cannot_subscribe_where_nothing_could_be_sent_to_it(
    tasks_v1: ServerRecord, sqlite: str
) -> None:
    async with hosting(tasks_v1, sqlite) as site, site.client("ada", "legacy") as client:
        with pytest.raises(MCPError) as caught:
            await client.subscribe_resource("tasks://list")
    assert caught.value.code == METHOD_NOT_FOUND
