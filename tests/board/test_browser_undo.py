"""The message after a change, and the history of a task, undo changes without a mouse, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from playwright.async_api import expect

from tests.board.browser_session import focus_on, open_session, press
from tests.servers import ServerRecord, record_of

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("_browser")]

VIEWS: Final = [record_of("tasks-v1"), record_of("hierarchy")]

each_view = pytest.mark.parametrize("record", VIEWS, ids=lambda record: record.name)


@pytest.mark.requirement("PE-7")
@each_view
async def test_a_new_and_a_renamed_task_are_undone_by_a_key(record: ServerRecord, tmp_path: Path) -> None:
    async with open_session(record, tmp_path) as session:
        tab = await session.tab()
        await press(tab, "n")
        await tab.fill(**{record.text: "Buy milk"})
        await expect(tab.saying).to_have_text("Created 'Buy milk'")
        await press(tab, "u")
        await expect(tab.saying).to_have_text("Undid a change to 'Buy milk'")
        await expect(tab.card("Buy milk")).to_have_count(0)
        await press(tab, "u")
        await expect(tab.card("Buy milk")).to_have_count(1)
        await focus_on(tab, "Buy milk")
        await press(tab, "e")
        await tab.fill(**{record.text: "Buy bread"})
        await expect(tab.card("Buy bread")).to_have_count(1)
        await press(tab, "u")
        await expect(tab.card("Buy milk")).to_have_count(1)
        assert tab.faults == []


@pytest.mark.requirement("PE-7")
async def test_a_started_card_goes_back_and_forth_with_one_button(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent = session.agent()
        await agent.create("Buy milk")
        tab = await session.tab()
        await focus_on(tab, "Buy milk")
        await press(tab, "Shift+ArrowRight")
        await expect(tab.saying).to_have_text("Started 'Buy milk'")
        assert await tab.violations() == []
        await focus_on(tab, "Undo")
        for column in ("pending", "in_progress"):
            await press(tab, "Enter")
            await expect(tab.column(column).locator(".card")).to_have_count(1)
            await expect(tab.saying).to_have_text("Undid a change to 'Buy milk'")
            await expect(tab.page.locator(".saying .undo")).to_be_focused()
        assert tab.faults == []


@pytest.mark.requirement("PE-7")
async def test_a_moved_and_a_removed_tree_come_back(tmp_path: Path) -> None:
    async with open_session(record_of("hierarchy"), tmp_path) as session:
        agent = session.agent()
        release = await agent.create("Release", tasks=[{"name": "Build"}])
        await agent.create("Party")
        before = await agent.get(release)
        tab = await session.tab()
        await focus_on(tab, "Party")
        await press(tab, "Shift+ArrowUp")
        await expect(tab.page.locator(".row").first).to_contain_text("Party")
        await press(tab, "u")
        await expect(tab.page.locator(".row").first).to_contain_text("Release")
        await focus_on(tab, "Release")
        await press(tab, "Enter")
        await focus_on(tab, "Remove")
        await press(tab, "Enter")
        await expect(tab.sheet.locator("button[type=submit]")).to_be_focused()
        await press(tab, "Enter")
        await expect(tab.card("Build")).to_have_count(0)
        await press(tab, "u")
        await expect(tab.card("Build")).to_have_count(1)
        assert await agent.get(release) == before
        assert tab.faults == []


@pytest.mark.requirement("PE-7")
async def test_an_undo_that_comes_too_late_says_why(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent = session.agent()
        task_id = await agent.create("Buy milk")
        tab = await session.tab()
        await focus_on(tab, "Buy milk")
        await press(tab, "Shift+ArrowRight")
        await expect(tab.saying).to_have_text("Started 'Buy milk'")
        await agent.call("update_task_status", id=task_id, status="done")
        await press(tab, "u")
        await expect(tab.saying).to_have_text(
            "Nothing was undone: Status of 'Buy milk' has changed since. It is now: Done"
        )
        assert (await agent.get(task_id))["status"] == "done"
        assert tab.faults == []


@pytest.mark.requirement("PE-15")
@pytest.mark.parametrize(("is_dark", "width"), [(False, 1280), (True, 360)])
async def test_the_history_of_a_task_is_opened_read_and_undone(tmp_path: Path, width: int, *, is_dark: bool) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent = session.agent()
        task_id = await agent.create("Buy milk")
        tab = await session.tab(is_dark=is_dark, width=width)
        await focus_on(tab, "Buy milk")
        await press(tab, "Enter")
        await expect(tab.sheet.locator(".history li")).to_have_count(0)
        await focus_on(tab, "History")
        await press(tab, "Enter")
        await expect(tab.sheet.locator(".history ol > li")).to_have_count(1)
        await agent.call("update_task", id=task_id, title="Buy bread")
        entries = tab.sheet.locator(".history ol > li")
        await expect(entries).to_have_count(2)
        await expect(entries.first).to_contain_text("Title: Buy milk → Buy bread")
        await expect(entries.first.locator("time")).not_to_contain_text("T")
        assert await tab.violations() == []
        await entries.first.get_by_role("button", name="Undo").focus()
        await press(tab, "Enter")
        await expect(tab.card("Buy milk")).to_have_count(1)
        await expect(tab.saying).to_have_text("Undid a change to 'Buy milk'")
        assert tab.faults == []
