"""Pages of tasks: filters, order and cursors, while tasks are added (CX-22)."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest

from tests.cortex_backend.desk import Desk, as_problem

pytestmark = pytest.mark.requirement("CX-22")


def ids(answer: Any) -> list[int]:  # noqa: ANN401
    return [task["id"] for task in answer.json()["tasks"]]


@pytest.fixture
def many(desk: Desk) -> list[int]:
    """Return the ids of seven tasks, newest first."""
    made = [desk.owner.new_task(desk.project, f"Task {number}")["id"] for number in range(7)]
    return made[::-1]


def test_pages_show_every_task_once_while_tasks_are_added(desk: Desk, many: list[int]) -> None:
    path = f"/tasks/?assignee=any&project_id={desk.project}&limit=3"
    shown = list[int]()
    answer = desk.viewer.get(path)
    while cursor := answer.json()["next_cursor"]:
        shown += ids(answer)
        desk.owner.new_task(desk.project, "Added meanwhile")
        answer = desk.viewer.get(f"{path}&cursor={quote(cursor)}")
    assert shown + ids(answer) == [*many, desk.task]


def test_the_link_to_the_next_page_leads_there(desk: Desk, many: list[int]) -> None:
    answer = desk.viewer.get(f"/tasks/?assignee=any&project_id={desk.project}&limit=5")
    found = re.fullmatch(r'<([^>]+)>; rel="next"', answer.headers["link"])
    assert found
    following = desk.viewer.get(found[1])
    assert ids(answer) + ids(following) == [*many, desk.task]
    assert "link" not in following.headers
    assert following.json()["next_cursor"] is None


def test_a_page_says_how_many_tasks_there_are_in_all(desk: Desk, many: list[int]) -> None:
    answer = desk.viewer.get("/tasks/?assignee=any&limit=2").json()
    assert (answer["total"], len(answer["tasks"])) == (len(many) + 1, 2)


def test_without_a_filter_i_see_what_is_assigned_to_me_of_every_status(desk: Desk, many: list[int]) -> None:
    mine, done = many[:2]
    for task in (mine, done):
        desk.member.patch(f"/tasks/{task}", {"status": "IN_PROGRESS"})
    desk.member.patch(f"/tasks/{done}", {"status": "DONE"})
    assert ids(desk.member.get("/tasks/")) == [mine, done]
    assert ids(desk.member.get("/tasks/?assignee=me&status=DONE")) == [done]
    assert desk.owner.get("/tasks/").json() == {"tasks": [], "total": 0, "next_cursor": None}


def test_filters_of_all_kinds_can_be_combined(each_desk: Desk) -> None:
    desk = each_desk
    wanted = desk.owner.new_task(desk.project, "Straße reparieren", type="bug", priority="HIGH")["id"]
    desk.owner.new_task(desk.project, "Straße bauen", type="bug")
    desk.owner.new_task(desk.project, "Etwas anderes", type="bug", priority="HIGH")
    query = f"assignee=none&project_id={desk.project}&status=TODO&type=bug&priority=HIGH&q=STRASSE".replace("SS", "ß")
    assert ids(desk.viewer.get(f"/tasks/?{query}")) == [wanted]


def test_the_search_takes_signs_of_sql_for_what_they_are(each_desk: Desk) -> None:
    desk = each_desk
    for text in ("%", "_", "100%", "\\", "' OR 1=1 --"):
        wanted = desk.owner.new_task(desk.project, f"a {text} b")["id"]
        found = ids(desk.viewer.get(f"/tasks/?assignee=any&q={quote(text)}"))
        assert wanted in found
        assert all(text in desk.viewer.get(f"/tasks/{task}").json()["title"] for task in found)


def test_tasks_of_one_person_are_found_by_id(desk: Desk) -> None:
    desk.member.patch(f"/tasks/{desk.task}", {"status": "IN_PROGRESS"})
    assert ids(desk.viewer.get(f"/tasks/?assignee={desk.member.id}")) == [desk.task]
    assert ids(desk.viewer.get(f"/tasks/?assignee={desk.owner.id}")) == []


def test_nobody_sees_tasks_of_projects_of_others(desk: Desk) -> None:
    for query in ("assignee=any", "assignee=none", f"assignee=any&project_id={desk.foreign_project}"):
        assert desk.foreign_task not in ids(desk.owner.get(f"/tasks/?{query}"))


def test_the_limit_is_fifty_unless_given_and_a_hundred_at_most(desk: Desk) -> None:
    for _ in range(52):
        desk.owner.new_task(desk.project)
    assert len(ids(desk.owner.get("/tasks/?assignee=any"))) == 50
    assert len(ids(desk.owner.get("/tasks/?assignee=any&limit=100"))) == 53
    for limit in ("0", "101", "-1", "x", str(2**63)):
        as_problem(desk.owner.get(f"/tasks/?limit={limit}"), 422, "InvalidArguments")


def test_a_cursor_of_other_filters_or_a_damaged_one_is_refused(desk: Desk, many: list[int]) -> None:
    assert many
    cursor = desk.owner.get("/tasks/?assignee=any&limit=2").json()["next_cursor"]
    as_problem(desk.owner.get(f"/tasks/?assignee=none&limit=2&cursor={quote(cursor)}"), 422, "InvalidCursor")
    for damaged in (cursor[:-2], cursor + "A", "x" * 5000, "", "%00", "é", cursor[::-1]):
        as_problem(desk.owner.get(f"/tasks/?assignee=any&limit=2&cursor={quote(damaged)}"), 422, "InvalidCursor")


def test_pages_of_comments_show_each_comment_once(desk: Desk) -> None:
    path = f"/tasks/{desk.task}/comments"
    made = [desk.member.post(path, {"text": f"Comment {number}"}).json()["id"] for number in range(5)]
    shown = list[int]()
    answer = desk.viewer.get(f"{path}?limit=2").json()
    while answer["next_cursor"]:
        shown += [comment["id"] for comment in answer["comments"]]
        answer = desk.viewer.get(f"{path}?limit=2&cursor={quote(answer['next_cursor'])}").json()
    shown += [comment["id"] for comment in answer["comments"]]
    assert sorted(shown) == made
    assert shown in (made, made[::-1])
