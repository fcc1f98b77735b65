"""The rules of invitations: nobody is a member without their consent, or learns who has an account (CX-10, CX-26)."""

from typing import Final

from sqlalchemy.orm import Session

from cortex_backend.caller import Caller
from cortex_backend.clock import Clock
from cortex_backend.database import CortexDatabase
from cortex_backend.enums import EventKind
from cortex_backend.problems import limit_reached, require
from cortex_backend.schemas.common import UserName
from cortex_backend.schemas.projects import InvitationDraft, InvitationQuery, InvitationView, ProjectLabel
from cortex_backend.service.projects import check_room, created_project, find_owned
from cortex_backend.service.repeats import Creation
from cortex_backend.service.rules.pages import Page, make_page, read_key
from cortex_backend.store import invitations as store
from cortex_backend.store.events import NewEvent, add_events
from cortex_backend.store.invitations import SeenInvitation
from cortex_backend.store.projects import add_member, find_project, lock_project

__all__ = ["MAX_INVITATIONS", "Invitations"]

MAX_INVITATIONS: Final = 100
"""Maximum open invitations of a project (CX-96)."""


class Invitations:
    """Invites people by e-mail, and makes those who accept members.

    Its methods raise ``NotFound``, ``Forbidden`` and ``InvalidCursor``.
    """

    def __init__(self, database: CortexDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def list(self, caller: Caller, query: InvitationQuery) -> Page:
        """Return a page of the invitations to the caller, or to a project of theirs, oldest first."""
        scope = f"invitations {caller.user_id} {query.project_id}"
        after = read_key(query.cursor, scope) or 0
        with self._database.read() as session:
            if query.project_id is not None:
                find_owned(session, caller, query.project_id)
            rows = store.list_invitations(session, caller.user_id, query.project_id, after, query.limit + 1)
            total = store.count_invitations(session, caller.user_id, query.project_id)
        return make_page(rows, query.limit, total=total, scope=scope, view=_view, key=lambda found: found.row.id)

    def create(self, session: Session, caller: Caller, project_id: int, body: InvitationDraft) -> Creation:
        """Invite somebody, or replace the role in their open invitation; the answer tells nothing about the address."""
        find_owned(session, caller, project_id)
        lock_project(session, project_id)
        if store.count_invitations(session, caller.user_id, project_id) >= MAX_INVITATIONS:
            raise limit_reached(f"{MAX_INVITATIONS} open invitations a project")
        now = self._clock()
        found = store.put_invitation(session, project_id, body.email, body.role, caller.user_id, now)
        role = f"invited {body.role}"
        add_events(session, caller, now, NewEvent(EventKind.MEMBER_CHANGED, project_id, new=role))
        return Creation(body=_view(found).model_dump_json(), project_id=project_id)

    def accept(self, session: Session, caller: Caller, invitation_id: int) -> Creation:
        """Make the caller a member of the project; a member keeps the role that they have."""
        project_id, role = require(store.take_invitation(session, caller.user_id, invitation_id), "invitation")
        found = find_project(session, caller.user_id, project_id)
        if found is None:
            check_room(session, caller.user_id)
            add_member(session, project_id, caller.user_id, role)
            found = require(find_project(session, caller.user_id, project_id), "project")
            old, new = f"invited {role}", f"{caller.user_id} {role}"
            event = NewEvent(EventKind.MEMBER_CHANGED, project_id, old=old, new=new)
            add_events(session, caller, self._clock(), event)
        return created_project(found)

    def remove(self, caller: Caller, invitation_id: int) -> None:
        """Decline an invitation to the caller, or withdraw one as an owner."""
        with self._database.write() as session:
            found = store.take_invitation(session, caller.user_id, invitation_id, is_for_owners=True)
            project_id, role = require(found, "invitation")
            old = f"invited {role}"
            add_events(session, caller, self._clock(), NewEvent(EventKind.MEMBER_CHANGED, project_id, old=old))


def _view(found: SeenInvitation) -> InvitationView:
    row = found.row
    return InvitationView.model_validate(
        {
            **row.values(),
            "project": ProjectLabel(id=row.project_id, name=found.project_name),
            "invited_by": UserName(id=row.invited_by, name=found.inviter_name),
        }
    )
