"""Tasks as answers show them."""

from cortex_backend.enums import ForgeKind, PullRequestState, TaskPriority, TaskStatus, TaskType
from cortex_backend.models import ProjectRow, TaskRow
from cortex_backend.schemas.common import UserName
from cortex_backend.schemas.tasks import ProjectOfTask, PullRequestView, TaskView
from cortex_backend.store.tasks import SeenTask

__all__ = ["view_task"]


def view_task(found: SeenTask) -> TaskView:
    """Return a task as answers show it."""
    row = found.row
    assignee = None
    if row.assignee_id is not None:
        assignee = UserName(id=row.assignee_id, name=found.assignee_name or "")
    return TaskView(
        id=row.id,
        project=_view_project(found.project),
        title=row.title,
        description=row.description,
        type=TaskType(row.type),
        priority=TaskPriority(row.priority),
        status=TaskStatus(row.status),
        assignee=assignee,
        branch_name=row.branch_name,
        pull_request=_view_request(row),
        deadline=row.deadline,
        version=row.version,
        created_by=UserName(id=row.created_by, name=found.creator_name),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _view_project(row: ProjectRow) -> ProjectOfTask:
    return ProjectOfTask(id=row.id, name=row.name, repository_url=row.repository_url, default_branch=row.default_branch)


def _view_request(row: TaskRow) -> PullRequestView | None:
    if row.pr_forge is None or row.pr_state is None or row.pr_submitted_at is None:
        return None
    return PullRequestView(
        url=row.pr_url,
        number=row.pr_number,
        forge=ForgeKind(row.pr_forge),
        state=PullRequestState(row.pr_state),
        head_sha=row.pr_head_sha,
        base=row.pr_base,
        submitted_at=row.pr_submitted_at,
    )
