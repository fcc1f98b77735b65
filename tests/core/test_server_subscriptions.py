"""Who wants to know is told which resources changed, in both eras, and nobody else is (RES-6)."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest
from mcp.client import Client
from mcp.client.subscriptions import Subscription
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp_types import INVALID_PARAMS, ResourceListChangedNotification, ResourceUpdatedNotification

from task_core.server.resources import LIST_URI, SUMMARY_URI, task_uri
from task_core.server.subscriptions import MAX_SUBSCRIPTIONS
from tests.core.notes import DEADLINE, Note, add
from tests.core.shelf import Shelf

pytestmark = [
    pytest.mark.requirement("RES-6"),
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),  # the older era is what some tests are about
]

LIST, SUMMARY, WALLS = ResourceUpdated(LIST_URI), ResourceUpdated(SUMMARY_URI), ResourceUpdated("tasks://walls")


@pytest.fixture
def shelf() -> Shelf:
    made = Shelf()
    add(made.store, "walls", "roof")
    return made


class Told:
    """A client of the older era and what it was told, in order."""

    def __init__(self) -> None:
        self.events: list[ServerEvent] = []
        self.client: Client

    async def hear(self, message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            self.events.append(ResourceUpdated(message.params.uri))
        elif isinstance(message, ResourceListChangedNotification):
            self.events.append(ResourcesListChanged())

    async def call(self, tool: str, name: str) -> list[ServerEvent]:
        """Call a tool and return what was told before its answer came."""
        self.events.clear()
        await self.client.call_tool(tool, {"name": name})
        return list(self.events)


@asynccontextmanager
async def older(shelf: Shelf, *uris: str) -> AsyncIterator[Told]:
    told = Told()
    async with Client(shelf.server.sdk, mode="legacy", message_handler=told.hear) as told.client:
        for uri in uris:
            await told.client.subscribe_resource(uri)
        yield told


async def following(subscription: Subscription, count: int) -> list[ServerEvent]:
    """Return the next events; they must come."""
    with anyio.fail_after(20):
        return [await anext(subscription) for _ in range(count)]


class Held:
    """A look at the shelf that has begun and may not go on yet."""

    def __init__(self) -> None:
        self.count = 0
        self._begun, self._may_go_on = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.count += 1
        self._begun.set()
        assert self._may_go_on.wait(DEADLINE)

    async def begun(self, turns: int = 1_000) -> None:
        """Return once the look has begun, and all who wait in the event loop had so many turns since."""
        with anyio.fail_after(DEADLINE):
            while not self._begun.is_set():
                await anyio.lowlevel.checkpoint()
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()

    def go_on(self) -> None:
        self._may_go_on.set()


async def test_a_subscriber_of_the_older_era_is_told_what_it_subscribed_to(shelf: Shelf) -> None:
    async with older(shelf, LIST_URI, "tasks://walls") as told:
        assert await told.call("rewrite", "walls") == [LIST, WALLS]
        assert await told.call("rewrite", "roof") == [LIST]


async def test_a_task_that_comes_changes_the_list_of_what_can_be_read(shelf: Shelf) -> None:
    async with older(shelf, SUMMARY_URI, "tasks://new") as told:
        assert await told.call("put", "new") == [SUMMARY, ResourceUpdated("tasks://new"), ResourcesListChanged()]


async def test_who_did_not_subscribe_or_does_no_more_is_told_nothing(shelf: Shelf) -> None:
    async with older(shelf) as told:
        assert await told.call("put", "a") == []
        await told.client.subscribe_resource(LIST_URI)
        assert await told.call("rewrite", "a") == [LIST]
        await told.client.unsubscribe_resource(LIST_URI)
        await told.client.unsubscribe_resource(SUMMARY_URI)
        assert await told.call("rewrite", "a") == []


async def test_a_call_that_changes_nothing_or_fails_tells_nothing(shelf: Shelf) -> None:
    async with older(shelf, LIST_URI) as told:
        assert await told.call("look", "walls") == []
        assert await told.call("rewrite", "floor") == []


async def test_what_others_changed_is_told_at_the_next_call(shelf: Shelf) -> None:
    async with older(shelf, LIST_URI) as told:
        add(shelf.store, "theirs")
        assert told.events == []
        assert await told.call("look", "walls") == [LIST, ResourcesListChanged()]


async def test_the_next_client_begins_without_the_subscriptions_of_the_last(shelf: Shelf) -> None:
    async with older(shelf, LIST_URI):
        pass
    async with older(shelf, SUMMARY_URI) as told:
        assert await told.call("rewrite", "walls") == [SUMMARY]


async def test_a_call_succeeds_where_nothing_can_be_looked_for(shelf: Shelf) -> None:
    async with older(shelf, LIST_URI) as told:
        shelf.trouble = shelf.unreadable
        assert await told.call("put", "new") == []
        shelf.trouble = lambda: None
        assert await told.call("look", "walls") == [LIST, ResourcesListChanged()]


async def test_one_may_subscribe_to_a_store_that_cannot_be_read_yet(shelf: Shelf) -> None:
    shelf.trouble = shelf.unreadable
    async with older(shelf, LIST_URI) as told:
        shelf.trouble = lambda: None
        assert await told.call("look", "walls") == [LIST, ResourcesListChanged()]


@pytest.mark.requirement("RES-7")
async def test_one_cannot_subscribe_to_what_is_no_resource(shelf: Shelf) -> None:
    async with older(shelf) as told:
        with pytest.raises(MCPError) as caught:
            await told.client.subscribe_resource("notes://walls")
    assert caught.value.code == INVALID_PARAMS
    assert caught.value.data == {"code": "ResourceNotFound", "uri": "notes://walls"}


async def test_subscriptions_have_a_limit(shelf: Shelf) -> None:
    async with older(shelf, *[task_uri(f"t{number}") for number in range(MAX_SUBSCRIPTIONS)]) as told:
        with pytest.raises(MCPError) as caught:
            await told.client.subscribe_resource(LIST_URI)
        assert (caught.value.code, caught.value.data["code"]) == (INVALID_PARAMS, "InvalidArguments")
        await told.client.subscribe_resource(task_uri("t0"))


@pytest.mark.requirement("P3")
async def test_the_uris_of_all_streams_together_have_a_limit(shelf: Shelf) -> None:
    many = [task_uri(f"t{number}") for number in range(MAX_SUBSCRIPTIONS - 1)]
    async with Client(shelf.server.sdk) as client, client.listen(resource_subscriptions=[LIST_URI]):
        async with client.listen(resource_subscriptions=many):
            for uris in ([SUMMARY_URI], [many[0]], many + many):
                with pytest.raises(MCPError) as caught:
                    await client.listen(resource_subscriptions=uris).__aenter__()
                assert (caught.value.code, caught.value.data["code"]) == (INVALID_PARAMS, "InvalidArguments")
        async with client.listen(resource_subscriptions=many) as news:
            assert news.honored.resource_subscriptions == many


@pytest.mark.requirement("P3")
async def test_a_uri_may_be_as_long_as_that_of_a_task_and_not_longer(shelf: Shelf) -> None:
    longest, longer = task_uri("\U0001f600" * 500), task_uri("\U0001f600" * 501)
    async with older(shelf, longest) as told:
        with pytest.raises(MCPError, match="characters") as caught:
            await told.client.subscribe_resource(longer)
        assert (caught.value.code, caught.value.data["code"]) == (INVALID_PARAMS, "InvalidArguments")
    async with Client(shelf.server.sdk) as client, client.listen(resource_subscriptions=[longest]):
        with pytest.raises(MCPError, match="characters") as caught:
            await client.listen(resource_subscriptions=[longer]).__aenter__()
        assert (caught.value.code, caught.value.data["code"]) == (INVALID_PARAMS, "InvalidArguments")


async def test_those_who_come_first_together_begin_with_one_look(shelf: Shelf) -> None:
    shelf.trouble = look = Held()
    async with older(shelf) as told, anyio.create_task_group() as tasks:
        tasks.start_soon(told.client.subscribe_resource, LIST_URI)
        tasks.start_soon(told.client.subscribe_resource, "tasks://walls")
        await look.begun()
        look.go_on()
    assert look.count == 1


@pytest.mark.requirement("P3")
async def test_the_limit_holds_for_those_who_come_first_together(shelf: Shelf) -> None:
    shelf.trouble = look = Held()
    refused = list[str]()

    async def subscribe(number: int) -> None:
        try:
            await told.client.subscribe_resource(task_uri(f"t{number}"))
        except MCPError as error:
            refused.append(error.data["code"])

    async with older(shelf) as told, anyio.create_task_group() as tasks:
        for number in range(MAX_SUBSCRIPTIONS + 2):
            tasks.start_soon(subscribe, number)
        await look.begun(turns=20 * MAX_SUBSCRIPTIONS)
        look.go_on()
    assert refused == ["InvalidArguments"] * 2


async def test_who_subscribes_during_a_look_is_told_what_it_finds(shelf: Shelf) -> None:
    async with older(shelf, LIST_URI) as told:
        shelf.trouble = look = Held()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(told.call, "look", "walls")
            await look.begun()
            await told.client.subscribe_resource("tasks://walls")
            with shelf.store.transaction() as notes:
                notes.replace(Note(id="walls", text="new"))
            look.go_on()
        assert told.events == [LIST, WALLS]


async def test_a_listener_of_the_modern_era_is_told_what_it_asked_for(shelf: Shelf) -> None:
    async with (
        Client(shelf.server.sdk) as client,
        client.listen(resources_list_changed=True, resource_subscriptions=[LIST_URI, "tasks://new"]) as news,
    ):
        await client.call_tool("put", {"name": "new"})
        assert await following(news, 3) == [LIST, ResourceUpdated("tasks://new"), ResourcesListChanged()]
        await client.call_tool("rewrite", {"name": "new"})
        assert await following(news, 2) == [LIST, ResourceUpdated("tasks://new")]


async def test_every_listener_is_told_until_it_leaves(shelf: Shelf) -> None:
    async with Client(shelf.server.sdk) as client, client.listen(resource_subscriptions=[SUMMARY_URI]) as last:
        async with client.listen(resource_subscriptions=["tasks://walls"]) as first:
            await client.call_tool("rewrite", {"name": "walls"})
            assert await following(first, 1) == [WALLS]
        assert await following(last, 1) == [SUMMARY]
        await client.call_tool("rewrite", {"name": "roof"})
        assert await following(last, 1) == [SUMMARY]


async def test_no_look_is_taken_while_nobody_wants_to_know(shelf: Shelf) -> None:
    looks = list[None]()
    shelf.trouble = lambda: looks.append(None)
    async with Client(shelf.server.sdk) as client:
        async with client.listen(resources_list_changed=True):
            await client.call_tool("rewrite", {"name": "walls"})
        assert len(looks) == 2
        await client.call_tool("rewrite", {"name": "walls"})
    assert len(looks) == 2


@pytest.mark.requirement("P3")
async def test_closing_the_server_ends_every_stream_with_an_answer(shelf: Shelf) -> None:
    async with Client(shelf.server.sdk) as client, client.listen(resource_subscriptions=[LIST_URI]) as news:
        shelf.server.close()
        with anyio.fail_after(20):
            assert [event async for event in news] == []


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_server_promises_what_it_tells_and_no_more(shelf: Shelf, mode: str) -> None:
    async with Client(shelf.server.sdk, mode=mode) as client:
        can = client.server_capabilities
    assert can
    assert can.resources
    assert (can.resources.subscribe, can.resources.list_changed) == (True, True)
    assert can.tools
    assert can.prompts
    assert (can.tools.list_changed, can.prompts.list_changed) == (False, False)


async def test_what_never_changes_is_not_acknowledged(shelf: Shelf) -> None:
    asked = {"tools_list_changed": True, "prompts_list_changed": True, "resources_list_changed": True}
    async with Client(shelf.server.sdk) as client, client.listen(**asked) as news:
        assert news.honored.model_dump(exclude_none=True) == {"resources_list_changed": True}
