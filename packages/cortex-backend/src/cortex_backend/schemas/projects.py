"""The bodies and answers of projects and their members (CX-10)."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from cortex_backend.enums import MemberRole
from cortex_backend.schemas.common import (
    AnswerModel,
    ClosedModel,
    EmailAddress,
    OneLine,
    RefName,
    RepositoryUrl,
    UserName,
)

__all__ = [
    "MemberAdded",
    "MemberRoleSet",
    "MemberView",
    "PageOfMembers",
    "PageOfProjects",
    "ProjectDraft",
    "ProjectName",
    "ProjectPatch",
    "ProjectView",
]

ProjectName = Annotated[OneLine, Field(min_length=1, max_length=100, examples=["App"])]
"""The name of a project."""


class ProjectDraft(ClosedModel):
    """A project to create."""

    name: ProjectName
    repository_url: RepositoryUrl | None = Field(default=None, examples=["https://git.example.com/team/app.git"])
    default_branch: RefName = "main"


class ProjectPatch(ClosedModel):
    """Changes of a project; a field that is left out stays as it is."""

    name: ProjectName = Field(default_factory=str)
    repository_url: RepositoryUrl | None = Field(default=None, examples=["https://git.example.com/team/app.git"])
    default_branch: RefName = Field(default_factory=str)


class ProjectView(AnswerModel):
    """A project; ``role`` is what the caller may do there, ``version`` grows with every change."""

    id: int = Field(examples=[7])
    name: str = Field(examples=["App"])
    repository_url: str | None
    default_branch: str = Field(examples=["main"])
    role: MemberRole
    version: int = Field(examples=[1])
    created_at: datetime
    updated_at: datetime


class PageOfProjects(AnswerModel):
    """A page of projects, oldest first; ``total`` counts those on all pages."""

    projects: list[ProjectView]
    total: int
    next_cursor: str | None


class MemberAdded(ClosedModel):
    """A user to make a member, by e-mail."""

    email: EmailAddress
    role: MemberRole = Field(examples=["member"])


class MemberRoleSet(ClosedModel):
    """The role that a member gets."""

    role: MemberRole = Field(examples=["viewer"])


class MemberView(AnswerModel):
    """A member of a project."""

    user: UserName
    role: MemberRole


class PageOfMembers(AnswerModel):
    """A page of members, by id; ``total`` counts those on all pages."""

    members: list[MemberView]
    total: int
    next_cursor: str | None
