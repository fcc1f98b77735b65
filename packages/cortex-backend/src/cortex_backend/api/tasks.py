"""The endpoints of tasks, their comments, and events (CX-21)."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from cortex_backend.api.dependencies import CreateOnce, CurrentCaller, CurrentWork, IfMatch, IfNoneMatch
from cortex_backend.api.responses import describe, json_reply, page_reply, version_reply
from cortex_backend.schemas.common import Id, PageQuery
from cortex_backend.schemas.events import EventList, EventQuery
from cortex_backend.schemas.tasks import (
    CommentDraft,
    CommentView,
    PageOfComments,
    PageOfTasks,
    TaskDraft,
    TaskPatch,
    TaskQuery,
    TaskView,
)

__all__ = ["router"]

router = APIRouter(tags=["tasks"])


@router.get("/tasks/", response_model=PageOfTasks)
def _list_tasks(
    request: Request, caller: CurrentCaller, work: CurrentWork, query: Annotated[TaskQuery, Query()]
) -> Response:
    """Return the tasks that the caller sees, newest first; those assigned to the caller unless asked otherwise."""
    return page_reply(request, "tasks", work.tasks.list(caller, query))


@router.post("/tasks/", status_code=201, response_model=TaskView, responses=describe(403, 404, 409))
def _create_task(work: CurrentWork, body: TaskDraft, create_once: CreateOnce) -> Response:
    """Create a task in a project."""
    return create_once(work.tasks.create, body)


@router.get("/tasks/{task_id}", response_model=TaskView, responses=describe(304, 404))
def _get_task(task_id: Id, caller: CurrentCaller, work: CurrentWork, if_none_match: IfNoneMatch = None) -> Response:
    """Return a task."""
    return version_reply(work.tasks.get(caller, task_id), if_none_match)


@router.patch("/tasks/{task_id}", response_model=TaskView, responses=describe(403, 404, 409, 412))
def _change_task(
    task_id: Id, caller: CurrentCaller, work: CurrentWork, body: TaskPatch, if_match: IfMatch = None
) -> Response:
    """Change a task: its texts, status, assignee, branch or pull request."""
    return version_reply(work.tasks.change(caller, task_id, body, if_match))


@router.get("/tasks/{task_id}/comments", response_model=PageOfComments, responses=describe(404))
def _list_comments(
    task_id: Id, request: Request, caller: CurrentCaller, work: CurrentWork, query: Annotated[PageQuery, Query()]
) -> Response:
    """Return the comments on a task, oldest first."""
    return page_reply(request, "comments", work.tasks.list_comments(caller, task_id, query))


@router.post(
    "/tasks/{task_id}/comments", status_code=201, response_model=CommentView, responses=describe(403, 404, 409)
)
def _add_comment(task_id: Id, work: CurrentWork, body: CommentDraft, create_once: CreateOnce) -> Response:
    """Comment on a task."""
    return create_once(work.tasks.comment, task_id, body)


@router.get("/tasks/{task_id}/events", response_model=EventList, responses=describe(404))
def _list_task_events(
    task_id: Id, caller: CurrentCaller, work: CurrentWork, query: Annotated[EventQuery, Query()]
) -> Response:
    """Return what happened to a task, oldest first."""
    return json_reply(work.tasks.list_events(caller, query, task_id))


@router.get("/events", response_model=EventList)
def _list_events(caller: CurrentCaller, work: CurrentWork, query: Annotated[EventQuery, Query()]) -> Response:
    """Return what happened that the caller may see, oldest first."""
    return json_reply(work.tasks.list_events(caller, query))
