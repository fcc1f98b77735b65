"""The backend's REST API as one user sees it; the calls that several commands share have a method each (CX-21)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from cortex_cli.api import Api, BackendAnswer
from cortex_cli.credentials import Credentials, EnvironmentToken
from cortex_cli.errors import BackendRefused, CortexError, NotLoggedIn, make_error
from cortex_cli.models import CortexProject, CortexTask, CortexUser, TaskListing

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
        self.origin = api.origin

    def with_more_time(self, seconds: float) -> "Backend":
        """Return the same backend with at least ``seconds`` left, to take back what a command began."""
        return Backend(Api(self._api.origin, self._api.deadline.extended(seconds)), self._tokens)

    def user(self) -> CortexUser:
        """Return the user who is logged in; the backend is asked only if a token from the environment is used."""
        self._user = self._user or self._tokens.known_user() or self.me()
        return self._user

    def me(self) -> CortexUser:
        """Ask the backend who is logged in, which also shows that the login works."""
        return self.call("GET", "/auth/me").read(CortexUser)

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
        return self.call("GET", "/tasks/", query=query).read(TaskListing)

    def get_task(self, task_id: int) -> CortexTask:
        """Return one task; raise ``TaskNotFound`` if the user cannot see one with this id."""
        return self._call_task("GET", task_id).read(CortexTask)

    def update_task(self, task_id: int, changes: Mapping[str, object], *, version: int | None = None) -> CortexTask:
        """Change fields of a task and return it as it is then (CX-24).

        Raise ``TaskNotFound`` if the user cannot see it, and ``BackendRefused`` if the rules forbid the change, or with
        the code ``PreconditionFailed`` if its version is not ``version`` any longer.
        """
        return self._call_task("PATCH", task_id, body=changes, version=version).read(CortexTask)

    def add_comment(self, task_id: int, text: str) -> object:
        """Comment on a task and return the comment; raise ``TaskNotFound`` if the user cannot see one with this id."""
        return self._call_task("POST", task_id, "/comments", body={"text": text}).value()

    def list_projects(self) -> list[CortexProject]:
        """Return the projects that the user is a member of."""
        return self.list_all("/projects/", CortexProject, "projects")

    def list_all(
        self, path: str, model: type[Model], name: str, filters: Sequence[tuple[str, str]] = ()
    ) -> list[Model]:
        """Return the models in the list ``name`` at ``path``, on all its pages."""
        found: list[Model] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            query = [*filters, ("limit", "100"), *([("cursor", cursor)] if cursor else [])]
            answer = self.call("GET", path, query=query)
            found += answer.read_list(model, name)
            cursor = answer.next_cursor()
            if cursor is None:
                break
        return found

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, object] | None = None,
        version: int | None = None,
    ) -> BackendAnswer:
        """Send one request as the user and return its answer, as ``Api.call`` does; the login is renewed if need be."""
        token = self._tokens.access_token()
        try:
            return self._api.call(method, path, token=token, query=query, body=body, version=version)
        except NotLoggedIn:
            token = self._tokens.renew(token)
        return self._api.call(method, path, token=token, query=query, body=body, version=version)

    def _call_task(
        self,
        method: str,
        task_id: int,
        part: str = "",
        *,
        body: Mapping[str, object] | None = None,
        version: int | None = None,
    ) -> BackendAnswer:
        try:
            return self.call(method, f"/tasks/{task_id}{part}", body=body, version=version)
        except BackendRefused as error:
            if error.status != 404:
                raise
        near: list[int] = []
        with suppress(CortexError):  # the hint is not worth another error
            mine = self.list_tasks(limit=100).tasks
            near = sorted((task.id for task in mine), key=lambda known: abs(known - task_id))[:_NEAR]
        raise make_error("TaskNotFound", id=task_id, near=near)
