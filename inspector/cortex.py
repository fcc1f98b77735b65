"""Run the tools of ``cortex-mcp`` through the MCP Inspector, in both eras, over a program that stands in for ``ctx``.

Prints one table and returns a non-zero exit code when a case fails.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

from inspector.every_server import ERAS
from inspector.inspector_cli import Inspector, member
from inspector.pinned import server_command
from inspector.report import Part, Report, run
from tests.cortex_mcp.ctx_fixture import CtxFixture
from tests.servers import program_of

RECORD: Final = program_of("cortex")


def list_tools(report: Report, inspector: Inspector) -> None:
    """[CX-85] The schemas of all tools are portable."""
    answer = inspector.run("tools/list", "--strict")
    tools = member(answer.json, "tools")
    names = [str(member(tool, "name")) for tool in (tools if isinstance(tools, list) else ())]
    report.case(
        "tools/list --strict",
        "exit 0",
        answer,
        no_finding="Issue:" not in answer.log,
        every_tool_is_called_below=sorted(names) == sorted(RECORD.calls),
    )


def call_all(report: Report, inspector: Inspector) -> None:
    """[CX-85] [CX-88] Every tool answers with the object of ``ctx``."""
    for tool, arguments in RECORD.calls.items():
        answer = inspector.call_exactly(tool, arguments)
        report.case(f"tools/call {tool}", "exit 0", answer, of_ctx=member(answer.result, "success") is True)
    answer = inspector.call("start_task", "task_id=42", "directory=.")
    report.case("start_task, name=value arguments", "exit 0", answer, started=member(answer.result, "task_id") == 42)


def refuse(report: Report, inspector: Inspector, ctx: CtxFixture) -> None:
    """[CX-88] [CX-90] What ``ctx`` refuses, what the server refuses, and an answer that is none."""
    content = ctx.refuses("tasks_done", "NotMerged", "The branch is not merged yet. Wait for the review.", state="open")
    answer = inspector.call("complete_task")
    report.case("complete_task, not merged", "exit 5 NotMerged", answer, word_for_word=answer.result == content)
    answer = inspector.call("get_task_status", "directory=/etc")
    report.case("get_task_status, outside", "exit 5 PathOutsideWorkspace", answer)
    answer = inspector.call_exactly("start_task", {"task_id": "forty-two"})
    report.case("start_task, no id", "exit 5 InvalidArguments", answer)
    ctx.set_behaviors(tasks_pr={"raw": "Traceback", "exit": 1})
    report.case("submit_pr, no JSON", "exit 5 CtxFailed", inspector.call("submit_pr"))


def read(report: Report, inspector: Inspector) -> None:
    """[CX-91] Resources and prompts."""
    for uri in ("tasks://list", "tasks://summary", "tasks://42"):
        report.case(f"resources/read {uri}", "exit 0", inspector.run("resources/read", "--uri", uri))
    report.case("prompts/get next", "exit 0", inspector.run("prompts/get", "--prompt-name", "next"))


def add_cases(report: Report, era: str) -> None:
    """Add all cases in one era of the protocol."""
    with tempfile.TemporaryDirectory() as folder:
        ctx = CtxFixture(Path(folder).resolve())
        inspector = Inspector([server_command(RECORD.command)], RECORD.environment(ctx.folder), era)
        list_tools(report, inspector)
        with inspector.connected():
            call_all(report, inspector)
            read(report, inspector)
            refuse(report, inspector, ctx)


PARTS: Final = [Part(f"{RECORD.command}, its tools, {era}", partial(add_cases, era=era)) for era in ERAS]

if __name__ == "__main__":
    sys.exit(run(PARTS))
