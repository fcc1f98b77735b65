"""The board in a real browser while answers are late, and while news come at a bad moment."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.board.browser_session import BoardTab, open_session
from tests.servers import ServerRecord, record_of

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("_browser")]

each_view = pytest.mark.parametrize("record", [record_of("tasks-v1"), record_of("hierarchy")], ids=["columns", "tree"])


@each_view
async def test_a_press_ends_on_the_task_where_it_began_whatever_an_agent_changes_meanwhile(
    record: ServerRecord, tmp_path: Path
) -> None:
    async with open_session(record, tmp_path) as session:
        agent = session.agent()
        await agent.create("Buy milk")
        tab, other = [await session.tab(), await session.tab()]
        button = tab.card("Buy milk").locator(".open")
        mouse, keyboard = tab.page.mouse, tab.page.keyboard

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
            await expect(tab.sheet.locator("h2")).to_have_text("Buy milk")
            await expect(tab.card(f"During press {number}")).to_have_count(1)
            await keyboard.press("Escape")
            await expect(button).to_be_focused()
        assert tab.faults == []


async def open_tasks(_: BoardTab) -> None:
    """Leave the page with the tasks as it is."""


async def open_task(tab: BoardTab) -> None:
    """Open the task."""
    await tab.card("Buy milk").locator(".open").click()
    await expect(tab.sheet.locator("h2")).to_be_focused()


async def open_form(tab: BoardTab) -> None:
    """Write something into the form of the task."""
    await open_task(tab)
    await tab.sheet.locator("[data-action=edit]").click()
    await tab.sheet.locator("#f-title").fill("Buy bread")


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
    prepare: Callable[[BoardTab], Awaitable[None]], pattern: str, button: str, shown: str, tmp_path: Path
) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent = session.agent()
        task_id = await agent.create("Buy milk")
        tab = await session.tab()
        await prepare(tab)
        late = await tab.delay(pattern)
        await agent.call("update_task", id=task_id, title="Buy milk and eggs", description="line\n\n" * 9)
        await late.is_there.wait()
        await tab.page.locator(button).last.hover()
        await tab.page.mouse.down()
        await tab.take(late)
        await tab.page.mouse.up()
        await expect(tab.page.locator(shown).first).to_be_visible()
        assert tab.faults == []


@each_view
async def test_a_task_opens_though_the_tasks_are_asked_for_twice_before_its_answer(
    record: ServerRecord, tmp_path: Path
) -> None:
    async with open_session(record, tmp_path) as session:
        agent = session.agent()
        await agent.create("Buy milk")
        tab = await session.tab()
        late = await tab.delay("**/task?*")
        await tab.card("Buy milk").locator(".open").click()
        for text in ("First", "Second"):
            await agent.create(text)
            await expect(tab.card(text)).to_have_count(1)
        late.may_come.set()
        await expect(tab.sheet.locator("h2")).to_have_text("Buy milk")
        assert tab.faults == []


async def test_a_task_opens_while_the_answer_with_the_tasks_is_late(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent = session.agent()
        await agent.create("Buy milk")
        tab = await session.tab()
        late = await tab.delay("**/tasks?*")
        await agent.create("First")
        await late.is_there.wait()
        await tab.card("Buy milk").locator(".open").click()
        await expect(tab.sheet.locator("h2")).to_have_text("Buy milk")
        assert tab.faults == []


async def test_the_task_that_was_clicked_last_is_shown_though_the_answer_for_another_comes_later(
    tmp_path: Path,
) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent = session.agent()
        task_id = await agent.create("Buy milk")
        await agent.create("Read mail")
        tab = await session.tab()
        late = await tab.delay(f"**/task?id={task_id}")
        # Not by the mouse: the other task would be behind the one that is shown.
        await tab.card("Buy milk").locator(".open").dispatch_event("click")
        await late.is_there.wait()
        await tab.card("Read mail").locator(".open").dispatch_event("click")
        await expect(tab.sheet.locator("h2")).to_have_text("Read mail")
        late.may_come.set()
        await agent.create("Write report")
        await expect(tab.card("Write report")).to_have_count(1)
        await expect(tab.sheet.locator("h2")).to_have_text("Read mail")
        assert tab.faults == []


async def test_what_a_filter_finds_is_announced_though_news_come_before_its_answer(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent = session.agent()
        tab, other = [await session.tab(), await session.tab()]
        late = await tab.delay("**/tasks?*")
        await agent.create("Buy milk")
        await late.is_there.wait()
        await tab.page.locator("#status").select_option("open")
        await agent.create("Buy bread")
        await expect(other.card("Buy bread")).to_have_count(1)
        late.may_come.set()
        await expect(tab.page.locator("#live")).to_have_text("Tasks found: 2")
        assert tab.faults == []


async def test_the_page_goes_on_after_a_change_that_arrives_while_something_is_dragged(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        tab, agent = await session.tab(), session.agent()
        await agent.create("Buy milk")
        await expect(tab.card("Buy milk")).to_have_count(1)
        late = await tab.delay("**/tasks?*")
        await agent.create("Read mail")
        await late.is_there.wait()
        await tab.card("Buy milk").hover()
        await tab.page.mouse.down()
        await tab.page.mouse.move(5, 5, steps=3)
        await tab.take(late)
        await expect(tab.card("Read mail")).to_have_count(0)
        await tab.column("in_progress").hover()
        await tab.column("in_progress").hover()
        await tab.page.mouse.up()
        await expect(tab.column("in_progress").locator(".card")).to_have_text(re.compile("Buy milk"))
        await agent.create("Write report")
        await expect(tab.card("Write report")).to_have_count(1)
        assert tab.faults == []


async def test_a_task_that_is_dragged_before_its_last_move_is_shown_goes_on_and_blames_nobody(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        tab, agent = await session.tab(), session.agent()
        await agent.create("Buy milk")
        await expect(tab.card("Buy milk")).to_have_count(1)
        late = await tab.delay("**/tasks?*")
        await tab.card("Buy milk").locator(".open").focus()
        await tab.page.keyboard.press("Shift+ArrowRight")
        await late.is_there.wait()
        await tab.card("Buy milk").hover()
        await tab.page.mouse.down()
        await tab.take(late)
        await tab.page.mouse.move(5, 5, steps=3)
        await tab.column("done").hover()
        await tab.column("done").hover()
        await tab.page.mouse.up()
        await expect(tab.column("done").locator(".card")).to_have_count(1)
        await expect(tab.page.locator(".saying.error")).to_have_count(0)
        assert tab.faults == []


async def test_a_task_that_news_show_in_its_new_place_is_moved_on_before_the_answer_has_come(tmp_path: Path) -> None:
    async with open_session(record_of("hierarchy"), tmp_path) as session:
        tab, agent = await session.tab(), session.agent()
        for text in "ABC":
            await agent.create(text)
        late = await tab.delay("**/act")
        shown = tab.page.locator(".row .text")
        await tab.page.locator(".open", has_text="C").focus()
        await tab.page.keyboard.press("Shift+ArrowUp")
        await expect(shown).to_have_text(["A", "C", "B"])
        await tab.page.keyboard.press("Shift+ArrowRight")
        late.may_come.set()
        await expect(tab.page.locator("ul ul .text")).to_have_text("C")
        await expect(shown).to_have_text(["A", "C", "B"])
        assert tab.faults == []


async def test_after_a_move_that_is_refused_the_next_one_is_not_made(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        tab, agent = await session.tab(), session.agent()
        task_id = await agent.create("Buy milk")
        await expect(tab.card("Buy milk")).to_have_count(1)
        moves: list[str] = []
        tab.page.on("request", lambda request: moves.append(request.url) if request.url.endswith("/act") else None)
        shown, moved = await tab.delay("**/tasks?*"), await tab.delay("**/act")
        await agent.call("update_task_status", id=task_id, status="in_progress")
        await shown.is_there.wait()
        await tab.card("Buy milk").locator(".open").focus()
        await tab.page.keyboard.press("Shift+ArrowRight")
        await moved.is_there.wait()
        await tab.drag(tab.card("Buy milk"), tab.column("done"))
        moved.may_come.set()
        await expect(tab.page.locator(".saying.error")).to_have_count(1)
        shown.may_come.set()
        await expect(tab.column("in_progress").locator(".card")).to_have_count(1)
        await agent.create("Read mail")
        await expect(tab.card("Read mail")).to_have_count(1)
        assert len(moves) == 1
        assert tab.faults == []


async def test_a_move_that_takes_long_does_not_close_what_the_user_writes_meanwhile(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        tab, agent = await session.tab(), session.agent()
        await agent.create("Buy milk")
        late = await tab.delay("**/act")
        await tab.card("Buy milk").locator(".open").focus()
        await tab.page.keyboard.press("Shift+ArrowRight")
        await tab.page.locator("#new").click()
        await tab.sheet.locator("#f-title").fill("Buy bread")
        late.may_come.set()
        await expect(tab.column("in_progress").locator(".card")).to_have_count(1)
        await expect(tab.sheet.locator(".saying p")).to_have_text("Started 'Buy milk'")
        await expect(tab.sheet.locator("#f-title")).to_have_value("Buy bread")
        assert tab.faults == []


async def test_a_page_that_is_seen_again_shows_the_open_task_as_it_is_now(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent = session.agent()
        task_id = await agent.create("Buy milk")
        tab, other = [await session.tab(), await session.tab()]
        await open_task(tab)
        await turn_away(tab, is_hidden=True)
        await agent.call("update_task_status", id=task_id, status="in_progress")
        await expect(other.column("in_progress").locator(".card")).to_have_count(1)
        await turn_away(tab, is_hidden=False)
        await expect(tab.sheet.locator(".about")).to_contain_text("In progress")
        assert tab.faults == []


async def turn_away(tab: BoardTab, *, is_hidden: bool) -> None:
    """Tell the page that its user has gone to another one, or has come back."""
    await tab.page.evaluate(
        "(hidden) => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        is_hidden,
    )


@pytest.mark.requirement("PE-14")
async def test_the_key_that_edits_a_task_does_so_though_its_details_have_been_asked_for_and_come_later(
    tmp_path: Path,
) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        await session.agent().create("Buy milk")
        tab = await session.tab()
        late = await tab.delay("**/task?*")
        await tab.card("Buy milk").locator(".open").click()
        await late.is_there.wait()
        await tab.page.keyboard.press("e")
        title = tab.sheet.locator("#f-title")
        await expect(title).to_have_value("Buy milk")
        late.may_come.set()
        await title.fill("Buy bread")
        await tab.page.keyboard.press("Enter")
        await expect(tab.card("Buy bread")).to_be_visible()
        assert tab.faults == []
