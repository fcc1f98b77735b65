"""The board in a real browser while answers are late, and while news come at a bad moment."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.board.window import Window, open_scene
from tests.servers import ServerRecord, record_of

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("_browser")]

each_view = pytest.mark.parametrize("record", [record_of("tasks-v1"), record_of("hierarchy")], ids=["columns", "tree"])


@each_view
async def test_a_press_ends_on_the_task_where_it_began_whatever_an_agent_changes_meanwhile(
    record: ServerRecord, tmp_path: Path
) -> None:
    async with open_scene(record, tmp_path) as scene:
        agent = scene.agent()
        await agent.create("Buy milk")
        window, other = [await scene.window(), await scene.window()]
        button = window.card("Buy milk").locator(".open")
        mouse, keyboard = window.page.mouse, window.page.keyboard

        async def press_while_another_key_goes_up() -> None:
            await keyboard.down("Space")
            await keyboard.press("Shift")

        for number, (press, release) in enumerate(
            (
                (mouse.down, mouse.up),
                (press_while_another_key_goes_up, partial(keyboard.up, "Space")),
            )
        ):
            await button.hover()
            await button.focus()
            await press()
            await agent.create(f"During press {number}")
            await expect(other.card(f"During press {number}")).to_have_count(1)
            await release()
            await expect(window.sheet.locator("h2")).to_have_text("Buy milk")
            await expect(window.card(f"During press {number}")).to_have_count(1)
            await keyboard.press("Escape")
            await expect(button).to_be_focused()
        assert window.faults == []


async def open_tasks(_: Window) -> None:
    """Leave the page with the tasks as it is."""


async def open_task(window: Window) -> None:
    """Open the task."""
    await window.card("Buy milk").locator(".open").click()
    await expect(window.sheet.locator("h2")).to_be_focused()


async def open_form(window: Window) -> None:
    """Write something into the form of the task."""
    await open_task(window)
    await window.sheet.locator("[data-action=edit]").click()
    await window.sheet.locator("#f-title").fill("Buy bread")


@pytest.mark.parametrize(
    ("prepare", "pattern", "button", "shown"),
    [
        (open_tasks, "**/tasks?*", ".card .open", "#sheet[open] .about"),
        (open_task, "**/task?*", "#sheet [data-action=edit]", "#form"),
        (open_form, "**/compare", "#form [type=submit]", ".changed .theirs button"),
    ],
    ids=["tasks", "task", "form"],
)
async def test_a_press_has_an_end_though_an_answer_comes_that_was_asked_for_before(
    prepare: Callable[[Window], Awaitable[None]], pattern: str, button: str, shown: str, tmp_path: Path
) -> None:
    async with open_scene(record_of("tasks-v1"), tmp_path) as scene:
        agent = scene.agent()
        task_id = await agent.create("Buy milk")
        window = await scene.window()
        await prepare(window)
        late = await window.delay(pattern)
        await agent.call("update_task", id=task_id, title="Buy milk and eggs", description="line\n\n" * 9)
        await late.is_there.wait()
        await window.page.locator(button).last.hover()
        await window.page.mouse.down()
        await window.take(late)
        await window.page.mouse.up()
        await expect(window.page.locator(shown).first).to_be_visible()
        assert window.faults == []


@each_view
async def test_a_task_opens_though_the_tasks_are_asked_for_twice_before_its_answer(
    record: ServerRecord, tmp_path: Path
) -> None:
    async with open_scene(record, tmp_path) as scene:
        agent = scene.agent()
        await agent.create("Buy milk")
        window = await scene.window()
        late = await window.delay("**/task?*")
        await window.card("Buy milk").locator(".open").click()
        for text in ("First", "Second"):
            await agent.create(text)
            await expect(window.card(text)).to_have_count(1)
        late.may_come.set()
        await expect(window.sheet.locator("h2")).to_have_text("Buy milk")
        assert window.faults == []


async def test_a_task_opens_while_the_answer_with_the_tasks_is_late(tmp_path: Path) -> None:
    async with open_scene(record_of("tasks-v1"), tmp_path) as scene:
        agent = scene.agent()
        await agent.create("Buy milk")
        window = await scene.window()
        late = await window.delay("**/tasks?*")
        await agent.create("First")
        await late.is_there.wait()
        await window.card("Buy milk").locator(".open").click()
        await expect(window.sheet.locator("h2")).to_have_text("Buy milk")
        assert window.faults == []


async def test_the_task_that_was_clicked_last_is_shown_though_the_answer_for_another_comes_later(
    tmp_path: Path,
) -> None:
    async with open_scene(record_of("tasks-v1"), tmp_path) as scene:
        agent = scene.agent()
        task_id = await agent.create("Buy milk")
        await agent.create("Read mail")
        window = await scene.window()
        late = await window.delay(f"**/task?id={task_id}")
        # Not by the mouse: the other task would be behind the one that is shown.
        await window.card("Buy milk").locator(".open").dispatch_event("click")
        await late.is_there.wait()
        await window.card("Read mail").locator(".open").dispatch_event("click")
        await expect(window.sheet.locator("h2")).to_have_text("Read mail")
        late.may_come.set()
        await agent.create("Write report")
        await expect(window.card("Write report")).to_have_count(1)
        await expect(window.sheet.locator("h2")).to_have_text("Read mail")
        assert window.faults == []


async def test_what_a_filter_finds_is_announced_though_news_come_before_its_answer(tmp_path: Path) -> None:
    async with open_scene(record_of("tasks-v1"), tmp_path) as scene:
        agent = scene.agent()
        window, other = [await scene.window(), await scene.window()]
        late = await window.delay("**/tasks?*")
        await agent.create("Buy milk")
        await late.is_there.wait()
        await window.page.locator("#status").select_option("open")
        await agent.create("Buy bread")
        await expect(other.card("Buy bread")).to_have_count(1)
        late.may_come.set()
        await expect(window.page.locator("#live")).to_have_text("Tasks found: 2")
        assert window.faults == []


async def test_the_page_goes_on_after_a_change_that_arrives_while_something_is_dragged(tmp_path: Path) -> None:
    async with open_scene(record_of("tasks-v1"), tmp_path) as scene:
        window, agent = await scene.window(), scene.agent()
        await agent.create("Buy milk")
        await expect(window.card("Buy milk")).to_have_count(1)
        late = await window.delay("**/tasks?*")
        await agent.create("Read mail")
        await late.is_there.wait()
        await window.card("Buy milk").hover()
        await window.page.mouse.down()
        await window.page.mouse.move(5, 5, steps=3)
        await window.take(late)
        await expect(window.card("Read mail")).to_have_count(0)
        await window.column("in_progress").hover()
        await window.column("in_progress").hover()
        await window.page.mouse.up()
        await expect(window.column("in_progress").locator(".card")).to_have_text(re.compile("Buy milk"))
        await agent.create("Write report")
        await expect(window.card("Write report")).to_have_count(1)
        assert window.faults == []


async def test_a_task_that_is_dragged_before_its_last_move_is_shown_goes_on_and_blames_nobody(tmp_path: Path) -> None:
    async with open_scene(record_of("tasks-v1"), tmp_path) as scene:
        window, agent = await scene.window(), scene.agent()
        await agent.create("Buy milk")
        await expect(window.card("Buy milk")).to_have_count(1)
        late = await window.delay("**/tasks?*")
        await window.card("Buy milk").locator(".open").focus()
        await window.page.keyboard.press("Shift+ArrowRight")
        await late.is_there.wait()
        await window.card("Buy milk").hover()
        await window.page.mouse.down()
        await window.take(late)
        await window.page.mouse.move(5, 5, steps=3)
        await window.column("done").hover()
        await window.column("done").hover()
        await window.page.mouse.up()
        await expect(window.column("done").locator(".card")).to_have_count(1)
        await expect(window.page.locator(".saying.error")).to_have_count(0)
        assert window.faults == []


async def test_a_task_that_news_show_in_its_new_place_is_moved_on_before_the_answer_has_come(tmp_path: Path) -> None:
    async with open_scene(record_of("hierarchy"), tmp_path) as scene:
        window, agent = await scene.window(), scene.agent()
        for text in "ABC":
            await agent.create(text)
        late = await window.delay("**/act")
        shown = window.page.locator(".row .text")
        await window.page.locator(".open", has_text="C").focus()
        await window.page.keyboard.press("Shift+ArrowUp")
        await expect(shown).to_have_text(["A", "C", "B"])
        await window.page.keyboard.press("Shift+ArrowRight")
        late.may_come.set()
        await expect(window.page.locator("ul ul .text")).to_have_text("C")
        await expect(shown).to_have_text(["A", "C", "B"])
        assert window.faults == []


async def test_after_a_move_that_is_refused_the_next_one_is_not_made(tmp_path: Path) -> None:
    async with open_scene(record_of("tasks-v1"), tmp_path) as scene:
        window, agent = await scene.window(), scene.agent()
        task_id = await agent.create("Buy milk")
        await expect(window.card("Buy milk")).to_have_count(1)
        moves: list[str] = []
        window.page.on("request", lambda request: moves.append(request.url) if request.url.endswith("/act") else None)
        shown, moved = await window.delay("**/tasks?*"), await window.delay("**/act")
        await agent.call("update_task_status", id=task_id, status="in_progress")
        await shown.is_there.wait()
        await window.card("Buy milk").locator(".open").focus()
        await window.page.keyboard.press("Shift+ArrowRight")
        await moved.is_there.wait()
        await window.drag(window.card("Buy milk"), ".column[data-status='done']")
        moved.may_come.set()
        await expect(window.page.locator(".saying.error")).to_have_count(1)
        shown.may_come.set()
        await expect(window.column("in_progress").locator(".card")).to_have_count(1)
        await agent.create("Read mail")
        await expect(window.card("Read mail")).to_have_count(1)
        assert len(moves) == 1
        assert window.faults == []


async def test_a_move_that_takes_long_does_not_close_what_the_user_writes_meanwhile(tmp_path: Path) -> None:
    async with open_scene(record_of("tasks-v1"), tmp_path) as scene:
        window, agent = await scene.window(), scene.agent()
        await agent.create("Buy milk")
        late = await window.delay("**/act")
        await window.card("Buy milk").locator(".open").focus()
        await window.page.keyboard.press("Shift+ArrowRight")
        await window.page.locator("#new").click()
        await window.sheet.locator("#f-title").fill("Buy bread")
        late.may_come.set()
        await expect(window.column("in_progress").locator(".card")).to_have_count(1)
        await expect(window.sheet.locator(".saying p")).to_have_text("Done: Start")
        await expect(window.sheet.locator("#f-title")).to_have_value("Buy bread")
        assert window.faults == []


async def test_a_page_that_is_seen_again_shows_the_open_task_as_it_is_now(tmp_path: Path) -> None:
    async with open_scene(record_of("tasks-v1"), tmp_path) as scene:
        agent = scene.agent()
        task_id = await agent.create("Buy milk")
        window, other = [await scene.window(), await scene.window()]
        await open_task(window)
        await turn_away(window, is_hidden=True)
        await agent.call("update_task_status", id=task_id, status="in_progress")
        await expect(other.column("in_progress").locator(".card")).to_have_count(1)
        await turn_away(window, is_hidden=False)
        await expect(window.sheet.locator(".about")).to_contain_text("In progress")
        assert window.faults == []


async def turn_away(window: Window, *, is_hidden: bool) -> None:
    """Tell the page that its user has gone to another one, or has come back."""
    await window.page.evaluate(
        "(hidden) => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        is_hidden,
    )
