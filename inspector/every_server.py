"""What every server must pass, called through the MCP Inspector in both eras: its schemas, each tool, and load."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from inspector_cli import Answer, Inspector, member
from pinned import server_command
from report import Part, Report

__all__ = ["ERAS", "MADE", "Tour"]

ERAS: Final = ("legacy", "modern")
"""How the Inspector names the two eras of the protocol."""

MADE: Final = "<the task that was made first>"
"""Stands in the arguments of a tour for the id that its first call gave back."""

REQUESTS: Final = 200
"""Calls of one tool under load."""

IN_FLIGHT: Final = 8
"""Calls of these that wait for their answer at a time."""


@dataclass(frozen=True)
class Tour:
    """A call of every tool of a server, and one tool each that reads and that writes under load."""

    server: str
    variable: str
    """The setting that names the file of the tasks."""
    calls: Mapping[str, Mapping[str, object]]
    """The arguments of each tool; the first one makes a task."""
    reads: str
    writes: str

    def parts(self) -> list[Part]:
        """Return the tour in each era, in a folder of its own."""
        return [Part(f"{self.server}, {era}", partial(self._add_cases, era=era)) for era in ERAS]

    def _add_cases(self, report: Report, era: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder).resolve() / "tasks.file"
            inspector = Inspector([server_command(self.server)], {self.variable: str(file)}, era)
            self._list(report, inspector)
            self._call_all(report, inspector)
            for kind, tool in {"read": self.reads, "write": self.writes}.items():
                _load(report, inspector, kind, tool, self.calls[tool])

    def _list(self, report: Report, inspector: Inspector) -> None:
        answer = inspector.run("--method", "tools/list", "--strict")
        tools = member(answer.json, "tools")
        names = {member(tool, "name") for tool in tools} if isinstance(tools, list) else set()
        report.case(
            "tools/list --strict",
            "exit 0",
            answer,
            no_finding="Issue:" not in answer.log,
            every_tool_is_called_below=names == self.calls.keys(),
        )

    def _call_all(self, report: Report, inspector: Inspector) -> None:
        made = ""
        for tool, arguments in self.calls.items():
            given = {name: made if value == MADE else value for name, value in arguments.items()}
            answer = inspector.call_exactly(tool, given)
            made = made or _id_in(answer)
            report.case(f"tools/call {tool}", "exit 0", answer, a_result=isinstance(answer.result, dict))


def _load(report: Report, inspector: Inspector, kind: str, tool: str, arguments: Mapping[str, object]) -> None:
    load = ("--load", "--load-requests", str(REQUESTS), "--load-concurrency", str(IN_FLIGHT))
    answer = inspector.call_exactly(tool, arguments, *load)
    counts = [member(answer.json, name) for name in ("requests", "ok", "toolErrors", "errors")]
    report.case(
        f"{REQUESTS} calls of {tool} ({kind}), {IN_FLIGHT} in flight",
        "exit 0",
        answer,
        all_answered_without_error=counts == [REQUESTS, REQUESTS, 0, 0],
    )


def _id_in(answer: Answer) -> str:
    return str(member(answer.result, "task", "id") or member(answer.result, "id"))
