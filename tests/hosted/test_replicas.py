"""Replicas share only the database, so any request may go to any of them (HO-5)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import cycle

import pytest

from tests.hosted.service import Authority, Site, hosting
from tests.servers import MADE, ServerRecord
from tests.wire.served import Spell, legacy, modern


@pytest.fixture
async def replicas(record: ServerRecord, store: str) -> AsyncIterator[list[Site]]:
    authority = Authority()
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(hosting(record, store, authority)) for _ in range(2)]


@pytest.mark.requirement("HO-5", "TOOL-6")
@pytest.mark.parametrize("spell", [legacy, modern])
async def test_each_call_of_a_session_may_go_to_another_replica(replicas: list[Site], spell: Spell) -> None:
    record, token, made = replicas[0].record, replicas[0].authority.token("ada"), ""
    for (tool, sample), site in zip(record.calls.items(), cycle(replicas), strict=False):
        arguments = record.call(tool, made) if MADE in sample.values() else record.call(tool)
        body, headers = spell(tool, json.dumps(arguments))
        answer = await site.post(body, token, **headers)
        result = answer.json()["result"]
        assert not result["isError"], result
        made = made or record.task_id(result["structuredContent"])


@pytest.mark.requirement("HO-5")
async def test_calls_at_once_through_both_lose_nothing(replicas: list[Site]) -> None:
    made = await asyncio.gather(*(replicas[number % 2].create("ada", f"task {number}") for number in range(14)))
    assert len({*made}) == 14
    for site in replicas:
        assert sorted(await site.texts("ada")) == sorted(f"task {number}" for number in range(14))


@pytest.mark.requirement("HO-5")
async def test_a_token_of_changes_works_on_the_other_replica(replicas: list[Site]) -> None:
    token = replicas[0].authority.token("ada")
    await replicas[0].create("ada")
    since = (await replicas[0].call(token, "list_changes"))["token"]
    made = await replicas[1].create("ada")
    for site in replicas:
        found = await site.call(token, "list_changes", since=since)
        assert ([change["id"] for change in found["changes"]], found["reset"]) == ([made], False)


@pytest.mark.requirement("HO-5", "V1-2")
async def test_paging_goes_on_with_the_cursor_of_another_replica(tasks_v1: ServerRecord, store: str) -> None:
    authority = Authority()
    async with hosting(tasks_v1, store, authority) as first, hosting(tasks_v1, store, authority) as second:
        made = [await first.create("ada", f"task {number}") for number in range(5)]
        cursor, seen = None, list[str]()
        for site in (first, second, first, second, first):
            after = {} if cursor is None else {"cursor": cursor}
            page = await site.call(authority.token("ada"), "list_tasks", limit=1, **after)
            seen += [task["id"] for task in page["tasks"]]
            cursor = page.get("next_cursor")
        assert (seen, cursor) == (made[::-1], None)
