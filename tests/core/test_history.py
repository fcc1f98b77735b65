"""The history of a list: one entry for each change, the same on every engine, within its bounds (AG-3 to AG-5)."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest
from pydantic import JsonValue

from task_core.errors import TaskNotFound
from task_core.history import changes, history_file
from task_core.history.changes import OUTSIDE, Change, made_by
from task_core.models import Clock, utc_now
from task_core.store import ROOTS, Codec, Store, database
from tests.core.engines import LIST, TREE, Card, Engine, each_engine, each_lasting_engine

NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)


def open_list(engine: Engine, folder: Path, codec: Codec[Card] = LIST, clock: Clock = utc_now) -> Store[Card]:
    return engine.open(folder, codec, clock=clock, history_days=90)


def entries(store: Store[Card], task_id: str = "") -> list[Change]:
    """Return the whole history, the oldest change first."""
    return store.history(task_id, limit=1_000)[::-1]


def steps(change: Change) -> list[JsonValue]:
    return [step.render() for step in change.steps]


def add(store: Store[Card], *names: str, parent: str = ROOTS) -> None:
    with store.transaction() as work:
        for name in names:
            work.add(Card(id=name, text=name), parent)


@pytest.mark.requirement("AG-3", "AG-4")
@each_engine
def test_an_entry_says_by_whom_with_what_and_each_field_before_and_after(engine: Engine, tmp_path: Path) -> None:
    store = open_list(engine, tmp_path, clock=lambda: NOON)
    with made_by("agent 1.0", "create"):
        add(store, "a")
    with made_by("command line", "edit"), store.transaction() as work:
        work.replace(Card(id="a", text="b", rank=2, tags=("x",)))
    with store.transaction() as work:
        work.remove("a")
    first, second, third = entries(store)
    assert (first.by, first.tool, first.at) == ("agent 1.0", "create", int(NOON.timestamp()) * 1_000_000)
    assert steps(first) == [{"id": "a", "what": "created", "after": card(id="a", text="a")}]
    assert (second.by, second.tool) == ("command line", "edit")
    before: dict[str, JsonValue] = {"text": "a", "rank": None, "tags": []}
    after: dict[str, JsonValue] = {"text": "b", "rank": 2, "tags": ["x"]}
    assert steps(second) == [{"id": "a", "what": "changed", "before": before, "after": after}]
    assert (third.by, third.tool) == ("", "")
    assert steps(third) == [{"id": "a", "what": "removed", "before": card(id="a", **after)}]
    assert first.number < second.number < third.number


def card(**fields: object) -> JsonValue:
    return Card.model_validate(fields).model_dump(mode="json")


@pytest.mark.requirement("AG-3", "AG-4")
@each_engine
def test_a_change_of_a_tree_says_where_each_record_was_and_is(engine: Engine, tmp_path: Path) -> None:
    store = open_list(engine, tmp_path, TREE)
    with store.transaction() as work:
        for name, parent, index in (("r", ROOTS, None), ("b", "r", None), ("a", "r", 0), ("s", ROOTS, None)):
            work.add(Card(id=name), parent, index)
    with store.transaction() as work:
        work.move("a", "s")
        work.move("r", ROOTS, 1)
        work.remove("r")
    first, second = entries(store)
    assert [step.reached for step in first.steps] == [("", ""), ("r", ""), ("r", "b"), ("", "")]
    assert [(step.what, step.id, step.left, step.reached) for step in second.steps] == [
        ("moved", "a", ("r", "b"), ("s", "")),
        ("moved", "r", ("", "s"), ("", "")),
        ("removed", "b", ("r", ""), None),
        ("removed", "r", ("", ""), None),
    ]


@pytest.mark.requirement("AG-3")
@each_engine
def test_one_transaction_is_one_entry_and_one_record_in_it_one_step(engine: Engine, tmp_path: Path) -> None:
    store = open_list(engine, tmp_path)
    with store.transaction() as work:
        for text in ("one", "two"):
            work.add(Card(id=text))
            work.replace(Card(id=text, text=text))
            work.replace(Card(id=text, text=text * 2))
        work.remove("one")
        work.add(Card(id="one", text="again"))
    (change,) = entries(store)
    assert [(step.what, step.id, step.after.get("text")) for step in change.steps] == [
        ("created", "one", "oneone"),
        ("created", "two", "twotwo"),
        ("removed", "one", None),
        ("created", "one", "again"),
    ]


@pytest.mark.requirement("AG-3")
@each_engine
def test_a_change_that_failed_or_changed_nothing_leaves_no_entry(engine: Engine, tmp_path: Path) -> None:
    store = open_list(engine, tmp_path)
    add(store, "a")
    with store.transaction() as work:
        work.replace(Card(id="a", text="a"))
    with pytest.raises(TaskNotFound):
        remove(store, "a", "a")
    with store.transaction() as work:
        work.set_fields({"section": 1})
    assert [step.what for change in entries(store) for step in change.steps] == ["created"]


@pytest.mark.requirement("AG-3")
@each_engine
def test_what_was_taken_in_is_a_change_of_its_own_before_that_of_the_call(engine: Engine, tmp_path: Path) -> None:
    store = open_list(engine, tmp_path)
    with made_by("agent", "create") as origin, store.transaction() as work:
        work.end_change()  # nothing so far
        work.add(Card(id="a"))
        work.end_change()
        work.add(Card(id="b"))
    assert [(change.by, change.tool, change.steps[0].id) for change in entries(store)] == [
        (OUTSIDE, "", "a"),
        ("agent", "create", "b"),
    ]
    assert origin.change is not None
    assert origin.change.number == entries(store)[-1].number


@pytest.mark.requirement("AG-4")
@each_engine
def test_pages_and_the_changes_of_one_task_are_found(engine: Engine, tmp_path: Path) -> None:
    store = open_list(engine, tmp_path)
    names = ["a", 'quo"te', "\N{SNOWMAN}", "a"]
    for name in names[:3]:
        add(store, name)
    with store.transaction() as work:
        work.replace(Card(id="a", text='{"id":"x","what":'))
    found = entries(store)
    assert [change.steps[0].id for change in found] == names
    page = store.history(before=found[-1].number, limit=2)
    assert [change.steps[0].id for change in page] == names[2:0:-1]
    assert [change.number for change in entries(store, "a")] == [found[0].number, found[3].number]
    assert len(entries(store, names[1])) == len(entries(store, names[2])) == 1
    assert entries(store, "x") == []


@pytest.mark.requirement("AG-4")
@each_lasting_engine
def test_two_processes_on_one_list_number_on_and_take_each_other_for_nobody_else(
    engine: Engine, tmp_path: Path
) -> None:
    stores = [open_list(engine, tmp_path) for _ in range(2)]
    for number in range(6):
        with made_by(f"agent {number % 2}", ""):
            add(stores[number % 2], f"t{number}")
        with stores[(number + 1) % 2].read() as records:  # it takes in what the other one wrote
            assert len(records) == number + 1
    assert entries(stores[0]) == entries(stores[1])
    assert [change.by for change in entries(stores[0])] == ["agent 0", "agent 1"] * 3
    numbers = [change.number for change in entries(stores[0])]
    assert numbers == sorted({*numbers})


def remove(store: Store[Card], *names: str) -> None:
    with store.transaction() as work:
        for name in names:
            work.remove(name)


# Bounds


@pytest.mark.requirement("AG-5")
@each_engine
def test_a_list_that_keeps_no_history_has_none(engine: Engine, tmp_path: Path) -> None:
    store = engine.open(tmp_path, LIST)
    add(store, "a")
    assert not store.keeps_history
    assert entries(store) == []
    assert [path.name for path in tmp_path.glob("*history*")] == []


@pytest.mark.requirement("AG-5")
@each_engine
def test_a_value_that_is_too_long_is_kept_as_its_length_and_digest(engine: Engine, tmp_path: Path) -> None:
    store = open_list(engine, tmp_path)
    texts = ["é\n" * 50_000, "x" * 100_001]
    for text in texts:
        with store.transaction() as work:
            (work.replace if "a" in work else work.add)(Card(id="a", text=text))
    first, second = entries(store)
    assert first.is_whole
    assert first.steps[0].after["text"] == texts[0]
    assert not second.is_whole
    assert second.steps[0].before == {"text": texts[0]}
    digest = hashlib.sha256(texts[1].encode()).hexdigest()
    assert second.steps[0].after == {"text": {"characters": 100_001, "sha256": digest}}


@pytest.mark.requirement("AG-5")
@each_engine
def test_a_change_that_is_too_long_keeps_the_ids_of_its_first_tasks(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_MAX_CHANGE", 500)
    monkeypatch.setattr(changes, "_MAX_NAMED", 3)
    store = open_list(engine, tmp_path)
    add(store, *"abcde")
    add(store, "f")
    first, second = entries(store)
    assert steps(first) == [{"id": name, "what": "created", "cut": True} for name in "abc"]
    assert (first.more, first.is_whole, second.is_whole) == (2, False, True)
    assert entries(store, "b") == [first]


@pytest.mark.requirement("AG-5")
@each_engine
def test_changes_that_are_too_old_are_neither_shown_nor_kept_and_numbers_go_on(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trim_at_each_change(monkeypatch)
    now = [NOON]
    store = open_list(engine, tmp_path, clock=lambda: now[0])
    add(store, "a")
    now[0] += timedelta(days=80)
    add(store, "b")
    assert names(store) == ["a", "b"]
    last = entries(store)[-1].number
    now[0] += timedelta(days=20)
    assert names(store) == ["b"]
    now[0] += timedelta(days=80)
    assert names(store) == []
    add(store, "c")
    assert names(store) == ["c"]
    assert entries(store)[-1].number > last
    now[0] -= timedelta(days=180)
    assert names(store) == ["c"]  # the others are gone


@pytest.mark.requirement("AG-5")
@each_engine
def test_changes_beyond_the_bound_of_bytes_go_the_oldest_first(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trim_at_each_change(monkeypatch)
    for module in (database, history_file):
        monkeypatch.setattr(module, "MAX_BYTES", 1_500)
    store = open_list(engine, tmp_path)
    for number in range(12):
        add(store, f"t{number}")
    kept = names(store)
    assert kept == [f"t{number}" for number in range(12 - len(kept), 12)]
    assert 2 <= len(kept) <= 10
    with store.transaction() as work:
        work.add(Card(id="huge", text="x" * 3_000))
    add(store, "last")
    assert names(store)[-1] == "last"
    assert entries(store)[-1].number > 12


def trim_at_each_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_PURGED_EVERY", 1)
    monkeypatch.setattr(history_file, "_TRIMMED_EVERY", 1)


def names(store: Store[Card]) -> list[str]:
    return [step.id for change in entries(store) for step in change.steps]


def test_an_author_is_named_in_at_most_200_characters() -> None:
    with made_by("x" * 300, "") as origin:
        assert len(origin.by) == 200


@pytest.mark.parametrize("text", ["[]", "{}", "1", "null", '{"by":"","tool":"","tasks":[1]}', "{"])
def test_what_is_no_change_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Change.parse(1, 0, text)
