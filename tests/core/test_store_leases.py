"""Leases: one owner has a list for a while, on the clock of the database, and no client hears of it (EN-19)."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from task_core.models import Clock, utc_now
from task_core.store import Store
from tests.core.engines import LIST, Card, Engine
from tests.postgres import connect_as_owner, needs_postgres

pytestmark = pytest.mark.requirement("EN-19", "EN-5")

MINUTE = 60.0

each_database = pytest.mark.parametrize(
    "engine",
    [Engine("sqlite"), pytest.param(Engine("postgresql"), marks=needs_postgres)],
    ids=lambda engine: engine.name,
)


def lease(store: Store[Card], owner: str, seconds: float = MINUTE) -> str:
    with store.transaction() as cards:
        return cards.lease(owner, seconds)


def seen(store: Store[Card]) -> tuple[str, str]:
    """Return who had the lease last, and whose lasts."""
    with store.read() as cards:
        return cards.owner, cards.find_leaseholder()


@each_database
def test_a_list_has_one_owner_until_its_lease_ends(engine: Engine, tmp_path: Path) -> None:
    store, other = engine.open(tmp_path, LIST), engine.open(tmp_path, LIST)
    assert seen(store) == ("", "")
    assert lease(store, "ann") == lease(other, "ben") == lease(other, "ann") == "ann"
    assert seen(store) == seen(other) == ("ann", "ann")
    assert lease(store, "ann", -1) == "ann"
    assert seen(other) == ("ann", "")
    assert lease(other, "ben") == lease(store, "ann") == "ben"
    assert seen(store) == ("ben", "ben")


def test_a_list_in_memory_can_be_leased_too(tmp_path: Path) -> None:
    store = Engine("memory").open(tmp_path, LIST)
    assert lease(store, "ann") == lease(store, "ben") == "ann"


@each_database
def test_each_list_of_a_database_is_leased_by_itself(engine: Engine, tmp_path: Path) -> None:
    store, other = engine.open(tmp_path, LIST, tenant="a"), engine.open(tmp_path, LIST, tenant="b")
    assert (lease(store, "ann"), lease(other, "ben")) == ("ann", "ben")


@each_database
@pytest.mark.requirement("EN-20")
def test_a_lease_is_no_news(engine: Engine, tmp_path: Path) -> None:
    store = engine.open(tmp_path, LIST)
    with store.transaction() as cards:
        cards.add(Card(id="a"))
    token = store.changes(None, 9).token
    lease(store, "ann")
    assert store.changes(token, 9) == ([], token, False, False)


@each_database
@pytest.mark.requirement("ERR-2")
def test_a_lease_is_taken_with_all_of_its_transaction_or_not_at_all(engine: Engine, tmp_path: Path) -> None:
    store = engine.open(tmp_path, LIST)
    with suppress(ZeroDivisionError), store.transaction() as cards:
        assert cards.lease("ann", MINUTE) == cards.owner == "ann"
        raise ZeroDivisionError
    assert seen(store) == ("", "")
    with store.transaction() as cards:
        cards.add(Card(id="a"))
        assert cards.lease("ben", MINUTE) == "ben"
    assert seen(store) == ("ben", "ben")
    with store.read() as cards:
        assert len(cards) == 1


@each_database
@pytest.mark.parametrize(
    ("here", "there"),
    [(utc_now, lambda: datetime(2100, 1, 1, tzinfo=UTC)), (lambda: datetime(1990, 1, 1, tzinfo=UTC), utc_now)],
    ids=["the other is ahead", "the owner is behind"],
)
def test_the_clocks_of_those_who_lease_mean_nothing(engine: Engine, tmp_path: Path, here: Clock, there: Clock) -> None:
    store, other = engine.open(tmp_path, LIST, clock=here), engine.open(tmp_path, LIST, clock=there)
    assert lease(store, "ann") == lease(other, "ben") == "ann"
    assert seen(other) == ("ann", "ann")


@needs_postgres
def test_a_lease_ends_by_the_clock_of_postgresql(tmp_path: Path) -> None:
    engine = Engine("postgresql")
    lease(engine.open(tmp_path, LIST, clock=lambda: datetime(2100, 1, 1, tzinfo=UTC)), "ann")
    left = "SELECT leased - EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 FROM lists WHERE tenant = %s"
    with connect_as_owner() as connection:
        ((microseconds,),) = connection.execute(left, [f"{tmp_path} "]).fetchall()
    assert 0 < microseconds <= MINUTE * 1_000_000
