"""The limits of projects, and members who are added again (CX-10, CX-96)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import update

from cortex_backend.caller import Caller
from cortex_backend.enums import MemberRole
from cortex_backend.models import MAX_TASKS, InvitationRow, MembershipRow, ProjectRow
from cortex_backend.schemas.common import PageQuery
from cortex_backend.schemas.events import EventQuery
from cortex_backend.schemas.projects import (
    InvitationDraft,
    InvitationQuery,
    InvitationView,
    MemberView,
    ProjectDraft,
)
from cortex_backend.service.projects import MAX_INVITATIONS, MAX_PROJECTS
from tests.cortex_backend.backend_fixture import PreparedData, raises_problem
from tests.cortex_backend.service_fixture import ServiceFixture, open_services


@pytest.fixture
def services(sqlite_copy: tuple[str, PreparedData]) -> Iterator[ServiceFixture]:
    with open_services(sqlite_copy) as found:
        yield found


def invite(services: ServiceFixture, email: str, role: MemberRole, inviter: Caller | None = None) -> InvitationView:
    body = InvitationDraft(email=email, role=role)
    with services.database.write() as session:
        creation = services.work.projects.invite(session, inviter or services.owner, services.project, body)
    return InvitationView.model_validate_json(creation.body)


def join(services: ServiceFixture, user: Caller, role: MemberRole) -> None:
    invitation = invite(services, f"{user.name.upper()}@Example.com", role)
    with services.database.write() as session:
        services.work.projects.accept(session, user, invitation.id)


def member_events(services: ServiceFixture) -> list[tuple[str | None, str | None]]:
    shown = services.work.tasks.list_events(services.owner, EventQuery(limit=500)).events
    return [(event.old, event.new) for event in shown if event.kind == "member_changed"]


def roles(services: ServiceFixture) -> set[tuple[int, str]]:
    page = services.work.projects.list_members(services.owner, services.project, PageQuery())
    found = [MemberView.model_validate_json(entry) for entry in page.entries]
    return {(member.user.id, member.role) for member in found}


@pytest.mark.requirement("CX-96")
def test_a_project_has_a_hundred_open_invitations_at_most(services: ServiceFixture) -> None:
    offer = {"project_id": services.project, "role": "viewer", "invited_by": services.owner.user_id}
    emails = [f"{number}@example.org" for number in range(MAX_INVITATIONS - 1)]
    with services.database.write() as session:
        session.add_all([InvitationRow(**offer, email=email, created_at=services.clock()) for email in emails])
    with raises_problem("Forbidden", match="100 open invitations"):
        invite(services, "late@example.org", MemberRole.VIEWER)
    invite(services, emails[0], MemberRole.MEMBER)  # another role in one of them
    query = InvitationQuery.model_validate({"project_id": str(services.project)})
    assert services.work.projects.list_invitations(services.owner, query).total == MAX_INVITATIONS


@pytest.mark.requirement("CX-13")
def test_the_invitations_of_a_former_owner_end_with_their_role(services: ServiceFixture) -> None:
    member, owner = services.member, services.owner
    services.work.projects.set_role(owner, services.project, member.user_id, MemberRole.OWNER)
    kept = invite(services, "kept@example.org", MemberRole.MEMBER)
    invite(services, "back@example.org", MemberRole.OWNER, member)
    query = InvitationQuery.model_validate({"project_id": str(services.project)})
    assert services.work.projects.list_invitations(owner, query).total == 3
    services.work.projects.set_role(owner, services.project, member.user_id, MemberRole.MEMBER)
    left = services.work.projects.list_invitations(owner, query).entries
    assert [InvitationView.model_validate_json(entry) for entry in left][1:] == [kept]


@pytest.mark.requirement("CX-96")
def test_a_user_has_two_hundred_projects_at_most(services: ServiceFixture) -> None:
    with services.database.write() as session:
        project, now = {"name": "X", "default_branch": "main"}, services.clock()
        rows = [ProjectRow(**project, created_at=now, updated_at=now) for _ in range(MAX_PROJECTS - 1)]
        session.add_all(rows)
        session.flush()
        user = services.stranger.user_id
        session.add_all([MembershipRow(project_id=row.id, user_id=user, role="owner") for row in rows])
    with raises_problem("Forbidden", match="200 projects"), services.database.write() as session:
        services.work.projects.create(session, services.stranger, ProjectDraft(name="X"))
    with raises_problem("Forbidden", match="200 projects"):
        join(services, services.stranger, MemberRole.VIEWER)


@pytest.mark.requirement("CX-96")
def test_a_project_has_a_hundred_thousand_tasks_at_most(services: ServiceFixture) -> None:
    with services.database.write() as session:
        session.execute(update(ProjectRow).values(task_count=MAX_TASKS - 1))
    services.new_task()
    with raises_problem("Forbidden", match="100,000 tasks"):
        services.new_task()


@pytest.mark.requirement("CX-10")
def test_a_member_who_accepts_again_keeps_the_role_and_so_does_the_last_owner(services: ServiceFixture) -> None:
    member = services.member.user_id
    join(services, services.member, MemberRole.VIEWER)
    assert (member, "member") in roles(services)
    before = member_events(services)
    for _ in range(2):
        services.work.projects.set_role(services.owner, services.project, member, MemberRole.OWNER)
        assert member_events(services) == [*before, (f"{member} member", f"{member} owner")]
    services.work.projects.set_role(services.member, services.project, services.owner.user_id, MemberRole.VIEWER)
    for role in (MemberRole.VIEWER, MemberRole.MEMBER):
        with raises_problem("LastOwner"):
            services.work.projects.set_role(services.member, services.project, member, role)
