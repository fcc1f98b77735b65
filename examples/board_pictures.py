"""Make the pictures of the board in docs: ``python3 hatchw run screenshots``; it needs Chromium."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mcp.client import Client
from playwright.async_api import Browser, async_playwright

from task_core.cli.program import Program
from task_core.cli.settings import load_settings

ROOT: Final = Path(__file__).resolve().parents[1]

TASKS: Final[Sequence[tuple[str, str, Mapping[str, Any]]]] = (
    ("Find out why the import is slow", "in_progress", {"priority": "high", "tags": ["import"]}),
    ("Answer the question about licences", "pending", {"priority": "high"}),
    ("Describe the new settings in the manual", "pending", {}),
    ("Compare three libraries for dates", "pending", {"priority": "low"}),
    ("研究航天产业的成本结构", "pending", {"topic_id": "space_industry"}),
    ("Write the release notes", "in_progress", {}),
    ("Update the certificates", "done", {}),
    ("テストの結果をまとめる", "done", {}),
    ("Move the old forum", "canceled", {"priority": "low"}),
)
"""The title of each task, its status, and what else it says."""

DESCRIPTION: Final = """It took **4 seconds** in spring and takes **40** now.

- the profile names `read_rows`
- [the first report](https://example.com/reports/17)
"""

TREE: Final[Mapping[str, Any]] = {
    "id": "release",
    "name": "Release 2.0",
    "tasks": [
        {"id": "freeze", "name": "Freeze the interface", "tasks": [{"id": "list", "name": "List what is public"}]},
        {
            "id": "docs",
            "name": "Write the manual",
            "tasks": [{"id": "start", "name": "Start in two minutes"}, {"id": "faq", "name": "Answer what people ask"}],
        },
        {"id": "ship", "name": "Build and publish"},
    ],
}

STEPS: Final[Mapping[str, Sequence[str]]] = {
    "pending": (),
    "in_progress": ("in_progress",),
    "done": ("in_progress", "done"),
    "canceled": ("canceled",),
}


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - as the tools take them
    """Call a tool and return its answer."""
    content = (await client.call_tool(tool, arguments)).structured_content
    assert content is not None  # noqa: S101 - the servers always answer so
    return content


async def fill(folder: Path) -> None:
    """Let the servers keep some tasks in ``folder``."""
    for package, given in (("tasks_v1_mcp", "tasks_file_path"), ("hierarchy_mcp", "file_path")):
        program = Program.of(package)
        server = program.build(load_settings(program.settings_type(), given={given: str(folder / f"{package}.json")}))
        async with Client(server.sdk) as client:
            if package == "hierarchy_mcp":
                await call(client, "createTask", **TREE)
                await call(client, "startTask", id="list")
                await call(client, "completeTask", id="list", resolution="42 names, each with a reason")
                await call(client, "startTask", id="docs")
                continue
            for title, status, more in reversed(TASKS):
                about = {"description": DESCRIPTION} if "import" in title else {}
                task = (await call(client, "create_task", title=title, **more, **about))["task"]
                for step in STEPS[status]:
                    await call(client, "update_task_status", id=task["id"], status=step)
        server.close()
        server.end()


async def shoot(browser: Browser, link: str, name: str, path: str, *, is_dark: bool = False, width: int = 1200) -> None:
    """Make one picture of the page at ``path``; with an id behind ``#``, of the task with that text."""
    scheme = "dark" if is_dark else "light"
    page = await browser.new_page(viewport={"width": width, "height": 680}, color_scheme=scheme, locale="en")
    await page.goto(link)
    await page.wait_for_url("**/b/*")
    address, _, text = path.partition("#")
    await page.goto(page.url.partition("/b/")[0] + address)
    if text:
        await page.get_by_role("button", name=text).click()
        await page.locator("dialog dl").wait_for()
    await page.screenshot(path=ROOT / "docs" / name)
    await page.close()


async def make_pictures(folder: Path, chromium: str) -> None:
    """Start the board over ``folder`` and make every picture."""
    await fill(folder)
    words = [f"tasks-v1={folder}/tasks_v1_mcp.json", f"hierarchy={folder}/hierarchy_mcp.json"]
    board = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "task_board", "--no-browser", *words, stdout=PIPE, stderr=PIPE
    )
    assert board.stdout  # noqa: S101 - it is a pipe
    link = (await board.stdout.readline()).decode().split()[-1]
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            await shoot(browser, link, "board.png", "/b/tasks-v1")
            await shoot(browser, link, "board-dark.png", "/b/tasks-v1#Find out why", is_dark=True)
            await shoot(browser, link, "board-tree.png", "/b/hierarchy")
            await shoot(browser, link, "board-phone.png", "/b/hierarchy", width=390)
            await browser.close()
    finally:
        board.terminate()
        await board.communicate()


if __name__ == "__main__":
    found = shutil.which("chromium")
    if found is None:
        sys.exit("There is no chromium on PATH; on Debian, install it with: apt-get install chromium")
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(make_pictures(Path(place), found))
    print("The pictures are in docs.")
