"""The bodies, queries and answers of tasks and comments (CX-11, CX-14, CX-22)."""

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import Field

from cortex_backend.enums import ForgeKind, PullRequestState, TaskPriority, TaskStatus, TaskType
from cortex_backend.schemas.common import (
    AnswerModel,
    BranchName,
    ClosedModel,
    Deadline,
    Id,
    NumberInBody,
    OneLine,
    PageAnswer,
    PageQuery,
    PlainText,
    RefName,
    UserName,
    VisibleText,
    WebUrl,
)
from cortex_backend.schemas.projects import ProjectOfTask

__all__ = [
    "CommentDraft",
    "CommentView",
    "PageOfComments",
    "PageOfTasks",
    "PullRequestPatch",
    "PullRequestView",
    "TaskDraft",
    "TaskPatch",
    "TaskQuery",
    "TaskView",
]

_Title = Annotated[OneLine, Field(min_length=1, max_length=200, examples=["Add export"])]
_Description = Annotated[PlainText, Field(max_length=20_000)]

_Sha = Annotated[
    str, Field(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$", examples=["4b825dc642cb6eb9a060e54bf8d69288fbee4904"])
]


class TaskDraft(ClosedModel):
    """A task to create."""

    project_id: NumberInBody
    title: _Title
    description: _Description = Field(default="", examples=["As CSV."])
    type: TaskType = Field(default=TaskType.FEATURE, examples=["feature"])
    priority: TaskPriority = Field(default=TaskPriority.MEDIUM, examples=["HIGH"])
    assignee_id: NumberInBody | None = Field(default=None, examples=[3])
    deadline: Deadline | None = Field(default=None, examples=["2026-12-24"])


class PullRequestPatch(ClosedModel):
    """Changes of a task's pull request; a field that is left out stays as it is (CX-14)."""

    url: WebUrl | None = None
    number: NumberInBody | None = None
    forge: ForgeKind = ForgeKind.NONE
    state: PullRequestState = PullRequestState.OPEN
    head_sha: _Sha | None = None
    base: RefName | None = None


class TaskPatch(ClosedModel):
    """Changes of a task; a field that is left out stays as it is."""

    title: _Title = Field(default_factory=str)
    description: _Description = Field(default_factory=str, examples=["As CSV."])
    type: TaskType = Field(default_factory=lambda: TaskType.FEATURE, examples=["bug"])
    priority: TaskPriority = Field(default_factory=lambda: TaskPriority.MEDIUM, examples=["LOW"])
    status: TaskStatus = Field(default_factory=lambda: TaskStatus.TODO, examples=["IN_PROGRESS"])
    assignee_id: NumberInBody | None = Field(default=None, examples=[3])
    branch_name: BranchName | None = Field(default=None, examples=["feature/task-42-add-export"])
    pull_request: PullRequestPatch | None = Field(default=None, examples=[{"state": "merged"}])
    deadline: Deadline | None = Field(default=None, examples=["2026-12-24"])


class TaskQuery(PageQuery):
    """Filters of a list: a listed task has one of the values of each filter that is given."""

    assignee: Literal["me", "any", "none"] | Id = Field(default="me", description="`me`, `any`, `none` or a user's id.")
    project_id: Id | None = None
    status: list[TaskStatus] = Field(default_factory=list)
    type: list[TaskType] = Field(default_factory=list)
    priority: list[TaskPriority] = Field(default_factory=list)
    q: Annotated[PlainText, Field(max_length=200, description="Text in the title or description, in any case.")] = ""


class PullRequestView(AnswerModel):
    """The pull request of a task; without a forge, this record is the pull request (CX-14)."""

    url: str | None
    number: int | None
    forge: ForgeKind
    state: PullRequestState
    head_sha: str | None
    base: str | None
    submitted_at: datetime


class TaskView(AnswerModel):
    """A task (CX-11)."""

    id: int = Field(examples=[42])
    project: ProjectOfTask
    title: str = Field(examples=["Add export"])
    description: str
    type: TaskType
    priority: TaskPriority
    status: TaskStatus
    assignee: UserName | None
    branch_name: str | None
    pull_request: PullRequestView | None
    deadline: date | None
    version: int = Field(examples=[1])
    created_by: UserName
    created_at: datetime
    updated_at: datetime


class PageOfTasks(PageAnswer):
    """A page of tasks, newest first (CX-22)."""

    tasks: list[TaskView]


class CommentDraft(ClosedModel):
    """A comment to write."""

    text: Annotated[VisibleText, Field(max_length=10_000, examples=["Looks right."])]


class CommentView(AnswerModel):
    """A comment on a task."""

    id: int = Field(examples=[5])
    task_id: int = Field(examples=[42])
    author: UserName
    text: str = Field(examples=["Looks right."])
    created_at: datetime


class PageOfComments(PageAnswer):
    """A page of comments, oldest first."""

    comments: list[CommentView]
