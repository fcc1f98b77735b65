"""The tasks of a store as people see them: in the store's order, a page at a time, on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from typing_extensions import override

from task_core.errors import InvalidArguments, TaskNotFound
from task_core.store import Order, Selection, Store
from task_core.store import view as store_view
from task_core.store.view import StoreView
from task_core.view import Line, match_statuses
from tests.core.engines import ENGINES, LIST, STATES, TREE, Card, Engine, each_engine

PAGE = 20
"""Records that one snapshot reads: less than usual, so that a few tasks are many pages."""

HEADINGS: Final = {"Now": "doing"}


class CardView(StoreView[Card]):
    """Cards by their rank, the highest first; the next is the first that is being done."""

    finished = frozenset({"done"})
    listed = Selection(order=Order.RANK, descending=True)
    headings = HEADINGS

    @override
    def line(self, task: Card, depth: int) -> Line:
        return Line(task.id, task.state, task.text, task.topic, depth)


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_view, "_PAGE", PAGE)


@pytest.fixture
def cards(engine: Engine, tmp_path: Path) -> Iterator[Store[Card]]:
    store = engine.open(tmp_path, LIST)
    yield store
    store.close()


@pytest.fixture
def trees(engine: Engine, tmp_path: Path) -> Iterator[Store[Card]]:
    store = engine.open(tmp_path, TREE)
    yield store
    store.close()


def add(store: Store[Card], *cards: Card, parent: str = "") -> None:
    with store.transaction() as work:
        for card in cards:
            work.add(card, parent)


def names(view: CardView, *statuses: str) -> list[str]:
    return [line.id for line in view.lines(statuses)]


@each_engine
def test_a_line_has_what_the_server_says_of_the_task(cards: Store[Card]) -> None:
    add(cards, Card(id="a", text="Paint\tit", topic="home", state="doing", rank=1))
    assert [*CardView(cards).lines()] == [Line("a", "doing", "Paint\tit", "home")]


@each_engine
@pytest.mark.parametrize("number", [0, PAGE, PAGE + 1])
def test_a_list_of_many_pages_has_each_task_once_and_in_order(cards: Store[Card], number: int) -> None:
    every = [Card(id=f"{place:05}", rank=place * 7919 % 10_007, state=STATES[place % 3]) for place in range(number)]
    add(cards, *every)
    ordered = sorted(every, key=lambda card: card.rank or 0, reverse=True)
    assert names(CardView(cards)) == [card.id for card in ordered]
    assert names(CardView(cards), "done", "todo") == [card.id for card in ordered if card.state != "doing"]


@each_engine
def test_tasks_that_others_remove_and_add_between_two_pages_cost_no_other_task(cards: Store[Card]) -> None:
    add(cards, *(Card(id=f"{place:05}", rank=10 * place) for place in range(PAGE + 100)))
    lines = CardView(cards).lines()
    first = [next(lines).id for _ in range(PAGE)]
    with cards.transaction() as work:
        work.remove(first[-1])
        work.add(Card(id="new", rank=5))
    others = [f"{place:05}" for place in reversed(range(1, PAGE + 100))]
    assert first + [line.id for line in lines] == [*others, "new", "00000"]


@each_engine
def test_a_tree_is_listed_depth_first_in_the_order_of_work(trees: Store[Card]) -> None:
    add(trees, Card(id="z"), Card(id="a"))
    add(trees, Card(id="z2", state="done"), Card(id="z1"), parent="z")
    add(trees, Card(id="z21"), parent="z2")
    view = CardView(trees)
    assert [(line.id, line.depth) for line in view.lines()] == [("z", 0), ("z2", 1), ("z21", 2), ("z1", 1), ("a", 0)]
    assert [(line.id, line.depth) for line in view.lines(["DONE"])] == [("z2", 1)]


@each_engine
@pytest.mark.parametrize("number", [0, PAGE + 1])
def test_a_forest_of_many_pages_has_each_tree_once(trees: Store[Card], number: int) -> None:
    add(trees, *(Card(id=f"{place * 7919 % 10_007:05}") for place in range(number)))
    if number:
        add(trees, Card(id="below"), parent=f"{(number - 1) * 7919 % 10_007:05}")
    found = names(CardView(trees))
    assert found == [f"{place * 7919 % 10_007:05}" for place in range(number)] + ["below"] * bool(number)


@each_engine
def test_a_root_that_somebody_removes_at_the_end_of_a_page_does_not_end_the_list(trees: Store[Card]) -> None:
    add(trees, *(Card(id=f"{place:05}") for place in range(PAGE + 2)))
    lines = CardView(trees).lines()
    first = [next(lines).id for _ in range(PAGE)]
    with trees.transaction() as work:
        work.remove(first[-1])
    assert [line.id for line in lines] == [f"{PAGE:05}", f"{PAGE + 1:05}"]


@each_engine
def test_one_task_is_shown_whole_and_an_unknown_one_names_near_ids(cards: Store[Card]) -> None:
    add(cards, Card(id="roof", text="red", tags=("a",)))
    view = CardView(cards)
    shown = view.task("roof")
    assert (shown["text"], shown["tags"]) == ("red", ["a"])
    with pytest.raises(TaskNotFound, match="Did you mean 'roof'"):
        view.task("rof")


@each_engine
def test_the_next_task_is_the_one_that_the_server_chooses(cards: Store[Card]) -> None:
    view = CardView(cards)
    assert view.next() is None
    add(cards, Card(id="a", rank=2), Card(id="b", state="doing", rank=1))
    assert view.next() == "b"


@each_engine
def test_the_revision_differs_after_every_change_and_only_then(cards: Store[Card]) -> None:
    view = CardView(cards)
    found = [view.revision()]
    for name in "ab":
        add(cards, Card(id=name))
        found += [view.revision(), view.revision()]
    assert found[1] == found[2] != found[0]
    assert found[3] == found[4] != found[2]


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine.name == "json"], ids=["json"])
def test_the_revision_differs_when_another_program_has_changed_the_document(cards: Store[Card], tmp_path: Path) -> None:
    add(cards, Card(id="a", rank=1))
    view = CardView(cards)
    before = view.revision()
    path = tmp_path / "store.json"
    path.write_bytes(path.read_bytes().replace(b'"a"', b'"b"'))
    assert view.revision() != before
    assert names(view) == ["b"]


KNOWN = ("Pending", "in-progress", "IN_REVIEW", "done")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], ()),
        (["Pending"], ("Pending",)),
        (["pending", "PENDING"], ("Pending",)),
        (["in_progress", "In-Progress"], ("in-progress",)),
        (["in-review", "done"], ("IN_REVIEW", "done")),
    ],
)
def test_a_status_is_found_in_any_case_and_joined_in_any_way(words: list[str], found: tuple[str, ...]) -> None:
    assert match_statuses(words, KNOWN) == found


def test_a_word_that_is_not_a_status_is_refused_with_those_that_are() -> None:
    expected = r"give one of Pending, in-progress, IN_REVIEW, done, not 'doen\\u\{1b\}'"
    with pytest.raises(InvalidArguments, match=expected) as caught:
        match_statuses(["done", "doen\x1b"], KNOWN)
    assert caught.value.details["near"] == ["done"]


def test_an_unknown_status_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    view = CardView(Engine("json").open(tmp_path / "missing", LIST))
    with pytest.raises(InvalidArguments):
        view.lines(["x"])
