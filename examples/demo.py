"""Show the servers at work: real client sessions over stdio, a part for each server.

``python examples/demo.py`` runs all parts; ``--part`` names one or several. The heartbeat part works on a copy of the
sample beside this file, or of your own with ``--file PATH``. No file of yours is ever changed. ``--svg PATH`` also
records what is shown as a picture, which is the same in every run.
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
from rich.table import Table
from rich.text import Text

from demo_cortex import show_cortex
from demo_picture import draw, recorder
from demo_session import fetch, narrate, session
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
                {"name": "Run the tests", "id": "tests"},
            ],
        },
        {"name": "Write the change log", "id": "log"},
        {"name": "Publish", "id": "publish", "constraints": ["only from a clean checkout"]},
    ],
}

NOTES: Final[list[dict[str, JsonValue]]] = [
    {"title": "研究航天产业的成本结构", "category": "tech", "priority": "high", "tags": ["space", "launch_cost"]},
    {"title": "Compare reusable rockets", "category": "tech", "tags": ["space"]},
    {"title": "Ask about the school trip", "category": "parenting", "priority": "low"},
]

NEXT: Final = (
    (
        "uv tool install ./packages/heartbeat-mcp",
        "install it, once, from this checkout",
    ),
    ("heartbeat-mcp install", "in the folder of your project: see each change before it is made"),
)
"""What to type to have it in a client, and what that does."""


async def show_heartbeat(console: Console, folder: Path, original: Path) -> None:
    """Do what an agent does in a day, on a copy of ``original``, and print what its section then shows."""
    file = folder / original.name
    shutil.copyfile(original, file)
    narrate(console, "Somebody keeps a list by hand. On a copy, an agent adds two tasks and does one:")
    async with session("heartbeat_mcp", {"HEARTBEAT_FILE_PATH": str(file)}, console) as agent:
        given: dict[str, JsonValue] = {"raw_user_request": REQUEST, "ideas": ["先列出决定"], "priority": "high"}
        task_id = fetch(await agent.call("task_create", REQUEST.partition("\n")[0], ["status"], **given), "id")
        working: JsonValue = {"status": "Running", "raw_reference": "notes/2026-11.md"}
        await agent.call("task_update", "status=Running", ["status"], task_id=task_id, updates=working)
        idea: dict[str, JsonValue] = {"updates": {"ideas": ["鈴木さんに確認する"]}, "append_ideas": True}
        await agent.call("task_update", "append_ideas 鈴木さんに確認する", ["ideas"], task_id=task_id, **idea)
        table = "Book a table for two on Friday"
        task_id = fetch(await agent.call("task_create", table, ["status"], raw_user_request=table), "id")
        done: JsonValue = {"status": "Complete", "result": "19:30"}
        await agent.call("task_update", "status=Complete, result=19:30", ["status"], task_id=task_id, updates=done)
        await agent.call("task_list", "include_completed", ["tasks"], include_completed=True)
    narrate(console, "The bullets became tasks too. The file shows what is open:")
    section, _ = locate_section(file.read_bytes(), "TODO")
    for line in b"".join(section.lines).decode(errors="replace").splitlines():
        if line.startswith("- ["):
            console.print(Text(f"  {line}"), no_wrap=True, overflow="ellipsis")


async def show_hierarchy(console: Console, folder: Path, _: Path) -> None:
    """Create a release checklist in one call and complete its tasks in order; one attempt out of order is refused."""
    narrate(console, "An agent plans a release in one call, and cannot begin with the end of it:")
    async with session("hierarchy_mcp", {"FILE_PATH": str(folder / "tasks.json")}, console) as agent:
        await agent.call("createTask", "Release 1.4, with five subtasks", ["task", "status"], **CHECKLIST)
        await agent.call("startTask", "publish", ["message"], id="publish")
        await agent.call("startTask", "release", ["active_task", "name"], id="release")
        narrate(console, "It does one task at a time. A parent is done when everything below it is done:")
        for name in ("version", "tests", "log"):
            done = await agent.call("completeTask", name, ["next_task_id"], id=name, resolution="as planned")
        console.print(_table(str(fetch(done, "progress_summary", "table"))))
        await agent.call("completeTask", "publish", ["message"], id="publish", resolution="version 1.4 is out")


def _table(markdown: str) -> Table:
    heads, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in markdown.splitlines())
    table = Table(*heads, box=None, padding=(0, 0, 0, 2), header_style="bold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


async def show_tasks_v1(console: Console, folder: Path, _: Path) -> None:
    """Capture research notes, filter them by topic and tag, and move them through their states."""
    narrate(console, "An agent notes what a person thinks of, and finds it again by topic and tag:")
    async with session("tasks_v1_mcp", {"TASKS_FILE_PATH": str(folder / "tasks-v1.json")}, console) as agent:
        ids: list[JsonValue] = []
        for note in NOTES:
            topic: dict[str, JsonValue] = {"topic_id": "space_industry"} if "space" in str(note.get("tags")) else {}
            created = await agent.call("create_task", str(note["title"]), ["task", "status"], **note, **topic)
            ids.append(fetch(created, "task", "id"))
        await agent.call("list_tasks", "topic_id=space_industry", ["tasks"], topic_id="space_industry")
        state = ("task", "status")
        await agent.call("update_task_status", "the first: in_progress", state, id=ids[0], status="in_progress")
        narrate(console, "A task that was never begun cannot be done, and the error says what is possible:")
        await agent.call("update_task_status", "the trip: done", state, id=ids[2], status="done")
        await agent.call("update_task_status", "the trip: canceled", state, id=ids[2], status="canceled")
        open_ones: list[JsonValue] = ["pending", "in_progress"]
        await agent.call("list_tasks", "tags_any=space, still open", ["tasks"], tags_any=["space"], status=open_ones)


PARTS: Final[dict[str, tuple[str, Callable[[Console, Path, Path], Awaitable[None]]]]] = {
    "heartbeat": ("a to-do list in your HEARTBEAT.md", show_heartbeat),
    "hierarchy": ("nested tasks, done in order", show_hierarchy),
    "tasks-v1": ("a person's tasks", show_tasks_v1),
    "cortex": ("the tasks of a team, each in its own git branch", show_cortex),
}
"""What each part is about, and what shows it."""


async def show(console: Console, parts: list[str], file: Path) -> None:
    """Run the parts in turn, all their files in one folder that goes away."""
    with tempfile.TemporaryDirectory() as folder:
        for part in parts:
            title, run = PARTS[part]
            _begin(console, f"{part}-mcp: {title}")
            await run(console, Path(folder).resolve(), file)
    _begin(console, "your turn")
    narrate(console, "All of this was real, in a folder that is gone now. To have it in your client:")
    for command, what in NEXT:
        console.print(Text.assemble(f"  {what}\n    ", (command, "bold")), soft_wrap=True)
    narrate(console, "Then say: “Put on my heartbeat list: call the dentist. What is open?”")


def _begin(console: Console, title: str) -> None:
    console.print()
    console.rule(Text(title, "bold"), style="none", align="left")


def main() -> None:
    """Read the options and run the demo."""
    parser = argparse.ArgumentParser(prog="demo", description="Client sessions with the servers.")
    parser.add_argument("--file", type=Path, help="a HEARTBEAT.md, of which a copy is used; with that part alone")
    parser.add_argument("--part", choices=PARTS, action="append", help="may be given again; default: all of them")
    parser.add_argument("--svg", type=Path, help="record a picture too, of every part but cortex")
    options = parser.parse_args()
    file: Path = options.file or SAMPLE
    if not file.is_file():
        parser.error(f"--file {file}: the file does not exist")
    parts: list[str] = options.part or (["heartbeat"] if options.file else list(PARTS))
    if options.svg is None:
        asyncio.run(show(Console(), parts, file))
        return
    console = recorder()
    # The cortex part shows a port and a commit, which are others each time.
    asyncio.run(show(console, [part for part in parts if part != "cortex"], file))
    draw(console, options.svg)


if __name__ == "__main__":
    main()
