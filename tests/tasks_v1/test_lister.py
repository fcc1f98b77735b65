"""A list that follows its changes is the list that would be made anew, and comparing is all that it costs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_v1_mcp.lister import Lister
from tasks_v1_mcp.models import Category, Place, Priority, Status, StoredTask
from tasks_v1_mcp.query import Order, Page, Query
from tests.tasks_v1.conftest import START, make_task

FILTERS = (Query(), Query(priority=Priority.HIGH), Query(statuses=[Status.PENDING]), Query(category=Category.TECH))

queries = st.builds(replace, st.sampled_from(FILTERS), order=st.sampled_from(Order), limit=st.integers(1, 4))
steps = st.tuples(
    st.sampled_from(["add", "change", "remove", "edit by hand", "copy all"]),
    st.integers(0, 20),
    st.sampled_from(Priority),
    st.sampled_from(Status),
    st.integers(-3, 3),
)


def stepped(tasks: list[StoredTask], number: int, step: tuple[str, int, Priority, Status, int]) -> list[StoredTask]:
    """Return the tasks after one step; ``edit by hand`` sets moments that no server would set."""
    action, place, priority, status, seconds = step
    if action == "add":
        return [*tasks, make_task(100 + number, priority=priority, status=status)]
    if not tasks or action == "copy all":
        return [task.changed() for task in tasks]
    old = tasks[place % len(tasks)]
    others = [task for task in tasks if task is not old]
    if action == "remove":
        return others
    moment = old.updated_at + timedelta(seconds=seconds) if action == "edit by hand" else START.replace(hour=14)
    trail = (*old.trail, Place(old.updated_at, old.priority)) if moment > old.updated_at else old.trail
    new = old.changed(priority=priority, status=status, updated_at=moment + timedelta(seconds=number), trail=trail)
    return [new if task is old else task for task in tasks]


def read_whole(lister: Lister, query: Query, tasks: list[StoredTask]) -> list[Page]:
    pages = [lister.page(query, tasks)]
    while cursor := pages[-1].next_cursor:
        pages.append(Lister().page(replace(query, cursor=cursor), tasks))
    return pages


@pytest.mark.requirement("V1-2")
@given(queries, st.lists(st.lists(steps, max_size=3), max_size=6))
def test_a_list_that_follows_its_changes_is_the_one_made_anew(
    query: Query, rounds: list[list[tuple[str, int, Priority, Status, int]]]
) -> None:
    lister = Lister()
    tasks = [make_task(number, priority=priority) for number, priority in enumerate(Priority, start=1)]
    number = 0
    for changes in rounds:
        for step in changes:
            number += 1
            tasks = stepped(tasks, number, step)
        assert read_whole(lister, query, tasks) == read_whole(Lister(), query, tasks)


@pytest.mark.requirement("V1-2")
@pytest.mark.parametrize("changes", [100, 101, 150], ids=["as many as are moved", "one more", "many"])
def test_a_list_of_which_much_has_changed_is_put_in_order_anew(changes: int) -> None:
    lister, query = Lister(), Query(order=Order.UPDATED, limit=100)
    tasks = [make_task(number) for number in range(1, 151)]
    lister.page(query, tasks)
    for place in range(changes):
        tasks[place] = tasks[place].changed(updated_at=START + timedelta(days=2, seconds=-place))
    assert lister.page(query, tasks) == Lister().page(query, tasks)


@pytest.mark.requirement("V1-2")
def test_when_the_last_change_has_left_a_list_the_one_before_is_its_last() -> None:
    lister, query = Lister(), Query(statuses=[Status.PENDING], limit=1)
    tasks = [make_task(number, status="pending") for number in (1, 2, 3)]
    first = lister.page(query, tasks)
    tasks[2] = tasks[2].changed(status=Status.DONE, updated_at=START + timedelta(days=2))
    second = lister.page(query, tasks)
    assert second == Lister().page(query, tasks)
    assert second.total == first.total - 1
