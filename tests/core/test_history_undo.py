"""Undoing one change, and walking back from change to change to any earlier state (AG-6, AG-21)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_core.history import changes
from task_core.history.changes import Change
from task_core.models import Record, UtcDatetime
from task_core.store import ROOTS, Codec, Kind, MemoryDatabase, Store, Transaction
from task_core.store.undo import ChangeNotFound, NotUndone, StoreHistory
from tests.core.engines import LIST, TREE, Card, Engine, each_engine

pytestmark = pytest.mark.requirement("AG-6")

NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)

Work = Transaction[Card]


def open_list(engine: Engine, folder: Path, codec: Codec[Card] = LIST) -> Store[Card]:
    return engine.open(folder, codec, history_days=90)


def plant(store: Store[Card], **trees: str) -> None:
    """Add each name with these children, in one transaction."""
    with store.transaction() as work:
        for root, below in trees.items():
            if root not in work:
                work.add(Card(id=root, text=f"<{root}>"))
            for name in below.split():
                work.add(Card(id=name, text=f"<{name}>"), root)


def last(store: Store[Card]) -> int:
    return store.history()[0].number


def undo(store: Store[Card], number: int | None = None) -> list[str]:
    return StoreHistory(store).undo(last(store) if number is None else number)


def refuse(store: Store[Card], number: int) -> NotUndone:
    """Return why a change is not undone, which then changes nothing."""
    before = state(store), store.history(limit=1_000)
    with pytest.raises(NotUndone) as caught:
        undo(store, number)
    assert (state(store), store.history(limit=1_000)) == before
    return caught.value


def state(store: Store[Card]) -> list[tuple[str, Card]]:
    """Return every record with its parent, siblings in order; of a list, whose order means nothing, by id."""
    with store.read() as records:
        if records.kind.is_tree:
            return [(parent, records.get(name)) for parent, name in walk(records.child_ids, ROOTS)]
        found = [(ROOTS, Card.model_validate_json(node.line)) for node in records.nodes()]
        return sorted(found, key=lambda entry: entry[1].id)


def walk(children: Callable[[str], Sequence[str]], parent: str) -> list[tuple[str, str]]:
    return [entry for name in children(parent) for entry in [(parent, name), *walk(children, name)]]


class Case(NamedTuple):
    """A change of the trees ``r(a(x y) b c)`` and ``s``."""

    name: str
    make: Callable[[Work], object]


def replace_all(work: Work) -> None:
    for name in "rabx":
        work.replace(work.get(name).changed(text=f"new {name}", tags=("t",)))


def rebuild(work: Work) -> None:
    work.move("x", "s")
    work.remove("a")
    work.add(Card(id="a", text="another"), "s", 0)
    work.replace(Card(id="a", text="changed"))
    work.move("x", "a")
    work.move("s", ROOTS, 0)


CASES: Final = [
    Case("create", lambda work: work.add(Card(id="new"), "a", 1)),
    Case("create a tree", lambda work: (work.add(Card(id="new")), work.add(Card(id="below"), "new"))),
    Case("change a field", lambda work: work.replace(Card(id="a", text="new"))),
    Case("add a field", lambda work: work.replace(Card.model_validate({"id": "a", "text": "<a>", "more": [1]}))),
    Case("change several", replace_all),
    Case("remove a leaf", lambda work: work.remove("b")),
    Case("remove a tree", lambda work: work.remove("r")),
    Case("move to another parent", lambda work: work.move("b", "s")),
    Case("move to the end", lambda work: work.move("a", "r")),
    Case("move to the front", lambda work: work.move("c", "r", 0)),
    Case("move a tree to the roots", lambda work: work.move("a", ROOTS, 0)),
    Case("move a root below another", lambda work: work.move("s", "b")),
    Case("change, move and remove", rebuild),
]


@each_engine
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_kind_of_change_is_undone_and_its_undo_too(engine: Engine, case: Case, tmp_path: Path) -> None:
    store = open_list(engine, tmp_path, TREE)
    plant(store, r="a b c", a="x y", s="")
    before = state(store)
    with store.transaction() as work:
        case.make(work)
    after = state(store)
    assert after != before
    undo(store)
    assert state(store) == before
    undo(store)  # an undo is itself a change
    assert state(store) == after


@each_engine
def test_records_of_a_list_come_back_too(engine: Engine, tmp_path: Path) -> None:
    store = open_list(engine, tmp_path)
    plant(store, a="", b="", c="")
    before = state(store)
    with store.transaction() as work:
        work.remove("a")
        work.replace(Card(id="b", rank=3))
    assert undo(store) == ["a", "b"]
    assert state(store) == before


@each_engine
def test_a_change_is_undone_after_others_that_do_not_concern_it(engine: Engine, tmp_path: Path) -> None:
    store = open_list(engine, tmp_path, TREE)
    plant(store, r="a b c")
    with store.transaction() as work:
        work.replace(Card(id="a", text="new"))
    number = last(store)
    with store.transaction() as work:
        work.replace(Card(id="a", text="new", rank=1))
        work.move("a", ROOTS)
        work.remove("b")
    undo(store, number)
    with store.read() as records:
        assert records.get("a") == Card(id="a", text="<a>", rank=1)


@each_engine
def test_it_is_refused_if_a_field_has_another_value_now_and_says_which(engine: Engine, tmp_path: Path) -> None:
    store = open_list(engine, tmp_path, TREE)
    plant(store, r="a b c")
    with store.transaction() as work:
        for name in "ab":
            work.replace(Card(id=name, text="new", rank=1))
    number = last(store)
    with store.transaction() as work:
        work.replace(Card(id="a", text="newer", rank=1))
        work.remove("b")
    error = refuse(store, number)
    assert error.details["conflicts"] == [
        {"id": "b", "now": "the task is gone"},
        {"id": "a", "field": "text", "now": "newer"},
    ]
    assert error.message == (
        f"Change {number} was not undone: something was changed since, first 'b', which is now: the task is gone."
    )
    with store.transaction() as work:
        work.add(Card(id="b", text="new", rank=1), "r")
    assert "first text of 'a', which is now: newer." in refuse(store, number).message


class Later(NamedTuple):
    """A change, one after it that is in the way, and the conflict."""

    make: Callable[[Work], object]
    later: Callable[[Work], object]
    id: str
    now: str


REFUSED: Final = [
    Later(lambda work: work.add(Card(id="n"), "a"), lambda work: work.add(Card(id="m"), "n"), "n", "it has subtasks"),
    Later(lambda work: work.remove("a"), lambda work: work.add(Card(id="a")), "a", "there is a new task with this id"),
    Later(lambda work: work.remove("x"), lambda work: work.remove("a"), "a", "the task is gone"),
    Later(lambda work: work.move("x", "s"), lambda work: work.move("x", "b"), "x", "it is below another task"),
    Later(lambda work: work.add(Card(id="n"), "a"), lambda work: work.move("n", "b"), "n", "it is below another task"),
    Later(lambda work: work.move("x", "s"), lambda work: work.remove("a"), "a", "the task is gone"),
    Later(lambda work: work.move("x", "s"), lambda work: work.remove("x"), "x", "the task is gone"),
    Later(lambda work: work.move("x", "s"), lambda work: work.move("a", "x"), "a", "it is below this task"),
]


@pytest.mark.parametrize("case", REFUSED, ids=range(len(REFUSED)))
def test_it_is_refused_where_a_later_change_is_in_the_way(case: Later, tmp_path: Path) -> None:
    store = open_list(Engine("memory"), tmp_path, TREE)
    plant(store, r="a b c", a="x y", s="")
    for change in (case.make, case.later):
        with store.transaction() as work:
            change(work)
    details: dict[str, Any] = refuse(store, store.history(limit=2)[1].number).details
    (conflict,) = details["conflicts"]
    assert conflict["id"] == case.id
    assert conflict["now"].startswith(case.now)


@each_engine
def test_a_task_comes_back_last_if_its_place_has_gone(engine: Engine, tmp_path: Path) -> None:
    store = open_list(engine, tmp_path, TREE)
    plant(store, r="a b c d")
    for name in ("a", "b"):
        with store.transaction() as work:
            work.remove(name)
    with store.transaction() as work:
        work.move("c", "d")
    removed = [change.number for change in store.history(limit=3)][1:]
    for number in removed[::-1]:
        undo(store, number)
    assert [card.id for parent, card in state(store) if parent == "r"] == ["d", "a", "b"]


def test_a_change_that_is_not_kept_whole_or_unknown_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_MAX_VALUE", 10)
    store = open_list(Engine("memory"), tmp_path)
    plant(store, a="")
    with store.transaction() as work:
        work.replace(Card(id="a", text="x" * 11))
    assert refuse(store, last(store)).message.endswith("not all that it replaced was kept.")
    for number in (0, 9, 2**62, 2**63, 10**30):
        with pytest.raises(ChangeNotFound, match="The history has no change"):
            undo(store, number)


class Older(Record):
    """A record of an older version of the server."""

    number: str | int = ""


class Stamped(Record):
    """A record with the time of its last change."""

    updated: UtcDatetime = NOON
    number: int = 0


def in_memory(history_days: float = 90) -> MemoryDatabase:
    database = MemoryDatabase()
    database.history_days = history_days
    return database


def test_what_was_kept_but_is_not_valid_any_more_is_refused() -> None:
    database = in_memory()
    older = Store(database, Kind("cards", Older))
    with older.transaction() as records:
        records.add(Older(id="a", number="one"))
    with older.transaction() as records:
        records.replace(Older(id="a", number=2))
    newer = StoreHistory(Store(database, Kind("cards", Stamped)))
    with pytest.raises(NotUndone, match="what was kept of it is not valid any more"):
        newer.undo(newer.changes()[0].number)


def test_the_time_of_the_last_change_is_that_of_the_undo_and_never_in_the_way() -> None:
    now = NOON
    store = Store(in_memory(), Kind("cards", Stamped, stamp="updated"), clock=lambda: now)
    for day, number in enumerate((0, 1, 1)):
        with store.transaction() as work:
            (work.replace if "a" in work else work.add)(Stamped(id="a", updated=now + timedelta(day), number=number))
    now += timedelta(5)
    StoreHistory(store).undo(2)
    with store.read() as records:
        assert records.get("a") == Stamped(id="a", updated=now)


def test_a_rule_of_the_server_refuses_it() -> None:
    store = Store(in_memory(), LIST.kind)
    plant(store, a="")
    seen: list[str] = []
    history = StoreHistory(store, settle=lambda _, ids: (seen.extend(ids), "it is a rule")[1])
    with pytest.raises(NotUndone, match=r"Change 1 was not undone: it is a rule\."):
        history.undo(1)
    assert seen == []  # the task is gone
    assert len(state(store)) == 1


# Walking back

NAMES: Final = "abcdefgh"

ACTIONS: Final = st.tuples(
    st.sampled_from(["add", "add", "replace", "move", "move", "remove"]),
    st.integers(0, 7),
    st.integers(0, 8),
    st.integers(0, 4),
)

TRANSACTIONS: Final = st.lists(st.lists(ACTIONS, min_size=1, max_size=5), min_size=1, max_size=5)


def carry_out(work: Work, action: str, name: str, parent: str, number: int) -> None:
    """Change something, if it can be changed so."""
    is_tree = work.kind.is_tree
    parent = parent if is_tree and parent in work else ROOTS
    index = number if is_tree and number < 3 else None
    if name not in work:
        if action == "add":
            work.add(Card(id=name, text=str(number)), parent, index)
    elif action == "replace":
        work.replace(Card.model_validate({"id": name, "text": str(number), **({"more": 1} if number == 4 else {})}))
    elif action == "remove":
        work.remove(name)
    elif is_tree and name != parent and not (parent and name in {above.id for above in work.ancestors(parent)}):
        work.move(name, parent, index)


@pytest.mark.requirement("AG-21")
@pytest.mark.parametrize("codec", [LIST, TREE], ids=["list", "tree"])
@pytest.mark.parametrize("engine", [Engine("memory"), Engine("json")], ids=lambda engine: engine.name)
@settings(max_examples=50)
@given(transactions=TRANSACTIONS)
def test_from_the_newest_to_the_oldest_change_every_earlier_state_comes_back(
    engine: Engine, codec: Codec[Card], transactions: list[list[tuple[str, int, int, int]]]
) -> None:
    with TemporaryDirectory() as folder:
        store = open_list(engine, Path(folder), codec)
        states = {0: state(store)}
        for transaction in transactions:
            with store.transaction() as work:
                for action, name, parent, number in transaction:
                    carry_out(work, action, NAMES[name], f"{NAMES} "[parent], number)
            states[max((change.number for change in store.history()), default=0)] = state(store)
        walk_back(store, states)


def walk_back(store: Store[Card], states: dict[int, list[tuple[str, Card]]]) -> None:
    """Undo every change from the newest to the oldest, and compare what was before each."""
    made: list[Change] = store.history(limit=1_000)
    for change, older in zip(made, [*(it.number for it in made[1:]), 0], strict=False):
        undo(store, change.number)
        if older in states:
            assert state(store) == states[older]


@pytest.mark.requirement("AG-21")
@pytest.mark.parametrize("codec", [LIST, TREE], ids=["list", "tree"])
@settings(max_examples=40)
@given(edits=st.lists(st.lists(ACTIONS, min_size=1, max_size=12), min_size=2, max_size=3))
def test_a_document_edited_by_hand_is_taken_in_as_it_is_and_walked_back_to_what_it_was(
    codec: Codec[Card], edits: list[list[tuple[str, int, int, int]]]
) -> None:
    with TemporaryDirectory() as folder:
        engine, path = Engine("json"), Path(folder)
        store = open_list(engine, path, codec)
        states = {0: state(store)}
        for number, edit in enumerate(edits):
            other = engine.open(path, codec)  # leaves the document as a person's edit might
            with other.transaction() as work:
                for action, name, parent, place in edit:
                    carry_out(work, action, NAMES[name], f"{NAMES} "[parent], place)
            if number % 2:
                reverse_blocks(engine.path(path))
            edited = state(store)
            assert edited == state(engine.open(path, codec))
            with store.transaction() as work:  # whoever writes next notes it
                work.add(Card(id=f"mark {number}"))
            mark, *noted = store.history(limit=2)
            states |= {mark.number: state(store)} | {change.number: edited for change in noted}
        walk_back(store, states)


def reverse_blocks(path: Path) -> None:
    document: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
    for name, blocks in document.items():
        if name in {"trees", "tasks"}:
            blocks.reverse()
            path.write_text(json.dumps(document))
