"""What every engine promises of units of work, snapshots and news, in one suite for all of them (EN-1, EN-5)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue

from task_core.errors import DuplicateId, StoreLocked, TaskNotFound
from task_core.store import ROOTS, Collection, Selection, Store, Transaction
from tests.core.engines import LIST, STATES, Card, Engine, each_engine, each_lasting_engine
from tests.core.notes import in_background, wait_until

pytestmark = pytest.mark.requirement("EN-1", "EN-5")

MONTH = timedelta(days=30)


class Calendar:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def store(engine: Engine, tmp_path: Path) -> Store[Card]:
    return engine.open(tmp_path, LIST, lock_seconds=20)


def add(store: Store[Card], *names: str) -> None:
    with store.transaction() as cards:
        for name in names:
            cards.add(Card(id=name))


def ids(store: Store[Card]) -> list[str]:
    with store.read() as cards:
        return [node.id for node in cards.nodes()]


def spoil(cards: Transaction[Card]) -> None:
    """Change everything that a unit of work can change, and fail."""
    cards.add(Card(id="c", tags=("new",)))
    cards.replace(Card(id="a", state="done"))
    cards.remove("b")
    cards.set_fields({"owner": "Zoë"})
    raise ZeroDivisionError


def everything(store: Store[Card]) -> object:
    with store.read() as cards:
        states = {state: cards.count(Selection(states=(state,))) for state in STATES}
        tagged = cards.select(Selection(tags=("new",)))
        return [node.line for node in cards.nodes()], len(cards), states, tagged, dict(cards.fields)


@each_engine
def test_a_store_begins_empty(store: Store[Card]) -> None:
    with store.read() as cards:
        assert (len(cards), "a" in cards, cards.select(Selection()), cards.fields) == (0, False, [], {})
        with pytest.raises(TaskNotFound) as caught:
            cards.get("a")
    assert caught.value.details == {"id": "a", "near": []}


@each_engine
def test_a_transaction_sees_what_it_changed_and_others_see_it_once_committed(store: Store[Card]) -> None:
    add(store, "b", "a")
    with store.transaction() as cards:
        cards.replace(Card(id="b", text="new"))
        assert cards.remove("a") == 1
        cards.add(Card(id="c"))
        assert (cards.get("b").text, "a" in cards, "c" in cards, len(cards)) == ("new", False, True, 2)
    with store.read() as cards:
        assert (cards.get("b").text, "a" in cards, "c" in cards, 7 in cards, len(cards)) == (
            *("new", False, True, False),
            2,
        )
    assert ids(store) == ["b", "c"]


@each_engine
@pytest.mark.requirement("ERR-2", "D6")
def test_a_block_that_raises_changes_nothing(store: Store[Card]) -> None:
    add(store, "a", "b")
    before, token = everything(store), store.changes(None, 1).token
    with pytest.raises(ZeroDivisionError), store.transaction() as cards:
        spoil(cards)
    assert (everything(store), store.changes(None, 1).token) == (before, token)
    add(store, "c")
    assert ids(store) == ["a", "b", "c"]


@each_engine
def test_an_id_is_given_once_and_again_when_its_record_is_removed(store: Store[Card]) -> None:
    add(store, "a")
    with store.transaction() as cards, pytest.raises(DuplicateId):
        cards.add(Card(id="a", text="other"))
    with store.transaction() as cards:
        cards.remove("a")
        cards.add(Card(id="a", text="new"))
    with store.read() as cards:
        assert (cards.get("a").text, len(cards)) == ("new", 1)


@each_engine
def test_an_id_that_was_looked_for_in_vain_is_found_once_it_is_taken(store: Store[Card]) -> None:
    add(store, "z")
    with store.transaction() as cards:
        assert "a" not in cards
        cards.add(Card(id="a"))
        assert "a" in cards
        cards.remove("a")
        assert "a" not in cards
        cards.load([(Card(id="a"), ROOTS)])
        assert "a" in cards


@each_engine
@pytest.mark.requirement("ERR-4", "EN-2")
def test_an_id_that_is_not_known_names_the_near_ones(store: Store[Card]) -> None:
    add(store, "warm-pear", "cool-apple", "cool-maple")

    def refused(cards: Collection[Card]) -> object:
        with pytest.raises(TaskNotFound) as caught:
            cards.get("cool-appl")
        return caught.value.details["near"]

    with store.read() as cards:
        assert refused(cards) == ["cool-apple", "cool-maple"]
    with store.transaction() as work:
        for change in (lambda: work.replace(Card(id="cool-appl")), lambda: work.remove("cool-appl")):
            with pytest.raises(TaskNotFound, match="cool-apple"):
                change()
        work.remove("cool-apple")
        assert refused(work) == ["cool-maple"]


@each_engine
@pytest.mark.requirement("EN-2")
def test_near_ids_are_sought_among_200_neighbours(store: Store[Card]) -> None:
    add(store, "x-apple", *(f"m{number:03}" for number in range(200)), "y-apple")
    with store.read() as cards:
        assert cards.near("a-apple") == []
        assert cards.near("w-apple") == ["y-apple", "x-apple"]


@each_engine
@pytest.mark.requirement("EN-2")
def test_the_first_ids_with_a_beginning_come_in_order(store: Store[Card]) -> None:
    add(store, "b2", "b", "a", "b1", "c", "b%", "B")
    with store.read() as cards:
        assert (cards.ids("b", 3), cards.ids("", 9)[:2], cards.ids("z", 9)) == (["b", "b%", "b1"], ["B", "a"], [])


@each_lasting_engine
def test_a_snapshot_stays_as_it_was_while_others_go_on(engine: Engine, tmp_path: Path) -> None:
    store, other = engine.open(tmp_path, LIST), engine.open(tmp_path, LIST)
    add(store, "a")
    with store.read() as seen:
        before = seen.nodes()
        with other.transaction() as cards:
            cards.replace(Card(id="a", text="new"))
            cards.add(Card(id="b"))
        assert (seen.nodes(), len(seen), "b" in seen) == (before, 1, False)
        assert ids(other) == ["a", "b"]
    assert ids(store) == ["a", "b"]


@each_engine
@pytest.mark.requirement("C1")
def test_a_reader_sees_nothing_of_an_open_transaction(store: Store[Card]) -> None:
    add(store, "a")
    seen: list[list[str]] = []
    with store.transaction() as cards:
        cards.add(Card(id="b"))
        with in_background() as start:
            start(lambda: seen.append(ids(store)))
    assert seen == [["a"]]
    assert ids(store) == ["a", "b"]


@each_engine
def test_fields_beside_the_records_are_kept_in_their_order(engine: Engine, store: Store[Card], tmp_path: Path) -> None:
    steps: list[dict[str, JsonValue]] = [{"owner": "Zoë", "depth": [1, None]}, {"depth": [1, None], "owner": "Zoë"}, {}]
    for fields in steps:
        with store.transaction() as cards:
            cards.set_fields(fields)
        again = engine.open(tmp_path, LIST) if engine.is_lasting else store
        for opened in (store, again):
            with opened.read() as cards:
                assert [*cards.fields.items()] == [*fields.items()]


@each_engine
@pytest.mark.requirement("EN-3")
def test_a_record_is_found_by_the_tags_that_it_kept_or_gained_and_no_other(store: Store[Card]) -> None:
    for tags in (("old", "kept"), ("kept", "new"), ("kept",)):
        with store.transaction() as cards:
            card = Card(id="a", tags=tags)
            cards.replace(card) if "a" in cards else cards.add(card)
        with store.read() as cards:
            assert {tag for tag in ("old", "kept", "new") if cards.count(Selection(tags=(tag,)))} == {*tags}


@each_engine
@pytest.mark.requirement("EN-2")
def test_kept_counts_are_what_counting_gives(store: Store[Card]) -> None:
    with store.transaction() as cards:
        for number in range(30):
            cards.add(Card(id=f"c{number}", state=STATES[number % 3], facet="xy"[number % 2], rank=number % 4 or None))
        for number in range(0, 30, 3):
            cards.replace(cards.get(f"c{number}").changed(state="done", rank=None))
        for number in range(0, 30, 5):
            cards.remove(f"c{number}")
    with store.read() as cards:
        every = cards.select(Selection())
        for state in STATES:
            for facet in "xy":
                for rank in (1, 2, 3):
                    asked = Selection(states=(state,), facets=(facet,), ranks=(rank,))
                    found = [card for card in every if (card.state, card.facet, card.rank) == (state, facet, rank)]
                    assert cards.count(asked) == len(found)
        assert cards.count(Selection()) == len(cards) == len(every) == 24


@each_engine
def test_a_snapshot_is_at_hand_where_no_document_is_to_be_read_first_and_no_server_asked(
    engine: Engine, store: Store[Card]
) -> None:
    assert store.can_answer_now() == (engine.name in {"memory", "sqlite"})
    add(store, "a")
    assert store.can_answer_now() == (engine.name != "postgresql")


# News


@each_engine
@pytest.mark.requirement("EN-20")
def test_changes_give_each_changed_id_once_and_those_removed_without_a_record(store: Store[Card]) -> None:
    add(store, "a", "b", "c")
    start = store.changes(None, 10)
    assert (start.records, start.more, start.reset) == ([], False, False)
    for text in ("one", "two"):
        with store.transaction() as cards:
            cards.replace(Card(id="b", text=text))
    with store.transaction() as cards:
        cards.remove("a")
        cards.add(Card(id="d"))
    news = store.changes(start.token, 10)
    assert news.records == [("b", Card(id="b", text="two")), ("a", None), ("d", Card(id="d"))]
    assert (news.more, news.reset) == (False, False)
    assert store.changes(news.token, 10)._replace(token="") == ([], "", False, False)


@each_engine
@pytest.mark.requirement("EN-20")
def test_changes_come_in_pages_also_within_one_transaction(store: Store[Card]) -> None:
    add(store, "old")
    token = store.changes(None, 1).token
    add(store, *"edcba")
    add(store, "f")
    found = list[str]()
    more = True
    while more:
        news = store.changes(token, 2)
        assert len(news.records) <= 2
        found += [name for name, _ in news.records]
        token, more = news.token, news.more
    assert found == [*"abcde", "f"]


@each_engine
@pytest.mark.requirement("EN-20")
@pytest.mark.parametrize("token", ["", "x", "-", "a-b-c", "{id}-{next}-", "{id}--1-", "{id}-١-", "other-1-"])
def test_a_token_that_is_not_of_this_store_asks_to_list_again(store: Store[Card], token: str) -> None:
    add(store, "a")
    own = store.changes(None, 1).token
    list_id, revision, _ = own.split("-")
    news = store.changes(token.format(id=list_id, next=int(revision) + 1), 10)
    assert (news.records, news.token, news.more, news.reset) == ([], own, False, True)


@each_engine
@pytest.mark.requirement("EN-20")
def test_after_a_token_of_a_store_that_was_still_empty_comes_everything(store: Store[Card]) -> None:
    token = store.changes(None, 9).token
    add(store, "a", "b")
    news = store.changes(token, 9)
    assert ([name for name, _ in news.records], news.reset) == (["a", "b"], False)


@each_engine
@pytest.mark.requirement("EN-20")
def test_a_removed_record_is_remembered_for_thirty_days(engine: Engine, tmp_path: Path) -> None:
    clock = Calendar()
    store = engine.open(tmp_path, LIST, clock=clock)
    add(store, "a", "b", "c")
    token = store.changes(None, 1).token
    with store.transaction() as cards:
        cards.remove("a")
    clock.now += MONTH
    with store.transaction() as cards:
        cards.remove("b")
    assert store.changes(token, 9).records == [("a", None), ("b", None)]
    later = store.changes(None, 1).token
    clock.now += timedelta(microseconds=1)
    with store.transaction() as cards:
        cards.remove("c")
    assert store.changes(token, 9).reset
    assert store.changes(later, 9).records == [("c", None)]


@each_engine
@pytest.mark.requirement("EN-20")
def test_an_id_that_comes_after_all_others_is_news_once(store: Store[Card]) -> None:
    add(store, "\U0010ffffx")
    assert store.changes(store.changes(None, 9).token, 9).records == []


@each_lasting_engine
@pytest.mark.requirement("EN-20", "ST-2")
def test_what_another_process_changed_is_news_too(engine: Engine, tmp_path: Path) -> None:
    here, there = engine.open(tmp_path, LIST), engine.open(tmp_path, LIST)
    add(here, "a", "b")
    token = here.changes(None, 1).token
    with there.transaction() as cards:
        cards.replace(Card(id="a", text="theirs"))
        cards.remove("b")
        cards.add(Card(id="c"))
    news = here.changes(token, 9)
    assert dict(news.records) == {"a": Card(id="a", text="theirs"), "b": None, "c": Card(id="c")}


@each_engine
@pytest.mark.requirement("EN-20")
def test_a_transaction_that_changes_nothing_is_not_notified(store: Store[Card]) -> None:
    add(store, "a")
    token = store.changes(None, 1).token
    with store.transaction() as cards:
        assert cards.get("a")
        cards.set_fields({})
    assert store.changes(None, 1).token == token


# Turns and ends


@each_engine
def test_a_transaction_within_another_of_the_same_thread_is_a_part_of_it(engine: Engine, tmp_path: Path) -> None:
    store = engine.open(tmp_path, LIST)
    with pytest.raises(DuplicateId), store.transaction():
        add(store, "inner", "inner")
    assert ids(store) == []
    with store.transaction() as outer:
        add(store, "inner")
        outer.add(Card(id="outer"))
    assert ids(store) == ["inner", "outer"]


@each_lasting_engine
@pytest.mark.requirement("C2", "ERR-2")
def test_a_transaction_waits_only_for_the_set_time_for_another_process(engine: Engine, tmp_path: Path) -> None:
    store, other = engine.open(tmp_path, LIST, lock_seconds=0.02), engine.open(tmp_path, LIST)
    with other.transaction() as cards:
        cards.add(Card(id="theirs"))
        with pytest.raises(StoreLocked):
            add(store, "a")
        assert ids(store) == []
    add(store, "b")
    assert ids(store) == ids(other) == ["theirs", "b"]


@each_lasting_engine
@pytest.mark.requirement("C2", "P3")
def test_closing_ends_every_wait_now_and_later(engine: Engine, tmp_path: Path) -> None:
    store, other = engine.open(tmp_path, LIST), engine.open(tmp_path, LIST)
    ended: list[str] = []

    def wait() -> None:
        with pytest.raises(StoreLocked):
            add(store, "a")
        ended.append("locked")

    with other.transaction(), in_background() as start:
        start(wait)
        store.close()
        wait_until(lambda: ended)
        wait()
    assert ids(other) == []


@each_engine
def test_closing_twice_harms_nobody(engine: Engine, tmp_path: Path) -> None:
    store = engine.open(tmp_path, LIST)
    store.close()
    add(store, "a")
    store.close()
    store.close()
    assert ids(store) == ["a"]


@each_engine
def test_closing_leaves_an_open_transaction_what_it_needs(engine: Engine, tmp_path: Path) -> None:
    store = engine.open(tmp_path, LIST)
    with store.transaction() as cards:
        cards.add(Card(id="a"))
        store.close()
        cards.add(Card(id="b"))
    assert ids(store) == ["a", "b"]


@each_engine
@pytest.mark.requirement("ERR-2")
def test_what_cannot_be_written_takes_back_what_its_unit_changed(store: Store[Card]) -> None:
    half = Card(id="a").model_copy(update={"text": "\ud800"})

    def add_both(record: Card) -> None:
        with store.transaction() as cards:
            cards.add(Card(id="before"))
            cards.add(record)

    for record, error in ((half, ValueError), (Card(id="a", created=2**63), OverflowError)):
        with pytest.raises(error):
            add_both(record)
    add(store, "b")
    assert ids(store) == ["b"]
