"""Who wants to know is told which resources changed, in both eras, and nobody else is (RES-6)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from mcp.client import Client
from mcp.client.subscriptions import Subscription
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp_types import INVALID_PARAMS, ResourceListChangedNotification, ResourceUpdatedNotification

from task_core.server.resources import LIST_URI, SUMMARY_URI, task_uri
from task_core.server.subscriptions import MAX_SUBSCRIPTIONS
from tests.core.notes import add
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
