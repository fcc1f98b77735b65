"""The tool ``brief`` and the resource ``tasks://brief``, which a setting adds to any server (AG-8)."""

from collections.abc import Callable
from typing import Annotated

from pydantic import BaseModel, Field

from task_core.fields import Arguments, AsInteger, PlainLine
from task_core.history.changes import current_origin
from task_core.models import Clock, microseconds
from task_core.server.app import TaskServer
from task_core.server.brief import MAX_BYTES, MIN_BYTES, write_brief
from task_core.view import Briefed

__all__ = ["BriefAnswer", "BriefArguments", "add_brief_tool"]


class BriefArguments(Arguments):
    """Arguments of ``brief``."""

    max_bytes: Annotated[int, Field(ge=MIN_BYTES, le=20_000, description="At most"), AsInteger] = MAX_BYTES
    since: Annotated[PlainLine | None, Field(description="Change number, or 12h, 7d")] = None


class BriefAnswer(BaseModel):
    """The brief, in Markdown."""

    brief: str


def add_brief_tool(server: TaskServer, find: Callable[[], Briefed], clock: Clock) -> None:
    """Publish the tool over the tasks that ``find`` finds, and the resource."""

    def read(arguments: BriefArguments, caller: str = "") -> str:
        view, now = find(), microseconds(clock())
        found = write_brief(view, now, since=arguments.since, caller=caller, limit=arguments.max_bytes)
        return found or f"The list is empty. {view.advice}\n"

    @server.tool(title="Brief", read_only=True, idempotent=True)
    def brief(arguments: BriefArguments) -> BriefAnswer:
        """Return what a new session must know."""
        return BriefAnswer(brief=read(arguments, current_origin().by))

    server.read_brief = lambda: read(BriefArguments())
