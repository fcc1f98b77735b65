"""The rules of projects, their members and invitations (CX-10, CX-13, CX-26)."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.orm import Session

from cortex_backend.caller import Caller
from cortex_backend.clock import Clock
from cortex_backend.database import CortexDatabase
from cortex_backend.enums import EventKind, MemberRole
from cortex_backend.models import ProjectRow
from cortex_backend.problems import Problem, forbidden, limit_reached, require
from cortex_backend.schemas.common import PageQuery, UserName
from cortex_backend.schemas.projects import (
    InvitationDraft,
    InvitationQuery,
    InvitationView,
    MemberView,
    ProjectDraft,
    ProjectLabel,
    ProjectPatch,
    ProjectView,
)
from cortex_backend.service.repeats import Creation
from cortex_backend.service.rules.moves import SETTLED
from cortex_backend.service.rules.pages import Page, read_page
from cortex_backend.service.rules.versions import check_version
from cortex_backend.store import projects as store
from cortex_backend.store.events import NewEvent, add_events
from cortex_backend.store.projects import SeenInvitation, SeenMember, SeenProject
from cortex_backend.store.rows import add_row, change_row
from cortex_backend.store.tasks import release_tasks

__all__ = ["MAX_INVITATIONS", "MAX_PROJECTS", "Projects"]

MAX_INVITATIONS: Final = 100
MAX_PROJECTS: Final = 200
"""Maximum open invitations of a project, and projects of a user (CX-96)."""


class Projects:
    """Reads and changes projects, members and invitations; each change is one transaction with its events.

    Its methods raise ``NotFound``, ``Forbidden`` and ``InvalidCursor``.
    """

    def __init__(self, database: CortexDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def list(self, caller: Caller, query: PageQuery) -> Page:
        """Return a page of the caller's projects, oldest first."""
        with self._database.read() as session:
            listing = store.visible_projects(caller.user_id)
            return read_page(session, query, f"projects {caller.user_id}", listing, _view)

    def get(self, caller: Caller, project_id: int) -> ProjectView:
        """Return a project."""
        with self._database.read() as session:
            return _view(require(store.find_project(session, caller.user_id, project_id), "project"))

    def create(self, session: Session, caller: Caller, body: ProjectDraft) -> Creation:
        """Create a project that the caller owns."""
        _check_room(session, caller.user_id)
        now = self._clock()
        row = ProjectRow(**body.model_dump(), task_count=0, version=1, created_at=now, updated_at=now)
        add_row(session, row)
        store.add_member(session, row.id, caller.user_id, MemberRole.OWNER)
        role = f"{caller.user_id} {MemberRole.OWNER}"
        add_events(session, caller, now, NewEvent(EventKind.MEMBER_CHANGED, row.id, new=role))
        return _created_project(SeenProject(row, MemberRole.OWNER))

    def change(self, caller: Caller, project_id: int, body: ProjectPatch, if_match: str | None) -> ProjectView:
        """Change a project and return it; raise also ``PreconditionFailed``."""
        with self._database.write() as session:
            while True:
                found = _find_owned(session, caller, project_id)
                check_version(if_match, found.row.version)
                given = body.model_dump(exclude_unset=True)
                changes = {name: value for name, value in given.items() if getattr(found.row, name) != value}
                if not changes:
                    return _view(found)
                if change_row(session, found.row, changes, self._clock()):
                    return _view(_find_owned(session, caller, project_id))

    def list_members(self, caller: Caller, project_id: int, query: PageQuery) -> Page:
        """Return a page of the members of a project, by id."""
        with self._database.read() as session:
            require(store.find_project(session, caller.user_id, project_id), "project")
            return read_page(session, query, f"members {project_id}", store.list_members(project_id), _view_member)

    def set_role(self, caller: Caller, project_id: int, user_id: int, role: MemberRole) -> None:
        """Give a member another role; raise also ``LastOwner``."""
        with self._database.write() as session:
            _find_owned(session, caller, project_id)
            member = _lock_member(session, project_id, user_id, role)
            if member.role != role:
                store.set_role(session, project_id, user_id, role)
                self._record(session, caller, project_id, member, role)

    def remove_member(self, caller: Caller, project_id: int, user_id: int) -> None:
        """End a membership; the member's tasks become unassigned unless they are settled. Raise also ``LastOwner``."""
        with self._database.write() as session:
            if user_id == caller.user_id:  # nobody is kept in a project against their will
                require(store.find_project(session, caller.user_id, project_id, is_locked=True), "project")
            else:
                _find_owned(session, caller, project_id)
            member = _lock_member(session, project_id, user_id, None)
            store.set_role(session, project_id, user_id, None)
            released = release_tasks(session, project_id, user_id, SETTLED, self._clock())
            self._record(session, caller, project_id, member, None, released)

    def list_invitations(self, caller: Caller, query: InvitationQuery) -> Page:
        """Return a page of the invitations to the caller, or to a project of theirs, oldest first."""
        scope = f"invitations {caller.user_id} {query.project_id}"
        with self._database.read() as session:
            if query.project_id is not None:
                _find_owned(session, caller, query.project_id)
            listing = store.list_invitations(caller.user_id, query.project_id)
            return read_page(session, query, scope, listing, _view_invitation)

    def invite(self, session: Session, caller: Caller, project_id: int, body: InvitationDraft) -> Creation:
        """Invite somebody, or replace the role in their open invitation; the answer tells nothing about the address."""
        _find_owned(session, caller, project_id)
        store.lock_project(session, project_id)
        now = self._clock()
        found = store.put_invitation(session, project_id, body.email, body.role, caller.user_id, now)
        if store.count_invitations(session, caller.user_id, project_id) > MAX_INVITATIONS:
            raise limit_reached(f"{MAX_INVITATIONS} open invitations a project", "Withdraw one that nobody will accept")
        role = f"invited {body.role}"
        add_events(session, caller, now, NewEvent(EventKind.MEMBER_CHANGED, project_id, new=role))
        return Creation(body=_view_invitation(found).model_dump_json(), project_id=project_id)

    def accept(self, session: Session, caller: Caller, invitation_id: int) -> Creation:
        """Make the caller a member of the project; a member keeps the role that they have."""
        project_id, role = require(store.take_invitation(session, caller.user_id, invitation_id), "invitation")
        if store.find_project(session, caller.user_id, project_id) is None:
            _check_room(session, caller.user_id)
            store.add_member(session, project_id, caller.user_id, role)
        found = require(store.find_project(session, caller.user_id, project_id), "project")
        old, new = f"invited {role}", f"{caller.user_id} {found.role}"
        event = NewEvent(EventKind.MEMBER_CHANGED, project_id, old=old, new=new)
        add_events(session, caller, self._clock(), event)
        return _created_project(found)

    def remove_invitation(self, caller: Caller, invitation_id: int) -> None:
        """Decline an invitation to the caller, or withdraw one as an owner."""
        with self._database.write() as session:
            found = store.take_invitation(session, caller.user_id, invitation_id, is_for_owners=True)
            project_id, role = require(found, "invitation")
            old = f"invited {role}"
            add_events(session, caller, self._clock(), NewEvent(EventKind.MEMBER_CHANGED, project_id, old=old))

    def _record(
        self,
        session: Session,
        caller: Caller,
        project_id: int,
        member: SeenMember,
        role: MemberRole | None,
        released: Sequence[int] = (),
    ) -> None:
        user_id = member.row.id
        old, new = f"{user_id} {member.role}", role and f"{user_id} {role}"
        changed = NewEvent(EventKind.MEMBER_CHANGED, project_id, old=old, new=new)
        lost = [NewEvent(EventKind.ASSIGNED, project_id, task_id, old=str(user_id)) for task_id in released]
        add_events(session, caller, self._clock(), changed, *lost)


