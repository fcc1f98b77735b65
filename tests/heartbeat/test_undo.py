"""Who made a change of the to-do list, and what HEARTBEAT.md shows once it was undone (AG-3, AG-6, AG-7)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import JsonValue

from task_core.server.app import TaskServer
from tests.heartbeat.conftest import Desk, call
from tests.tool_client import ToolFailed


def serve(desk: Desk, **settings: str) -> TaskServer:
    return desk.server(task_extra_tools="history", **settings)


async def changes(server: TaskServer) -> list[dict[str, Any]]:
    return (await call(server, "task_history"))["changes"]


async def undo(server: TaskServer) -> None:
    await call(server, "undo_change", change=(await changes(server))[0]["change"])


@pytest.mark.requirement("AG-3")
async def test_bullets_ticks_and_the_clean_up_are_changes_of_their_own(kept_desk: Desk) -> None:
    kept_desk.heartbeat.write_text("## TODO\n\n- Buy milk\n")
    server = serve(kept_desk)
    (milk,) = (await call(server, "task_list"))["tasks"]
    shown = kept_desk.heartbeat.read_text()
    kept_desk.heartbeat.write_text(shown.replace("- [Pending]", "- [x]"))
    await call(server, "task_create", raw_user_request="Call them")
    kept_desk.now += timedelta(days=30)
    await call(serve(kept_desk), "task_list")
    found = [(change["by"], change["tool"], change["tasks"][0]["id"]) for change in await changes(server)]
    assert found[0] == ("heartbeat-mcp", "clean-up", milk["id"])
    assert found[1][1] == "task_create"
    assert found[2:] == [("outside", "", milk["id"]), ("outside", "", milk["id"])]


@pytest.mark.requirement("AG-6", "AG-7")
@pytest.mark.parametrize(
    "updates",
    [
        {"result": "another"},
        {"result": None, "ideas": []},
        {"raw_user_request": "another"},
        {"status": "Complete", "result": "another"},
        {"extra_fields": {"a": None}},
    ],
)
async def test_what_an_update_replaced_comes_back_and_the_file_shows_it(
    kept_desk: Desk, updates: dict[str, JsonValue]
) -> None:
    server = serve(kept_desk)
    task = await call(server, "task_create", raw_user_request="Paint it", ideas=["red"], extra_fields={"a": 1})
    task = await call(server, "task_update", task_id=task["id"], updates={"status": "Running", "result": "half"})
    shown = kept_desk.heartbeat.read_text()
    assert (await call(server, "task_update", task_id=task["id"], updates=updates)) != task
    await undo(server)
    after = await call(server, "task_get", task_id=task["id"])
    assert {**after, "updated_at": ""} == {**task, "updated_at": ""}
    assert kept_desk.heartbeat.read_text() == shown


@pytest.mark.requirement("AG-6")
async def test_no_undo_changes_an_archived_task_or_takes_back_a_clean_up_that_is_still_due(
    kept_desk: Desk,
) -> None:
    server = serve(kept_desk)
    task = (await call(server, "task_create", raw_user_request="Paint it"))["id"]
    await call(server, "task_update", task_id=task, updates={"status": "Complete", "result": "red"})
    kept_desk.now += timedelta(days=30)
    server = serve(kept_desk)
    await call(server, "task_list")
    cleaned, completed, _ = await changes(server)
    with pytest.raises(ToolFailed, match="NotUndone"):
        await call(server, "undo_change", change=completed["change"])
    with pytest.raises(ToolFailed, match="was finished so long ago that the next call would archive it again"):
        await call(server, "undo_change", change=cleaned["change"])
    server = serve(kept_desk, task_retention_days="60")
    await call(server, "undo_change", change=cleaned["change"])
    assert [it["id"] for it in (await call(server, "task_list", include_completed=True))["tasks"]] == [task]
    every = (await call(server, "task_list", include_archived=True, include_completed=True))["tasks"]
    assert [it["id"] for it in every] == [task]
