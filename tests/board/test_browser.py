"""The board in a real browser: every action by mouse and by keyboard, on every server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from playwright.async_api import expect

from tests.board.board_client import FIRST_STATUS
from tests.board.browser_session import BoardTab, focus_on, open_session, press
from tests.servers import SERVERS, ServerRecord, record_of

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("_browser")]

LISTS: Final = [record_of("tasks-v1"), record_of("heartbeat")]
TREES: Final = [record_of("hierarchy"), record_of("taskmaster")]
STARTED: Final = {"heartbeat": "Running", "hierarchy": "in_progress", "taskmaster": "in-progress"} | {
    "tasks-v1": "in_progress"
}

each_list = pytest.mark.parametrize("record", LISTS, ids=lambda record: record.name)
each_tree = pytest.mark.parametrize("record", TREES, ids=lambda record: record.name)
each_server = pytest.mark.parametrize("record", SERVERS, ids=lambda record: record.name)
each_view = pytest.mark.parametrize("record", [LISTS[0], TREES[0]], ids=lambda record: record.name)


@each_server
async def test_a_task_is_created_opened_edited_and_started_by_mouse(record: ServerRecord, tmp_path: Path) -> None:
    async with open_session(record, tmp_path) as session:
        tab, agent = await session.tab(), session.agent()
        await tab.create(**{record.text: "Buy milk"})
        await expect(tab.saying).to_have_text("Created 'Buy milk'")
        await tab.card("Buy milk").locator(".open").click()
        await tab.sheet.locator("[data-action=edit]").click()
        await tab.fill(**{record.text: "Buy bread"})
        await expect(tab.card("Buy bread")).to_have_count(1)
        await tab.card("Buy bread").locator(".open").click()
        await tab.sheet.locator("[data-action=start]").click()
        await expect(tab.saying).to_have_text("Started 'Buy bread'")
        task_id = await tab.page.locator("[data-id]").first.get_attribute("data-id")
        task = await agent.get(str(task_id))
        assert (task[record.text], task["status"]) == ("Buy bread", STARTED[record.name])
        assert tab.faults == []


@each_view
async def test_a_task_is_created_opened_edited_and_started_by_keyboard(record: ServerRecord, tmp_path: Path) -> None:
    async with open_session(record, tmp_path) as session:
        tab, agent = await session.tab(), session.agent()
        await focus_on(tab, "New task")
        await press(tab, "Enter")
        await expect(tab.sheet.locator(f"#f-{record.text}")).to_be_focused()
        await tab.page.keyboard.type("Buy milk")
        await focus_on(tab, "Save")
        await press(tab, "Enter")
        await expect(tab.card("Buy milk")).to_have_count(1)
        await expect(tab.page.locator("#new")).to_be_focused()
        await focus_on(tab, "Buy milk")
        await press(tab, "Enter")
        await expect(tab.sheet.locator("h2")).to_be_focused()
        await focus_on(tab, "Edit")
        await press(tab, "Enter")
        await expect(tab.sheet.locator(f"#f-{record.text}")).to_be_focused()
        await press(tab, "Control+End")
        await tab.page.keyboard.type(" and bread")
        await focus_on(tab, "Save")
        await press(tab, "Enter")
        await expect(tab.card("Buy milk and bread").locator(".open")).to_be_focused()
        await press(tab, "Enter")
        await expect(tab.sheet.locator("h2")).to_be_focused()
        await focus_on(tab, "Start")
        await press(tab, "Enter")
        await expect(tab.saying).to_have_text("Started 'Buy milk and bread'")
        await expect(tab.card("Buy milk and bread").locator(".open")).to_be_focused()
        task_id = await tab.page.locator("[data-id]").first.get_attribute("data-id")
        assert (await agent.get(str(task_id)))["status"] == STARTED[record.name]
        await press(tab, "Enter")
        await expect(tab.sheet).to_be_visible()
        await press(tab, "Escape")
        await expect(tab.card("Buy milk and bread").locator(".open")).to_be_focused()
        assert tab.faults == []


@each_list
async def test_a_card_is_dragged_into_another_column(record: ServerRecord, tmp_path: Path) -> None:
    async with open_session(record, tmp_path) as session:
        agent = session.agent()
        task_id = await agent.create("Buy milk")
        tab = await session.tab()
        await tab.drag(tab.card("Buy milk"), tab.column(STARTED[record.name]))
        await expect(tab.column(STARTED[record.name]).locator(".card")).to_have_count(1)
        assert (await agent.get(task_id))["status"] == STARTED[record.name]
        assert tab.faults == []


async def test_a_card_is_moved_to_the_next_column_and_reached_by_arrow_keys(tmp_path: Path) -> None:
    record = record_of("tasks-v1")
    async with open_session(record, tmp_path) as session:
        agent = session.agent()
        for text in ("Buy milk", "Read mail", "Write report"):
            await agent.create(text)
        tab = await session.tab()
        first = await tab.page.locator(".card .text").first.inner_text()
        await focus_on(tab, first)
        await press(tab, "Shift+ArrowRight")
        await expect(tab.column(STARTED[record.name]).locator(".card")).to_have_count(1)
        await expect(tab.card(first).locator(".open")).to_be_focused()
        await press(tab, "ArrowLeft")
        pending = tab.column(FIRST_STATUS[record.name]).locator(".open")
        await expect(pending.nth(0)).to_be_focused()
        await press(tab, "ArrowDown")
        await expect(pending.nth(1)).to_be_focused()
        await press(tab, "ArrowDown", "ArrowUp")
        await expect(pending.nth(0)).to_be_focused()
        await press(tab, "ArrowRight")
        await expect(tab.card(first).locator(".open")).to_be_focused()
        assert tab.faults == []


async def test_a_column_that_the_rules_forbid_does_not_light_up_and_is_passed_over_by_keyboard(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent = session.agent()
        task_id = await agent.create("Buy milk")
        tab = await session.tab()
        await tab.card("Buy milk").hover()
        await tab.page.mouse.down()
        lit = tab.page.locator(".column.over")
        for status, count in (("in_progress", 1), ("done", 0), ("canceled", 1), ("done", 0)):
            await tab.column(status).hover()
            await tab.column(status).hover()
            await expect(lit).to_have_count(count)
        await tab.page.mouse.up()
        assert (await agent.get(task_id))["status"] == "pending"
        await agent.call("update_task_status", id=task_id, status="in_progress")
        await expect(tab.column("in_progress").locator(".card")).to_have_count(1)
        await agent.call("update_task_status", id=task_id, status="done")
        await expect(tab.column("done").locator(".card")).to_have_count(1)
        await focus_on(tab, "Buy milk")
        await press(tab, "Shift+ArrowLeft", "Shift+ArrowRight")
        await expect(tab.column("canceled").locator(".card")).to_have_count(1)
        assert tab.faults == []


async def test_a_completion_that_needs_a_word_asks_for_it(tmp_path: Path) -> None:
    record = record_of("hierarchy")
    async with open_session(record, tmp_path) as session:
        agent = session.agent()
        task_id = await agent.create("Release")
        tab = await session.tab()
        await tab.card("Release").locator(".open").click()
        await tab.sheet.locator("[data-action=complete]").click()
        await tab.fill()
        await expect(tab.sheet.locator("[role=alert]")).to_contain_text("Resolution: This is required.")
        await tab.fill(resolution="Shipped")
        await expect(tab.card("Release")).to_contain_text("Done")
        assert (await agent.get(task_id))["resolution"] == "Shipped"


async def test_a_removal_asks_and_can_be_called_off(tmp_path: Path) -> None:
    async with open_session(record_of("hierarchy"), tmp_path) as session:
        agent = session.agent()
        await agent.create("Release")
        tab = await session.tab()
        await tab.card("Release").locator(".open").click()
        await tab.sheet.locator("[data-action=remove]").click()
        await tab.sheet.get_by_role("button", name="Cancel").click()
        await expect(tab.sheet).not_to_be_visible()
        assert await agent.texts() == ["Release"]
        await tab.card("Release").locator(".open").click()
        await tab.sheet.locator("[data-action=remove]").click()
        await tab.sheet.locator("button[type=submit]").click()
        await expect(tab.page.locator("#tasks")).to_contain_text("No tasks here yet.")
        await expect(tab.page.locator("#tasks")).to_be_focused()
        assert tab.faults == []


@each_tree
async def test_a_tree_is_opened_and_walked_by_mouse_and_keyboard(record: ServerRecord, tmp_path: Path) -> None:
    async with open_session(record, tmp_path) as session:
        agent = session.agent()
        await agent.create("Release")
        await agent.create("Party")
        tab = await session.tab()
        await tab.card("Release").locator(".open").click()
        await tab.sheet.locator("[data-action=create_below]").click()
        await tab.fill(**{record.text: "Build"})
        await expect(tab.card("Build")).to_have_count(1)
        await tab.card("Release").locator("button.toggle").click()
        await expect(tab.card("Build")).to_have_count(0)
        await focus_on(tab, "Release")
        await press(tab, "ArrowRight")
        await expect(tab.card("Build")).to_have_count(1)
        await press(tab, "ArrowRight")
        await expect(tab.card("Build").locator(".open")).to_be_focused()
        await press(tab, "ArrowDown")
        await expect(tab.card("Party").locator(".open")).to_be_focused()
        await press(tab, "ArrowUp", "ArrowLeft")
        await expect(tab.card("Release").locator(".open")).to_be_focused()
        await press(tab, "ArrowLeft")
        await expect(tab.card("Build")).to_have_count(0)
        assert tab.faults == []


async def outline(tab: BoardTab) -> str:
    """Return the tree as text: two dots before a task for each task above it."""
    return await tab.page.evaluate(
        """[...document.querySelectorAll(".node")].map((node) => {
          let depth = 0;
          for (let it = node.parentElement.closest(".node"); it; it = it.parentElement.closest(".node")) depth += 1;
          return "..".repeat(depth) + node.querySelector(".text").textContent;
        }).join(" ")"""
    )


async def shows(tab: BoardTab, expected: str) -> None:
    """Wait until the tree looks as expected."""
    for _ in range(600):  # 30 s, like every other wait of these tests
        if await outline(tab) == expected:
            return
        await tab.page.wait_for_timeout(50)
    assert await outline(tab) == expected


async def test_tasks_are_moved_within_a_tree_by_keyboard(tmp_path: Path) -> None:
    async with open_session(record_of("hierarchy"), tmp_path) as session:
        agent = session.agent()
        for name in "ABC":
            await agent.create(name)
        tab = await session.tab()
        await focus_on(tab, "C")
        for keys, expected in (
            ("Shift+ArrowUp", "A C B"),
            ("Shift+ArrowRight", "A ..C B"),
            ("Shift+ArrowLeft", "A C B"),
            ("Shift+ArrowDown", "A B C"),
            ("Shift+ArrowRight", "A B ..C"),
        ):
            await press(tab, keys)
            await shows(tab, expected)
            await expect(tab.page.locator(".open", has_text="C")).to_be_focused()
        assert tab.faults == []


async def test_tasks_are_moved_within_a_tree_by_mouse(tmp_path: Path) -> None:
    async with open_session(record_of("hierarchy"), tmp_path) as session:
        agent = session.agent()
        for name in "ABC":
            await agent.create(name)
        tab = await session.tab()
        rows = tab.page.locator(".row")
        await tab.drag(rows.nth(2), rows.nth(0), y=30)
        await shows(tab, "A ..C B")
        await tab.drag(rows.nth(2), rows.nth(1), y=3, mark="before")
        await shows(tab, "A ..B ..C")
        await tab.drag(rows.nth(2), tab.page.locator(".drop-top"))
        await shows(tab, "A ..B C")
        assert tab.faults == []


async def test_tasks_are_moved_within_a_tree_by_buttons(tmp_path: Path) -> None:
    async with open_session(record_of("hierarchy"), tmp_path) as session:
        agent = session.agent()
        for name in "ABC":
            await agent.create(name)
        tab = await session.tab(width=360)
        for button, expected in (
            ("Up", "A C B"),
            ("Below the task before it", "A ..C B"),
            ("One level up", "A C B"),
            ("Down", "A B C"),
        ):
            await tab.page.locator(".open", has_text="C").click()
            await tab.sheet.get_by_role("button", name=button, exact=True).click()
            await shows(tab, expected)
            await expect(tab.page.locator(".open", has_text="C")).to_be_focused()
        assert tab.faults == []


async def test_a_filtered_task_moves_past_the_next_one_that_is_shown(tmp_path: Path) -> None:
    async with open_session(record_of("hierarchy"), tmp_path) as session:
        agent = session.agent()
        for name in ("A", "hidden", "B", "hidden"):
            await agent.create(name if name == "hidden" else f"Show {name}")
        tab = await session.tab()
        await tab.page.locator("#q").fill("show")
        await shows(tab, "Show A Show B")
        await focus_on(tab, "Show A")
        await press(tab, "Shift+ArrowDown")
        await shows(tab, "Show B Show A")
        assert await agent.texts() == ["hidden", "Show B", "Show A", "hidden"]
        assert tab.faults == []


async def test_a_form_that_is_filled_in_is_not_closed_without_a_question(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        tab = await session.tab()
        await tab.page.locator("#new").click()
        await tab.sheet.locator("#f-title").fill("Buy milk")
        await press(tab, "Escape")
        await expect(tab.sheet.locator("#f-title")).to_have_value("Buy milk")
        await tab.sheet.locator("#f-title").fill("Buy bread")
        tab.accepts_dialogs = True
        await press(tab, "Escape")
        await expect(tab.sheet).not_to_be_visible()
        assert tab.faults == ["dialog: Close the form and lose what you entered?"] * 2


async def test_task_master_takes_tasks_in_and_out(tmp_path: Path) -> None:
    async with open_session(record_of("taskmaster"), tmp_path) as session:
        agent = session.agent()
        for name in "AB":
            await agent.create(name)
        tab = await session.tab()
        rows = tab.page.locator(".row")
        await tab.drag(rows.nth(1), rows.nth(0))
        await shows(tab, "A ..B")
        await tab.drag(rows.nth(1), tab.page.locator(".drop-top"))
        await shows(tab, "A B")
        await focus_on(tab, "B")
        await press(tab, "Shift+ArrowUp")
        await expect(tab.saying).to_have_text("This server does not order tasks. Nothing was changed.")
        assert tab.faults == []


@each_view
async def test_tasks_are_searched_and_filtered(record: ServerRecord, tmp_path: Path) -> None:
    async with open_session(record, tmp_path) as session:
        agent = session.agent()
        for text in ("Milk 1.50", "Bread 1.50", "Read mail"):
            await agent.create(text)
        tab = await session.tab()
        await tab.page.locator("#q").press_sequentially("1.")  # ids are searched too, and none has a full stop
        await expect(tab.card("1.50")).to_have_count(2)
        await expect(tab.card("Read mail")).to_have_count(0)
        await expect(tab.page.locator("#live")).to_have_text("Tasks found: 2")
        await tab.page.locator("#q").press_sequentially("5")
        await expect(tab.page).to_have_url(re.compile(r"\?q=1\.5$"))
        await tab.page.reload()
        await expect(tab.card("1.50")).to_have_count(2)
        await expect(tab.card("Read mail")).to_have_count(0)
        await tab.page.locator("#q").fill("")
        await tab.page.locator("#status").select_option("open")
        await expect(tab.card("Read mail")).to_have_count(1)
        await tab.page.locator("#status").select_option(STARTED[record.name])
        await expect(tab.page.locator(".card, .row")).to_have_count(0)
        await expect(tab.page.locator("#live")).to_have_text("No task matches.")
        assert tab.faults == []


async def test_more_of_a_long_column_comes_on_request_and_stays(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent = session.agent()
        for number in range(60):
            await agent.create(f"Task {number}")
        tab = await session.tab()
        await expect(tab.page.locator(".card")).to_have_count(50)
        await tab.page.get_by_role("button", name="Show 10 more").click()
        await expect(tab.page.locator(".card")).to_have_count(60)
        await agent.create("One more")
        await expect(tab.page.locator(".card")).to_have_count(61)
        assert tab.faults == []
