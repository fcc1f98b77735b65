"""Pages of tasks: filters, order and cursors, while tasks are added (CX-22)."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest

from tests.cortex_backend.backend_fixture import BackendFixture, as_problem

pytestmark = pytest.mark.requirement("CX-22")


def ids(answer: Any) -> list[int]:  # noqa: ANN401
    return [task["id"] for task in answer.json()["tasks"]]


@pytest.fixture
def many(backend: BackendFixture) -> list[int]:
    """Return the ids of seven tasks, newest first."""
    made = [backend.owner.new_task(backend.project, f"Task {number}")["id"] for number in range(7)]
    return made[::-1]


def test_pages_show_every_task_once_while_tasks_are_added(backend: BackendFixture, many: list[int]) -> None:
    path = f"/tasks/?assignee=any&project_id={backend.project}&limit=3"
    shown = list[int]()
    answer = backend.viewer.get(path)
    while cursor := answer.json()["next_cursor"]:
        shown += ids(answer)
        backend.owner.new_task(backend.project, "Added meanwhile")
        answer = backend.viewer.get(f"{path}&cursor={quote(cursor)}")
    assert shown + ids(answer) == [*many, backend.task]


def test_the_link_to_the_next_page_leads_there(backend: BackendFixture, many: list[int]) -> None:
    answer = backend.viewer.get(f"/tasks/?assignee=any&project_id={backend.project}&limit=5")
    found = re.fullmatch(r'<([^>]+)>; rel="next"', answer.headers["link"])
    assert found
    following = backend.viewer.get(found[1])
    assert ids(answer) + ids(following) == [*many, backend.task]
    assert "link" not in following.headers
    assert following.json()["next_cursor"] is None


def test_a_page_says_how_many_tasks_there_are_in_all(backend: BackendFixture, many: list[int]) -> None:
    answer = backend.viewer.get("/tasks/?assignee=any&limit=2").json()
    assert (answer["total"], len(answer["tasks"])) == (len(many) + 1, 2)


def test_without_a_filter_i_see_what_is_assigned_to_me_of_every_status(
    backend: BackendFixture, many: list[int]
) -> None:
    mine, done = many[:2]
    for task in (mine, done):
        backend.member.patch(f"/tasks/{task}", {"status": "IN_PROGRESS"})
    backend.member.patch(f"/tasks/{done}", {"status": "DONE"})
    assert ids(backend.member.get("/tasks/")) == [mine, done]
    assert ids(backend.member.get("/tasks/?assignee=me&status=DONE")) == [done]
    assert backend.owner.get("/tasks/").json() == {"tasks": [], "total": 0, "next_cursor": None}


def test_filters_of_all_kinds_can_be_combined(backend: BackendFixture) -> None:
    wanted = backend.owner.new_task(backend.project, "Straße reparieren", type="bug", priority="HIGH")["id"]
    backend.owner.new_task(backend.project, "Straße bauen", type="bug")
    backend.owner.new_task(backend.project, "Etwas anderes", type="bug", priority="HIGH")
    query = f"assignee=none&project_id={backend.project}&status=TODO&type=bug&priority=HIGH&q=STRASSE".replace(
        "SS", "ß"
    )
    assert ids(backend.viewer.get(f"/tasks/?{query}")) == [wanted]


def test_the_search_takes_signs_of_sql_for_what_they_are(each_backend: BackendFixture) -> None:
    backend = each_backend
    for text in ("%", "_", "100%", "\\", "' OR 1=1 --"):
        wanted = backend.owner.new_task(backend.project, f"a {text} b")["id"]
        found = ids(backend.viewer.get(f"/tasks/?assignee=any&q={quote(text)}"))
        assert wanted in found
        assert all(text in backend.viewer.get(f"/tasks/{task}").json()["title"] for task in found)


def test_tasks_of_one_person_are_found_by_id(backend: BackendFixture) -> None:
    backend.member.patch(f"/tasks/{backend.task}", {"status": "IN_PROGRESS"})
    assert ids(backend.viewer.get(f"/tasks/?assignee={backend.member.id}")) == [backend.task]
    assert ids(backend.viewer.get(f"/tasks/?assignee={backend.owner.id}")) == []


def test_nobody_sees_tasks_of_projects_of_others(backend: BackendFixture) -> None:
    for query in ("assignee=any", "assignee=none", f"assignee=any&project_id={backend.foreign_project}"):
        assert backend.foreign_task not in ids(backend.owner.get(f"/tasks/?{query}"))


def test_the_limit_is_fifty_unless_given_and_a_hundred_at_most(backend: BackendFixture) -> None:
    backend.add_tasks(52)
    assert len(ids(backend.owner.get("/tasks/?assignee=any"))) == 50
    assert len(ids(backend.owner.get("/tasks/?assignee=any&limit=100"))) == 53
    for limit in ("0", "101", "-1", "x", str(2**63)):
        as_problem(backend.owner.get(f"/tasks/?limit={limit}"), 422, "InvalidArguments")


def test_a_cursor_of_other_filters_or_a_damaged_one_is_refused(backend: BackendFixture, many: list[int]) -> None:
    assert many
    cursor = backend.owner.get("/tasks/?assignee=any&limit=2").json()["next_cursor"]
    as_problem(backend.owner.get(f"/tasks/?assignee=none&limit=2&cursor={quote(cursor)}"), 422, "InvalidCursor")
    for damaged in (cursor[:-2], cursor + "A", "x" * 5000, "", "%00", "é", cursor[::-1]):
        as_problem(backend.owner.get(f"/tasks/?assignee=any&limit=2&cursor={quote(damaged)}"), 422, "InvalidCursor")


def test_pages_of_comments_show_each_comment_once(backend: BackendFixture) -> None:
    path = f"/tasks/{backend.task}/comments"
    made = [backend.member.post(path, {"text": f"Comment {number}"}).json()["id"] for number in range(5)]
    shown = list[int]()
    answer = backend.viewer.get(f"{path}?limit=2").json()
    while answer["next_cursor"]:
        shown += [comment["id"] for comment in answer["comments"]]
        answer = backend.viewer.get(f"{path}?limit=2&cursor={quote(answer['next_cursor'])}").json()
    shown += [comment["id"] for comment in answer["comments"]]
    assert sorted(shown) == made
    assert shown in (made, made[::-1])
