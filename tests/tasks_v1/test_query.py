"""Filters, orders, limits and totals of the service, on every engine (V1-2, EN-5)."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from task_core.errors import InvalidArguments
from task_core.store import Engine
from tasks_v1_mcp.arguments import ListOrder, ListTasksArguments
from tasks_v1_mcp.models import StoredTask
from tasks_v1_mcp.service import TaskPage, TaskService
from tests.tasks_v1.conftest import START, make_task, opened, put, service_over

TASKS = [
    make_task(1, title="Launch cost of rockets", category="tech", tags=["space", "Cost"], topic_id="space_industry"),
    make_task(
        2, title="研究航天产业", description="聚焦发射成本", status="in_progress", priority="high", tags=["航天"]
    ),
    make_task(3, title="Straße kehren", category="personal", status="done", priority="low"),
    make_task(4, title="x", description="ROCKET fuel", category="tech", status="canceled", tags=["space"]),
    make_task(5, title="Ｙ", status="pending", priority="high", topic_id="space"),
]


@pytest.fixture
def service(tmp_path: Path) -> TaskService:
    return filled(tmp_path, Engine.MEMORY, TASKS)


def filled(folder: Path, engine: Engine, tasks: Iterable[StoredTask]) -> TaskService:
    store = opened(folder, engine)
    put(store, tasks)
    return service_over(store)


def page(service: TaskService, **arguments: object) -> TaskPage:
    return service.list_tasks(ListTasksArguments.model_validate(arguments))


def read_whole(service: TaskService, **arguments: object) -> list[TaskPage]:
    pages = [page(service, **arguments)]
    while cursor := pages[-1].next_cursor:
        pages.append(page(service, cursor=cursor, **arguments))
    return pages


def numbers(found: TaskPage) -> list[int]:
    return [int(task.id.removeprefix("task_")) for task in found.tasks]


LISTS: list[tuple[dict[str, object], list[int]]] = [
    ({}, [5, 4, 3, 2, 1]),
    ({"status": ["pending"]}, [5, 1]),
    ({"status": ["done", "canceled"]}, [4, 3]),
    ({"category": "tech"}, [4, 1]),
    ({"topic_id": "space"}, [5]),
    ({"tags_any": ["space"]}, [4, 1]),
    ({"tags_any": ["航天", "Cost", "none"]}, [2, 1]),
    ({"tags_any": ["spac"]}, []),
    ({"tags_any": ["space"], "topic_id": "space_industry", "status": "pending"}, [1]),
    ({"priority": "high"}, [5, 2]),
    ({"query": "rocket"}, [4, 1]),
    ({"query": "发射"}, [2]),
    ({"query": "STRASSE"}, [3]),
    ({"query": "cOST"}, [1]),
    ({"query": "costspace"}, []),
    ({"query": "y"}, [5]),
    ({"query": "ｃost rockets  COST"}, [1]),
    ({"query": "rockets fuel"}, []),
    ({"category": "tech", "tags_any": ["space"], "query": "fuel"}, [4]),
    ({"category": "tech", "priority": "high"}, []),
    ({"status": ["pending", "in_progress"], "order_by": "priority_desc"}, [5, 2, 1]),
    ({"status": ["pending", "in_progress", "pending"], "order_by": "priority_desc"}, [5, 2, 1]),
]


@pytest.mark.requirement("V1-2", "EN-5")
def test_a_task_is_listed_on_one_page_or_several_when_it_passes_every_filter(tmp_path: Path, engine: Engine) -> None:
    service = filled(tmp_path, engine, TASKS)
    for arguments, expected in LISTS:
        found = page(service, **arguments)
        assert numbers(found) == expected, arguments
        assert (found.total, found.next_cursor) == (len(expected), None)
        pages = read_whole(service, limit=2, **arguments)
        assert [number for one in pages for number in numbers(one)] == expected


@pytest.mark.requirement("V1-2", "TOOL-3")
def test_a_query_of_more_than_fifty_words_is_refused(service: TaskService) -> None:
    words = [f"w{number}" for number in range(51)]
    assert page(service, query=" ".join([*words[:50], "w1"])).total == 0
    with pytest.raises(InvalidArguments, match="at most 50 words; there are 51"):
        page(service, query=" ".join(words))


@pytest.mark.requirement("V1-2", "TOOL-5")
def test_an_order_begins_with_the_highest_and_breaks_ties_by_creation(tmp_path: Path, engine: Engine) -> None:
    tasks = [
        make_task(1, updated_at=START.replace(hour=13), priority="low"),
        make_task(2, updated_at=START, priority="high", status="done"),
        make_task(3, updated_at=START, priority="high"),
        make_task(4, updated_at=START, priority="medium"),
    ]
    service = filled(tmp_path, engine, tasks)
    assert {order: numbers(page(service, order_by=order.value)) for order in ListOrder} == {
        ListOrder.CREATED: [4, 3, 2, 1],
        ListOrder.RANK: [3, 2, 4, 1],
        ListOrder.UPDATED: [1, 4, 3, 2],
    }


@pytest.mark.requirement("V1-2", "TOOL-5")
def test_tasks_of_one_moment_are_listed_with_the_highest_id_first(tmp_path: Path, engine: Engine) -> None:
    tasks = [make_task(number, created_at=START, updated_at=START) for number in (2, 9, 1)]
    service = filled(tmp_path, engine, tasks)
    assert [numbers(page(service, order_by=order.value)) for order in ListOrder] == [[9, 2, 1]] * len(ListOrder)


@pytest.mark.requirement("V1-2")
@pytest.mark.parametrize(("count", "sizes"), [(0, [0]), (1, [1]), (2, [2]), (3, [2, 1]), (4, [2, 2]), (5, [2, 2, 1])])
def test_pages_have_the_limit_and_the_last_one_has_no_cursor(tmp_path: Path, count: int, sizes: list[int]) -> None:
    service = filled(tmp_path, Engine.MEMORY, [make_task(number) for number in range(count)])
    found = read_whole(service, limit=2)
    assert [len(one.tasks) for one in found] == sizes
    assert {one.total for one in found} == {count}


@pytest.mark.requirement("V1-2")
def test_the_limit_and_the_filters_may_change_from_page_to_page(service: TaskService) -> None:
    cursor = page(service, limit=1).next_cursor
    assert numbers(page(service, limit=3, cursor=cursor)) == [4, 3, 2]
    assert numbers(page(service, status="pending", cursor=cursor)) == [1]
