"""The endpoints of projects and their members (CX-21)."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from cortex_backend.api.caller import CurrentCaller
from cortex_backend.api.dependencies import ONCE_QUERY, CurrentWork, IdempotencyKey, IfMatch, IfNoneMatch, key_of
from cortex_backend.api.responses import creation_reply, describe, page_reply, version_reply
from cortex_backend.schemas.common import Id, LongPageQuery
from cortex_backend.schemas.projects import (
    MemberAdded,
    MemberRoleSet,
    MemberView,
    PageOfMembers,
    PageOfProjects,
    ProjectDraft,
    ProjectPatch,
    ProjectView,
)

__all__ = ["router"]

router = APIRouter(prefix="/projects", tags=["projects"])


@router.get("", include_in_schema=False, dependencies=ONCE_QUERY)
@router.get("/", operation_id="list_projects", response_model=PageOfProjects, dependencies=ONCE_QUERY)
def _list_projects(
    request: Request, caller: CurrentCaller, work: CurrentWork, query: Annotated[LongPageQuery, Query()]
) -> Response:
    """Return the projects that the caller sees, oldest first."""
    return page_reply(request, "projects", work.projects.list(caller, query))


@router.post("", include_in_schema=False)
@router.post(
    "/",
    operation_id="create_project",
    status_code=201,
    response_model=ProjectView,
    responses=describe(403, 409),
)
def _create_project(
    request: Request,
    caller: CurrentCaller,
    work: CurrentWork,
    body: ProjectDraft,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Create a project that the caller owns."""
    keyed = key_of(request, idempotency_key, body)
    return creation_reply(work.repeats.run(caller, keyed, lambda session: work.projects.create(session, caller, body)))


@router.get("/{project_id}", operation_id="get_project", response_model=ProjectView, responses=describe(304, 404))
def _get_project(
    project_id: Id, caller: CurrentCaller, work: CurrentWork, if_none_match: IfNoneMatch = None
) -> Response:
    """Return a project."""
    view = work.projects.get(caller, project_id)
    return version_reply(view, view.version, if_none_match)


@router.patch(
    "/{project_id}", operation_id="change_project", response_model=ProjectView, responses=describe(403, 404, 412)
)
def _change_project(
    project_id: Id, caller: CurrentCaller, work: CurrentWork, body: ProjectPatch, if_match: IfMatch
) -> Response:
    """Change a project; for its owners."""
    view = work.projects.change(caller, project_id, body, if_match)
    return version_reply(view, view.version)


@router.get(
    "/{project_id}/members",
    operation_id="list_members",
    response_model=PageOfMembers,
    responses=describe(404),
    dependencies=ONCE_QUERY,
)
def _list_members(
    project_id: Id,
    request: Request,
    caller: CurrentCaller,
    work: CurrentWork,
    query: Annotated[LongPageQuery, Query()],
) -> Response:
    """Return the members of a project."""
    return page_reply(request, "members", work.projects.list_members(caller, project_id, query))


@router.post(
    "/{project_id}/members",
    operation_id="add_member",
    status_code=201,
    response_model=MemberView,
    responses=describe(403, 404, 409),
)
def _add_member(
    project_id: Id,
    request: Request,
    caller: CurrentCaller,
    work: CurrentWork,
    body: MemberAdded,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Make a user a member by e-mail, or give a member another role; for owners."""
    keyed = key_of(request, idempotency_key, body)
    return creation_reply(
        work.repeats.run(caller, keyed, lambda session: work.projects.add_member(session, caller, project_id, body))
    )


@router.put(
    "/{project_id}/members/{user_id}",
    operation_id="set_role",
    status_code=204,
    responses=describe(403, 404, 409),
)
def _set_role(project_id: Id, user_id: Id, caller: CurrentCaller, work: CurrentWork, body: MemberRoleSet) -> Response:
    """Give a member another role; for owners."""
    work.projects.set_role(caller, project_id, user_id, body.role)
    return Response(status_code=204)


@router.delete(
    "/{project_id}/members/{user_id}",
    operation_id="remove_member",
    status_code=204,
    responses=describe(403, 404, 409),
)
def _remove_member(project_id: Id, user_id: Id, caller: CurrentCaller, work: CurrentWork) -> Response:
    """End a membership; for owners, and for the member. Tasks of the member that are not settled become nobody's."""
    work.projects.remove_member(caller, project_id, user_id)
    return Response(status_code=204)
