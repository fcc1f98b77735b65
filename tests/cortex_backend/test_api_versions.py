"""Changes: the moves of a task, who may make them, versions and lost updates (CX-12, CX-13, CX-24)."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.cortex_backend.desk import Desk, as_problem

STATUSES: Final = ("TODO", "IN_PROGRESS", "REVIEW", "DONE", "CANCELED")
MOVES: Final = {
    "TODO": {"IN_PROGRESS", "CANCELED"},
    "IN_PROGRESS": {"REVIEW", "DONE", "TODO", "CANCELED"},
    "REVIEW": {"DONE", "IN_PROGRESS", "CANCELED"},
    "DONE": {"IN_PROGRESS"},
    "CANCELED": {"TODO"},
}
WAYS: Final[dict[str, list[str]]] = {
    "TODO": [],
    "IN_PROGRESS": ["IN_PROGRESS"],
    "REVIEW": ["IN_PROGRESS", "REVIEW"],
    "DONE": ["IN_PROGRESS", "DONE"],
    "CANCELED": ["CANCELED"],
}


def branch(task_id: int) -> str:
    return f"feature/task-{task_id}-sweep"


def task_in(desk: Desk, status: str) -> dict[str, Any]:
    task = desk.member.new_task(desk.project, "Sweep", assignee_id=desk.member.id)
    for step in WAYS[status]:
        answer = desk.member.patch(f"/tasks/{task['id']}", {"status": step, "branch_name": branch(task["id"])})
        assert answer.status_code == 200, answer.text
        task = answer.json()
    return task


@pytest.mark.requirement("CX-12")
def test_a_task_makes_exactly_the_moves_that_its_status_allows(desk: Desk) -> None:
    for old in STATUSES:
        for new in STATUSES:
            task = task_in(desk, old)
            path = f"/tasks/{task['id']}"
            body = {"status": new, "branch_name": branch(task["id"])}
            desk.member.patch(path, {"branch_name": branch(task["id"])})
            before = desk.member.get(path).json()
            answer = desk.member.patch(path, body)
            if new == old:
                assert answer.json() == before
            elif new in MOVES[old]:
                assert (answer.json()["status"], answer.json()["version"]) == (new, before["version"] + 1)
            else:
                problem = as_problem(answer, 409, "InvalidTransition")
                assert (problem["from"], problem["to"], set(problem["allowed"])) == (old, new, MOVES[old])
                assert desk.member.get(path).json() == before


@pytest.mark.requirement("CX-12")
def test_the_same_status_again_makes_no_event(desk: Desk) -> None:
    task = task_in(desk, "IN_PROGRESS")
    count = len(desk.events())
    desk.member.patch(f"/tasks/{task['id']}", {"status": "IN_PROGRESS"})
    assert len(desk.events()) == count


@pytest.mark.requirement("CX-13")
def test_whoever_starts_a_free_task_has_it_and_nobody_else_can_start_it(desk: Desk) -> None:
    path = f"/tasks/{desk.task}"
    started = desk.member.patch(path, {"status": "IN_PROGRESS"}).json()
    assert started["assignee"]["id"] == desk.member.id
    desk.member.patch(path, {"status": "TODO"})
    as_problem(desk.owner.patch(path, {"status": "IN_PROGRESS"}), 409, "AssignedToOther")
    taken = desk.owner.patch(path, {"status": "IN_PROGRESS", "assignee_id": desk.owner.id})
    assert taken.json()["assignee"]["id"] == desk.owner.id


@pytest.mark.requirement("CX-13")
def test_a_member_who_is_not_an_owner_cannot_take_a_task_from_another(desk: Desk) -> None:
    path = f"/tasks/{desk.task}"
    desk.owner.patch(path, {"status": "IN_PROGRESS"})
    desk.owner.patch(path, {"status": "TODO"})
    answer = desk.member.patch(path, {"status": "IN_PROGRESS", "assignee_id": desk.member.id})
    assert answer.status_code in {403, 409}
    assert desk.owner.get(path).json()["assignee"]["id"] == desk.owner.id


@pytest.mark.requirement("CX-13")
def test_review_needs_a_branch(desk: Desk) -> None:
    desk.member.patch(f"/tasks/{desk.task}", {"status": "IN_PROGRESS"})
    answer = desk.member.patch(f"/tasks/{desk.task}", {"status": "REVIEW"})
    assert answer.status_code in {409, 422}
    assert desk.member.get(f"/tasks/{desk.task}").json()["status"] == "IN_PROGRESS"
    body = {"status": "REVIEW", "branch_name": branch(desk.task)}
    assert desk.member.patch(f"/tasks/{desk.task}", body).json()["status"] == "REVIEW"


@pytest.mark.requirement("CX-11")
def test_an_assignee_is_a_member_of_the_project(desk: Desk) -> None:
    answer = desk.owner.patch(f"/tasks/{desk.task}", {"assignee_id": desk.stranger.id})
    assert answer.status_code in {404, 422}
    assert desk.owner.get(f"/tasks/{desk.task}").json()["assignee"] is None


@pytest.mark.requirement("CX-24")
def test_each_change_has_a_version_which_is_the_etag(desk: Desk) -> None:
    path = f"/tasks/{desk.task}"
    for version in (2, 3):
        answer = desk.member.patch(path, {"title": f"Version {version}"})
        assert (answer.json()["version"], answer.headers["etag"]) == (version, f'"{version}"')
    assert desk.viewer.get(path).headers["etag"] == '"3"'


@pytest.mark.requirement("CX-24")
def test_a_stale_version_changes_nothing_and_names_the_current_one(desk: Desk) -> None:
    path = f"/tasks/{desk.task}"
    desk.member.patch(path, {"title": "Second"})
    answer = desk.owner.patch(path, {"title": "Lost"}, headers={"If-Match": '"1"'})
    assert as_problem(answer, 412, "PreconditionFailed")["current_version"] == 2
    assert answer.headers["etag"] == '"2"'
    assert desk.owner.get(path).json()["title"] == "Second"
    assert desk.owner.patch(path, {"title": "Third"}, headers={"If-Match": '"2"'}).status_code == 200


@pytest.mark.requirement("CX-24")
def test_the_header_if_match_is_read_as_http_says(desk: Desk) -> None:
    refused = dict.fromkeys(('W/"1"', '"7"', "1", "garbage", ""), 412)
    for tag, status in {**refused, "*": 200, '"7", "2"': 200, '"3"': 200}.items():
        title = {"title": f"New {tag}"}
        answer = desk.member.patch(f"/tasks/{desk.task}", title, headers={"If-Match": tag})
        assert answer.status_code == status or (status == 412 and answer.status_code == 422)


@pytest.mark.requirement("CX-24")
def test_a_task_that_has_not_changed_is_not_sent_again(desk: Desk) -> None:
    path = f"/tasks/{desk.task}"
    same = desk.viewer.get(path, headers={"If-None-Match": '"1"'})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", '"1"')
    desk.member.patch(path, {"title": "New"})
    assert desk.viewer.get(path, headers={"If-None-Match": '"1"'}).status_code == 200


@pytest.mark.requirement("CX-24")
def test_a_project_that_has_changed_meanwhile_is_not_changed(desk: Desk) -> None:
    path = f"/projects/{desk.project}"
    tag = desk.owner.get(path).headers.get("etag")
    assert tag
    assert desk.owner.patch(path, {"name": "First"}, headers={"If-Match": tag}).status_code == 200
    as_problem(desk.owner.patch(path, {"name": "Lost"}, headers={"If-Match": tag}), 412, "PreconditionFailed")


NAMES: Final[list[str]] = [
    "feature/task-{id}-a-b1",
    "bug/task-{id}-x",
    "--upload-pack=x",
    "../x",
    "feature/task-{id}-",
    "feature/task-{id}",
    "feature/task-{id}-A",
    "feature/task-0{id}-x",
    "feature/task-{id}-x--y",
    "feature/task-{id}-x\n",
    "refs/heads/-x",
    "feature/task-{id}-" + "x" * 120,
    "",
]


@pytest.mark.requirement("CX-41")
def test_a_branch_has_the_form_of_the_grammar(desk: Desk) -> None:
    for name in NAMES:
        given = name.format(id=desk.task)
        answer = desk.member.patch(f"/tasks/{desk.task}", {"branch_name": given})
        if name in {"feature/task-{id}-a-b1", "bug/task-{id}-x"}:
            assert answer.json()["branch_name"] == given
        else:
            as_problem(answer, 422, "InvalidArguments")


@pytest.mark.requirement("CX-14")
def test_a_pull_request_is_kept_and_changed_as_a_whole(desk: Desk) -> None:
    request = {
        "url": "https://forge.example/a/b/pulls/1",
        "number": 1,
        "forge": "gitea",
        "state": "open",
        "head_sha": "a" * 40,
        "base": "main",
    }
    path = f"/tasks/{desk.task}"
    kept = desk.member.patch(path, {"pull_request": request}).json()["pull_request"]
    assert request.items() <= kept.items()
    merged = desk.member.patch(path, {"pull_request": {**request, "state": "merged"}}).json()["pull_request"]
    assert (merged["state"], merged["number"]) == ("merged", 1)


WRONG_URLS: Final[list[str]] = [
    "javascript:alert(1)",
    "https://user:word@forge.example/1",
    "https://user@forge.example/1",
    "ftp://forge.example/1",
    "https://",
    "https://forge.example/\n1",
    "https://forge.example/" + "x" * 2048,
    "//forge.example/1",
    " https://forge.example/1",
]


@pytest.mark.requirement("CX-14")
def test_a_url_of_a_pull_request_leads_to_a_web_page_without_a_password(desk: Desk) -> None:
    for url in WRONG_URLS:
        request = {"url": url, "number": 1, "forge": "gitea", "state": "open", "head_sha": "a" * 40, "base": "main"}
        as_problem(desk.member.patch(f"/tasks/{desk.task}", {"pull_request": request}), 422, "InvalidArguments")
