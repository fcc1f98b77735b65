"""The calls of the backend's REST API that need a login, with their arguments and answers typed (CX-21)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from cortex_cli.api import Api, BackendAnswer
from cortex_cli.credentials import Credentials, EnvironmentToken
from cortex_cli.errors import BackendRefused, CortexError, NotLoggedIn, make_error
from cortex_cli.models import (
    CortexComment,
    CortexProject,
    CortexTask,
    CortexUser,
    EventEnd,
    Invitation,
    LoginSession,
    Membership,
    TaskListing,
)

__all__ = ["Backend"]

Model = TypeVar("Model", bound=tuple[object, ...])

_MAX_PAGES: Final = 100
"""Pages of a short list that are read at most, so that no answer makes it endless."""

_NEAR: Final = 3
"""Ids of the user's own tasks that an unknown one is answered with."""


class Backend:
    """The backend as one user sees it."""

    def __init__(self, api: Api, tokens: Credentials | EnvironmentToken) -> None:
        self._api = api
        self._tokens = tokens
        self._user: CortexUser | None = None

    @property
    def origin(self) -> str:
        """Origin of the backend: ``scheme://host:port``."""
        return self._api.origin

    def with_more_time(self, seconds: float) -> "Backend":
        """Return the same backend with at least ``seconds`` left, to take back what a command began."""
        return Backend(Api(self._api.origin, self._api.deadline.extended(seconds)), self._tokens)

    def user(self) -> CortexUser:
        """Return the user who is logged in; the backend is asked only if a token from the environment is used."""
        self._user = self._user or self._tokens.known_user() or self.me()
        return self._user

    def me(self) -> CortexUser:
        """Ask the backend who is logged in, which also shows that the login works."""
        return self._call("GET", "/auth/me").read(CortexUser)

    def list_tasks(
        self,
        *,
        assignee: str = "me",
        statuses: Sequence[str] = (),
        project_id: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> TaskListing:
        """Return one page of tasks, newest first (CX-22); ``assignee`` is me, any, none or an id."""
        query = [("assignee", assignee), *(("status", status) for status in statuses)]
        named = {"project_id": project_id, "limit": limit, "cursor": cursor}
        query += [(name, str(value)) for name, value in named.items() if value is not None]
        return self._call("GET", "/tasks/", query=query).read(TaskListing)

    def get_task(self, task_id: int) -> CortexTask:
        """Return one task; raise ``TaskNotFound`` if the user cannot see one with this id."""
        return self._task_call(task_id, lambda: self._call("GET", f"/tasks/{task_id}")).read(CortexTask)

    def update_task(self, task_id: int, changes: Mapping[str, object], *, version: int | None = None) -> CortexTask:
        """Change fields of a task and return it as it is then (CX-24).

        Raises:
            CortexError: the user cannot see one with this id.
            BackendRefused: with the code ``PreconditionFailed`` if its version is not ``version`` any longer, with
                ``InvalidTransition``, ``AssignedToOther`` or ``Forbidden`` if the rules forbid the change.
        """
        return self._task_call(
            task_id, lambda: self._call("PATCH", f"/tasks/{task_id}", body=changes, version=version)
        ).read(CortexTask)

    def create_task(self, fields: Mapping[str, object]) -> CortexTask:
        """Create a task; ``project_id`` and ``title`` must be among the fields."""
        return self._call("POST", "/tasks/", body=fields).read(CortexTask)

    def add_comment(self, task_id: int, text: str) -> CortexComment:
        """Comment on a task; raise ``TaskNotFound`` if the user cannot see one with this id."""
        return self._task_call(
            task_id, lambda: self._call("POST", f"/tasks/{task_id}/comments", body={"text": text})
        ).read(CortexComment)

    def list_projects(self) -> list[CortexProject]:
        """Return the projects that the user is a member of."""
        return self._read_pages("/projects/", CortexProject, "projects")

    def get_project(self, project_id: int) -> CortexProject:
        """Return one project."""
        return self._call("GET", f"/projects/{project_id}").read(CortexProject)

    def create_project(self, fields: Mapping[str, object]) -> CortexProject:
        """Create a project that the user owns; ``name`` must be among the fields."""
        return self._call("POST", "/projects/", body=fields).read(CortexProject)

    def edit_project(self, project_id: int, changes: Mapping[str, object]) -> CortexProject:
        """Change fields of a project and return it as it is then."""
        return self._call("PATCH", f"/projects/{project_id}", body=changes).read(CortexProject)

    def list_members(self, project_id: int) -> list[Membership]:
        """Return the members of a project."""
        return self._read_pages(f"/projects/{project_id}/members", Membership, "members")

    def remove_member(self, project_id: int, user_id: int) -> None:
        """Remove a member from a project."""
        self._call("DELETE", f"/projects/{project_id}/members/{user_id}")

    def invite(self, project_id: int, email: str, role: str) -> Invitation:
        """Invite a person to a project; the same e-mail again changes the role."""
        body = {"email": email, "role": role}
        return self._call("POST", f"/projects/{project_id}/members", body=body).read(Invitation)

    def list_invitations(self, project_id: int | None = None) -> list[Invitation]:
        """Return the open invitations to the user, or those to a project that the user owns."""
        query = [] if project_id is None else [("project_id", str(project_id))]
        return self._read_pages("/invitations/", Invitation, "invitations", query)

    def accept_invitation(self, invitation_id: int) -> CortexProject:
        """Become a member, and return the project."""
        return self._call("POST", f"/invitations/{invitation_id}/accept").read(CortexProject)

    def end_invitation(self, invitation_id: int) -> None:
        """Decline an invitation, or withdraw one to a project that the user owns."""
        self._call("DELETE", f"/invitations/{invitation_id}")

    def list_events(self, after: int, limit: int) -> list[dict[str, object]]:
        """Return events after one id, oldest first (CX-45).

        Events are passed on as they are: ``ctx`` reads nothing in them but the id, which is an integer.
        """
        return self._call("GET", "/events", query=[("after", str(after)), ("limit", str(limit))]).read_events()

    def last_event(self) -> int:
        """Return the id of the newest event, or 0."""
        return self._call("GET", "/events", query=[("after", str(2**53 - 1)), ("limit", "1")]).read(EventEnd).last

    def list_sessions(self) -> list[LoginSession]:
        """Return the logins of the user on all devices."""
        return self._call("GET", "/auth/sessions").read_list(LoginSession, "sessions")

    def end_session(self, session_id: int | str) -> None:
        """Revoke one login."""
        self._call("DELETE", f"/auth/sessions/{session_id}")

    def logout(self) -> None:
        """Revoke this login."""
        self._call("POST", "/auth/logout")

    def change_password(self, old: str, new: str) -> None:
        """Change the user's password."""
        self._call("POST", "/auth/password", body={"old": old, "new": new})

    def _read_pages(
        self, path: str, model: type[Model], name: str, filters: Sequence[tuple[str, str]] = ()
    ) -> list[Model]:
        found: list[Model] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            query = [*filters, ("limit", "100"), *([("cursor", cursor)] if cursor else [])]
            answer = self._call("GET", path, query=query)
            found += answer.read_list(model, name)
            cursor = answer.next_cursor()
            if cursor is None:
                break
        return found

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, object] | None = None,
        version: int | None = None,
    ) -> BackendAnswer:
        token = self._tokens.access_token()
        try:
            return self._api.call(method, path, token=token, query=query, body=body, version=version)
        except NotLoggedIn:
            token = self._tokens.renew(token)
        return self._api.call(method, path, token=token, query=query, body=body, version=version)

    def _task_call(self, task_id: int, call: Callable[[], BackendAnswer]) -> BackendAnswer:
        try:
            return call()
        except BackendRefused as error:
            if error.status != 404:
                raise
        raise make_error("TaskNotFound", id=task_id, near=self._near(task_id))

    def _near(self, task_id: int) -> list[int]:
        try:
            mine = self.list_tasks(limit=100).tasks
        except CortexError:
            return []  # the hint is not worth another error
        return sorted((task.id for task in mine), key=lambda known: abs(known - task_id))[:_NEAR]
