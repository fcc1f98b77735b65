"""The enumerations of the domain, as they are written in requests, answers and the database."""

from enum import StrEnum

__all__ = [
    "EventKind",
    "ForgeKind",
    "MemberRole",
    "PullRequestState",
    "TaskPriority",
    "TaskStatus",
    "TaskType",
]


class TaskStatus(StrEnum):
    """Status of a task (CX-12)."""

    TODO = "TODO"
    IN_PROGRESS = "IN_PROGRESS"
    REVIEW = "REVIEW"
    DONE = "DONE"
    CANCELED = "CANCELED"


class TaskType(StrEnum):
    """Type of a task, with which its branch begins (CX-11, CX-41)."""

    FEATURE = "feature"
    BUG = "bug"
    DOCS = "docs"
    FIX = "fix"
    CHORE = "chore"
    REFACTOR = "refactor"


class TaskPriority(StrEnum):
    """Urgency of a task (CX-11)."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


class MemberRole(StrEnum):
    """Role of a member: an owner may do everything, a member changes tasks, a viewer only reads (CX-10, CX-13)."""

    OWNER = "owner"
    MEMBER = "member"
    VIEWER = "viewer"


class ForgeKind(StrEnum):
    """Forge of a pull request; ``none`` when the record itself is the pull request (CX-14)."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"
    NONE = "none"


class PullRequestState(StrEnum):
    """State of a pull request (CX-14)."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


class EventKind(StrEnum):
    """Kind of an event (CX-44)."""

    TASK_CREATED = "task_created"
    STATUS_CHANGED = "status_changed"
    ASSIGNED = "assigned"
    BRANCH_SET = "branch_set"
    PR_OPENED = "pr_opened"
    PR_UPDATED = "pr_updated"
    PR_MERGED = "pr_merged"
    EDITED = "edited"
    COMMENTED = "commented"
    MEMBER_CHANGED = "member_changed"
    LOGIN = "login"
    LOGOUT = "logout"
    SESSION_REVOKED = "session_revoked"
    SESSION_REUSE = "session_reuse"
