"""The browser that tests drive, and what it finds wrong with a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import expect

if TYPE_CHECKING:
    from playwright.async_api import Browser, Frame, Page

__all__ = ["PATIENCE", "SharedBrowser", "find_violations"]

PATIENCE: Final = 30_000
"""Milliseconds that a test waits for what a busy machine does late."""

expect.set_options(timeout=PATIENCE)


class SharedBrowser:
    """The browser of all tests in this process; each page or tab is in a context of its own."""

    browser: ClassVar[Browser]


async def find_violations(page: Page | Frame) -> list[str]:
    """Return what axe-core finds wrong with a page as it is."""
    await page.evaluate(AXE_SCRIPT)
    found = await page.evaluate("axe.run()")
    return [f"{one['id']}: {node['html']}" for one in found["violations"] for node in one["nodes"]]
