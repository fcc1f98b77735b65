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
async def replicas(served: tuple[ServerRecord, str]) -> AsyncIterator[list[Site]]:
    authority = Authority()
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(hosting(*served, authority)) for _ in range(2)]


@pytest.fixture
async def pair(tasks_v1: ServerRecord, store: str) -> AsyncIterator[list[Site]]:
    """Yield two replicas of one server on each engine."""
    authority = Authority()
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(hosting(tasks_v1, store, authority)) for _ in range(2)]


@pytest.mark.requirement("HO-5", "TOOL-6")
async def test_each_call_of_a_session_may_go_to_another_replica(replicas: list[Site]) -> None:
    record, token, made = replicas[0].record, replicas[0].authority.token("ada"), ""
    spells: list[Spell] = [legacy, legacy, modern, modern]
    for (tool, sample), site, spell in zip(record.calls.items(), cycle(replicas), cycle(spells), strict=False):
        arguments = record.call(tool, made) if MADE in sample.values() else record.call(tool)
        body, headers = spell(tool, json.dumps(arguments))
        answer = await site.post(body, token, **headers)
        result = answer.json()["result"]
        assert not result["isError"], result
        made = made or record.task_id(result["structuredContent"])


@pytest.mark.requirement("HO-5")
async def test_calls_at_once_through_both_lose_nothing(pair: list[Site]) -> None:
    made = await asyncio.gather(*(pair[number % 2].create("ada", f"task {number}") for number in range(14)))
    assert len({*made}) == 14
    for site in pair:
        assert sorted(await site.texts("ada")) == sorted(f"task {number}" for number in range(14))


@pytest.mark.requirement("HO-5")
async def test_a_token_of_changes_works_on_the_other_replica(pair: list[Site]) -> None:
    token = pair[0].authority.token("ada")
    await pair[0].create("ada")
    since = (await pair[0].call(token, "list_changes"))["token"]
    made = await pair[1].create("ada")
    for site in pair:
        found = await site.call(token, "list_changes", since=since)
        assert ([change["id"] for change in found["changes"]], found["reset"]) == ([made], False)


@pytest.mark.requirement("HO-5", "V1-2")
async def test_paging_goes_on_with_the_cursor_of_another_replica(pair: list[Site]) -> None:
    made = [await pair[0].create("ada", f"task {number}") for number in range(3)]
    cursor, seen = None, list[str]()
    for site in (*pair, pair[0]):
        after = {} if cursor is None else {"cursor": cursor}
        page = await site.call(site.authority.token("ada"), "list_tasks", limit=1, **after)
        seen += [task["id"] for task in page["tasks"]]
        cursor = page.get("next_cursor")
    assert (seen, cursor) == (made[::-1], None)
