"""What every server must pass, called through the MCP Inspector in both eras: its schemas, each tool, and load."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from inspector.inspector_cli import Answer, Inspector, member
from inspector.pinned import server_command
from inspector.report import Part, Report
from tests.servers import ServerRecord

__all__ = ["ERAS", "tour"]

ERAS: Final = ("legacy", "modern")
"""How the Inspector names the two eras of the protocol."""

REQUESTS: Final = 200
"""Calls of one tool under load."""

IN_FLIGHT: Final = 8
"""Calls of these that wait for their answer at a time."""


def tour(record: ServerRecord) -> list[Part]:
    """Return the cases of a server in each era, each in a folder of its own."""
    return [Part(f"{record.command}, {era}", partial(_add_cases, record=record, era=era)) for era in ERAS]


def _add_cases(report: Report, record: ServerRecord, era: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        inspector = Inspector([server_command(record.command)], record.environment(Path(folder).resolve()), era)
        _list(report, inspector, record)
        with inspector.connected():
            _call_all(report, inspector, record)
        for kind, tool in {"read": record.list, "write": record.create}.items():
            _load(report, inspector, kind, tool, record.calls[tool])


def _list(report: Report, inspector: Inspector, record: ServerRecord) -> None:
    answer = inspector.run("tools/list", "--strict")
    tools = member(answer.json, "tools")
    names = {member(tool, "name") for tool in tools} if isinstance(tools, list) else set()
    report.case(
        "tools/list --strict",
        "exit 0",
        answer,
        no_finding="Issue:" not in answer.log,
        every_tool_is_called_below=names == record.calls.keys(),
    )


def _call_all(report: Report, inspector: Inspector, record: ServerRecord) -> None:
    made = ""
    for tool in record.calls:
        answer = inspector.call_exactly(tool, record.call(tool, made))
        made = made or _id_in(answer, record)
        expected = f"exit 5 {record.failing[tool]}" if tool in record.failing else "exit 0"
        report.case(f"tools/call {tool}", expected, answer, a_result=isinstance(answer.result, dict))


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


def _id_in(answer: Answer, record: ServerRecord) -> str:
    content = member(answer.result, record.envelope) if record.envelope else answer.result
    return str(member(content, "task", "id") or member(content, "id"))
