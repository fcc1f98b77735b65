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
    "Words",
]


class Words(StrEnum):
    """An enumeration whose values are kept and shown as they are."""


class TaskStatus(Words):
    """Where a task is in its work (CX-12)."""

    TODO = "TODO"
    IN_PROGRESS = "IN_PROGRESS"
    REVIEW = "REVIEW"
    DONE = "DONE"
    CANCELED = "CANCELED"


class TaskType(Words):
    """What a task is about; its branch begins with it (CX-11, CX-41)."""

    FEATURE = "feature"
    BUG = "bug"
    DOCS = "docs"
    FIX = "fix"
    CHORE = "chore"
    REFACTOR = "refactor"


class TaskPriority(Words):
    """How urgent a task is (CX-11)."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


class MemberRole(Words):
    """What a member may do: an owner everything, a member change tasks, a viewer only look (CX-10, CX-13)."""

    OWNER = "owner"
    MEMBER = "member"
    VIEWER = "viewer"


class ForgeKind(Words):
    """Where a pull request is; ``none`` when the record itself is the pull request (CX-14)."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"
    NONE = "none"


class PullRequestState(Words):
    """How far a pull request is (CX-14)."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


class EventKind(Words):
    """What happened (CX-44)."""

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
