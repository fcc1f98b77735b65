"""Limits of a tenant's requests, and the answers beyond them (HO-4)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Final

import pytest
from starlette.types import Message

from task_hosted.service import limits as limits_module
from task_hosted.service.limits import MAX_CALLS, Limits, Refusal
from task_hosted.service.settings import HostedSettings
from tests.core.listening import Clock
from tests.hosted.service import Moment, Site, hosting, make_scope
from tests.servers import ServerRecord
from tests.wire.served import legacy

LIST: Final = legacy("list_tasks", "{}")[0]


def settings(**values: float) -> HostedSettings:
    usual = {
        "task_auth_issuer": "https://issuer.example.com",
        "task_public_url": "https://tasks.example.com/mcp",
        "task_allowed_hosts": "tasks.example.com",
    }
    return HostedSettings.model_validate(usual | {f"task_{name}": value for name, value in values.items()})


@contextmanager
def under_way(limits: Limits, tenant: str, *, is_stream: bool = False) -> Iterator[None]:
    with limits.admit(tenant, is_stream=is_stream), limits.occupy(is_stream=is_stream):
        yield


def refusal_of(limits: Limits, tenant: str = "ada", *, is_stream: bool = False) -> tuple[int, str] | None:
    """Return the status and Retry-After of the answer to one more request, or None if it is let in."""
    try:
        with under_way(limits, tenant, is_stream=is_stream):
            return None
    except Refusal as refused:
        return refused.status, refused.headers["Retry-After"]


@pytest.mark.requirement("HO-4")
def test_a_tenant_may_call_in_a_burst_and_then_at_its_rate() -> None:
    clock = Moment()
    limits = Limits(settings(calls_per_second=0.5, calls_burst=3), clock)
    assert [refusal_of(limits) for _ in range(4)] == [None, None, None, (429, "2")]
    assert refusal_of(limits, "bob") is None
    clock.seconds = 1.0
    assert refusal_of(limits) == (429, "1")
    clock.seconds = 2.0
    assert [refusal_of(limits), refusal_of(limits)] == [None, (429, "2")]
    clock.seconds = 1_000.0
    assert [refusal_of(limits) for _ in range(4)] == [None, None, None, (429, "2")]


@pytest.mark.requirement("HO-4")
def test_a_tenant_has_so_many_calls_and_streams_at_a_time() -> None:
    limits = Limits(settings(calls_in_flight=2, streams=1))
    with ExitStack() as calls:
        for _ in range(2):
            calls.enter_context(under_way(limits, "ada"))
        assert refusal_of(limits) == (429, "1")
        assert refusal_of(limits, "bob") is None
        with under_way(limits, "ada", is_stream=True):
            assert refusal_of(limits, is_stream=True) == (429, "1")
            assert (limits.calls, limits.streams) == (2, 1)
    assert refusal_of(limits) is refusal_of(limits, is_stream=True) is None
    assert (limits.calls, limits.streams) == (0, 0)


@pytest.mark.requirement("HO-4")
def test_a_replica_has_so_many_calls_at_a_time_and_streams_beside_them() -> None:
    limits = Limits(settings(calls_in_flight=40))
    with ExitStack() as calls:
        for number in range(MAX_CALLS):
            calls.enter_context(under_way(limits, f"user {number % 2}"))
        assert refusal_of(limits, "ada") == (503, "1")
        assert refusal_of(limits, "ada", is_stream=True) is None
    assert refusal_of(limits, "ada") is None


@pytest.mark.requirement("HO-4")
def test_a_tenant_that_was_quiet_is_forgotten_and_one_that_is_busy_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "_MAX_KNOWN", 100)
    clock = Moment()
    limits = Limits(settings(calls_per_second=1, calls_burst=1), clock)
    with limits.admit("busy", is_stream=True):
        for number in range(201):
            clock.seconds += 0.1
            assert refusal_of(limits, f"user {number}") is None
        assert refusal_of(limits, "user 200") == (429, "1")
        clock.seconds += 1
        assert [refusal_of(limits, "busy", is_stream=True), refusal_of(limits, "user 200")] == [None, None]


@pytest.mark.requirement("HO-4")
def test_busy_tenants_are_scanned_again_only_when_their_number_has_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "_MAX_KNOWN", 100)
    readings = count()
    limits = Limits(settings(), lambda: next(readings) * 1e-9)
    for number in range(300):
        assert refusal_of(limits, f"user {number}") is None
    assert next(readings) == 2 * 300 + 2  # two for each new tenant, and one for each scan


@pytest.fixture
async def site(tasks_v1: ServerRecord, sqlite: str) -> AsyncIterator[Site]:
    async with hosting(tasks_v1, sqlite, calls_burst=3, calls_per_second=0.001, calls_in_flight=1) as opened:
        yield opened


@pytest.mark.requirement("HO-4")
async def test_what_is_too_much_is_refused_before_its_body_is_read_in_words_that_a_client_shows(site: Site) -> None:
    for _ in range(3):
        assert (await site.post(LIST, site.authority.token())).status_code == 200
    answer = await site.post(b'{"id":7,"method":"x",not JSON', site.authority.token())
    assert (answer.status_code, int(answer.headers["Retry-After"]) > 900) == (429, True)
    assert (answer.json()["id"], answer.json()["error"]["code"]) == (7, -32603)
    assert answer.json()["error"]["message"] == "This is more than 0.001 calls a second: wait a moment."
    assert (await site.post(LIST, site.authority.token("bob"))).status_code == 200


async def ask(site: Site, messages: list[Message | None]) -> list[Message]:
    """Send one request piece by piece, the rest never after ``None``; return what comes back."""
    sent: list[Message] = []

    async def receive() -> Message:
        message = messages.pop(0) if messages else None
        if message is None:
            await asyncio.get_running_loop().create_future()
        assert message
        return message

    async def send(message: Message) -> None:
        sent.append(message)

    await site.hosted.app(make_scope(site.authority.token(), {}), receive, send)
    return sent


@pytest.mark.requirement("HO-4")
async def test_a_body_that_has_not_arrived_after_10_seconds_is_given_up(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.post(LIST, site.authority.token())
    clock = Clock.put_into(asyncio.get_running_loop(), monkeypatch)
    beginning: Message = {"type": "http.request", "body": b'{"jsonrpc"', "more_body": True}
    asked = asyncio.ensure_future(ask(site, [beginning, None]))
    await clock.move(10.0)
    start = (await asked)[0]
    assert start["status"] == 408
    assert (b"connection", b"close") in start["headers"]
    assert (await site.post(LIST, site.authority.token())).status_code == 200


@pytest.mark.requirement("HO-4")
async def test_an_answer_that_its_client_does_not_take_for_10_seconds_is_dropped(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.post(LIST, site.authority.token())
    clock = Clock.put_into(asyncio.get_running_loop(), monkeypatch)
    sent: list[Message] = []
    is_stuck = asyncio.Event()

    async def receive() -> Message:
        return {"type": "http.request", "body": LIST}

    async def send(message: Message) -> None:
        sent.append(message)
        is_stuck.set()
        await asyncio.get_running_loop().create_future()

    asked = asyncio.ensure_future(site.hosted.app(make_scope(site.authority.token(), {}), receive, send))
    await is_stuck.wait()
    assert site.hosted.limits.calls == 1
    await clock.move(10.0)
    await asked
    assert [message["type"] for message in sent] == ["http.response.start"]
    assert (await site.post(LIST, site.authority.token())).status_code == 200


@pytest.mark.requirement("HO-4")
async def test_bodies_that_are_still_arriving_take_no_place_of_the_replica(tasks_v1: ServerRecord, sqlite: str) -> None:
    async with hosting(tasks_v1, sqlite) as site:
        with ExitStack() as slow:
            for number in range(MAX_CALLS):
                slow.enter_context(site.hosted.limits.admit(f"user {number}", is_stream=False))
            assert (await site.post(LIST, site.authority.token())).status_code == 200
        with ExitStack() as calls:
            for _ in range(MAX_CALLS):
                calls.enter_context(site.hosted.limits.occupy(is_stream=False))
            answer = await site.post(LIST, site.authority.token())
    assert (answer.status_code, answer.headers["Retry-After"], answer.json()["id"]) == (503, "1", 7)


@pytest.mark.requirement("HO-4")
async def test_a_refusal_waits_only_a_moment_for_the_id_of_its_request(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        await site.post(LIST, site.authority.token())
    clock = Clock.put_into(asyncio.get_running_loop(), monkeypatch)
    asked = asyncio.ensure_future(ask(site, [None]))
    await clock.move(1.0)
    start, body = await asked
    assert (start["status"], json.loads(body["body"])["id"]) == (429, None)


@pytest.mark.requirement("HO-4")
async def test_a_client_that_goes_away_within_its_body_gets_no_answer(site: Site) -> None:
    assert await ask(site, [{"type": "http.request", "more_body": True}, {"type": "http.disconnect"}]) == []


@pytest.mark.requirement("HO-4", "HTTP-5")
async def test_a_body_of_more_than_4_mib_is_refused(site: Site) -> None:
    assert (await site.post(b" " * (4 * 1024 * 1024 + 1), site.authority.token())).status_code == 413


@pytest.mark.requirement("HO-4")
async def test_a_call_that_says_it_is_a_stream_is_refused(site: Site) -> None:
    answer = await site.post(LIST, site.authority.token(), Mcp_Method="subscriptions/listen")
    assert (answer.status_code, answer.json()["error"]["message"]) == (
        400,
        "The header Mcp-Method must name the method of the message.",
    )
    response = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    assert (await site.post(response, site.authority.token(), Mcp_Method="subscriptions/listen")).status_code == 400
