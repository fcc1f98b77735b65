"""Every text that JSON can hold is kept, found and put in order by PostgreSQL as plain Python does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from task_core.store import Collection, Selection
from task_core.store.statements import LAST_ID
from task_core.text import fold
from tests.core.engines import LIST, TREES, Card, Engine, selected
from tests.core.ledger import open_one
from tests.core.notes import in_background, wait_for_turn
from tests.postgres import needs_postgres, store_pool

pytestmark = [needs_postgres, pytest.mark.requirement("EN-3", "EN-5", "EN-13")]

HOSTILE = "\0\x01\x02\x03\x7f\x80aA\u00e9\u2028\ud7ff\ue000\ufdd0\ufffe\uffff\U00010000😀\U0010fffe\U0010ffff%_\\'\"/"
"""Characters that databases refuse, reorder or misread; the codes of PostgreSQL's engine are made of the first."""

texts = st.text(st.sampled_from(HOSTILE), max_size=4) | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
ids = texts.filter(bool)
cards = st.builds(Card, id=ids, topic=texts, tags=st.lists(texts, max_size=2).map(tuple), text=texts)


@settings(max_examples=10)
@given(st.lists(cards, min_size=1, max_size=6, unique_by=lambda card: card.id), st.lists(texts, max_size=4))
@example([Card(id=name, topic=name, tags=(name,), text=name) for name in HOSTILE], ["\0", "\x01", "\x02\x01", "😀"])
@example([Card(id=one + other, text=one + other) for one in "\0\x01\x02a" for other in "\0\x01\x02"], ["\x01", "\x02"])
def test_texts_are_found_and_in_the_order_of_their_characters(every: list[Card], others: list[str]) -> None:
    with TemporaryDirectory() as folder:
        store = Engine("postgresql").open(Path(folder), LIST)
        token = store.changes(None, 1).token
        with store.transaction() as work:
            for card in every:
                work.add(card)
        sought = {*others, *(text for card in every for text in (card.id, card.topic, *card.tags, card.text))}
        with store.read() as found:
            assert found.select(Selection()) == selected(every, Selection())
            for card in every:
                assert found.get(card.id) == card
            for text in sought - {""}:
                check(found, text, every)
            for text in sought:
                starts = sorted(card.id for card in every if card.id.startswith(text))
                assert found.ids(text, 100) == [name for name in starts if name < text + LAST_ID]
        news = store.changes(token, 100)
        assert dict(news.records) == {card.id: card for card in every}
        assert store.changes(news.token, 100).records == []


def check(found: Collection[Card], text: str, every: list[Card]) -> None:
    """Check that cards are found by this topic, tag and word, and after each of them the next ones."""
    for asked in (Selection(topic=text), Selection(tags=(text,)), Selection(words=(fold(text),))):
        expected = selected(every, asked)
        assert found.select(asked) == expected
        assert found.count(asked) == len(expected)
        for number, card in enumerate(expected, 1):
            assert found.select(replace(asked, after=asked.order.key(card))) == expected[number:]


def test_the_longest_ids_topics_and_tags_that_servers_accept_fit_the_indexes(tmp_path: Path) -> None:
    random = Random(20261125)
    first, second, topic, tag = ("".join(chr(random.randint(0x10000, 0x10FFFF)) for _ in range(500)) for _ in range(4))
    store = open_one(store_pool(), f"{tmp_path} {'t' * 300}", TREES)
    with store.transaction() as work:
        work.add(Card(id=first))
        work.add(Card(id=second), first)
        work.add(Card(id="chosen by the server", topic=topic, tags=(tag,)))
    with store.read() as found:
        assert [card.id for card in found.children(first)] == [second]
        assert found.child_states(first) == {"todo": 1}
        for asked in (Selection(topic=topic), Selection(tags=(tag,))):
            assert [card.id for card in found.select(asked)] == ["chosen by the server"]


@pytest.mark.requirement("ERR-2")
@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (Card(id="bad").model_copy(update={"text": "\ud800"}), ValueError),
        (Card(id="bad").model_copy(update={"topic": "\udfff"}), ValueError),
        (Card(id="bad", created=2**63), OverflowError),
        (Card(id="bad", rank=-(2**63) - 1), OverflowError),
    ],
    ids=["half a character", "half a topic", "a late moment", "a low rank"],
)
def test_what_cannot_be_stored_does_others_in_its_batch_no_harm(
    tmp_path: Path, bad: Card, error: type[Exception]
) -> None:
    store = open_one(store_pool(), tmp_path)
    store.batch_seconds = 100

    def add(card: Card) -> None:
        with store.transaction() as work:
            work.add(Card(id=f"before {card.id}"))
            work.add(card)

    def fail() -> None:
        with pytest.raises(error):
            add(bad)

    most = Card(id="most", created=2**63 - 1, rank=-(2**63))
    with in_background() as start, store.transaction() as work:
        for unit in (fail, lambda: add(most), fail, lambda: add(Card(id="last"))):
            wait_for_turn(*start(unit))
        work.add(Card(id="first"))
    with store.read() as found:
        first, *others = [node.id for node in found.nodes()]
        # Which of those who wait comes next is left to the system.
        assert (first, sorted(others)) == ("first", ["before last", "before most", "last", "most"])
        assert found.get("most") == most
