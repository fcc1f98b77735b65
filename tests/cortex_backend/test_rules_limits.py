"""The limits of projects, and members who are added again (CX-10, CX-96)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import update

from cortex_backend.models import MAX_TASKS, ProjectRow
from cortex_backend.schemas.events import EventQuery
from cortex_backend.schemas.projects import MemberAdded, ProjectDraft
from cortex_backend.service.caller import Caller
from cortex_backend.service.projects import MAX_PROJECTS
from cortex_backend.words import MemberRole
from tests.cortex_backend.desk import Blueprint, raises_problem
from tests.cortex_backend.ground import Ground, opened_ground


@pytest.fixture
def ground(sqlite_copy: tuple[str, Blueprint]) -> Iterator[Ground]:
    with opened_ground(sqlite_copy) as found:
        yield found


def add(ground: Ground, user: Caller, role: MemberRole) -> None:
    body = MemberAdded(email=f"{user.name.upper()}@Example.com", role=role)
    with ground.database.write() as session:
        ground.work.projects.add_member(session, ground.owner, ground.project, body)


def member_events(ground: Ground) -> list[tuple[str | None, str | None]]:
    shown = ground.work.events.list(ground.owner, EventQuery(limit=500)).events
    return [(event.old, event.new) for event in shown if event.kind == "member_changed"]


@pytest.mark.requirement("CX-96")
def test_a_user_has_two_hundred_projects_at_most(ground: Ground) -> None:
    with ground.database.write() as session:
        for _ in range(MAX_PROJECTS - 1):
            ground.work.projects.create(session, ground.stranger, ProjectDraft(name="X"))
    with raises_problem("Forbidden", match="200 projects"), ground.database.write() as session:
        ground.work.projects.create(session, ground.stranger, ProjectDraft(name="X"))
    with raises_problem("Forbidden", match="200 projects"):
        add(ground, ground.stranger, MemberRole.VIEWER)


@pytest.mark.requirement("CX-96")
def test_a_project_has_a_hundred_thousand_tasks_at_most(ground: Ground) -> None:
    with ground.database.write() as session:
        session.execute(update(ProjectRow).values(task_count=MAX_TASKS - 1))
    ground.new_task()
    with raises_problem("Forbidden", match="100,000 tasks"):
        ground.new_task()


@pytest.mark.requirement("CX-10")
def test_a_member_who_is_added_again_gets_the_role_and_the_last_owner_keeps_it(ground: Ground) -> None:
    before = member_events(ground)
    member = ground.member.user_id
    add(ground, ground.member, MemberRole.MEMBER)
    assert member_events(ground) == before
    add(ground, ground.member, MemberRole.OWNER)
    assert member_events(ground) == [*before, (f"{member} member", f"{member} owner")]
    ground.work.projects.set_role(ground.member, ground.project, ground.owner.user_id, MemberRole.VIEWER)
    for role in (MemberRole.VIEWER, MemberRole.MEMBER):
        with raises_problem("LastOwner"):
            ground.work.projects.set_role(ground.member, ground.project, member, role)
