"""Filters, orders, limits and totals, without a server (V1-2)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tasks_v1_mcp.lister import Lister
from tasks_v1_mcp.models import Category, Priority, Status, StoredTask
from tasks_v1_mcp.query import Order, Page, Query
from tests.tasks_v1.conftest import START, make_task

TASKS = [
    make_task(1, title="Launch cost of rockets", category="tech", tags=["space", "Cost"], topic_id="space_industry"),
    make_task(
        2, title="研究航天产业", description="聚焦发射成本", status="in_progress", priority="high", tags=["航天"]
    ),
    make_task(3, title="Straße kehren", category="personal", status="done", priority="low"),
    make_task(4, title="x", description="ROCKET fuel", category="tech", status="canceled", tags=["space"]),
    make_task(5, title="y", status="pending", priority="high", topic_id="space"),
]


def page(tasks: Sequence[StoredTask], query: Query) -> Page:
    return Lister().page(query, tasks)


def numbers(tasks: Sequence[StoredTask]) -> list[int]:
    return [int(task.id.removeprefix("task_")) for task in tasks]


@pytest.mark.requirement("V1-2")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Query(), [5, 4, 3, 2, 1]),
        (Query(statuses=[Status.PENDING]), [5, 1]),
        (Query(statuses=[Status.DONE, Status.CANCELED]), [4, 3]),
        (Query(category=Category.TECH), [4, 1]),
        (Query(topic_id="space"), [5]),
        (Query(tags_any=["space"]), [4, 1]),
        (Query(tags_any=["航天", "Cost", "none"]), [2, 1]),
        (Query(tags_any=["spac"]), []),
        (Query(priority=Priority.HIGH), [5, 2]),
        (Query(text="rocket"), [4, 1]),
        (Query(text="发射"), [2]),
        (Query(text="STRASSE"), [3]),
        (Query(text="cOST"), [1]),
        (Query(text="costspace"), []),
        (Query(category=Category.TECH, tags_any=["space"], text="fuel"), [4]),
        (Query(category=Category.TECH, priority=Priority.HIGH), []),
    ],
    ids=str,
)
def test_a_task_is_listed_when_it_passes_every_filter(query: Query, expected: list[int]) -> None:
    found = page(TASKS, query)
    assert numbers(found.tasks) == expected
    assert (found.total, found.next_cursor) == (len(expected), None)


@pytest.mark.requirement("V1-2", "TOOL-5")
@pytest.mark.parametrize(
    ("order", "expected"),
    [(Order.CREATED, [4, 3, 2, 1]), (Order.PRIORITY, [3, 2, 4, 1]), (Order.UPDATED, [1, 4, 3, 2])],
    ids=lambda value: value.value if isinstance(value, Order) else "",
)
def test_an_order_begins_with_the_highest_and_breaks_ties_by_creation(order: Order, expected: list[int]) -> None:
    tasks = [
        make_task(1, updated_at=START.replace(hour=13), priority="low"),
        make_task(2, updated_at=START, priority="high"),
        make_task(3, updated_at=START, priority="high"),
        make_task(4, updated_at=START, priority="medium"),
    ]
    assert numbers(page(tasks, Query(order=order)).tasks) == expected


@pytest.mark.requirement("V1-2", "TOOL-5")
@pytest.mark.parametrize("order", Order, ids=[order.value for order in Order])
def test_tasks_of_one_moment_stand_with_the_highest_id_first(order: Order) -> None:
    tasks = [make_task(number, created_at=START, updated_at=START) for number in (2, 9, 1)]
    assert numbers(page(tasks, Query(order=order)).tasks) == [9, 2, 1]


@pytest.mark.requirement("V1-2")
@pytest.mark.parametrize(("count", "sizes"), [(0, [0]), (1, [1]), (2, [2]), (3, [2, 1]), (4, [2, 2]), (5, [2, 2, 1])])
def test_pages_have_the_limit_and_the_last_one_has_no_cursor(count: int, sizes: list[int]) -> None:
    tasks = [make_task(number) for number in range(count)]
    query = Query(limit=2)
    found = [page(tasks, query)]
    while cursor := found[-1].next_cursor:
        found.append(page(tasks, Query(limit=2, cursor=cursor)))
    assert [len(one.tasks) for one in found] == sizes
    assert {one.total for one in found} == {count}


@pytest.mark.requirement("V1-2")
def test_the_limit_may_change_from_page_to_page() -> None:
    first = page(TASKS, Query(limit=1))
    assert numbers(page(TASKS, Query(limit=3, cursor=first.next_cursor)).tasks) == [4, 3, 2]


def test_a_list_that_is_kept_gives_way_to_another_question_and_to_changes() -> None:
    lister, tasks = Lister(), list(TASKS)
    assert numbers(lister.page(Query(), tasks).tasks) == [5, 4, 3, 2, 1]
    assert numbers(lister.page(Query(text="rocket"), tasks).tasks) == [4, 1]
    tasks[0] = tasks[0].changed(title="x")
    assert numbers(lister.page(Query(text="rocket"), tasks).tasks) == [4]


@pytest.mark.requirement("V1-2")
def test_a_first_page_shows_present_places_though_an_older_list_was_read_on() -> None:
    lister, query = Lister(), Query(order=Order.PRIORITY, limit=2)
    tasks = [make_task(number, priority="medium") for number in (1, 2, 3)]
    first = lister.page(query, tasks)
    moment = START.replace(hour=14)
    tasks[0] = tasks[0].changed(priority=Priority.HIGH, updated_at=moment, trail=(tasks[0].place_at(START),))
    second = Query(order=Order.PRIORITY, limit=2, cursor=first.next_cursor)
    assert numbers(lister.page(second, tasks).tasks) == [1]
    assert numbers(lister.page(query, tasks).tasks) == [1, 3]
