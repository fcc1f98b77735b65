"""Calls as models write them: each server accepts what can only mean one thing, and teaches what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from pydantic import JsonValue

from tests.servers import program_of
from tests.tool_client import OpenClient

LENIENT: Final[list[tuple[str, str, dict[str, JsonValue], str]]] = [
    ("heartbeat-mcp", "task_list", {"include_completed": "true", "limit": "5", "days_to_keep_completed": "1.5"}, ""),
    ("heartbeat-mcp", "task_create", {"raw_user_request": "x", "ideas": "first, second"}, "ideas"),
    ("hierarchy-mcp", "listTasks", {"depth": "1", "limit": "5.0"}, ""),
    ("hierarchy-mcp", "createTask", {"name": "x", "insertIndex": "0", "constraints": "small, quick"}, "constraints"),
    ("tasks-v1-mcp", "list_tasks", {"limit": "5", "include_description": "false"}, ""),
    ("tasks-v1-mcp", "create_task", {"title": "x", "tags": "garden,roof"}, "tags"),
    ("taskmaster-mcp", "add_task", {"title": "x"}, ""),
    ("taskmaster-mcp", "get_tasks", {"withSubtasks": "true"}, ""),
    ("cortex-mcp", "list_tasks", {"limit": "5"}, ""),
]
"""A server, a tool, arguments of another type than it publishes, and the one that it warns of."""


@pytest.mark.requirement("PE-17")
@pytest.mark.parametrize("name", dict.fromkeys(name for name, *_ in LENIENT))
async def test_every_server_takes_text_for_numbers_and_booleans(name: str, tmp_path: Path) -> None:
    client = OpenClient(program_of(name).built(tmp_path))
    for _, tool, arguments, warned in (case for case in LENIENT if case[0] == name):
        warnings = [text for text in (await client.call(tool, arguments)).get("warnings", []) if "commas" in text]
        assert [f"'{warned}'" in text for text in warnings] == [True] * bool(warned)
