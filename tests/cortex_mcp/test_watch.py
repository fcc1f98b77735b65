"""Clients that want to know are notified of events, and nothing runs while nobody does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from cortex_mcp.errors import CtxError, RunnerClosed
from cortex_mcp.watch import FIRST_PAUSE, LONGEST_PAUSE, EventWatch
from task_core.server.overview import LIST_URI, SUMMARY_URI
from task_core.warning_list import WarningList
from tests.core.listening import Clock, following, older, until
from tests.cortex_mcp.ctx_fixture import CtxFixture

pytestmark = [
    pytest.mark.requirement("CX-92"),
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),  # the older era is what some tests are about
]

LIST, SUMMARY, TASK = ResourceUpdated(LIST_URI), ResourceUpdated(SUMMARY_URI), ResourceUpdated("tasks://42")


def event(number: int, task_id: int | None, kind: str = "status_changed") -> dict[str, object]:
    return {"id": number, "kind": kind, "task_id": task_id, "from": "TODO", "to": "IN_PROGRESS"}


async def test_a_subscriber_of_the_older_era_is_notified_of_its_task(ctx: CtxFixture) -> None:
    async with older(ctx.server(), LIST_URI, "tasks://42") as told:
        ctx.event(**event(1, 42))
        assert await told.next(2) == [LIST, TASK]
        ctx.event(**event(2, 7))
        assert await told.next(1) == [LIST]
        ctx.event(**event(3, 42, "task_created"))
        assert await told.next(3) == [LIST, TASK, ResourcesListChanged()]
        ctx.event(**event(4, None, "member_changed"))
        assert await told.next(1) == [LIST]


async def test_a_listener_of_the_modern_era_is_notified_too(ctx: CtxFixture) -> None:
    async with Client(ctx.server().sdk) as client:
        async with client.listen(resource_subscriptions=["tasks://42", SUMMARY_URI]) as news:
            await until(lambda: ctx.calls)
            ctx.event(**event(1, 42))
            assert await following(news, 2) == [SUMMARY, TASK]
        await until(ctx.is_quiet)


async def test_one_process_runs_while_anybody_listens_and_none_otherwise(ctx: CtxFixture) -> None:
    server = ctx.server()
    async with Client(server.sdk) as client:
        await client.list_resources()
        assert ctx.notes == []
        async with client.listen(resource_subscriptions=[LIST_URI]):
            async with client.listen(resource_subscriptions=[SUMMARY_URI]):
                await until(lambda: ctx.calls)
            (call,) = ctx.calls
            assert call["argv"] == ["events", "--follow", "--json"]
            assert call["environment"]["CTX_TIMEOUT"] == "", "it has no end of its own"
        await until(ctx.is_quiet)
        async with client.listen(resource_subscriptions=[LIST_URI]):
            await until(lambda: len(ctx.calls) == 2)
        await until(ctx.is_quiet)


async def test_who_unsubscribes_from_the_last_resource_ends_it(ctx: CtxFixture) -> None:
    async with older(ctx.server(), LIST_URI, SUMMARY_URI) as told:
        await until(lambda: ctx.calls)
        await told.client.unsubscribe_resource(LIST_URI)
        await told.client.unsubscribe_resource(SUMMARY_URI)
        await until(ctx.is_quiet)


async def test_the_end_of_the_server_ends_it(ctx: CtxFixture) -> None:
    ctx.set_behaviors(events={"hang": True, "spawn": "meek"})
    server = ctx.server()
    async with older(server, LIST_URI):
        await until(lambda: len(ctx.pids()) == 3)
        server.end_streams()
        server.close()
        await until(ctx.is_quiet)


class Feed:
    """Events as a test gives them: each turn is the lines of one process, or the error with which it ends."""

    def __init__(self, *turns: list[bytes] | Exception) -> None:
        self.after: list[int | None] = []
        self.said: list[tuple[tuple[str, ...], bool]] = []
        self._turns: Iterator[list[bytes] | Exception] = iter(turns)

    async def follow(self, after: int | None) -> AsyncIterator[bytes]:
        self.after.append(after)
        turn = next(self._turns, None)
        if isinstance(turn, Exception):
            raise turn
        for line in turn or ():
            yield line
        if turn is None:
            await asyncio.get_running_loop().create_future()

    async def notify(self, *ids: str, resized: bool = False) -> None:
        self.said.append((ids, resized))


async def test_it_is_restarted_after_a_pause_that_grows_from_where_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock.put_into(asyncio.get_running_loop(), monkeypatch)
    feed = Feed(
        [b'{"id": 5, "task_id": 42, "kind": "commented"}'],
        [],
        [b"no JSON"],
        [],
        [],
        [],
        [],
        [b'{"id": 6}', b'{"task_id": 7}'],
    )
    watch = EventWatch(feed.follow, feed.notify, WarningList())
    watch.on_subscribers_changed(is_wanted=True)
    for pause in (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0):
        await clock.move(pause)
    await clock.move(FIRST_PAUSE)
    await until(lambda: len(feed.after) == 9)
    watch.on_subscribers_changed(is_wanted=False)
    assert feed.after == [None, *[5] * 7, 6]
    assert feed.said == [(("42",), False), ((), False), (("7",), False)]
    assert LONGEST_PAUSE == 30.0
    await settle(watch)


async def settle(watch: EventWatch) -> None:
    """Let the watch end."""
    task: asyncio.Task[None] | None = watch._watching  # noqa: SLF001 - nothing waits for it, and the loop must not end first
    with suppress(asyncio.CancelledError):
        await (task or asyncio.sleep(0))


async def test_without_a_login_there_is_one_warning_until_events_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock.put_into(asyncio.get_running_loop(), monkeypatch)
    refused = b'{"success": false, "error": "Not logged in.", "code": "NotLoggedIn", "details": {}}'
    warnings = WarningList()
    feed = Feed(
        [refused],
        [refused],
        CtxError("CtxNotFound", place="here"),
        OSError(2, "gone"),
        [b'{"id": 1, "task_id": 2}', refused],
    )
    watch = EventWatch(feed.follow, feed.notify, warnings)
    watch.on_subscribers_changed(is_wanted=True)
    for pause in (1.0, 2.0, 4.0, 8.0):
        await clock.move(pause)
    await until(lambda: len(feed.after) == 5 and feed.said)
    await clock.move(FIRST_PAUSE)
    await until(lambda: len(feed.after) == 6)
    said = warnings.take()
    assert len(said) == 2
    assert all("NotLoggedIn" in warning for warning in said)
    watch.on_subscribers_changed(is_wanted=False)
    await settle(watch)


async def test_an_error_that_nobody_foresaw_is_a_warning_and_the_events_are_followed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock.put_into(asyncio.get_running_loop(), monkeypatch)
    warnings = WarningList()
    feed = Feed(ValueError("odd"), [b'{"id": 1, "task_id": 2}'], RunnerClosed())
    watch = EventWatch(feed.follow, feed.notify, warnings)
    watch.on_subscribers_changed(is_wanted=True)
    await clock.move(FIRST_PAUSE)
    assert "ValueError" in warnings.take()[0]
    await until(lambda: feed.said == [(("2",), False)])
    await clock.move(FIRST_PAUSE)
    await until(lambda: watch._watching and watch._watching.done())  # noqa: SLF001 - the server ends


async def test_who_no_longer_listens_before_anybody_did_changes_nothing(ctx: CtxFixture) -> None:
    EventWatch(Feed().follow, Feed().notify, WarningList()).on_subscribers_changed(is_wanted=False)
    assert ctx.notes == []


@pytest.mark.parametrize("behavior", [{"answer": {"success": False, "error": "x", "code": "NotLoggedIn"}, "exit": 4}])
async def test_a_client_learns_from_a_warning_that_it_is_not_notified(
    ctx: CtxFixture, behavior: dict[str, Any]
) -> None:
    ctx.set_behaviors(events=behavior)
    server = ctx.server()
    async with older(server, LIST_URI) as told:
        await until(lambda: any("ended" in it for it in ctx.notes))
        warnings: list[str] = []
        while not warnings:
            result = await told.client.call_tool("list_tasks", {})
            warnings = result.structured_content.get("warnings", [])
    assert "NotLoggedIn" in warnings[0]
