"""What a bullet of the section says about a task, to be taken in by the service (HB-12, HB-15)."""

from collections.abc import Callable
from dataclasses import dataclass

from heartbeat_mcp.mirror.entries import unescape
from heartbeat_mcp.mirror.items import Item, as_status
from heartbeat_mcp.models import Status, Task

__all__ = ["FoundTask", "found_task"]


@dataclass(frozen=True)
class FoundTask:
    """What the section says about one task."""

    id: str | None
    """None if it was written by hand: the service makes an id"""
    status: Status
    raw_user_request: str
    raw_reference: str | None = None
    ideas: tuple[str, ...] = ()
    result: str | None = None
    result_file: str | None = None

    def agrees_with(self, task: Task) -> bool:
        """Whether ``task`` holds all that was found, so that its entry can replace this."""
        mine = (self.status, self.raw_user_request, self.raw_reference, self.ideas, self.result, self.result_file)
        its = (
            task.status,
            task.raw_user_request,
            task.raw_reference or None,
            task.ideas,
            task.result or None,
            task.result_file or None,
        )
        return mine == its


def found_task(item: Item, *, takes_name: bool = False) -> FoundTask:
    """Return the task that ``item`` describes; with ``takes_name`` an id written by hand is accepted.

    Text of an entry is unescaped; what a person wrote is taken as it is, and all of it: what is not a field becomes
    part of the request, or an idea if the request has a field of its own.
    """
    details = item.details
    request = details.fields.get("raw user request")
    if item.is_entry:
        return _make(item, item.closing_id, item.summary if request is None else request, details.ideas, unescape)
    if request is None:
        lines = (item.title, details.rest)
        return _make(item, None, "\n".join(line for line in lines if line), details.ideas, str)
    task_id, title = (item.named_id, item.summary) if takes_name else (None, item.title)
    more = ("" if request.startswith(title.removesuffix("…")) else title, *details.ideas, details.rest)
    return _make(item, task_id, request, tuple(idea for idea in more if idea), str)


def _make(
    item: Item, task_id: str | None, request: str, ideas: tuple[str, ...], read: Callable[[str], str]
) -> FoundTask:
    def text(value: str) -> str:
        return read(value.encode(errors="surrogateescape").decode(errors="replace"))

    fields = item.details.fields
    return FoundTask(
        task_id,
        item.status or as_status(fields.get("status", "")) or Status.PENDING,
        text(request),
        text(fields.get("raw reference", "")) or None,
        tuple(map(text, ideas)),
        text(fields.get("result", "")) or None,
        text(fields.get("result file", "")) or None,
    )
