"""Calls with an idempotency key: carried out once, whoever repeats them, and answered again (HO-6)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolRequestParams

from task_core.errors import InvalidArguments, StoreWriteFailed
from task_core.history.changes import made_by
from task_core.models import utc_now
from task_core.server.faults import RenderedAnswer
from task_core.store import Store
from task_hosted.service.tenants import Quota, QuotaExceeded
from task_hosted.service.tool_calls import carry_out_once, make_repeatable
from tests.core.engines import LASTING_ENGINES, LIST, Card, Engine
from tests.hosted.service import Authority, Site, hosting
from tests.servers import MADE, NEW_TEXT, ServerRecord

KEY = "task-core/idempotency-key"

SHARED = [engine for engine in LASTING_ENGINES if engine.name != "json"]


@pytest.fixture
async def each_pair(served: tuple[ServerRecord, str]) -> AsyncIterator[list[Site]]:
    """Yield two replicas of each server."""
    authority = Authority()
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(hosting(*served, authority)) for _ in range(2)]


@pytest.fixture
async def sites(tasks_v1: ServerRecord, store: str) -> AsyncIterator[list[Site]]:
    """Yield two replicas of one server on each engine."""
    authority = Authority()
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(hosting(tasks_v1, store, authority)) for _ in range(2)]


async def create(site: Site, key: object, text: str = "once", user: str = "ada") -> dict[str, Any]:
    meta: Any = {KEY: key}
    return await site.call_with(meta, site.authority.token(user), site.record.create, **{site.record.text: text})


@pytest.mark.requirement("HO-6", "HO-3")
async def test_a_repeated_call_is_carried_out_once_and_answered_again_by_any_replica(sites: list[Site]) -> None:
    first = await create(sites[0], "key")
    assert "error" not in first
    assert [await create(site, "key") for site in (*sites, *sites)] == [first] * 4
    refused = await create(sites[1], "key", "something else")
    assert refused["error"]["code"] == "InvalidArguments"
    assert [field["path"] for field in refused["error"]["details"]["fields"]] == [f"_meta.{KEY}"]
    assert await sites[0].texts("ada") == ["once"]
    other = await create(sites[1], "another key")
    assert sites[0].record.task_id(other) != sites[0].record.task_id(first)
    assert await create(sites[0], "key", user="bob") != first
    assert await sites[0].texts("bob") == ["once"]
    answers = await asyncio.gather(*(create(sites[number % 2], "key", user="eve") for number in range(12)))
    assert all(answer == answers[0] for answer in answers)
    assert await sites[0].texts("eve") == ["once"]


@pytest.mark.requirement("HO-6")
async def test_every_tool_that_changes_tasks_can_be_repeated_and_no_error_is_kept(each_pair: list[Site]) -> None:
    first, second = each_pair
    record, token = first.record, first.authority.token("ada")
    made = await first.create("ada")
    unknown = await first.call_with({KEY: "key"}, token, record.update, **record.call(record.update, made[:-1]))
    assert unknown["error"]["code"] == "TaskNotFound"
    changed = await first.call_with({KEY: "key"}, token, record.update, **record.call(record.update, made))
    assert "error" not in changed
    assert await second.texts("ada") == [NEW_TEXT]
    for tool, sample in record.calls.items():
        arguments = record.call(tool, made) if MADE in sample.values() else record.call(tool)
        answers = [await site.call_with({KEY: tool}, token, tool, **arguments) for site in each_pair]
        assert answers[0] == answers[1]
        assert "error" not in answers[0]


@pytest.mark.requirement("HO-6")
async def test_a_key_of_another_form_is_refused(tasks_v1: ServerRecord, sqlite: str) -> None:
    async with hosting(tasks_v1, sqlite) as site:
        for key in ("", "k" * 201, 7, ["key"], True):
            refused = await create(site, key)
            assert refused["error"]["code"] == "InvalidArguments"
        assert await site.texts("ada") == []
        assert "error" not in await create(site, "k" * 200)


@pytest.mark.requirement("HO-6", "AG-13")
def test_two_agents_with_one_key_are_two_calls(tmp_path: Path) -> None:
    store = open_shared(tmp_path, SHARED[0])
    wrap = make_repeatable(store)
    params = CallToolRequestParams(name="claim_task", arguments={}, _meta={KEY: "key"})

    def call(agent: str) -> object:
        with made_by("client 1", "claim_task", agent):
            return wrap(params, lambda: RenderedAnswer.of({"agent": agent}))()

    assert call("ann") == call("ann")
    with pytest.raises(InvalidArguments, match="another call had this key"):
        call("bob")
    store.close()


# The store


def open_shared(tmp_path: Path, engine: Engine, clock: Callable[[], datetime] = utc_now) -> Store[Card]:
    return engine.open(tmp_path, LIST, tenant=str(tmp_path), clock=clock)


def add_and_answer(store: Store[Card], name: str) -> str:
    with store.transaction() as cards:
        cards.add(Card(id=name))
    return f"added {name}"


@pytest.mark.requirement("HO-6")
@pytest.mark.parametrize("engine", SHARED, ids=[engine.name for engine in SHARED])
def test_what_a_call_does_in_several_transactions_is_saved_with_its_answer_or_not_at_all(
    tmp_path: Path, engine: Engine
) -> None:
    store = open_shared(tmp_path, engine)

    def fail() -> str:
        add_and_answer(store, "a")
        raise StoreWriteFailed("cards", "no reason")

    def add_two() -> str:
        return add_and_answer(store, "a") + add_and_answer(store, "b")

    with pytest.raises(StoreWriteFailed):
        carry_out_once(store, "key", "digest", fail)
    assert carry_out_once(store, "key", "digest", add_two) == "added aadded b"
    other = open_shared(tmp_path, engine)
    assert carry_out_once(other, "key", "digest", fail) == "added aadded b"
    with other.read() as cards:
        assert cards.ids("", 10) == ["a", "b"]
    store.close()
    other.close()


@pytest.mark.requirement("HO-6")
@pytest.mark.parametrize("engine", SHARED, ids=[engine.name for engine in SHARED])
def test_an_answer_is_kept_for_24_hours_even_if_nothing_has_changed(tmp_path: Path, engine: Engine) -> None:
    now = utc_now()
    store = open_shared(tmp_path, engine, lambda: now)
    answers = map(str, count())
    assert carry_out_once(store, "key", "digest", lambda: next(answers)) == "0"
    now += timedelta(hours=24)
    assert carry_out_once(store, "key", "digest", lambda: next(answers)) == "0"
    now += timedelta(microseconds=1)
    assert carry_out_once(store, "key", "digest", lambda: next(answers)) == "1"
    with pytest.raises(InvalidArguments):
        carry_out_once(store, "key", "another digest", lambda: next(answers))
    store.close()


@pytest.mark.requirement("HO-6", "HO-4")
@pytest.mark.parametrize(("limit", "most"), [("_MAX_CALLS", 3), ("_MAX_SIZE", 30)])
def test_a_list_keeps_so_many_answers_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(f"task_hosted.service.tool_calls.{limit}", most)
    now = utc_now()
    store = open_shared(tmp_path, Engine("sqlite"), lambda: now)
    for number in range(3):
        carry_out_once(store, f"key {number}", "digest", lambda: "ten letter")
    with pytest.raises(InvalidArguments, match="leave the key out"):
        carry_out_once(store, "one more", "digest", lambda: add_and_answer(store, "a"))
    with store.read() as cards:
        assert len(cards) == 0
    now += timedelta(hours=25)
    assert carry_out_once(store, "one more", "digest", lambda: "now") == "now"
    store.close()


@pytest.mark.requirement("HO-6")
def test_a_call_that_cannot_be_saved_is_not_answered(tmp_path: Path) -> None:
    store = open_shared(tmp_path, Engine("sqlite"))
    store.check_growth = Quota(0, 1_000).check
    with pytest.raises(QuotaExceeded, match=r"^This list may hold 0 tasks, and would have 1; remove or shorten "):
        carry_out_once(store, "key", "digest", lambda: add_and_answer(store, "a"))
    store.check_growth = Quota(1, 1_000).check
    assert carry_out_once(store, "key", "digest", lambda: "done") == "done"
    store.close()
