"""No answer floods a model, whatever is in the project; one named task and the document come whole (TM-38, TOOL-9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from mcp.client import Client
from mcp_types import CallToolResult, TextContent
from pydantic import JsonValue

from task_core.bounds import MAX_ANSWER, size_of
from taskmaster_mcp.settings import SETS
from tests.taskmaster.conftest import Object, ServedProject, item, named, tag

WIDE: Final = "\U0001f9ed"
"""A character of four bytes."""

RAW: Final = "\x01"
"""A character that JSON writes with six bytes."""

PLAN: Final[list[JsonValue]] = [{"title": WIDE * 500, "description": RAW * 400} for _ in range(20)]

EDITS: Final[list[JsonValue]] = [{"id": str(number), "details": RAW * 500} for number in range(3, 23)]

ANALYSIS: Final[list[JsonValue]] = [
    {"taskId": number, "complexityScore": 3, "recommendedSubtasks": 2, "reasoning": RAW * 300}
    for number in range(3, 53)
]

CALLS: Final[list[tuple[str, Object]]] = [
    ("initialize_project", {"projectName": WIDE * 2_000}),
    ("get_tasks", {"withSubtasks": True, "limit": 1_000}),
    ("get_tasks", {"withSubtasks": True, "after": "3", "status": "pending"}),
    ("get_task", {"id": ",".join(map(str, range(2, 102)))}),
    ("add_task", {"prompt": WIDE * 20_000}),
    ("add_task", {"title": WIDE * 500, "details": RAW * 10_000, "dependencies": [*range(3, 200)]}),
    ("update_task", {"id": "3", "details": RAW * 10_000}),
    ("update", {"from_": "1", "prompt": RAW * 10_000}),
    ("update", {"from_": "1", "updates": EDITS}),
    ("add_subtask", {"id": "3", "title": WIDE * 500, "details": RAW * 10_000}),
    ("update_subtask", {"id": "1.1", "prompt": RAW * 10_000}),
    ("set_task_status", {"id": ",".join(map(str, range(3, 103))), "status": "review"}),
    ("expand_task", {"id": "4", "subtasks": PLAN}),
    ("parse_prd", {"append": True, "tasks": PLAN}),
    ("expand_all", {"prompt": WIDE * 20_000}),
    ("expand_all", {"expansions": [{"id": str(number), "subtasks": PLAN} for number in range(5, 8)]}),
    ("analyze_project_complexity", {}),
    ("analyze_project_complexity", {"analysis": ANALYSIS}),
    ("complexity_report", {}),
    ("validate_dependencies", {}),
    ("remove_dependency", {"id": "1", "dependsOn": "5"}),
    ("add_dependency", {"id": "290", "dependsOn": "3"}),
    ("move_task", {"from_": "2,3", "to": "1002,1003"}),
    ("move_task", {"from_": "290", "fromTag": "master", "toTag": "t1", "ignoreDependencies": True}),
    ("fix_dependencies", {}),
    ("remove_subtask", {"id": ",".join(f"1.{number}" for number in range(1, 60))}),
    ("clear_subtasks", {"all": True}),
    ("list_tags", {}),
    ("copy_tag", {"sourceName": "huge " + WIDE * 9_000, "targetName": "copied"}),
    ("add_tag", {"name": "added", "description": RAW * 5_000}),
    ("rename_tag", {"oldName": "added", "newName": "renamed"}),
    ("use_tag", {"name": "huge " + WIDE * 9_000}),
    ("use_tag", {"name": "master"}),
    ("delete_tag", {"name": "huge " + WIDE * 9_000}),
    ("generate", {}),
    ("generate", {"background": True}),
    ("get_operation_status", {"operationId": "the last one"}),
    ("cache_stats", {}),
    ("remove_task", {"id": ",".join(map(str, range(100, 200)))}),
]
"""Calls whose answers would be large."""

WHOLE: Final[list[tuple[str, Object]]] = [
    ("get_task", {"id": "1"}),
    ("next_task", {}),
    ("update_task", {"id": "1", "prompt": "Shorten it."}),
    ("expand_task", {"id": "1", "force": True}),
    ("parse_prd", {"append": True}),
]
"""Calls that ask for one task or the document."""


@pytest.fixture
def huge(project: ServedProject) -> ServedProject:
    """A project with more and longer texts than any that a tool would make."""
    parts = [item(number, title=WIDE * 200, parentTaskId=1) for number in range(1, 100)]
    first = item(1, *range(2, 250), details=RAW * 10_000, priority="critical", subtasks=parts)
    others = [
        item(number, *(["lost " + RAW * 150] if number > 250 else []), description=WIDE * 150, status=None)
        for number in range(2, 300)
    ]
    project.write(
        {
            "master": tag(first, *others),
            "huge " + WIDE * 9_000: tag(item(1, status=RAW * 9_000), description=RAW * 10_000),
            **{f"t{number}": tag(item(1), description=RAW * 150) for number in range(150)},
        }
    )
    rows = [{"taskId": number, "complexityScore": 5, "reasoning": WIDE * 150} for number in range(500)]
    project.put(
        ".taskmaster/reports/task-complexity-report.json",
        {"meta": {"projectName": WIDE * 12_000}, "complexityAnalysis": rows},
    )
    document = project.root / ".taskmaster" / "docs" / "prd.txt"
    document.parent.mkdir()
    document.write_text(WIDE * 30_000, "utf-8")
    return project


def sizes(result: CallToolResult) -> Iterator[int]:
    """Yield the bytes of both forms of an answer."""
    yield from (len(part.text.encode()) for part in result.content if isinstance(part, TextContent))
    yield size_of(result.structured_content)


@pytest.mark.requirement("TM-8", "TM-38", "TM-41", "TOOL-9")
async def test_no_answer_about_a_huge_project_is_larger_than_it_may_be(huge: ServedProject) -> None:
    operation = ""
    async with Client(huge.server.sdk) as client:
        for tool, arguments in CALLS:
            given = {"operationId": operation} if tool == "get_operation_status" else named(arguments)
            result = await client.call_tool(tool, given)
            assert not result.is_error, (tool, str(result.structured_content)[:300])
            assert max(sizes(result)) <= MAX_ANSWER, (tool, [*arguments], [*sizes(result)])
            content = result.structured_content
            assert content.keys() - {"warnings"} == {"fromCache", "data"}
            operation = content["data"].get("operationId", operation)
    assert {tool for tool, _ in CALLS} | {tool for tool, _ in WHOLE} == {*SETS["all"]}


@pytest.mark.requirement("TM-39", "TM-41", "TM-67", "TM-68", "TM-70", "TOOL-9")
async def test_one_task_and_the_document_are_whole_however_large(huge: ServedProject) -> None:
    huge.write({"master": tag(item(1, details=RAW * 20_000))})
    for tool, arguments in WHOLE:
        found = str(await huge.call(tool, **arguments))
        text = WIDE * 30_000 if tool == "parse_prd" else repr(RAW * 20_000)[1:-1]
        assert text in found, tool


@pytest.mark.requirement("TM-9", "ERR-1", "TOOL-9")
@pytest.mark.parametrize("long", [RAW * 4_000, "1," * 12_000], ids=["raw", ","])
async def test_no_error_repeats_a_huge_argument(project: ServedProject, long: str) -> None:
    async with Client(project.server.sdk) as client:
        tools = (await client.list_tools()).tools
        known: list[tuple[str, object]] = []
        for tool in tools:
            new = [it for it in tool.input_schema["properties"].items() if it not in known]
            known += new
            for name, _ in new:
                result = await client.call_tool(tool.name, {"id": "1", name: long})
                assert not result.is_error or max(sizes(result)) <= MAX_ANSWER, (tool.name, name)
            result = await client.call_tool(tool.name, {long: long})
            assert result.is_error
            assert max(sizes(result)) <= 8_192, tool.name