def _find_owned(session: Session, caller: Caller, project_id: int) -> SeenProject:
    """Return a project of which the caller stays an owner until the end; raise ``NotFound`` or ``Forbidden``."""
    found = require(store.find_project(session, caller.user_id, project_id, is_locked=True), "project")
    if found.role != MemberRole.OWNER:
        raise forbidden("an owner of the project")
    return found


def _check_room(session: Session, user_id: int) -> None:
    """Return if a user may have one more project; raise the problem ``Forbidden`` otherwise."""
    if store.count_projects(session, user_id) >= MAX_PROJECTS:
        raise limit_reached(f"{MAX_PROJECTS} projects a user", "Leave one that you do not need")


def _created_project(found: SeenProject) -> Creation:
    """Return the answer to a request that made the caller a member of a project."""
    row = found.row
    body = _view(found).model_dump_json()
    return Creation(body=body, project_id=row.id, location=f"/projects/{row.id}", version=row.version)


def _lock_member(session: Session, project_id: int, user_id: int, role: MemberRole | None) -> SeenMember:
    """Return a member whose role may be changed to ``role``, or removed; the last owner must stay an owner."""
    store.lock_project(session, project_id)
    member = require(store.find_member(session, project_id, user_id), "member")
    if member.role == MemberRole.OWNER and role != MemberRole.OWNER:
        if store.count_owners(session, project_id) == 1:
            raise Problem("LastOwner")
        store.remove_invitations_by(session, project_id, user_id)
    return member


def _view(found: SeenProject) -> ProjectView:
    return ProjectView.model_validate({**found.row.values(), "role": found.role})


def _view_member(found: SeenMember) -> MemberView:
    return MemberView(user=UserName(id=found.row.id, name=found.row.name), role=MemberRole(found.role))


def _view_invitation(found: SeenInvitation) -> InvitationView:
    row = found.row
    return InvitationView.model_validate(
        {
            **row.values(),
            "project": ProjectLabel(id=row.project_id, name=found.project_name),
            "invited_by": UserName(id=row.invited_by, name=found.inviter_name),
        }
    )
