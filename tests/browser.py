"""The browser that tests drive, and what it finds wrong with a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import expect

if TYPE_CHECKING:
    from playwright.async_api import Frame, Page

__all__ = ["CHROMIUM", "IN_A_BROWSER", "PATIENCE", "find_violations"]

CHROMIUM: Final = Path("/usr/bin/chromium")
"""Where Debian installs the browser."""

IN_A_BROWSER: Final = [
    pytest.mark.long,  # also because a browser has no place among the lowest versions that the packages allow
    # It cannot be installed everywhere, and then `.ci/run` reports the tests as not tested.
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no page is opened in a browser: there is no {CHROMIUM}"),
]
"""The marks of a file of tests that open pages in the browser."""

PATIENCE: Final = 30_000
"""Milliseconds that a test waits for what a busy machine does late."""

expect.set_options(timeout=PATIENCE)


async def find_violations(page: Page | Frame) -> list[str]:
    """Return what axe-core finds wrong with a page as it is."""
    await page.evaluate(AXE_SCRIPT)
    found = await page.evaluate("axe.run()")
    return [f"{one['id']}: {node['html']}" for one in found["violations"] for node in one["nodes"]]
