"""Make the pictures of the board in docs: ``python3 hatchw run screenshots``.

It needs Chromium and a font for Chinese and Japanese (Debian: ``apt-get install chromium fonts-noto-cjk``).
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Final, Literal

from mcp.client import Client
from PIL import Image
from playwright.async_api import Browser, Page, ViewportSize, async_playwright

from task_core.cli.program import Program
from task_core.cli.settings import load_settings

ROOT: Final = Path(__file__).resolve().parents[1]

Scheme = Literal["light", "dark"]

IMPORT: Final = "Find out why the import is slow"
CHINESE: Final = "研究航天产业的成本结构"
JAPANESE: Final = "テストの結果をまとめる"

DESCRIPTION: Final = """It took **4 seconds** in spring and takes **40** now.

- the profile names `read_rows`
- [the first report](https://example.com/reports/17)
"""

TASKS: Final[Sequence[tuple[str, str, Mapping[str, Any]]]] = (
    (IMPORT, "in_progress", {"priority": "high", "tags": ["import"], "description": DESCRIPTION}),
    ("Answer the question about licences", "pending", {"priority": "high"}),
    ("Describe the new settings in the manual", "pending", {}),
    ("Compare three libraries for dates", "pending", {"priority": "low"}),
    (
        CHINESE,
        "pending",
        {"topic_id": "space_industry", "category": "investing", "description": "比较**三家**公司的年报。"},
    ),
    ("Write the release notes", "in_progress", {}),
    ("Update the certificates", "done", {}),
    (JAPANESE, "done", {"category": "tech", "tags": ["品質"], "description": "失敗した**3 件**の原因も書く。"}),
    ("Move the old forum", "canceled", {"priority": "low"}),
)
"""The title of each task, its status, and what else it says."""

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


async def fill(place: Path) -> None:
    """Let the servers keep some tasks in ``place``, and write an empty list and a damaged one beside them."""
    async with connect("hierarchy_mcp", place) as client:
        await call(client, "createTask", **TREE)
        await call(client, "startTask", id="list")
        await call(client, "completeTask", id="list", resolution="42 names, each with a reason")
        await call(client, "startTask", id="docs")
    async with connect("tasks_v1_mcp", place) as client:
        for title, status, more in reversed(TASKS):
            task = (await call(client, "create_task", title=title, **more))["task"]
            for step in STEPS[status]:
                await call(client, "update_task_status", id=task["id"], status=step)
    (place / "empty.json").write_text('{"version": 1, "tasks": []}', "utf-8")
    (place / "damaged.json").write_text('{"tasks": [{"id": "7', "utf-8")


@asynccontextmanager
async def connect(package: str, place: Path) -> AsyncIterator[Client]:
    """Yield a client of a server that keeps ``PACKAGE.json`` in ``place``."""
    program = Program.of(package)
    setting = "file_path" if package == "hierarchy_mcp" else "tasks_file_path"
    given = {setting: str(place / f"{package}.json")}
    server = program.build(load_settings(program.settings_type(), given=given))
    async with Client(server.sdk) as client:
        yield client
    server.close()
    server.end()


@asynccontextmanager
async def serve(*words: str) -> AsyncIterator[str]:
    """Run the board with these arguments, and yield its link."""
    command = (sys.executable, "-m", "task_board", "--no-browser", *words)
    board = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
    assert board.stdout  # noqa: S101 - it is a pipe
    try:
        yield (await board.stdout.readline()).decode().split()[-1]
    finally:
        board.terminate()
        await board.communicate()


@asynccontextmanager
async def shoot(
    browser: Browser,
    link: str,
    name: str,
    path: str,
    *,
    locale: str = "en",
    scheme: Scheme = "light",
    width: int = 1200,
) -> AsyncIterator[Page]:
    """Yield the page at ``path``, and make the picture ``name`` of it at the end of the block."""
    viewport: ViewportSize = {"width": width, "height": 680}
    page = await browser.new_page(viewport=viewport, color_scheme=scheme, locale=locale)
    await page.goto(link)
    await page.wait_for_url("**/b/*")
    await page.goto(page.url.partition("/b/")[0] + path)
    await page.locator("#tasks").wait_for()
    yield page
    save(await page.screenshot(animations="disabled"), ROOT / "docs" / name)
    await page.close()


def save(png: bytes, path: Path) -> None:
    """Write a picture with 256 colors, which halves its size."""
    colors = Image.open(BytesIO(png)).convert("RGB").quantize(dither=Image.Dither.NONE)
    colors.save(path, optimize=True)


async def make_pictures(place: Path, chromium: str) -> None:
    """Start boards over ``place`` and make every picture."""
    await fill(place)
    columns, tree = "/b/tasks-v1", "/b/hierarchy"
    lists = (f"tasks-v1={place}/tasks_v1_mcp.json", f"hierarchy={place}/hierarchy_mcp.json")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        picture = partial(shoot, browser)
        async with serve(*lists) as link:
            for name, path in (("board.png", columns), ("board-tree.png", tree)):
                async with picture(link, name, path):
                    pass
            async with picture(link, "board-phone.png", columns, width=390):
                pass
            async with picture(link, "board-dark.png", columns, scheme="dark") as page:
                await open_task(page)
            for locale, title in (("zh", CHINESE), ("ja", JAPANESE)):
                async with picture(link, f"board-{locale}.png", columns, locale=locale) as page:
                    await open_task(page, title)
            async with picture(link, "board-conflict.png", columns) as page, connect("tasks_v1_mcp", place) as client:
                await open_task(page)
                await page.get_by_role("button", name="Edit").click()
                await page.get_by_label("Title").fill("Find out why the import is slow, with a profile")
                (task,) = (await call(client, "list_tasks", query=IMPORT))["tasks"]
                await call(client, "update_task", id=task["id"], title="Find out why the import takes 40 seconds")
                await page.locator(".changed .theirs").first.wait_for()
        async with serve(f"tasks-v1={place}/empty.json", f"hierarchy={place}/damaged.json") as link:
            for name, path in (("board-empty.png", columns), ("board-damaged.png", tree)):
                async with picture(link, name, path):
                    pass
        await browser.close()


async def open_task(page: Page, title: str = IMPORT) -> None:
    """Open the details of a task."""
    await page.get_by_role("button", name=title).click()
    await page.locator("dialog dl").wait_for()


if __name__ == "__main__":
    found = shutil.which("chromium")
    if found is None:
        sys.exit("There is no chromium on PATH; on Debian, install it with: apt-get install chromium")
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(make_pictures(Path(place), found))
    print("The pictures are in docs.")
