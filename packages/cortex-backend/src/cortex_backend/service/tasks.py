"""The rules of tasks (CX-11 to CX-14, CX-22, CX-24)."""

from datetime import datetime

from sqlalchemy.orm import Session

from cortex_backend.clock import Clock
from cortex_backend.database import CortexDatabase
from cortex_backend.enums import EventKind, TaskStatus
from cortex_backend.models import MAX_TASKS, TaskRow
from cortex_backend.problems import Problem, limit_reached
from cortex_backend.schemas.tasks import TaskDraft, TaskPatch, TaskQuery, TaskView
from cortex_backend.service.caller import Caller
from cortex_backend.service.repeats import Creation
from cortex_backend.service.rules.moves import check_writer, choose_assignee
from cortex_backend.service.rules.pages import Page, make_page, read_key
from cortex_backend.service.rules.task_changes import TaskChange, plain_values, plan_change
from cortex_backend.service.rules.versions import Precondition
from cortex_backend.service.rules.views import view_task
from cortex_backend.store.events import NewEvent, add_events
from cortex_backend.store.projects import find_member, find_project, take_task_place
from cortex_backend.store.tasks import (
    SeenTask,
    TaskFilter,
    add_task,
    change_task,
    count_tasks,
    find_task,
    list_tasks,
)

__all__ = ["Tasks"]


class Tasks:
    """Reads and changes tasks; each change is one transaction with its events."""

    def __init__(self, database: CortexDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def list(self, caller: Caller, query: TaskQuery) -> Page:
        """Return a page of the tasks that the query asks for and the caller sees, newest first.

        Raises:
            Problem: ``InvalidCursor`` if the cursor is damaged, or is one of other filters.
        """
        wanted = _make_filter(caller, query)
        scope = f"tasks {wanted!r}"
        before = read_key(query.cursor, scope)
        with self._database.read() as session:
            rows = list_tasks(session, wanted, before, query.limit + 1)
            total = count_tasks(session, wanted)
        return make_page(rows, query.limit, total=total, scope=scope, view=view_task, key=lambda found: found.row.id)

    def get(self, caller: Caller, task_id: int) -> TaskView:
        """Return a task; raise the problem ``NotFound`` if the caller sees none with this id."""
        with self._database.read() as session:
            return view_task(_find(session, caller, task_id))

    def create(self, session: Session, caller: Caller, body: TaskDraft) -> Creation:
        """Create a task; raise the problem ``NotFound`` or ``Forbidden``."""
        project = find_project(session, caller.user_id, body.project_id, is_locked=True)
        if project is None:
            raise Problem("NotFound", kind="project")
        check_writer(project.role)
        wanted = {"assignee_id": body.assignee_id}
        assignee = choose_assignee(caller.user_id, project.role, None, wanted, is_start=False)
        _check_member(session, body.project_id, assignee)
        if not take_task_place(session, body.project_id):
            raise limit_reached(f"{MAX_TASKS:,} tasks a project")
        now = self._clock()
        row = TaskRow(
            **plain_values(body.model_dump()),
            status=TaskStatus.TODO.value,
            version=1,
            created_by=caller.user_id,
            created_at=now,
            updated_at=now,
        )
        add_task(session, row)
        change = TaskChange({}, [(EventKind.TASK_CREATED, None, None)])
        if assignee is not None:
            change.events.append((EventKind.ASSIGNED, None, str(assignee)))
        _record(session, caller, row, change, now)
        view = view_task(_find(session, caller, row.id))
        return Creation(body=view.model_dump_json(), location=f"/tasks/{row.id}", version=1)

    def change(self, caller: Caller, task_id: int, body: TaskPatch, precondition: Precondition) -> TaskView:
        """Change a task and return it; a faster change by somebody else is kept, so that no update is lost.

        Raises:
            Problem: ``NotFound``, ``Forbidden``, ``PreconditionFailed``, ``InvalidTransition`` or ``AssignedToOther``.
        """
        with self._database.write() as session:
            while True:
                found = _find(session, caller, task_id, is_locked=True)
                check_writer(found.role)
                precondition.check(found.row.version)
                now = self._clock()
                change = plan_change(found.row, body, caller.user_id, found.role, now)
                if not change.columns:
                    return view_task(found)
                if "assignee_id" in change.columns:
                    _check_member(session, found.row.project_id, change.assignee)
                if change_task(session, found.row, change.columns, now):
                    _record(session, caller, found.row, change, now)
                    return view_task(_find(session, caller, task_id))


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


def _find(session: Session, caller: Caller, task_id: int, *, is_locked: bool = False) -> SeenTask:
    found = find_task(session, caller.user_id, task_id, is_locked=is_locked)
    if found is None:
        raise Problem("NotFound", kind="task")
    return found


def _check_member(session: Session, project_id: int, user_id: int | None) -> None:
    if user_id is not None and find_member(session, project_id, user_id, is_locked=True) is None:
        raise Problem("NotFound", kind="member")


def _record(session: Session, caller: Caller, row: TaskRow, change: TaskChange, now: datetime) -> None:
    add_events(
        session,
        [
            NewEvent(kind, now, caller.user_id, caller.session_id, row.project_id, row.id, old, new)
            for kind, old, new in change.events
        ],
    )
