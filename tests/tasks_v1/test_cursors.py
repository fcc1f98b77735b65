"""Cursors: their text, and what they promise whatever happens between two pages, on every engine (V1-2, EN-5)."""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from typing_extensions import override

from task_core.errors import InvalidArguments
from task_core.store import Engine
from task_core.store.statements import Key
from tasks_v1_mcp.arguments import ListOrder, ListTasksArguments
from tasks_v1_mcp.models import Priority, StoredTask, V1Status
from tasks_v1_mcp.service import encode_cursor, make_selection
from tests.postgres import needs_postgres
from tests.tasks_v1.conftest import START, make_task, opened, service_over

TASK = make_task(7, priority="high")
CURSOR = encode_cursor(TASK, ListOrder.RANK)

ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
orders = st.sampled_from(ListOrder)
priorities = st.sampled_from(Priority)
statuses = st.sampled_from(V1Status)
tags = st.lists(st.sampled_from("ab"), unique=True).map(tuple)


def text_of(value: object) -> str:
    """Return any JSON value as the text of a cursor."""
    return urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def key_in(cursor: str, order: ListOrder = ListOrder.RANK) -> Key:
    """Return the key that a page goes on behind.

    Raises:
        InvalidArguments: it is no cursor of this order.
    """
    found = make_selection(ListTasksArguments(order_by=order, cursor=cursor)).after
    assert found
    return found


def is_refused(cursor: str) -> bool:
    try:
        key_in(cursor)
    except InvalidArguments:
        return True
    return False


@pytest.mark.requirement("V1-2")
@given(ids, priorities, orders)
def test_a_cursor_is_the_key_of_the_last_task_as_url_safe_text(
    task_id: str, priority: Priority, order: ListOrder
) -> None:
    task = make_task(1, id=task_id, priority=priority, updated_at=START + timedelta(days=1))
    cursor = encode_cursor(task, order)
    assert re.fullmatch(r"[A-Za-z0-9_-]+", cursor)
    assert key_in(cursor, order) == order.order.key(task)
    assert json.loads(urlsafe_b64decode(cursor + "==")) == [order.value, *order.order.key(task)]


@pytest.mark.requirement("V1-2")
@given(st.data(), st.sampled_from("AZaz09_-+/=\n é"), st.sampled_from(["change", "insert", "drop", "cut"]))
def test_a_cursor_that_was_tampered_with_is_refused_or_is_the_cursor_of_another_key(
    data: st.DataObject, character: str, damage: str
) -> None:
    index = data.draw(st.integers(0, len(CURSOR) - 1))
    end = {"change": CURSOR[index + 1 :], "insert": CURSOR[index:], "drop": CURSOR[index + 1 :], "cut": ""}[damage]
    damaged = CURSOR[:index] + (character if damage in ("change", "insert") else "") + end
    assert damaged == CURSOR or is_refused(damaged) or key_in(damaged) != key_in(CURSOR)


@pytest.mark.requirement("V1-2")
@given(st.text())
def test_text_that_is_not_a_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidArguments, match="next_cursor"):
        key_in(text)


PRIORITY = ListOrder.RANK.value


@pytest.mark.requirement("V1-2", "S1")
@pytest.mark.parametrize(
    "cursor",
    [
        text_of(5),
        text_of({PRIORITY: 1, "a": 2, "b": 3}),
        text_of([PRIORITY, 1, "task_1"]),
        text_of([PRIORITY, 1, 2, 3, "task_1"]),
        text_of([PRIORITY, 1, 2, 3]),
        text_of([PRIORITY, 1, True, "task_1"]),
        text_of([PRIORITY, 1, 2.0, "task_1"]),
        text_of([PRIORITY, 1, 2**63, "task_1"]),
        text_of([PRIORITY, 1, -(2**63), "task_1"]),
        text_of([ListOrder.UPDATED.value, 1, 2, "task_1"]),
        text_of([PRIORITY, 1, 2, "\ud800"]),
        urlsafe_b64encode(b"[" * 70_000).decode().rstrip("="),
        urlsafe_b64encode(b"1" * 5_000).decode().rstrip("="),
        urlsafe_b64encode(f'["{PRIORITY}", 1, 2, "task_1"]'.encode()).decode().rstrip("="),
        CURSOR + "=",
    ],
    ids=[
        *("a number", "an object", "too few numbers", "too many numbers", "no id", "a truth value", "a fraction"),
        *("too large", "too small", "another order", "half a character", "too deep", "too long a number", "blanks"),
        "padding",
    ],
)
def test_what_no_page_ends_with_is_refused(cursor: str) -> None:
    with pytest.raises(
        InvalidArguments, match=r"cursor: Give next_cursor of the previous page, unchanged, with the same"
    ):
        key_in(cursor)


