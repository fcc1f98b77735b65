"""A list of cards that counts itself, so that what was applied twice or in part is seen, and stores that share it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Final

from task_core.models import utc_now
from task_core.store import Kind, Selection, Store
from tests.core.engines import CARDS, Card

if TYPE_CHECKING:
    from task_hosted.postgres import Pool

__all__ = ["LEDGER", "begin", "check", "count_up", "open_one"]

LEDGER: Final = "ledger"
"""The id of a card whose rank says how many units were applied."""


def open_one(
    pool: Pool,
    tenant: object,
    kind: Kind[Card] = CARDS,
    *,
    clock: Callable[[], datetime] = utc_now,
    lock_seconds: float = 20,
    statement_seconds: float = 15,
) -> Store[Card]:
    """Return a store of ``tenant`` with connections of ``pool``."""
    from task_hosted.postgres import PostgresDatabase  # noqa: PLC0415 - it needs the driver

    database = PostgresDatabase(
        pool, str(tenant), kind.name, lock_seconds=lock_seconds, statement_seconds=statement_seconds
    )
    return Store(database, kind, tenant=str(tenant), clock=clock, lock_seconds=lock_seconds)


def begin(store: Store[Card]) -> None:
    """Add the ledger, which nothing is counted in yet."""
    with store.transaction() as cards:
        cards.add(Card(id=LEDGER, rank=0))


def count_up(store: Store[Card], name: str, names: set[str] | None = None) -> None:
    """Add a card and count it, in a unit that asks in between; add its name to ``names`` once that is acknowledged."""
    with store.transaction() as cards:
        ledger = cards.get(LEDGER)
        cards.add(Card(id=name, tags=("p",)))
        assert name in cards
        cards.replace(ledger.changed(rank=(ledger.rank or 0) + 1))
    if names is not None:
        names.add(name)


def check(store: Store[Card], expected: set[str]) -> None:
    """Check that these cards were added, each once, in whatever way they are counted."""
    with store.read() as cards:
        every = {card.id for card in cards.select(Selection())} - {LEDGER}
        counts = {cards.get(LEDGER).rank, cards.count(Selection(tags=("p",))), cards.count(Selection()) - 1}
        assert every == expected
        assert counts == {len(cards) - 1} == {len(expected)}
