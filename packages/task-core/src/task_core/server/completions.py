"""Completes the ids of tasks while a person types one (RES-5)."""

from __future__ import annotations

from functools import partial
from typing import Final

from mcp.server.context import ServerRequestContext
from mcp_types import CompleteRequestParams, CompleteResult, Completion, PromptReference

from task_core.errors import InvalidArguments, ResourceNotFound, TaskError
from task_core.server.prompts import Prompts
from task_core.server.refusals import refused
from task_core.server.resources import TASK_URI, Board
from task_core.server.workers import Workers
from task_core.text import nearest

__all__ = ["Completions"]

_MAX_VALUES: Final = 100
"""Values that one answer may have (MCP, completion)."""


class Completions:
    """Answers ``completion/complete``: ids of tasks for the URI of a task, nothing for a prompt, whose words are free.

    Ids that begin with what was typed come first, then those that have it elsewhere, each in the order of the tasks.
    """

    def __init__(self, board: Board, prompts: Prompts, workers: Workers) -> None:
        self._board = board
        self._prompts = prompts
        self._workers = workers

    async def complete(self, _: ServerRequestContext[None], params: CompleteRequestParams) -> CompleteResult:
        """Return the values that fit what was typed, in any case.

        Raises:
            MCPError: there is no such prompt, URI or argument, or the store cannot be read.
        """
        try:
            known = self._arguments(params)
            if params.argument.name not in known:
                wrong = [("argument.name", "There is no such argument.")]
                raise InvalidArguments(wrong, nearest(params.argument.name, known))
            if isinstance(params.ref, PromptReference):
                return _completed([])
            typed = params.argument.value
            return _completed(await self._workers.run("Completing an id", partial(self._ids, typed)))
        except TaskError as error:
            raise refused(error) from None

    def _arguments(self, params: CompleteRequestParams) -> list[str]:
        if isinstance(params.ref, PromptReference):
            return [argument.name for argument in self._prompts.named(params.ref.name).arguments]
        if params.ref.uri != TASK_URI:
            raise ResourceNotFound(params.ref.uri, [TASK_URI])
        return ["id"]

    def _ids(self, typed: str) -> list[str]:
        wanted = typed.casefold()
        found = [task_id for task_id in self._board.records() if wanted in task_id.casefold()]
        return sorted(found, key=lambda task_id: not task_id.casefold().startswith(wanted))


def _completed(values: list[str]) -> CompleteResult:
    shown = values[:_MAX_VALUES]
    return CompleteResult(
        completion=Completion(values=shown, total=len(values), has_more=len(values) > len(shown)),
    )
