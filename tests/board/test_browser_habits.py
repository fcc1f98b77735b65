"""The habits that people bring to a board: addresses, reloads, folded columns, single keys, and a phone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.board.browser_session import open_session
from tests.servers import record_of

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("_browser")]


@pytest.mark.requirement("PE-12")
async def test_what_is_open_folded_and_filtered_survives_a_reload(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent, tab = session.agent(), await session.tab()
        milk = await agent.create("Buy milk", priority="high")
        await agent.create("Read mail")
        await expect(tab.card("Buy milk")).to_be_visible()
        await tab.page.select_option("#priority", "high")
        await expect(tab.card("Read mail")).to_have_count(0)
        await tab.column("done").locator(".fold").click()
        await tab.card("Buy milk").locator(".open").click()
        await expect(tab.sheet.locator("h2")).to_have_text("Buy milk")
        await expect(tab.page).to_have_url(re.compile(rf"priority=high&task={milk}$"))
        await tab.page.reload()
        await expect(tab.sheet.locator("h2")).to_have_text("Buy milk")
        await tab.page.keyboard.press("Escape")
        await expect(tab.page).to_have_url(re.compile(r"\?priority=high$"))
        await expect(tab.card("Read mail")).to_have_count(0)
        await expect(tab.column("done").locator(".fold")).to_have_attribute("aria-expanded", "false")
        await expect(tab.column("done").locator(".none")).not_to_be_visible()
        assert tab.faults == []


async def test_all_filters_and_the_button_for_a_new_task_are_in_one_row(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        await session.agent().create("Buy milk", tags=["house"], topic_id="shopping")
        tab = await session.tab(width=1200)
        bottoms = set()
        for control in await tab.page.locator("#filters label, #new").all():
            box = await control.bounding_box()
            assert box
            bottoms.add(round(box["y"] + box["height"]))
        assert len(bottoms) == 1


@pytest.mark.requirement("PE-12")
async def test_what_was_opened_in_a_tree_survives_a_reload_and_links_lead_up_and_down(tmp_path: Path) -> None:
    async with open_session(record_of("hierarchy"), tmp_path) as session:
        agent, tab = session.agent(), await session.tab()
        await agent.create(
            "Release", tasks=[{"name": "Build", "tasks": [{"name": "Link", "tasks": [{"name": "Bind"}]}]}]
        )
        await expect(tab.card("Link")).to_be_visible()
        await tab.card("Build").locator(".toggle").click()
        await expect(tab.card("Link")).to_have_count(0)
        await tab.page.reload()
        await expect(tab.card("Build")).to_be_visible()
        await expect(tab.card("Link")).to_have_count(0)
        await tab.card("Build").locator(".open").click()
        await tab.sheet.locator(".below .link").click()
        await expect(tab.sheet.locator("h2")).to_have_text("Link")
        await tab.sheet.locator(".path .link").first.click()
        await expect(tab.sheet.locator("h2")).to_have_text("Release")
        assert tab.faults == []


@pytest.mark.requirement("PE-14")
async def test_single_keys_do_what_they_do_elsewhere(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent, tab = session.agent(), await session.tab()
        await agent.create("Buy milk")
        await expect(tab.card("Buy milk")).to_be_visible()
        await tab.page.keyboard.press("/")
        await expect(tab.page.locator("#q")).to_be_focused()
        await tab.page.keyboard.type("n")
        await expect(tab.page.locator("#q")).to_have_value("n")
        await tab.page.locator("#q").fill("")
        await tab.card("Buy milk").locator(".open").focus()
        await tab.page.keyboard.press("?")
        await expect(tab.page.locator(".keys p").first).to_be_visible()
        await tab.page.keyboard.press("n")
        await expect(tab.sheet.locator("#f-title")).to_have_value("")
        await tab.page.keyboard.press("Escape")
        await expect(tab.page.locator("#tasks")).to_be_focused()  # a busy page moves the focus a moment later
        await tab.card("Buy milk").locator(".open").focus()
        await tab.page.keyboard.press("e")
        await expect(tab.sheet.locator("#f-title")).to_have_value("Buy milk")
        await tab.page.keyboard.press("Escape")
        await expect(tab.card("Buy milk").locator(".open")).to_be_focused()
        await tab.card("Buy milk").locator(".open").click()
        await tab.page.keyboard.press("e")
        await expect(tab.sheet.locator("#f-title")).to_have_value("Buy milk")
        assert tab.faults == []


@pytest.mark.requirement("PE-13")
async def test_a_phone_shows_one_column_at_a_time_and_its_controls_take_a_quarter_of_the_screen(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent, tab = session.agent(), await session.tab(width=390)
        started = await agent.create("Buy milk")
        await agent.create("Read mail")
        await agent.call("update_task_status", id=started, status="in_progress")
        await expect(tab.card("Read mail")).to_be_visible()
        await expect(tab.card("Buy milk")).not_to_be_visible()
        top = await tab.page.locator(".columns").bounding_box()
        assert top is not None
        assert top["y"] <= 250
        await tab.page.locator("[data-tab=in_progress]").click()
        await expect(tab.card("Buy milk")).to_be_visible()
        await expect(tab.card("Read mail")).not_to_be_visible()
        await expect(tab.page.locator("#priority")).not_to_be_visible()
        await tab.page.locator("#narrow").click()
        await expect(tab.page.locator("#priority")).to_be_visible()
        assert await tab.violations() == []
        assert tab.faults == []


@pytest.mark.requirement("PE-14")
async def test_times_are_those_of_the_place_and_an_id_can_be_copied(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent, tab = session.agent(), await session.tab()
        milk = await agent.create("Buy milk")
        await tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await expect(tab.card("Buy milk").locator(".age")).to_have_text("now")
        await tab.card("Buy milk").locator(".open").click()
        stamp = tab.sheet.locator("time").first
        style = "{ dateStyle: 'medium', timeStyle: 'short' }"
        local = await stamp.evaluate(f"(it) => new Intl.DateTimeFormat('en', {style}).format(new Date(it.dateTime))")
        await expect(stamp).to_have_text(local)
        await tab.sheet.locator("[data-copy]").click()
        await expect(tab.saying).to_have_text("The id is copied.")
        assert await tab.page.evaluate("navigator.clipboard.readText()") == milk
        assert tab.faults == []
