"""Under which names the service answers, which pages may call it, and which paths it has (HO-1)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import pytest

from tests.hosted.service import Site, hosting
from tests.servers import ServerRecord
from tests.wire.served import legacy

LIST: Final = legacy("list_tasks", "{}")[0]


@pytest.fixture
async def site(tasks_v1: ServerRecord, sqlite: str) -> AsyncIterator[Site]:
    names = "tasks.example.com, other.example.com:8443, [::1]"
    async with hosting(tasks_v1, sqlite, allowed_hosts=names, allowed_origins="https://app.example.com") as opened:
        yield opened


@pytest.mark.requirement("HO-1", "HTTP-2")
async def test_only_the_allowed_names_are_served(site: Site) -> None:
    statuses = {
        "tasks.example.com": 200,
        "TASKS.example.com:444": 200,
        "other.example.com:8443": 200,
        "[::1]:8000": 200,
        "other.example.com": 421,
        "tasks-example.com": 421,
        "tasks.example.com.evil.example": 421,
        "evil.example": 421,
        "127.0.0.1": 421,
    }
    found = {host: (await site.post(LIST, site.authority.token(), Host=host)).status_code for host in statuses}
    assert found == statuses


@pytest.mark.requirement("HO-1", "HTTP-2")
async def test_a_page_that_is_not_allowed_is_refused_before_its_token_is_looked_at(site: Site) -> None:
    for origin in ("https://evil.example", "null", "http://app.example.com", "https://tasks.example.com"):
        assert (await site.post(LIST, "not a token", Origin=origin)).status_code == 403, origin


@pytest.mark.requirement("HO-1")
async def test_without_allowed_origins_no_page_may_call(tasks_v1: ServerRecord, sqlite: str) -> None:
    async with hosting(tasks_v1, sqlite) as site:
        assert (await site.post(LIST, site.authority.token(), Origin="https://app.example.com")).status_code == 403


@pytest.mark.requirement("HO-1")
async def test_an_allowed_page_may_ask_first_and_read_the_answer(site: Site) -> None:
    origin = "https://app.example.com"
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,mcp-method"}
    async with site.http(Origin=origin) as client:
        leave = await client.options("/mcp", headers=asked)
    answer = await site.post(LIST, site.authority.token(), Origin=origin)
    assert (leave.status_code, leave.headers["access-control-allow-origin"]) == (200, origin)
    assert leave.headers["access-control-allow-headers"] == "authorization,mcp-method"
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, origin)
    assert "WWW-Authenticate" in answer.headers["access-control-expose-headers"]


@pytest.mark.requirement("HO-1", "HO-7")
async def test_a_probe_may_use_any_name(site: Site) -> None:
    async with site.http(Host="10.0.0.7:8000") as client:
        for path in ("/livez", "/readyz"):
            assert (await client.get(path)).status_code == 200


@pytest.mark.requirement("HO-1", "HTTP-3")
async def test_only_post_is_served_and_only_with_a_token(site: Site) -> None:
    for token, status in ((None, 401), (site.authority.token(), 405)):
        async with site.http(token) as client:
            answers = [(await client.request(method, "/mcp")).status_code for method in ("GET", "DELETE", "PUT")]
        assert answers == [status] * 3


@pytest.mark.requirement("HO-1")
async def test_there_is_nothing_at_other_paths(site: Site) -> None:
    for path in ("/", "/mcp/", "/mcp/more", "/mcp%0a", "/livez%0a", "/healthz", "/metrics"):
        assert (await site.post(LIST, site.authority.token(), path)).status_code == 404, path


@pytest.mark.requirement("HO-1", "HO-2")
async def test_the_path_of_the_public_url_is_served(tasks_v1: ServerRecord, sqlite: str) -> None:
    url = "https://tasks.example.com/people/mcp"
    async with hosting(tasks_v1, sqlite, public_url=url) as site:
        token = site.authority.token(aud=url)
        assert (await site.post(LIST, token, "/people/mcp")).status_code == 200
        assert (await site.post(LIST, token, "/mcp")).status_code == 404
        async with site.http() as client:
            described = await client.get("/.well-known/oauth-protected-resource/people/mcp")
    assert described.json()["resource"] == url


@pytest.mark.requirement("HO-7")
async def test_an_answer_names_its_request_as_the_proxy_does(site: Site) -> None:
    for given, is_kept in (("req-1.a:b", True), ("forged\tline", False), ("x" * 65, False), ("", False)):
        answer = await site.post(LIST, site.authority.token(), X_Request_Id=given)
        assert (answer.headers["X-Request-Id"] == given) is is_kept
        assert len(answer.headers["X-Request-Id"]) in (len(given) if is_kept else 16, 16)
