"""What is asked of a list has the same answer on every engine as plain Python gives (EN-3)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from task_core.errors import DuplicateId, TaskNotFound
from task_core.store import Collection, Order, Selection, Store, Transaction
from task_core.store.statements import Key
from task_core.text import nearest
from tests.core.engines import ENGINES, LIST, STATES, Card, Engine, each_engine, matching, selected

pytestmark = pytest.mark.requirement("EN-2", "EN-3", "EN-5")

ValueT = TypeVar("ValueT")

NAMES = ["a", "A", "ab", "cool-maple", "cool-apple", "Zoë", "東京", "z%"]

names = st.sampled_from(NAMES)
moments = st.integers(0, 3)
cards = st.builds(
    Card,
    id=names,
    state=st.sampled_from(STATES),
    facet=st.sampled_from(["", "x", "y"]),
    rank=st.none() | st.integers(1, 3),
    created=moments,
    updated=st.none() | moments,
    topic=st.sampled_from(["", "t", "u"]),
    tags=st.lists(st.sampled_from("pqr"), max_size=3).map(tuple),
    text=st.sampled_from(["", "Red FISH", "blue \ufb01sh", "100 %_", "nul\0nul"]),
)
changes = st.lists(
    st.tuples(st.just("add"), cards)
    | st.tuples(st.just("replace"), cards)
    | st.tuples(st.just("remove"), names.map(lambda name: Card(id=name))),
    max_size=6,
)
units = st.tuples(changes, st.booleans())


FILTERS = ["states", "facets", "ranks", "topic", "tags", "words", "since"]


def some_of(values: Sequence[ValueT]) -> st.SearchStrategy[tuple[ValueT, ...]]:
    return st.lists(st.sampled_from(values), unique=True, min_size=1, max_size=2).map(tuple)


@st.composite
def selections(draw: st.DrawFn) -> Selection:
    """Return any selection with a few filters; its key may be that of a record or lie between two."""
    used = draw(st.sets(st.sampled_from(FILTERS), max_size=2))

    def given_if(name: str, values: st.SearchStrategy[ValueT], nothing: ValueT) -> ValueT:
        return draw(values) if name in used else nothing

    order = draw(st.sampled_from(Order))
    key: Key = (*(draw(moments) for _ in order.value), draw(names))
    return Selection(
        states=given_if("states", some_of(STATES), ()),
        facets=given_if("facets", some_of(["", "x", "y"]), ()),
        ranks=given_if("ranks", some_of([1, 2, 3, 4]), ()),
        topic=given_if("topic", st.sampled_from(["t", "u", "v"]), ""),
        tags=given_if("tags", some_of("pqs"), ()),
        words=given_if("words", some_of(["fish", "red", "%", "_", "l n"]), ()),
        since=given_if("since", moments, None),
        order=order,
        descending=draw(st.booleans()),
        after=draw(st.none() | st.just(key)),
        limit=draw(st.none() | st.integers(0, 4)),
    )


class Failed(Exception):
    """What a unit of work fails with on purpose."""


def carry_out(work: Transaction[Card], change: str, card: Card, model: dict[str, Card]) -> None:
    """Make one change to both; what cannot be done is refused."""
    if (change == "add") == (card.id in model):
        with pytest.raises(DuplicateId if change == "add" else TaskNotFound):
            work.add(card) if change == "add" else work.get(card.id)
    elif change == "add":
        work.add(card)
        model[card.id] = card
    elif change == "replace":
        work.replace(card)
        model[card.id] = card
    else:
        work.remove(card.id)
        del model[card.id]


def play(store: Store[Card], unit: tuple[list[tuple[str, Card]], bool], model: dict[str, Card]) -> dict[str, Card]:
    """Carry out a unit of work, which may fail at its end, and return what there is then."""
    steps, fails = unit
    new = dict(model)
    with suppress(Failed), store.transaction() as work:
        for change, card in steps:
            carry_out(work, change, card, new)
            assert (len(work), [node.id for node in work.nodes()]) == (len(new), [*new])
        if fails:
            raise Failed
        model = new
    return model


def near(name: str, known: Iterable[str]) -> list[str]:
    ordered = sorted(known)
    place = bisect_left(ordered, name)
    return nearest(name, [*reversed(ordered[max(place - 100, 0) : place]), *ordered[place : place + 100]])


def check(found: Collection[Card], model: dict[str, Card], asked: list[Selection]) -> None:
    every = model.values()
    for selection in asked:
        assert found.select(selection) == selected(every, selection)
        assert found.count(selection) == len(matching(every, selection))
    for name in NAMES:
        assert (name in found) == (name in model)
        assert found.near(name) == near(name, model)
        assert found.ids(name[:1], 2) == sorted(key for key in model if key.startswith(name[:1]))[:2]
        if name in model:
            assert found.get(name) == model[name]


@settings(max_examples=12)
@given(steps=st.lists(st.tuples(units, st.lists(selections(), max_size=6)), max_size=6))
@example(steps=[(([("add", Card(id="a", tags=("p", "p")))], False), [Selection(tags=("p",))])])
def test_every_engine_answers_as_plain_python_does(
    steps: list[tuple[tuple[list[tuple[str, Card]], bool], list[Selection]]],
) -> None:
    with TemporaryDirectory() as folder:
        for engine in ENGINES:
            open_one = partial(engine.open, Path(folder), LIST)
            store = open_one()
            model: dict[str, Card] = {}
            play(store, ([("add", Card(id="first")), ("remove", Card(id="first"))], False), {})
            for unit, asked in steps:
                before, token = model, store.changes(None, 1).token
                model = play(store, unit, model)
                for reader in (store, open_one()) if engine.is_lasting else (store,):
                    with reader.read() as found:
                        check(found, model, asked)
                news = store.changes(token, 100)
                assert not news.reset
                assert {name for name in {**before, **model} if before.get(name) != model.get(name)} <= {
                    name for name, _ in news.records
                }
                assert all(model.get(name) == card for name, card in news.records)


@each_engine
@settings(max_examples=8)
@given(
    every=st.lists(cards, unique_by=lambda card: card.id),
    asked=selections(),
    size=st.integers(1, 3),
    changed=st.lists(cards, max_size=2),
)
def test_pages_by_key_show_everything_once_whatever_is_added_behind(
    engine: Engine, every: list[Card], asked: Selection, size: int, changed: list[Card]
) -> None:
    asked = replace(asked, after=None, limit=size)
    with TemporaryDirectory() as folder:
        store = engine.open(Path(folder), LIST)
        with store.transaction() as work:
            for card in every:
                work.add(card)
        shown: list[Card] = []
        after: Key | None = None
        for card in [*changed, None, *[None] * len(NAMES)]:
            with store.read() as found:
                page = found.select(replace(asked, after=after))
            shown += page
            after = asked.order.key(page[-1]) if page else after
            if card and card.id not in {other.id for other in every}:
                with store.transaction() as work, suppress(DuplicateId):
                    work.add(card)
    assert len({card.id for card in shown}) == len(shown)
    keys = [asked.order.key(card) for card in shown]
    assert keys == sorted(keys, reverse=asked.descending)
    assert {card.id for card in selected(every, replace(asked, limit=None))} <= {card.id for card in shown}
