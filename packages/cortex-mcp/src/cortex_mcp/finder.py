"""Finds ``ctx``, and makes sure that it is that of Cortex: ``ctx`` is a common name (CX-87)."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import JsonValue

from cortex_mcp.errors import CtxError, ctx_timeout
from cortex_mcp.runner import OutputTooLong, ProgramRun, Runner
from task_core import strict_json
from task_core.text import escape_invisible

__all__ = ["CtxFinder", "FoundCtx", "parse_answer"]

_PROTOCOL: Final = 1

_Identity = tuple[Path, int, int, int, int]
"""The path of a file, and what changes when it is replaced."""


class FoundCtx(NamedTuple):
    """The ``ctx`` that is run, and its version."""

    path: Path
    version: str


class CtxFinder:
    """Finds ``ctx`` at the path that is ``given``, else beside this Python, else on ``PATH``.

    It gets this many ``seconds`` to say what it is.
    """

    def __init__(self, runner: Runner, given: Path | None, seconds: float) -> None:
        self._runner = runner
        self._given = given
        self._seconds = seconds
        self._known: dict[_Identity, FoundCtx] = {}

    async def find(self, environment: Mapping[str, str]) -> FoundCtx:
        """Return the program, which is asked what it is once, and again if its file changes.

        Raises:
            CtxError: there is none, it is another program or of another protocol, or it did not answer in time.
            RunnerClosed: the server ends.
        """
        path = self._locate()
        status = path.stat()
        identity = (path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        if identity not in self._known:
            self._known = {identity: await self._ask(path, environment)}
        return self._known[identity]

    def _locate(self) -> Path:
        if self._given:
            if not self._given.is_file():
                raise CtxError("CtxNotFound", place="at the path in CORTEX_CTX")
            return self._given
        beside = shutil.which("ctx", path=os.path.dirname(sys.executable))  # noqa: PTH120 - text, as PATH is
        found = beside or shutil.which("ctx")
        if found is None:
            raise CtxError("CtxNotFound", place="beside this Python, nor on PATH")
        return Path(found).absolute()

    async def _ask(self, path: Path, environment: Mapping[str, str]) -> FoundCtx:
        program = ProgramRun((str(path), "version", "--json"), Path.home(), environment, self._seconds)
        try:
            answer = parse_answer((await self._runner.run(program)).output)
        except TimeoutError:
            raise ctx_timeout("ctx version", self._seconds) from None
        except (OSError, OutputTooLong):
            answer = None
        if answer is None or answer.get("program") != "cortex" or answer.get("protocol") != _PROTOCOL:
            name = escape_invisible(path.name)
            raise CtxError("CtxForeign", {"name": name}, name=name)
        return FoundCtx(path, str(answer.get("version", "")))


def parse_answer(output: bytes) -> dict[str, JsonValue] | None:
    """Return the JSON object that ``output`` is, or None if it is anything else."""
    try:
        reading = strict_json.read(output)
    except strict_json.NotJson:
        return None
    is_doubtful = reading.duplicate_keys or reading.has_lone_surrogate
    return reading.value if isinstance(reading.value, dict) and not is_doubtful else None
