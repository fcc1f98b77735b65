"""What happened: written with the change, never changed, seen by whoever may see it, waited for (CX-44, CX-45)."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.cortex_backend.desk import Desk

pytestmark = pytest.mark.requirement("CX-44")

KEYS: Final = {"id", "at", "kind", "task_id", "project_id", "actor", "session_id", "from", "to"}


def kinds_after(desk: Desk, last: int) -> list[str]:
    return [event["kind"] for event in desk.owner.get(f"/events?after={last}").json()["events"]]


def last_of(desk: Desk) -> int:
    return desk.owner.get("/events?limit=500").json()["last"]


PULL_REQUEST: Final[dict[str, Any]] = {
    "url": None,
    "number": None,
    "forge": "none",
    "state": "open",
    "head_sha": "a" * 40,
    "base": "main",
}


def test_every_change_of_a_task_is_an_event(each_desk: Desk) -> None:
    desk = each_desk
    last = last_of(desk)
    task = desk.owner.new_task(desk.project)["id"]
    path = f"/tasks/{task}"
    desk.member.patch(path, {"status": "IN_PROGRESS"})
    desk.member.patch(path, {"branch_name": f"feature/task-{task}-x"})
    desk.member.patch(path, {"pull_request": PULL_REQUEST, "status": "REVIEW"})
    desk.member.patch(path, {"pull_request": {**PULL_REQUEST, "head_sha": "b" * 40}})
    desk.member.patch(path, {"pull_request": {**PULL_REQUEST, "state": "merged"}, "status": "DONE"})
    desk.member.patch(path, {"title": "Another"})
    desk.member.post(f"{path}/comments", {"text": "Done."})
    expected = ["task_created", "assigned", "status_changed", "branch_set", "pr_opened", "status_changed"]
    expected += ["pr_updated", "pr_merged", "status_changed", "edited", "commented"]
    assert sorted(kinds_after(desk, last)) == sorted(expected)
    shown = desk.viewer.get(f"{path}/events").json()["events"]
    assert [event["kind"] for event in shown] in (kinds_after(desk, last), kinds_after(desk, last)[::-1])


def test_an_event_says_who_did_what_when_and_in_which_session(desk: Desk) -> None:
    desk.clock.move(minutes=5)
    desk.member.patch(f"/tasks/{desk.task}", {"status": "IN_PROGRESS"})
    (event,) = desk.events(kind="status_changed", task_id=desk.task)
    assert event.keys() == KEYS
    assert (event["from"], event["to"], event["project_id"]) == ("TODO", "IN_PROGRESS", desk.project)
    assert (event["actor"], event["session_id"]) == (desk.member.id, desk.member.tokens["session"]["id"])
    assert event["at"].startswith("2026-11-23T09:05:00")


def test_an_event_holds_no_text_of_tasks(desk: Desk) -> None:
    word = "Unwiederholbar"
    task = desk.owner.new_task(desk.project, word, description=word)["id"]
    desk.owner.patch(f"/tasks/{task}", {"title": f"{word} 2"})
    desk.owner.post(f"/tasks/{task}/comments", {"text": word})
    assert word not in desk.owner.get("/events?limit=500").text
    assert word not in desk.owner.get(f"/tasks/{task}/events").text


def test_a_change_that_is_refused_leaves_no_event(desk: Desk) -> None:
    last = last_of(desk)
    desk.viewer.patch(f"/tasks/{desk.task}", {"status": "IN_PROGRESS"})
    desk.owner.patch(f"/tasks/{desk.task}", {"status": "DONE"})
    desk.owner.patch(f"/tasks/{desk.task}", {"title": "X"}, headers={"If-Match": '"9"'})
    assert kinds_after(desk, last) == []


def test_members_who_come_and_go_are_events(desk: Desk) -> None:
    last = last_of(desk)
    desk.owner.post(f"/projects/{desk.project}/members", {"email": desk.stranger.email, "role": "viewer"})
    desk.owner.put(f"/projects/{desk.project}/members/{desk.stranger.id}", {"role": "member"})
    desk.owner.delete(f"/projects/{desk.project}/members/{desk.stranger.id}")
    assert kinds_after(desk, last) == ["member_changed"] * 3


def test_events_are_oldest_first_and_numbered_without_a_gap_in_what_is_shown(desk: Desk) -> None:
    for _ in range(5):
        desk.owner.new_task(desk.project)
    found = desk.owner.get("/events?limit=500").json()
    ids = [event["id"] for event in found["events"]]
    assert ids == sorted(set(ids))
    assert found["last"] >= ids[-1]
    page: list[dict[str, Any]] = []
    after = 0
    while shown := (answer := desk.owner.get(f"/events?after={after}&limit=2").json())["events"]:
        page += shown
        after = answer["last"]
    assert page == found["events"]


@pytest.mark.requirement("CX-45")
def test_everybody_sees_the_events_of_their_projects_and_logins_only(each_desk: Desk) -> None:
    desk = each_desk
    desk.stranger.new_task(desk.foreign_project)
    for person, other in ((desk.owner, desk.foreign_project), (desk.stranger, desk.project)):
        shown = person.get("/events?limit=500").json()["events"]
        assert shown
        assert other not in {event["project_id"] for event in shown}
    logins = [event for event in desk.viewer.get("/events?limit=500").json()["events"] if event["kind"] == "login"]
    assert {event["actor"] for event in logins} <= {desk.viewer.id}


@pytest.mark.requirement("CX-45")
def test_whoever_has_seen_everything_gets_an_empty_page_with_the_same_place(desk: Desk) -> None:
    last = last_of(desk)
    assert desk.owner.get(f"/events?after={last}").json() == {"events": [], "last": last}


@pytest.mark.requirement("CX-45")
def test_what_is_there_already_is_not_waited_for(desk: Desk) -> None:
    assert desk.owner.get("/events?after=0&wait=25").json()["events"]
