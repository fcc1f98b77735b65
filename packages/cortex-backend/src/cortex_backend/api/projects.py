"""The endpoints of projects, their members, and invitations (CX-21)."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from cortex_backend.api.dependencies import CreateOnce, CurrentCaller, CurrentWork, IfMatch, IfNoneMatch
from cortex_backend.api.responses import describe, page_reply, version_reply
from cortex_backend.schemas.common import Id, LongPageQuery
from cortex_backend.schemas.projects import (
    InvitationDraft,
    InvitationQuery,
    InvitationView,
    MemberRoleSet,
    PageOfInvitations,
    PageOfMembers,
    PageOfProjects,
    ProjectDraft,
    ProjectPatch,
    ProjectView,
)

__all__ = ["router"]

router = APIRouter(tags=["projects"])


@router.get("/projects/", response_model=PageOfProjects)
def _list_projects(
    request: Request, caller: CurrentCaller, work: CurrentWork, query: Annotated[LongPageQuery, Query()]
) -> Response:
    """Return the projects that the caller sees, oldest first."""
    return page_reply(request, "projects", work.projects.list(caller, query))


@router.post("/projects/", status_code=201, response_model=ProjectView, responses=describe(403, 404, 409))
def _create_project(work: CurrentWork, body: ProjectDraft, create_once: CreateOnce) -> Response:
    """Create a project that the caller owns."""
    return create_once(work.projects.create, body)


@router.get("/projects/{project_id}", response_model=ProjectView, responses=describe(304, 404))
def _get_project(
    project_id: Id, caller: CurrentCaller, work: CurrentWork, if_none_match: IfNoneMatch = None
) -> Response:
    """Return a project."""
    return version_reply(work.projects.get(caller, project_id), if_none_match)


@router.patch("/projects/{project_id}", response_model=ProjectView, responses=describe(403, 404, 412))
def _change_project(
    project_id: Id, caller: CurrentCaller, work: CurrentWork, body: ProjectPatch, if_match: IfMatch = None
) -> Response:
    """Change a project; for its owners."""
    return version_reply(work.projects.change(caller, project_id, body, if_match))


@router.get("/projects/{project_id}/members", response_model=PageOfMembers, responses=describe(404))
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
    "/projects/{project_id}/members", status_code=201, response_model=InvitationView, responses=describe(403, 404, 409)
)
def _invite_member(project_id: Id, work: CurrentWork, body: InvitationDraft, create_once: CreateOnce) -> Response:
    """Invite a person by e-mail; they join by accepting. Owners only. A repeated invitation changes its role."""
    return create_once(work.projects.invite, project_id, body)


@router.put("/projects/{project_id}/members/{user_id}", status_code=204, responses=describe(403, 404, 409))
def _set_role(project_id: Id, user_id: Id, caller: CurrentCaller, work: CurrentWork, body: MemberRoleSet) -> Response:
    """Give a member another role; for owners."""
    work.projects.set_role(caller, project_id, user_id, body.role)
    return Response(status_code=204)


@router.delete("/projects/{project_id}/members/{user_id}", status_code=204, responses=describe(403, 404, 409))
def _remove_member(project_id: Id, user_id: Id, caller: CurrentCaller, work: CurrentWork) -> Response:
    """End a membership; for owners, and for the member. Their tasks that are not settled become unassigned."""
    work.projects.remove_member(caller, project_id, user_id)
    return Response(status_code=204)


@router.get("/invitations/", response_model=PageOfInvitations, responses=describe(403, 404))
def _list_invitations(
    request: Request, caller: CurrentCaller, work: CurrentWork, query: Annotated[InvitationQuery, Query()]
) -> Response:
    """Return the open invitations to the caller, or with `project_id` those to a project that the caller owns."""
    return page_reply(request, "invitations", work.projects.list_invitations(caller, query))


@router.post(
    "/invitations/{invitation_id}/accept",
    status_code=201,
    response_model=ProjectView,
    responses=describe(403, 404, 409),
)
def _accept_invitation(invitation_id: Id, work: CurrentWork, create_once: CreateOnce) -> Response:
    """Become a member of the project; whoever is one already keeps their role."""
    return create_once(work.projects.accept, invitation_id)


@router.delete("/invitations/{invitation_id}", status_code=204, responses=describe(404))
def _remove_invitation(invitation_id: Id, caller: CurrentCaller, work: CurrentWork) -> Response:
    """Decline an invitation, or withdraw one to a project that the caller owns."""
    work.projects.remove_invitation(caller, invitation_id)
    return Response(status_code=204)
