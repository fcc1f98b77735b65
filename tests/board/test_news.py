"""Open pages hear of every change within two seconds, whoever made it, and of what is wrong with a store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse

from task_board.servers import open_stores
from task_board.stores import BoardStore
from task_board.web import news
from task_board.web.news import News
from task_board.web.pages import Pages
from task_board.web.safety import Keys
from tests.board.board_client import PORT, Agent, address, packages
from tests.core.listening import let_others_run, until
from tests.servers import ServerRecord, record_of
from tests.wire.line_client import PATIENCE

LIMIT = 2.0
"""Seconds within which a change should appear: the board looks often enough for that."""


def open_one(record: ServerRecord, folder: Path) -> BoardStore:
    stores, _ = open_stores([f"{record.command}={address(record, folder, 'json')}"], packages())
    return stores[0]


@asynccontextmanager
async def watching(stores: list[BoardStore]) -> AsyncIterator[News]:
    found = News(stores)
    task = asyncio.create_task(found.watch())
    try:
        yield found
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        for store in stores:
            store.close()


async def hear(page: AsyncIterator[str]) -> str:
    return await asyncio.wait_for(anext(page), PATIENCE)


async def test_a_change_by_an_agent_is_reported_with_the_next_poll(
    record: ServerRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert news._SECONDS <= LIMIT / 2  # noqa: SLF001 - how often it polls
    monkeypatch.setattr(news, "_SECONDS", 0.05)
    store = open_one(record, tmp_path)
    agent = Agent(record, tmp_path)
    async with watching([store]) as found:
        page = found.listen()
        assert await hear(page) == "retry: 1000\n\n"
        assert await hear(page) == f"event: changed\ndata: {store.key}\n\n"  # what came before the page listened
        await asyncio.to_thread(agent.create, "Buy milk")
        assert await hear(page) == f"event: changed\ndata: {store.key}\n\n"
    await asyncio.to_thread(agent.close)


async def test_a_store_that_does_not_change_is_no_news(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(news, "_SECONDS", 0.01)
    monkeypatch.setattr(news, "_QUIET", 0.3)
    store = open_one(record_of("tasks-v1"), tmp_path)
    async with watching([store]) as found:
        page = found.listen()
        await hear(page), await hear(page)
        assert await hear(page) == ": still here\n\n"


async def test_what_a_person_writes_into_the_mirror_is_reported(tmp_path: Path) -> None:
    store = open_one(record_of("heartbeat"), tmp_path)
    async with watching([store]) as found:
        page = found.listen()
        await hear(page), await hear(page)
        (tmp_path / "HEARTBEAT.md").write_text("## TODO\n\n- [ ] Buy milk\n", "utf-8")
        assert await hear(page) == f"event: changed\ndata: {store.key}\n\n"
        (tmp_path / "HEARTBEAT.md").unlink()
        (tmp_path / "HEARTBEAT.md").symlink_to("HEARTBEAT.md")  # no error: what is wrong with it, the server says
        assert await hear(page) == f"event: changed\ndata: {store.key}\n\n"


@pytest.mark.parametrize("name", ["tasks-v1", "taskmaster"])
async def test_damage_and_repair_are_reported(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(news, "_SECONDS", 0.05)
    record = record_of(name)
    agent = Agent(record, tmp_path)
    await asyncio.to_thread(agent.create, "Buy milk")
    await asyncio.to_thread(agent.close)
    store, path = open_one(record, tmp_path), tmp_path / record.store()
    whole = path.read_bytes()
    async with watching([store]) as found:
        page = found.listen()
        await hear(page), await hear(page)
        for data in (b"{", whole):
            path.write_bytes(data)
            assert store.key in await hear(page)


async def test_only_the_store_that_changed_is_named_to_every_page(tmp_path: Path) -> None:
    stores = [open_one(record_of(name), tmp_path) for name in ("tasks-v1", "hierarchy")]
    agent = Agent(record_of("hierarchy"), tmp_path)
    async with watching(stores) as found:
        pages = [found.listen(), found.listen()]
        for page in pages:
            await hear(page)
        assert {await hear(pages[0]), await hear(pages[0])} == {
            f"event: changed\ndata: {key}\n\n" for key in ("tasks-v1", "hierarchy")
        }
        await hear(pages[1]), await hear(pages[1])
        await asyncio.to_thread(agent.create, "Release")
        for page in pages:
            assert await hear(page) == "event: changed\ndata: hierarchy\n\n"
    await asyncio.to_thread(agent.close)


async def test_a_quiet_connection_is_kept_and_ends_with_the_board(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(news, "_QUIET", 0.01)
    found = News([])
    page = found.listen()
    await hear(page)
    assert await hear(page) == ": still here\n\n"
    found.close()
    with pytest.raises(StopAsyncIteration):
        await hear(page)


async def test_nothing_is_looked_at_while_no_page_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(news, "_SECONDS", 0.01)
    store = open_one(record_of("tasks-v1"), tmp_path)
    looks: list[None] = []

    monkeypatch.setattr(store, "fingerprint", lambda: looks.append(None))
    async with watching([store]) as found:
        await let_others_run()
        assert not looks
        first, second = found.listen(), found.listen()
        await hear(first), await hear(second)
        await first.aclose()  # pyrefly: ignore  # a generator
        before = len(looks)
        await until(lambda: len(looks) > before + 1)  # one that had begun is not stopped
        await second.aclose()  # pyrefly: ignore  # a generator
        before = len(looks)
        await let_others_run()
        assert len(looks) <= before + 1  # the same


async def test_the_page_gets_its_news_as_a_stream_of_events() -> None:
    found = News([])
    response = await Pages({}, found, Keys(PORT)).events(Request({"type": "http"}))
    assert isinstance(response, StreamingResponse)
    assert response.media_type == "text/event-stream"
    stream = aiter(response.body_iterator)
    assert await anext(stream) == "retry: 1000\n\n"
    found.report("tasks-v1")
    assert await anext(stream) == "event: changed\ndata: tasks-v1\n\n"
    await stream.aclose()  # pyrefly: ignore  # a generator
