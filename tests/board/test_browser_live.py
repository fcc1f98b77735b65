"""The board with two browsers and two agents at once, stores in trouble, hostile text, many tasks, and axe-core."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Route, expect
from pydantic import JsonValue

from task_board.markdown import headline
from tests.board.browser_session import BoardTab, open_session
from tests.servers import ServerRecord, record_of

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("_browser")]

each_view = pytest.mark.parametrize("record", [record_of("heartbeat"), record_of("hierarchy")], ids=["columns", "tree"])

HOSTILE: Final = (
    "<script>alert(1)</script>",
    '<img src="https://evil.example/a.png" onerror="alert(2)">',
    "<style>body { display: none } @import 'https://evil.example/b.css';</style>",
    "![pixel](https://evil.example/c.png) [go](javascript:alert(3)) <javascript:alert(4)>",
    '"><svg onload=alert(5)><a href="javascript:alert(6)" autofocus onfocus=alert(7)>x</a>',
    "{{ 7 * 7 }} {% include 'base.html' %} ${alert(8)} &lt;b&gt; \u202eesrever\u202c",
    '<div hx-get="https://evil.example/d" hx-trigger="load" data-close autofocus>hx</div>',
    '<iframe src="https://evil.example/e"></iframe><base href="https://evil.example/">',
    "<form action=https://evil.example/f><input name=q></form><link rel=stylesheet href=https://evil.example/g>",
    "\u2028\u2029\u0000</textarea></option></script><!--".replace("\0", ""),
    "W" * 190,
)
"""Texts of tasks that a page must show, and nothing more."""


async def test_a_change_by_each_of_two_agents_appears_in_two_browsers(tmp_path: Path) -> None:
    record = record_of("taskmaster")
    async with open_session(record, tmp_path) as session:
        tabs = [await session.tab(), await session.tab()]
        for number, agent in enumerate([session.agent(), session.agent()]):
            await agent.create(f"Task {number}")
            for tab in tabs:
                await expect(tab.card(f"Task {number}")).to_have_count(1)
        await tabs[0].create(**{record.text: "By a person"})
        await expect(tabs[1].card("By a person")).to_have_count(1)
        assert [tab.faults for tab in tabs] == [[], []]


async def test_nothing_is_lost_while_two_browsers_and_two_agents_work_at_once(tmp_path: Path) -> None:
    record = record_of("heartbeat")
    async with open_session(record, tmp_path) as session:
        tabs = [await session.tab(), await session.tab()]
        agents = [session.agent(), session.agent()]

        async def by_person(tab: BoardTab, name: str) -> None:
            for number in range(4):
                await tab.create(**{record.text: f"{name}-{number}"})

        async def by_agent(place: int) -> None:
            for number in range(12):
                await agents[place].create(f"agent{place}-{number}")

        await asyncio.gather(by_person(tabs[0], "ann"), by_person(tabs[1], "bob"), by_agent(0), by_agent(1))
        expected = {f"{name}-{number}" for name in ("ann", "bob") for number in range(4)}
        expected |= {f"agent{place}-{number}" for place in range(2) for number in range(12)}
        assert sorted(await agents[0].texts()) == sorted(expected)
        for tab in tabs:
            await expect(tab.page.locator(".card, .row")).to_have_count(len(expected))
            assert tab.faults == []


@each_view
async def test_what_an_agent_changes_in_an_open_form_is_reported_and_not_overwritten(
    record: ServerRecord, tmp_path: Path
) -> None:
    async with open_session(record, tmp_path) as session:
        agent = session.agent()
        task_id = await agent.create("Buy milk")
        tab = await session.tab()
        await tab.card("Buy milk").locator(".open").click()
        await tab.sheet.locator("[data-action=edit]").click()
        field = tab.sheet.locator(f"#f-{record.text}")
        await field.fill("Buy bread")
        update = json.loads(
            json.dumps(record.call(record.update, task_id)).replace(json.dumps("新标题"), '"Buy oat milk"')
        )
        await agent.call(record.update, **update)
        alert = tab.sheet.locator("#news [role=alert]")
        await expect(alert).to_contain_text("Buy oat milk")
        await expect(alert).to_contain_text("Buy bread")
        await expect(field).to_have_value("Buy bread")
        await expect(field).to_be_focused()
        await tab.sheet.locator("button[type=submit]").click()
        await expect(tab.sheet.locator(".changed .theirs")).to_contain_text("Buy oat milk")
        assert (await agent.get(task_id))[record.text] == "Buy oat milk"
        await tab.sheet.get_by_role("button", name="Use theirs").click()
        await expect(field).to_have_value("Buy oat milk")
        await field.fill("Buy oat milk and bread")
        await tab.sheet.locator("button[type=submit]").click()
        await expect(tab.card("Buy oat milk and bread")).to_have_count(1)
        assert (await agent.get(task_id))[record.text] == "Buy oat milk and bread"
        assert tab.faults == []


async def test_an_open_task_shows_what_an_agent_does_with_it(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        agent = session.agent()
        task_id = await agent.create("Buy milk")
        tab = await session.tab()
        await tab.card("Buy milk").locator(".open").click()
        await expect(tab.sheet.locator("h2")).to_be_focused()
        await agent.call("update_task_status", id=task_id, status="in_progress")
        await expect(tab.sheet.locator(".about")).to_contain_text("In progress")
        await expect(tab.sheet.locator("[data-action=complete]")).to_be_visible()


async def test_a_damaged_store_is_reported_with_the_servers_error_and_comes_back_by_itself(tmp_path: Path) -> None:
    record = record_of("hierarchy")
    async with open_session(record, tmp_path) as session:
        await session.agent().create("Buy milk")
        tab = await session.tab()
        await expect(tab.card("Buy milk")).to_have_count(1)
        whole = session.path.read_bytes()
        session.path.write_bytes(b"x" + whole)
        notice = tab.page.locator("#tasks [role=alert]")
        await expect(notice).to_contain_text(session.path.name)
        await expect(notice).to_contain_text("is damaged at line 1")
        session.path.write_bytes(whole)
        await expect(tab.card("Buy milk")).to_have_count(1)
        assert tab.faults == []


async def test_the_page_recovers_from_a_fault_that_the_board_itself_never_saw(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        await session.agent().create("Buy milk")
        tab = await session.tab()
        await expect(tab.card("Buy milk")).to_have_count(1)
        whole = session.path.read_bytes()
        alert = tab.page.locator("#tasks [role=alert]")
        session.path.write_bytes(b"x" + whole)
        await expect(alert).to_contain_text("is damaged")
        fault = await tab.page.locator("#tasks").inner_html()
        session.path.write_bytes(whole)
        await expect(tab.card("Buy milk")).to_have_count(1)

        async def answer(route: Route) -> None:
            await route.fulfill(content_type="text/html", body=fault)

        late = await tab.delay("**/tasks?*")
        await tab.page.route("**/tasks?*", answer, times=1)
        await tab.page.locator("#status").select_option("open")
        await expect(alert).to_contain_text("is damaged")
        late.may_come.set()
        await expect(tab.card("Buy milk")).to_have_count(1)
        assert tab.faults == []


async def test_a_store_that_is_moved_away_is_missed_and_comes_back_by_itself(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        await session.agent().create("Buy milk")
        tab = await session.tab()
        await expect(tab.card("Buy milk")).to_have_count(1)
        session.path.rename(tmp_path / "elsewhere")
        await expect(tab.page.locator("#tasks")).to_contain_text("There is no file at")
        (tmp_path / "elsewhere").rename(session.path)
        await expect(tab.card("Buy milk")).to_have_count(1)
        assert tab.faults == []


async def test_a_locked_store_is_shown_and_a_change_says_that_it_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASK_LOCK_TIMEOUT", "0.5")
    record = record_of("tasks-v1")
    async with open_session(record, tmp_path) as session:
        agent = session.agent()
        await agent.create("Buy milk")
        tab = await session.tab()
        with record.built(tmp_path).store.transaction():  # pyrefly: ignore  # it has one
            await tab.drag(tab.card("Buy milk"), tab.column("in_progress"))
            await expect(tab.saying).to_contain_text("The store was locked for 0.5")
            await expect(tab.column("pending").locator(".card")).to_have_count(1)
        await tab.close_sayings()
        await tab.drag(tab.card("Buy milk"), tab.column("in_progress"))
        await expect(tab.column("in_progress").locator(".card")).to_have_count(1)
        assert tab.faults == []


async def test_the_page_says_that_the_board_has_ended(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        tab = await session.tab()
        await expect(tab.page.locator("#new")).to_be_visible()
        await session.stop()
        await expect(tab.saying).to_contain_text("The connection to the board is lost.")


async def test_a_page_of_an_earlier_run_asks_for_the_new_link(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        tab = await session.tab()
        await session.stop()
        await expect(tab.saying).to_contain_text("The connection to the board is lost.")
        await session.launch(urlsplit(session.link).port or 0)
        await expect(tab.saying).to_contain_text("Open the link that task-board printed")


async def test_a_key_that_is_pressed_twice_moves_once_and_blames_nobody(tmp_path: Path) -> None:
    async with open_session(record_of("tasks-v1"), tmp_path) as session:
        tab, agent = await session.tab(), session.agent()
        for text in ("Buy milk", "Read mail", "Write report"):
            await agent.create(text)
            await expect(tab.card(text)).to_have_count(1)
        moves: list[str] = []
        tab.page.on("request", lambda request: moves.append(request.url) if request.url.endswith("/act") else None)
        late = await tab.delay("**/act")
        for text in ("Buy milk", "Read mail", "Write report"):
            await tab.card(text).locator(".open").focus()
            await tab.page.keyboard.press("Shift+ArrowRight")
            await tab.page.keyboard.press("Shift+ArrowRight")
        late.may_come.set()
        await expect(tab.column("in_progress").locator(".card")).to_have_count(3)
        await expect(tab.page.locator(".saying.error")).to_have_count(0)
        await tab.card("Buy milk").locator(".open").focus()
        await tab.page.keyboard.press("Shift+ArrowRight")
        await expect(tab.column("done").locator(".card")).to_have_count(1)
        assert len(moves) == 4
        assert tab.faults == []


async def test_an_open_task_that_is_removed_leaves_the_focus_on_the_words_that_say_so(tmp_path: Path) -> None:
    async with open_session(record_of("hierarchy"), tmp_path) as session:
        tab, agent = await session.tab(), session.agent()
        task_id = await agent.create("Release")
        await tab.card("Release").locator(".open").click()
        await expect(tab.sheet.locator("h2")).to_be_focused()
        await agent.call("deleteTask", id=task_id)
        heading = tab.sheet.get_by_role("heading", name="This task is gone")
        await expect(heading).to_be_focused()
        await tab.page.keyboard.press("Escape")
        await expect(tab.sheet).not_to_be_visible()
        assert tab.faults == []


async def test_a_form_whose_task_is_removed_keeps_what_was_written(tmp_path: Path) -> None:
    async with open_session(record_of("hierarchy"), tmp_path) as session:
        tab, agent = await session.tab(locale="ja"), session.agent()
        task_id = await agent.create("Release")
        await tab.card("Release").locator(".open").click()
        await tab.sheet.locator("[data-action=edit]").click()
        await tab.sheet.locator("#f-name").fill("Release 2")
        await agent.call("deleteTask", id=task_id)
        await tab.sheet.locator("button[type=submit]").click()
        await expect(tab.sheet.locator(".saying [lang=en]")).to_contain_text(f"No task has the id '{task_id}'")
        await expect(tab.sheet.locator("#f-name")).to_have_value("Release 2")
        assert tab.faults == []


@each_view
async def test_hostile_text_is_shown_and_does_nothing(record: ServerRecord, tmp_path: Path) -> None:
    async with open_session(record, tmp_path) as session:
        agent = session.agent()
        details = {"heartbeat": "ideas", "taskmaster": "details"}.get(record.name, "description")
        for text in HOSTILE:
            more: JsonValue = [text] if details == "ideas" else text
            await agent.create(" ".join(text.split()), **{details: more})
        tab = await session.tab(width=600)
        cards = tab.page.locator(".card, .row")
        await expect(cards).to_have_count(len(HOSTILE))
        for place in range(len(HOSTILE)):
            await cards.nth(place).locator(".open").click()
            await expect(tab.sheet.locator("dl")).to_be_visible()
            await tab.sheet.locator("[data-action=edit]").click()
            await expect(tab.sheet.locator("form")).to_be_visible()
            await tab.page.keyboard.press("Escape")
            await expect(tab.sheet).not_to_be_visible()
        shown = await cards.locator(".text").all_text_contents()
        assert {" ".join(headline(" ".join(text.split())).split()) for text in HOSTILE} == {
            " ".join(text.split()) for text in shown
        }
        assert await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert (
            await tab.page.evaluate("document.querySelectorAll('#tasks img, #tasks iframe, #tasks script').length") == 0
        )
        assert tab.faults == []


def two_thousand(record: ServerRecord) -> str:
    """Return a document with 2,000 tasks of a server."""
    now = "2026-01-31T12:00:00Z"
    if record.name == "hierarchy":
        leaves = [[{"id": f"{root}-{leaf}", "name": f"Leaf {leaf}"} for leaf in range(99)] for root in range(20)]
        return json.dumps([{"id": f"r{root}", "name": f"Root {root}", "tasks": leaves[root]} for root in range(20)])
    states = ("pending", "in_progress", "done", "canceled")
    times = {"created_at": now, "updated_at": now}
    tasks = [
        {"id": f"task_{number:06}", "title": f"Task {number}", "status": states[number % 4], **times}
        for number in range(2_000)
    ]
    return json.dumps({"version": 1, "tasks": tasks})


@pytest.mark.parametrize("name", ["tasks-v1", "hierarchy"])
async def test_of_two_thousand_tasks_the_page_has_only_the_first_of_each_column(name: str, tmp_path: Path) -> None:
    record = record_of(name)
    (tmp_path / record.store()).write_text(two_thousand(record), "utf-8")
    async with open_session(record, tmp_path) as session:
        tab = await session.tab()
        await expect(tab.page.locator(".card, .row").first).to_be_visible()
        assert await tab.page.locator(".card, .row").count() <= 4 * 50
        await tab.page.locator("#q").fill("9 9")
        await expect(tab.page.locator(".count, .tree .id").first).not_to_have_text("500")
        assert tab.faults == []


@pytest.mark.parametrize(("locale", "is_dark", "width"), [("en", False, 1280), ("zh-CN", True, 360)])
async def test_axe_finds_nothing_wrong(locale: str, width: int, tmp_path: Path, *, is_dark: bool) -> None:
    for name in ("tasks-v1", "hierarchy"):
        record, folder = record_of(name), tmp_path / name
        folder.mkdir()
        async with open_session(record, folder) as session:
            agent = session.agent()
            tab = await session.tab(locale=locale, is_dark=is_dark, width=width)
            assert await tab.violations() == []
            task_id = await agent.create("Buy **milk**", description="# Two litres\n\n- a\n- [b](https://example.com)")
            if name == "tasks-v1":
                await agent.create("Read mail", priority="high", tags=["a", "b"])
                await agent.call("update_task_status", id=await agent.create("Rest"), status="canceled")
            else:
                await agent.create("Build", parentId=task_id)
            await expect(tab.card("Buy")).to_have_count(1)
            assert await tab.violations() == []
            await tab.card("Buy").locator(".open").click()
            await expect(tab.sheet.locator("dl")).to_be_visible()
            assert await tab.violations() == []
            await tab.sheet.locator("[data-action=edit]").click()
            await tab.sheet.locator(f"#f-{record.text}").fill("Buy bread")
            await agent.call(record.update, id=task_id, **{record.text: "Buy oat milk"})
            await expect(tab.sheet.locator("#news [role=alert]")).to_be_visible()
            assert await tab.violations() == []
            await tab.sheet.locator("button[type=submit]").click()
            await expect(tab.sheet.locator(".changed [data-use]")).to_be_visible()
            assert await tab.violations() == []
            assert await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            await tab.sheet.locator(".ends [data-close]").click()
            await tab.card("Buy").locator(".open").focus()
            await tab.page.keyboard.press("Shift+ArrowLeft")
            await tab.page.keyboard.press("Shift+ArrowRight")
            await expect(tab.page.locator("html")).to_have_attribute("lang", locale[:2])
            assert await tab.violations() == []
            assert tab.faults == []
