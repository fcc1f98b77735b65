"""The SQL of projects, members and invitations; whoever may not see one does not find it (CX-26)."""

from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Select, delete, select, update
from sqlalchemy.orm import Session

from cortex_backend.enums import MemberRole
from cortex_backend.models import MAX_TASKS, InvitationRow, MembershipRow, ProjectRow, UserRow
from cortex_backend.store.people import fold_email
from cortex_backend.store.rows import Listing, add_row, changes_one, count_rows

__all__ = [
    "SeenInvitation",
    "SeenMember",
    "SeenProject",
    "add_member",
    "count_invitations",
    "count_owners",
    "count_projects",
    "find_member",
    "find_project",
    "list_invitations",
    "list_members",
    "lock_project",
    "put_invitation",
    "remove_invitations_by",
    "set_role",
    "take_invitation",
    "take_task_place",
    "visible_projects",
]


_INVITATIONS: Final = (
    select(InvitationRow, ProjectRow.name, UserRow.name)
    .join(ProjectRow, ProjectRow.id == InvitationRow.project_id)
    .join(UserRow, UserRow.id == InvitationRow.invited_by)
)


class SeenProject(NamedTuple):
    """A project that the caller sees, and what they may do there."""

    row: ProjectRow
    role: str


class SeenInvitation(NamedTuple):
    """An invitation, with the names of its project and of the owner who made it."""

    row: InvitationRow
    project_name: str
    inviter_name: str


class SeenMember(NamedTuple):
    """A member of a project."""

    row: UserRow
    role: str


def find_project(session: Session, user_id: int, project_id: int, *, is_locked: bool = False) -> SeenProject | None:
    """Return a project that the user sees; ``is_locked`` keeps the user's role as it is until the transaction ends."""
    query = _visible(user_id).where(ProjectRow.id == project_id).execution_options(populate_existing=True)
    if is_locked:
        query = query.with_for_update(read=True, of=MembershipRow)
    row = session.execute(query).one_or_none()
    return None if row is None else SeenProject(*row)


def count_projects(session: Session, user_id: int) -> int:
    """Return how many projects the user sees."""
    return count_rows(session, MembershipRow.user_id == user_id)


def visible_projects(user_id: int) -> Listing[SeenProject]:
    """Return the list of the projects that the user sees."""
    return Listing(SeenProject, _visible(user_id), ProjectRow.id)


def _visible(user_id: int) -> "Select[ProjectRow, str]":
    joined = (MembershipRow.project_id == ProjectRow.id) & (MembershipRow.user_id == user_id)
    return select(ProjectRow, MembershipRow.role).join(MembershipRow, joined)


def take_task_place(session: Session, project_id: int) -> bool:
    """Count one more task of a project, and return whether there was room for it (CX-96)."""
    query = update(ProjectRow).where(ProjectRow.id == project_id, ProjectRow.task_count < MAX_TASKS)
    return changes_one(session, query.values(task_count=ProjectRow.task_count + 1))


def lock_project(session: Session, project_id: int) -> None:
    """Let other changes of the members of a project wait until the transaction ends."""
    session.execute(select(ProjectRow.id).where(ProjectRow.id == project_id).with_for_update())


def find_member(session: Session, project_id: int, user_id: int, *, is_locked: bool = False) -> SeenMember | None:
    """Return a member of a project; ``is_locked`` keeps them one until the transaction ends."""
    query = _members(project_id).where(MembershipRow.user_id == user_id)
    if is_locked:
        query = query.with_for_update(read=True, of=MembershipRow)
    row = session.execute(query).one_or_none()
    return None if row is None else SeenMember(*row)


def count_owners(session: Session, project_id: int) -> int:
    """Return how many owners a project has."""
    return count_rows(session, MembershipRow.project_id == project_id, MembershipRow.role == MemberRole.OWNER.value)


