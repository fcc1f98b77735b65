"""News costs nothing while nobody listens, little while somebody does, and misses nothing that others do (EN-20)."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.subscriptions import Subscription
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from task_core.server.app import TaskServer
from task_core.server.overview import LIST_URI, SUMMARY_URI
from task_core.server.resources import TaskResources
from task_core.server.subscriptions import LOOK_SECONDS
from task_core.store import Kind, MemoryDatabase, Store
from task_core.warning_list import WarningList
from tests.core.listening import Clock, following, let_others_run, older, until
from tests.core.notes import Note, add, open_store
from tests.core.shelf import Shelf
from tests.postgres import needs_postgres

pytestmark = [
    pytest.mark.requirement("EN-20", "RES-6"),
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),  # the older era is what some tests are about
]

LIST, SUMMARY, WALLS = ResourceUpdated(LIST_URI), ResourceUpdated(SUMMARY_URI), ResourceUpdated("tasks://walls")

EACH_ENGINE = pytest.mark.parametrize(
    "name", ["notes.json", "notes.db", pytest.param("notes.pg", marks=needs_postgres)]
)


@pytest.fixture(autouse=True)
async def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the event loop, which stands still until a test moves it."""
    return Clock.put_into(asyncio.get_running_loop(), monkeypatch)


def serving(store: Store[Any]) -> TaskServer:
    """Return a server that reports changes in ``store`` and does nothing else."""
    server = TaskServer("news", title="News", version="1", instructions="", warnings=WarningList())
    server.offer(TaskResources(store, dict, lambda _: {}, str))
    return server


class Looks:
    """How often a store was looked at."""

    def __init__(self, shelf: Shelf) -> None:
        self.count = 0
        shelf.trouble = self._look

    def _look(self) -> None:
        self.count += 1


