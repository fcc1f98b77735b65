"""Clients that want to know are notified which resources changed, in both eras, and no others (RES-6)."""

from __future__ import annotations

import asyncio
import threading
from urllib.parse import quote

import anyio
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import INVALID_PARAMS

from task_core.history.changes import made_by
from task_core.server import subscriptions
from task_core.server.overview import LIST_URI, SUMMARY_URI
from task_core.server.subscriptions import LOOK_SECONDS, MAX_SUBSCRIPTIONS
from task_core.store.claim_register import ClaimRegister
from task_core.warning_list import WarningList
from tests.core.listening import Clock, following, let_others_run, older, until
from tests.core.notes import DEADLINE, add
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


@pytest.fixture(autouse=True)
async def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the event loop; where no test moves it, only calls of the server itself lead to a look."""
    return Clock.put_into(asyncio.get_running_loop(), monkeypatch)


class Held:
    """A look at the shelf that has begun and may not go on yet."""

    def __init__(self) -> None:
        self.count = 0
        self._begun, self._may_go_on = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.count += 1
        self._begun.set()
        assert self._may_go_on.wait(DEADLINE)

    async def begun(self) -> None:
        """Return once the look has begun, and all who wait in the event loop had a thousand turns since."""
        await until(self._begun.is_set)
        await let_others_run()

    def go_on(self) -> None:
        self._may_go_on.set()


@pytest.mark.requirement("EN-20")
async def test_a_subscriber_of_the_older_era_is_notified_of_what_it_subscribed_to(shelf: Shelf) -> None:
    async with older(shelf.server, LIST_URI, "tasks://walls") as told:
        await told.call("rewrite", "walls")
        assert await told.next(2) == [LIST, WALLS]
        await told.call("rewrite", "roof")
        assert await told.next(1) == [LIST]
        await told.call("rewrite", "walls")
        assert await told.next(2) == [LIST, WALLS]


async def test_a_task_that_comes_changes_the_list_of_what_can_be_read(shelf: Shelf) -> None:
    async with older(shelf.server, SUMMARY_URI, "tasks://new") as told:
        await told.call("put", "new")
        assert await told.next(3) == [SUMMARY, ResourceUpdated("tasks://new"), ResourcesListChanged()]


async def test_a_client_that_unsubscribed_is_not_notified(shelf: Shelf) -> None:
    async with older(shelf.server, LIST_URI, "tasks://walls") as told:
        await told.client.unsubscribe_resource(LIST_URI)
        await told.client.unsubscribe_resource(SUMMARY_URI)
        await told.call("rewrite", "walls")
        assert await told.next(1) == [WALLS]
        assert told.events == []


async def test_a_call_that_changes_nothing_or_fails_notifies_nobody(shelf: Shelf) -> None:
    async with older(shelf.server, LIST_URI) as told:
        await told.call("look", "walls")
        await told.call("rewrite", "floor")
        await told.call("put", "new")
        assert await told.next(2) == [LIST, ResourcesListChanged()]
        assert told.events == []


async def test_the_next_client_begins_without_the_subscriptions_of_the_last(shelf: Shelf) -> None:
    async with older(shelf.server, LIST_URI):
        pass
    async with older(shelf.server, SUMMARY_URI) as told:
        await told.call("rewrite", "walls")
        assert await told.next(1) == [SUMMARY]


async def test_a_client_that_left_without_a_word_does_not_disturb_other_listeners(shelf: Shelf) -> None:
    async with older(shelf.server, LIST_URI):
        pass
    async with Client(shelf.server.sdk) as client, client.listen(resource_subscriptions=["tasks://walls"]) as news:
        await client.call_tool("rewrite", {"name": "walls"})
        assert await following(news, 1) == [WALLS]


@pytest.mark.requirement("EN-20")
@pytest.mark.parametrize("moment", ["trouble", "late_trouble"])
async def test_changes_found_before_the_store_failed_are_notified_once_it_can_be_read(
    shelf: Shelf, clock: Clock, moment: str
) -> None:
    async with older(shelf.server, LIST_URI, "tasks://new") as told:
        looks = list[None]()

        def fail_at_the_second() -> None:
            looks.append(None)
            if len(looks) == 2:
                shelf.unreadable()

        setattr(shelf, moment, fail_at_the_second)
        await told.call("put", "new")
        await until(lambda: len(looks) == 2)
        await clock.move(LOOK_SECONDS)
        assert await told.next(3) == [LIST, ResourceUpdated("tasks://new"), ResourcesListChanged()]


async def test_a_call_succeeds_where_nothing_can_be_looked_for(shelf: Shelf, clock: Clock) -> None:
    async with older(shelf.server, LIST_URI) as told:
        shelf.trouble = shelf.unreadable
        await told.call("put", "new")
        await clock.move(LOOK_SECONDS)
        shelf.trouble = lambda: None
        await clock.move(LOOK_SECONDS)
        assert await told.next(2) == [LIST, ResourcesListChanged()]


async def test_one_may_subscribe_to_a_store_that_cannot_be_read_yet(shelf: Shelf, clock: Clock) -> None:
    shelf.trouble = shelf.unreadable
    async with older(shelf.server, LIST_URI) as told:
        shelf.trouble = lambda: None
        await clock.move(LOOK_SECONDS)
        assert await told.next(2) == [LIST, ResourcesListChanged()]


@pytest.mark.requirement("RES-7")
async def test_one_can_subscribe_only_to_a_resource(shelf: Shelf) -> None:
    async with older(shelf.server) as told:
        with pytest.raises(MCPError) as caught:
            await told.client.subscribe_resource("notes://walls")
    assert caught.value.code == INVALID_PARAMS
    assert caught.value.data == {"code": "ResourceNotFound", "uri": "notes://walls"}


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> int:
    """A limit of subscriptions that is soon reached."""
    monkeypatch.setattr(subscriptions, "MAX_SUBSCRIPTIONS", 8)
    return 8


async def test_subscriptions_have_a_limit(shelf: Shelf, lowered: int) -> None:
    async with older(shelf.server, *[f"tasks://t{number}" for number in range(lowered)]) as told:
        with pytest.raises(MCPError) as caught:
            await told.client.subscribe_resource(LIST_URI)
        assert (caught.value.code, caught.value.data["code"]) == (INVALID_PARAMS, "InvalidArguments")
        await told.client.subscribe_resource("tasks://t0")


@pytest.mark.requirement("P3")
async def test_the_uris_of_all_streams_together_have_a_limit(shelf: Shelf) -> None:
    many = [f"tasks://t{number}" for number in range(MAX_SUBSCRIPTIONS - 1)]
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
    longest, longer = ("tasks://" + quote("\U0001f600" * count) for count in (500, 501))
    async with older(shelf.server, longest) as told:
        with pytest.raises(MCPError, match="characters") as caught:
            await told.client.subscribe_resource(longer)
        assert (caught.value.code, caught.value.data["code"]) == (INVALID_PARAMS, "InvalidArguments")
    async with Client(shelf.server.sdk) as client, client.listen(resource_subscriptions=[longest]):
        with pytest.raises(MCPError, match="characters") as caught:
            await client.listen(resource_subscriptions=[longer]).__aenter__()
        assert (caught.value.code, caught.value.data["code"]) == (INVALID_PARAMS, "InvalidArguments")


async def test_those_who_come_first_together_begin_with_one_look(shelf: Shelf) -> None:
    async with older(shelf.server) as told, anyio.create_task_group() as tasks:
        shelf.trouble = look = Held()
        tasks.start_soon(told.client.subscribe_resource, LIST_URI)
        tasks.start_soon(told.client.subscribe_resource, "tasks://walls")
        await look.begun()
        assert look.count == 1
        look.go_on()
    assert look.count == 2, "one asks what has changed, and how many tasks there are"


@pytest.mark.requirement("P3")
async def test_the_limit_holds_for_those_who_come_first_together(shelf: Shelf, lowered: int) -> None:
    refused = list[str]()

    async def subscribe(number: int) -> None:
        try:
            await told.client.subscribe_resource(f"tasks://t{number}")
        except MCPError as error:
            refused.append(error.data["code"])

    async with older(shelf.server) as told:
        shelf.trouble = look = Held()
        async with anyio.create_task_group() as tasks:
            for number in range(lowered + 2):
                tasks.start_soon(subscribe, number)
            await look.begun()
            look.go_on()
    assert refused == ["InvalidArguments"] * 2


async def test_a_client_that_subscribes_during_a_look_is_notified_of_what_it_finds(shelf: Shelf) -> None:
    async with older(shelf.server, LIST_URI) as told:
        shelf.trouble = look = Held()
        await told.call("rewrite", "walls")
        await look.begun()
        await told.client.subscribe_resource("tasks://walls")
        look.go_on()
        assert await told.next(2) == [LIST, WALLS]


@pytest.mark.requirement("EN-20")
async def test_a_listener_of_the_modern_era_is_notified_of_what_it_asked_for(shelf: Shelf) -> None:
    async with (
        Client(shelf.server.sdk) as client,
        client.listen(resources_list_changed=True, resource_subscriptions=[LIST_URI, "tasks://new"]) as news,
    ):
        await client.call_tool("put", {"name": "new"})
        assert await following(news, 3) == [LIST, ResourceUpdated("tasks://new"), ResourcesListChanged()]
        await client.call_tool("rewrite", {"name": "new"})
        assert await following(news, 2) == [LIST, ResourceUpdated("tasks://new")]


async def test_every_listener_is_notified_until_it_leaves(shelf: Shelf) -> None:
    async with Client(shelf.server.sdk) as client, client.listen(resource_subscriptions=[SUMMARY_URI]) as last:
        async with client.listen(resource_subscriptions=["tasks://walls"]) as first:
            await client.call_tool("rewrite", {"name": "walls"})
            assert await following(first, 1) == [WALLS]
        assert await following(last, 1) == [SUMMARY]
        await client.call_tool("rewrite", {"name": "roof"})
        assert await following(last, 1) == [SUMMARY]


@pytest.mark.requirement("AG-14")
async def test_a_client_that_listens_extends_the_claims_of_its_agents(shelf: Shelf, clock: Clock) -> None:
    store = shelf.store
    store.claims = ClaimRegister(WarningList(), seconds=1_000, is_shared=True)
    for by, agent, name in (("mcp 0.1.0", "ann", "walls"), ("another 1", "bob", "roof")):
        with made_by(by, "claim", agent), store.transaction() as notes:
            claimed = store.claims.hold(notes, name, "", store.now(notes) - 500_000_000, is_forced=False)
    async with Client(shelf.server.sdk) as client, client.listen(resource_subscriptions=[LIST_URI]):
        for _ in range(5):
            await clock.move(1.0)
        await until(lambda: store.find_claims()[0].until > claimed.until + 400_000_000)
    assert [it.task for it in store.find_claims() if it.until > claimed.until + 400_000_000] == ["walls"]


@pytest.mark.requirement("P3")
async def test_at_the_end_every_stream_ends_with_an_answer_and_a_later_one_at_once(shelf: Shelf) -> None:
    async with Client(shelf.server.sdk) as client:
        async with client.listen(resource_subscriptions=[LIST_URI]) as news:
            shelf.server.end_streams()
            assert [event async for event in news] == []
        async with client.listen(resource_subscriptions=[LIST_URI]) as late:
            assert [event async for event in late] == []


@pytest.mark.requirement("P3")
def test_a_server_that_nobody_listens_to_ends_its_streams_too(shelf: Shelf) -> None:
    shelf.server.end_streams()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_server_advertises_exactly_what_it_notifies(shelf: Shelf, mode: str) -> None:
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
