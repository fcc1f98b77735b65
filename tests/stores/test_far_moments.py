"""Moments at the ends of the calendar in a store, which a person or another program may write: no tool fails."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from pydantic import JsonValue

from task_core.server.app import TaskServer
from tests.resource_client import read_text
from tests.stores.shops import SHOPS, WORK, Object, Shop, each_shop
from tests.tool_client import OpenClient, ToolFailed, call_tool

FIRST: Final = "0001-01-01T00:00:00Z"
LAST: Final = "9999-12-31T23:59:59.999999Z"

MOMENTS: Final = (FIRST, "0001-01-01T05:00:00+05:00", "9999-12-31T23:59:59Z", "9999-12-31T18:59:59.999999-05:00", LAST)

STAMPED: Final = [shop for shop in SHOPS if shop.stamped]
"""The servers whose tasks have moments."""

STATUSES: Final = {
    "heartbeat": ("Pending", "Running", "Complete", "Fail"),
    "hierarchy": ("todo", "in_progress", "done"),
    "tasks-v1": ("pending", "in_progress", "done", "canceled"),
}


async def work_through(shop: Shop, server: TaskServer, task_ids: list[str]) -> list[str]:
    """Call every tool for every task and return the codes of the errors."""
    codes, cursor, client = list[str](), "", OpenClient(server)
    for task_id in task_ids:
        for tool, arguments in WORK[shop.name]:
            filled: Object = {
                name: {"ID": task_id, "CURSOR": cursor or None}.get(str(value), value)
                for name, value in arguments.items()
            }
            try:
                cursor = str((await client.call(tool, filled)).get("next_cursor") or cursor)
            except ToolFailed as failed:
                codes.append(str(failed).partition(":")[0])
    await client.close()
    for uri in ("tasks://list", "tasks://summary"):
        assert await read_text(server, uri)
    return codes


@pytest.mark.requirement("ERR-1", "L1")
@each_shop
async def test_every_tool_works_with_tasks_from_the_ends_of_the_calendar(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    tasks: list[JsonValue] = []
    ids: list[str] = []
    for number, moment in enumerate(MOMENTS):
        for status in STATUSES[shop.name]:
            stamps: Object = {"created_at": moment, "updated_at": moment}
            ended: Object = {"completed_at": moment} if status in {"Complete", "Fail"} else {}
            ids.append(f"{status.lower()}-{number}")
            tasks.append(shop.task(ids[-1], f"one that is {status}", status=status, **stamps, **ended))
    path.write_bytes(shop.data(*tasks))
    server = shop.build(path)
    assert {"InternalError", "StoreDamaged"}.isdisjoint(await work_through(shop, server, ids))
    await call_tool(server, shop.record.create, {shop.text: "a new one"})
    await call_tool(shop.build(path), shop.record.list, {})


@pytest.mark.requirement("ERR-1", "ST-3")
@pytest.mark.parametrize("shop", STAMPED, ids=lambda shop: shop.name)
async def test_a_moment_beyond_the_calendar_is_damage_that_every_tool_names(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_bytes(data := shop.data(shop.task("a", "one", updated_at="0001-01-01T00:00:00+05:00")))
    server = shop.build(path)
    for tool, arguments in (*WORK[shop.name], (shop.record.create, {shop.text: "x"})):
        with pytest.raises(ToolFailed, match=r"^(StoreDamaged|InvalidArguments): "):
            await call_tool(server, tool, dict(arguments))
    assert path.read_bytes() == data


@pytest.mark.requirement("V1-6")
async def test_a_task_of_the_last_moment_is_changed_and_keeps_it(tmp_path: Path) -> None:
    shop = STAMPED[-1]
    path = tmp_path / "tasks.json"
    path.write_bytes(shop.data(shop.task("a", "one", updated_at=LAST)))
    server = shop.build(path)
    task = (await call_tool(server, "update_task", {"id": "a", "title": "two"}))["task"]
    assert (task["title"], task["updated_at"]) == ("two", LAST)
    assert (await call_tool(server, "list_tasks", {"order_by": "updated_at_desc"}))["total"] == 1
