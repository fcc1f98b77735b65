"""Calls as models write them: each server accepts what can only mean one thing, and teaches what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from mcp.client import Client
from pydantic import JsonValue

from tests.servers import program_of, record_of
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


WORDS: Final[list[tuple[str, str, dict[str, JsonValue], str, str]]] = [
    ("heartbeat-mcp", "task_update", {"updates": {"status": "running"}}, "task_id", "Running"),
    ("tasks-v1-mcp", "update_task_status", {"status": "In-Progress"}, "id", "in_progress"),
    ("hierarchy-mcp", "updateTask", {"status": "To-Do"}, "id", "todo"),
    ("taskmaster-mcp", "set_task_status", {"status": "in_progress"}, "id", "in-progress"),
]
"""A server, the tool that sets a status, the status as a model writes it, the name of the id, and the stored word."""


@pytest.mark.requirement("PE-18")
@pytest.mark.parametrize(("name", "tool", "arguments", "key", "word"), WORDS, ids=[name for name, *_ in WORDS])
async def test_a_status_may_be_written_another_way(
    name: str, tool: str, arguments: dict[str, JsonValue], key: str, word: str, tmp_path: Path
) -> None:
    record = record_of(name)
    client = OpenClient(record.built(tmp_path))
    task_id = record.task_id(await client.call(record.create, {record.text: "x"}))
    await client.call(tool, {key: task_id, **arguments})
    found = record.unwrap(await client.call(record.get, record.call(record.get, task_id)))
    assert found.get("task", found)["status"] == word


async def test_the_filter_of_cortex_takes_another_spelling_too(tmp_path: Path) -> None:
    await OpenClient(program_of("cortex-mcp").built(tmp_path)).call("list_tasks", {"status": ["in-progress"]})


TAUGHT: Final[list[tuple[str, str, dict[str, JsonValue], str]]] = [
    ("heartbeat-mcp", "task_update", {"task_id": "x", "updates": {}, "status": "Running"}, "Put it in 'updates'"),
    ("heartbeat-mcp", "task_create", {"raw_user_request": "x", "status": "Running"}, "a task starts Pending"),
    ("hierarchy-mcp", "startTask", {"id": "x", "force": True}, "There are: id"),
    ("tasks-v1-mcp", "get_task", {"id": "x", "depth": 1}, "There are: id"),
    ("taskmaster-mcp", "expand_task", {"id": "1", "title": "x"}, "Put it in 'subtasks'"),
    ("cortex-mcp", "start_task", {"task_id": 1, "depth": 1}, "There are: task_id, directory"),
]
"""A server, a tool, arguments that are refused, and what the error teaches."""


@pytest.mark.requirement("PE-18")
@pytest.mark.parametrize(("name", "tool", "arguments", "lesson"), TAUGHT)
async def test_an_error_says_where_an_argument_belongs(
    name: str, tool: str, arguments: dict[str, JsonValue], lesson: str, tmp_path: Path
) -> None:
    result = await OpenClient(program_of(name).built(tmp_path)).result(tool, arguments)
    assert result.is_error
    assert lesson in str(result.content)


SPELLINGS: Final[list[JsonValue]] = ["open", ["open"], '["Open", "pending"]']
"""Ways to ask for the open tasks."""


@pytest.mark.requirement("PE-19")
async def test_the_open_tasks_are_one_filter(tmp_path: Path) -> None:
    client = OpenClient(record_of("tasks-v1-mcp").built(tmp_path))
    for status in ("pending", "in_progress", "canceled"):
        made = await client.call("create_task", {"title": status})
        await client.call("update_task_status", {"id": made["task"]["id"], "status": status})
    for asked in SPELLINGS:
        listed = await client.call("list_tasks", {"status": asked})
        assert (listed["total"], [task["title"] for task in listed["tasks"]]) == (2, ["in_progress", "pending"])
    assert (await client.call("list_tasks", {"status": ["open", "canceled"]}))["total"] == 3


LOSSES: Final = [
    ("hierarchy-mcp", "deleteTask", "with all its subtasks"),
    ("hierarchy-mcp", "updateTask", "reopen it with all leaves below"),
    ("taskmaster-mcp", "expand_task", "force replaces"),
    ("taskmaster-mcp", "parse_prd", "force replaces"),
    ("cortex-mcp", "complete_task", "remove the branch"),
]
"""A server, a tool that can lose something, and the words of its description for that."""


@pytest.mark.requirement("PE-19")
@pytest.mark.parametrize(("name", "tool", "words"), LOSSES)
async def test_a_description_says_what_its_tool_can_lose(name: str, tool: str, words: str, tmp_path: Path) -> None:
    async with Client(program_of(name).built(tmp_path).sdk) as client:
        (found,) = [listed for listed in (await client.list_tools()).tools if listed.name == tool]
    assert words in str(found.description)
