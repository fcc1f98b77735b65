"""The view of the list tool in a real browser: what a person sees, reaches with the keyboard, and is safe from."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from playwright.async_api import Dialog, Locator, expect

from tests.core.app_host import Host, open_view
from tests.servers import PROGRAMS, ProgramRecord, ServerRecord, record_of

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("_browser")]

HOSTILE: Final = (
    '<script>parent.postMessage("stolen", "*")</script>',
    "<img src=x onerror=alert(1)>",
    "</span></summary></details><style>body{display:none}</style>",
    '"><svg onload=alert(1)><a href="javascript:alert(1)">click</a>',
    "{{7*7}} ${7*7} &lt;b&gt; \u202eesrever\u202c \u2066",
    "W" * 200,
)
"""Texts that a page must show, and nothing more."""

V1: Final = record_of("tasks-v1")
TREES: Final = record_of("hierarchy")
COLUMNS: Final = {
    "en": ["Pending (2)", "In progress (1)", "Canceled (1)"],
    "zh-CN": ["待办 (2)", "进行中 (1)", "已取消 (1)"],
    "ja-JP": ["未着手 (2)", "進行中 (1)", "中止 (1)"],
    "de-AT": ["Pending (2)", "In progress (1)", "Canceled (1)"],
}
REFRESH: Final = {"en": "Refresh", "zh-CN": "刷新", "ja-JP": "更新", "de-AT": "Refresh"}


async def create(host: Host, title: str, status: str = "pending", **more: object) -> str:
    """Create a task of tasks-v1, as an agent does beside the view."""
    created = await host.call("create_task", {"title": title, **more})
    task_id: str = created["structuredContent"]["task"]["id"]
    if status != "pending":
        await host.call("update_task_status", {"id": task_id, "status": status})
    return task_id


def named(host: Host, name: str) -> Locator:
    return host.view.get_by_role("button", name=name)


def tasks(host: Host) -> Locator:
    return host.view.locator(".task .text")


@pytest.mark.parametrize("record", PROGRAMS, ids=[record.name for record in PROGRAMS])
async def test_the_view_of_every_server_shows_its_tasks(record: ProgramRecord, tmp_path: Path) -> None:
    async with open_view(record.built(tmp_path), record.list, is_called=False) as host:
        await expect(host.view.get_by_role("status")).to_have_text("Waiting for the tasks…")
        first, arguments = next(iter(record.calls.items()))
        await host.call(first, arguments)
        answer = await host.call(record.list, record.calls[record.list])
        await host.post(method="ui/notifications/tool-result", params=answer)
        await expect(tasks(host)).to_have_count(1)
        await named(host, "Refresh").click()
        await expect(host.view.get_by_role("status")).to_have_text("1 shown")
        await expect(host.view.get_by_role("alert")).to_be_empty()
        assert host.called == [{"name": record.list, "arguments": {}}]
        assert await host.violations() == []


@pytest.mark.parametrize(
    ("locale", "theme", "width"),
    [("en", "light", 320), ("zh-CN", "dark", 800), ("ja-JP", "dark", 320), ("de-AT", "light", 800)],
)
async def test_a_list_is_shown_as_columns_in_the_theme_and_the_language_of_the_host(
    locale: str, theme: str, width: int, tmp_path: Path
) -> None:
    context = {"theme": theme, "locale": locale}
    async with open_view(V1.built(tmp_path), V1.list, context=context, width=width) as host:
        for title, status in (("a", "canceled"), ("b", "pending"), ("c", "in_progress"), ("d", "pending")):
            await create(host, title, status, tags=["x"])
        await named(host, REFRESH[locale]).click()
        await expect(host.view.get_by_role("heading", level=2)).to_have_text(COLUMNS[locale])
        await expect(tasks(host)).to_have_text(["d", "b", "c", "a"])
        await host.view.locator("summary").first.click()
        assert await host.violations() == []
        assert await host.script("document.documentElement.lang") == {"zh-CN": "zh", "ja-JP": "ja"}.get(locale, "en")
        shade = await host.script("getComputedStyle(document.body).backgroundColor")
        assert shade == {"light": "rgb(255, 255, 255)", "dark": "rgb(27, 28, 30)"}[theme]
        assert await host.script("document.documentElement.scrollWidth <= innerWidth")


async def test_the_host_may_change_its_theme_and_its_language_while_the_view_is_open(tmp_path: Path) -> None:
    async with open_view(V1.built(tmp_path), V1.list, context={"theme": "light", "locale": "en"}) as host:
        await expect(host.view.get_by_role("heading", level=1)).to_have_text("Tasks")
        await host.post(method="ui/notifications/host-context-changed", params={"theme": "dark", "locale": "ja"})
        await expect(host.view.get_by_role("heading", level=1)).to_have_text("タスク")
        assert await host.script("getComputedStyle(document.body).backgroundColor") == "rgb(27, 28, 30)"
        await host.post(method="ui/notifications/host-context-changed", params={"locale": "no such language"})
        await host.post(method="ui/notifications/host-context-changed", params={"displayMode": "fullscreen"})
        await expect(host.view.get_by_role("heading", level=1)).to_have_text("タスク")


async def test_nested_tasks_are_shown_as_a_tree_with_what_is_done(tmp_path: Path) -> None:
    async with open_view(TREES.built(tmp_path), TREES.list) as host:
        tree = {"id": "r", "name": "Release", "tasks": [{"id": "n", "name": "Notes"}, {"id": "t", "name": "Tests"}]}
        await host.call("createTask", tree)
        await host.call("startTask", {"id": "r"})
        await host.call("completeTask", {"id": "n", "resolution": "written"})
        await named(host, "Refresh").click()
        await expect(host.view.locator("#tasks > ul > li > .task .about")).to_have_text("To dor1 of 2 subtasks done")
        await expect(host.view.locator("#tasks > ul > li > ul > li .text")).to_have_text(["Notes", "Tests"])
        await expect(host.view.locator("li li .status")).to_have_text(["Done", "To do"])
        assert await host.violations() == []


async def test_a_deep_tree_stays_within_the_view(tmp_path: Path) -> None:
    async with open_view(TREES.built(tmp_path), TREES.list, width=400) as host:
        tree: dict[str, object] = {"name": "90"}
        for level in range(89, 0, -1):
            tree = {"name": str(level), "tasks": [tree]}
        await host.call("createTask", tree)
        await named(host, "Refresh").click()
        await expect(tasks(host)).to_have_count(90)
        assert await host.script("document.documentElement.scrollWidth <= innerWidth")
        assert await host.script("document.querySelectorAll('.task')[89].getBoundingClientRect().width") > 100


@pytest.mark.parametrize("record", [V1, TREES], ids=["columns", "tree"])
async def test_hostile_text_is_shown_and_does_nothing(record: ServerRecord, tmp_path: Path) -> None:
    async with open_view(record.built(tmp_path), record.list) as host:
        opened = list[str]()

        async def close(dialog: Dialog) -> None:
            opened.append(dialog.message)
            await dialog.dismiss()

        host.page.on("dialog", close)
        for text in HOSTILE:
            more = {"tags": [text[:50]]} if record is V1 else {"tasks": [{"name": text, "description": text}]}
            await host.call(record.create, {record.text: text, "description": text, **more})
        await named(host, "Refresh").click()
        copies = 1 if record is V1 else 2
        await expect(tasks(host)).to_have_count(copies * len(HOSTILE))
        for summary in await host.view.locator("summary").all():
            await summary.click()
        shown = await host.script("[...document.querySelectorAll('.text')].map((one) => one.textContent)")
        assert sorted(shown) == sorted([*HOSTILE] * copies)
        made = await host.script("[...new Set([...document.querySelectorAll('#tasks *')].map((one) => one.localName))]")
        assert {*made} <= {"section", "h2", "ul", "li", "details", "summary", "div", "span", "bdi", "dl", "dt", "dd"}
        assert await host.script("document.documentElement.scrollWidth <= innerWidth")
        assert await host.violations() == []
        assert opened == []
        assert [url for url in host.fetched if not url.startswith("about:")] == []
        assert {one["method"] for one in await host.page.evaluate("sent.filter((one) => one.method)")} <= {
            *("ui/initialize", "ui/notifications/initialized", "ui/notifications/size-changed", "tools/call")
        }


async def test_all_is_done_with_the_keyboard_and_a_refresh_keeps_the_place(tmp_path: Path) -> None:
    async with open_view(V1.built(tmp_path), V1.list) as host:
        await create(host, "first", tags=["garden", "house"])
        await host.post(method="ui/notifications/tool-result", params=await host.call(V1.list, {}))
        await expect(tasks(host)).to_have_text(["first"])
        await host.page.keyboard.press("Tab")
        await expect(named(host, "Refresh")).to_be_focused()
        await host.page.keyboard.press("Tab")
        summary = host.view.locator("summary", has_text="first")
        await expect(summary).to_be_focused()
        await expect(host.view.get_by_text("garden")).to_be_hidden()
        await host.page.keyboard.press("Enter")
        await expect(host.view.locator("dd", has_text="garden")).to_have_text("garden\nhouse")
        await create(host, "second")
        await host.post(method="ui/notifications/tool-result", params=await host.call(V1.list, {}))
        await expect(tasks(host)).to_have_text(["second", "first"])
        await expect(summary).to_be_focused()
        await expect(host.view.locator("dd", has_text="garden")).to_be_visible()
        await host.page.keyboard.press("Shift+Tab")
        await host.page.keyboard.press("Shift+Tab")
        await create(host, "third")
        await host.page.keyboard.press("Enter")
        await expect(tasks(host)).to_have_text(["third", "second", "first"])
        await expect(named(host, "Refresh")).to_be_focused()


@pytest.mark.parametrize(
    ("name", "text"), [("tasks-v1", "title"), ("heartbeat", "raw_user_request"), ("taskmaster", "title")]
)
async def test_more_pages_follow_with_the_filters_of_the_call(name: str, text: str, tmp_path: Path) -> None:
    record = record_of(name)
    async with open_view(record.built(tmp_path), record.list, arguments={"limit": 2}, is_called=False) as host:
        for number in range(5):
            await host.call(record.create, {text: f"task {number}"})
        await host.post(method="ui/notifications/tool-result", params=await host.call(record.list, {"limit": 2}))
        await expect(host.view.get_by_role("status")).to_have_text("2 shown · 3 not shown")
        await named(host, "Show more").focus()
        await host.page.keyboard.press("Enter")
        await expect(tasks(host)).to_have_count(4)
        await expect(named(host, "Show more")).to_be_focused()
        await host.page.keyboard.press("Enter")
        await expect(host.view.get_by_role("status")).to_have_text("5 shown")
        await expect(named(host, "Show more")).to_be_hidden()
        await expect(named(host, "Refresh")).to_be_focused()
        assert len({*await tasks(host).all_text_contents()}) == 5
        assert all(call["arguments"]["limit"] == 2 for call in host.called)
        await named(host, "Refresh").click()
        await expect(tasks(host)).to_have_count(2)


async def test_no_page_is_appended_twice_by_quick_clicks(tmp_path: Path) -> None:
    async with open_view(V1.built(tmp_path), V1.list, arguments={"limit": 1}, is_called=False) as host:
        for title in "abc":
            await create(host, title)
        await host.post(method="ui/notifications/tool-result", params=await host.call(V1.list, {"limit": 1}))
        await expect(host.view.get_by_role("status")).to_have_text("1 shown · 2 not shown")
        await host.script("for (const id of ['more', 'more', 'refresh']) document.getElementById(id).click()")
        await expect(tasks(host)).to_have_text(["c", "b"])
        assert len(host.called) == 1
        await named(host, "Show more").click()
        await expect(tasks(host)).to_have_text(["c", "b", "a"])


async def test_a_failure_is_reported_and_what_was_shown_stays(tmp_path: Path) -> None:
    async with open_view(V1.built(tmp_path), V1.list) as host:
        await create(host, "kept")
        await named(host, "Refresh").click()
        await expect(tasks(host)).to_have_text(["kept"])
        host.refusal = "The person said no."
        await named(host, "Refresh").click()
        alert = host.view.get_by_role("alert")
        await expect(alert).to_have_text("The tasks could not be loaded: The person said no.")
        await expect(host.view.get_by_role("status")).to_have_text("1 shown")
        await expect(tasks(host)).to_have_text(["kept"])
        assert await host.violations() == []
        host.refusal = ""
        await named(host, "Refresh").click()
        await expect(alert).to_be_empty()
        failed = await host.call(V1.list, {"limit": 0})
        await host.post(method="ui/notifications/tool-result", params=failed)
        await expect(alert).to_contain_text(failed["structuredContent"]["error"]["message"])
        await host.post(method="ui/notifications/tool-cancelled", params={"reason": "stopped"})
        await expect(alert).to_have_text("The call was cancelled.")


async def test_a_damaged_store_is_reported_in_the_view(tmp_path: Path) -> None:
    async with open_view(V1.built(tmp_path), V1.list) as host:
        await create(host, "kept")
        (tmp_path / V1.file).write_text("{", "utf-8")
        await named(host, "Refresh").click()
        await expect(host.view.get_by_role("alert")).to_contain_text("tasks.json")


async def test_warnings_are_shown_with_the_tasks(tmp_path: Path) -> None:
    async with open_view(V1.built(tmp_path), V1.list) as host:
        answer = await host.call(V1.list, {})
        answer["structuredContent"]["warnings"] = ["<b>The store was restored.</b>"]
        await host.post(method="ui/notifications/tool-result", params=answer)
        await expect(host.view.locator("#warnings li")).to_have_text(["<b>The store was restored.</b>"])


async def test_a_host_that_passes_no_calls_on_gets_no_buttons(tmp_path: Path) -> None:
    async with open_view(V1.built(tmp_path), V1.list, capabilities={}) as host:
        await expect(host.view.get_by_role("status")).to_have_text("No tasks")
        await expect(host.view.get_by_role("button")).to_have_count(0)
        answer = await host.call(V1.list, {})
        answer["structuredContent"]["total"] = 7
        await host.post(method="ui/notifications/tool-result", params=answer)
        await expect(host.view.get_by_role("status")).to_have_text("No tasks · 7 not shown")
        await expect(host.view.get_by_role("button")).to_have_count(0)


async def test_the_view_keeps_the_protocol_of_the_extension(tmp_path: Path) -> None:
    async with open_view(V1.built(tmp_path), V1.list) as host:
        await expect(host.view.get_by_role("status")).to_have_text("No tasks")
        (hello,) = await host.sent("ui/initialize")
        assert hello["params"] == {
            "protocolVersion": "2026-01-26",
            "appInfo": {"name": "tasks", "version": "1"},
            "appCapabilities": {"availableDisplayModes": ["inline", "fullscreen"]},
        }
        assert (await host.answer("ping"))["result"] == {}
        assert (await host.answer("ui/resource-teardown"))["result"] == {}
        assert (await host.answer("sampling/createMessage"))["error"]["code"] == -32601
        await host.post(id=99, result={"tasks": []})
        await host.post(method="ui/notifications/of-tomorrow")
        await host.page.evaluate("frame.contentWindow.postMessage('not JSON-RPC', '*')")
        await create(host, "grown")
        before = (await host.sent("ui/notifications/size-changed"))[-1]["params"]["height"]
        await named(host, "Refresh").click()
        await expect(tasks(host)).to_have_text(["grown"])
        await host.page.wait_for_function("(before) => frame.clientHeight > before", arg=before)
