"""Undo of the calls that replace text (AG-7)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from pydantic import JsonValue

from tests.tasks_v1.conftest import ServedStore

FIELDS: Final[dict[str, JsonValue]] = {
    "title": "Paint it",
    "description": "of *brick*",
    "priority": "high",
    "tags": ["a", "b"],
}


@pytest.mark.requirement("AG-7")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("update_task", {"title": "another"}),
        ("update_task", {"description": ""}),
        ("update_task", {"tags": []}),
        ("update_task", {"title": "another", "description": "new", "priority": "low", "tags": ["c"]}),
        ("update_task_status", {"status": "canceled"}),
    ],
)
async def test_what_a_call_replaced_comes_back(tmp_path: Path, tool: str, arguments: dict[str, JsonValue]) -> None:
    served = ServedStore(tmp_path)
    served.restart(task_extra_tools="history")
    task = await served.task("create_task", **FIELDS)
    changed = await served.task(tool, id=task["id"], **arguments)
    assert changed != task
    await served.call("undo_change", change=2)
    after = await served.task("get_task", id=task["id"])
    assert {**after, "updated_at": ""} == {**task, "updated_at": ""}
    assert str(after["updated_at"]) > str(changed["updated_at"])
