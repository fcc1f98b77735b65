"""The limits of projects, and members who are added again (CX-10, CX-96)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import update

from cortex_backend.enums import MemberRole
from cortex_backend.models import MAX_TASKS, ProjectRow
from cortex_backend.schemas.events import EventQuery
from cortex_backend.schemas.projects import MemberAdded, ProjectDraft
from cortex_backend.service.caller import Caller
from cortex_backend.service.projects import MAX_PROJECTS
from tests.cortex_backend.backend_fixture import PreparedData, raises_problem
from tests.cortex_backend.service_fixture import ServiceFixture, open_services


@pytest.fixture
def services(sqlite_copy: tuple[str, PreparedData]) -> Iterator[ServiceFixture]:
    with open_services(sqlite_copy) as found:
        yield found


def add(services: ServiceFixture, user: Caller, role: MemberRole) -> None:
    body = MemberAdded(email=f"{user.name.upper()}@Example.com", role=role)
    with services.database.write() as session:
        services.work.projects.add_member(session, services.owner, services.project, body)


def member_events(services: ServiceFixture) -> list[tuple[str | None, str | None]]:
    shown = services.work.events.list(services.owner, EventQuery(limit=500)).events
    return [(event.old, event.new) for event in shown if event.kind == "member_changed"]


@pytest.mark.requirement("CX-96")
def test_a_user_has_two_hundred_projects_at_most(services: ServiceFixture) -> None:
    with services.database.write() as session:
        for _ in range(MAX_PROJECTS - 1):
            services.work.projects.create(session, services.stranger, ProjectDraft(name="X"))
    with raises_problem("Forbidden", match="200 projects"), services.database.write() as session:
        services.work.projects.create(session, services.stranger, ProjectDraft(name="X"))
    with raises_problem("Forbidden", match="200 projects"):
        add(services, services.stranger, MemberRole.VIEWER)


@pytest.mark.requirement("CX-96")
def test_a_project_has_a_hundred_thousand_tasks_at_most(services: ServiceFixture) -> None:
    with services.database.write() as session:
        session.execute(update(ProjectRow).values(task_count=MAX_TASKS - 1))
    services.new_task()
    with raises_problem("Forbidden", match="100,000 tasks"):
        services.new_task()


@pytest.mark.requirement("CX-10")
def test_a_member_who_is_added_again_gets_the_role_and_the_last_owner_keeps_it(services: ServiceFixture) -> None:
    before = member_events(services)
    member = services.member.user_id
    add(services, services.member, MemberRole.MEMBER)
    assert member_events(services) == before
    add(services, services.member, MemberRole.OWNER)
    assert member_events(services) == [*before, (f"{member} member", f"{member} owner")]
    services.work.projects.set_role(services.member, services.project, services.owner.user_id, MemberRole.VIEWER)
    for role in (MemberRole.VIEWER, MemberRole.MEMBER):
        with raises_problem("LastOwner"):
            services.work.projects.set_role(services.member, services.project, member, role)
