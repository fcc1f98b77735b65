"""Trees are rows with places, and every question about one has the answer that nested lists give (EN-4)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_core.errors import DuplicateId, TaskNotFound
from task_core.store import ROOTS, Collection, Selection, Store, Transaction
from task_core.store.database import Connection
from task_core.store.statements import Parameters
from tests.core.engines import ENGINES, STATES, TREE, Card, Engine, each_engine

pytestmark = pytest.mark.requirement("EN-2", "EN-4", "EN-5")

NAMES = "abcdefgh"


@dataclass
class Nested:
    """The plain meaning of a tree: the ids of the children of each parent, in order, and the cards."""

    cards: dict[str, Card] = field(default_factory=dict)
    below: dict[str, list[str]] = field(default_factory=lambda: {ROOTS: []})

    def copy(self) -> Nested:
        return Nested(dict(self.cards), {parent: [*children] for parent, children in self.below.items()})

    def parent(self, name: str) -> str:
        return next(parent for parent, children in self.below.items() if name in children)

    def above(self, name: str) -> list[str]:
        parent = self.parent(name)
        return [*self.above(parent), parent] if parent else []

    def levels(self, name: str) -> Iterator[tuple[str, int]]:
        """Yield the record and what is below it, level by level."""
        level, depth = [name], 1
        while level:
            yield from ((each, depth) for each in level)
            level, depth = [child for each in level for child in self.below[each]], depth + 1

    def place(self, name: str, parent: str, index: int | None) -> None:
        self.below[parent].insert(len(self.below[parent]) if index is None else index, name)
        self.below.setdefault(name, [])

    def take(self, name: str) -> None:
        self.below[self.parent(name)].remove(name)

    def remove(self, name: str) -> int:
        gone = [each for each, _ in self.levels(name)]
        self.take(name)
        for each in gone:
            del self.cards[each], self.below[each]
        return len(gone)


@dataclass(frozen=True)
class Step:
    """One change; numbers choose parent and place among those that are there."""

    change: str
    name: str
    state: str
    parent: int
    index: int | None


steps = st.builds(
    Step,
    change=st.sampled_from(["add", "add", "add", "move", "remove", "replace"]),
    name=st.sampled_from(NAMES),
    state=st.sampled_from(STATES),
    parent=st.integers(0, 8),
    index=st.none() | st.integers(0, 8),
)


class Failed(Exception):
    """What a unit of work fails with on purpose."""


def carry_out(work: Transaction[Card], step: Step, model: Nested) -> None:
    """Make one change to both; what cannot be done is refused."""
    card = Card(id=step.name, state=step.state)
    parents = [ROOTS, *model.cards]
    parent = parents[step.parent % len(parents)]
    is_there = step.name in model.cards
    if is_there == (step.change == "add"):
        with pytest.raises(DuplicateId if is_there else TaskNotFound):
            {"add": work.add, "replace": work.replace}.get(step.change, lambda it: work.remove(it.id))(card)
    elif step.change == "replace":
        work.replace(card)
        model.cards[step.name] = card
    elif step.change == "remove":
        assert work.remove(step.name) == model.remove(step.name)
    elif step.change == "add":
        index = None if step.index is None else min(step.index, len(model.below[parent]))
        work.add(card, parent, index)
        model.cards[step.name] = card
        model.place(step.name, parent, index)
    elif step.name not in (parent, *(model.above(parent) if parent else ())):
        model.take(step.name)
        index = None if step.index is None else min(step.index, len(model.below[parent]))
        work.move(step.name, parent, index)
        model.place(step.name, parent, index)


def check(found: Collection[Card], model: Nested) -> None:
    """Compare every question with its plain meaning."""
    assert len(found) == len(model.cards)
    for parent, names in model.below.items():
        cards = [model.cards[name] for name in names]
        still_open = [card for card in cards if card.state != "done"]
        assert found.child_ids(parent) == names
        assert found.child_states(parent) == Counter(card.state for card in cards)
        assert found.first_open_child(parent) == next(iter(still_open), None)
        for is_open, among in ((False, cards), (True, still_open)):
            ask = partial(found.children, parent, is_open=is_open)
            count = partial(found.count_children, parent, is_open=is_open)
            assert (ask(), ask(limit=2), count()) == (among, among[:2], len(among))
            for place, name in enumerate(names):
                earlier = [card for card in among if names.index(card.id) < place]
                later = [card for card in among if names.index(card.id) > place]
                assert (ask(before=name), ask(after=name)) == (earlier, later)
                assert (ask(before=name, limit=2), ask(after=name, limit=2)) == (earlier[-2:], later[:2])
                assert (count(before=name), count(after=name)) == (len(earlier), len(later))
    for name in model.cards:
        assert [card.id for card in found.ancestors(name)] == model.above(name)
        # Levels from above, siblings in order; how the children of several parents mix in a level is not said.
        by_parent = [(level, node.parent, node.id) for node, level in found.subtree(name)]
        assert [level for level, _, _ in by_parent] == sorted(level for level, _, _ in by_parent)
        expected = [(level, model.parent(each), each) for each, level in model.levels(name)]
        assert sorted(by_parent, key=itemgetter(0, 1)) == sorted(expected, key=itemgetter(0, 1))
        assert found.row(name)[:2] == (model.cards[name], model.parent(name))
    assert found.parents(3) == sorted(name for name in model.cards if model.below[name])[:3]
    order = [node.id for node in found.nodes()]
    assert all([name for name in order if name in names] == names for names in model.below.values())
    for state in STATES:
        assert found.count(Selection(states=(state,))) == sum(card.state == state for card in model.cards.values())


@settings(max_examples=12)
@given(units=st.lists(st.tuples(st.lists(steps, max_size=8), st.booleans()), max_size=4))
def test_a_tree_is_what_nested_lists_are_on_every_engine(units: list[tuple[list[Step], bool]]) -> None:
    with TemporaryDirectory() as folder:
        for engine in ENGINES:
            store = engine.open(Path(folder), TREE)
            model = Nested()
            for changes, fails in units:
                new = model.copy()
                with suppress(Failed), store.transaction() as work:
                    for step in changes:
                        carry_out(work, step, new)
                    check(work, new)
                    if fails:
                        raise Failed
                    model = new
                for reader in (store, engine.open(Path(folder), TREE)) if engine.is_lasting else (store,):
                    with reader.read() as found:
                        check(found, model)


@pytest.fixture
def store(engine: Engine, tmp_path: Path) -> Store[Card]:
    return engine.open(tmp_path, TREE)


def plant(store: Store[Card], *names: str, parent: str = ROOTS) -> None:
    with store.transaction() as cards:
        for name in names:
            cards.add(Card(id=name), parent)


@each_engine
def test_there_is_room_between_two_siblings_however_often_one_is_put_there(store: Store[Card]) -> None:
    plant(store, "first", *(f"after-{number}" for number in range(300)))
    expected = ["first", *(f"after-{number}" for number in range(300))]
    for unit in range(4):
        with store.transaction() as cards:
            for number in range(50):
                cards.add(Card(id=f"new-{unit}-{number}"), ROOTS, 1)
                expected.insert(1, f"new-{unit}-{number}")
            assert cards.child_ids(ROOTS) == expected
    with store.read() as cards:
        assert cards.child_ids(ROOTS) == expected


@each_engine
def test_places_that_run_out_move_no_more_siblings_than_need_be(store: Store[Card]) -> None:
    plant(store, "first", *(f"s{number:04}" for number in range(500)))
    with store.transaction() as cards:
        before = {name: position for position, name in cards.positions(ROOTS, -1, 2_000)}
        for number in range(60):
            cards.add(Card(id=f"new-{number}"), ROOTS, 1)
        after = {name: position for position, name in cards.positions(ROOTS, -1, 2_000)}
    assert 0 < sum(after[name] != position for name, position in before.items()) < 150


@pytest.mark.requirement("AG-4")
def test_an_order_that_a_person_gave_to_many_trees_is_taken_in_without_reading_them_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    json_engine = Engine("json")
    store = json_engine.open(tmp_path, TREE)
    names = [f"r{number}" for number in range(200)]
    plant(store, *names)
    path = json_engine.path(tmp_path)
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"trees": document["trees"][::-1]}))
    read: list[int] = []
    run = Connection.run

    def count(connection: Connection, statement: str, parameters: Parameters | None = None) -> list[tuple[Any, ...]]:
        found = run(connection, statement, parameters)
        read.append(len(found))
        return found

    monkeypatch.setattr(Connection, "run", count)
    with store.read() as cards:
        assert cards.child_ids(ROOTS) == names[::-1]
    assert sum(read) < 50 * len(names)


@each_engine
def test_where_there_is_no_parent_nothing_is_put(store: Store[Card]) -> None:
    plant(store, "a")
    with store.transaction() as cards:
        for change in (
            lambda: cards.add(Card(id="b"), "nobody"),
            lambda: cards.move("nobody", "a"),
            lambda: cards.ancestors("nobody"),
        ):
            with pytest.raises(TaskNotFound, match="nobody"):
                change()
    with store.read() as cards:
        assert cards.child_ids(ROOTS) == ["a"]


@each_engine
@pytest.mark.requirement("EN-20")
def test_a_parent_that_gains_or_loses_a_child_is_news_and_other_relatives_are_not(store: Store[Card]) -> None:
    plant(store, "root", "other", "far")
    plant(store, "parent", parent="root")
    token = store.changes(None, 1).token

    def news() -> list[str]:
        nonlocal token
        found = store.changes(token, 99)
        token = found.token
        return sorted(name for name, _ in found.records)

    plant(store, "child", parent="parent")
    assert news() == ["child", "parent"]
    with store.transaction() as cards:
        cards.move("child", "other")
    assert news() == ["child", "other", "parent"]
    with store.transaction() as cards:
        assert cards.remove("other") == 2
    assert news() == ["child", "other"]
    with store.transaction() as cards:
        assert cards.remove("parent") == 1
    assert news() == ["parent", "root"]


@each_engine
def test_a_closed_child_that_opens_again_is_found(store: Store[Card]) -> None:
    plant(store, "a", "b")
    for state, first in (("done", "b"), ("doing", "a")):
        with store.transaction() as cards:
            cards.replace(Card(id="a", state=state))
            assert cards.first_open_child(ROOTS) == cards.get(first)
    with store.read() as cards:
        assert [card.id for card in cards.children(ROOTS, is_open=True)] == ["a", "b"]
