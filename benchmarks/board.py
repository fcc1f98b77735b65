"""Time how soon the board shows tasks in Chromium, and a change by an agent: ``python3 hatchw run bench:board``."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from mcp.client import Client
from playwright.async_api import Page, async_playwright

from task_core.command.program import Program
from task_core.command.settings import load_settings

COUNTS: Final = (10, 10_000)
"""Tasks in the list."""

TIMES: Final = 15
"""Times that each thing is done."""

STATES: Final = ("pending", "in_progress", "done", "canceled")


def make_list(count: int) -> str:
    """Return a document of tasks-v1-mcp with ``count`` tasks, as many in each state."""
    now = "2026-01-31T12:00:00Z"
    tasks = [
        {"id": f"task_{n:06}", "title": f"Task {n}", "status": STATES[n % 4], "created_at": now, "updated_at": now}
        for n in range(count)
    ]
    return json.dumps({"version": 1, "tasks": tasks})


@asynccontextmanager
async def open_board(path: Path, chromium: str) -> AsyncIterator[Page]:
    """Yield the page of a board over the list at ``path``."""
    words = (sys.executable, "-m", "task_board", "--no-browser", f"tasks-v1={path}")
    board = await asyncio.create_subprocess_exec(*words, stdout=PIPE, stderr=PIPE)
    assert board.stdout  # noqa: S101 - it is a pipe
    link = (await board.stdout.readline()).decode().split()[-1]
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = await browser.new_page()
            await page.goto(link)
            await page.locator(".card").first.wait_for()
            yield page
            await browser.close()
    finally:
        board.terminate()
        await board.communicate()


async def measure(path: Path, chromium: str) -> tuple[float, float]:
    """Return the median seconds until the first card is shown, and until a task that an agent creates is."""
    program = Program.of("tasks_v1_mcp")
    server = program.build(load_settings(program.settings_type(), given={"tasks_file_path": str(path)}))
    opened: list[float] = []
    appeared: list[float] = []
    async with Client(server.sdk) as agent, open_board(path, chromium) as page:
        for number in range(TIMES):
            start = perf_counter()
            await page.goto(page.url)
            await page.locator(".card").first.wait_for()
            opened.append(perf_counter() - start)
            await agent.call_tool("create_task", {"title": f"New {number}."})
            start = perf_counter()
            await page.get_by_role("button", name=f"New {number}.").wait_for()
            appeared.append(perf_counter() - start)
    server.close()
    server.end()
    return median(opened), median(appeared)


async def main(chromium: str) -> None:
    """Print a table."""
    print(f"{'tasks':>8}{'opened in':>12}{'a change after':>16}")
    for count in COUNTS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "tasks.json")
            path.write_text(make_list(count), "utf-8")
            opened, appeared = await measure(path, chromium)
        print(f"{count:>8,}{opened:>10.2f} s{appeared:>14.2f} s")


if __name__ == "__main__":
    found = shutil.which("chromium")
    if found is None:
        sys.exit("There is no chromium on PATH; on Debian, install it with: apt-get install chromium")
    asyncio.run(main(found))
