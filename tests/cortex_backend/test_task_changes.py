"""What a request changes in a task and which events that makes (CX-12 to CX-14, CX-44)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cortex_backend.schemas.events import EventQuery
from cortex_backend.schemas.projects import ProjectPatch
from tests.cortex_backend.backend_fixture import PreparedData, raises_problem
from tests.cortex_backend.service_fixture import ServiceFixture, open_services


@pytest.fixture
def services(sqlite_copy: tuple[str, PreparedData]) -> Iterator[ServiceFixture]:
    with open_services(sqlite_copy) as found:
        yield found


def events_of(services: ServiceFixture, task_id: int) -> list[tuple[str, str | None, str | None]]:
    found = services.work.tasks.list_events(services.viewer, EventQuery(limit=500), task_id).events
    return [(event.kind.value, event.old, event.new) for event in found]


@pytest.mark.requirement("CX-14")
def test_what_a_request_leaves_out_of_a_pull_request_stays_as_it_is(services: ServiceFixture) -> None:
    first = services.change(services.member, services.task, pull_request={"number": 7, "forge": "gitea"}).pull_request
    assert first is not None
    assert first.submitted_at == services.clock.now
    services.clock.move(hours=1)
    second = services.change(services.member, services.task, pull_request={"state": "merged"}).pull_request
    assert second == first.model_copy(update={"state": "merged"})
    assert services.change(services.member, services.task, pull_request=None).pull_request is None
    assert events_of(services, services.task)[1:] == [
        ("pr_opened", None, "open"),
        ("pr_merged", "open", "merged"),
        ("pr_updated", "merged", None),
    ]


@pytest.mark.requirement("CX-12")
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"title": "Sweep"},
        {"status": "TODO", "assignee_id": None, "branch_name": None, "pull_request": None, "deadline": None},
        {"type": "feature", "priority": "MEDIUM", "description": ""},
    ],
)
def test_a_change_to_what_is_there_already_is_none(fields: dict[str, Any], services: ServiceFixture) -> None:
    task_id = services.new_task()
    assert services.change(services.member, task_id, **fields).version == 1
    assert events_of(services, task_id) == [("task_created", None, None)]


@pytest.mark.requirement("CX-44")
def test_an_edit_of_several_fields_is_one_event_without_their_values(services: ServiceFixture) -> None:
    task_id = services.new_task()
    changed = services.change(services.member, task_id, title="Mop", type="bug", priority="LOW", deadline="2027-01-31")
    assert (changed.version, changed.type, str(changed.deadline)) == (2, "bug", "2027-01-31")
    assert events_of(services, task_id)[1:] == [("edited", None, None)]


@pytest.mark.requirement("CX-13")
def test_a_task_in_review_keeps_a_branch(services: ServiceFixture) -> None:
    branch = f"feature/task-{services.task}-x"
    services.change(services.member, services.task, status="IN_PROGRESS", branch_name=branch)
    services.change(services.member, services.task, status="REVIEW")
    with raises_problem("InvalidTransition"):
        services.change(services.member, services.task, branch_name=None)
    assert services.change(services.member, services.task, status="DONE", branch_name=None).branch_name is None


@pytest.mark.requirement("CX-11")
def test_a_new_task_can_be_given_to_a_member_by_an_owner(services: ServiceFixture) -> None:
    task_id = services.new_task(assignee_id=services.member.user_id, deadline="2027-01-31", type="docs")
    shown = services.work.tasks.get(services.viewer, task_id)
    assert shown.assignee is not None
    assert (shown.assignee.id, shown.type, shown.created_by.id) == (
        services.member.user_id,
        "docs",
        services.owner.user_id,
    )
    assert events_of(services, task_id) == [
        ("task_created", None, None),
        ("assigned", None, str(services.member.user_id)),
    ]
    with raises_problem("NotFound"):
        services.new_task(assignee_id=services.stranger.user_id)


@pytest.mark.requirement("CX-13")
def test_whoever_leaves_a_project_keeps_only_what_is_settled_there(services: ServiceFixture) -> None:
    going, done = (services.new_task(assignee_id=services.member.user_id) for _ in range(2))
    for status in ("IN_PROGRESS", "DONE"):
        services.change(services.member, done, status=status)
    services.work.projects.remove_member(services.owner, services.project, services.member.user_id)
    left, kept = (services.work.tasks.get(services.owner, task_id) for task_id in (going, done))
    assert (left.assignee, left.version) == (None, 2)
    assert kept.assignee is not None
    assert events_of(services, going)[-1] == ("assigned", str(services.member.user_id), None)


@pytest.mark.requirement("CX-24")
def test_a_project_that_gets_what_it_has_stays_of_its_version(services: ServiceFixture) -> None:
    change = services.work.projects.change
    assert change(services.owner, services.project, ProjectPatch(), None).version == 1
    body = ProjectPatch(name="Gamma", repository_url=None)
    assert change(services.owner, services.project, body, '"1"').version == 2
    assert change(services.owner, services.project, body, None).version == 2
