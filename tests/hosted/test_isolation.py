"""Tenants see nothing of each other, in anything that a client can ask for (HO-3)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest
from pydantic import JsonValue

from task_core.text import nearest
from task_hosted.service.tokens import make_tenant
from tests.hosted.service import Site, hosting
from tests.servers import MADE, ServerRecord


@pytest.fixture
async def site(served: tuple[ServerRecord, str]) -> AsyncIterator[Site]:
    async with hosting(*served) as opened:
        yield opened


def masked(answer: object, task_id: str) -> str:
    return json.dumps(answer, sort_keys=True).replace(task_id, "ID")


def unknown_id(like: str) -> str:
    """Return an id of the same form that nobody has."""
    return like[:-4] + ("ZZZZ" if like[-1].isupper() or like[-1].isdigit() else "zzzz")


async def token_with_another_task(site: Site, *ids: str) -> str:
    """Return the token of a user with a task whose random id errors suggest for all of ``ids``, or for none."""
    for user in map(str, range(100)):
        own = await site.create(user)
        if len({bool(nearest(task_id, [own])) for task_id in ids}) == 1:
            return site.authority.token(user)
    raise AssertionError


@pytest.mark.requirement("HO-3", "TOOL-6", "RES-7", "EN-21")
async def test_a_tenant_sees_its_own_tasks_and_nothing_of_others(site: Site) -> None:
    for user in ("ada", "bob"):
        async with site.client(user) as client:
            made = await client.call_tool(site.record.create, {site.record.text: f"of {user}"})
            assert not made.is_error
    assert await site.texts("ada") == ["of ada"]
    assert await site.texts("bob") == ["of bob"]
    assert await site.texts("eve") == []
    await check_foreign_ids(site)
    await check_resources(site)
    await check_tokens_of_changes(site)


async def check_foreign_ids(site: Site) -> None:
    """Check that a foreign id gets the same answer as an unknown one, byte for byte."""
    record = site.record
    foreign = await site.create("ada of ids")
    unknown = unknown_id(foreign)
    token = await token_with_another_task(site, foreign, unknown)
    for tool, sample in record.calls.items():
        if MADE in sample.values():
            answers = [await site.call(token, tool, **record.call(tool, task_id)) for task_id in (foreign, unknown)]
            assert answers[0]["error"]["code"] == "TaskNotFound"
            assert masked(answers[0], foreign) == masked(answers[1], unknown)
    assert await site.texts("ada of ids") == ["a task"]


async def check_resources(site: Site) -> None:
    """Check that resources and completions show nothing of another tenant."""
    foreign = await site.create("ada of resources", "a secret")

    async def ask(method: str, params: Mapping[str, JsonValue]) -> dict[str, Any]:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        answer: dict[str, Any] = (await site.post(body, site.authority.token("bob of resources"))).json()
        return answer

    unknown = unknown_id(foreign)
    read = [await ask("resources/read", {"uri": f"tasks://{task_id}"}) for task_id in (foreign, unknown)]
    assert "error" in read[0]
    assert masked(read[0], foreign) == masked(read[1], unknown)
    for uri in ("tasks://list", "tasks://summary"):
        shown = json.dumps(await ask("resources/read", {"uri": uri}))
        assert "secret" not in shown
        assert foreign not in shown
    ref: dict[str, JsonValue] = {"type": "ref/resource", "uri": "tasks://{id}"}
    completed = await ask("completion/complete", {"ref": ref, "argument": {"name": "id", "value": foreign[:3]}})
    assert completed["result"]["completion"]["values"] == []


async def check_tokens_of_changes(site: Site) -> None:
    """Check that a token of changes is worth nothing to another tenant."""
    ada, bob = (site.authority.token(user) for user in ("ada of changes", "bob of changes"))
    await site.create("bob of changes")
    since = (await site.call(ada, "list_changes"))["token"]
    await site.create("ada of changes", "a secret")
    answer = await site.call(bob, "list_changes", since=since)
    assert "secret" not in json.dumps(answer)
    fresh = (await site.call(ada, "list_changes", since=since))["token"]
    refused = await site.call(bob, "list_changes", since=fresh)
    assert (refused["reset"], refused["changes"]) == (True, [])


@pytest.mark.requirement("HO-3")
async def test_a_cursor_of_one_tenant_shows_another_only_its_own_tasks(tasks_v1: ServerRecord, store: str) -> None:
    async with hosting(tasks_v1, store) as site:
        for number in range(3):
            await site.create("ada", f"secret {number}")
            await site.create("bob", f"own {number}")
        page = await site.call(site.authority.token("ada"), "list_tasks", limit=1)
        answer = await site.call(site.authority.token("bob"), "list_tasks", limit=10, cursor=page["next_cursor"])
        assert {task["title"] for task in answer["tasks"]} <= {"own 0", "own 1", "own 2"}


@pytest.mark.requirement("HO-3")
async def test_the_tenant_is_the_claim_that_was_chosen(tasks_v1: ServerRecord, sqlite: str) -> None:
    async with hosting(tasks_v1, sqlite, tenant_claim="org") as site:
        ada = site.authority.token("ada", org="acme")
        await site.call(ada, "create_task", title="of the team")
        listed = await site.call(site.authority.token("bob", org="acme"), "list_tasks")
        assert [task["title"] for task in listed["tasks"]] == ["of the team"]
        assert (await site.call(site.authority.token("acme", org="ada"), "list_tasks"))["tasks"] == []
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        assert [
            (await site.post(body, site.authority.token("ada", **claims))).status_code
            for claims in ({"no_org": ""}, {"org": ""}, {"org": 7}, {"org": ["acme"]}, {"org": "a" * 500})
        ] == [401] * 5


@pytest.mark.requirement("HO-3")
async def test_users_of_two_issuers_are_two_tenants(tasks_v1: ServerRecord, sqlite: str) -> None:
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(hosting(tasks_v1, sqlite)) for _ in range(2)]
        await first.create("ada", "of the first")
        assert await second.texts("ada") == []


@pytest.mark.requirement("HO-3")
async def test_no_header_and_no_argument_chooses_the_tenant(tasks_v1: ServerRecord, sqlite: str) -> None:
    headers = {"X_Tenant": "ada", "X_Forwarded_User": "ada", "Task_Tenant": "ada"}
    async with hosting(tasks_v1, sqlite) as site:
        await site.create("ada")
        call = (
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_tasks","arguments":{"tenant":"ada"}}}'
        )
        answer = (await site.post(call.encode(), site.authority.token("bob"), **headers)).json()
        assert answer["result"]["structuredContent"]["error"]["code"] == "InvalidArguments"
        async with site.http(site.authority.token("bob"), **headers) as client:
            listed = await client.post("/mcp", content=call.replace('"tenant":"ada"', ""))
        assert listed.json()["result"]["structuredContent"]["tasks"] == []


@pytest.mark.requirement("HO-3")
def test_two_values_never_make_the_same_tenant() -> None:
    issuers = ("https://issuer.example.com", "https://issuer.example.com/a")
    values = ("a", "A", " a", "a ", "sub=a", " sub=a", "a\0", "\0", "é", "e\u0301")
    made = {make_tenant(issuer, claim, value) for issuer in issuers for claim in ("sub", "org") for value in values}
    assert len(made) == 2 * 2 * len(values)


@pytest.mark.requirement("HO-3")
def test_a_tenant_has_at_most_500_bytes_and_is_well_formed() -> None:
    issuer = "https://issuer.example.com"
    room = 500 - len(f"{issuer} sub=")
    assert make_tenant(issuer, "sub", "a" * room)
    for value in ("a" * (room + 1), "é" * (room // 2 + 1), "", "\ud800", 7, None):
        assert make_tenant(issuer, "sub", value) is None
