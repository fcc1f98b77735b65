"""Errors of PostgreSQL, and the store error for each SQLSTATE (EN-15)."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from task_core.errors import DuplicateId, StoreDamaged, StoreLocked, StoreUnreadable, StoreWriteFailed, TaskError
from task_core.files import Wait
from task_core.store import Selection, Store
from tests.core.engines import Card
from tests.core.ledger import LEDGER, begin, check, count_up, open_one
from tests.core.notes import in_background, wait_for_turn
from tests.hosted.postgres_proxy import Cut, Fate, Moment, Proxy, Refusal, Step, refuse
from tests.postgres import needs_postgres, store_pool

if TYPE_CHECKING:
    from task_hosted.postgres import Pool

pytestmark = [needs_postgres, pytest.mark.requirement("EN-15", "ERR-2")]


@pytest.fixture
def store(pool: Pool, tmp_path: Path) -> Store[Card]:
    """A store with a ledger, behind the proxy."""
    opened = open_one(pool, tmp_path, lock_seconds=2)
    begin(opened)
    return opened


@pytest.fixture
def direct(tmp_path: Path) -> Store[Card]:
    """The same store, without the proxy."""
    return open_one(store_pool(), tmp_path)


PLACES = {
    "lock": "FOR UPDATE",
    "question": "SELECT document, parent",
    "change": "INSERT INTO records",
    "save": "UPDATE lists",
    "commit": "COMMIT",
}
"""Statements of a unit, from its beginning to its end."""

ERRORS: dict[str, type[TaskError]] = {
    "23505": DuplicateId,
    "42501": StoreWriteFailed,
    "42P01": StoreUnreadable,
    "53100": StoreWriteFailed,
    "53300": StoreWriteFailed,
    "57014": StoreLocked,
    "XX000": StoreWriteFailed,
    "XX001": StoreDamaged,
}


def test_a_refused_unit_changes_nothing_and_the_next_works(
    proxy: Proxy, store: Store[Card], direct: Store[Card]
) -> None:
    names: set[str] = set()
    cases = [*((PLACES["change"], state) for state in ERRORS), *((text, "53100") for text in PLACES.values())]
    for number, (text, state) in enumerate(cases):
        proxy.plan, refused = refuse(text, Refusal(state))
        with pytest.raises(ERRORS[state]):
            count_up(store, "never")
        check(direct, names)
        count_up(store, f"c{number}", names)
        check(direct, names)
        assert len(refused) == 1, (text, state)


def test_a_list_that_another_holds_for_long_is_asked_for_again_while_the_wait_lasts(
    proxy: Proxy, store: Store[Card], direct: Store[Card], pool: Pool, tmp_path: Path
) -> None:
    proxy.plan, refused = refuse("FOR UPDATE", Refusal("55P03"), times=3)
    count_up(store, "a")
    assert len(refused) == 3
    proxy.plan, refused = refuse("FOR UPDATE", Refusal("55P03"), times=1000)
    with pytest.raises(StoreLocked):
        count_up(open_one(pool, tmp_path, lock_seconds=0.5), "b")
    assert 1 < len(refused) < 1000
    check(direct, {"a"})


@pytest.mark.parametrize(
    ("text", "state"),
    [
        *((PLACES["change"], state) for state in ("40P01", "25006", "57P02", "25P03", "08006", "40003")),
        *product(PLACES.values(), ("40001", "57P01")),
    ],
)
def test_a_unit_whose_transaction_or_connection_is_ended_is_carried_out_on_another(
    proxy: Proxy, store: Store[Card], direct: Store[Card], text: str, state: str
) -> None:
    is_conflict = state in {"40001", "40P01"}
    plan, refused = refuse(text, Refusal(state, is_fatal=state in {"57P01", "57P02", "25P03"}))
    saved = 0

    def noting(step: Step) -> Fate:
        nonlocal saved
        if step.moment is Moment.BEFORE and step.text == "COMMIT":
            saved = step.connection
        return plan(step)

    proxy.plan = noting
    count_up(store, "a")
    check(direct, {"a"})
    (refusal,) = refused
    assert saved
    assert is_conflict or saved != refusal.connection


@pytest.mark.requirement("EN-14")
@pytest.mark.parametrize("state", ["57014", "53100", "40001"])
def test_a_unit_whose_commit_was_not_answered_is_unknown_until_the_server_has_said_what_became_of_it(
    proxy: Proxy, pool: Pool, direct: Store[Card], tmp_path: Path, state: str
) -> None:
    begin(direct)
    store = open_one(pool, tmp_path, lock_seconds=0.4)
    refused, _ = refuse("SELECT 1 FROM commits", Refusal(state), times=1000)

    def plan(step: Step) -> Fate:
        is_answered = step.moment is Moment.ANSWER and step.text == "COMMIT"
        return Cut() if is_answered and step.kind == "C" else refused(step)

    proxy.plan = plan
    with pytest.raises(StoreWriteFailed, match="It is unknown whether this was saved"):
        count_up(store, "a")
    check(direct, {"a"})


@pytest.mark.parametrize("state", ["40001", "57P01"])
def test_a_unit_that_is_ended_again_and_again_fails_once_the_wait_for_the_list_is_over(
    proxy: Proxy, pool: Pool, direct: Store[Card], tmp_path: Path, state: str
) -> None:
    begin(direct)
    impatient = open_one(pool, tmp_path, lock_seconds=0.4)
    for text in ("SELECT document, parent", "COMMIT"):
        proxy.plan, refused = refuse(text, Refusal(state, is_fatal=state == "57P01"), times=1000)
        with pytest.raises(StoreWriteFailed):
            count_up(impatient, "a")
        assert 1 < len(refused) < 1000
        check(direct, set())
    count_up(direct, "b")


def share_a_batch(store: Store[Card], error: type[TaskError]) -> set[str]:
    """Let three units share one commit, and return the names of those that were acknowledged."""
    acknowledged: set[str] = set()
    store.batch_seconds = 100

    def one(name: str) -> None:
        with suppress(error):
            count_up(store, name, acknowledged)

    with in_background() as start, suppress(error):
        with store.transaction() as cards:
            wait_for_turn(*start(lambda: one("b")))
            wait_for_turn(*start(lambda: one("c")))
            cards.add(Card(id="a", tags=("p",)))
            cards.replace(cards.get(LEDGER).changed(rank=1))
        acknowledged.add("a")
    return acknowledged


@pytest.mark.parametrize("state", ["53100", "57014"])
def test_a_unit_that_is_refused_after_it_has_begun_does_others_in_its_batch_no_harm(
    proxy: Proxy, store: Store[Card], direct: Store[Card], state: str
) -> None:
    proxy.plan, refused = refuse("SELECT 1 FROM records", Refusal(state), passed=1)
    acknowledged = share_a_batch(store, ERRORS[state])
    assert acknowledged in ({"a", "b"}, {"a", "c"})
    assert len(refused) == 1
    check(direct, acknowledged)


@pytest.mark.parametrize(
    ("text", "number"), [("UPDATE lists", 1), ("INSERT INTO commits", 0), ("COMMIT", 0)], ids=["save", "end", "commit"]
)
def test_all_in_a_batch_fail_if_the_server_refuses_what_one_of_them_has_already_left(
    proxy: Proxy, store: Store[Card], direct: Store[Card], text: str, number: int
) -> None:
    proxy.plan, refused = refuse(text, Refusal("53100"))
    others = share_a_batch(store, StoreWriteFailed)
    assert len(others - {"a"}) == len(others) == number  # who had not begun yet is in the next batch
    assert len(refused) == 1
    with direct.read() as cards:
        assert {card.id for card in cards.select(Selection())} == {LEDGER, *others}
        assert len(cards) == 1 + len(others)


def test_a_refused_question_of_a_reader_is_the_error_of_a_store_that_cannot_be_read(
    proxy: Proxy, store: Store[Card]
) -> None:
    for (state, error), text in product(ERRORS.items(), ("FROM lists", "SELECT document")):
        expected = StoreUnreadable if error is StoreWriteFailed else error
        proxy.plan, refused = refuse(text, Refusal(state))
        with pytest.raises(expected), store.read() as cards:
            cards.select(Selection(limit=1))
        assert len(refused) == 1
        with store.read() as cards:
            assert len(cards) == 1


@pytest.mark.parametrize("state", ["40001", "25006", "57P01"])
def test_a_reader_whose_connection_is_lost_before_it_has_read_begins_again(
    proxy: Proxy, store: Store[Card], state: str
) -> None:
    proxy.plan, refused = refuse("FROM lists", Refusal(state, is_fatal=state == "57P01"))
    with store.read() as cards:
        assert len(cards) == 1
    assert len(refused) == 1


def test_a_unit_that_has_failed_cannot_be_saved_and_ends_once(proxy: Proxy, pool: Pool, direct: Store[Card]) -> None:
    from task_hosted.postgres import PostgresDatabase  # noqa: PLC0415 - it needs the driver

    begin(direct)
    database = PostgresDatabase(pool, "another", "card")
    session = database.begin(Wait(5))
    session.run("ROLLBACK TO SAVEPOINT begun", {})  # without a savepoint there is nothing to undo
    proxy.plan, _ = refuse("SELECT 1", Refusal("53100"))
    with pytest.raises(StoreWriteFailed):
        session.run("SELECT 1", {})
    with pytest.raises(StoreWriteFailed):
        session.commit()
    database.end()
    database.end()
    check(direct, set())
