"""The rules of tasks, their comments and events (CX-11 to CX-14, CX-22, CX-24, CX-45)."""

from sqlalchemy.orm import Session

from cortex_backend.caller import Caller
from cortex_backend.clock import Clock
from cortex_backend.database import CortexDatabase
from cortex_backend.enums import EventKind, TaskStatus
from cortex_backend.models import MAX_TASKS, CommentRow, TaskRow
from cortex_backend.problems import limit_reached, require
from cortex_backend.schemas.common import PageQuery, UserName
from cortex_backend.schemas.events import EventList, EventQuery, EventView
from cortex_backend.schemas.projects import ProjectOfTask
from cortex_backend.schemas.tasks import (
    CommentDraft,
    CommentView,
    PullRequestView,
    TaskDraft,
    TaskPatch,
    TaskQuery,
    TaskView,
)
from cortex_backend.service.repeats import Creation
from cortex_backend.service.rules.moves import check_writer, choose_assignee
from cortex_backend.service.rules.pages import Page, make_page, read_key, read_page
from cortex_backend.service.rules.task_changes import plain_values, plan_change
from cortex_backend.service.rules.versions import check_version
from cortex_backend.store import tasks as store
from cortex_backend.store.events import NewEvent, add_events, list_events, newest_event_id
from cortex_backend.store.projects import find_member, find_project, take_task_place
from cortex_backend.store.rows import add_row, change_row
from cortex_backend.store.tasks import SeenComment, SeenTask, TaskFilter

__all__ = ["Tasks"]


class Tasks:
    """Reads and changes tasks; each change is one transaction with its events.

    Its methods raise ``NotFound``, ``Forbidden`` and ``InvalidCursor``.
    """

    def __init__(self, database: CortexDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def list(self, caller: Caller, query: TaskQuery) -> Page:
        """Return a page of the tasks that the query asks for and the caller sees, newest first."""
        wanted = _make_filter(caller, query)
        scope = f"tasks {wanted!r}"
        before = read_key(query.cursor, scope)
        with self._database.read() as session:
            rows = store.list_tasks(session, wanted, before, query.limit + 1)
            total = store.count_tasks(session, wanted)
        return make_page(rows, query.limit, total=total, scope=scope, view=_view)

    def get(self, caller: Caller, task_id: int) -> TaskView:
        """Return a task."""
        with self._database.read() as session:
            return _view(require(store.find_task(session, caller.user_id, task_id), "task"))

    def create(self, session: Session, caller: Caller, body: TaskDraft) -> Creation:
        """Create a task."""
        project = require(find_project(session, caller.user_id, body.project_id, is_locked=True), "project")
        check_writer(project.role)
        wanted = {"assignee_id": body.assignee_id}
        assignee = choose_assignee(caller.user_id, project.role, None, wanted, is_start=False)
        _check_member(session, body.project_id, assignee)
        if not take_task_place(session, body.project_id):
            raise limit_reached(f"{MAX_TASKS:,} tasks a project", "Use another project")
        now = self._clock()
        row = TaskRow(
            **plain_values(body.model_dump()),
            status=TaskStatus.TODO.value,
            version=1,
            created_by=caller.user_id,
            created_at=now,
            updated_at=now,
        )
        add_row(session, row)
        events = [NewEvent(EventKind.TASK_CREATED, row.project_id, row.id)]
        if assignee is not None:
            events.append(NewEvent(EventKind.ASSIGNED, row.project_id, row.id, new=str(assignee)))
        add_events(session, caller, now, *events)
        view = _view(require(store.find_task(session, caller.user_id, row.id), "task"))
        return Creation(body=view.model_dump_json(), project_id=body.project_id, location=f"/tasks/{row.id}")

    def change(self, caller: Caller, task_id: int, body: TaskPatch, if_match: str | None) -> TaskView:
        """Change a task and return it; a faster change by somebody else is kept, so that no update is lost.

        It raises also ``PreconditionFailed``, and the problems of ``plan_change``.
        """
        with self._database.write() as session:
            while True:
                found = require(store.find_task(session, caller.user_id, task_id, is_locked=True), "task")
                check_writer(found.role)
                check_version(if_match, found.row.version)
                now = self._clock()
                change = plan_change(found.row, body, caller.user_id, found.role, now)
                if not change.columns:
                    return _view(found)
                _check_member(session, found.row.project_id, change.columns.get("assignee_id"))
                if change_row(session, found.row, change.columns, now):
                    add_events(session, caller, now, *change.events)
                    return _view(require(store.find_task(session, caller.user_id, task_id), "task"))

    def list_comments(self, caller: Caller, task_id: int, query: PageQuery) -> Page:
        """Return a page of the comments on a task, oldest first."""
        with self._database.read() as session:
            require(store.find_task(session, caller.user_id, task_id), "task")
            return read_page(session, query, f"comments {task_id}", store.list_comments(task_id), _view_comment)

    def comment(self, session: Session, caller: Caller, task_id: int, body: CommentDraft) -> Creation:
        """Comment on a task."""
        found = require(store.find_task(session, caller.user_id, task_id, is_locked=True), "task")
        check_writer(found.role)
        now, project_id = self._clock(), found.project.id
        row = CommentRow(task_id=task_id, author_id=caller.user_id, text=body.text, created_at=now)
        add_row(session, row)
        add_events(session, caller, now, NewEvent(EventKind.COMMENTED, project_id, task_id))
        view = _view_comment(SeenComment(row, caller.name))
        return Creation(body=view.model_dump_json(), project_id=project_id)

    def list_events(self, caller: Caller, query: EventQuery, task_id: int | None = None) -> EventList:
        """Return the events that the caller may see, oldest first, all or those of a task."""
        with self._database.read() as session:
            if task_id is not None:
                require(store.find_task(session, caller.user_id, task_id), "task")
            rows = list_events(session, caller.user_id, query.after, query.limit, task_id)
            last = rows[-1].id if rows else min(query.after, newest_event_id(session))
        return EventList(events=[EventView.model_validate(row.values()) for row in rows], last=last)


def _make_filter(caller: Caller, query: TaskQuery) -> TaskFilter:
    return TaskFilter(
        user_id=caller.user_id,
        assignee=caller.user_id if query.assignee == "me" else query.assignee,
        project_id=query.project_id,
        statuses=sorted({word.value for word in query.status}),
        types=sorted({word.value for word in query.type}),
        priorities=sorted({word.value for word in query.priority}),
        text=query.q,
    )


def _check_member(session: Session, project_id: int, user_id: object) -> None:
    if isinstance(user_id, int):
        require(find_member(session, project_id, user_id, is_locked=True), "member")


def _view(found: SeenTask) -> TaskView:
    columns = found.row.values()
    request = {name.removeprefix("pr_"): value for name, value in columns.items() if name.startswith("pr_")}
    assignee = {"id": found.row.assignee_id, "name": found.assignee_name}
    return TaskView.model_validate(
        {
            **columns,
            "project": ProjectOfTask.model_validate(found.project.values()),
            "assignee": None if found.row.assignee_id is None else UserName.model_validate(assignee),
            "pull_request": None if found.row.pr_forge is None else PullRequestView.model_validate(request),
            "created_by": UserName(id=found.row.created_by, name=found.creator_name),
        }
    )


def _view_comment(found: SeenComment) -> CommentView:
    author = UserName(id=found.row.author_id, name=found.author_name)
    return CommentView.model_validate({**found.row.values(), "author": author})
