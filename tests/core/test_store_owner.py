"""A list has one owner, whom no client hears of (EN-19)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from task_core.store import Store
from tests.core.engines import LIST, Card, Engine
from tests.postgres import needs_postgres

pytestmark = pytest.mark.requirement("EN-19", "EN-5")

each_engine = pytest.mark.parametrize(
    "engine",
    [Engine("memory"), Engine("sqlite"), pytest.param(Engine("postgresql"), marks=needs_postgres)],
    ids=lambda engine: engine.name,
)


def give(store: Store[Card], owner: str) -> None:
    with store.transaction() as cards:
        cards.set_owner(owner)
        assert cards.owner == owner


def owner_of(store: Store[Card]) -> str:
    with store.read() as cards:
        return cards.owner


@each_engine
def test_each_list_has_the_owner_that_it_was_given_last(engine: Engine, tmp_path: Path) -> None:
    store, other = engine.open(tmp_path, LIST, tenant="a"), engine.open(tmp_path, LIST, tenant="b")
    assert owner_of(store) == ""
    give(store, "ann")
    give(store, "ann")
    assert (owner_of(store), owner_of(other)) == ("ann", "")
    give(other, "ben")
    give(store, "cyd")
    assert (owner_of(store), owner_of(other)) == ("cyd", "ben")


@each_engine
@pytest.mark.requirement("EN-20")
def test_a_new_owner_is_no_news(engine: Engine, tmp_path: Path) -> None:
    store = engine.open(tmp_path, LIST)
    with store.transaction() as cards:
        cards.add(Card(id="a"))
    token = store.changes(None, 9).token
    give(store, "ann")
    assert store.changes(token, 9) == ([], token, False, False)


@each_engine
@pytest.mark.requirement("ERR-2")
def test_an_owner_is_set_with_all_of_its_transaction_or_not_at_all(engine: Engine, tmp_path: Path) -> None:
    store = engine.open(tmp_path, LIST)
    with suppress(ZeroDivisionError), store.transaction() as cards:
        cards.set_owner("ann")
        raise ZeroDivisionError
    assert owner_of(store) == ""
    with store.transaction() as cards:
        cards.add(Card(id="a"))
        cards.set_owner("ben")
    assert owner_of(store) == "ben"
    with store.read() as cards:
        assert len(cards) == 1