class Walk(RuleBasedStateMachine):
    """Somebody pages through a list while tasks are added, changed by tools and by hand, and removed."""

    engine = Engine.MEMORY

    def __init__(self) -> None:
        super().__init__()
        self.work = ExitStack()
        self.now = START
        self.made = 0
        self.tasks: dict[str, StoredTask] = {}
        self.settled: set[str] = set()
        """Tasks that matched at the first page and have neither moved nor left since."""
        self.added: set[str] = set()
        """Tasks that were added since, and have not moved."""
        self.shown: list[str] = []
        self.pages = 0
        self.cursor: str | None = None

    @override
    def teardown(self) -> None:
        self.work.close()

    def make(self, priority: Priority, seconds: int, tags: tuple[str, ...] = ("a",)) -> StoredTask:
        self.made += 1
        moment = self.now + timedelta(seconds=seconds)
        task = make_task(self.made, priority=priority, created_at=moment, updated_at=moment, tags=tags)
        with self.store.transaction() as work:
            work.add(task)
        self.tasks[task.id] = task
        return task

    def matches(self, task: StoredTask) -> bool:
        is_tagged = not self.tags or not {*self.tags}.isdisjoint(task.tags)
        return is_tagged and (not self.statuses or task.status in self.statuses)

    @property
    def matching(self) -> list[StoredTask]:
        """The tasks of the list, first things first."""
        return sorted(filter(self.matches, self.tasks.values()), key=self.order.order.key, reverse=True)

    @property
    def is_over(self) -> bool:
        return self.pages > 0 and self.cursor is None

    @initialize(
        order=orders,
        limit=st.integers(1, 3),
        all_of=st.lists(st.tuples(priorities, st.integers(0, 2), tags), min_size=3, max_size=9),
        statuses=st.lists(statuses, max_size=3, unique=True).map(tuple),
        tags=tags,
    )
    def begin(
        self,
        order: ListOrder,
        limit: int,
        all_of: list[tuple[Priority, int, tuple[str, ...]]],
        statuses: tuple[V1Status, ...],
        tags: tuple[str, ...],
    ) -> None:
        self.store = opened(Path(self.work.enter_context(TemporaryDirectory())), self.engine)
        self.work.callback(self.store.close)
        self.service = service_over(self.store)
        self.order, self.limit, self.statuses, self.tags = order, limit, statuses, tags
        for priority, seconds, tagged in all_of:
            self.make(priority, seconds, tagged)

    @precondition(lambda self: not self.is_over)
    @rule()
    def turn_the_page(self) -> None:
        if not self.pages:
            self.settled, self.added = {task.id for task in self.matching}, set()
        page = self.service.list_tasks(
            ListTasksArguments(
                order_by=self.order,
                limit=self.limit,
                status=self.statuses,
                tags_any=self.tags,
                cursor=self.cursor,
            )
        )
        behind = [task for task in self.matching if not self.cursor or self.order.order.key(task) < self.after]
        assert [*page.tasks] == behind[: self.limit]
        assert page.total == len(self.matching)
        assert (page.next_cursor is None) is (len(behind) <= self.limit)
        self.shown += [task.id for task in page.tasks]
        self.pages += 1
        self.cursor = page.next_cursor
        if page.tasks:
            self.after = self.order.order.key(page.tasks[-1])

    @rule(priority=priorities, seconds=st.integers(-2, 2))
    def add_one_dated_before_or_ahead(self, priority: Priority, seconds: int) -> None:
        self.added.add(self.make(priority, seconds).id)

    def change(self, data: st.DataObject, how: Callable[[StoredTask], StoredTask]) -> None:
        old = self.tasks[data.draw(st.sampled_from(sorted(self.tasks)))]
        new = self.tasks[old.id] = how(old)
        with self.store.transaction() as work:
            work.replace(new)
        if self.order.order.key(new) != self.order.order.key(old) or not self.matches(new):
            self.settled.discard(new.id)
            self.added.discard(new.id)

    @precondition(lambda self: self.tasks)
    @rule(data=st.data(), priority=priorities, status=statuses, seconds=st.integers(0, 3))
    def move_one(self, data: st.DataObject, priority: Priority, status: V1Status, seconds: int) -> None:
        moment = self.now + timedelta(seconds=seconds)
        self.change(data, lambda task: task.changed(priority=priority, status=status, updated_at=moment))

    @precondition(lambda self: self.tasks)
    @rule(data=st.data())
    def rename_one_by_hand(self, data: st.DataObject) -> None:
        self.change(data, lambda task: task.changed(title="by hand"))

    @precondition(lambda self: self.tasks)
    @rule(data=st.data())
    def remove_one(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.tasks)))
        del self.tasks[name]
        self.settled.discard(name)
        with self.store.transaction() as work:
            work.remove(name)

    @invariant()
    def nothing_that_stayed_in_its_place_is_shown_twice(self) -> None:
        stayed = [name for name in self.shown if name in self.settled | self.added]
        assert len(stayed) == len({*stayed})

    @invariant()
    def nothing_that_stayed_in_its_place_is_skipped(self) -> None:
        if self.is_over:
            assert self.settled <= {*self.shown}


@pytest.mark.requirement("V1-2", "EN-5")
@pytest.mark.parametrize(
    ("engine", "examples"),
    [("memory", 10), ("sqlite", 4), pytest.param("postgresql", 5, marks=[needs_postgres, pytest.mark.long])],
)
def test_whatever_happens_between_two_pages_nothing_is_skipped_or_shown_twice(engine: str, examples: int) -> None:
    walk = type("WalkOnEngine", (Walk,), {"engine": Engine(engine)})
    run_state_machine_as_test(walk, settings=settings(max_examples=examples, stateful_step_count=25))
