"""Reads and changes of a HEARTBEAT.md, compared with every line that it had."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

from heartbeat_mcp.doctor import checks
from heartbeat_mcp.server import build_server
from heartbeat_mcp.settings import HeartbeatSettings
from heartbeat_mcp.view import open_view
from task_core.errors import TaskError
from task_core.server.app import TaskServer
from tests.corpus.outcomes import Outcome
from tests.tool_client import OpenClient, ToolFailed

__all__ = ["compare", "try_heartbeat"]

_HEADING: Final = re.compile(rb"^ {0,3}##[ \t]+\W*todo(?:[^\w\s].*|[ \t]+[-\xe2:(#*].*|)\s*$", re.IGNORECASE)
"""The heading of the section, as simply as it can be said (HB-8)."""

_END: Final = re.compile(rb"^ {0,3}##?(?:[ \t]|$)")

_FENCE: Final = re.compile(rb"^ {0,3}(```|~~~)")

_MARKS: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])?\s*(?:\[[^\]]{0,10}\]\s*)?")
"""The marker before the text of a line in a list."""


class _Caller:
    """Calls tools over one client, and notes what was refused."""

    def __init__(self, server: TaskServer, outcome: Outcome) -> None:
        self._client = OpenClient(server)
        self._outcome = outcome

    async def call(self, tool: str, **arguments: JsonValue) -> dict[str, Any] | None:
        """Return the structured answer, or None if the call was refused."""
        try:
            return await self._client.call(tool, arguments)
        except ToolFailed as error:
            self._outcome.refuse(f"{tool}: {error}")
            return None

    async def close(self) -> None:
        """End the client."""
        await self._client.close()


async def try_heartbeat(file: Path, outcome: Outcome) -> None:
    """Run doctor, list, reads and changes on a HEARTBEAT.md, which is a copy, with two servers, one after the other."""
    before = file.read_bytes()
    settings = HeartbeatSettings.model_validate({"heartbeat_file_path": str(file), "task_fsync": False})
    outcome.read_doctor(checks(settings))
    _list(settings, outcome)
    if file.read_bytes() != before:
        outcome.outside.append("doctor or list changed the file")
    answers: list[Any] = []
    for change in (_change_all, _read_again):
        server = build_server(settings)
        caller = _Caller(server, outcome)
        try:
            answers += await change(caller)
        finally:
            await caller.close()
            server.close()
    compare(outcome, before, file.read_bytes(), answers)


def _list(settings: HeartbeatSettings, outcome: Outcome) -> None:
    view = open_view(settings)
    try:
        [*view.lines()]
    except TaskError as error:
        outcome.refuse(f"list: {error}")
    finally:
        view.close()


async def _change_all(caller: _Caller) -> list[Any]:
    """Start and finish half of the tasks, add one, and return the tasks."""
    listed = await caller.call("task_list", include_completed=True)
    tasks: list[Any] = listed["tasks"] if listed else []
    for number, task in enumerate(tasks):
        await caller.call("task_get", task_id=task["id"])
        if task["status"] == "Pending":
            updates: dict[str, JsonValue] = (
                {"status": "Complete", "result": "done"} if number % 2 else {"status": "Running"}
            )
            await caller.call("task_update", task_id=task["id"], updates=updates)
    made = await caller.call("task_create", raw_user_request="Corpus")
    if made:
        await caller.call("task_update", task_id=made["id"], updates={"status": "Complete"})
    return tasks


async def _read_again(caller: _Caller) -> list[Any]:
    listed = await caller.call("task_list", include_completed=True, include_archived=True)
    return listed["tasks"] if listed else []


def compare(outcome: Outcome, before: bytes, after: bytes, tasks: Iterable[Any]) -> None:
    """Note what differs outside the section, and lines of the section that neither the file nor a task has."""
    start, end = _section(before)
    head, section, tail = before[:start], before[start:end], before[end:]
    if not after.startswith(head):
        outcome.outside.append("the text above the section" if section else "the text of the file")
    if not after.endswith(tail):
        outcome.outside.append("the text below the section")
    kept = _plain(after.decode("utf-8", "replace") + "\n" + "\n".join(_texts(tasks)))
    for line in section.decode("utf-8", "replace").splitlines():
        parts = _plain(_MARKS.sub("", line)).split(": ")  # an entry of ours may be written anew
        if not line.lstrip().startswith("- Status:") and not all(part in kept for part in parts):
            outcome.lost.append(line.strip()[:100])


def _section(data: bytes) -> tuple[int, int]:
    """Return where the text below the heading of the section begins and ends; the end of the file if there is none."""
    at, start, fence = 0, -1, b""
    for line in data.splitlines(keepends=True):
        if found := _FENCE.match(line):
            fence = b"" if found[1] == fence else fence or found[1]
        if not fence and start >= 0 and _END.match(line):
            return start, at
        at += len(line)
        if not fence and start < 0 and _HEADING.match(line):
            start = at
    return (len(data) if start < 0 else start), len(data)


def _texts(value: object) -> Iterable[str]:
    """Yield every text within an answer."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value.values()])
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


def _plain(text: str) -> str:
    """Return text without escapes, marks of emphasis, and repeated blanks."""
    return re.sub(r"\s+", " ", re.sub(r"[\\*_~`]", "", html.unescape(text))).strip()
