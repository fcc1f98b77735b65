"""The rules of projects and their members (CX-10, CX-13)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.orm import Session

from cortex_backend.clock import Clock
from cortex_backend.database import CortexDatabase
from cortex_backend.enums import EventKind, MemberRole
from cortex_backend.models import ProjectRow
from cortex_backend.problems import Problem, forbidden, limit_reached
from cortex_backend.schemas.common import PageQuery, UserName
from cortex_backend.schemas.projects import (
    MemberAdded,
    MemberView,
    ProjectDraft,
    ProjectPatch,
    ProjectView,
)
from cortex_backend.service.caller import Caller
from cortex_backend.service.repeats import Creation
from cortex_backend.service.rules.moves import SETTLED
from cortex_backend.service.rules.pages import Page, make_page, read_key
from cortex_backend.service.rules.versions import Precondition
from cortex_backend.store import projects as store
from cortex_backend.store.events import NewEvent, add_events
from cortex_backend.store.projects import SeenMember, SeenProject
from cortex_backend.store.tasks import release_tasks

__all__ = ["MAX_PROJECTS", "Projects"]

MAX_PROJECTS: Final = 200
"""Maximum projects of a user (CX-96)."""

_OWNER: Final = "an owner of the project"


class _Change(NamedTuple):
    """A role that a member had, and the one that they get."""

    user_id: int
    old: str | None
    new: str | None


class Projects:
    """Reads and changes projects and members; each change is one transaction with its events."""

    def __init__(self, database: CortexDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def list(self, caller: Caller, query: PageQuery) -> Page:
        """Return a page of the caller's projects, oldest first.

        Raises:
            Problem: ``InvalidCursor`` if the cursor is not one of this list.
        """
        scope = f"projects {caller.user_id}"
        after = read_key(query.cursor, scope) or 0
        with self._database.read() as session:
            rows = store.list_projects(session, caller.user_id, after, query.limit + 1)
            total = store.count_projects(session, caller.user_id)
        return make_page(rows, query.limit, total=total, scope=scope, view=_view, key=lambda found: found.row.id)

    def get(self, caller: Caller, project_id: int) -> ProjectView:
        """Return a project; raise the problem ``NotFound`` if the caller sees none with this id."""
        with self._database.read() as session:
            return _view(_find(session, caller, project_id))

    def create(self, session: Session, caller: Caller, body: ProjectDraft) -> Creation:
        """Create a project of which the caller is the owner.

        Raises:
            Problem: ``Forbidden`` if the caller has as many projects as a user can have.
        """
        _check_room(session, caller.user_id)
        now = self._clock()
        row = ProjectRow(**body.model_dump(), task_count=0, version=1, created_at=now, updated_at=now)
        store.add_project(session, row, caller.user_id)
        self._record(session, caller, row.id, _Change(caller.user_id, None, MemberRole.OWNER))
        view = _view(SeenProject(row, MemberRole.OWNER))
        return Creation(body=view.model_dump_json(), location=f"/projects/{row.id}", version=1)

    def change(self, caller: Caller, project_id: int, body: ProjectPatch, precondition: Precondition) -> ProjectView:
        """Change a project and return it; raise the problem ``NotFound``, ``Forbidden`` or ``PreconditionFailed``."""
        with self._database.write() as session:
            while True:
                found = _find_owned(session, caller, project_id)
                precondition.check(found.row.version)
                given = body.model_dump(exclude_unset=True)
                changes = {name: value for name, value in given.items() if getattr(found.row, name) != value}
                if not changes or store.change_project(session, found.row, changes, self._clock()):
                    return _view(_find(session, caller, project_id))

    def list_members(self, caller: Caller, project_id: int, query: PageQuery) -> Page:
        """Return a page of the members of a project, by id; raise the problem ``NotFound`` or ``InvalidCursor``."""
        scope = f"members {project_id}"
        with self._database.read() as session:
            _find(session, caller, project_id)
            after = read_key(query.cursor, scope) or 0
            rows = store.list_members(session, project_id, after, query.limit + 1)
            total = store.count_members(session, project_id)
        return make_page(
            rows, query.limit, total=total, scope=scope, view=_view_member, key=lambda found: found.user_id
        )

    def add_member(self, session: Session, caller: Caller, project_id: int, body: MemberAdded) -> Creation:
        """Make a user a member of a project, or give a member another role.

        Raises:
            Problem: ``NotFound``, ``Forbidden`` or ``LastOwner``.
        """
        _find_owned(session, caller, project_id)
        user_id = store.find_user_id(session, body.email)
        if user_id is None:
            raise Problem("NotFound", kind="user")
        store.lock_project(session, project_id)
        member = store.find_member(session, project_id, user_id)
        if member is None:
            _check_room(session, user_id)
            store.add_member(session, project_id, user_id, body.role)
            self._record(session, caller, project_id, _Change(user_id, None, body.role))
        else:
            self._set_role(session, caller, project_id, member, body.role)
        view = _view_member(_find_member(session, project_id, user_id))
        return Creation(body=view.model_dump_json())

    def set_role(self, caller: Caller, project_id: int, user_id: int, role: MemberRole) -> None:
        """Give a member another role; raise the problem ``NotFound``, ``Forbidden`` or ``LastOwner``."""
        with self._database.write() as session:
            _find_owned(session, caller, project_id)
            store.lock_project(session, project_id)
            member = _find_member(session, project_id, user_id)
            self._set_role(session, caller, project_id, member, role)

    def remove_member(self, caller: Caller, project_id: int, user_id: int) -> None:
        """End a membership; the tasks that the member has and that are not settled become nobody's.

        Raises:
            Problem: ``NotFound``, ``Forbidden`` or ``LastOwner``.
        """
        with self._database.write() as session:
            if user_id == caller.user_id:  # nobody is kept in a project against their will
                _find(session, caller, project_id, is_locked=True)
            else:
                _find_owned(session, caller, project_id)
            store.lock_project(session, project_id)
            member = _find_member(session, project_id, user_id)
            _check_owner_stays(session, project_id, member, None)
            store.remove_member(session, project_id, user_id)
            now = self._clock()
            released = release_tasks(session, project_id, user_id, SETTLED, now)
            self._record(session, caller, project_id, _Change(user_id, member.role, None), released)

    def _set_role(
        self, session: Session, caller: Caller, project_id: int, member: SeenMember, role: MemberRole
    ) -> None:
        if member.role != role:
            _check_owner_stays(session, project_id, member, role)
            store.set_role(session, project_id, member.user_id, role)
            self._record(session, caller, project_id, _Change(member.user_id, member.role, role))

    def _record(
        self, session: Session, caller: Caller, project_id: int, change: _Change, released: Sequence[int] = ()
    ) -> None:
        def event(kind: EventKind, old: str | None, new: str | None, task_id: int | None = None) -> NewEvent:
            return NewEvent(kind, self._clock(), caller.user_id, caller.session_id, project_id, task_id, old, new)

        old, new = (role and f"{change.user_id} {role}" for role in (change.old, change.new))
        events = [event(EventKind.MEMBER_CHANGED, old, new)]
        events += [event(EventKind.ASSIGNED, str(change.user_id), None, task_id) for task_id in released]
        add_events(session, events)


def _find(session: Session, caller: Caller, project_id: int, *, is_locked: bool = False) -> SeenProject:
    found = store.find_project(session, caller.user_id, project_id, is_locked=is_locked)
    if found is None:
        raise Problem("NotFound", kind="project")
    return found


def _find_owned(session: Session, caller: Caller, project_id: int) -> SeenProject:
    found = _find(session, caller, project_id, is_locked=True)
    if found.role != MemberRole.OWNER:
        raise forbidden(_OWNER)
    return found


def _find_member(session: Session, project_id: int, user_id: int) -> SeenMember:
    member = store.find_member(session, project_id, user_id)
    if member is None:
        raise Problem("NotFound", kind="member")
    return member


def _check_room(session: Session, user_id: int) -> None:
    if store.count_projects(session, user_id) >= MAX_PROJECTS:
        raise limit_reached(f"{MAX_PROJECTS} projects a user")


def _check_owner_stays(session: Session, project_id: int, member: SeenMember, role: MemberRole | None) -> None:
    is_owner_lost = member.role == MemberRole.OWNER and role != MemberRole.OWNER
    if is_owner_lost and store.count_owners(session, project_id) == 1:
        raise Problem("LastOwner")


def _view(found: SeenProject) -> ProjectView:
    row = found.row
    return ProjectView(
        id=row.id,
        name=row.name,
        repository_url=row.repository_url,
        default_branch=row.default_branch,
        role=MemberRole(found.role),
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _view_member(found: SeenMember) -> MemberView:
    return MemberView(user=UserName(id=found.user_id, name=found.name), role=MemberRole(found.role))
