"""The bodies and answers of projects and their members (CX-10)."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from cortex_backend.enums import MemberRole
from cortex_backend.schemas.common import (
    AnswerModel,
    ClosedModel,
    EmailAddress,
    Id,
    LongPageQuery,
    OneLine,
    PageAnswer,
    RefName,
    RepositoryUrl,
    UserName,
)

__all__ = [
    "InvitationDraft",
    "InvitationQuery",
    "InvitationView",
    "MemberRoleSet",
    "MemberView",
    "PageOfInvitations",
    "PageOfMembers",
    "PageOfProjects",
    "ProjectDraft",
    "ProjectLabel",
    "ProjectOfTask",
    "ProjectPatch",
    "ProjectView",
]

_Name = Annotated[OneLine, Field(min_length=1, max_length=100, examples=["App"])]


class ProjectDraft(ClosedModel):
    """A project to create."""

    name: _Name
    repository_url: RepositoryUrl | None = Field(default=None, examples=["https://git.example.com/team/app.git"])
    default_branch: RefName = "main"


class ProjectPatch(ClosedModel):
    """Changes of a project; a field that is left out stays as it is."""

    name: _Name = Field(default_factory=str)
    repository_url: RepositoryUrl | None = Field(default=None, examples=["https://git.example.com/team/app.git"])
    default_branch: RefName = Field(default_factory=str)


class ProjectLabel(AnswerModel):
    """The part of a project that an invited person may see."""

    id: int = Field(examples=[7])
    name: str = Field(examples=["App"])


class ProjectOfTask(ProjectLabel):
    """The project of a task, as far as git needs it."""

    repository_url: str | None
    default_branch: str = Field(examples=["main"])


class ProjectView(ProjectOfTask):
    """A project; ``role`` is what the caller may do there, ``version`` grows with every change."""

    role: MemberRole
    version: int = Field(examples=[1])
    created_at: datetime
    updated_at: datetime


class PageOfProjects(PageAnswer):
    """A page of projects, oldest first."""

    projects: list[ProjectView]


class InvitationDraft(ClosedModel):
    """Somebody to invite by e-mail, and the role to offer."""

    email: EmailAddress
    role: MemberRole = Field(examples=["member"])


class InvitationQuery(LongPageQuery):
    """Query for the invitations to a project of the caller's, or without one for those to the caller."""

    project_id: Id | None = None


class InvitationView(AnswerModel):
    """An open invitation."""

    id: int = Field(examples=[5])
    project: ProjectLabel
    email: str = Field(examples=["ada@example.com"])
    role: MemberRole
    invited_by: UserName
    created_at: datetime


class PageOfInvitations(PageAnswer):
    """A page of invitations, oldest first."""

    invitations: list[InvitationView]


class MemberRoleSet(ClosedModel):
    """The role that a member gets."""

    role: MemberRole = Field(examples=["viewer"])


class MemberView(AnswerModel):
    """A member of a project."""

    user: UserName
    role: MemberRole


class PageOfMembers(PageAnswer):
    """A page of members, by id."""

    members: list[MemberView]
