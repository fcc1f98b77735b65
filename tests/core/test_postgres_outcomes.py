"""Connections that are lost at any moment of a transaction: it is applied once, or fails and changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import count, groupby
from pathlib import Path

import pytest

from task_core.errors import StoreWriteFailed
from task_core.models import utc_now
from task_core.store import Kind, Selection, Store
from task_core.store.postgres import Pool, PostgresDatabase
from tests.core.engines import CARDS, Card
from tests.core.notes import in_background, wait_for_turn
from tests.core.postgres_proxy import Cut, Proxy, cut_at, open_proxy
from tests.postgres import needs_postgres, shared_server, store_pool, store_url

pytestmark = [needs_postgres, pytest.mark.requirement("EN-14")]

LEDGER = "ledger"
"""The id of a card whose rank says how many units were applied."""


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    store_url()
    with open_proxy(shared_server().sockets) as opened:
        yield opened


@pytest.fixture(scope="module")
def pool(proxy: Proxy) -> Pool:
    """Connections through the proxy."""
    return Pool(proxy.url(store_url()))


def open_one(pool: Pool, tenant: object, kind: Kind[Card] = CARDS, seconds: float = 20) -> Store[Card]:
    database = PostgresDatabase(pool, str(tenant), kind.name, lock_seconds=seconds)
    return Store(database, kind, tenant=str(tenant), clock=utc_now, lock_seconds=seconds)


def begin(store: Store[Card]) -> None:
    with store.transaction() as cards:
        cards.add(Card(id=LEDGER, rank=0))


def count_up(store: Store[Card], name: str, names: set[str]) -> None:
    """Add a card and count it, in a unit that asks in between; add its name once that is acknowledged."""
    with store.transaction() as cards:
        ledger = cards.get(LEDGER)
        cards.add(Card(id=name, tags=("p",)))
        assert name in cards
        cards.replace(ledger.changed(rank=(ledger.rank or 0) + 1))
    names.add(name)


def check(direct: Store[Card], expected: set[str]) -> None:
    """Check that these cards were added, each once, in whatever way they are counted."""
    with direct.read() as cards:
        every = {card.id for card in cards.select(Selection())} - {LEDGER}
        counts = {cards.get(LEDGER).rank, cards.count(Selection(tags=("p",))), cards.count(Selection()) - 1}
        assert every == expected
        assert counts == {len(cards) - 1} == {len(expected)}


KINDS = "" if os.environ.get("TASK_CUTS") == "all" else "EQSCZ"
"""The messages at which connections are cut: what a statement is prepared with changes nothing on the server."""

CUTS = {"settled": Cut(), "late": Cut(is_late=True)}
each_cut = pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)


@each_cut
def test_a_unit_is_applied_once_wherever_its_connection_is_cut(
    proxy: Proxy, pool: Pool, tmp_path: Path, cut: Cut
) -> None:
    store, direct = open_one(pool, tmp_path), open_one(store_pool(), tmp_path)
    begin(store)
    names: set[str] = set()
    for number in count(1):
        proxy.plan, done = cut_at(number, cut, kinds=KINDS)
        count_up(store, f"c{number}", names)
        check(direct, names)
        if not done:
            break
    assert number > 50


@each_cut
def test_a_list_begins_once_wherever_the_connection_of_its_first_unit_is_cut(
    proxy: Proxy, pool: Pool, tmp_path: Path, cut: Cut
) -> None:
    for number in count(1):
        store, direct = (open_one(way, f"{tmp_path} {number}") for way in (pool, store_pool()))
        proxy.plan, done = cut_at(number, cut, kinds=KINDS)
        begin(store)
        check(direct, set())
        if not done:
            break
    assert number > 50


def test_a_unit_fails_and_changes_nothing_if_others_have_changed_the_list_before_it_was_saved(
    proxy: Proxy, pool: Pool, tmp_path: Path
) -> None:
    store, direct = open_one(pool, tmp_path), open_one(store_pool(), tmp_path)
    begin(store)
    names: set[str] = set()
    outcomes: list[str] = []
    for number in count(1):
        disturb = partial(count_up, direct, f"other{number}", names)
        proxy.plan, done = cut_at(number, Cut(meanwhile=disturb), kinds=KINDS)
        outcome = "saved"
        try:
            count_up(store, f"c{number}", names)
        except StoreWriteFailed as error:
            outcome = str(error.details["cause"])
        outcomes.append(outcome)
        check(direct, names)
        if not done:
            break
    changed = "the connection was lost, and others have changed the list since"
    # Until the row is locked nothing has been read; once the commit has reached the server nothing more can fail.
    assert [name for name, _ in groupby(outcomes)] == ["saved", changed, "saved"]


def share_a_batch(store: Store[Card], *names: str) -> set[str]:
    """Count up for each name, in threads that share one commit; return the names that were acknowledged."""
    acknowledged: set[str] = set()

    def one(name: str) -> None:
        with suppress(StoreWriteFailed):
            count_up(store, name, acknowledged)

    with in_background() as start, suppress(StoreWriteFailed):
        with store.transaction() as cards:
            wait_for_turn(*start(*(lambda name=name: one(name) for name in names[1:])))
            cards.replace(cards.get(LEDGER).changed(rank=len(cards)))
            cards.add(Card(id=names[0], tags=("p",)))
        acknowledged.add(names[0])
    return acknowledged


@pytest.mark.parametrize("is_disturbed", [False, True], ids=["alone", "disturbed"])
def test_all_who_share_a_commit_are_acknowledged_or_refused_as_it_was(
    proxy: Proxy, pool: Pool, tmp_path: Path, is_disturbed: bool
) -> None:
    store, direct = open_one(pool, tmp_path), open_one(store_pool(), tmp_path)
    store.batch_seconds = 100
    begin(store)
    names: set[str] = set()
    for number in count(1):
        disturb = partial(count_up, direct, f"other{number}", names) if is_disturbed else None
        proxy.plan, done = cut_at(number, Cut(meanwhile=disturb), kinds=KINDS)
        names |= share_a_batch(store, *(f"c{number}{letter}" for letter in "abc"))
        check(direct, names)
        if not done:
            break
    assert number > 100
