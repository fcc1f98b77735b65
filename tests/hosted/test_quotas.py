"""Quotas of a tenant, which are exact (HO-4)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from tests.hosted.service import Authority, hosting
from tests.servers import NEW_TEXT, ServerRecord


@pytest.mark.requirement("HO-4")
async def test_a_tenant_may_keep_just_as_many_tasks_as_its_quota(tasks_v1: ServerRecord, store: str) -> None:
    record = tasks_v1
    async with hosting(record, store, quota_tasks=3) as site:
        made = [await site.create("ada") for _ in range(3)]
        token = site.authority.token("ada")
        answer = await site.call(token, record.create, **{record.text: "one more"})
        assert answer["error"]["code"] == "QuotaExceeded"
        assert answer["error"]["details"] == {"what": "tasks", "count": 4, "limit": 3}
        changed = await site.call(token, record.update, **record.call(record.update, made[0]))
        assert "error" not in changed
        assert await site.create("bob")
        assert sorted(await site.texts("ada")) == sorted([NEW_TEXT, "a task", "a task"])


@pytest.mark.requirement("HO-4")
async def test_a_tenant_may_keep_just_as_many_bytes_as_its_quota(tasks_v1: ServerRecord, store: str) -> None:
    authority = Authority()
    async with hosting(tasks_v1, store, authority) as site:
        await site.create("ada", "x" * 100)
    async with AsyncExitStack() as stack:
        site = await stack.enter_async_context(hosting(tasks_v1, store, authority, quota_bytes=1))
        token = authority.token("ada")
        refused = await site.call(token, "create_task", title="x")
        assert (refused["error"]["code"], refused["error"]["details"]["what"]) == ("QuotaExceeded", "bytes")
        size = refused["error"]["details"]["count"]
        exact = await stack.enter_async_context(hosting(tasks_v1, store, authority, quota_bytes=size))
        assert "error" not in await exact.call(token, "create_task", title="x")
        again = await exact.call(token, "create_task", title="x")
        assert again["error"]["code"] == "QuotaExceeded"


@pytest.mark.requirement("HO-4", "HO-5")
async def test_a_quota_is_exact_for_calls_at_once_through_two_replicas(tasks_v1: ServerRecord, store: str) -> None:
    authority = Authority()
    async with AsyncExitStack() as stack:
        sites = [
            await stack.enter_async_context(hosting(tasks_v1, store, authority, quota_tasks=10, calls_in_flight=40))
            for _ in range(2)
        ]
        calls = (sites[number % 2].call(authority.token("ada"), "create_task", title="a") for number in range(30))
        answers = await asyncio.gather(*calls)
        assert [answer.get("error", {}).get("code") for answer in answers].count("QuotaExceeded") == 20
        assert len(await sites[0].texts("ada")) == 10
