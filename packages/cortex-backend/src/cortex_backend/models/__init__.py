"""The tables (CX-43): rows as SQLAlchemy sees them, with every enumeration and limit as a CHECK constraint too.

No relationship is mapped, so nothing loads lazily (CX-40): what a query needs, it joins.
"""

from cortex_backend.models.base import MAX_ID, TableBase
from cortex_backend.models.people import CounterRow, LoginFailureRow, SessionRow, UserRow
from cortex_backend.models.work import (
    MAX_TASKS,
    CommentRow,
    EventRow,
    IdempotencyRow,
    InvitationRow,
    MembershipRow,
    ProjectRow,
    TaskRow,
)

__all__ = [
    "MAX_ID",
    "MAX_TASKS",
    "CommentRow",
    "CounterRow",
    "EventRow",
    "IdempotencyRow",
    "InvitationRow",
    "LoginFailureRow",
    "MembershipRow",
    "ProjectRow",
    "SessionRow",
    "TableBase",
    "TaskRow",
    "UserRow",
]
