"""Waiting for events: the first one ends it, and it takes neither a connection nor a thread (CX-45)."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.core.notes import in_background
from tests.cortex_backend.backend_fixture import BackendFixture, Person

pytestmark = pytest.mark.requirement("CX-45")

WAITING: Final = 50
"""More than there are worker threads or connections to the database."""


def last_of(person: Person) -> int:
    return person.get("/events?limit=500").json()["last"]


def test_whoever_waits_hears_of_the_first_event(backend: BackendFixture) -> None:
    last, heard = last_of(backend.viewer), list[dict[str, Any]]()

    def wait() -> None:
        heard.append(backend.viewer.get(f"/events?after={last}&wait=25").json())

    with in_background() as run:
        run(wait)
        task = backend.owner.new_task(backend.project)
    (answer,) = heard
    assert [(event["kind"], event["task_id"]) for event in answer["events"]] == [("task_created", task["id"])]
    assert answer["last"] > last


def test_a_wait_without_an_event_ends_with_an_empty_page(backend: BackendFixture) -> None:
    last = last_of(backend.owner)
    assert backend.owner.get(f"/events?after={last}&wait=1").json() == {"events": [], "last": last}


def test_events_of_others_do_not_end_a_wait(backend: BackendFixture) -> None:
    last, heard = last_of(backend.stranger), list[dict[str, Any]]()

    def wait() -> None:
        heard.append(backend.stranger.get(f"/events?after={last}&wait=3").json())

    with in_background() as run:
        run(wait)
        backend.owner.new_task(backend.project)
    assert [event["project_id"] for event in heard[0]["events"]] == []


def test_many_who_wait_keep_nobody_from_working(backend: BackendFixture) -> None:
    last, heard = last_of(backend.viewer), list[int]()

    def wait() -> None:
        heard.append(len(backend.viewer.get(f"/events?after={last}&wait=25").json()["events"]))

    with in_background() as run:
        run(*([wait] * WAITING))
        for _ in range(5):
            assert backend.member.get(f"/tasks/{backend.task}").status_code == 200
        assert heard == []
        backend.owner.new_task(backend.project)
    assert heard == [1] * WAITING


def test_whoever_leaves_a_project_while_waiting_hears_nothing_more_of_it(backend: BackendFixture) -> None:
    last, heard = last_of(backend.member), list[Any]()

    def wait() -> None:
        heard.append(backend.member.get(f"/events?after={last}&wait=3"))

    with in_background() as run:
        run(wait)
        backend.owner.delete(f"/projects/{backend.project}/members/{backend.member.id}")
        backend.owner.new_task(backend.project)
    assert [event for event in heard[0].json()["events"] if event["kind"] == "task_created"] == []
