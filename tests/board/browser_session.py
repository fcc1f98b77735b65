"""The board, a real browser that shows it, and servers as agents beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from playwright.async_api import Dialog, Locator, Page, Position, Route, expect
from pydantic import JsonValue
from typing_extensions import override

from task_board.servers import open_stores
from task_board.web.app import BoardApp
from task_core.server.transports.asgi import listen
from tests.board.board_client import make_place, packages
from tests.browser import PATIENCE, SharedBrowser, find_violations
from tests.servers import ServerRecord
from tests.tool_client import OpenClient

__all__ = ["BoardTab", "BrowserAgent", "BrowserSession", "Late", "focus_on", "open_session", "press"]


class Late(NamedTuple):
    """Answers that come late."""

    is_there: asyncio.Event
    """set once the board has given the first one"""
    may_come: asyncio.Event
    """set to let the page have them"""


class BoardTab:
    """One browser with the board, and whatever it did that it should not have done."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.faults: list[str] = []
        self.accepts_dialogs = False
        page.on("dialog", self._close)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("request", lambda request: self._check(request.url))

    @property
    def sheet(self) -> Locator:
        """The sheet with one task, or a form."""
        return self.page.locator("dialog[open]")

    @property
    def saying(self) -> Locator:
        """What the page announced last."""
        return self.page.locator(".saying p").last

    def card(self, text: str) -> Locator:
        """Return a task in a column, or its row in a tree."""
        return self.page.locator(".card, .row").filter(has_text=text)

    def column(self, status: str) -> Locator:
        """Return a column."""
        return self.page.locator(f".column[data-status='{status}']")

    async def close_sayings(self) -> None:
        """Close what the page announced, so that it hides nothing."""
        for button in reversed(await self.page.locator("#sayings .saying [data-close]").all()):
            await button.click()

    async def fill(self, **fields: str) -> None:
        """Fill in the form and send it."""
        await self.sheet.locator("form").wait_for()
        for name, text in fields.items():
            await self.sheet.locator(f"#f-{name}").fill(text)
        await self.sheet.locator("button[type=submit]").click()

    async def create(self, **fields: str) -> None:
        """Create a task with the mouse."""
        await self.page.locator("#new").click()
        await self.fill(**fields)
        await expect(self.page.locator("dialog")).not_to_be_visible()

    async def drag(self, source: Locator, target: Locator, *, y: int | None = None, mark: str = "over") -> None:
        """Drag a task to a place, which may be visible only while something is dragged; ``y`` is in pixels in it."""
        position: Position | None = None if y is None else {"x": 100, "y": y}
        await source.hover()
        await self.page.mouse.down()
        await self.page.mouse.move(5, 5, steps=3)
        await target.hover(position=position)
        await target.hover(position=position)  # a browser says that something is dragged over it the second time
        await expect(target).to_contain_class(mark)  # before that, a busy page takes no drop
        await self.page.mouse.up()

    async def delay(self, pattern: str) -> Late:
        """Hold back the answers to requests that match until they may come."""
        late = Late(asyncio.Event(), asyncio.Event())

        async def hold(route: Route) -> None:
            response = await route.fetch()
            late.is_there.set()
            await late.may_come.wait()
            await route.fulfill(response=response)

        await self.page.route(pattern, hold)
        return late

    async def take(self, late: Late) -> None:
        """Let late answers come, and wait until the page has dealt with the first."""
        heard = "document.body.addEventListener('htmx:afterRequest', () => done(), { once: true })"
        await self.page.evaluate(f"void (window.dealt = new Promise((done) => {heard}))")
        late.may_come.set()
        await self.page.evaluate("window.dealt")

    async def violations(self) -> list[str]:
        """Return what axe-core finds wrong with the page as it is."""
        return await find_violations(self.page)

    async def _close(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        await (dialog.accept() if self.accepts_dialogs else dialog.dismiss())  # an open one would keep the test waiting

    def _note(self, kind: str, text: str) -> None:
        # A connection that ends is what some tests are about; the page itself says it.
        is_expected = "ERR_CONNECTION" in text or "ERR_INCOMPLETE" in text or "status of 4" in text
        if kind in {"error", "warning"} and not is_expected and not text.startswith("htmx:"):
            self.faults.append(f"{kind}: {text}")

    def _check(self, url: str) -> None:
        if not url.startswith(self.base):
            self.faults.append(f"request: {url}")


async def focus_on(tab: BoardTab, text: str) -> None:
    """Go to a task or a button with the Tab key alone."""
    for _ in range(60):
        focused = await tab.page.evaluate("document.activeElement.textContent.trim()")
        if focused == text:
            return
        await tab.page.keyboard.press("Tab")
    raise AssertionError(f"Tab never came to {text}")


async def press(tab: BoardTab, *keys: str) -> None:
    """Press one key after the other."""
    for key in keys:
        await tab.page.keyboard.press(key)


class BrowserAgent:
    """A client of a server in this process, which works on the store of the board."""

    def __init__(self, record: ServerRecord, client: OpenClient) -> None:
        self.record = record
        self._client = client

    async def call(self, tool: str, **arguments: JsonValue) -> dict[str, Any]:
        """Call a tool, and return what it answered without an envelope; an error fails the test."""
        return {**self.record.unwrap(await self._client.call(tool, arguments))}

    async def create(self, text: str, **arguments: JsonValue) -> str:
        """Create a task, and return its id."""
        found = await self.call(self.record.create, **{self.record.text: text, **arguments})
        return str(found.get("task", found)["id"])

    async def get(self, task_id: str) -> dict[str, Any]:
        """Return a task."""
        found = await self.call(self.record.get, **{self.record.id: task_id})
        task: dict[str, Any] = found.get("task", found)
        return task

    async def texts(self) -> list[str]:
        """Return the texts of all tasks that are listed."""
        return [
            task[self.record.text]
            for task in (await self.call(self.record.list, **self.record.calls[self.record.list]))["tasks"]
        ]


class BrowserSession:
    """A board over one store, with whoever works on that."""

    def __init__(self, record: ServerRecord, folder: Path, stack: AsyncExitStack) -> None:
        self.record = record
        self.folder = folder
        self.path = folder / record.store()
        self._stack = stack
        self.link = ""

    async def launch(self, port: int = 0) -> None:
        """Start the board, perhaps once more."""
        stores, _ = open_stores([f"{self.record.command}={make_place(self.record, self.folder)}"], packages())
        listener = listen("127.0.0.1", port)
        port = listener.getsockname()[1]
        self._board = BoardApp(stores, port)
        config = uvicorn.Config(self._board.build(), lifespan="on", ws="none", log_config=None, access_log=False)
        config.timeout_graceful_shutdown = 1
        self._http_server = _NoSignals(config)
        self._serving = asyncio.create_task(self._http_server.serve(sockets=[listener]))
        self.link = f"http://127.0.0.1:{port}/?token={self._board.keys.token}"

    async def stop(self) -> None:
        """End the board."""
        self._http_server.should_exit = True
        self._board.end_streams()
        await self._serving
        self._board.close()

    async def tab(self, *, locale: str = "en", is_dark: bool = False, width: int = 1280) -> BoardTab:
        """Open the link in a new browser."""
        context = await SharedBrowser.browser.new_context(
            viewport={"width": width, "height": 800}, locale=locale, color_scheme="dark" if is_dark else "light"
        )
        self._stack.push_async_callback(context.close)
        context.set_default_timeout(PATIENCE)
        tab = BoardTab(await context.new_page(), self.link.partition("?")[0])
        # An answer that is held back when the context closes is nobody's fault.
        self._stack.push_async_callback(tab.page.unroute_all, behavior="ignoreErrors")
        await tab.page.goto(self.link)
        await tab.page.wait_for_url("**/b/*")
        return tab

    def agent(self) -> BrowserAgent:
        """Make a server with a client."""
        server = self.record.built(self.folder)
        self._stack.callback(server.end)
        self._stack.callback(server.close)
        client = OpenClient(server)
        self._stack.push_async_callback(client.close)
        return BrowserAgent(self.record, client)


class _NoSignals(uvicorn.Server):
    """Leaves signals to pytest."""

    @contextmanager
    @override
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def open_session(record: ServerRecord, folder: Path) -> AsyncIterator[BrowserSession]:
    """Start the board over a store of a server in ``folder``, which ends with the block."""
    async with AsyncExitStack() as stack:
        session = BrowserSession(record, folder, stack)
        await session.launch()
        stack.push_async_callback(session.stop)
        yield session
