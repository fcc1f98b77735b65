"""The rules of comments."""

from sqlalchemy.orm import Session

from cortex_backend.clock import Clock
from cortex_backend.database import CortexDatabase
from cortex_backend.enums import EventKind
from cortex_backend.models import CommentRow
from cortex_backend.problems import Problem
from cortex_backend.schemas.common import PageQuery, UserName
from cortex_backend.schemas.tasks import CommentDraft, CommentView
from cortex_backend.service.caller import Caller
from cortex_backend.service.repeats import Creation
from cortex_backend.service.rules.moves import check_writer
from cortex_backend.service.rules.pages import Page, make_page, read_key
from cortex_backend.store.comments import SeenComment, add_comment, count_comments, list_comments
from cortex_backend.store.events import NewEvent, add_events
from cortex_backend.store.tasks import find_task

__all__ = ["Comments"]


class Comments:
    """Lists and adds the comments on a task."""

    def __init__(self, database: CortexDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def list(self, caller: Caller, task_id: int, query: PageQuery) -> Page:
        """Return a page of the comments on a task, oldest first.

        Raises:
            Problem: ``NotFound`` or ``InvalidCursor``.
        """
        scope = f"comments {task_id}"
        with self._database.read() as session:
            if find_task(session, caller.user_id, task_id) is None:
                raise Problem("NotFound", kind="task")
            after = read_key(query.cursor, scope) or 0
            rows = list_comments(session, task_id, after, query.limit + 1)
            total = count_comments(session, task_id)
        return make_page(rows, query.limit, total=total, scope=scope, view=_view, key=lambda found: found.row.id)

    def create(self, session: Session, caller: Caller, task_id: int, body: CommentDraft) -> Creation:
        """Comment on a task; raise the problem ``NotFound`` or ``Forbidden``."""
        found = find_task(session, caller.user_id, task_id, is_locked=True)
        if found is None:
            raise Problem("NotFound", kind="task")
        check_writer(found.role)
        now = self._clock()
        row = CommentRow(task_id=task_id, author_id=caller.user_id, text=body.text, created_at=now)
        add_comment(session, row)
        project_id = found.project.id
        event = NewEvent(EventKind.COMMENTED, now, caller.user_id, caller.session_id, project_id, task_id)
        add_events(session, [event])
        return Creation(body=_view(SeenComment(row, caller.name)).model_dump_json())


def _view(found: SeenComment) -> CommentView:
    row = found.row
    return CommentView(
        id=row.id,
        task_id=row.task_id,
        author=UserName(id=row.author_id, name=found.author_name),
        text=row.text,
        created_at=row.created_at,
    )
