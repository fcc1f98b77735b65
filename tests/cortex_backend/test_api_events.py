"""Events are written with the change, never altered, shown only to members, and polled (CX-44, CX-45)."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.cortex_backend.backend_fixture import BackendFixture

pytestmark = pytest.mark.requirement("CX-44")

KEYS: Final = {"id", "at", "kind", "task_id", "project_id", "actor", "session_id", "from", "to"}


def kinds_after(backend: BackendFixture, last: int) -> list[str]:
    return [event["kind"] for event in backend.owner.get(f"/events?after={last}").json()["events"]]


def last_of(backend: BackendFixture) -> int:
    return backend.owner.get("/events?limit=500").json()["last"]


PULL_REQUEST: Final[dict[str, Any]] = {
    "url": None,
    "number": None,
    "forge": "none",
    "state": "open",
    "head_sha": "a" * 40,
    "base": "main",
}


def test_every_change_of_a_task_is_an_event(each_backend: BackendFixture) -> None:
    backend = each_backend
    last = last_of(backend)
    task = backend.owner.new_task(backend.project)["id"]
    path = f"/tasks/{task}"
    backend.member.patch(path, {"status": "IN_PROGRESS"})
    backend.member.patch(path, {"branch_name": f"feature/task-{task}-x"})
    backend.member.patch(path, {"pull_request": PULL_REQUEST, "status": "REVIEW"})
    backend.member.patch(path, {"pull_request": {**PULL_REQUEST, "head_sha": "b" * 40}})
    backend.member.patch(path, {"pull_request": {**PULL_REQUEST, "state": "merged"}, "status": "DONE"})
    backend.member.patch(path, {"title": "Another"})
    backend.member.post(f"{path}/comments", {"text": "Done."})
    expected = ["task_created", "assigned", "status_changed", "branch_set", "pr_opened", "status_changed"]
    expected += ["pr_updated", "pr_merged", "status_changed", "edited", "commented"]
    assert sorted(kinds_after(backend, last)) == sorted(expected)
    shown = backend.viewer.get(f"{path}/events").json()["events"]
    assert [event["kind"] for event in shown] in (kinds_after(backend, last), kinds_after(backend, last)[::-1])


def test_an_event_says_who_did_what_when_and_in_which_session(backend: BackendFixture) -> None:
    backend.clock.move(minutes=5)
    backend.member.patch(f"/tasks/{backend.task}", {"status": "IN_PROGRESS"})
    (event,) = backend.events(kind="status_changed", task_id=backend.task)
    assert event.keys() == KEYS
    assert (event["from"], event["to"], event["project_id"]) == ("TODO", "IN_PROGRESS", backend.project)
    assert (event["actor"], event["session_id"]) == (backend.member.id, backend.member.tokens["session"]["id"])
    assert event["at"].startswith("2026-11-23T09:05:00")


def test_an_event_holds_no_text_of_tasks(backend: BackendFixture) -> None:
    word = "Unwiederholbar"
    task = backend.owner.new_task(backend.project, word, description=word)["id"]
    backend.owner.patch(f"/tasks/{task}", {"title": f"{word} 2"})
    backend.owner.post(f"/tasks/{task}/comments", {"text": word})
    assert word not in backend.owner.get("/events?limit=500").text
    assert word not in backend.owner.get(f"/tasks/{task}/events").text


def test_a_change_that_is_refused_leaves_no_event(backend: BackendFixture) -> None:
    last = last_of(backend)
    backend.viewer.patch(f"/tasks/{backend.task}", {"status": "IN_PROGRESS"})
    backend.owner.patch(f"/tasks/{backend.task}", {"status": "DONE"})
    backend.owner.patch(f"/tasks/{backend.task}", {"title": "X"}, headers={"If-Match": '"9"'})
    assert kinds_after(backend, last) == []


def test_members_who_come_and_go_are_events(backend: BackendFixture) -> None:
    last = last_of(backend)
    backend.owner.admit(backend.project, backend.stranger, "viewer")
    backend.owner.put(f"/projects/{backend.project}/members/{backend.stranger.id}", {"role": "member"})
    backend.owner.delete(f"/projects/{backend.project}/members/{backend.stranger.id}")
    shown = backend.owner.get(f"/events?after={last}").json()["events"]
    stranger = backend.stranger.id
    assert [(event["kind"], event["from"], event["to"]) for event in shown] == [
        ("member_changed", None, "invited viewer"),
        ("member_changed", "invited viewer", f"{stranger} viewer"),
        ("member_changed", f"{stranger} viewer", f"{stranger} member"),
        ("member_changed", f"{stranger} member", None),
    ]


def test_events_are_oldest_first_and_numbered_without_a_gap_in_what_is_shown(backend: BackendFixture) -> None:
    for _ in range(5):
        backend.owner.new_task(backend.project)
    found = backend.owner.get("/events?limit=500").json()
    ids = [event["id"] for event in found["events"]]
    assert ids == sorted(set(ids))
    assert found["last"] >= ids[-1]
    page: list[dict[str, Any]] = []
    after = 0
    while shown := (answer := backend.owner.get(f"/events?after={after}&limit=2").json())["events"]:
        page += shown
        after = answer["last"]
    assert page == found["events"]


@pytest.mark.requirement("CX-45")
def test_everybody_sees_the_events_of_their_projects_and_logins_only(backend: BackendFixture) -> None:
    backend.stranger.new_task(backend.foreign_project)
    for person, other in ((backend.owner, backend.foreign_project), (backend.stranger, backend.project)):
        shown = person.get("/events?limit=500").json()["events"]
        assert shown
        assert other not in {event["project_id"] for event in shown}
    logins = [event for event in backend.viewer.get("/events?limit=500").json()["events"] if event["kind"] == "login"]
    assert {event["actor"] for event in logins} <= {backend.viewer.id}


@pytest.mark.requirement("CX-45")
def test_whoever_has_seen_everything_gets_an_empty_page_with_the_same_place(backend: BackendFixture) -> None:
    last = last_of(backend)
    assert backend.owner.get(f"/events?after={last}").json() == {"events": [], "last": last}


@pytest.mark.requirement("CX-45")
def test_a_poll_is_answered_at_once_even_if_it_would_wait(backend: BackendFixture) -> None:
    last = last_of(backend)
    assert backend.owner.get(f"/events?after={last}&wait=25").json() == {"events": [], "last": last}
    task = backend.owner.new_task(backend.project)
    (event,) = backend.viewer.get(f"/events?after={last}&wait=25").json()["events"]
    assert (event["kind"], event["task_id"]) == ("task_created", task["id"])
    backend.owner.delete(f"/projects/{backend.project}/members/{backend.viewer.id}")
    assert backend.viewer.get(f"/events?after={last}").json()["events"] == []
