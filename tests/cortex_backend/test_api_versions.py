"""Changes: the moves of a task, who may make them, versions and lost updates (CX-12, CX-13, CX-24)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import pytest

from tests.cortex_backend.backend_fixture import BackendFixture, as_problem

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


def task_in(backend: BackendFixture, status: str) -> dict[str, Any]:
    task = backend.member.new_task(backend.project, "Sweep", assignee_id=backend.member.id)
    for step in WAYS[status]:
        answer = backend.member.patch(f"/tasks/{task['id']}", {"status": step, "branch_name": branch(task["id"])})
        assert answer.status_code == 200, answer.text
        task = answer.json()
    return task


WALK: Final = [
    *("TODO", "IN_PROGRESS", "TODO", "CANCELED", "TODO", "IN_PROGRESS", "REVIEW", "IN_PROGRESS", "REVIEW", "CANCELED"),
    *("TODO", "IN_PROGRESS", "CANCELED", "TODO", "IN_PROGRESS", "DONE", "IN_PROGRESS", "REVIEW", "DONE"),
]
"""A way that makes every move."""


@pytest.mark.requirement("CX-12")
def test_a_task_makes_exactly_the_moves_that_its_status_allows(backend: BackendFixture) -> None:
    task = task_in(backend, "TODO")
    path, seen, moves = f"/tasks/{task['id']}", set[str](), set[tuple[str, str]]()
    for old, new in pairwise(WALK):
        if old not in seen:
            assert backend.member.patch(path, {"status": old}).json() == task
            for other in {*STATUSES} - {old} - MOVES[old]:
                problem = as_problem(backend.member.patch(path, {"status": other}), 409, "InvalidTransition")
                assert (problem["from"], problem["to"], set(problem["allowed"])) == (old, other, MOVES[old])
            assert backend.member.get(path).json() == task
        seen.add(old)
        moved = backend.member.patch(path, {"status": new, "branch_name": branch(task["id"])}).json()
        assert (moved["status"], moved["version"]) == (new, task["version"] + 1)
        task = moved
        moves.add((old, new))
    assert moves == {(old, new) for old in STATUSES for new in MOVES[old]}


@pytest.mark.requirement("CX-12")
def test_the_same_status_again_makes_no_event(backend: BackendFixture) -> None:
    task = task_in(backend, "IN_PROGRESS")
    count = len(backend.events())
    backend.member.patch(f"/tasks/{task['id']}", {"status": "IN_PROGRESS"})
    assert len(backend.events()) == count


@pytest.mark.requirement("CX-13")
def test_whoever_starts_a_free_task_has_it_and_nobody_else_can_start_it(backend: BackendFixture) -> None:
    path = f"/tasks/{backend.task}"
    started = backend.member.patch(path, {"status": "IN_PROGRESS"}).json()
    assert started["assignee"]["id"] == backend.member.id
    backend.member.patch(path, {"status": "TODO"})
    as_problem(backend.owner.patch(path, {"status": "IN_PROGRESS"}), 409, "AssignedToOther")
    taken = backend.owner.patch(path, {"status": "IN_PROGRESS", "assignee_id": backend.owner.id})
    assert taken.json()["assignee"]["id"] == backend.owner.id


@pytest.mark.requirement("CX-13")
def test_a_member_who_is_not_an_owner_cannot_take_a_task_from_another(backend: BackendFixture) -> None:
    path = f"/tasks/{backend.task}"
    backend.owner.patch(path, {"status": "IN_PROGRESS"})
    backend.owner.patch(path, {"status": "TODO"})
    answer = backend.member.patch(path, {"status": "IN_PROGRESS", "assignee_id": backend.member.id})
    assert answer.status_code in {403, 409}
    assert backend.owner.get(path).json()["assignee"]["id"] == backend.owner.id


@pytest.mark.requirement("CX-13")
def test_review_needs_a_branch(backend: BackendFixture) -> None:
    backend.member.patch(f"/tasks/{backend.task}", {"status": "IN_PROGRESS"})
    answer = backend.member.patch(f"/tasks/{backend.task}", {"status": "REVIEW"})
    assert answer.status_code in {409, 422}
    assert backend.member.get(f"/tasks/{backend.task}").json()["status"] == "IN_PROGRESS"
    body = {"status": "REVIEW", "branch_name": branch(backend.task)}
    assert backend.member.patch(f"/tasks/{backend.task}", body).json()["status"] == "REVIEW"


@pytest.mark.requirement("CX-11")
def test_an_assignee_is_a_member_of_the_project(backend: BackendFixture) -> None:
    answer = backend.owner.patch(f"/tasks/{backend.task}", {"assignee_id": backend.stranger.id})
    assert answer.status_code in {404, 422}
    assert backend.owner.get(f"/tasks/{backend.task}").json()["assignee"] is None


@pytest.mark.requirement("CX-24")
def test_each_change_has_a_version_which_is_the_etag(backend: BackendFixture) -> None:
    path = f"/tasks/{backend.task}"
    for version in (2, 3):
        answer = backend.member.patch(path, {"title": f"Version {version}"})
        assert (answer.json()["version"], answer.headers["etag"]) == (version, f'"{version}"')
    assert backend.viewer.get(path).headers["etag"] == '"3"'


@pytest.mark.requirement("CX-24")
def test_a_stale_version_changes_nothing_and_names_the_current_one(backend: BackendFixture) -> None:
    path = f"/tasks/{backend.task}"
    backend.member.patch(path, {"title": "Second"})
    answer = backend.owner.patch(path, {"title": "Lost"}, headers={"If-Match": '"1"'})
    assert as_problem(answer, 412, "PreconditionFailed")["current_version"] == 2
    assert answer.headers["etag"] == '"2"'
    assert backend.owner.get(path).json()["title"] == "Second"
    assert backend.owner.patch(path, {"title": "Third"}, headers={"If-Match": '"2"'}).status_code == 200


@pytest.mark.requirement("CX-24")
def test_the_header_if_match_is_read_as_http_says(backend: BackendFixture) -> None:
    refused = dict.fromkeys(('W/"1"', '"7"', "1", "garbage", ""), 412)
    for tag, status in {**refused, "*": 200, '"7", "2"': 200, '"3"': 200}.items():
        title = {"title": f"New {tag}"}
        answer = backend.member.patch(f"/tasks/{backend.task}", title, headers={"If-Match": tag})
        assert answer.status_code == status or (status == 412 and answer.status_code == 422)


@pytest.mark.requirement("CX-24")
def test_a_task_that_has_not_changed_is_not_sent_again(backend: BackendFixture) -> None:
    path = f"/tasks/{backend.task}"
    same = backend.viewer.get(path, headers={"If-None-Match": '"1"'})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", '"1"')
    backend.member.patch(path, {"title": "New"})
    assert backend.viewer.get(path, headers={"If-None-Match": '"1"'}).status_code == 200


@pytest.mark.requirement("CX-24")
def test_a_project_that_has_changed_meanwhile_is_not_changed(backend: BackendFixture) -> None:
    path = f"/projects/{backend.project}"
    tag = backend.owner.get(path).headers.get("etag")
    assert tag
    assert backend.owner.patch(path, {"name": "First"}, headers={"If-Match": tag}).status_code == 200
    as_problem(backend.owner.patch(path, {"name": "Lost"}, headers={"If-Match": tag}), 412, "PreconditionFailed")


NAMES: Final[list[str]] = [
    "feature/task-{id}-a-b1",
    "bug/task-{id}-x",
    "bug/task-{other}-x",
    "feature/task-{id}0-a-b1",
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
def test_a_branch_has_the_form_of_the_grammar_and_the_id_of_its_task(backend: BackendFixture) -> None:
    for name in NAMES:
        given = name.format(id=backend.task, other=backend.foreign_task)
        answer = backend.member.patch(f"/tasks/{backend.task}", {"branch_name": given})
        if name in {"feature/task-{id}-a-b1", "bug/task-{id}-x"}:
            assert answer.json()["branch_name"] == given
        else:
            as_problem(answer, 422, "InvalidArguments")


@pytest.mark.requirement("CX-14")
def test_a_pull_request_is_kept_and_changed_as_a_whole(backend: BackendFixture) -> None:
    request = {
        "url": "https://forge.example/a/b/pulls/1",
        "number": 1,
        "forge": "gitea",
        "state": "open",
        "head_sha": "a" * 40,
        "base": "main",
    }
    path = f"/tasks/{backend.task}"
    kept = backend.member.patch(path, {"pull_request": request}).json()["pull_request"]
    assert request.items() <= kept.items()
    merged = backend.member.patch(path, {"pull_request": {**request, "state": "merged"}}).json()["pull_request"]
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
def test_a_url_of_a_pull_request_leads_to_a_web_page_without_a_password(backend: BackendFixture) -> None:
    for url in WRONG_URLS:
        request = {"url": url, "number": 1, "forge": "gitea", "state": "open", "head_sha": "a" * 40, "base": "main"}
        as_problem(backend.member.patch(f"/tasks/{backend.task}", {"pull_request": request}), 422, "InvalidArguments")
