"""Pages and cursors as rules: each entry once, whatever is added meanwhile, and never more than fits (CX-22, CX-96)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from cortex_backend.schemas.common import PageQuery
from cortex_backend.schemas.tasks import TaskQuery
from cortex_backend.service.rules.pages import MAX_ANSWER, encode_cursor, make_page, read_key
from cortex_backend.service.rules.versions import check_version, is_same_version
from tests.cortex_backend.backend_fixture import PreparedData, raises_problem
from tests.cortex_backend.service_fixture import ServiceFixture, open_services


class Entry(BaseModel):
    """An entry of a page, with an id and a text."""

    id: int
    text: str = ""


class Seen(NamedTuple):
    """An entry, as the store finds it."""

    row: Entry


@pytest.fixture
def services(sqlite_copy: tuple[str, PreparedData]) -> Iterator[ServiceFixture]:
    with open_services(sqlite_copy) as found:
        yield found


@pytest.mark.requirement("CX-22")
@settings(max_examples=25)
@given(key=st.integers(1, 2**31 - 1), scope=st.text())
def test_a_cursor_yields_its_key_in_its_own_list_only(key: int, scope: str) -> None:
    cursor = encode_cursor(key, scope)
    assert read_key(cursor, scope) == key
    assert read_key(None, scope) is None
    with raises_problem("InvalidCursor"):
        read_key(cursor, f"{scope}'")


@pytest.mark.requirement("CX-22")
@settings(max_examples=40)
@given(st.text(), st.integers(0, 27), st.characters())
def test_a_damaged_cursor_is_refused(text: str, place: int, char: str) -> None:
    cursor = encode_cursor(1_000_000, "tasks")
    damaged = cursor[:place] + char + cursor[place + 1 :]
    for wrong in (text, cursor + text, damaged):
        if wrong != cursor:
            with raises_problem("InvalidCursor"):
                read_key(wrong, "tasks")


@pytest.mark.requirement("CX-22")
@settings(max_examples=15, deadline=None)
@given(
    limit=st.integers(1, 9),
    added=st.lists(st.integers(0, 3), max_size=8),
    descending=st.booleans(),
)
def test_pages_of_a_growing_list_show_what_was_there_once(limit: int, added: list[int], *, descending: bool) -> None:
    there = [*range(1, 12)]
    shown, cursor, growth = list[int](), None, iter(added)
    while True:
        rows = sorted((number for number in there), reverse=descending)
        key = read_key(cursor, "x")
        rest = [row for row in rows if key is None or (row < key if descending else row > key)]
        page = make_page(
            [Seen(Entry(id=number)) for number in rest[: limit + 1]],
            limit,
            total=len(there),
            scope="x",
            view=lambda seen: seen.row,
        )
        shown += [Entry.model_validate_json(entry).id for entry in page.entries]
        cursor = page.next_cursor
        if cursor is None:
            break
        there += [max(there) + step + 1 for step in range(next(growth, 0))]
    assert len(shown) == len(set(shown))
    assert {*range(1, 12)} <= {*shown}
    assert shown == sorted(shown, reverse=descending)


@pytest.mark.requirement("CX-96")
@given(st.lists(st.sampled_from([10, 50_000, 120_000, 400_000]), min_size=1, max_size=12))
@settings(max_examples=15, deadline=None)
def test_a_page_ends_before_it_is_too_large_and_goes_on_with_the_next_entry(sizes: list[int]) -> None:
    page = make_page(
        [Seen(Entry(id=number, text="é" * (size // 2))) for number, size in enumerate(sizes, 1)],
        len(sizes),
        total=len(sizes),
        scope="x",
        view=lambda seen: seen.row,
    )
    shown = [Entry.model_validate_json(entry).id for entry in page.entries]
    assert shown == [*range(1, max(len(shown), 1) + 1)]
    assert sum(len(entry.encode()) + 1 for entry in page.entries) < MAX_ANSWER
    assert (page.next_cursor is None) == (len(page.entries) == len(sizes))
    if page.next_cursor is not None:
        assert read_key(page.next_cursor, "x") == len(page.entries)


@pytest.mark.requirement("CX-22")
def test_pages_of_projects_members_and_comments_are_complete(services: ServiceFixture) -> None:
    for limit in (1, 2, 3, 100):
        members, cursor = list[str](), None
        while True:
            query = PageQuery(limit=limit, cursor=cursor)
            page = services.work.projects.list_members(services.viewer, services.project, query)
            assert page.total == 3
            members += page.entries
            if (cursor := page.next_cursor) is None:
                break
        assert len({*members}) == len(members) == 3
        assert len(services.work.projects.list(services.viewer, PageQuery(limit=limit)).entries) == 1
        assert services.work.tasks.list_comments(services.viewer, services.task, PageQuery(limit=limit)).entries == []


@pytest.mark.requirement("CX-22")
def test_a_cursor_is_good_for_its_own_user_only(services: ServiceFixture) -> None:
    for _ in range(3):
        services.new_task(assignee_id=services.owner.user_id)
    query = TaskQuery(limit=1)
    cursor = services.work.tasks.list(services.owner, query).next_cursor
    assert cursor is not None
    with raises_problem("InvalidCursor"):
        services.work.tasks.list(services.member, TaskQuery(limit=1, cursor=cursor))


@pytest.mark.requirement("CX-24")
@pytest.mark.parametrize(
    ("header", "is_same"),
    [('"3"', True), ('W/"3"', True), ("*", True), ('"1", "3"', True), ('"4"', False), ("3", False), (None, False)],
)
def test_a_known_version_is_compared_weakly(header: str | None, *, is_same: bool) -> None:
    assert is_same_version(header, 3) is is_same


@pytest.mark.requirement("CX-24")
def test_a_request_without_a_precondition_takes_any_version() -> None:
    check_version(None, 7)
