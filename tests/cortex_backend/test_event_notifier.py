"""Waiting for events, as the code does it: one poll for all, for those whom an event concerns (CX-45)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest
from sqlalchemy import Engine, event, text

from cortex_backend.enums import EventKind
from cortex_backend.service.event_notifier import MAX_WAITING, EventNotifier
from cortex_backend.store.events import NewEvent, add_events
from tests.core.listening import until
from tests.cortex_backend.backend_fixture import PreparedData, raises_problem
from tests.cortex_backend.service_fixture import ServiceFixture, open_services

pytestmark = pytest.mark.requirement("CX-45")

SECONDS = 20


@pytest.fixture
def services(prepared_copy: tuple[str, PreparedData]) -> Iterator[ServiceFixture]:
    with open_services(prepared_copy) as found:
        yield found


@pytest.fixture
async def watch(services: ServiceFixture) -> AsyncIterator[EventNotifier]:
    tasks = len(asyncio.all_tasks())
    yield EventNotifier(services.database, 0.01)
    await until(lambda: len(asyncio.all_tasks()) <= tasks)


async def heard(*signals: asyncio.Event) -> None:
    """Return once all signals are set, and clear them."""
    async with asyncio.timeout(SECONDS):
        for signal in signals:
            await signal.wait()
            signal.clear()


async def test_the_end_wakes_everybody(services: ServiceFixture, watch: EventNotifier) -> None:
    with watch.listen(services.member.user_id) as member, watch.listen(services.stranger.user_id) as stranger:
        await heard(member, stranger)  # the first poll wakes everybody
        watch.end()
        await heard(member, stranger)
        assert watch.is_ended


async def test_an_event_wakes_those_who_may_see_it_and_nobody_else(
    services: ServiceFixture, watch: EventNotifier
) -> None:
    with (
        watch.listen(services.member.user_id) as member,
        watch.listen(services.member.user_id) as same_member,
        watch.listen(services.stranger.user_id) as stranger,
    ):
        await heard(member, same_member, stranger)  # the first poll wakes everybody
        await asyncio.to_thread(services.new_task)
        await heard(member, same_member)
        assert not stranger.is_set()
        login = NewEvent(EventKind.LOGIN, services.clock(), services.stranger.user_id, services.stranger.session_id)
        await asyncio.to_thread(partial(write, services, login))
        await heard(stranger)
        assert not member.is_set()


def write(services: ServiceFixture, new: NewEvent) -> None:
    with services.database.write() as session:
        add_events(session, [new])


async def test_whoever_comes_back_is_woken_again(services: ServiceFixture, watch: EventNotifier) -> None:
    for _ in range(2):
        with watch.listen(services.viewer.user_id) as viewer:
            await heard(viewer)


async def test_a_thousand_can_wait_and_no_more(services: ServiceFixture, watch: EventNotifier) -> None:
    with ExitStack() as stack:
        for number in range(MAX_WAITING):
            stack.enter_context(watch.listen(number))
        with raises_problem("TooManyRequests"), watch.listen(services.owner.user_id):
            pass
    with watch.listen(services.owner.user_id) as owner:
        await heard(owner)


async def test_a_look_ends_before_the_database_does(services: ServiceFixture) -> None:
    begun, go = threading.Event(), threading.Event()

    def hold(*_: object) -> None:
        begun.set()
        go.wait(SECONDS)

    watch = EventNotifier(services.database)
    event.listen(Engine, "before_cursor_execute", hold)
    try:
        with watch.listen(services.owner.user_id):
            await until(begun.is_set)
        closing = asyncio.create_task(watch.close())
        await asyncio.sleep(0)
        assert not closing.done()
    finally:
        event.remove(Engine, "before_cursor_execute", hold)
        go.set()
    await closing


@contextmanager
def failures() -> Iterator[list[object]]:
    """Yield the errors of databases in the block."""
    found: list[object] = []

    def hear(context: object) -> None:
        found.append(context)

    event.listen(Engine, "handle_error", hear)
    try:
        yield found
    finally:
        event.remove(Engine, "handle_error", hear)


async def test_a_database_that_fails_for_a_while_ends_no_wait(sqlite_copy: tuple[str, PreparedData]) -> None:
    def rename(old: str, new: str) -> None:
        with services.database.write() as session:
            session.execute(text(f"ALTER TABLE {old} RENAME TO {new}"))

    with open_services(sqlite_copy) as services:
        watch = EventNotifier(services.database, 0.2)
        rename("counters", "hidden")
        await is_heard_in_the_end(services, watch, partial(rename, "hidden", "counters"))


async def is_heard_in_the_end(services: ServiceFixture, watch: EventNotifier, repair: Callable[[], None]) -> None:
    with failures() as found, watch.listen(services.owner.user_id) as owner:
        await until(lambda: bool(found))
        assert not owner.is_set()
        await asyncio.to_thread(repair)
        await heard(owner)