def list_members(project_id: int) -> Listing[SeenMember]:
    """Return the list of the members of a project."""
    return Listing(SeenMember, _members(project_id), UserRow.id)


def _members(project_id: int) -> "Select[UserRow, str]":
    return (
        select(UserRow, MembershipRow.role)
        .join(MembershipRow, MembershipRow.user_id == UserRow.id)
        .where(MembershipRow.project_id == project_id)
    )


def add_member(session: Session, project_id: int, user_id: int, role: str) -> None:
    """Make a user a member of a project."""
    add_row(session, MembershipRow(project_id=project_id, user_id=user_id, role=role))


def set_role(session: Session, project_id: int, user_id: int, role: MemberRole | None) -> None:
    """Give a member of a project another role, or with None end the membership."""
    is_member = (MembershipRow.project_id == project_id) & (MembershipRow.user_id == user_id)
    change = update(MembershipRow).values(role=role.value) if role else delete(MembershipRow)
    session.execute(change.where(is_member))


def _is_addressed_to(user_id: int) -> ColumnElement[bool]:
    return InvitationRow.email == select(UserRow.email).where(UserRow.id == user_id).scalar_subquery()


def _is_owned_by(user_id: int) -> ColumnElement[bool]:
    is_owner = (MembershipRow.user_id == user_id) & (MembershipRow.role == MemberRole.OWNER.value)
    return InvitationRow.project_id.in_(select(MembershipRow.project_id).where(is_owner))


def _in_list(user_id: int, project_id: int | None) -> ColumnElement[bool]:
    if project_id is None:
        return _is_addressed_to(user_id)
    return _is_owned_by(user_id) & (InvitationRow.project_id == project_id)


def list_invitations(user_id: int, project_id: int | None) -> Listing[SeenInvitation]:
    """Return the list of the invitations to a project of the user's, or without one to the user."""
    return Listing(SeenInvitation, _INVITATIONS.where(_in_list(user_id, project_id)), InvitationRow.id)


def count_invitations(session: Session, user_id: int, project_id: int | None) -> int:
    """Return how many invitations the list has."""
    return count_rows(session, _in_list(user_id, project_id))


def put_invitation(
    session: Session, project_id: int, email: str, role: MemberRole, inviter: int, now: datetime
) -> SeenInvitation:
    """Invite an e-mail address to a project, which is locked, or replace the role in its open invitation."""
    address = fold_email(email)
    is_same = (InvitationRow.project_id == project_id) & (InvitationRow.email == address)
    row = session.scalar(select(InvitationRow).where(is_same))
    row = row or InvitationRow(project_id=project_id, email=address, created_at=now)
    row.role, row.invited_by = role.value, inviter
    add_row(session, row)
    return SeenInvitation(*session.execute(_INVITATIONS.where(InvitationRow.id == row.id)).one())


def take_invitation(
    session: Session, user_id: int, invitation_id: int, *, is_for_owners: bool = False
) -> tuple[int, str] | None:
    """End an invitation to the user, or one to a project of theirs; return its project, locked now, and the role."""
    is_seen = _is_addressed_to(user_id)
    if is_for_owners:
        is_seen |= _is_owned_by(user_id)
    is_seen &= InvitationRow.id == invitation_id
    project_id = session.scalar(select(InvitationRow.project_id).where(is_seen))
    if project_id is None:
        return None
    lock_project(session, project_id)
    query = delete(InvitationRow).where(is_seen).returning(InvitationRow.project_id, InvitationRow.role)
    row = session.execute(query.execution_options(synchronize_session=False)).one_or_none()
    return None if row is None else (row.project_id, row.role)


def remove_invitations_by(session: Session, project_id: int, inviter: int) -> None:
    """Withdraw the invitations that a former owner of the project sent."""
    is_theirs = (InvitationRow.project_id == project_id) & (InvitationRow.invited_by == inviter)
    session.execute(delete(InvitationRow).where(is_theirs))
