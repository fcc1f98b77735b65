"""Connections that are lost at any moment of a transaction: it is applied once, or fails and changes nothing."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from itertools import count, groupby
from pathlib import Path
from random import Random
from threading import Lock
from typing import TYPE_CHECKING

import pytest

from task_core.errors import StoreWriteFailed, TaskError
from task_core.store import Store
from tests.core.engines import Card
from tests.core.ledger import LEDGER, begin, check, count_up, open_one
from tests.core.notes import in_background, wait_for_turn
from tests.hosted.postgres_proxy import Cut, Fate, Moment, Proxy, Step, cut_at
from tests.postgres import needs_postgres, store_pool

if TYPE_CHECKING:
    from task_hosted.postgres import Pool

pytestmark = [needs_postgres, pytest.mark.requirement("EN-14")]


IS_LONG = os.environ.get("TASK_CUTS") == "all"

KINDS = "" if IS_LONG else "EQSCZ"
"""The messages at which connections are cut: what a statement is prepared with changes nothing on the server."""

ENDS = "" if IS_LONG else "SQZ"
"""The messages at which an exchange ends."""

UNITS = 12
"""Units of each of seven threads while connections are cut at random."""


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
        proxy.plan, done = cut_at(number, cut, kinds=ENDS if cut.is_late else KINDS)
        count_up(store, f"c{number}", names)
        check(direct, names)
        if not done:
            break
    assert number > (10 if cut.is_late else 50), number


@each_cut
def test_a_list_begins_once_wherever_the_connection_of_its_first_unit_is_cut(
    proxy: Proxy, pool: Pool, tmp_path: Path, cut: Cut
) -> None:
    for number in count(1):
        store, direct = (open_one(way, f"{tmp_path} {number}") for way in (pool, store_pool()))
        proxy.plan, done = cut_at(number, cut, kinds=ENDS)
        begin(store)
        check(direct, set())
        if not done:
            break
    assert number > 10


def test_a_unit_fails_and_changes_nothing_if_others_have_changed_the_list_before_it_was_saved(
    proxy: Proxy, pool: Pool, tmp_path: Path
) -> None:
    store, direct = open_one(pool, tmp_path), open_one(store_pool(), tmp_path)
    begin(store)
    names: set[str] = set()
    outcomes: list[str] = []
    for number in count(1):
        disturb = partial(count_up, direct, f"other{number}", names)
        proxy.plan, done = cut_at(number, Cut(meanwhile=disturb), kinds=ENDS)
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
        proxy.plan, done = cut_at(number, Cut(meanwhile=disturb), kinds=ENDS)
        names |= share_a_batch(store, *(f"c{number}{letter}" for letter in "abc"))
        check(direct, names)
        if not done:
            break
    assert number > 20


class Weather:
    """Cuts connections at random, in any way."""

    def __init__(self, seed: int, rate: float) -> None:
        self.cuts = 0
        self._rate = rate
        self._random = Random(seed)
        self._guard = Lock()

    def __call__(self, step: Step) -> Fate:
        with self._guard:
            if self._random.random() > self._rate:
                return None
            self.cuts += 1
            return Cut(is_late=step.moment is Moment.BEFORE and self._random.random() < 0.5)


@pytest.mark.parametrize("seed", range(60 if IS_LONG else 1))
def test_what_was_acknowledged_under_many_cuts_is_what_is_counted(
    proxy: Proxy, pool: Pool, tmp_path: Path, seed: int
) -> None:
    direct = open_one(store_pool(), tmp_path)
    begin(direct)
    acknowledged: set[str] = set()
    failed: list[TaskError] = []

    def work(store: Store[Card], name: str) -> None:
        for number in range(UNITS):
            try:
                count_up(store, f"{name}-{number}", acknowledged)
            except StoreWriteFailed as error:
                failed.append(error)

    proxy.plan = weather = Weather(seed, 0.004)
    stores = [open_one(pool, tmp_path, lock_seconds=60) for _ in range(2)] * 3
    with in_background() as start:
        start(*(lambda number=number, store=store: work(store, f"t{number}") for number, store in enumerate(stores)))
        start(lambda: work(direct, "direct"))
    proxy.forget()
    assert weather.cuts > UNITS // 2
    assert len(acknowledged) + len(failed) == 7 * UNITS
    assert len(acknowledged) > UNITS
    check(direct, acknowledged)
