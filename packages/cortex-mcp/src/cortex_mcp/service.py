"""Runs one process of ``ctx`` for each call of a tool and returns its answer (CX-86 to CX-90)."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from pydantic import JsonValue, ValidationError

from cortex_mcp.arguments import MAX_TASK_ID, parse_task_id
from cortex_mcp.errors import CtxError, CtxRefused, ctx_failed, ctx_timeout
from cortex_mcp.finder import CtxFinder, FoundCtx, parse_answer
from cortex_mcp.runner import MAX_OUTPUT, OutputTooLong, ProgramResult, ProgramRun, Runner
from cortex_mcp.settings import CortexMcpSettings
from cortex_mcp.tool_results import CtxAnswer, CtxCompleted, CtxStarted, CtxStatus, CtxSubmitted, CtxTask, CtxTaskPage
from task_core.bounds import MAX_PAGE, take_fitting
from task_core.errors import InvalidArguments, TaskNotFound
from task_core.text import escape_invisible, shorten

__all__ = ["CortexService", "build_environment"]

AnswerT = TypeVar("AnswerT", bound=CtxAnswer)

_SPARE_SECONDS: Final = 5.0
"""Seconds that ``ctx`` ends earlier by itself, its changes taken back (CX-89)."""

_DEFAULT_LIMIT: Final = 50

_QUIET: Final = {
    "CTX_NO_INPUT": "1",
    "GCM_INTERACTIVE": "never",
    "GIT_EDITOR": ":",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    "SSH_ASKPASS_REQUIRE": "never",
}
"""Variables that keep ``ctx`` and git from asking, and their words in one language (CX-65, CX-90)."""


class CortexService:
    """Runs ``ctx`` for each call; those that change a repository wait for each other in one directory."""

    def __init__(self, settings: CortexMcpSettings, runner: Runner) -> None:
        self._settings = settings
        self._runner = runner
        self._finder = CtxFinder(runner, settings.cortex_ctx, settings.cortex_list_timeout)
        self._turns = WeakValueDictionary[Path, asyncio.Lock]()

    async def list_tasks(
        self, status: Sequence[str] = (), limit: int = _DEFAULT_LIMIT, cursor: str | None = None
    ) -> CtxTaskPage:
        """Return a page of tasks, which ends earlier than its ``limit`` where it would be too long (TOOL-9)."""
        while True:
            options = [
                *([f"--status={','.join(status)}"] if status else ()),
                *([f"--limit={limit}"] if limit != _DEFAULT_LIMIT else ()),
                *([f"--cursor={cursor}"] if cursor else ()),
            ]
            page = await self._read(CtxTaskPage, ["tasks", "list"], options=options)
            fitting = len(take_fitting(page.tasks, MAX_PAGE))
            if fitting == len(page.tasks) or fitting >= limit:
                return page
            limit = fitting

    async def find_task(self, task_id: str) -> dict[str, JsonValue]:
        """Return one task with its description.

        Raises:
            TaskNotFound: no task has the id; the error names near ids.
        """
        number = parse_task_id(task_id)
        if not isinstance(number, int) or not 1 <= number <= MAX_TASK_ID:
            raise TaskNotFound(task_id)
        try:
            return (await self._read(CtxTask, ["tasks", "show", str(number)])).task
        except CtxRefused as error:
            if error.code != TaskNotFound.__name__:
                raise
            near = error.details.get("near")
            raise TaskNotFound(task_id, [str(name) for name in near] if isinstance(near, list) else []) from None

    async def start_task(self, task_id: int, directory: str | None) -> CtxStarted:
        """Start a task, on its branch."""
        return await self._change(CtxStarted, ["tasks", "start", str(task_id)], directory)

    async def submit_pr(self, message: str | None, directory: str | None) -> CtxSubmitted:
        """Commit what was changed if there is a message, push it, and open a pull request."""
        options = ["--message-file", "-"] if message else []
        return await self._change(CtxSubmitted, ["tasks", "pr"], directory, message or "", options)

    async def complete_task(self, directory: str | None) -> CtxCompleted:
        """Finish the task of the branch, if that is merged."""
        return await self._change(CtxCompleted, ["tasks", "done"], directory)

    async def get_task_status(self, directory: str | None) -> CtxStatus:
        """Return the task of the branch and the state of the repository."""
        return await self._read(CtxStatus, ["tasks", "status"], directory)

    async def follow_events(self, after: int | None) -> AsyncIterator[bytes]:
        """Yield each line of ``ctx events --follow``, from the event ``after`` on, until it ends."""
        environment = build_environment(self._settings.cortex_list_timeout)
        found = await self._finder.find(environment)
        options = [] if after is None else [f"--after={after}"]
        argv = (str(found.path), "events", "--follow", "--json", *options)
        environment["CTX_TIMEOUT"] = ""  # it follows for as long as somebody listens
        async for line in self._runner.follow(ProgramRun(argv, self._settings.directory, environment, None, None)):
            yield line

    async def check(self, *words: str) -> dict[str, JsonValue]:
        """Return the answer of ``ctx`` with these words, whatever its shape."""
        return (await self._read(CtxAnswer, words)).model_dump()

    async def find_ctx(self) -> FoundCtx:
        """Return the ``ctx`` that is run."""
        return await self._finder.find(build_environment(self._settings.cortex_list_timeout))

    async def _read(
        self, answer: type[AnswerT], words: Sequence[str], directory: str | None = None, options: Sequence[str] = ()
    ) -> AnswerT:
        seconds = self._settings.cortex_list_timeout
        return await self._carry_out(answer, words, self._locate(directory), seconds, options=options)

    async def _change(
        self,
        answer: type[AnswerT],
        words: Sequence[str],
        directory: str | None,
        message: str = "",
        options: Sequence[str] = (),
    ) -> AnswerT:
        folder = self._locate(directory)
        async with self._turns.setdefault(folder, asyncio.Lock()):
            seconds = self._settings.cortex_git_timeout
            return await self._carry_out(answer, words, folder, seconds, message, options)

    async def _carry_out(
        self,
        answer: type[AnswerT],
        words: Sequence[str],
        directory: Path,
        seconds: float,
        message: str = "",
        options: Sequence[str] = (),
    ) -> AnswerT:
        environment = build_environment(seconds)
        found = await self._finder.find(environment)
        argv = (str(found.path), *words, "--json", *options)
        program = ProgramRun(argv, directory, environment, seconds, message.encode())
        try:
            result = await self._runner.run(program)
        except TimeoutError:
            raise ctx_timeout(" ".join(("ctx", *words)), seconds) from None
        except OutputTooLong:
            raise ctx_failed(f"it wrote more than {MAX_OUTPUT // 2**20} MiB") from None
        except OSError as error:
            raise ctx_failed(f"it cannot be started ({os.strerror(error.errno or 0)})") from None
        return _check(answer, _parse(result))

    def _locate(self, directory: str | None) -> Path:
        """Return the folder that a call names, without links."""
        folder = os.path.realpath(self._settings.directory / (directory or ""))
        if directory and not Path(folder).is_relative_to(self._settings.workspace):
            shown = shorten(escape_invisible(directory), 100)
            raise CtxError("PathOutsideWorkspace", {"directory": shown})
        if not os.path.isdir(folder):  # noqa: PTH112 - never raises
            raise InvalidArguments([("directory", "Name a folder that exists, or let the user set CORTEX_REPO")])
        return Path(folder)


def build_environment(seconds: float) -> dict[str, str]:
    """Return the environment of a ``ctx`` that may take this many seconds: that of the server, and what keeps it quiet.

    No variable is read here, so that a token in one passes through unseen (CX-5).
    """
    own = max(seconds - _SPARE_SECONDS, seconds / 2)
    return {"GIT_ASKPASS": "", **os.environ, **_QUIET, "CTX_TIMEOUT": f"{own:g}"}


def _check(answer: type[AnswerT], content: dict[str, JsonValue]) -> AnswerT:
    """Return the answer of ``ctx`` in its published form; raise ``CtxFailed`` if it has another."""
    try:
        return answer.model_validate(content)
    except ValidationError as error:
        places = ", ".join(".".join(map(str, it["loc"])) for it in error.errors(include_url=False)[:3])
        raise ctx_failed(f"its answer has an unknown form ({places})", 0) from None


def _parse(result: ProgramResult) -> dict[str, JsonValue]:
    """Return the answer of a ``ctx`` that succeeded."""
    if result.exit_code < 0:
        raise ctx_failed(f"it was ended by {_signal_name(-result.exit_code)}", result.exit_code, result.stderr)
    answer = parse_answer(result.output)
    if answer and answer.get("success") is False and all(isinstance(answer.get(it), str) for it in ("error", "code")):
        raise CtxRefused(answer)
    if answer is None or answer.get("success") is not True or result.exit_code:
        why = f"it ended with exit code {result.exit_code} and without a JSON answer"
        raise ctx_failed(why, result.exit_code, result.stderr)
    return answer


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
