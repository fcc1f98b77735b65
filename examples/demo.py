"""Show the servers at work: real client sessions over stdio, a part for each server.

``python examples/demo.py`` runs all parts; ``--part`` names one. The heartbeat part works on a copy of the sample
beside this file, or of your own with ``--file PATH``. No file of yours is ever changed.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from pydantic import JsonValue
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from demo_cortex import show_cortex
from demo_session import Session, session
from heartbeat_mcp.mirror.section import locate_section

SAMPLE: Final = Path(__file__).with_name("HEARTBEAT.md")
REQUEST: Final = "整理会议记录，写成一页摘要\n(keep the names in Japanese: 佐藤さん、鈴木さん)"

CHECKLIST: Final[dict[str, JsonValue]] = {
    "name": "Release 1.4",
    "id": "release",
    "constraints": ["no new dependency"],
    "tasks": [
        {
            "name": "Build",
            "tasks": [
                {"name": "Raise the version", "id": "version", "completion_criteria": ["four packages agree"]},
                {"name": "Run the tests on every Python", "id": "tests"},
            ],
        },
        {"name": "Write the change log", "id": "log"},
        {"name": "Publish", "id": "publish", "constraints": ["only from a clean checkout"]},
    ],
}

NOTES: Final[list[dict[str, JsonValue]]] = [
    {"title": "研究航天产业的成本结构", "category": "tech", "priority": "high", "tags": ["space", "launch_cost"]},
    {"title": "Compare reusable rockets", "category": "tech", "tags": ["space"]},
    {"title": "找三家卫星公司的年报", "category": "investing", "tags": ["space", "annual_report"]},
    {"title": "Ask about the school trip", "category": "parenting", "priority": "low"},
]


def show_section(console: Console, file: Path, title: str) -> None:
    """Print the section of the tasks in ``file``."""
    section, _ = locate_section(file.read_bytes(), "TODO")
    text = b"".join([section.heading, *section.lines]).decode(errors="replace")
    markdown = Syntax(text, "markdown", background_color="default", word_wrap=True)
    console.print("\n", Panel(markdown, title=Text(f"{file.name}, the section {title}"), title_align="left"), sep="")


async def work_through_a_day(session: Session) -> None:
    """Do what an agent does in a day: create, update, append, complete, list."""
    first = await session.call("task_create", raw_user_request=REQUEST, ideas=["先列出决定"], priority="high")
    started: JsonValue = {"status": "Running", "raw_reference": "notes/2026-11.md", "result": "初稿完成"}
    await session.call("task_update", task_id=first["id"], updates=started)
    await session.call("task_update", task_id=first["id"], updates={"ideas": ["鈴木さんに確認する"]}, append_ideas=True)
    second = await session.call("task_create", raw_user_request="Book a table for two on Friday")
    await session.call("task_update", task_id=second["id"], updates={"status": "Complete", "result": "19:30"})
    await session.call("task_list", include_completed=True)


async def work_through_a_checklist(session: Session) -> None:
    """Create a release checklist in one call and complete its tasks in order; one attempt out of order is refused."""
    await session.call("createTask", **CHECKLIST)
    await session.call("startTask", id="publish")
    started = await session.call("startTask", id="release")
    active = started["active_task"]
    following = active["id"] if isinstance(active, dict) else None
    while following:
        done = await session.call("completeTask", id=following, resolution=f"{following}: done")
        following = done.get("next_task_id")


async def work_through_a_week(session: Session) -> None:
    """Capture a week of research notes, filter them by topic and tag, and move them through their states."""
    ids = []
    for note in NOTES:
        topic: dict[str, JsonValue] = {"topic_id": "space_industry"} if "space" in str(note.get("tags")) else {}
        created = await session.call("create_task", source="capture_idea", **note, **topic)
        task = created["task"]
        ids.append(task["id"] if isinstance(task, dict) else None)
    await session.call("list_tasks", topic_id="space_industry", order_by="priority_desc")
    await session.call("update_task_status", id=ids[0], status="in_progress")
    await session.call("update_task_status", id=ids[0], status="done")
    await session.call("update_task_status", id=ids[3], status="done")
    await session.call("update_task_status", id=ids[3], status="canceled")
    await session.call("list_tasks", tags_any=["space"], status=["pending", "in_progress"])


async def show_heartbeat(console: Console, folder: Path, original: Path) -> None:
    """Run the heartbeat part on a copy of ``original`` and print the section before and after."""
    file = folder / original.name
    shutil.copyfile(original, file)
    show_section(console, file, "before")
    async with session("heartbeat_mcp", {"HEARTBEAT_FILE_PATH": str(file)}, console) as client:
        await work_through_a_day(client)
    show_section(console, file, "after")
    console.print(Text(f"\nAll of this was done on a copy; {original} is as it was."))


async def show_hierarchy(console: Console, folder: Path, _: Path) -> None:
    """Run the hierarchy part on a file of its own."""
    async with session("hierarchy_mcp", {"FILE_PATH": str(folder / "tasks.json")}, console) as client:
        await work_through_a_checklist(client)


async def show_tasks_v1(console: Console, folder: Path, _: Path) -> None:
    """Run the tasks-v1 part on a file of its own."""
    async with session("tasks_v1_mcp", {"TASKS_FILE_PATH": str(folder / "tasks-v1.json")}, console) as client:
        await work_through_a_week(client)


PARTS: Final[dict[str, Callable[[Console, Path, Path], Awaitable[None]]]] = {
    "heartbeat": show_heartbeat,
    "hierarchy": show_hierarchy,
    "tasks-v1": show_tasks_v1,
    "cortex": show_cortex,
}


async def show(console: Console, parts: list[str], file: Path) -> None:
    """Run the parts in turn, all their files in one folder that goes away."""
    with tempfile.TemporaryDirectory() as folder:
        for part in parts:
            console.rule(f"{part}-mcp")
            await PARTS[part](console, Path(folder).resolve(), file)


def main() -> None:
    """Read the options and run the demo."""
    parser = argparse.ArgumentParser(prog="demo", description="Client sessions with the servers.")
    parser.add_argument("--file", type=Path, help="a HEARTBEAT.md, of which a copy is used; with that part alone")
    parser.add_argument("--part", choices=PARTS, help="default: all of them")
    options = parser.parse_args()
    file: Path = options.file or SAMPLE
    if not file.is_file():
        parser.error(f"--file {file}: the file does not exist")
    parts = [options.part] if options.part else ["heartbeat"] if options.file else list(PARTS)
    asyncio.run(show(Console(), parts, file))


if __name__ == "__main__":
    main()
