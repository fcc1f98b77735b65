"""What a model is shown of the tools, and what it costs (TOOL-1, TOOL-4)."""

import json

import pytest
from mcp.client import Client
from mcp_types import Tool

from tests.tasks_v1.conftest import ServedStore

MODEL_VISIBLE = 4_300
"""Bytes of all tools together (TOOL-4)."""

OUTPUT_SCHEMA = 700
"""Bytes of the output schema of one tool (TOOL-4)."""


def size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


async def tools_of(served: ServedStore) -> list[Tool]:
    async with Client(served.restart().sdk, mode=served.era) as client:
        return (await client.list_tools()).tools


@pytest.mark.requirement("TOOL-4")
async def test_the_tools_cost_no_more_than_they_may(served: ServedStore) -> None:
    tools = await tools_of(served)
    shown = [
        {"name": tool.name, "title": tool.title, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in tools
    ]
    assert size(shown) <= MODEL_VISIBLE
    assert [tool.name for tool in tools if size(tool.output_schema) > OUTPUT_SCHEMA] == []
    assert [tool.name for tool in tools if tool.output_schema is None or "$ref" in json.dumps(tool.output_schema)] == []


@pytest.mark.requirement("TOOL-1", "TOOL-2")
async def test_every_tool_says_what_it_does_and_is_closed(served: ServedStore) -> None:
    for tool in await tools_of(served):
        assert tool.description
        assert tool.input_schema["additionalProperties"] is False
        assert tool.annotations
        hints = tool.annotations
        assert None not in (
            hints.read_only_hint,
            hints.destructive_hint,
            hints.idempotent_hint,
            hints.open_world_hint,
        )


@pytest.mark.requirement("TOOL-1")
async def test_reading_is_marked_as_reading(served: ServedStore) -> None:
    tools = await tools_of(served)
    assert [t.name for t in tools if t.annotations and t.annotations.read_only_hint] == ["list_tasks", "get_task"]
    assert [t.name for t in tools if t.annotations and not t.annotations.idempotent_hint] == ["create_task"]


@pytest.mark.requirement("V1-1", "V1-2", "V1-5")
async def test_what_can_be_given_is_what_the_specification_says(served: ServedStore) -> None:
    fields = ["title", "description", "category", "priority", "tags", "topic_id", "source"]
    assert {tool.name: list(tool.input_schema["properties"]) for tool in await tools_of(served)} == {
        "create_task": [*fields, "status"],
        "list_tasks": [
            "status",
            "category",
            "topic_id",
            "tags_any",
            "priority",
            "query",
            "order_by",
            "limit",
            "cursor",
            "include_description",
        ],
        "update_task_status": ["id", "status"],
        "get_task": ["id"],
        "update_task": ["id", *fields],
    }


@pytest.mark.requirement("TOOL-1")
async def test_the_instructions_say_how_the_tools_work_together(served: ServedStore) -> None:
    async with Client(served.restart().sdk, mode=served.era) as client:
        instructions = client.instructions
    assert instructions
    assert "in_progress" in instructions
    assert len(instructions) < 500
