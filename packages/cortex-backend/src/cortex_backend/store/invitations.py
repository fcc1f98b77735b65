"""The SQL of invitations: the person with the address sees one, and the owners of its project (CX-26)."""

from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Session

from cortex_backend.enums import MemberRole
from cortex_backend.models import InvitationRow, MembershipRow, ProjectRow, UserRow
from cortex_backend.store.people import fold_email
from cortex_backend.store.projects import lock_project
from cortex_backend.store.rows import add_row, count_rows

__all__ = [
    "Offer",
    "SeenInvitation",
    "count_invitations",
    "list_invitations",
    "put_invitation",
    "remove_invitations_by",
    "take_invitation",
]

_SHOWN: Final = (
    select(InvitationRow, ProjectRow.name, UserRow.name)
    .join(ProjectRow, ProjectRow.id == InvitationRow.project_id)
    .join(UserRow, UserRow.id == InvitationRow.invited_by)
)


class Offer(NamedTuple):
    """The project of an invitation, and the role there."""

    project_id: int
    role: str


class SeenInvitation(NamedTuple):
    """An invitation, with the names of its project and of the owner who made it."""

    row: InvitationRow
    project_name: str
    inviter_name: str


def _is_addressed_to(user_id: int) -> ColumnElement[bool]:
    return InvitationRow.email == select(UserRow.email).where(UserRow.id == user_id).scalar_subquery()


def _is_owned_by(user_id: int) -> ColumnElement[bool]:
    is_owner = (MembershipRow.user_id == user_id) & (MembershipRow.role == MemberRole.OWNER.value)
    return InvitationRow.project_id.in_(select(MembershipRow.project_id).where(is_owner))


def _in_list(user_id: int, project_id: int | None) -> ColumnElement[bool]:
    if project_id is None:
        return _is_addressed_to(user_id)
    return _is_owned_by(user_id) & (InvitationRow.project_id == project_id)


def list_invitations(
    session: Session, user_id: int, project_id: int | None, after: int, limit: int
) -> list[SeenInvitation]:
    """Return the invitations with an id above ``after``: to a project of the user's, or without one to the user."""
    query = _SHOWN.where(_in_list(user_id, project_id), InvitationRow.id > after).order_by(InvitationRow.id)
    return [SeenInvitation(*row) for row in session.execute(query.limit(limit))]


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
    return SeenInvitation(*session.execute(_SHOWN.where(InvitationRow.id == row.id)).one())


def take_invitation(session: Session, user_id: int, invitation_id: int, *, is_for_owners: bool = False) -> Offer | None:
    """End an invitation to the user, or also one to a project of theirs, and return it; its project is locked then."""
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
    return None if row is None else Offer(*row)


def remove_invitations_by(session: Session, project_id: int, inviter: int) -> None:
    """End the invitations to a project of somebody who is no longer its owner."""
    is_theirs = (InvitationRow.project_id == project_id) & (InvitationRow.invited_by == inviter)
    session.execute(delete(InvitationRow).where(is_theirs))
