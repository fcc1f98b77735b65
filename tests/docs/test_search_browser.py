"""The search of the built site, in a real browser, leads to the page and the section that answer."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import quote

import pytest
from playwright.async_api import expect

from tests.browser import SharedBrowser
from tests.packaging.projects import ROOT

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("_browser")]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build the site, serve it, and return its address."""
    folder = str(tmp_path_factory.mktemp("site"))
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder)
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=folder)) as server:
        Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.requirement("PE-22")
async def test_what_a_user_searches_for_is_answered_by_the_first_hit(address: str) -> None:
    page = await SharedBrowser.browser.new_page()
    for words, section in [
        ("change where tasks are stored", "change-where-tasks-are-stored"),
        ("one list per project", "one-list-per-project"),
        ("delete a task", "delete-a-task"),
        ("uninstall", "uninstall"),
        ("two agents", "two-agents-on-one-list"),
        ("undo", "undo"),
    ]:
        await page.goto(f"{address}/?q={quote(words)}")
        hit = page.locator(".md-search-result__item").first
        await expect(hit.locator("h1")).to_have_text("How to")
        found = hit.locator("a.md-search-result__link:not(:has(h1))").first
        await expect(found).to_have_attribute("href", re.compile(rf"/how-to/\?.*#{section}$"))
    await page.close()


@pytest.mark.requirement("PE-22")
@pytest.mark.parametrize(("language", "search"), [("zh", "搜索"), ("ja", "検索")])
async def test_a_page_in_another_language_has_the_labels_of_that_language(
    address: str, language: str, search: str
) -> None:
    page = await SharedBrowser.browser.new_page()
    await page.goto(f"{address}/{language}/")
    await expect(page.locator("html")).to_have_attribute("lang", language)
    await expect(page.locator("[data-md-component=search-query]")).to_have_attribute("placeholder", search)
    await page.close()
