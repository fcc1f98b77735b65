"""The answers of ``ctx``, which a client gets as they are if they have the published shape (CX-52, CX-88)."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue
from typing_extensions import override

__all__ = ["CtxAnswer", "CtxCompleted", "CtxStarted", "CtxStatus", "CtxSubmitted", "CtxTask", "CtxTaskPage"]

_Content = dict[str, JsonValue]


class CtxAnswer(BaseModel):
    """Members of every success; an unknown member is kept, and a missing one is not added."""

    model_config = ConfigDict(extra="allow", strict=True)

    success: Literal[True]
    warnings: list[str] = []

    @override
    def model_dump(self, **options: Any) -> dict[str, Any]:
        return super().model_dump(**{**options, "exclude_unset": True})


class CtxTaskPage(CtxAnswer):
    """The answer of ``ctx tasks list``: tasks without their descriptions, the newest first."""

    tasks: list[_Content]
    total: int
    next_cursor: str | None
    message: str


class CtxTask(CtxAnswer):
    """The answer of ``ctx tasks show``."""

    task: _Content


class CtxStarted(CtxAnswer):
    """The answer of ``ctx tasks start``."""

    task_id: int
    branch: str
    created: bool
    status: str
    base: str | None
    directory: str
    task: _Content


class CtxSubmitted(CtxAnswer):
    """The answer of ``ctx tasks pr``."""

    task_id: int
    branch: str
    status: str
    commit: str | None
    commit_message: str | None
    pushed: bool
    pull_request: _Content
    compare_url: str | None


class CtxCompleted(CtxAnswer):
    """The answer of ``ctx tasks done``."""

    task_id: int
    status: str
    merged_by: str
    base: str
    deleted: _Content


class CtxStatus(CtxAnswer):
    """The answer of ``ctx tasks status``."""

    current_branch: str | None
    is_task_branch: bool
    task_id: int | None
    task: _Content | None
    git: _Content
    pull_request: _Content | None
    next: str | None