class Work:
    """What databases that were opened while it watched have done since it was last reset."""

    def __init__(self) -> None:
        self.statements: Counter[str] = Counter()
        self.steps = 0
        """of the virtual machine of SQLite: of a scan they are as many as its rows"""
        self.steps_before: list[int] = []
        """the steps that were done when each statement began"""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch databases that are opened in the block."""

        def connect(address: str, **options: object) -> sqlite3.Connection:
            connection: sqlite3.Connection = real(address, **options)
            connection.set_trace_callback(self._note)
            connection.set_progress_handler(self._step, 1)
            return connection

        real: Callable[..., sqlite3.Connection] = sqlite3.connect
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sqlite3, "connect", connect)
            yield

    def reset(self) -> None:
        self.statements.clear()
        self.steps_before.clear()
        self.steps = 0

    def _note(self, statement: str) -> None:
        self.steps_before.append(self.steps)
        self.statements[re.sub(r"\d+", "0", statement)] += 1  # which revision it is makes no difference

    def _step(self) -> int:
        self.steps += 1
        return 0


def shelf_of(count: int) -> tuple[Shelf, Work]:
    """Return a shelf with so many notes, all seen at work."""
    work = Work()
    with work.watching():
        shelf = Shelf()
        add(shelf.store, *[f"t{number:05}" for number in range(count)])
    return shelf, work


async def test_the_store_is_looked_at_once_a_second_while_somebody_listens_and_the_fifth_time_for_claims_too(
    clock: Clock,
) -> None:
    shelf = Shelf()
    looks = Looks(shelf)
    async with Client(shelf.server.sdk) as client, client.listen(resource_subscriptions=[LIST_URI]):
        begun = looks.count
        for second in range(1, 6):
            await clock.move(LOOK_SECONDS)
            await until(lambda second=second: looks.count == begun + second + (second >= 4))
        await let_others_run()
        assert looks.count == begun + 6


@pytest.mark.requirement("TM-90")
async def test_a_change_of_a_record_that_holds_many_tasks_concerns_each_that_is_listened_for(clock: Clock) -> None:
    store = Store(MemoryDatabase(), Kind("many", Note, holds_many=True))
    async with (
        Client(serving(store).sdk) as client,
        client.listen(resource_subscriptions=["tasks://walls", "tasks://5.2"]) as news,
    ):
        await let_others_run()
        add(store, "master")
        await clock.move(LOOK_SECONDS)
        assert {event.uri for event in await following(news, 2)} == {"tasks://walls", "tasks://5.2"}  # pyrefly: ignore


async def test_no_look_is_taken_while_nobody_listens(clock: Clock) -> None:
    shelf = Shelf()
    looks = Looks(shelf)
    async with Client(shelf.server.sdk) as client:
        await client.call_tool("put", {"name": "walls"})
        async with client.listen(resources_list_changed=True) as news:
            await client.call_tool("put", {"name": "roof"})
            assert await following(news, 1) == [ResourcesListChanged()]
        listened = looks.count
        await clock.move(LOOK_SECONDS)  # the watch finds that nobody listens any more
        for name in ("floor", "door"):
            await client.call_tool("put", {"name": name})
            await let_others_run()
        assert looks.count == listened


async def test_after_a_pause_a_listener_is_notified_only_of_later_changes(clock: Clock) -> None:
    shelf = Shelf()
    async with Client(shelf.server.sdk) as client:
        async with client.listen(resource_subscriptions=["tasks://walls"]):
            pass
        await clock.move(LOOK_SECONDS)
        await client.call_tool("put", {"name": "walls"})
        async with client.listen(resource_subscriptions=["tasks://walls", LIST_URI]) as news:
            await client.call_tool("put", {"name": "roof"})
            assert await following(news, 1) == [LIST]


@EACH_ENGINE
async def test_a_change_by_another_process_is_notified_within_a_second(tmp_path: Path, name: str, clock: Clock) -> None:
    theirs = open_store(tmp_path / name)
    add(theirs, "walls", "roof")
    async with older(serving(open_store(tmp_path / name)), LIST_URI, "tasks://walls") as told:
        with theirs.transaction() as notes:
            notes.replace(Note(id="walls", text="new"))
        await clock.move(LOOK_SECONDS)
        assert await told.next(2) == [LIST, WALLS]
        with theirs.transaction() as notes:
            notes.replace(Note(id="roof", text="new"))
        await clock.move(LOOK_SECONDS)
        assert await told.next(1) == [LIST]
        with theirs.transaction() as notes:
            notes.remove("walls")
        await clock.move(LOOK_SECONDS)
        assert await told.next(3) == [LIST, WALLS, ResourcesListChanged()]


async def test_an_edit_by_a_person_is_notified_within_a_second(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "notes.json"
    add(open_store(path), "walls", "roof")
    async with older(serving(open_store(path)), LIST_URI, "tasks://walls", "tasks://roof") as told:
        path.write_bytes(path.read_bytes().replace(b'"text":""', b'"text":"by hand"', 1))
        await clock.move(LOOK_SECONDS)
        assert await told.next(2) == [LIST, WALLS]


async def test_where_another_store_takes_the_place_everything_may_have_changed(tmp_path: Path, clock: Clock) -> None:
    ours, other = open_store(tmp_path / "notes.db"), open_store(tmp_path / "other.db")
    for store in (ours, other):
        add(store, "walls", "roof")
        store.close()
    async with older(serving(ours), LIST_URI, "tasks://walls") as told:
        os.replace(tmp_path / "other.db", tmp_path / "notes.db")
        await clock.move(LOOK_SECONDS)
        assert await told.next(3) == [LIST, WALLS, ResourcesListChanged()]


async def test_more_changes_than_one_page_are_one_notification(clock: Clock) -> None:
    store = Store(MemoryDatabase(), Kind("notes", Note))
    async with older(serving(store), LIST_URI, "tasks://t1099") as told:
        add(store, *[f"t{number}" for number in range(1_100)])
        await clock.move(LOOK_SECONDS)
        assert await told.next(3) == [LIST, ResourceUpdated("tasks://t1099"), ResourcesListChanged()]
        assert told.events == []


async def test_a_change_in_a_tree_is_notified_for_the_task_and_its_ancestors(clock: Clock) -> None:
    store = Store(MemoryDatabase(), Kind("tree", Note, is_tree=True))
    with store.transaction() as tree:
        for name, parent in (("house", ""), ("walls", "house"), ("brick", "walls"), ("roof", "house")):
            tree.add(Note(id=name), parent)
    uris = [f"tasks://{name}" for name in ("brick", "house", "roof", "walls")]
    async with older(serving(store), *uris) as told:
        with store.transaction() as tree:
            tree.replace(Note(id="brick", text="red"))
        await clock.move(LOOK_SECONDS)
        assert await told.next(3) == [ResourceUpdated(uris[0]), ResourceUpdated(uris[1]), ResourceUpdated(uris[3])]
        with store.transaction() as tree:
            tree.remove("brick")
        await clock.move(LOOK_SECONDS)
        removed = [ResourceUpdated(uris[0]), ResourceUpdated(uris[1]), ResourceUpdated(uris[3])]
        assert await told.next(4) == [*removed, ResourcesListChanged()]


async def costs_of_calls(count: int) -> tuple[Counter[str], Counter[str]]:
    """Return what more is done for a call that reads, and for one that writes, when somebody listens than when not."""
    shelf, work = shelf_of(count)

    async def cost_of(tool: str, news: Subscription | None = None) -> Counter[str]:
        work.reset()
        await client.call_tool(tool, {"name": "t00001"})
        if news and tool == "rewrite":
            assert await following(news, 2) == [LIST, ResourceUpdated("tasks://t00001")]
        await let_others_run()
        assert work.statements
        return work.statements.copy()

    async with Client(shelf.server.sdk) as client:
        alone = [await cost_of(tool) for tool in ("look", "rewrite")]
        many = [f"tasks://t{number:05}" for number in range(count)]
        async with client.listen(resource_subscriptions=[LIST_URI, *many]) as news:
            await let_others_run()
            listened_to = [await cost_of(tool, news) for tool in ("look", "rewrite")]
    assert [before - after for before, after in zip(alone, listened_to, strict=True)] == [Counter(), Counter()]
    reading, writing = (after - before for before, after in zip(alone, listened_to, strict=True))
    return reading, writing


async def test_a_call_costs_the_same_with_a_subscriber_as_without() -> None:
    (reading, writing), (reading_of_many, writing_of_many) = await costs_of_calls(10), await costs_of_calls(200)
    assert reading == reading_of_many == Counter()
    assert writing == writing_of_many, "one look, after the answer"
    assert writing.total() == 3
    assert all(statement.lstrip().startswith("SELECT") for statement in writing)


async def steps_of_a_look(count: int, clock: Clock, *, is_changed: bool) -> int:
    """Return the work of the look that a second brings among so many notes, after one has changed or none."""
    shelf, work = shelf_of(count)
    async with older(shelf.server, LIST_URI, "tasks://t00001") as told:
        if is_changed:
            with shelf.store.transaction() as notes:
                notes.replace(Note(id="t00001", text="new"))
        work.reset()
        await clock.move(LOOK_SECONDS)
        if is_changed:
            await until(lambda: len(told.events) == 2)
            steps = work.steps
        else:
            await until(lambda: len(work.steps_before) == 2)
            await clock.move(LOOK_SECONDS)  # the next look begins once this one has ended
            await until(lambda: len(work.steps_before) > 2)
            steps = work.steps_before[2]
    shelf.server.end_streams()  # the clock is not to move for a server that nobody looks at any more
    return steps


@pytest.mark.parametrize("is_changed", [True, False], ids=["a change", "no change"])
async def test_a_look_costs_as_much_among_many_as_among_ten(clock: Clock, *, is_changed: bool) -> None:
    among_ten = await steps_of_a_look(10, clock, is_changed=is_changed)
    assert 0 < among_ten < 250
    assert await steps_of_a_look(500, clock, is_changed=is_changed) == among_ten
