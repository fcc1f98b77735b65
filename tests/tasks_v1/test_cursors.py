"""Cursors: their text, and what they promise whatever happens between two pages (V1-2)."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from task_core.errors import InvalidArguments
from tasks_v1_mcp.arguments import TaskUpdate
from tasks_v1_mcp.changes import moved, updated
from tasks_v1_mcp.cursor import Cursor, Position
from tasks_v1_mcp.lister import Lister
from tasks_v1_mcp.models import TRAIL_LENGTH, TRANSITIONS, Category, Priority, Status, StoredTask
from tasks_v1_mcp.query import Order, Query
from tests.tasks_v1.conftest import START, make_task

moments = st.datetimes(timezones=st.just(timezone.utc))
positions = st.builds(Position, st.integers(0, 3), moments, moments, st.text(min_size=1))
cursors = st.builds(Cursor, moments, positions)
CURSOR = Cursor(START, Position(3, START, START, "task_CR6H705FH5YW"))


def read(text: str, question: bytes = b"q") -> Cursor:
    return Cursor.from_text(text, question)


@pytest.mark.requirement("V1-2")
@given(cursors, st.binary())
def test_a_cursor_comes_back_from_its_text_which_is_url_safe(cursor: Cursor, question: bytes) -> None:
    text = cursor.to_text(question)
    assert re.fullmatch(r"[A-Za-z0-9_-]+", text)
    assert Cursor.from_text(text, question) == cursor


def test_a_cursor_costs_64_characters() -> None:
    assert len(CURSOR.to_text(b"q")) == 64


@pytest.mark.requirement("V1-2")
@given(st.integers(0, 63), st.sampled_from("AZaz09_-+/= é"), st.sampled_from(["change", "insert", "drop", "cut"]))
def test_a_damaged_cursor_is_refused(index: int, character: str, damage: str) -> None:
    text = CURSOR.to_text(b"q")
    end = {"change": text[index + 1 :], "insert": text[index:], "drop": text[index + 1 :], "cut": ""}[damage]
    damaged = text[:index] + (character if damage in ("change", "insert") else "") + end
    if damaged != text:
        with pytest.raises(InvalidArguments, match="next_cursor"):
            read(damaged)


@pytest.mark.requirement("V1-2")
@given(st.text())
def test_text_that_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidArguments):
        read(text)


@pytest.mark.parametrize("payload", [b"", b"\x7f" * 25, b"\0" * 25 + b"\xff"], ids=["short", "no moment", "no text"])
def test_bytes_that_cannot_be_a_cursor_are_refused(payload: bytes) -> None:
    with pytest.raises(InvalidArguments):
        read(urlsafe_b64encode(b"\0" * 6 + payload).decode().rstrip("="))


@pytest.mark.requirement("V1-2")
@pytest.mark.parametrize(
    "other",
    [
        Query(order=Order.UPDATED),
        Query(statuses=[Status.DONE]),
        Query(category=Category.TECH),
        Query(topic_id="t"),
        Query(tags_any=["a"]),
        Query(priority=Priority.LOW),
        Query(text="a"),
    ],
    ids=str,
)
def test_a_cursor_of_another_list_is_refused(other: Query) -> None:
    with pytest.raises(InvalidArguments, match="same filters"):
        read(CURSOR.to_text(other.question), Query().question)


@pytest.mark.requirement("V1-2")
def test_the_sequence_in_a_filter_makes_no_other_list() -> None:
    one = Query(statuses=[Status.DONE, Status.PENDING], tags_any=["a", "b", "a"])
    assert one.question == Query(statuses=[Status.PENDING, Status.DONE, Status.DONE], tags_any=["b", "a"]).question


def change(task: StoredTask, **fields: object) -> StoredTask:
    return updated(task, TaskUpdate.model_validate({"id": task.id, **fields}), START + timedelta(hours=1))


@pytest.mark.requirement("V1-2")
@pytest.mark.parametrize("order", Order, ids=[order.value for order in Order])
@pytest.mark.parametrize("priority", Priority, ids=[priority.value for priority in Priority])
@pytest.mark.parametrize("number", range(4))
def test_a_task_that_moves_between_two_pages_is_shown_once(order: Order, priority: Priority, number: int) -> None:
    tasks = [make_task(index, priority=one) for index, one in enumerate(("low", "medium", "medium", "high"))]
    lister = Lister()
    first = lister.page(Query(order=order, limit=2), tasks)
    tasks[number] = change(tasks[number], title="moved", priority=priority)
    tasks.append(
        make_task(9, priority="high", created_at=START + timedelta(hours=2), updated_at=START + timedelta(hours=2))
    )
    second = lister.page(Query(order=order, limit=2, cursor=first.next_cursor), tasks)
    assert sorted(task.id for task in [*first.tasks, *second.tasks]) == [task.id for task in tasks[:4]]
    assert (second.total, second.next_cursor) == (5, None)


OPEN = (Status.PENDING, Status.IN_PROGRESS)
orders = st.sampled_from(Order)
priorities = st.sampled_from(Priority)


class Walk(RuleBasedStateMachine):
    """Somebody pages through a list while tasks are added, changed and removed, and other lists are read."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.made = 0
        self.tasks: dict[str, StoredTask] = {}
        self.lister = Lister()
        self.before: set[str] = set()
        self.shown: list[str] = []
        self.pages = 0
        self.cursor: str | None = None

    def tick(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def make(self, priority: Priority, now: datetime) -> None:
        self.made += 1
        task = make_task(self.made, priority=priority, created_at=now, updated_at=now)
        self.tasks[task.id] = task

    @property
    def matching(self) -> set[str]:
        return {task.id for task in self.tasks.values() if not self.statuses or task.status in self.statuses}

    @property
    def is_over(self) -> bool:
        return self.pages > 0 and self.cursor is None

    @initialize(
        order=orders,
        limit=st.integers(1, 3),
        all_of=st.lists(priorities, min_size=3, max_size=9),
        flags=st.tuples(st.booleans(), st.booleans()),
    )
    def begin(self, order: Order, limit: int, all_of: list[Priority], flags: tuple[bool, bool]) -> None:
        self.order, self.limit = order, limit
        in_one_moment, only_open = flags
        self.statuses = OPEN if only_open else ()
        for priority in all_of:
            self.make(priority, self.now if in_one_moment else self.tick())

    @precondition(lambda self: not self.is_over)
    @rule()
    def turn_the_page(self) -> None:
        if not self.pages:
            self.before = self.matching
        query = Query(order=self.order, limit=self.limit, statuses=self.statuses, cursor=self.cursor)
        page = self.lister.page(query, self.tasks.values())
        assert page.total == len(self.matching)
        self.shown += [task.id for task in page.tasks]
        self.pages += 1
        self.cursor = page.next_cursor

    @rule(priority=priorities)
    def add(self, priority: Priority) -> None:
        self.make(priority, self.tick())

    def change(self, data: st.DataObject, how: Callable[[StoredTask, datetime], StoredTask]) -> None:
        task = self.tasks[data.draw(st.sampled_from(sorted(self.tasks)))]
        # The promise holds for as many changes as a task remembers.
        if len(task.trail) < TRAIL_LENGTH:
            self.tasks[task.id] = how(task, self.tick())

    @precondition(lambda self: self.tasks)
    @rule(data=st.data(), priority=priorities)
    def set_a_priority(self, data: st.DataObject, priority: Priority) -> None:
        self.change(data, lambda task, now: updated(task, TaskUpdate(id=task.id, priority=priority), now))

    @precondition(lambda self: self.tasks)
    @rule(data=st.data())
    def move_on(self, data: st.DataObject) -> None:
        self.change(data, lambda task, now: moved(task, [*TRANSITIONS[task.status], task.status][0], now))

    @precondition(lambda self: self.tasks)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        del self.tasks[data.draw(st.sampled_from(sorted(self.tasks)))]

    @rule(order=orders)
    def read_another_list(self, order: Order) -> None:
        self.lister.page(Query(order=order, limit=1), self.tasks.values())

    @invariant()
    def nothing_is_shown_twice(self) -> None:
        assert len(self.shown) == len(set(self.shown))

    @invariant()
    def nothing_that_was_there_and_still_matches_is_skipped(self) -> None:
        if self.is_over:
            assert (self.before & self.matching) - set(self.shown) == set()


Walk.TestCase.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)

TestWalk = pytest.mark.requirement("V1-2")(Walk.TestCase)
