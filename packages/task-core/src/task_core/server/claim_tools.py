"""The tools ``claim_task`` and ``release_task``: which agent works on what (AG-11)."""

from collections.abc import Callable
from operator import not_
from typing import Annotated

from pydantic import BaseModel, Field

from task_core.claims.claim import describe
from task_core.errors import MAX_NAMED
from task_core.fields import Arguments, PlainLine
from task_core.server.app import TaskServer
from task_core.server.overview import JsonObject
from task_core.store.claiming import Claiming

__all__ = ["ClaimAnswer", "ClaimTask", "ReleaseTask", "Released", "add_claim_tools"]


class ClaimTask(Arguments):
    """Arguments of ``claim_task``."""

    id: Annotated[PlainLine | None, Field(description="Default: the first free one")] = None
    note: Annotated[PlainLine | None, Field(description="What for")] = None
    force: Annotated[bool, Field(description="Take it over; say why in note")] = False


class ClaimAnswer(BaseModel):
    """The claim and its task, or the claims of others if nothing is free."""

    claim: JsonObject | None = None
    task: JsonObject | None = None
    held: list[JsonObject] = []
    message: Annotated[str, Field(exclude_if=not_)] = ""


class ReleaseTask(Arguments):
    """Arguments of ``release_task``."""

    id: Annotated[PlainLine, Field(description="Task")]


class Released(BaseModel):
    """The id of the task that was given up, and the effect on other tasks."""

    released: str
    message: Annotated[str, Field(exclude_if=not_)] = ""


def add_claim_tools(
    server: TaskServer, find: Callable[[Arguments], Claiming], *kinds: type[Arguments], is_camel_case: bool = False
) -> None:
    """Publish the tools over what claims the tasks for a call; other tools that change tasks get an ``agent``.

    ``kinds`` are those of the arguments if the server has more than ``ClaimTask`` and ``ReleaseTask``. Names are in
    camel case if the server's are.
    """

    def claim_task(arguments: ClaimTask) -> ClaimAnswer:
        """Hold a task: others cannot change it."""
        found = find(arguments).claim(arguments.id or "", arguments.note or "", is_forced=arguments.force)
        if found.claim is None:
            return ClaimAnswer(held=[describe(claim) for claim in found.others][:MAX_NAMED])
        claim: JsonObject = {**describe(found.claim), "token": found.claim.token}
        return ClaimAnswer(claim=claim, task=found.task, message=found.message)

    def release_task(arguments: ReleaseTask) -> Released:
        """Give up a claim."""
        return Released(released=arguments.id, message=find(arguments).release(arguments.id))

    for tool, kind in zip((claim_task, release_task), kinds, strict=False):
        tool.__annotations__["arguments"] = kind
    if is_camel_case:
        claim_task.__name__, release_task.__name__ = "claimTask", "releaseTask"
    server.tool(title="Claim task", whole=True)(claim_task)
    server.tool(title="Release task")(release_task)
    server.name_agents()
