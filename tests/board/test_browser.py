"""The board in a real browser: every action by mouse and by keyboard, on every server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from playwright.async_api import expect

from tests.board.desk import FIRST_STATUS
from tests.board.window import Window, open_scene
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


async def focus_on(window: Window, text: str) -> None:
    """Go to a task with the Tab key alone."""
    for _ in range(60):
        focused = await window.page.evaluate("document.activeElement.textContent.trim()")
        if focused == text:
            return
        await window.page.keyboard.press("Tab")
    raise AssertionError(f"Tab never came to {text}")


async def press(window: Window, *keys: str) -> None:
    for key in keys:
        await window.page.keyboard.press(key)


@each_server
async def test_a_task_is_created_opened_edited_and_started_by_mouse(record: ServerRecord, tmp_path: Path) -> None:
    async with open_scene(record, tmp_path) as scene:
        window, agent = await scene.window(), scene.agent()
        await window.create(**{record.text: "Buy milk"})
        await expect(window.saying).to_have_text("Done: New task")
        await window.card("Buy milk").locator(".open").click()
        await window.sheet.locator("[data-action=edit]").click()
        await window.fill(**{record.text: "Buy bread"})
        await expect(window.card("Buy bread")).to_have_count(1)
        await window.card("Buy bread").locator(".open").click()
        await window.sheet.locator("[data-action=start]").click()
        await expect(window.saying).to_have_text("Done: Start")
        task_id = await window.page.locator("[data-id]").first.get_attribute("data-id")
        task = await agent.get(str(task_id))
        assert (task[record.text], task["status"]) == ("Buy bread", STARTED[record.name])
        assert window.faults == []


@each_view
async def test_a_task_is_created_opened_edited_and_started_by_keyboard(record: ServerRecord, tmp_path: Path) -> None:
    async with open_scene(record, tmp_path) as scene:
        window, agent = await scene.window(), scene.agent()
        await focus_on(window, "New task")
        await press(window, "Enter")
        await expect(window.sheet.locator(f"#f-{record.text}")).to_be_focused()
        await window.page.keyboard.type("Buy milk")
        await focus_on(window, "Save")
        await press(window, "Enter")
        await expect(window.card("Buy milk")).to_have_count(1)
        await expect(window.page.locator("#new")).to_be_focused()
        await focus_on(window, "Buy milk")
        await press(window, "Enter")
        await expect(window.sheet.locator("h2")).to_be_focused()
        await focus_on(window, "Edit")
        await press(window, "Enter")
        await expect(window.sheet.locator(f"#f-{record.text}")).to_be_focused()
        await press(window, "Control+End")
        await window.page.keyboard.type(" and bread")
        await focus_on(window, "Save")
        await press(window, "Enter")
        await expect(window.card("Buy milk and bread").locator(".open")).to_be_focused()
        await press(window, "Enter")
        await expect(window.sheet.locator("h2")).to_be_focused()
        await focus_on(window, "Start")
        await press(window, "Enter")
        await expect(window.saying).to_have_text("Done: Start")
        await expect(window.card("Buy milk and bread").locator(".open")).to_be_focused()
        task_id = await window.page.locator("[data-id]").first.get_attribute("data-id")
        assert (await agent.get(str(task_id)))["status"] == STARTED[record.name]
        await press(window, "Enter")
        await expect(window.sheet).to_be_visible()
        await press(window, "Escape")
        await expect(window.card("Buy milk and bread").locator(".open")).to_be_focused()
        assert window.faults == []


@each_list
async def test_a_card_is_dragged_into_another_column(record: ServerRecord, tmp_path: Path) -> None:
    async with open_scene(record, tmp_path) as scene:
        agent = scene.agent()
        task_id = await agent.create("Buy milk")
        window = await scene.window()
        await window.card("Buy milk").drag_to(window.column(STARTED[record.name]))
        await expect(window.column(STARTED[record.name]).locator(".card")).to_have_count(1)
        assert (await agent.get(task_id))["status"] == STARTED[record.name]
        assert window.faults == []


async def test_a_card_is_moved_to_the_next_column_and_reached_by_arrow_keys(tmp_path: Path) -> None:
    record = record_of("tasks-v1")
    async with open_scene(record, tmp_path) as scene:
        agent = scene.agent()
        for text in ("Buy milk", "Read mail", "Write report"):
            await agent.create(text)
        window = await scene.window()
        first = await window.page.locator(".card .text").first.inner_text()
        await focus_on(window, first)
        await press(window, "Shift+ArrowRight")
        await expect(window.column(STARTED[record.name]).locator(".card")).to_have_count(1)
        await expect(window.card(first).locator(".open")).to_be_focused()
        await press(window, "ArrowLeft")
        pending = window.column(FIRST_STATUS[record.name]).locator(".open")
        await expect(pending.nth(0)).to_be_focused()
        await press(window, "ArrowDown")
        await expect(pending.nth(1)).to_be_focused()
        await press(window, "ArrowDown", "ArrowUp")
        await expect(pending.nth(0)).to_be_focused()
        await press(window, "ArrowRight")
        await expect(window.card(first).locator(".open")).to_be_focused()
        assert window.faults == []


async def test_a_move_that_the_rules_forbid_shows_the_servers_message_and_changes_nothing(tmp_path: Path) -> None:
    async with open_scene(record_of("tasks-v1"), tmp_path) as scene:
        agent = scene.agent()
        task_id = await agent.create("Buy milk")
        window = await scene.window()
        await window.card("Buy milk").drag_to(window.column("done"))
        await expect(window.saying).to_have_text(
            "A task that is 'pending' cannot become 'done'. From 'pending' it can go to 'in_progress', 'canceled'."
        )
        await expect(window.column("pending").locator(".card")).to_have_count(1)
        assert (await agent.get(task_id))["status"] == "pending"
        assert window.faults == []


async def test_a_completion_that_needs_a_word_asks_for_it(tmp_path: Path) -> None:
    record = record_of("hierarchy")
    async with open_scene(record, tmp_path) as scene:
        agent = scene.agent()
        task_id = await agent.create("Release")
        window = await scene.window()
        await window.card("Release").locator(".open").click()
        await window.sheet.locator("[data-action=complete]").click()
        await window.fill()
        await expect(window.sheet.locator("[role=alert]")).to_contain_text("resolution")
        await window.fill(resolution="Shipped")
        await expect(window.card("Release")).to_contain_text("Done")
        assert (await agent.get(task_id))["resolution"] == "Shipped"


async def test_a_removal_asks_and_can_be_called_off(tmp_path: Path) -> None:
    async with open_scene(record_of("hierarchy"), tmp_path) as scene:
        agent = scene.agent()
        await agent.create("Release")
        window = await scene.window()
        await window.card("Release").locator(".open").click()
        await window.sheet.locator("[data-action=remove]").click()
        await window.sheet.get_by_role("button", name="Cancel").click()
        await expect(window.sheet).not_to_be_visible()
        assert await agent.texts() == ["Release"]
        await window.card("Release").locator(".open").click()
        await window.sheet.locator("[data-action=remove]").click()
        await window.sheet.locator("button[type=submit]").click()
        await expect(window.page.locator("#tasks")).to_contain_text("No tasks here yet.")
        await expect(window.page.locator("#tasks")).to_be_focused()
        assert window.faults == []


@each_tree
async def test_a_tree_is_opened_and_walked_by_mouse_and_keyboard(record: ServerRecord, tmp_path: Path) -> None:
    async with open_scene(record, tmp_path) as scene:
        agent = scene.agent()
        await agent.create("Release")
        await agent.create("Party")
        window = await scene.window()
        await window.card("Release").locator(".open").click()
        await window.sheet.locator("[data-action=create_below]").click()
        await window.fill(**{record.text: "Build"})
        await expect(window.card("Build")).to_have_count(1)
        await window.card("Release").locator("button.toggle").click()
        await expect(window.card("Build")).to_have_count(0)
        await focus_on(window, "Release")
        await press(window, "ArrowRight")
        await expect(window.card("Build")).to_have_count(1)
        await press(window, "ArrowRight")
        await expect(window.card("Build").locator(".open")).to_be_focused()
        await press(window, "ArrowDown")
        await expect(window.card("Party").locator(".open")).to_be_focused()
        await press(window, "ArrowUp", "ArrowLeft")
        await expect(window.card("Release").locator(".open")).to_be_focused()
        await press(window, "ArrowLeft")
        await expect(window.card("Build")).to_have_count(0)
        assert window.faults == []


async def outline(window: Window) -> str:
    """Return the tree as text: two dots before a task for each task above it."""
    return await window.page.evaluate(
        """[...document.querySelectorAll(".node")].map((node) => {
          let depth = 0;
          for (let it = node.parentElement.closest(".node"); it; it = it.parentElement.closest(".node")) depth += 1;
          return "..".repeat(depth) + node.querySelector(".text").textContent;
        }).join(" ")"""
    )


async def shows(window: Window, expected: str) -> None:
    """Wait until the tree looks as expected."""
    for _ in range(600):  # 30 s, like every other wait of these tests
        if await outline(window) == expected:
            return
        await window.page.wait_for_timeout(50)
    assert await outline(window) == expected


async def test_tasks_are_moved_within_a_tree_by_keyboard(tmp_path: Path) -> None:
    async with open_scene(record_of("hierarchy"), tmp_path) as scene:
        agent = scene.agent()
        for name in "ABC":
            await agent.create(name)
        window = await scene.window()
        await focus_on(window, "C")
        for keys, expected in (
            ("Shift+ArrowUp", "A C B"),
            ("Shift+ArrowRight", "A ..C B"),
            ("Shift+ArrowLeft", "A C B"),
            ("Shift+ArrowDown", "A B C"),
            ("Shift+ArrowRight", "A B ..C"),
        ):
            await press(window, keys)
            await shows(window, expected)
            await expect(window.page.locator(".open", has_text="C")).to_be_focused()
        assert window.faults == []


async def test_tasks_are_moved_within_a_tree_by_mouse(tmp_path: Path) -> None:
    async with open_scene(record_of("hierarchy"), tmp_path) as scene:
        agent = scene.agent()
        for name in "ABC":
            await agent.create(name)
        window = await scene.window()
        rows = window.page.locator(".row")
        await rows.nth(2).drag_to(rows.nth(0), target_position={"x": 100, "y": 30})
        await shows(window, "A ..C B")
        await rows.nth(2).drag_to(rows.nth(1), target_position={"x": 100, "y": 3})
        await shows(window, "A ..B ..C")
        await window.drag(rows.nth(2), ".drop-top")
        await shows(window, "A ..B C")
        assert window.faults == []


async def test_tasks_are_moved_within_a_tree_by_buttons(tmp_path: Path) -> None:
    async with open_scene(record_of("hierarchy"), tmp_path) as scene:
        agent = scene.agent()
        for name in "ABC":
            await agent.create(name)
        window = await scene.window(width=360)
        for button, expected in (
            ("Up", "A C B"),
            ("Below the task before it", "A ..C B"),
            ("One level up", "A C B"),
            ("Down", "A B C"),
        ):
            await window.page.locator(".open", has_text="C").click()
            await window.sheet.get_by_role("button", name=button, exact=True).click()
            await shows(window, expected)
            await expect(window.page.locator(".open", has_text="C")).to_be_focused()
        assert window.faults == []


async def test_a_filtered_task_moves_past_the_next_one_that_is_shown(tmp_path: Path) -> None:
    async with open_scene(record_of("hierarchy"), tmp_path) as scene:
        agent = scene.agent()
        for name in ("A", "hidden", "B", "hidden"):
            await agent.create(name if name == "hidden" else f"Show {name}")
        window = await scene.window()
        await window.page.locator("#q").fill("show")
        await shows(window, "Show A Show B")
        await focus_on(window, "Show A")
        await press(window, "Shift+ArrowDown")
        await shows(window, "Show B Show A")
        assert await agent.texts() == ["hidden", "Show B", "Show A", "hidden"]
        assert window.faults == []


async def test_a_form_that_is_filled_in_is_not_closed_without_a_question(tmp_path: Path) -> None:
    async with open_scene(record_of("tasks-v1"), tmp_path) as scene:
        window = await scene.window()
        await window.page.locator("#new").click()
        await window.sheet.locator("#f-title").fill("Buy milk")
        window.page.once("dialog", lambda dialog: dialog.dismiss())
        await press(window, "Escape")
        await expect(window.sheet.locator("#f-title")).to_have_value("Buy milk")
        await window.sheet.locator("#f-title").fill("Buy bread")
        window.page.once("dialog", lambda dialog: dialog.accept())
        await press(window, "Escape")
        await expect(window.sheet).not_to_be_visible()
        assert window.faults == ["dialog: Close the form and lose what you entered?"] * 2


async def test_task_master_takes_tasks_in_and_out(tmp_path: Path) -> None:
    async with open_scene(record_of("taskmaster"), tmp_path) as scene:
        agent = scene.agent()
        for name in "AB":
            await agent.create(name)
        window = await scene.window()
        rows = window.page.locator(".row")
        await rows.nth(1).drag_to(rows.nth(0))
        await shows(window, "A ..B")
        await window.drag(rows.nth(1), ".drop-top")
        await shows(window, "A B")
        await focus_on(window, "B")
        await press(window, "Shift+ArrowUp")
        await expect(window.saying).to_have_text("This server does not order tasks. Nothing was changed.")
        assert window.faults == []


@each_view
async def test_tasks_are_searched_and_filtered(record: ServerRecord, tmp_path: Path) -> None:
    async with open_scene(record, tmp_path) as scene:
        agent = scene.agent()
        for text in ("Buy milk", "Buy bread", "Read mail"):
            await agent.create(text)
        window = await scene.window()
        await window.page.locator("#q").press_sequentially("bu")
        await expect(window.card("Buy")).to_have_count(2)
        await expect(window.card("Read mail")).to_have_count(0)
        await expect(window.page.locator("#live")).to_have_text("Tasks found: 2")
        await window.page.locator("#q").press_sequentially("y")
        await expect(window.page).to_have_url(re.compile(r"\?q=buy$"))
        await window.page.reload()
        await expect(window.card("Buy")).to_have_count(2)
        await expect(window.card("Read mail")).to_have_count(0)
        await window.page.locator("#q").fill("")
        await window.page.locator("#status").select_option("open")
        await expect(window.card("Read mail")).to_have_count(1)
        await window.page.locator("#status").select_option(STARTED[record.name])
        await expect(window.page.locator(".card, .row")).to_have_count(0)
        await expect(window.page.locator("#live")).to_have_text("No task matches.")
        assert window.faults == []


async def test_more_of_a_long_column_comes_on_request_and_stays(tmp_path: Path) -> None:
    async with open_scene(record_of("tasks-v1"), tmp_path) as scene:
        agent = scene.agent()
        for number in range(60):
            await agent.create(f"Task {number}")
        window = await scene.window()
        await expect(window.page.locator(".card")).to_have_count(50)
        await window.page.get_by_role("button", name="Show 10 more").click()
        await expect(window.page.locator(".card")).to_have_count(60)
        await agent.create("One more")
        await expect(window.page.locator(".card")).to_have_count(61)
        assert window.faults == []
